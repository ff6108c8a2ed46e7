"""Values of trees and clauses for examples: one pass of joins for any number of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.bindings import Bindings, Flip, Mask
from mlnlearn.counting.chunks import TooManyRowsError, in_chunks
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body, Pattern
from mlnlearn.model.boosted.rules import Leaf, Node, Split, Step, nodes, roots

Floats = NDArray[np.float64]

_CHUNK = 1 << 17
_MOST_ROWS = 1 << 23


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
    result = np.empty(examples.shape[1])

    def run(start: int, end: int) -> None:
        result[start:end] = _evaluation(world, examples, start, end, flip).step(step, existential)

    in_chunks(len(result), _CHUNK, run)
    return result


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
    size = examples.shape[1]
    stops = [Stop(np.zeros(size, np.bool_), np.zeros(size, np.int64)) for _ in nodes(root)]

    def run(start: int, end: int) -> None:
        visits = _evaluation(world, examples, start, end, flip).visits(root)
        for stop, (_, reached, counts) in zip(stops, visits, strict=True):
            stop.reached[start:end], stop.counts[start:end] = reached, counts

    in_chunks(size, _CHUNK, run)
    return stops


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
    result = np.empty(examples.shape[1])

    def run(start: int, end: int) -> None:
        result[start:end] = _evaluation(world, examples, start, end, flip).subtree(node, body)

    in_chunks(len(result), _CHUNK, run)
    return result


def values_below(node: Node, table: Bindings, most_rows: int | None) -> Floats:
    """Return the values below a node for examples whose groundings so far a table lists.

    Raises `TooManyRowsError` where a join would make more rows than wanted.
    """
    return _ChunkEvaluation(table, most_rows).subtree(node, ())


def used(node: Node) -> frozenset[int]:
    """Return the variables that the tests below a node use."""
    if isinstance(node, Leaf):
        return frozenset()
    here = frozenset(variable for pattern in node.test for variable in pattern.variables)
    return here | used(node.yes) | used(node.no)


def _evaluation(
    world: Objects, examples: Codes, start: int, end: int, flip: Flip | None
) -> _ChunkEvaluation:
    part = None if flip is None else flip.part(slice(start, end))
    table = Bindings.of(world, np.ascontiguousarray(examples[:, start:end]), part)
    return _ChunkEvaluation(table, _MOST_ROWS if end - start > 1 else None, table.columns)


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


class _ChunkEvaluation:
    """One run over one chunk of examples; `examples` are their rows, where vectors need them."""

    def __init__(self, table: Bindings, limit: int | None, examples: Codes | None = None) -> None:
        self.table = table
        self.limit = limit
        self.examples = examples

    def step(self, step: Step, existential: bool) -> Floats:
        values = np.zeros(self.table.size)
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
        if self.examples is None:
            raise ValueError("a leaf with a vector below a node: spell it out first")
        found: Floats = leaf_values(leaf, self.table.world)[self.examples[leaf.by.place + 1]]
        return found

    def subtree(self, node: Node, body: Body) -> Floats:
        """Return the values below a node for examples that came there by a conjunction."""
        later = used(node)
        for number, pattern in enumerate(body, 1):
            rest = (variable for other in body[number:] for variable in other.variables)
            self.table = self._joined(self.table, pattern, later.union(rest))
        values = np.zeros(self.table.size)
        for end, reached, counts in self.visits(node):
            if isinstance(end, Leaf):
                values[reached] = self._given(end) * counts[reached]
        return values

    def visits(self, node: Node) -> Iterator[tuple[Node, Mask, Ints]]:
        """Yield every node below one with the examples that come by, and counts as in `Stop`."""
        everyone = np.ones(self.table.size, np.bool_)
        yield from self._node(node, self.table, everyone, self.table.totals())

    def _node(
        self, node: Node, table: Bindings, inside: Mask, counts: Ints
    ) -> Iterator[tuple[Node, Mask, Ints]]:
        if isinstance(node, Leaf):
            yield node, inside, counts
            return
        later = used(node.yes)
        tested, almost = self._counts(table, node.test, later)
        yield node, inside, tested
        holds = tested > 0
        deeper = table
        if isinstance(node.yes, Split):
            deeper = self._joined(almost.of_examples(holds), node.test[-1], later)
        yield from self._node(node.yes, deeper, holds, tested)
        rest = inside & ~holds
        smaller = table if isinstance(node.no, Leaf) else table.of_examples(rest)
        yield from self._node(node.no, smaller, rest, counts)

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
