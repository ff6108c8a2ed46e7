"""Templates: connected sets against all sets, lifted atoms, signs, parts of clauses."""

from itertools import combinations

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.logic.canonical import canonical_key
from mlnlearn.logic.schema import Schema
from mlnlearn.structure.search.moves import is_connected
from mlnlearn.structure.templates.atoms import NOTHING, AtomGraph
from mlnlearn.structure.templates.learner import is_better, is_part, signed
from mlnlearn.structure.templates.lifted import connected_sets, lifted_atoms


@pytest.mark.parametrize("seed", range(5))
def test_connected_sets_are_all_there_are(seed):
    rng = np.random.default_rng(seed)
    atoms = {(int(rng.integers(2)), *rng.integers(5, size=2).tolist()) for _ in range(6)}
    atoms |= {(2, int(rng.integers(5)))}
    expected = {
        canonical_key(chosen)
        for size in (2, 3)
        for chosen in combinations(sorted(atoms), size)
        if is_connected(chosen) and len({v for atom in chosen for v in atom[1:]}) <= 3
    }
    found = list(connected_sets(atoms, 3, 3, 1000))
    assert len(found) == len(set(found))
    # a longer set need not grow from a shorter one with few variables, but these here do
    assert set(found) == expected
    assert [len(template) for template in found] == sorted(len(template) for template in found)
    assert len(list(connected_sets(atoms, 3, 3, 1))) <= 2


def test_members_of_a_cluster_that_know_each_other_are_two_variables():
    schema = Schema.of("knows(person,person)", "old(person)", "likes(person,thing)")
    facts = {
        "knows": [("A", "B"), ("B", "C")],
        "old": [("A",)],
        "likes": [("A", "X"), ("A", "Y"), ("B", "X")],
    }
    graph = AtomGraph.of([Database.from_facts(schema, facts)])
    cluster_of = np.array([0, 0, 0, 1, 1, NOTHING])  # all persons, all things
    found = lifted_atoms(graph, np.arange(len(graph.label)), cluster_of)
    # things are one variable, persons are two: 0 and 1
    assert found == ((0, 0, 1), (0, 1, 0), (1, 0), (1, 1), (2, 0, 2), (2, 1, 2))


def test_a_constant_at_two_places_is_one_variable():
    schema = Schema.of("same(person,person)")
    graph = AtomGraph.of([Database.from_facts(schema, {"same": [("A", "A"), ("B", "B")]})])
    found = lifted_atoms(graph, np.arange(2), np.array([0, 0, NOTHING]))
    assert found == ((0, 0, 0),)


def test_numbers_of_constants_follow_their_names():
    schema = Schema.of("likes(person,person)", "old(person)")
    facts = [("Carl", "Anna"), ("Bob", "Carl")]
    one, two = (
        Database.from_facts(schema, {"likes": order, "old": [("Bob",)]})
        for order in (facts, facts[::-1])
    )
    first, second = AtomGraph.of([one, one]), AtomGraph.of([two, two])
    assert first.nodes.tolist() == second.nodes.tolist()
    assert first.nodes.tolist() == [[1, 2], [2, 0], [4, 5], [5, 3], [1, NOTHING], [4, NOTHING]]


def test_signs():
    template = canonical_key([(0, 0, 1), (0, 1, 0), (1, 0)])
    assert [len(signed(template, flips)) for flips in (0, 1, 2, None)] == [1, 4, 7, 8]
    mirrored = canonical_key([(0, 0, 1), (0, 1, 0)])
    assert len(signed(mirrored, 1)) == 2  # asserting either is the same clause


def test_parts():
    whole = canonical_key([(0, 0, 1), (3, 1), (4, 0)])
    assert is_part(canonical_key([(0, 7, 8), (3, 8)]), whole)
    assert not is_part(canonical_key([(0, 7, 8), (3, 7)]), whole)
    part = canonical_key([(0, 0, 1), (4, 0)])
    assert is_better(whole, 0.3, {part: 0.2, ((5, 0),): 1.0})
    assert not is_better(whole, 0.2, {part: 0.2})
