"""Uniform draws of the solutions of the requirements that propagation leaves open."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.infer.network import Codes, Floats
from mlnlearn.infer.sampling.joint_moves import Desk, few_steps, grow_set, new_desk, redraw_set
from mlnlearn.infer.sampling.kernels import below, copy, draw, redraw
from mlnlearn.infer.sampling.layout import Layout
from mlnlearn.infer.sampling.mcsat_propagate import DRAWN, OPEN, REQUIRED, prospect

_LOWEST_BIT = np.uint64(1)
_ATTEMPTS = 8
_MOST_REJECTION = 12
_INNER_SWEEPS = 4
_MOST_POWER = 24.0
_NO_LIMIT = 2**62


class Scratch(NamedTuple):
    """Working memory of a chain.

    Attributes
    ----------
    allowed, size
        Values left to each variable, and their number.
    required, clauses
        Mark of each required clause, and the list of them.
    degree
        Open required clauses of each variable.
    queue
        Clauses to look at, for propagation.
    met
        Marks of variables; 0 between uses.
    previous
        The world before the step.
    part, part_clauses, support, strength, unary
        The component being drawn, as a network of hard clauses alone; `strength` is 0 elsewhere.
    """

    allowed: NDArray[np.uint8]
    size: Codes
    required: NDArray[np.uint8]
    clauses: Codes
    degree: Codes
    queue: Codes
    met: NDArray[np.uint8]
    previous: Codes
    part: Codes
    part_clauses: Codes
    support: Codes
    strength: Floats
    unary: Floats
    chances: Floats
    desk: Desk


def new_scratch(layout: Layout) -> Scratch:
    """Return working memory for a network.

    Examples
    --------
    >>> from mlnlearn.infer.sampling.layout import Layout
    >>> flat = np.zeros(0, np.int32)
    >>> layout = Layout(flat, np.zeros(1, int), np.zeros(0), np.zeros(1, int), flat, flat,
    ...                 np.zeros(0, np.uint8), np.zeros(0), np.zeros(1, int), flat, flat,
    ...                 np.zeros(0, np.uint8), 4096.0)
    >>> new_scratch(layout).size
    array([], dtype=int32)
    """
    variables, clauses, values = (
        len(layout.cardinality),
        len(layout.strength),
        len(layout.unary),
    )
    return Scratch(
        allowed=np.zeros(values, np.uint8),
        size=np.zeros(variables, np.int32),
        required=np.zeros(clauses, np.uint8),
        clauses=np.zeros(clauses, np.int32),
        degree=np.zeros(variables, np.int32),
        queue=np.zeros(clauses, np.int32),
        met=np.zeros(variables, np.uint8),
        previous=np.zeros(variables, np.int32),
        part=np.zeros(variables, np.int32),
        part_clauses=np.zeros(clauses, np.int32),
        support=np.zeros(clauses, np.int32),
        strength=np.zeros(clauses),
        unary=np.zeros(values),
        chances=np.zeros(layout.cardinality.max(initial=2)),
        desk=new_desk(variables, clauses),
    )


@njit(cache=True, nogil=True)
def draw_value(first, size, allowed, stream):  # type: ignore[no-untyped-def]
    """Return a value drawn uniformly from the `size` values left, which start at `first`."""
    left = np.int64(draw(stream) & _LOWEST_BIT) if size == 2 else below(stream, size)
    value = first
    while True:
        left -= allowed[value]
        if left < 0:
            return np.int32(value - first)
        value += 1


@njit(cache=True, nogil=True)
def _draw_alone(layout, scratch, world, active, stream):  # type: ignore[no-untyped-def]
    """Draw the components of one clause over atoms by rejection; return how many clauses remain."""
    clause_start, cardinality = layout.clause_start, layout.cardinality
    literal_variable, literal_value = layout.literal_variable, layout.literal_value
    literal_positive, clauses, degree = layout.literal_positive, scratch.clauses, scratch.degree
    left = 0
    for number in range(active):
        first, last = clause_start[clauses[number]], clause_start[clauses[number] + 1]
        alone, holds = True, False
        for place in range(first, last):
            variable = literal_variable[place]
            alone &= degree[variable] == 0 or (degree[variable] == 1 and cardinality[variable] == 2)
        while alone and not holds:
            for place in range(first, last):
                variable = literal_variable[place]
                if degree[variable] == 1:
                    world[variable] = np.int32(draw(stream) & _LOWEST_BIT)
                has = world[variable] == literal_value[place]
                holds |= has == (literal_positive[place] == 1)
        if not alone:
            clauses[left] = clauses[number]
            left += 1
    return left


@njit(cache=True, nogil=True)
def _collect(layout, scratch, world, clause):  # type: ignore[no-untyped-def]
    """List the component of a clause, breadth first; return its numbers of variables and clauses.

    `met` marks the variables listed; it is cleared again at the end.
    """
    clause_start, value_start = layout.clause_start, layout.value_start
    literal_variable, literal_value = layout.literal_variable, layout.literal_value
    literal_positive, part, clauses = layout.literal_positive, scratch.part, scratch.part_clauses
    size, allowed, required = scratch.size, scratch.allowed, scratch.required
    met, degree = scratch.met, scratch.degree
    required[clause] = DRAWN
    clauses[0] = clause
    variable_count, clause_count, looked, head = 0, 1, 0, 0
    while looked < clause_count:
        current = clauses[looked]
        looked += 1
        for place in range(clause_start[current], clause_start[current + 1]):
            variable, value = literal_variable[place], literal_value[place]
            state = prospect(
                value, literal_positive[place], world[variable], size[variable],
                allowed[value_start[variable] + value],
            )  # fmt: skip
            if state == OPEN and not met[variable]:
                met[variable] = 1
                part[variable_count] = variable
                variable_count += 1
        while head < variable_count:
            if degree[part[head]] > 1:
                clause_count = _add_clauses(layout, scratch, part[head], clause_count)
            head += 1
    for place in range(variable_count):
        met[part[place]] = 0
    return variable_count, clause_count


@njit(cache=True, nogil=True)
def _add_clauses(layout, scratch, variable, count):  # type: ignore[no-untyped-def]
    """Add the open clauses in which a variable can make a difference; return their number."""
    first = layout.value_start[variable]
    for place in range(layout.variable_start[variable], layout.variable_start[variable + 1]):
        clause = layout.incident_clause[place]
        possible = scratch.allowed[first + layout.incident_value[place]] == 1
        if scratch.required[clause] == REQUIRED and possible:
            scratch.required[clause] = DRAWN
            scratch.part_clauses[count] = clause
            count += 1
    return count


@njit(cache=True, nogil=True)
def _reject(layout, scratch, world, variables, clauses, stream):  # type: ignore[no-untyped-def]
    """Try independent uniform draws; true if one is a solution, else the world is as before."""
    clause_start, value_start = layout.clause_start, layout.value_start
    literal_variable, literal_value = layout.literal_variable, layout.literal_value
    literal_positive, part, listed = layout.literal_positive, scratch.part, scratch.part_clauses
    size, allowed = scratch.size, scratch.allowed
    for _ in range(_ATTEMPTS):
        for place in range(variables):
            variable = part[place]
            world[variable] = draw_value(value_start[variable], size[variable], allowed, stream)
        solved = True
        for number in range(clauses):
            holds = False
            for place in range(clause_start[listed[number]], clause_start[listed[number] + 1]):
                has = world[literal_variable[place]] == literal_value[place]
                holds |= has == (literal_positive[place] == 1)
            solved &= holds
        if solved:
            return True
    for place in range(variables):
        world[part[place]] = scratch.previous[part[place]]
    return False


@njit(cache=True, nogil=True)
def _enter(layout, scratch, world, variables, clauses):  # type: ignore[no-untyped-def]
    """Write the component as a network of hard clauses and forbidden values.

    Returns a guess of the number of its solutions, as a power of two: as many as the clauses would
    leave if they were independent.
    """
    power = 0.0
    for place in range(variables):
        variable = scratch.part[place]
        power += np.log2(scratch.size[variable])
        for value in range(layout.value_start[variable], layout.value_start[variable + 1]):
            scratch.unary[value] = 0.0 if scratch.allowed[value] else -layout.hard
    for number in range(clauses):
        clause = scratch.part_clauses[number]
        support, failing = 0, 1.0
        for place in range(layout.clause_start[clause], layout.clause_start[clause + 1]):
            has = world[layout.literal_variable[place]] == layout.literal_value[place]
            support += has == (layout.literal_positive[place] == 1)
            failing *= 1.0 / min(scratch.size[layout.literal_variable[place]], 2)
        scratch.strength[clause] = layout.hard
        scratch.support[clause] = support
        power += np.log2(1.0 - failing)
    return power


@njit(cache=True, nogil=True)
def _wander(layout, scratch, world, variables, stream):  # type: ignore[no-untyped-def]
    """Go from the present solution to another by uniform draws of variables and small blocks.

    `met` marks the component's variables meanwhile.
    """
    unary, strength, support, desk = (
        scratch.unary,
        scratch.strength,
        scratch.support,
        scratch.desk,
    )
    for _ in range(_INNER_SWEEPS):
        for place in range(variables):
            variable = scratch.part[place]
            redraw(layout, unary, strength, variable, world, support, scratch.chances, stream)
    for place in range(variables):
        scratch.met[scratch.part[place]] = 1
    for _ in range(0, variables, 16):
        variable = scratch.part[below(stream, variables)]
        size = grow_set(layout, strength, layout.hard, variable, scratch.met, desk, stream)
        redraw_set(layout, unary, strength, size, _NO_LIMIT, world, support, desk, stream)
    for place in range(variables):
        scratch.met[scratch.part[place]] = 0


@njit(cache=True, nogil=True)
def draw_solutions(layout, scratch, world, active, stream):  # type: ignore[no-untyped-def]
    """Draw each component of the open requirements."""
    for number in range(_draw_alone(layout, scratch, world, active, stream)):
        if scratch.required[scratch.clauses[number]] != REQUIRED:
            continue
        variables, clauses = _collect(layout, scratch, world, scratch.clauses[number])
        small = variables <= _MOST_REJECTION
        if small and _reject(layout, scratch, world, variables, clauses, stream):
            continue
        power = _enter(layout, scratch, world, variables, clauses)
        copy(scratch.part, scratch.desk.chosen_set, variables)
        walked = power <= _MOST_POWER and redraw_set(
            layout, scratch.unary, scratch.strength, variables, few_steps(variables), world,
            scratch.support, scratch.desk, stream,
        )  # fmt: skip
        if not walked:
            _wander(layout, scratch, world, variables, stream)
        for place in range(clauses):
            scratch.strength[scratch.part_clauses[place]] = 0.0
