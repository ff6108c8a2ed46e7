"""What Gibbs sampling prepares once for all chains: probability tables and hard clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.arrays import bounds_of
from mlnlearn.infer.network import Codes, Flags, Floats, Ints, Network
from mlnlearn.infer.sampling.joint_moves import few_steps, new_desk, redraw_set
from mlnlearn.infer.sampling.kernels import count_support, thresholds
from mlnlearn.infer.sampling.layout import Layout, build_layout
from mlnlearn.late import late

special = late("scipy.special")

STRONG = 5.0
"""Gibbs sampling is slow to cross clauses stronger than this one variable at a time."""
_MOST_NEIGHBOURS = 5


class Tables(NamedTuple):
    """Conditional probabilities of the atoms with few neighbours.

    Atom v has the neighbours ``neighbour[neighbour_start[v]:neighbour_start[v + 1]]``; its
    probability stands at ``table_start[v]`` plus the number their truth values spell in binary.
    Variables without a table have the start -1.
    """

    neighbour_start: Ints
    neighbour: Codes
    table_start: Ints
    probability: Floats
    threshold: NDArray[np.uint64]


class Clusters(NamedTuple):
    """Sets of variables that clauses tie together, by hard clauses first, then by strong ones, too.

    Attributes
    ----------
    start, variable
        The sets; a variable can be in one of either kind.
    tie
        How strong the clauses are that tie each set.
    whole
        Whether a set is drawn at once, else in random parts.
    member
        Whether a variable is in any of them.
    """

    start: Ints
    variable: Codes
    tie: Floats
    whole: Flags
    member: NDArray[np.uint8]


class GibbsPlan(NamedTuple):
    """What all chains share; the layout's incidences hold only clauses that need their support."""

    layout: Layout
    tables: Tables
    clusters: Clusters


def prepare(network: Network) -> GibbsPlan:
    """Prepare a network for Gibbs sampling.

    Examples
    --------
    One atom of weight 2:

    >>> from scipy.sparse import csr_array
    >>> network = Network(
    ...     cardinalities=np.array([2], np.int32), unary_starts=np.array([0, 2]),
    ...     unary_counts=csr_array([[0.0], [1.0]]), forbidden=np.zeros(2, bool),
    ...     clause_starts=np.array([0]), literal_variable=np.empty(0, np.int32),
    ...     literal_value=np.empty(0, np.int32), literal_positive=np.empty(0, bool),
    ...     clause_rule=np.empty(0, np.int32), multiplicity=np.empty(0),
    ...     constants=np.zeros(1), weights=np.array([2.0]))
    >>> plan = prepare(network)
    >>> plan.tables.probability.round(3)
    array([0.881])
    """
    layout = build_layout(network)
    return plan_of(layout, (layout.hard, STRONG))


def plan_of(layout: Layout, ties: tuple[float, ...]) -> GibbsPlan:
    """Prepare a network already laid out for Gibbs sampling (see `prepare`).

    Parameters
    ----------
    layout
        The network.
    ties
        Variables under clauses at least as strong as one of these are redrawn jointly.
    """
    clusters = _clusters(layout, ties)
    tables = _tables(layout, clusters)
    return GibbsPlan(_tracked(layout, tables), tables, clusters)


def _tracked(layout: Layout, tables: Tables) -> Layout:
    """Return the layout without the incidences of clauses between atoms with tables alone."""
    without = tables.table_start[layout.literal_variable] < 0
    clause = np.repeat(np.arange(len(layout.strength)), np.diff(layout.clause_start))
    needed = np.zeros(len(layout.strength), np.bool_)
    needed[clause[without]] = True
    kept = needed[layout.incident_clause]
    before = bounds_of(kept)
    return layout._replace(
        variable_start=before[layout.variable_start],
        incident_clause=layout.incident_clause[kept],
        incident_value=layout.incident_value[kept],
        incident_positive=layout.incident_positive[kept],
    )


def stuck(plan: GibbsPlan) -> Flags:
    """Tell which variables may stay for long what they are at first, and all chains alike.

    Those that soft clauses tie so strongly that worlds lie apart between which only joint moves
    lead, where they are too many for these. No diagnostic of the chains shows that.

    Examples
    --------
    Twenty atoms that strong clauses tie in a row, then three:

    >>> from scipy.sparse import csr_array
    >>> def row(atoms):
    ...     near = np.arange(atoms - 1, dtype=np.int32)
    ...     return Network(
    ...         cardinalities=np.full(atoms, 2, np.int32),
    ...         unary_starts=np.arange(0, 2 * atoms + 2, 2),
    ...         unary_counts=csr_array((2 * atoms, 1)), forbidden=np.zeros(2 * atoms, bool),
    ...         clause_starts=2 * np.arange(atoms),
    ...         literal_variable=np.stack([near, near + 1], axis=1).ravel(),
    ...         literal_value=np.ones(2 * atoms - 2, np.int32),
    ...         literal_positive=np.tile([True, False], atoms - 1),
    ...         clause_rule=np.zeros(atoms - 1, np.int32), multiplicity=np.ones(atoms - 1),
    ...         constants=np.zeros(1), weights=np.array([9.0]))
    >>> [bool(stuck(prepare(row(atoms))).any()) for atoms in (20, 3)]
    [True, False]
    """
    clusters = plan.clusters
    in_parts = (clusters.tie < plan.layout.hard) & ~clusters.whole
    found = np.zeros(len(clusters.member), np.bool_)
    found[clusters.variable[np.repeat(in_parts, np.diff(clusters.start))]] = True
    return found


