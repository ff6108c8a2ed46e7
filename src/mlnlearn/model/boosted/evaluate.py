"""Values of trees and clauses for examples: conjunctions are counted for all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.bindings import Bindings, Flip, Mask
from mlnlearn.counting.chunks import TooManyRowsError
from mlnlearn.counting.conjunctions import Conjunctions
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body, Pattern
from mlnlearn.model.boosted.rules import Leaf, Node, Split, Step, roots

Floats = NDArray[np.float64]

_VIEWED = 1 << 8  # examples from which on it pays to tell what a conjunction is about


def step_values(
    step: Step, world: Objects, examples: Codes, existential: bool, flip: Flip | None = None
) -> Floats:
    """Return what a tree or clause list adds to the log-odds of each example.

    Parameters
    ----------
    step
        The rules.
    world
        The facts.
    examples
        A row of databases, then one of each argument's objects.
    existential
        Whether a rule counts once, not once a grounding.
    flip
        An atom of each example whose truth differs from the data.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.model.boosted.rules import ClauseList, HornClause
    >>> from mlnlearn.counting.pattern import Pattern
    >>> schema = Schema.of("likes(person,person)", "happy(person)")
    >>> facts = {"likes": [("Anna", "Bob"), ("Anna", "Carl")]}
    >>> world = Objects([Database.from_facts(schema, facts)])
    >>> step = ClauseList((HornClause((Pattern(schema["likes"], (0, 1)),), 0.5),))
    >>> step_values(step, world, np.array([[0, 0, 0], [0, 1, 2]], np.int32), False).tolist()
    [1.0, 0.0, 0.0]
    """
    return Evaluation(world, examples, flip).step(step, existential)


@dataclass(frozen=True, slots=True, eq=False)
class Stop:
    """A node of a tree and the examples that come by.

    Attributes
    ----------
    reached
        Which examples come to the node.
    counts
        At a leaf, the groundings of the branch; elsewhere those of branch and test, zero for
        examples that do not come here.
    """

    reached: Mask
    counts: Ints


def routes(root: Node, world: Objects, examples: Codes, flip: Flip | None = None) -> list[Stop]:
    """Return who comes by each node of a tree, in the order of `nodes`.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)", "happy(person)")
    >>> facts = {"likes": [("Anna", "Bob"), ("Anna", "Carl")]}
    >>> world = Objects([Database.from_facts(schema, facts)])
    >>> tree = Split((Pattern(schema["likes"], (0, 1)),), Leaf(0.5), Leaf(-1.0))
    >>> people = np.array([[0, 0, 0], [0, 1, 2]], np.int32)
    >>> for stop in routes(tree, world, people):
    ...     print(stop.reached.tolist(), stop.counts.tolist())
    [True, True, True] [2, 0, 0]
    [True, False, False] [2, 0, 0]
    [False, True, True] [1, 1, 1]
    """
    visits = Evaluation(world, examples, flip).visits(root)
    return [Stop(reached, counts) for _, reached, counts in visits]


def values_from(
    node: Node, body: Body, world: Objects, examples: Codes, flip: Flip | None
) -> Floats:
    """Return the values below a node for examples that came there by a conjunction, all of them.

    They are those under counting semantics, whatever the tests above may say of the examples.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)", "happy(person)")
    >>> world = Objects([Database.from_facts(schema, {"likes": [("A", "B"), ("A", "C")]})])
    >>> likes = (Pattern(schema["likes"], (0, 1)),)
    >>> values_from(Leaf(0.5), likes, world, np.array([[0], [0]], np.int32), None).tolist()
    [1.0]
    """
    return Evaluation(world, examples, flip).subtree(node, body)


def values_below(node: Node, table: Bindings, most_rows: int | None) -> Floats:
    """Return the values below a node for examples whose groundings so far a table lists.

    Raises `TooManyRowsError` where a join would make more rows than wanted.
    """
    return _TableEvaluation(table, most_rows).subtree(node)


def used(node: Node) -> frozenset[int]:
    """Return the variables that the tests below a node use."""
    if isinstance(node, Leaf):
        return frozenset()
    here = frozenset(variable for pattern in node.test for variable in pattern.variables)
    return here | used(node.yes) | used(node.no)


def leaf_values(leaf: Leaf, world: Objects) -> Floats:
    """Return what a leaf with a vector gives to heads, by the object of the vector's argument.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.model.boosted.rules import ByConstant
    >>> domains = {"genre": ["Rock", "Jazz", "Folk"], "track": ["T"]}
    >>> db = Database.from_facts(Schema.of("is(track,genre)"), {}, domains=domains)
    >>> leaf = Leaf(1.0, ByConstant(1, "genre", ("Jazz", "Rock"), (0.5, -0.5)))
    >>> leaf_values(leaf, Objects([db, db])).tolist()
    [0.5, 1.5, 1.0, 0.5, 1.5, 1.0]
    """
    if leaf.by is None:
        raise ValueError("the leaf has no vector")
    names, codes = world.values(leaf.by.kind)
    added = leaf.by.added
    return np.array([leaf.value + added.get(name, 0.0) for name in names])[codes]


class Evaluation:
    """Values of trees and clauses for the same examples: what they share is counted once.

    Parameters
    ----------
    world, examples, flip
        As for `step_values`.
    """

    def __init__(self, world: Objects, examples: Codes, flip: Flip | None = None) -> None:
        self.world, self.examples = world, examples
        self._counted = Conjunctions(world, examples, _VIEWED, flip)

    def step(self, step: Step, existential: bool) -> Floats:
        """Return what a tree or clause list adds to the log-odds of each example."""
        values = np.zeros(self.examples.shape[1])
        for root in roots(step):
            for node, reached, counts in self.visits(root):
                if isinstance(node, Leaf) and not node.is_zero:
                    given = self._given(node)
                    own = given if isinstance(given, float) else given[reached]
                    values[reached] += own * (1 if existential else counts[reached])
        return values

    def _given(self, leaf: Leaf) -> Floats | float:
        """Return a leaf's value; with a vector, that for each example."""
        if leaf.by is None:
            return leaf.value
        found: Floats = leaf_values(leaf, self.world)[self.examples[leaf.by.place + 1]]
        return found

    def subtree(self, node: Node, body: Body) -> Floats:
        """Return the values below a node for examples that came there by a conjunction."""
        values = np.zeros(self.examples.shape[1])
        for end, reached, counts in self.visits(node, body):
            if isinstance(end, Leaf):
                values[reached] = end.value * counts[reached]
        return values

    def visits(self, node: Node, body: Body = ()) -> Iterator[tuple[Node, Mask, Ints]]:
        """Yield every node below one with the examples that come by, and counts as in `Stop`."""
        everyone = np.ones(self.examples.shape[1], np.bool_)
        counts = self._counted.groundings(body).astype(np.int64)
        yield from self._node(node, body, everyone, counts)

    def _node(
        self, node: Node, body: Body, inside: Mask, counts: Ints
    ) -> Iterator[tuple[Node, Mask, Ints]]:
        if isinstance(node, Leaf):
            yield node, inside, counts
            return
        longer = (*body, *node.test)
        tested = np.where(inside, self._counted.groundings(longer), np.int64(0))
        yield node, inside, tested
        holds = tested > 0
        yield from self._node(node.yes, longer, holds, tested)
        yield from self._node(node.no, body, inside & ~holds, counts)


