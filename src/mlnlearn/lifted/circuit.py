"""Circuits: plans bound to domain sizes, as flat arrays that two compiled passes evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from mlnlearn.counting.arrays import bounds_of
from mlnlearn.errors import MemoryLimitError, MlnError
from mlnlearn.lifted.kernels import Branches, backward, forward, forward_signed
from mlnlearn.lifted.plan import Branch, LiftedPlan, PlanNode
from mlnlearn.lifted.sizes import evaluate
from mlnlearn.lifted.theory import SIGN, VIOLATED

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DEFAULT_LIMIT = 50_000_000
_MOST_ERROR = 1e-6


class CancellationError(MlnError):
    """Too many digits were lost between terms of opposite sign."""


@dataclass(slots=True)
class _Branches:
    """The branches of one node: which row each belongs to, and its terms as (branch, …) arrays."""

    starts: Ints
    constants: Floats
    odd: NDArray[np.bool_]
    linear: list[tuple[Ints, int, Floats]]
    calls: list[tuple[Ints, int, int, Floats]]


class _Binder:
    """Collects the sizes that every node is called with, callers first, and writes its branches."""

    def __init__(self, plan: LiftedPlan, limit: int) -> None:
        self.plan = plan
        self.limit = limit
        self.branches = 0
        self.wanted: list[list[Floats]] = [[] for _ in plan.nodes]
        self.slots = [0] * len(plan.nodes)

    def branch(self, branch: Branch, columns: Floats, ids: Ints, part: _Branches) -> None:
        """Write one branch for many values of its symbols; `ids` are the branches' numbers."""
        alive = np.ones(len(ids), bool)
        for weight, multiple in branch.linear.items():
            if weight == VIOLATED:
                alive &= evaluate(multiple, columns) < 0.5
                part.constants[ids[~alive]] = -np.inf
            elif weight == SIGN:
                part.odd[ids] ^= np.rint(evaluate(multiple, columns)).astype(np.int64) % 2 == 1
            else:
                part.linear.append((ids, weight, evaluate(multiple, columns)))
        for call in branch.calls:
            multiples = evaluate(call.multiple, columns)
            keep = np.flatnonzero((multiples != 0.0) & alive)
            if not len(keep):
                continue
            arguments = np.empty((len(call.arguments), len(keep)))
            for row, argument in enumerate(call.arguments):
                arguments[row] = evaluate(argument, columns)[keep]
            part.calls.append((ids[keep], call.node, self.slots[call.node], multiples[keep]))
            self.wanted[call.node].append(arguments)
            self.slots[call.node] += len(keep)

    def node(self, node: PlanNode, rows: Floats) -> _Branches:
        """Write all branches of a node for the rows of sizes it is called with."""
        count = rows.shape[1]
        if node.size is None:
            part = self.part(2 * np.arange(count + 1))
            for number, branch in enumerate(node.branches):
                self.branch(branch, rows, 2 * np.arange(count) + number, part)
            return part
        sizes = np.rint(evaluate(node.size, rows)).astype(np.int64)
        starts = bounds_of(sizes + 1)
        part = self.part(starts)
        owner = np.repeat(np.arange(count), sizes + 1)
        axis = (np.arange(starts[-1]) - starts[owner]).astype(np.float64)
        part.constants += _log_binomial(sizes[owner].astype(np.float64), axis)
        columns = np.vstack([rows[:, owner], axis])
        self.branch(node.branches[0], columns, np.arange(starts[-1]), part)
        return part

    def part(self, starts: Ints) -> _Branches:
        """Make room for the branches of a node, within the limit."""
        count = int(starts[-1])
        self.branches += count
        if self.branches > self.limit:
            raise MemoryLimitError(
                f"lifted inference needs more than {self.limit:,} terms for these domain sizes"
            )
        return _Branches(starts, np.zeros(count), np.zeros(count, bool), [], [])


def _log_binomial(n: Floats, k: Floats) -> Floats:
    result: Floats = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return result


def _distinct(rows: Floats) -> tuple[Floats, Ints]:
    """Return the distinct columns and, for each column, the number of its equal."""
    if not len(rows):
        return np.zeros((0, 1)), np.zeros(rows.shape[1], np.int64)
    codes = rows.astype(np.int64)
    radices = codes.max(axis=1) + 1
    if float(np.prod(radices.astype(np.float64))) < 2.0**62:
        keys = np.zeros(rows.shape[1], np.int64)
        for code, radix in zip(codes, radices, strict=True):
            keys = keys * radix + code
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        return rows[:, first], inverse
    found, inverse = np.unique(rows, axis=1, return_inverse=True)
    return found, inverse.reshape(-1)


