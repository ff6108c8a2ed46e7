"""What atoms in bodies do to their odds, against the definition: values in two worlds."""

from dataclasses import replace

import numpy as np
import pytest

from mlnlearn.counting import through as joins
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Pattern
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.model.boosted import false_heads as heads
from mlnlearn.model.boosted import tree_influence as trees
from mlnlearn.model.boosted.influence import influence
from mlnlearn.model.boosted.rules import Leaf, Split, Tree
from structure.boosting.boosting_reference import (
    Reference,
    count,
    random_clauses,
    random_tree,
    small_world,
)

EVIDENCE = ["link", "part", "colour", "three", "big", "weather"]


class Worlds:
    """The values of all heads of one database, one atom of it being true or false."""

    def __init__(self, database, step, head):
        self.database, self.step, self.head = database, step, head
        self.examples = positives_and_negatives([database], head)
        self.reference = Reference([database], self.examples, False)

    def value(self, number):
        if isinstance(self.step, Tree):
            leaf, groundings, _ = self.reference.route(self.step.root, number)
            return leaf * groundings
        facts, names = self.reference.facts[0], self.reference.names[number]
        return sum(c.weight * count(self.database, facts, c.body, names) for c in self.step.clauses)

    def influence(self, predicate, names):
        """Minus the change of all other false heads' values when the atom becomes true."""
        truth = self.reference.facts[0]
        sums = []
        for added in ({names}, set()):
            self.reference.facts[0] = {**truth, predicate: truth[predicate] - {names} | added}
            sums.append(
                sum(
                    self.value(number)
                    for number, head in enumerate(self.reference.names)
                    if head not in truth[self.head] and (self.head, head) != (predicate, names)
                )
            )
        self.reference.facts[0] = truth
        return sums[1] - sums[0]


def check(databases, step, head, predicate):
    world = Objects(databases)
    examples = positives_and_negatives(databases, predicate)
    rows = world.numbered(examples.predicate, examples.database, examples.columns)
    schema = databases[0].schema
    found = influence(step, schema[head], world, schema[predicate], rows, examples.labels)
    worlds = [Worlds(database, step, head) for database in databases]
    names = list(examples.rows(databases))
    expected = [
        worlds[which].influence(predicate, names[number])
        for number, which in enumerate(examples.database.tolist())
    ]
    assert found == pytest.approx(expected, abs=1e-9)
    return np.any(found)


@pytest.mark.parametrize("head", ["goal", "aim"])
@pytest.mark.parametrize("predicate", ["goal", "aim"])
@pytest.mark.parametrize("make", [random_tree, random_clauses], ids=["trees", "clauses"])
def test_influence_by_two_worlds(make, predicate, head):
    rng = np.random.default_rng(9)
    told = 0
    for _ in range(12 if head == "aim" else 6):
        databases = small_world(rng)
        schema = databases[0].schema
        step = make(rng, schema, schema[head].types, [*EVIDENCE, *[predicate] * 6])
        told += check(databases, step, head, predicate)
    assert told  # some steps have the predicate where it matters


@pytest.mark.parametrize("limits", ["few heads", "short tables", "both"])
def test_influence_in_small_pieces_and_by_touched_heads(limits, monkeypatch):
    if limits != "short tables":
        monkeypatch.setattr(heads, "_MOST_HEADS", 0)
    if limits != "few heads":
        for module in (trees, joins, heads):
            monkeypatch.setattr(module, "MOST_ROWS", 6)
        for module in (trees, heads):
            monkeypatch.setattr(module, "CHUNK", 5)
    rng = np.random.default_rng(23)
    for _ in range(5):
        databases = small_world(rng)
        schema = databases[0].schema
        step = random_tree(rng, schema, schema["goal"].types, [*EVIDENCE, "aim", "aim"])
        check(databases, step, "goal", "aim")


def test_an_atom_that_decides_several_tests_of_one_branch():
    (database,) = small_world(np.random.default_rng(2), 1)
    schema = database.schema
    aims = [Pattern(schema["aim"], (place,)) for place in (0, 1)]
    chain = (Pattern(schema["link"], (0, 2)), Pattern(schema["aim"], (2,)))
    deepest = Split(chain, Leaf(0.3), Leaf(-0.9))
    tree = Tree(Split((aims[0],), Split((aims[1],), deepest, Leaf(2.0)), Leaf(-0.7)))
    assert check([database], tree, "goal", "aim")
    bare = replace(database, true={**database.true, "aim": np.empty((1, 0), np.int32)})
    assert check([bare], tree, "goal", "aim")
