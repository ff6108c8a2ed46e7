"""Enumeration of small components: every joint state, all components in one compiled pass.

The states of a component are run through like an odometer, so that a step changes two variables on
average; each clause keeps the number of its true literals, and only the clauses of a changed
variable are looked at. Components need no common shape, and fifty thousand pairs of atoms cost
milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mlnlearn.compiled import njit
from mlnlearn.counting.arrays import bounds_of
from mlnlearn.infer.components import Components
from mlnlearn.infer.network import Codes, Flags, Floats, Ints, Network

# After so many steps the running score is summed afresh, so that rounding does not add up.
_RENEW = 64


@dataclass(frozen=True, eq=False)
class Enumerated:
    """What enumeration finds; entries of components that were not chosen are zero.

    Attributes
    ----------
    log_z
        Logarithm of the summed weight of each component's worlds, without the rules' constants.
    marginals
        Probability of each value of each variable.
    satisfied
        Probability that each clause holds.
    best
        Log-weight of the best world of each component.
    world
        The values of the variables in it.
    """

    log_z: Floats
    marginals: Floats
    satisfied: Floats
    best: Floats
    world: Codes


def enumerate_components(found: Components, chosen: Ints, *, marginals: bool = True) -> Enumerated:
    """Enumerate the chosen components.

    Parameters
    ----------
    found
        The components of a network.
    chosen
        The numbers of those to enumerate.
    marginals
        Whether probabilities are wanted, not only the sums and best worlds.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from mlnlearn.infer.components import components
    >>> network = Network(
    ...     cardinalities=np.full(2, 2, np.int32), unary_starts=np.arange(0, 6, 2),
    ...     unary_counts=csr_array((4, 1)), forbidden=np.zeros(4, bool),
    ...     clause_starts=np.array([0, 2]), literal_variable=np.array([0, 1], np.int32),
    ...     literal_value=np.ones(2, np.int32), literal_positive=np.ones(2, bool),
    ...     clause_rule=np.zeros(1, np.int32), multiplicity=np.ones(1),
    ...     constants=np.zeros(1), weights=np.array([np.log(2)]),
    ... )
    >>> answer = enumerate_components(components(network), np.array([0]))
    >>> np.exp(answer.log_z).round(6).tolist(), answer.satisfied.round(6).tolist()
    ([7.0], [0.857143])
    """
    network = found.network
    result = Enumerated(
        np.zeros(len(found)),
        np.zeros(len(network.forbidden)),
        np.zeros(network.clauses),
        np.zeros(len(found)),
        np.zeros(network.variables, np.int32),
    )
    if len(chosen):
        room = np.empty(round(2.0 ** float(found.log_states[chosen].max())))
        own = (found.variables, found.variable_starts, found.clauses, found.clause_starts)
        output = (result.log_z, result.marginals, result.satisfied, result.best, result.world)
        _enumerate(chosen, own, _arrays(network), room, marginals, output)
    return result


class _Arrays(NamedTuple):
    """A network as the compiled functions read it."""

    cardinalities: Codes
    unary_starts: Ints
    unary: Floats
    literal_starts: Ints
    literal_clause: Ints
    literal_value: Codes
    literal_positive: Flags
    strengths: Floats
    by_variable: Ints
    by_variable_starts: Ints


def _arrays(network: Network) -> _Arrays:
    counts = np.bincount(network.literal_variable, minlength=network.variables)
    return _Arrays(
        network.cardinalities,
        network.unary_starts,
        network.unary,
        network.clause_starts,
        np.repeat(np.arange(network.clauses), np.diff(network.clause_starts)),
        network.literal_value,
        network.literal_positive,
        network.strengths,
        np.argsort(network.literal_variable, kind="stable"),
        bounds_of(counts),
    )


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _enumerate(chosen, own, arrays, scores, with_marginals, output):  # type: ignore[no-untyped-def]
    """Fill the output for the chosen components; `scores` is room for the states of one."""
    all_variables, variable_starts, all_clauses, clause_starts = own
    log_z, marginals, satisfied, best, world = output
    state = np.zeros(len(arrays.cardinalities), np.int32)
    true_literals = np.zeros(len(arrays.strengths), np.int64)
    for component in chosen:
        variables = all_variables[variable_starts[component] : variable_starts[component + 1]]
        clauses = all_clauses[clause_starts[component] : clause_starts[component + 1]]
        states = 1
        for variable in variables:
            states *= arrays.cardinalities[variable]
        _start(clauses, arrays, true_literals)
        top = _first_sweep(variables, clauses, arrays, state, true_literals, scores[:states], world)
        best[component] = top
        log_z[component] = top
        if top == -np.inf:
            continue
        log_z[component] += np.log(np.exp(scores[:states] - top).sum())
        if with_marginals:
            for number in range(states):
                probability = np.exp(scores[number] - log_z[component])
                for variable in variables:
                    marginals[arrays.unary_starts[variable] + state[variable]] += probability
                for clause in clauses:
                    if true_literals[clause]:
                        satisfied[clause] += probability
                _advance(variables, arrays, state, true_literals, 0.0, 0)


@njit(cache=True)
def _first_sweep(variables, clauses, arrays, state, true_literals, scores, world):  # type: ignore[no-untyped-def]
    """Score all states, keep the best one in `world` and return its score."""
    top, score, blocked = -np.inf, 0.0, 0
    for number in range(len(scores)):
        if number % _RENEW == 0:
            score, blocked = _score(variables, clauses, arrays, state, true_literals)
        scores[number] = -np.inf if blocked else score
        if scores[number] > top:
            top = scores[number]
            for variable in variables:
                world[variable] = state[variable]
        score, blocked = _advance(variables, arrays, state, true_literals, score, blocked)
    return top


@njit(cache=True)
def _start(clauses, arrays, true_literals):  # type: ignore[no-untyped-def]
    """Count the true literals where all variables have their first value."""
    for clause in clauses:
        for literal in range(arrays.literal_starts[clause], arrays.literal_starts[clause + 1]):
            if (arrays.literal_value[literal] == 0) == arrays.literal_positive[literal]:
                true_literals[clause] += 1


@njit(cache=True)
def _score(variables, clauses, arrays, state, true_literals):  # type: ignore[no-untyped-def]
    """Return the finite part of a state's log-weight and the number of hard rules it breaks."""
    score, blocked = 0.0, 0
    for variable in variables:
        potential = arrays.unary[arrays.unary_starts[variable] + state[variable]]
        if potential == -np.inf:
            blocked += 1
        else:
            score += potential
    for clause in clauses:
        if arrays.strengths[clause] == np.inf:
            blocked += not true_literals[clause]
        elif true_literals[clause]:
            score += arrays.strengths[clause]
    return score, blocked