@dataclass(frozen=True, slots=True)
class Circuit:
    """A plan bound to the domain sizes of one or several databases.

    Attributes
    ----------
    branches
        Branches and their terms.
    roots
        How many databases there are: the last values are their log Z.
    weights
        Number of weights.
    signed
        Whether terms of both signs occur.
    """

    branches: Branches
    roots: int
    weights: int
    signed: bool

    @property
    def size(self) -> int:
        """Number of branches: a measure of the work of one evaluation."""
        return len(self.branches.constants)

    def evaluate(self, weights: Floats, seeds: Floats | None = None) -> tuple[Floats, Floats]:
        """Return log Z for each database, and the gradient of its sum over databases.

        Parameters
        ----------
        weights
            The weights.
        seeds
            Multiples of the databases' log Z in the sum; all 1 by default.
        """
        count = len(self.branches.starts) - 1
        sums, values, signs = np.empty(self.size), np.empty(count), np.ones(count)
        branches = self.branches
        if self.signed:
            bounds = np.empty(count)
            branches = branches._replace(odd=branches.odd.copy())
            forward_signed(branches, weights, sums, values, signs, bounds)
            self._refuse_lost_digits(values, signs, bounds)
        else:
            forward(branches, weights, sums, values)
        adjoints = np.zeros(count)
        adjoints[count - self.roots :] = 1.0 if seeds is None else seeds
        gradient = np.zeros(self.weights)
        backward(branches, sums, values, signs, adjoints, gradient)
        return values[count - self.roots :], gradient

    def _refuse_lost_digits(self, values: Floats, signs: Floats, bounds: Floats) -> None:
        roots = slice(len(values) - self.roots, None)
        possible = bounds[roots] > -np.inf
        lost = bounds[roots][possible] - values[roots][possible]
        if (lost > _MOST_ERROR).any() or (signs[roots] < 0.0).any():
            raise CancellationError(
                "terms of opposite sign cancel: fewer than six digits of log Z are certain",
                hint="the formulas may contradict each other; else use smaller domains",
            )


def bind(plan: LiftedPlan, sizes: Floats, weights: int, *, limit: int = DEFAULT_LIMIT) -> Circuit:
    """Write a plan out for given domain sizes: one column of `sizes` a database.

    Equal calls, within and across databases, are evaluated once.

    Examples
    --------
    >>> from mlnlearn.lifted.search import compile_plan
    >>> from mlnlearn.lifted.sizes import ONE, symbol
    >>> from mlnlearn.lifted.theory import Theory
    >>> theory = Theory({0: symbol(0)}, {0: (0,)})
    >>> theory.add_soft([(0, (0,))], {0: ONE}, ONE)  # weight 0 for p(x)
    >>> circuit = bind(compile_plan(theory), np.array([[3.0]]), weights=1)
    >>> values, gradient = circuit.evaluate(np.array([0.0]))
    >>> np.exp(values).round(9).tolist(), gradient.tolist()
    ([8.0], [1.5])
    """
    binder = _Binder(plan, limit)
    roots = sizes.shape[1]
    parts: list[_Branches] = []
    part = binder.part(np.arange(roots + 1))
    binder.branch(plan.root, sizes, np.arange(roots), part)
    parts.append(part)
    places: list[Ints] = []
    for number in range(len(plan.nodes) - 1, -1, -1):
        wanted = binder.wanted[number]
        rows = np.zeros((plan.nodes[number].parameters, 0))
        if wanted:
            rows, inverse = _distinct(np.concatenate(wanted, axis=1))
            places.append(inverse)
        else:
            places.append(np.zeros(0, np.int64))
        parts.append(binder.node(plan.nodes[number], rows))
    parts.reverse()
    places.reverse()
    return _flat(parts, places, roots, weights)


def _flat(parts: Sequence[_Branches], places: Sequence[Ints], roots: int, weights: int) -> Circuit:
    """Join the nodes' branches into one sequence, called nodes first."""
    value_starts = np.cumsum([0] + [len(part.starts) - 1 for part in parts])
    branch_starts = np.cumsum([0] + [int(part.starts[-1]) for part in parts])
    starts = np.concatenate(
        [part.starts[:-1] + first for part, first in zip(parts, branch_starts[:-1], strict=True)]
        + [branch_starts[-1:]]
    )
    linear = [
        (ids + first, np.full(len(ids), weight), multiples)
        for part, first in zip(parts, branch_starts[:-1], strict=True)
        for ids, weight, multiples in part.linear
    ]
    calls = [
        (ids + first, value_starts[node] + places[node][slot : slot + len(ids)], multiples)
        for part, first in zip(parts, branch_starts[:-1], strict=True)
        for ids, node, slot, multiples in part.calls
    ]
    total = int(branch_starts[-1])
    odd = np.concatenate([part.odd for part in parts])
    constants = np.concatenate([part.constants for part in parts])
    terms = *_by_branch(linear, total), *_by_branch(calls, total)
    return Circuit(Branches(starts, constants, odd, *terms), roots, weights, bool(odd.any()))


def _by_branch(
    terms: Sequence[tuple[Ints, Ints, Floats]], branches: int
) -> tuple[Ints, Ints, Floats]:
    """Sort terms by branch: where each branch starts, what the terms are of, and multiples."""
    if not terms:
        return np.zeros(branches + 1, np.int64), np.zeros(0, np.int64), np.zeros(0)
    ids, what, multiples = (np.concatenate(columns) for columns in zip(*terms, strict=True))
    keep = multiples != 0.0
    ids, what, multiples = ids[keep], what[keep], multiples[keep]
    order = np.argsort(ids, kind="stable")
    starts = bounds_of(np.bincount(ids, minlength=branches))
    return starts, what[order], multiples[order]
