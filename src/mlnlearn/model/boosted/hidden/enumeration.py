"""Exact probabilities of small components: every state, one atom changed from each to the next.

Under counting semantics a world has a weight, and the weights of worlds that differ in one atom
have the atom's log-odds between them: the states are run through in the order of a Gray code. A
dependency network has conditionals only. Its probabilities are those that sweeps over the atoms
settle at (Heckerman et al. 2000): the stationary distribution of the matrix of one sweep, by the
elimination of Grassmann, Taksar & Heyman (1985), which subtracts nothing and so loses no digits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mlnlearn.counting.arrays import Ints
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.hidden.atoms import Mask
from mlnlearn.model.boosted.hidden.components import HiddenComponents
from mlnlearn.model.boosted.hidden.kernels import chance, flip, log_odds_of, own_total
from mlnlearn.model.boosted.hidden.sampler import Sampler

MOST_ATOMS = 14
"""Components of a network with weights of worlds are enumerated up to this size."""
MOST_ATOMS_OF_SWEEPS = 8
"""Components of a dependency network are, up to this one."""


def small_enough(found: HiddenComponents, existential: bool) -> Mask:
    """Tell which components are enumerated."""
    small: Mask = found.sizes <= (MOST_ATOMS_OF_SWEEPS if existential else MOST_ATOMS)
    return small


def enumerated(sampler: Sampler, found: HiddenComponents, chosen: Ints) -> tuple[Floats, Mask]:
    """Return the probabilities of the atoms of chosen components, zero elsewhere.

    Parameters
    ----------
    sampler
        A world of the network in which every atom is false; it is left so.
    found
        The network's components.
    chosen
        The numbers of those to enumerate.

    Returns
    -------
    The probabilities, and for which of the chosen components there are any: sweeps that, within
    the precision of numbers, never leave a set of worlds settle at nothing in particular.
    """
    rules = sampler.network.rules
    chances = np.zeros(len(rules.own))
    settled = np.ones(len(chosen), np.bool_)
    if len(chosen):
        run = _settle if rules.existential else _enumerate
        room = np.empty(1 << int(found.sizes[chosen].max()))
        run(rules, chosen, found.atoms, found.starts, sampler.buffers, room, chances, settled)
    return chances, settled


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _lowest_bit(number):  # type: ignore[no-untyped-def]
    bit = 0
    while not number >> bit & 1:
        bit += 1
    return bit


@njit(cache=True)
def _enumerate(rules, chosen, atoms, starts, buffers, weights, chances, settled):  # type: ignore[no-untyped-def]
    """Weigh all worlds of each component."""
    state, changed, seen, work = buffers
    for component in chosen:
        mine = atoms[starts[component] : starts[component + 1]]
        states = 1 << len(mine)
        code, weights[0], highest = 0, 0.0, 0.0
        for number in range(1, states + 1):
            # the step after the last world leads back to the first
            bit = _lowest_bit(number) if number < states else len(mine) - 1
            odds = log_odds_of(rules, mine[bit], state, changed, seen, work)  # and changes it
            if number == states:
                break
            before = weights[code]
            weight = before - odds if code >> bit & 1 else before + odds
            code ^= 1 << bit
            weights[code] = weight
            highest = max(highest, weight)
        total = 0.0
        for world in range(states):
            weights[world] = np.exp(weights[world] - highest)
            total += weights[world]
        for bit in range(len(mine)):
            mass = 0.0
            for world in range(states):
                if world >> bit & 1:
                    mass += weights[world]
            chances[mine[bit]] = min(mass / total, 1.0)


@njit(cache=True)
def _settle(rules, chosen, atoms, starts, buffers, room, chances, settled):  # type: ignore[no-untyped-def]
    """Find where sweeps over each component settle."""
    for place in range(len(chosen)):
        mine = atoms[starts[chosen[place]] : starts[chosen[place] + 1]]
        states = 1 << len(mine)
        sweeps = _sweep_matrix(_conditionals(rules, mine, buffers))
        weights = room[:states]
        settled[place] = _stationary(sweeps, weights)
        if settled[place]:
            for bit in range(len(mine)):
                mass = 0.0
                for world in range(states):
                    if world >> bit & 1:
                        mass += weights[world]
                chances[mine[bit]] = min(mass, 1.0)


@njit(cache=True)
def _conditionals(rules, mine, buffers):  # type: ignore[no-untyped-def]
    """Return the log-odds of each atom in each world of the others (with the atom false)."""
    state, changed, seen, work = buffers
    states = 1 << len(mine)
    found = np.zeros((len(mine), states))
    code = 0
    for number in range(states):
        if number:
            bit = _lowest_bit(number)
            flip(rules, mine[bit], state, changed, seen, work)
            code ^= 1 << bit
        for bit in range(len(mine)):
            if not code >> bit & 1:
                found[bit, code] = own_total(rules, rules.own[mine[bit]], state[3])
    flip(rules, mine[len(mine) - 1], state, changed, seen, work)
    return found


@njit(cache=True)
def _sweep_matrix(odds):  # type: ignore[no-untyped-def]
    """Return the probability of each world after a sweep (column) from each world (row)."""
    states = odds.shape[1]
    found = np.eye(states)
    for bit in range(len(odds)):
        for world in range(states):
            if world >> bit & 1:
                continue
            other = world | 1 << bit
            yes, no = chance(odds[bit, world]), chance(-odds[bit, world])
            for start in range(states):
                mass = found[start, world] + found[start, other]
                found[start, world], found[start, other] = mass * no, mass * yes
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