def _clusters(layout: Layout, ties: tuple[float, ...]) -> Clusters:
    """Find the variables that clauses tie together, and the clusters with few assignments."""
    sets: dict[bytes, tuple[Codes, float]] = {}
    for tie in ties:
        start, variable = _tied_components(layout, tie)
        for block in np.split(variable, start[1:-1]) if len(variable) else ():
            sets.setdefault(np.sort(block).tobytes(), (block, tie))
    blocks = [block for block, _ in sets.values()]
    variable = np.concatenate([np.empty(0, np.int32), *blocks])
    member = np.zeros(len(layout.cardinality), np.uint8)
    member[variable] = 1
    start = np.cumsum([0, *map(len, blocks)], dtype=np.int64)
    tie_of = np.array([tie for _, tie in sets.values()], np.float64)
    return Clusters(start, variable, tie_of, _have_few_assignments(layout, blocks), member)


def _have_few_assignments(layout: Layout, blocks: list[Codes]) -> Flags:
    """Tell of which sets all assignments that break no hard clause can be walked through."""
    unary = np.where(layout.unary <= -layout.hard, layout.unary, 0.0)
    strength = np.where(layout.strength >= layout.hard, layout.strength, 0.0)
    whole = np.zeros(len(blocks), np.bool_)
    world = np.zeros(len(layout.cardinality), np.int32)
    support = np.zeros(len(strength), np.int32)
    count_support(layout, world, support)
    desk = new_desk(len(world), len(support))
    stream = np.zeros(1, np.uint64)
    for number, block in enumerate(blocks):
        desk.chosen_set[: len(block)] = block
        whole[number] = redraw_set(
            layout, unary, strength, len(block), few_steps(len(block)), world, support, desk, stream
        )
    return whole


@njit(cache=True)
def _tied_components(layout, tie):  # type: ignore[no-untyped-def]
    """Return the components under clauses so strong, breadth first, as starts and variables."""
    variables = len(layout.cardinality)
    seen = np.zeros(variables, np.bool_)
    order = np.empty(variables, np.int32)
    starts = [0]
    count = 0
    for root in range(variables):
        if seen[root]:
            continue
        seen[root] = True
        first, head = count, count
        order[count] = root
        count += 1
        while head < count:
            variable = order[head]
            head += 1
            for place in range(
                layout.variable_start[variable], layout.variable_start[variable + 1]
            ):
                clause = layout.incident_clause[place]
                if abs(layout.strength[clause]) < tie:
                    continue
                for near in range(layout.clause_start[clause], layout.clause_start[clause + 1]):
                    other = layout.literal_variable[near]
                    if not seen[other]:
                        seen[other] = True
                        order[count] = other
                        count += 1
        if count == first + 1:
            count = first
        else:
            starts.append(count)
    return np.array(starts, np.int64), order[:count].copy()


def _tables(layout: Layout, clusters: Clusters) -> Tables:
    """Tabulate the probabilities of atoms with few neighbours; equal tables are stored once."""
    free = (layout.cardinality == 2) & (clusters.member == 0)
    start, neighbour, tabled = _few_neighbours(layout, free, _MOST_NEIGHBOURS)
    degree = np.diff(start)
    table_start = np.full(len(degree), -1, np.int64)
    stored: list[Floats] = []
    length = 0
    for size in range(_MOST_NEIGHBOURS + 1):
        chosen = np.flatnonzero(tabled & (degree == size))
        if len(chosen):
            odds = _tabulate(layout, chosen, start, neighbour, size)
            rows, which = np.unique(odds, axis=0, return_inverse=True)
            table_start[chosen] = length + which.reshape(-1) * rows.shape[1]
            stored.append(rows.ravel())
            length += rows.size
    probability = special.expit(np.concatenate([np.empty(0), *stored]))
    return Tables(start, neighbour, table_start, probability, thresholds(probability))


@njit(cache=True)
def _few_neighbours(layout, free, most):  # type: ignore[no-untyped-def]
    """List the neighbours of atoms with at most `most`, all atoms; tell which atoms those are."""
    variables = len(layout.cardinality)
    start = np.zeros(variables + 1, np.int64)
    found = np.empty(variables * most, np.int32)
    tabled = free.copy()
    count = 0
    for variable in range(variables):
        first = count
        for place in range(layout.variable_start[variable], layout.variable_start[variable + 1]):
            clause = layout.incident_clause[place]
            for near in range(layout.clause_start[clause], layout.clause_start[clause + 1]):
                other = layout.literal_variable[near]
                if not tabled[variable] or other == variable or other in found[first:count]:
                    continue
                if layout.cardinality[other] != 2 or count - first == most:
                    tabled[variable] = False
                    continue
                found[count] = other
                count += 1
            if not tabled[variable]:
                count = first
                break
        start[variable + 1] = count
    return start, found[:count].copy(), tabled


@njit(cache=True)
def _tabulate(layout, chosen, start, neighbour, size):  # type: ignore[no-untyped-def]
    """Return the log-odds of each chosen atom for each state of its `size` neighbours."""
    odds = np.empty((len(chosen), 1 << size))
    for row in range(len(chosen)):
        variable = chosen[row]
        near = neighbour[start[variable] : start[variable + 1]]
        first = layout.value_start[variable]
        odds[row] = layout.unary[first + 1] - layout.unary[first]
        for place in range(layout.variable_start[variable], layout.variable_start[variable + 1]):
            clause = layout.incident_clause[place]
            sign = 1.0 if layout.incident_positive[place] == 1 else -1.0
            for state in range(1 << size):
                held = False
                for spot in range(layout.clause_start[clause], layout.clause_start[clause + 1]):
                    for index in range(size):
                        if near[index] == layout.literal_variable[spot]:
                            held |= ((state >> index) & 1) == layout.literal_positive[spot]
                if not held:
                    odds[row, state] += sign * layout.strength[clause]
    return odds
