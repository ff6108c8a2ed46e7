"""What the samplers share: a random stream, and redrawing one variable or a small block of them.

The kernels keep `support`, the number of true literals of each clause. A variable is taken out of
the world (its literals leave the support), all its values are scored given the rest, and it is put
back. Everything random comes from a stream of its own, one a chain, so that no result depends on
the order in which chains run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit

Stream = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_ONE = np.uint64(1)


def new_stream(rng: np.random.Generator) -> Stream:
    """Return a fresh random stream for a kernel (SplitMix64; Steele, Lea & Flood 2014).

    Examples
    --------
    >>> new_stream(np.random.default_rng(0)).shape
    (1,)
    """
    return rng.integers(0, 2**64, 1, np.uint64)


@njit(cache=True, nogil=True)
def draw(stream):  # type: ignore[no-untyped-def]
    """Return 64 random bits."""
    stream[0] += _GOLDEN
    bits = stream[0]
    bits = (bits ^ (bits >> _S30)) * _MIX_1
    bits = (bits ^ (bits >> _S27)) * _MIX_2
    return bits ^ (bits >> _S31)


@njit(cache=True, nogil=True)
def uniform(stream):  # type: ignore[no-untyped-def]
    """Return a random number in [0, 1)."""
    return np.float64(draw(stream) >> _S11) * 2.0**-53


@njit(cache=True, nogil=True)
def chance(stream, threshold):  # type: ignore[no-untyped-def]
    """Return true with probability threshold / 2^63 (never at 0, always at 2^63)."""
    return (draw(stream) >> _ONE) < threshold


@njit(cache=True, nogil=True)
def below(stream, count):  # type: ignore[no-untyped-def]
    """Return a random whole number below `count`."""
    return np.int64(uniform(stream) * count)


def thresholds(probabilities: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return probabilities as the 63-bit thresholds that `chance` compares with.

    Examples
    --------
    >>> thresholds(np.array([0.0, 0.5, 1.0])) / 2**63
    array([0. , 0.5, 1. ])
    """
    return (np.clip(probabilities, 0.0, 1.0) * 2.0**63).astype(np.uint64)


@njit(cache=True, nogil=True)
def count_support(layout, world, support):  # type: ignore[no-untyped-def]
    """Count the true literals of every clause."""
    for clause in range(len(support)):
        true = 0
        for place in range(layout.clause_start[clause], layout.clause_start[clause + 1]):
            has = world[layout.literal_variable[place]] == layout.literal_value[place]
            true += has == (layout.literal_positive[place] == 1)
        support[clause] = true


@njit(cache=True, nogil=True)
def put(layout, strength, variable, value, change, support):  # type: ignore[no-untyped-def]
    """Add `change` (1 or -1) to the support of the clauses that hold by variable = value."""
    for place in range(layout.variable_start[variable], layout.variable_start[variable + 1]):
        clause = layout.incident_clause[place]
        if strength[clause] != 0.0:
            holds = (layout.incident_value[place] == value) == (
                layout.incident_positive[place] == 1
            )
            support[clause] += change * holds


@njit(cache=True, nogil=True)
def log_odds(layout, unary, strength, variable, current, support):  # type: ignore[no-untyped-def]
    """Return the log-odds of an atom (a variable with two values) given the rest."""
    start = layout.value_start[variable]
    odds = unary[start + 1] - unary[start]
    for place in range(layout.variable_start[variable], layout.variable_start[variable + 1]):
        clause = layout.incident_clause[place]
        positive = layout.incident_positive[place] == 1
        if support[clause] == ((current == 1) == positive):
            odds += strength[clause] if positive else -strength[clause]
    return odds


@njit(cache=True, nogil=True)
def score_values(layout, unary, strength, variable, support, scores):  # type: ignore[no-untyped-def]
    """Write the log-weight of each value of a variable taken out of the world, up to a constant."""
    start = layout.value_start[variable]
    for value in range(layout.cardinality[variable]):
        scores[value] = unary[start + value]
    for place in range(layout.variable_start[variable], layout.variable_start[variable + 1]):
        clause = layout.incident_clause[place]
        if support[clause] == 0:
            # Up to a constant, "not k" costs k what "k" would bring it.
            sign = 1.0 if layout.incident_positive[place] == 1 else -1.0
            scores[layout.incident_value[place]] += sign * strength[clause]


@njit(cache=True, nogil=True)
def copy(source, target, size):  # type: ignore[no-untyped-def]
    """Copy the first numbers; an assignment of slices compiles for seconds."""
    for place in range(size):
        target[place] = source[place]


@njit(cache=True, nogil=True)
def _normalise(scores, size):  # type: ignore[no-untyped-def]
    """Turn log-scores into probabilities, in place."""
    peak, total = -np.inf, 0.0
    for value in range(size):
        peak = max(peak, scores[value])
    for value in range(size):
        scores[value] = np.exp(scores[value] - peak)
        total += scores[value]
    for value in range(size):
        scores[value] /= total


@njit(cache=True, nogil=True)
def redraw(layout, unary, strength, variable, world, support, chances, stream):  # type: ignore[no-untyped-def]
    """Draw one variable given the rest; leaves the probabilities of its values in `chances`."""
    current = world[variable]
    if layout.cardinality[variable] == 2:
        odds = log_odds(layout, unary, strength, variable, current, support)
        chances[1] = 1.0 / (1.0 + np.exp(-odds))
        chances[0] = 1.0 - chances[1]
        value = np.int32(uniform(stream) < chances[1])
        if value != current:
            put(layout, strength, variable, current, -1, support)
            put(layout, strength, variable, value, 1, support)
            world[variable] = value
        return value != current
    put(layout, strength, variable, current, -1, support)
    score_values(layout, unary, strength, variable, support, chances)
    size = layout.cardinality[variable]
    _normalise(chances, size)
    left = uniform(stream)
    value = np.int32(-1)
    for candidate in range(size):
        if chances[candidate] > 0.0 and left >= 0.0:
            value = np.int32(candidate)
            left -= chances[candidate]
    put(layout, strength, variable, value, 1, support)
    world[variable] = value
    return value != current
