"""Redrawing several variables at once, where hard or strong clauses keep one as others are.

A set of variables is drawn exactly from its joint distribution given the rest, by walking through
the assignments that break no hard clause: depth first, cutting off an assignment as soon as a hard
clause has lost its last literal. Which variables are drawn together, and whether the walk is given
up as too long, depends on the clauses and the random stream alone, never on the present world; so
every move here leaves the target distribution as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.infer.network import Codes, Floats
from mlnlearn.infer.sampling.kernels import below, copy, put, uniform

_MOST_JOINT_VALUES = 64
_GROWTH_ATTEMPTS = 16
_STEPS = 256
_STEPS_PER_VARIABLE = 16


class Desk(NamedTuple):
    """Working memory of joint moves; `pending` and `inside` are zero between moves.

    `chosen_set` holds the variables to draw.
    """

    chosen_set: Codes
    choice: Codes
    chosen: Codes
    gathered: Floats
    pending: Codes
    inside: NDArray[np.uint8]


def new_desk(variables: int, clauses: int) -> Desk:
    """Return working memory for a network of that size.

    Examples
    --------
    >>> new_desk(3, 5).pending
    array([0, 0, 0, 0, 0], dtype=int32)
    """
    return Desk(
        chosen_set=np.zeros(variables, np.int32),
        choice=np.zeros(variables, np.int32),
        chosen=np.zeros(variables, np.int32),
        gathered=np.zeros(variables + 1),
        pending=np.zeros(clauses, np.int32),
        inside=np.zeros(variables, np.uint8),
    )


@njit(cache=True, nogil=True)
def few_steps(size):  # type: ignore[no-untyped-def]
    """Return how long a walk through all assignments of a whole cluster may take."""
    return _STEPS + _STEPS_PER_VARIABLE * size


@njit(cache=True, nogil=True)
def grow_set(layout, strength, tie, first, member, desk, stream):  # type: ignore[no-untyped-def]
    """Choose a random set of members tied to `first` by clauses so strong; return its size."""
    together = desk.chosen_set
    together[0] = first
    desk.inside[first] = 1
    size = 1
    joint = layout.cardinality[first]
    for _ in range(_GROWTH_ATTEMPTS):
        variable = together[below(stream, size)]
        degree = layout.variable_start[variable + 1] - layout.variable_start[variable]
        place = layout.variable_start[variable] + below(stream, degree)
        clause = layout.incident_clause[place]
        length = layout.clause_start[clause + 1] - layout.clause_start[clause]
        other = layout.literal_variable[layout.clause_start[clause] + below(stream, length)]
        fits = joint * layout.cardinality[other] <= _MOST_JOINT_VALUES
        free = member[other] == 1 and desk.inside[other] == 0
        if abs(strength[clause]) >= tie and free and fits:
            together[size] = other
            desk.inside[other] = 1
            joint *= layout.cardinality[other]
            size += 1
    for place in range(size):
        desk.inside[together[place]] = 0
    return size


@njit(cache=True, nogil=True)
def _place(layout, unary, strength, variable, value, support, pending):  # type: ignore[no-untyped-def]
    """Give a variable a value; return the log-weight gained and whether hard clauses survive."""
    gain = unary[layout.value_start[variable] + value]
    first, last = layout.variable_start[variable], layout.variable_start[variable + 1]
    for place in range(first, last):
        clause = layout.incident_clause[place]
        if strength[clause] == 0.0:
            continue
        pending[clause] -= 1
        if (layout.incident_value[place] == value) == (layout.incident_positive[place] == 1):
            if support[clause] == 0 and strength[clause] < layout.hard:
                gain += strength[clause]
            support[clause] += 1
    for place in range(first, last):
        clause = layout.incident_clause[place]
        if strength[clause] >= layout.hard and pending[clause] == 0 and support[clause] == 0:
            return gain, False
    return gain, True


@njit(cache=True, nogil=True)
def _wait(layout, strength, variable, change, pending):  # type: ignore[no-untyped-def]
    """Add `change` to the number of undecided literals of the variable's clauses."""
    for place in range(layout.variable_start[variable], layout.variable_start[variable + 1]):
        clause = layout.incident_clause[place]
        if strength[clause] != 0.0:
            pending[clause] += change


@njit(cache=True, nogil=True)
def _next_allowed(layout, unary, variable, value):  # type: ignore[no-untyped-def]
    """Return the first value after `value` that is not forbidden, or the number of values."""
    start, size = layout.value_start[variable], layout.cardinality[variable]
    value += 1
    while value < size and unary[start + value] <= -layout.hard:
        value += 1
    return value


@njit(cache=True, nogil=True)
def _walk(layout, unary, strength, size, most, support, desk, stream):  # type: ignore[no-untyped-def]
    """Draw an assignment into `chosen`; false if more than `most` partial ones exist."""
    choice, gathered = desk.choice, desk.gathered
    depth, steps, total, peak = 0, 0, 0.0, -np.inf
    choice[0] = -1
    gathered[0] = 0.0
    while depth >= 0:
        variable = desk.chosen_set[depth]
        if choice[depth] >= 0:
            put(layout, strength, variable, choice[depth], -1, support)
            _wait(layout, strength, variable, 1, desk.pending)
        choice[depth] = _next_allowed(layout, unary, variable, choice[depth])
        if choice[depth] == layout.cardinality[variable] or steps > most:
            depth -= 1
            continue
        steps += 1
        gain, alive = _place(
            layout, unary, strength, variable, choice[depth], support, desk.pending
        )  # fmt: skip
        if not alive:
            continue
        gathered[depth + 1] = gathered[depth] + gain
        if depth + 1 < size:
            depth += 1
            choice[depth] = -1
            continue
        # One pass suffices: keep the newest with its share of the weight seen so far.
        weight = gathered[size]
        if weight > peak:
            total, peak = total * np.exp(peak - weight), weight
        share = np.exp(weight - peak)
        total += share
        if uniform(stream) * total < share:
            copy(choice, desk.chosen, size)
    return steps <= most


@njit(cache=True, nogil=True)
def redraw_set(layout, unary, strength, size, most, world, support, desk, stream):  # type: ignore[no-untyped-def]
    """Draw the desk's set given the rest; false if that takes more than `most` steps."""
    for place in range(size):
        variable = desk.chosen_set[place]
        put(layout, strength, variable, world[variable], -1, support)
        _wait(layout, strength, variable, 1, desk.pending)
    done = _walk(layout, unary, strength, size, most, support, desk, stream)
    for place in range(size):
        variable = desk.chosen_set[place]
        if done:
            world[variable] = desk.chosen[place]
        put(layout, strength, variable, world[variable], 1, support)
        _wait(layout, strength, variable, -1, desk.pending)
    return done
