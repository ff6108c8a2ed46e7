"""MC-SAT: slice sampling over clauses (Poon & Domingos 2006), with exact inner draws.

A step first draws which constraints the next world must keep: each clause of weight w > 0 that
holds is required with probability 1 - exp(-w); a clause of weight w < 0 that fails must go on
failing with probability 1 - exp(w); hard clauses are always required; of each variable's values
those stay whose potential lies above a random level below the present one. The next world is then
uniform over the worlds that meet all requirements.

The paper draws it by SampleSAT, which is only nearly uniform, and the answers inherit its bias.
Any move that leaves the uniform distribution over these worlds as it is keeps MC-SAT exact, so only
such moves are used here. After unit propagation, variables under no requirement are drawn
independently; a component of requirements is drawn by rejection or by walking through all its
solutions; where these are too many, it goes from the present solution through sweeps of uniform
draws of single variables and of small random blocks. Local search finds the first world only.

A step ends with a Gibbs sweep. It too leaves the distribution of worlds as it is; it leads out of
worlds that strong weights hold for long, since MC-SAT must drop all of them at once, and its
conditional probabilities estimate the marginals with less variance than the worlds drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.infer.network import Codes, Floats, Network
from mlnlearn.infer.sampling import gibbs
from mlnlearn.infer.sampling.gibbs import GibbsPlan, GibbsState, sweep
from mlnlearn.infer.sampling.kernels import (
    chance,
    copy,
    count_support,
    draw,
    thresholds,
    uniform,
)
from mlnlearn.infer.sampling.layout import Layout, build_layout
from mlnlearn.infer.sampling.mcsat_draw import Scratch, draw_solutions, draw_value, new_scratch
from mlnlearn.infer.sampling.mcsat_propagate import QUEUED, propagate

_LOWEST_BIT = np.uint64(1)


class McsatPlan(NamedTuple):
    """What all chains share.

    Attributes
    ----------
    layout
        The network.
    gibbs
        What its Gibbs sweeps need.
    clause_threshold
        Probability (times 2^63) that a clause, being as its weight wants it, is required.
    favourite, atom_threshold
        The likelier value of each atom, and the probability (times 2^63) that it must be kept.
    """

    layout: Layout
    gibbs: GibbsPlan
    clause_threshold: NDArray[np.uint64]
    favourite: Codes
    atom_threshold: NDArray[np.uint64]


class McsatState(NamedTuple):
    """A chain: that of its Gibbs sweeps, and working memory."""

    gibbs: GibbsState
    scratch: Scratch


def prepare(network: Network) -> McsatPlan:
    """Prepare a network for MC-SAT.

    Examples
    --------
    One atom of weight 2 and no clause, so that each step starts anew:

    >>> from scipy.sparse import csr_array
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
    >>> moved = step(plan, state, 10_000, sums, np.empty((0, 1), np.int32))
    >>> bool(abs(sums[1] / 10_000 - 0.881) < 0.02)
    True
    """
    layout = build_layout(network)
    first = layout.value_start[:-1]
    atoms = layout.cardinality == 2
    lean = np.zeros(network.variables)
    lean[atoms] = layout.unary[first[atoms] + 1] - layout.unary[first[atoms]]
    return McsatPlan(
        layout=layout,
        gibbs=gibbs.plan_of(layout, (layout.hard,)),
        clause_threshold=thresholds(-np.expm1(-np.abs(layout.strength))),
        favourite=np.where(atoms, lean > 0, 0).astype(np.int32),
        atom_threshold=thresholds(-np.expm1(-np.abs(lean))),
    )


def init(plan: McsatPlan, rng: np.random.Generator) -> McsatState:
    """Start a chain at a random world that satisfies everything hard (example: `prepare`)."""
    return McsatState(gibbs.init(plan.gibbs, rng), new_scratch(plan.layout))


def step(plan: McsatPlan, state: McsatState, steps: int, sums: Floats, worlds: Codes) -> float:
    """Make steps in place (example: `prepare`).

    Parameters
    ----------
    sums
        Gets each value's conditional probability added, once a step.
    worlds
        Gets the world after each step; may be empty.

    Returns
    -------
    float
        Share of draws that changed their variable.
    """
    added = np.zeros_like(sums)
    moved = _steps(plan, state, steps, added, worlds)
    sums += gibbs.complete(plan.gibbs, added, steps)
    return float(moved) / max(steps * len(state.gibbs.world), 1)


@njit(cache=True, nogil=True)
def _steps(plan, state, steps, sums, worlds):  # type: ignore[no-untyped-def]
    """Make steps; return the number of changes."""
    chain, previous = state.gibbs, state.scratch.previous
    counted = len(plan.gibbs.layout.incident_clause) > 0
    moved = 0
    for number in range(steps):
        slice_move(plan, state.scratch, chain.world, chain.stream)
        if counted:
            count_support(plan.layout, chain.world, chain.support)
        sweep(plan.gibbs, chain, sums)
        for variable in range(len(previous)):
            moved += chain.world[variable] != previous[variable]
        if len(worlds):
            worlds[number] = chain.world
    return moved


@njit(cache=True, nogil=True)
def slice_move(plan, scratch, world, stream):  # type: ignore[no-untyped-def]
    """Make the step proper: draw requirements, then a world that meets them."""
    _cut_values(plan, scratch, world, stream)
    required = _require(plan, scratch, world, stream)
    active = propagate(plan.layout, scratch, world, required)
    copy(world, scratch.previous, len(world))
    _draw_free(plan.layout, scratch, world, stream)
    draw_solutions(plan.layout, scratch, world, active, stream)


@njit(cache=True, nogil=True)
def _cut_values(plan, scratch, world, stream):  # type: ignore[no-untyped-def]
    """Draw a level below each variable's potential; keep the values that lie above it."""
    layout, favourite, atom_threshold = plan.layout, plan.favourite, plan.atom_threshold
    value_start, cardinality, unary = layout.value_start, layout.cardinality, layout.unary
    allowed, sizes = scratch.allowed, scratch.size
    for variable in range(len(world)):
        first, present = value_start[variable], world[variable]
        if cardinality[variable] == 2:
            # No branch on chance here: it could not be foretold.
            kept = chance(stream, atom_threshold[variable]) & (present == favourite[variable])
            allowed[first + present] = 1
            allowed[first + 1 - present] = 1 - kept
            sizes[variable] = 2 - kept
            continue
        level = unary[first + present] + np.log(1.0 - uniform(stream))
        count = 0
        for value in range(first, first + cardinality[variable]):
            allowed[value] = unary[value] >= level
            count += allowed[value]
        sizes[variable] = count


