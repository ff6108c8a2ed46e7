"""Compiled kernels of the weighted local search; `maxwalksat` tells the idea.

The search keeps a list of the items that fall short: clauses by number, then variables (by their
unary potentials) numbered after them. Log-weight gained and cost saved are the same thing.
"""

from __future__ import annotations

import numpy as np

from mlnlearn.compiled import njit
from mlnlearn.infer.sampling.kernels import (
    below,
    copy,
    count_support,
    log_odds,
    put,
    score_values,
    uniform,
)

ROUNDING = 1e-9


@njit(cache=True, nogil=True)
def _falls_short(unary, peak, strength, start, world, support, item):  # type: ignore[no-untyped-def]
    """Tell whether a clause, or (numbered after the clauses) a variable, could give more."""
    clauses = len(strength)
    if item < clauses:
        return strength[item] > 0.0 if support[item] == 0 else strength[item] < 0.0
    variable = item - clauses
    return unary[start[variable] + world[variable]] < peak[variable]


@njit(cache=True, nogil=True)
def _update(short, where, count, item, falls):  # type: ignore[no-untyped-def]
    """Keep the list of what falls short (`where`: each item's place in it); return its length."""
    if falls and where[item] < 0:
        short[count] = item
        where[item] = count
        return count + 1
    if not falls and where[item] >= 0:
        count -= 1
        short[where[item]] = short[count]
        where[short[count]] = where[item]
        where[item] = -1
    return count


@njit(cache=True, nogil=True)
def _gain(layout, unary, strength, variable, value, world, support, scores):  # type: ignore[no-untyped-def]
    """Return the log-weight gained by giving a variable a value."""
    current = world[variable]
    if layout.cardinality[variable] == 2:
        odds = log_odds(layout, unary, strength, variable, current, support)
        return odds if value == 1 else -odds
    put(layout, strength, variable, current, -1, support)
    score_values(layout, unary, strength, variable, support, scores)
    put(layout, strength, variable, current, 1, support)
    return scores[value] - scores[current]


@njit(cache=True, nogil=True)
def _offers(layout, unary, strength, item, world, variables, values):  # type: ignore[no-untyped-def]
    """List the changes that help to mend an item; return their number."""
    count = 0
    clauses = len(strength)
    if item >= clauses:
        variable = item - clauses
        start = layout.value_start[variable]
        for value in range(layout.cardinality[variable]):
            if unary[start + value] > unary[start + world[variable]]:
                variables[count], values[count] = variable, value
                count += 1
        return count
    for place in range(layout.clause_start[item], layout.clause_start[item + 1]):
        variable = layout.literal_variable[place]
        target = layout.literal_value[place]
        positive = layout.literal_positive[place] == 1
        if strength[item] < 0.0:
            if (world[variable] == target) != positive:
                continue
            positive = not positive
        if positive:
            variables[count], values[count] = variable, target
            count += 1
            continue
        for value in range(layout.cardinality[variable]):
            if value != target:
                variables[count], values[count] = variable, value
                count += 1
    return count


@njit(cache=True, nogil=True)
def _choose(  # type: ignore[no-untyped-def]
    layout, unary, strength, offers, variables, values, world, support, scores, noisy, changed,
    step, tabu, needed, stream,
):  # fmt: skip
    """Return the number of the change to make (-1: all are tabu) and its gain."""
    if noisy:
        pick = below(stream, offers)
        gain = _gain(layout, unary, strength, variables[pick], values[pick], world, support, scores)
        return pick, gain
    pick, best, ties = -1, -np.inf, 0
    for offer in range(offers):
        variable = variables[offer]
        gain = _gain(layout, unary, strength, variable, values[offer], world, support, scores)
        if step - changed[variable] <= tabu and gain <= needed:
            continue
        if gain > best:
            pick, best, ties = offer, gain, 1
        elif gain == best:
            ties += 1
            if below(stream, ties) == 0:
                pick = offer
    return pick, best


@njit(cache=True, nogil=True)
def _list_short(layout, unary, peak, strength, world, support, short, where):  # type: ignore[no-untyped-def]
    """List all items that fall short; return their number and total cost."""
    clauses, start = len(strength), layout.value_start
    count, cost = 0, 0.0
    for item in range(clauses + len(world)):
        falls = _falls_short(unary, peak, strength, start, world, support, item)
        count = _update(short, where, count, item, falls)
        if falls and item < clauses:
            cost += abs(strength[item])
        elif falls:
            variable = item - clauses
            cost += peak[variable] - unary[start[variable] + world[variable]]
    return count, cost