class _TableEvaluation:
    """One run over examples whose groundings a table lists, in joins of so many rows at most."""

    def __init__(self, table: Bindings, limit: int | None) -> None:
        self.table = table
        self.limit = limit

    def subtree(self, node: Node) -> Floats:
        """Return the values below a node."""
        values = np.zeros(self.table.size)
        everyone = np.ones(self.table.size, np.bool_)
        for leaf, reached, counts in self._leaves(node, self.table, everyone, self.table.totals()):
            if leaf.by is not None:
                raise ValueError("a leaf with a vector below a node: spell it out first")
            values[reached] = leaf.value * counts[reached]
        return values

    def _leaves(
        self, node: Node, table: Bindings, inside: Mask, counts: Ints
    ) -> Iterator[tuple[Leaf, Mask, Ints]]:
        """Yield every leaf below a node with the examples that come there, and their groundings."""
        if isinstance(node, Leaf):
            yield node, inside, counts
            return
        later = used(node.yes)
        tested, almost = self._counts(table, node.test, later)
        holds = tested > 0
        deeper = table
        if isinstance(node.yes, Split):
            deeper = self._joined(almost.of_examples(holds), node.test[-1], later)
        yield from self._leaves(node.yes, deeper, holds, tested)
        rest = inside & ~holds
        smaller = table if isinstance(node.no, Leaf) else table.of_examples(rest)
        yield from self._leaves(node.no, smaller, rest, counts)

    def _counts(self, table: Bindings, body: Body, later: frozenset[int]) -> tuple[Ints, Bindings]:
        """Return each example's groundings, and the table joined with all patterns but the last.

        Variables that neither the rest of the body nor `later` tests use are dropped on the way.
        """
        if not body:
            return table.totals(), table
        for number, pattern in enumerate(body[:-1], 1):
            rest = (variable for other in body[number:] for variable in other.variables)
            table = self._joined(table, pattern, later.union(rest))
        return table.count(body[-1]), table

    def _joined(self, table: Bindings, pattern: Pattern, needed: frozenset[int]) -> Bindings:
        if self.limit is not None and table.joined_rows(pattern) > self.limit:
            raise TooManyRowsError
        joined = table.join(pattern)
        return joined.merged(needed) if len(joined) > 2 * joined.size else joined