@njit(cache=True, nogil=True)
def _require(plan, scratch, world, stream):  # type: ignore[no-untyped-def]
    """Draw the requirements: clauses that must hold are listed, those that must fail cut values."""
    layout, threshold, required = plan.layout, plan.clause_threshold, scratch.required
    clause_start, strength, clauses = layout.clause_start, layout.strength, scratch.clauses
    literal_variable, literal_value = layout.literal_variable, layout.literal_value
    literal_positive = layout.literal_positive
    count = 0
    for clause in range(len(strength)):
        required[clause] = 0
        if not chance(stream, threshold[clause]):
            continue
        holds = False
        for place in range(clause_start[clause], clause_start[clause + 1]):
            has = world[literal_variable[place]] == literal_value[place]
            if has == (literal_positive[place] == 1):
                holds = True
                break
        if holds and strength[clause] > 0.0:
            required[clause] = QUEUED
            clauses[count] = clause
            count += 1
        elif not holds and strength[clause] < 0.0:
            for place in range(clause_start[clause], clause_start[clause + 1]):
                first = layout.value_start[literal_variable[place]]
                last = layout.value_start[literal_variable[place] + 1]
                scratch.size[literal_variable[place]] = _forbid(
                    scratch.allowed, first, last, literal_value[place], literal_positive[place]
                )
    return count


@njit(cache=True, nogil=True)
def _forbid(allowed, first, last, target, positive):  # type: ignore[no-untyped-def]
    """Cut the values that make a literal true; return how many are left."""
    left = 0
    for value in range(first, last):
        allowed[value] &= (value - first == target) != (positive == 1)
        left += allowed[value]
    return left


@njit(cache=True, nogil=True)
def _draw_free(layout, scratch, world, stream):  # type: ignore[no-untyped-def]
    """Draw the variables under no required clause."""
    value_start, cardinality, degree = layout.value_start, layout.cardinality, scratch.degree
    size, allowed = scratch.size, scratch.allowed
    for variable in range(len(world)):
        free = (degree[variable] == 0) & (size[variable] > 1)
        if cardinality[variable] == 2:
            bit = np.int32(draw(stream) & _LOWEST_BIT)
            world[variable] = bit if free else world[variable]
        elif free:
            world[variable] = draw_value(value_start[variable], size[variable], allowed, stream)
