"""Values of trees and clauses for examples: one pass of joins for any number of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.model.boosted.bindings import Bindings, Flip, Mask
from mlnlearn.model.boosted.rules import Body, ClauseList, Leaf, Node, Split, Step
from mlnlearn.model.boosted.world import Pattern, World

Floats = NDArray[np.float64]

_CHUNK = 1 << 17
_MOST_ROWS = 1 << 23


class _TooManyRowsError(Exception):
    """A join would be larger than is good for memory: cut the examples."""


def step_values(
    step: Step, world: World, examples: Codes, existential: bool, flip: Flip | None = None
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
    >>> from mlnlearn.model.boosted.rules import HornClause
    >>> from mlnlearn.model.boosted.world import Pattern
    >>> schema = Schema.of("likes(person,person)", "happy(person)")
    >>> facts = {"likes": [("Anna", "Bob"), ("Anna", "Carl")]}
    >>> world = World([Database.from_facts(schema, facts)])
    >>> step = ClauseList((HornClause((Pattern(schema["likes"], (0, 1)),), 0.5),))
    >>> step_values(step, world, np.array([[0, 0, 0], [0, 1, 2]], np.int32), False).tolist()
    [1.0, 0.0, 0.0]
    """
    result = np.empty(examples.shape[1])
    waiting = [(start, min(start + _CHUNK, len(result))) for start in range(0, len(result), _CHUNK)]
    while waiting:
        start, end = waiting.pop()
        limit = _MOST_ROWS if end - start > 1 else None
        part = None if flip is None else flip.part(slice(start, end))
        table = Bindings.of(world, np.ascontiguousarray(examples[:, start:end]), part)
        try:
            result[start:end] = _Evaluation(table, existential, limit).step(step)
        except _TooManyRowsError:
            middle = (start + end) // 2
            waiting += [(start, middle), (middle, end)]
    return result


class _Evaluation:
    """One run over one chunk of examples."""

    def __init__(self, table: Bindings, existential: bool, limit: int | None) -> None:
        self.table = table
        self.existential = existential
        self.limit = limit
        self.values = np.zeros(table.size)

    def step(self, step: Step) -> Floats:
        if isinstance(step, ClauseList):
            for clause in step.clauses:
                counts = self._counts(self.table, clause.body, frozenset())[0]
                self._add(np.flatnonzero(counts), counts, clause.weight)
        else:
            everyone = np.ones(self.table.size, np.bool_)
            self._node(step.root, self.table, everyone, everyone.astype(np.int64))
        return self.values

    def _add(self, chosen: Ints, counts: Ints, weight: float) -> None:
        self.values[chosen] += weight if self.existential else weight * counts[chosen]

    def _node(self, node: Node, table: Bindings, inside: Mask, counts: Ints) -> None:
        if isinstance(node, Leaf):
            self._add(np.flatnonzero(inside), counts, node.value)
            return
        later = _used(node.yes)
        tested, almost = self._counts(table, node.test, later)
        holds = tested > 0
        deeper = table
        if isinstance(node.yes, Split):
            deeper = self._joined(almost.of_examples(holds), node.test[-1], later)
        self._node(node.yes, deeper, holds, tested)
        rest = inside & ~holds
        smaller = table if isinstance(node.no, Leaf) else table.of_examples(rest)
        self._node(node.no, smaller, rest, counts)

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
            raise _TooManyRowsError
        joined = table.join(pattern)
        return joined.merged(needed) if len(joined) > 2 * joined.size else joined


def _used(node: Node) -> frozenset[int]:
    """Return the variables that the tests below a node use."""
    if isinstance(node, Leaf):
        return frozenset()
    here = frozenset(variable for pattern in node.test for variable in pattern.variables)
    return here | _used(node.yes) | _used(node.no)
