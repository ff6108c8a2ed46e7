"""Exact probabilities of small components: every state, one variable changed to the next.

A variable is an atom of no block, or a block: its values are false and true, or the atoms of the
block. Under counting semantics a world has a weight, and the weights of worlds that differ in one
atom have the atom's log-odds between them: the states are run through in the order of a Gray code.
A dependency network has conditionals only. Its probabilities are those that sweeps over the atoms
settle at (Heckerman et al. 2000): the stationary distribution of the matrix of one sweep, by the
elimination of Grassmann, Taksar & Heyman (1985), which subtracts nothing and so loses no digits.
"""

from __future__ import annotations

import numpy as np

from mlnlearn.compiled import njit
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.hidden.atoms import Mask
from mlnlearn.model.boosted.hidden.components import HiddenComponents
from mlnlearn.model.boosted.hidden.kernels import (
    chance,
    flip,
    log_odds_of,
    own_total,
    shares,
    value_scores,
)
from mlnlearn.model.boosted.hidden.network import Rules
from mlnlearn.model.boosted.hidden.sampler import Sampler

MOST_STATES = 1 << 14
"""Components of a network with weights of worlds are enumerated up to this number of states."""
MOST_STATES_OF_SWEEPS = 1 << 8
"""Components of a dependency network are, up to this one."""


def number_of_states(rules: Rules, found: HiddenComponents) -> Floats:
    """Return how many states each component has; infinite where they are beyond counting."""
    single = rules.next_value == np.arange(len(rules.own))
    _, first, size = np.unique(_leaders(rules.next_value), return_index=True, return_counts=True)
    logs = np.bincount(found.label[first], np.log2(np.where(single[first], 2, size)), len(found))
    with np.errstate(over="ignore"):
        return np.asarray(np.rint(np.exp2(logs)))


def enumerated(
    sampler: Sampler, found: HiddenComponents, chosen: Mask
) -> tuple[Floats, Mask, Mask]:
    """Find the probabilities of the atoms of those of the chosen components that are small.

    Parameters
    ----------
    sampler
        A world of the network in which every atom is false; it is left so.
    found
        The network's components.
    chosen
        Which components to enumerate if they are small.

    Returns
    -------
    The probabilities and the most probable world, zero and false elsewhere, and which components
    were enumerated: sweeps that, within the precision of numbers, never leave a set of worlds
    settle at nothing in particular.
    """
    rules = sampler.network.rules
    states = number_of_states(rules, found)
    small = states <= (MOST_STATES_OF_SWEEPS if rules.existential else MOST_STATES)
    numbers = np.flatnonzero(chosen & small)
    chances, best = np.zeros(len(rules.own)), np.zeros(len(rules.own), np.bool_)
    settled = np.ones(len(numbers), np.bool_)
    if len(numbers):
        run = _settle if rules.existential else _enumerate
        room = np.empty(int(states[numbers].max()))
        out = chances, best, settled
        run(rules, numbers, found.order, found.starts, sampler.buffers, room, out)
    done = np.zeros(len(found), np.bool_)
    done[numbers[settled]] = True
    return chances, best, done


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _leaders(next_value):  # type: ignore[no-untyped-def]
    """Return the first atom of each atom's block."""
    found = np.arange(len(next_value))
    for atom in range(len(next_value)):
        if next_value[atom] > atom:
            found[next_value[atom]] = found[atom]
    return found


@njit(cache=True)
def _variables(rules, mine):  # type: ignore[no-untyped-def]
    """Return, one after the other, the atoms that are the variables' values; -1 for false.

    Also where each variable's values start, and by how much the number of a world changes from one
    value to the next.
    """
    starts, strides = np.zeros(len(mine) + 1, np.int64), np.ones(len(mine) + 1, np.int64)
    values = [0][:0]
    for place in range(len(mine)):
        atom = mine[place]
        if rules.next_value[atom] == atom:
            values.append(-1)
        values.append(atom)
        following = rules.next_value[atom]
        while following != atom:
            values.append(following)
            following = rules.next_value[following]
        starts[place + 1] = len(values)
        strides[place + 1] = strides[place] * (starts[place + 1] - starts[place])
    return np.array(values), starts, strides


@njit(cache=True)
def _next(digits, ways, starts):  # type: ignore[no-untyped-def]
    """Return the variable to change next in a reflected Gray code; its way is the change."""
    place = 0
    while not 0 <= digits[place] + ways[place] < starts[place + 1] - starts[place]:
        ways[place] = -ways[place]
        place += 1
    return place


@njit(cache=True)
def _set(rules, atoms, buffers, truth):  # type: ignore[no-untyped-def]
    """Make atoms true, or false; -1 stands for none."""
    state, changed, seen, work = buffers
    for atom in atoms:
        if atom >= 0 and state.truth[atom] != truth:
            flip(rules, atom, state, changed, seen, work)


