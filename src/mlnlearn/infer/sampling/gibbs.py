"""Gibbs sampling: every variable in turn drawn given the rest.

An atom with few neighbours, all atoms, looks its probability up in a table indexed by their truth
values: a few loads, one random number, one comparison. Other variables are scored from the number
of true literals of their clauses. Marginals add up the conditional probabilities instead of the
values drawn (Rao–Blackwell: Gelfand & Smith 1990), which has a smaller variance.

Hard clauses can isolate worlds from each other when one variable changes at a time, and strong ones
nearly so. Variables tied together by hard clauses, and those tied by hard or strong ones, are
therefore also redrawn jointly in every sweep: the whole cluster where its possible assignments are
few, random connected parts of it otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlnlearn.compiled import njit
from mlnlearn.infer.network import Codes, Floats
from mlnlearn.infer.sampling.gibbs_plan import GibbsPlan, plan_of, prepare, stuck
from mlnlearn.infer.sampling.joint_moves import Desk, grow_set, new_desk, redraw_set
from mlnlearn.infer.sampling.kernels import (
    Stream,
    below,
    chance,
    copy,
    count_support,
    new_stream,
    put,
    redraw,
)
from mlnlearn.infer.sampling.maxwalksat import feasible_world

__all__ = [
    "GibbsPlan",
    "GibbsState",
    "complete",
    "init",
    "plan_of",
    "prepare",
    "step",
    "stuck",
    "sweep",
]

_NO_LIMIT = 2**62


class GibbsState(NamedTuple):
    """A chain: its world, the true literals of its clauses, its random stream, working memory."""

    world: Codes
    support: Codes
    stream: Stream
    desk: Desk
    chances: Floats


def init(plan: GibbsPlan, rng: np.random.Generator) -> GibbsState:
    """Start a chain at a random world that satisfies everything hard (example: `step`)."""
    layout = plan.layout
    world = feasible_world(layout, rng)
    support = np.zeros(len(layout.strength), np.int32)
    count_support(layout, world, support)
    desk = new_desk(len(world), len(support))
    return GibbsState(
        world, support, new_stream(rng), desk, np.empty(layout.cardinality.max(initial=2))
    )


def step(plan: GibbsPlan, state: GibbsState, sweeps: int, sums: Floats, worlds: Codes) -> float:
    """Make sweeps in place.

    Parameters
    ----------
    sums
        Gets each value's conditional probability added, once a sweep.
    worlds
        Gets the world after each sweep; may be empty.

    Returns
    -------
    float
        Share of draws that changed their variable.

    Examples
    --------
    One atom of weight 2:

    >>> from scipy.sparse import csr_array
    >>> from mlnlearn.infer.network import Network
    >>> network = Network(
    ...     cardinalities=np.array([2], np.int32), unary_starts=np.array([0, 2]),
    ...     unary_counts=csr_array([[0.0], [1.0]]), forbidden=np.zeros(2, bool),
    ...     clause_starts=np.array([0]), literal_variable=np.empty(0, np.int32),
    ...     literal_value=np.empty(0, np.int32), literal_positive=np.empty(0, bool),
    ...     clause_rule=np.empty(0, np.int32), multiplicity=np.empty(0),
    ...     constants=np.zeros(1), weights=np.array([2.0]))
    >>> plan = prepare(network)
    >>> state = init(plan, np.random.default_rng(0))
    >>> sums = np.zeros(2)
    >>> moved = step(plan, state, 10, sums, np.empty((0, 1), np.int32))
    >>> sums.round(2)
    array([1.19, 8.81])
    """
    added = np.zeros_like(sums)
    moved = _sweeps(plan, state, sweeps, added, worlds)
    sums += complete(plan, added, sweeps)
    return float(moved) / max(sweeps * len(state.world), 1)


def complete(plan: GibbsPlan, sums: Floats, sweeps: int) -> Floats:
    """Fill in the sums of the atoms' falsity, which the kernels leave out (used by `step`)."""
    atoms = plan.layout.value_start[:-1][plan.layout.cardinality == 2]
    sums[atoms] = sweeps - sums[atoms + 1]
    return sums


@njit(cache=True, nogil=True)
def _sweeps(plan, state, sweeps, sums, worlds):  # type: ignore[no-untyped-def]
    """Make sweeps; return the number of changes."""
    moved = 0
    for number in range(sweeps):
        moved += sweep(plan, state, sums)
        if len(worlds):
            worlds[number] = state.world
    return moved


@njit(cache=True, nogil=True)
def sweep(plan, state, sums):  # type: ignore[no-untyped-def]
    """Draw every variable once, then the clusters; return the number of changes."""
    # Arrays taken out of their tuples once: inside the loop that would cost more than the draw.
    layout, tables, world, stream = plan.layout, plan.tables, state.world, state.stream
    table_start, probability, threshold = tables.table_start, tables.probability, tables.threshold
    neighbour_start, neighbour = tables.neighbour_start, tables.neighbour
    value_start, variable_start = layout.value_start, layout.variable_start
    moved = 0
    for variable in range(len(world)):
        place = table_start[variable]
        if place < 0:
            moved += _redraw_scored(layout, state, variable, sums)
            continue
        first = neighbour_start[variable]
        for shift in range(neighbour_start[variable + 1] - first):
            place += world[neighbour[first + shift]] << shift
        sums[value_start[variable] + 1] += probability[place]
        value = np.int32(chance(stream, threshold[place]))
        moved += value != world[variable]
        # Whether the clauses need support comes first: it can be foretold, a change cannot.
        if variable_start[variable] != variable_start[variable + 1] and value != world[variable]:
            put(layout, layout.strength, variable, world[variable], -1, state.support)
            put(layout, layout.strength, variable, value, 1, state.support)
        world[variable] = value
    _redraw_clusters(plan, state)
    return moved


@njit(cache=True, nogil=True)
def _redraw_scored(layout, state, variable, sums):  # type: ignore[no-untyped-def]
    """Draw a variable without a table; add up the probabilities of its values."""
    moved = redraw(
        layout, layout.unary, layout.strength, variable, state.world, state.support,
        state.chances, state.stream,
    )  # fmt: skip
    first = layout.value_start[variable]
    if layout.cardinality[variable] == 2:
        sums[first + 1] += state.chances[1]
    else:
        for value in range(layout.cardinality[variable]):
            sums[first + value] += state.chances[value]
    return moved


@njit(cache=True, nogil=True)
def _redraw_clusters(plan, state):  # type: ignore[no-untyped-def]
    """Redraw the variables that clauses tie together, jointly."""
    layout, clusters, desk, stream = plan.layout, plan.clusters, state.desk, state.stream
    for cluster in range(len(clusters.whole)):
        first = clusters.start[cluster]
        size = clusters.start[cluster + 1] - first
        if clusters.whole[cluster]:
            copy(clusters.variable[first:], desk.chosen_set, size)
            redraw_set(
                layout, layout.unary, layout.strength, size, _NO_LIMIT, state.world, state.support,
                desk, stream,
            )  # fmt: skip
            continue
        for _ in range(0, size, 4):
            variable = clusters.variable[first + below(stream, size)]
            grown = grow_set(
                layout, layout.strength, clusters.tie[cluster], variable, clusters.member, desk,
                stream,
            )  # fmt: skip
            redraw_set(
                layout, layout.unary, layout.strength, grown, _NO_LIMIT, state.world, state.support,
                desk, stream,
            )  # fmt: skip