@njit(cache=True)
def _advance(variables, arrays, state, true_literals, score, blocked):  # type: ignore[no-untyped-def]
    """Go to the next state; after the last one comes the first."""
    for position in range(len(variables) - 1, -1, -1):
        variable = variables[position]
        old = np.int64(state[variable])
        new = old + 1 if old + 1 < arrays.cardinalities[variable] else 0
        state[variable] = new
        for value, sign in ((old, -1), (new, 1)):
            potential = arrays.unary[arrays.unary_starts[variable] + value]
            if potential == -np.inf:
                blocked += sign
            else:
                score += sign * potential
        first, last = arrays.by_variable_starts[variable], arrays.by_variable_starts[variable + 1]
        for literal in arrays.by_variable[first:last]:
            value, positive = arrays.literal_value[literal], arrays.literal_positive[literal]
            change = int((new == value) == positive) - int((old == value) == positive)
            if not change:
                continue
            clause = arrays.literal_clause[literal]
            true_literals[clause] += change
            # the clause turned true if this is its first true literal, false if it lost its last
            if true_literals[clause] == (change + 1) // 2:
                if arrays.strengths[clause] == np.inf:
                    blocked -= change
                else:
                    score += change * arrays.strengths[clause]
        if new:
            break
    return score, blocked
