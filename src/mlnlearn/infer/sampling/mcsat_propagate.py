"""Unit propagation over the requirements of an MC-SAT step.

The present world meets all requirements, so a variable with one value left keeps its present one,
and propagation never fails.
"""

from __future__ import annotations

from mlnlearn.compiled import njit
from mlnlearn.infer.sampling.kernels import copy

IMPOSSIBLE, OPEN, CERTAIN = 0, 1, 2
"""What a literal can still be."""

REQUIRED, QUEUED, DRAWN = 1, 2, 3
"""Marks of a required clause: known to be open, to be looked at, its component drawn."""


@njit(cache=True, nogil=True)
def prospect(value, positive, present, size, allowed):  # type: ignore[no-untyped-def]
    """Tell whether a literal is impossible, open or certain.

    Its variable has the value `present` now and `size` values left; `allowed` tells whether the
    literal's value is among them.
    """
    if size == 1:
        return CERTAIN if (present == value) == (positive == 1) else IMPOSSIBLE
    if allowed:
        return OPEN
    return IMPOSSIBLE if positive else CERTAIN


@njit(cache=True, nogil=True)
def propagate(layout, scratch, world, count):  # type: ignore[no-untyped-def]
    """Propagate the listed clauses to the end; list those still open and count them by variable."""
    # Arrays are taken out of their tuples once: inside the loop that would cost more than the work.
    clause_start, value_start = layout.clause_start, layout.value_start
    literal_variable, literal_value = layout.literal_variable, layout.literal_value
    literal_positive, variable_start = layout.literal_positive, layout.variable_start
    incident_clause, queue = layout.incident_clause, scratch.queue
    size, allowed, required = scratch.size, scratch.allowed, scratch.required
    waiting = count
    copy(scratch.clauses, queue, count)
    while waiting > 0:
        waiting -= 1
        clause = queue[waiting]
        required[clause] = REQUIRED
        only = -1
        for place in range(clause_start[clause], clause_start[clause + 1]):
            variable, value = literal_variable[place], literal_value[place]
            state = prospect(
                value, literal_positive[place], world[variable], size[variable],
                allowed[value_start[variable] + value],
            )  # fmt: skip
            if state == CERTAIN:
                required[clause] = 0
                break
            if state == OPEN and variable != only:
                only = variable if only == -1 else -2
        if required[clause] == 0 or only == -2:
            continue
        required[clause] = 0
        size[only] = _keep_only(layout, allowed, clause, only)
        for place in range(variable_start[only], variable_start[only + 1]):
            if required[incident_clause[place]] == REQUIRED:
                required[incident_clause[place]] = QUEUED
                queue[waiting] = incident_clause[place]
                waiting += 1
    return _list_open(layout, scratch, world, count)


@njit(cache=True, nogil=True)
def _keep_only(layout, allowed, clause, variable):  # type: ignore[no-untyped-def]
    """Cut the values of a variable that do not satisfy a clause; return how many are left."""
    first, left = layout.value_start[variable], 0
    for value in range(layout.cardinality[variable]):
        holds = False
        for place in range(layout.clause_start[clause], layout.clause_start[clause + 1]):
            if layout.literal_variable[place] == variable:
                has = layout.literal_value[place] == value
                holds |= has == (layout.literal_positive[place] == 1)
        allowed[first + value] &= holds
        left += allowed[first + value]
    return left


@njit(cache=True, nogil=True)
def _list_open(layout, scratch, world, count):  # type: ignore[no-untyped-def]
    """Keep the clauses still open in the list; count them by variable."""
    clause_start, value_start = layout.clause_start, layout.value_start
    literal_variable, literal_value = layout.literal_variable, layout.literal_value
    literal_positive, clauses = layout.literal_positive, scratch.clauses
    size, allowed, required = scratch.size, scratch.allowed, scratch.required
    degree = scratch.degree
    degree[:] = 0
    active = 0
    for number in range(count):
        clause = clauses[number]
        if not required[clause]:
            continue
        clauses[active] = clause
        active += 1
        previous = -1
        for place in range(clause_start[clause], clause_start[clause + 1]):
            variable, value = literal_variable[place], literal_value[place]
            state = prospect(
                value, literal_positive[place], world[variable], size[variable],
                allowed[value_start[variable] + value],
            )  # fmt: skip
            if state == OPEN and variable != previous:
                degree[variable] += 1
                previous = variable
    return active