@njit(cache=True, nogil=True)
def _change(layout, unary, peak, strength, variable, value, world, support, short, where, count):  # type: ignore[no-untyped-def]
    """Give a variable a value and keep support and list in order; return the list's length."""
    put(layout, strength, variable, world[variable], -1, support)
    world[variable] = value
    put(layout, strength, variable, value, 1, support)
    start = layout.value_start
    for place in range(layout.variable_start[variable], layout.variable_start[variable + 1]):
        clause = layout.incident_clause[place]
        falls = _falls_short(unary, peak, strength, start, world, support, clause)
        count = _update(short, where, count, clause, falls)
    item = len(strength) + variable
    falls = _falls_short(unary, peak, strength, start, world, support, item)
    return _update(short, where, count, item, falls)


@njit(cache=True, nogil=True)
def _widest_offer(layout):  # type: ignore[no-untyped-def]
    """Return the largest number of changes that any item can be offered."""
    widest = 1
    for variable in range(len(layout.cardinality)):
        widest = max(widest, layout.cardinality[variable])
    longest = 1
    for clause in range(len(layout.strength)):
        longest = max(longest, layout.clause_start[clause + 1] - layout.clause_start[clause])
    return widest * longest


@njit(cache=True, nogil=True)
def search(layout, unary, strength, world, flips, noise, tabu, enough, stream, stop):  # type: ignore[no-untyped-def]
    """Search from `world`, leave the best world found there, and return its cost.

    Another thread ends the search by setting the only cell of `stop`.
    """
    variables, items = len(world), len(strength) + len(world)
    support = np.zeros(len(strength), np.int32)
    count_support(layout, world, support)
    peak = np.empty(variables)
    for variable in range(variables):
        first, last = layout.value_start[variable], layout.value_start[variable + 1]
        peak[variable] = unary[first:last].max()
    short, where = np.empty(items, np.int64), np.full(items, -1, np.int64)
    count, cost = _list_short(layout, unary, peak, strength, world, support, short, where)
    widest = _widest_offer(layout)
    offered, values = np.empty(widest, np.int32), np.empty(widest, np.int32)
    scores = np.empty(widest)
    changed = np.full(variables, -tabu - 1, np.int64)
    best_world, best_cost = world.copy(), cost
    # Variables changed since the best world, so that a new best costs no copy of the whole.
    trail, trailing, trail_size = np.empty(variables, np.int32), np.zeros(variables, np.bool_), 0
    for step in range(flips):
        if count == 0 or best_cost < enough or stop[0]:
            break
        item = short[below(stream, count)]
        offers = _offers(layout, unary, strength, item, world, offered, values)
        pick, gain = _choose(
            layout, unary, strength, offers, offered, values, world, support, scores,
            uniform(stream) < noise, changed, step, tabu, cost - best_cost, stream,
        )  # fmt: skip
        if pick < 0:
            continue
        variable = offered[pick]
        count = _change(
            layout, unary, peak, strength, variable, values[pick], world, support, short, where,
            count,
        )  # fmt: skip
        changed[variable] = step
        cost -= gain
        if not trailing[variable]:
            trailing[variable] = True
            trail[trail_size] = variable
            trail_size += 1
        if cost < best_cost - ROUNDING or count == 0:
            best_cost = 0.0 if count == 0 else cost
            for place in range(trail_size):
                best_world[trail[place]] = world[trail[place]]
                trailing[trail[place]] = False
            trail_size = 0
    copy(best_world, world, len(world))
    return best_cost


@njit(cache=True, nogil=True)
def polish(layout, world):  # type: ignore[no-untyped-def]
    """Give each variable its best value given the rest until nothing changes."""
    support = np.zeros(len(layout.strength), np.int32)
    count_support(layout, world, support)
    scores = np.empty(layout.cardinality.max() if len(world) else 1)
    changing = True
    while changing:
        changing = False
        for variable in range(len(world)):
            current = world[variable]
            put(layout, layout.strength, variable, current, -1, support)
            score_values(layout, layout.unary, layout.strength, variable, support, scores)
            best = current
            for value in range(layout.cardinality[variable]):
                if scores[value] > scores[best] + ROUNDING:
                    best = value
            put(layout, layout.strength, variable, best, 1, support)
            world[variable] = best
            changing |= best != current
