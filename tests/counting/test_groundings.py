"""Enumeration of groundings equals brute force, whatever the size of the chunks."""

import numpy as np
import pytest

from mlnlearn.counting.groundings import enumerate_groundings
from mlnlearn.counting.stack import Stack
from worlds import (
    grounded,
    groundings,
    random_atoms,
    random_database_list,
    random_schema,
    true_facts,
)


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_random_conjunctions_equal_brute_force(chunk):
    rng = np.random.default_rng(5)
    for _ in range(150):
        schema = random_schema(rng)
        databases = random_database_list(rng, schema)
        stack = Stack(databases)
        atoms = random_atoms(rng, schema, variables=2)
        signs = rng.random(len(atoms)) < 0.6
        positive = [atom for atom, sign in zip(atoms, signs, strict=True) if sign]
        negative = [atom for atom, sign in zip(atoms, signs, strict=True) if not sign]
        expected = set()
        for number, database in enumerate(databases):
            facts = true_facts(database)
            for assignment in groundings(database, atoms):
                truth = [grounded(a, assignment) in facts[a.predicate.name] for a in atoms]
                if truth == signs.tolist():
                    expected.add((number, frozenset(assignment.items())))
        found = []
        for piece in enumerate_groundings(stack, positive, negative, chunk=chunk):
            names = {
                variable: [stack.vocabularies[variable.name.split("_")[0]][code] for code in column]
                for variable, column in piece.columns.items()
            }
            for row, number in enumerate(piece.database.tolist()):
                found.append((number, frozenset((v, names[v][row]) for v in names)))
        assert len(found) == len(set(found))
        assert set(found) == expected
