"""Variable elimination in log-space: sums with all marginals, or the best world.

Variables are summed out one by one: the tables that hold a variable are added to one joint table,
whose log-sum over that variable is a message to the variables that remain. The derivative of log Z
with respect to a log-table is the marginal of that table, so one backward pass over the same steps
gives the marginals of all tables (what a junction tree does with a second round of messages). With
the maximum in place of the sum, a backward pass reads off the best world.

References
----------
Dechter (1999), Bucket elimination: a unifying framework for reasoning. Artificial Intelligence 113.
Darwiche (2003), A differential approach to inference in Bayesian networks. JACM 50.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mlnlearn.counting.arrays import expand_ranges
from mlnlearn.errors import MlnError
from mlnlearn.infer.factors import FactorGraph, factor_graph, factor_scopes
from mlnlearn.infer.network import Codes, Floats, Network

DEFAULT_LIMIT = 2**22
"""Most cells of all joint tables together: about 64 MB and a second of work."""


# The slower order is tried only where the quicker one left few variables, measured in the number
# of variables that one table can hold: a larger rest is hopeless.
_WORTH_A_RETRY = 5


class TooHardError(MlnError):
    """Exact inference would need tables larger than the limit."""


@dataclass(frozen=True, eq=False)
class Eliminated:
    """The exact answer for one network, without the constants of its rules.

    Attributes
    ----------
    log_z
        Logarithm of the summed weight of all worlds; minus infinity where none is possible.
    marginals
        Probability of each value of each variable.
    satisfied
        Probability that each clause holds.
    """

    log_z: float
    marginals: Floats
    satisfied: Floats


def eliminate(network: Network, limit: int = DEFAULT_LIMIT) -> Eliminated:
    """Return log Z and all marginals of a network by variable elimination.

    Raises
    ------
    TooHardError
        Before any table is made, where the tables would have more than `limit` cells.

    Examples
    --------
    A chain of 100 atoms, each implying the next, softly:

    >>> from scipy.sparse import csr_array
    >>> size = 100
    >>> pairs = np.stack([np.arange(size - 1), np.arange(1, size)], axis=1).astype(np.int32)
    >>> network = Network(
    ...     cardinalities=np.full(size, 2, np.int32), unary_starts=np.arange(0, 2 * size + 1, 2),
    ...     unary_counts=csr_array((2 * size, 1)), forbidden=np.zeros(2 * size, bool),
    ...     clause_starts=np.arange(0, 2 * size - 1, 2), literal_variable=pairs.ravel(),
    ...     literal_value=np.ones(2 * size - 2, np.int32),
    ...     literal_positive=np.tile([False, True], size - 1),
    ...     clause_rule=np.zeros(size - 1, np.int32), multiplicity=np.ones(size - 1),
    ...     constants=np.zeros(1), weights=np.array([1.0]),
    ... )
    >>> first, last = eliminate(network).marginals[[1, -1]]
    >>> bool(first < 0.5 < last), round(float(first + last), 9)
    (True, 1.0)
    """
    order = elimination_order(network, limit)
    graph = factor_graph(network)
    log_z, marginals = sum_product(graph, order)
    values = np.concatenate(marginals[: network.variables])
    satisfied = [1.0 - graph.violated(c, marginals) for c in range(network.clauses)]
    return Eliminated(log_z, values, np.array(satisfied))


def eliminate_max(network: Network, limit: int = DEFAULT_LIMIT) -> tuple[float, Codes]:
    """Return the largest log-weight of a world (without constants), and a world that has it."""
    order = elimination_order(network, limit)
    best, world = max_product(factor_graph(network), order)
    return best, world[: network.variables]


# ── the order ─────────────────────────────────────────────────────────────────────────────────────


def elimination_order(network: Network, limit: int = DEFAULT_LIMIT) -> list[int]:
    """Return an order of the variables, auxiliary ones included, whose tables keep to the limit.

    Greedy: next comes the variable with the smallest joint table, or failing that the one whose
    elimination joins the fewest pairs of variables that were not yet joined.

    Raises
    ------
    TooHardError
        Where neither order keeps to the limit.
    """
    if not _too_dense(network, limit):
        cardinalities, scopes = factor_scopes(network)
        bits = [math.log2(cardinality) for cardinality in cardinalities]
        order, complete = _greedy(bits, scopes, limit, fewest_fills=False)
        if not complete and len(bits) - len(order) <= _WORTH_A_RETRY * math.log2(limit):
            order, complete = _greedy(bits, scopes, limit, fewest_fills=True)
        if complete:
            return order
    raise TooHardError(
        f"{network.variables} variables under {network.clauses} clauses hang together too closely: "
        f"exact inference would need tables of more than {limit} cells",
        hint="use a sampler (gibbs, mcsat) or bp, or raise the limit",
    )


def _too_dense(network: Network, limit: int) -> bool:
    """Tell quickly that no order can do: a graph of tree-width k has at most k edges a variable."""
    width = math.log2(limit)
    lengths = np.diff(network.clause_starts)
    keys = []
    for length in range(2, 7):  # clauses up to this length are always tables
        starts = network.clause_starts[:-1][lengths == length]
        literals = expand_ranges(starts, np.full(len(starts), length)).reshape(-1, length)
        variables = np.sort(network.literal_variable[literals], axis=1).astype(np.int64)
        for i, j in combinations(range(length), 2):
            apart = variables[:, i] < variables[:, j]
            keys.append(variables[apart, i] * network.variables + variables[apart, j])
    return len(np.unique(np.concatenate(keys))) > width * network.variables


def _greedy(
    bits: Sequence[float], scopes: Iterable[tuple[int, ...]], limit: int, *, fewest_fills: bool
) -> tuple[list[int], bool]:
    """Return a greedy order, and whether it is complete: it ends where its tables get too large."""
    neighbours: list[set[int]] = [set() for _ in bits]
    for scope in scopes:
        for variable in scope:
            neighbours[variable].update(scope)
    for variable, near in enumerate(neighbours):
        near.discard(variable)

    def cost(variable: int) -> tuple[float, float, int]:
        near = neighbours[variable]
        size = sum(bits[other] for other in near) + bits[variable]
        if not fewest_fills:
            return size, 0.0, variable
        joined = sum(len(near & neighbours[other]) for other in near) // 2
        return len(near) * (len(near) - 1) // 2 - joined, size, variable

    costs = [cost(variable) for variable in range(len(bits))]
    heap = costs.copy()
    heapq.heapify(heap)
    order: list[int] = []
    done, cells = [False] * len(bits), 0.0
    while heap:
        entry = heapq.heappop(heap)
        variable = entry[2]
        if done[variable] or entry != costs[variable]:
            continue
        near = neighbours[variable]
        cells += 2.0 ** min(sum(bits[other] for other in near) + bits[variable], 1000.0)
        if cells > limit:
            return order, False
        done[variable] = True
        order.append(variable)
        for other in near:
            neighbours[other] |= near
            neighbours[other] -= {other, variable}
        for other in _changed(neighbours, near) if fewest_fills else near:
            costs[other] = cost(other)
            heapq.heappush(heap, costs[other])
    return order, True


def _changed(neighbours: Sequence[set[int]], near: set[int]) -> set[int]:
    """Return the variables whose fill-in may change when `near` become neighbours."""
    return near.union(*(neighbours[other] for other in near))


# ── the passes ────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Step:
    """One elimination: the tables that meet, by number, and the table that leaves."""

    scope: tuple[int, ...]
    inputs: list[int]
    output: int


class _Schedule:
    """The steps of an elimination; variables are renamed by their place in the order.

    With axes sorted by that place, the variable to eliminate is always the first axis of the joint
    table, and every table fits it by a mere reshape.
    """

    def __init__(self, graph: FactorGraph, order: Sequence[int]) -> None:
        place = {variable: i for i, variable in enumerate(order)}
        self.shape = [graph.cardinalities[variable] for variable in order]
        self.scopes: list[tuple[int, ...]] = []
        self.tables: list[Floats] = []
        self.axes: list[list[int]] = []
        buckets: list[list[int]] = [[] for _ in order]
        for scope, table in zip(graph.scopes, graph.tables, strict=True):
            axes = sorted(range(len(scope)), key=lambda axis: place[scope[axis]])
            self.axes.append(axes)
            self._add(tuple(place[scope[axis]] for axis in axes), table.transpose(axes), buckets)
        self.steps: list[_Step] = []
        for variable, bucket in enumerate(buckets):
            scope = tuple(sorted({variable}.union(*(self.scopes[number] for number in bucket))))
            self.steps.append(_Step(scope, bucket, len(self.tables)))
            self._add(scope[1:], np.empty(0), buckets)

    def _add(self, scope: tuple[int, ...], table: Floats, buckets: list[list[int]]) -> None:
        if scope:
            buckets[scope[0]].append(len(self.tables))
        self.scopes.append(scope)
        self.tables.append(table)

    def joint(self, step: _Step) -> Floats:
        """Add the tables that meet in a step."""
        total = np.zeros([self.shape[variable] for variable in step.scope])
        for number in step.inputs:
            total += self.tables[number].reshape(self.spread(step, number))
        return total

    def spread(self, step: _Step, number: int) -> list[int]:
        """Return the shape that fits a table to the joint table of a step."""
        own = self.scopes[number]
        return [self.shape[variable] if variable in own else 1 for variable in step.scope]

    def total(self) -> float:
        """Return the sum of the tables without variables that are left at the end."""
        left = [t for t, scope in zip(self.tables, self.scopes, strict=True) if not scope]
        return float(sum(float(table) for table in left))


def sum_product(graph: FactorGraph, order: Sequence[int]) -> tuple[float, list[Floats]]:
    """Return log Z and the marginal of every table; zeros where no world is possible."""
    schedule = _Schedule(graph, order)
    for step in schedule.steps:
        joint = schedule.joint(step)
        top = _finite(joint.max(axis=0))
        with np.errstate(divide="ignore"):
            schedule.tables[step.output] = np.asarray(np.log(np.exp(joint - top).sum(axis=0)) + top)
    log_z = schedule.total()
    marginals = [np.ones(()) if np.isfinite(log_z) else np.zeros(())] * len(schedule.tables)
    for step in reversed(schedule.steps):
        message, weight = schedule.tables[step.output], marginals[step.output]
        joint = schedule.joint(step)
        joint -= _finite(message)
        np.exp(joint, out=joint)
        joint *= weight
        for number in step.inputs:
            own = schedule.scopes[number]
            others = tuple(axis for axis, v in enumerate(step.scope) if v not in own)
            marginals[number] = joint.sum(axis=others)
    original = zip(schedule.axes, marginals[: len(graph.tables)], strict=True)
    return log_z + graph.offset, [
        marginal.transpose(np.argsort(axes)) for axes, marginal in original
    ]


def max_product(graph: FactorGraph, order: Sequence[int]) -> tuple[float, Codes]:
    """Return the largest log-weight and a world that has it (minus infinity: none is possible)."""
    schedule = _Schedule(graph, order)
    for step in schedule.steps:
        schedule.tables[step.output] = np.asarray(schedule.joint(step).max(axis=0))
    chosen = np.zeros(len(order), np.int32)
    for step in reversed(schedule.steps):
        scores = np.zeros(schedule.shape[step.scope[0]])
        for number in step.inputs:
            rest = chosen[list(schedule.scopes[number][1:])]
            scores += schedule.tables[number][(slice(None), *rest)]
        chosen[step.scope[0]] = scores.argmax()
    world = np.empty(len(order), np.int32)
    world[list(order)] = chosen
    return schedule.total() + graph.offset, world


def _finite(table: Floats) -> Floats:
    """Replace minus infinity by zero, so that it can be subtracted."""
    return np.where(np.isneginf(table), 0.0, table)