@njit(cache=True)
def _spread(weights, total, values, starts, strides, chances, best):  # type: ignore[no-untyped-def]
    """Write the probabilities of atoms, and the world of the largest weight."""
    states = strides[-1]
    highest = np.argmax(weights[:states])
    for variable in range(len(starts) - 1):
        size = starts[variable + 1] - starts[variable]
        for digit in range(size):
            atom = values[starts[variable] + digit]
            if atom < 0:
                continue
            mass = 0.0
            for world in range(states):
                if world // strides[variable] % size == digit:
                    mass += weights[world]
            chances[atom] = min(mass / total, 1.0)
            best[atom] = highest // strides[variable] % size == digit


@njit(cache=True)
def _enumerate(rules, chosen, order, ends, buffers, weights, out):  # type: ignore[no-untyped-def]
    """Weigh all worlds of each component."""
    state, changed, seen, work = buffers
    for component in chosen:
        values, starts, strides = _variables(rules, order[ends[component] : ends[component + 1]])
        digits, ways = np.zeros(len(starts) - 1, np.int64), np.ones(len(starts) - 1, np.int64)
        _set(rules, values[starts[:-1]], buffers, True)
        code, weights[0], highest = 0, 0.0, 0.0
        for _ in range(1, strides[-1]):
            variable = _next(digits, ways, starts)
            before = values[starts[variable] + digits[variable]]
            digits[variable] += ways[variable]
            after = values[starts[variable] + digits[variable]]
            weight = weights[code]
            if before >= 0:  # each of the two also changes the atom
                weight -= log_odds_of(rules, before, state, changed, seen, work)
            if after >= 0:
                weight += log_odds_of(rules, after, state, changed, seen, work)
            code += ways[variable] * strides[variable]
            weights[code] = weight
            highest = max(highest, weight)
        _set(rules, values, buffers, False)
        total = 0.0
        for world in range(strides[-1]):
            weights[world] = np.exp(weights[world] - highest)
            total += weights[world]
        _spread(weights, total, values, starts, strides, out[0], out[1])


@njit(cache=True)
def _settle(rules, chosen, order, ends, buffers, room, out):  # type: ignore[no-untyped-def]
    """Find where sweeps over each component settle."""
    for place in range(len(chosen)):
        mine = order[ends[chosen[place]] : ends[chosen[place] + 1]]
        values, starts, strides = _variables(rules, mine)
        chances = _conditionals(rules, values, starts, strides, buffers)
        sweeps = _sweep_matrix(chances, starts, strides)
        out[2][place] = _stationary(sweeps, room[: strides[-1]])
        if out[2][place]:
            _spread(room, 1.0, values, starts, strides, out[0], out[1])


@njit(cache=True)
def _conditionals(rules, values, starts, strides, buffers):  # type: ignore[no-untyped-def]
    """Return the probability of each value in each world of the others (with the first value)."""
    state, changed, seen, work = buffers
    found = np.zeros((len(values), strides[-1]))
    digits, ways = np.zeros(len(starts) - 1, np.int64), np.ones(len(starts) - 1, np.int64)
    _set(rules, values[starts[:-1]], buffers, True)
    code = 0
    for number in range(strides[-1]):
        if number:
            variable = _next(digits, ways, starts)
            now = starts[variable] + digits[variable]
            _set(rules, values[now : now + 1], buffers, False)
            digits[variable] += ways[variable]
            now = starts[variable] + digits[variable]
            _set(rules, values[now : now + 1], buffers, True)
            code += ways[variable] * strides[variable]
        for variable in range(len(digits)):
            first = starts[variable]
            if digits[variable]:
                continue
            if values[first] < 0:
                odds = own_total(rules, values[first + 1], state)
                found[first, code], found[first + 1, code] = chance(-odds), chance(odds)
            else:
                scores = value_scores(rules, values[first], state, changed, seen, work)
                found[first : starts[variable + 1], code] = shares(scores)
                _set(rules, values[first : first + 1], buffers, True)
    _set(rules, values, buffers, False)
    return found


@njit(cache=True)
def _sweep_matrix(chances, starts, strides):  # type: ignore[no-untyped-def]
    """Return the probability of each world after a sweep (column) from each world (row)."""
    states = strides[-1]
    found = np.eye(states)
    for variable in range(len(starts) - 1):
        size, stride = starts[variable + 1] - starts[variable], strides[variable]
        for world in range(states):
            if world // stride % size:
                continue
            for start in range(states):
                mass = 0.0
                for digit in range(size):
                    mass += found[start, world + digit * stride]
                for digit in range(size):
                    share = chances[starts[variable] + digit, world]
                    found[start, world + digit * stride] = mass * share
    return found


@njit(cache=True)
def _stationary(matrix, weights):  # type: ignore[no-untyped-def]
    """Write the stationary distribution of a stochastic matrix; tell whether there is one."""
    size = len(matrix)
    for last in range(size - 1, 0, -1):
        down = matrix[last, :last].sum()
        if down <= 0.0:
            return False
        for row in range(last):
            share = matrix[row, last] / down
            matrix[row, last] = share
            if share > 0.0:
                for column in range(last):
                    matrix[row, column] += share * matrix[last, column]
    weights[0], total = 1.0, 1.0
    for world in range(1, size):
        weights[world] = 0.0
        for row in range(world):
            weights[world] += weights[row] * matrix[row, world]
        total += weights[world]
    for world in range(size):
        weights[world] /= total
    return True
