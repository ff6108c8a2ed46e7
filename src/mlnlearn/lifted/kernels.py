"""Compiled passes over circuits: values forwards, derivatives backwards.

Values come in an order in which each uses earlier ones only. A value is the logarithm of a sum of
branches' exponentials; a branch adds a constant, multiples of weights and multiples of values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit

_EPSILON = 4.0 * np.finfo(np.float64).eps


class Branches(NamedTuple):
    """The branches of all values, and their terms.

    Attributes
    ----------
    starts
        Where the branches of each value start.
    constants, odd
        What each branch adds, and whether it is taken away.
    weight_starts, weights, weight_times
        Where the weights of each branch start, which they are, and how often each counts.
    call_starts, called, call_times
        The same of the values that a branch uses.
    """

    starts: NDArray[np.int64]
    constants: NDArray[np.float64]
    odd: NDArray[np.bool_]
    weight_starts: NDArray[np.int64]
    weights: NDArray[np.int64]
    weight_times: NDArray[np.float64]
    call_starts: NDArray[np.int64]
    called: NDArray[np.int64]
    call_times: NDArray[np.float64]


@njit(cache=True)
def forward(given, weights, branches, values):  # type: ignore[no-untyped-def]
    """Fill `branches` and `values`; all terms are positive."""
    for value in range(len(values)):
        highest = -np.inf
        for branch in range(given.starts[value], given.starts[value + 1]):
            total = given.constants[branch]
            if total > -np.inf:
                for place in range(given.weight_starts[branch], given.weight_starts[branch + 1]):
                    total += weights[given.weights[place]] * given.weight_times[place]
                for place in range(given.call_starts[branch], given.call_starts[branch + 1]):
                    total += values[given.called[place]] * given.call_times[place]
            branches[branch] = total
            highest = max(highest, total)
        if highest == -np.inf:
            values[value] = -np.inf
            continue
        rest = 0.0
        for branch in range(given.starts[value], given.starts[value + 1]):
            rest += np.exp(branches[branch] - highest)
        values[value] = highest + np.log(rest)


@njit(cache=True)
def forward_signed(given, weights, branches, values, signs, bounds):  # type: ignore[no-untyped-def]
    """Fill `branches`, `values` (of magnitudes), `signs` and `bounds`.

    A bound is the logarithm of magnitude plus rounding error, so that cancellation shows.
    """
    for value in range(len(values)):
        highest = -np.inf
        top = -np.inf
        first, last = given.starts[value], given.starts[value + 1]
        uppers = np.empty(last - first)
        parity = np.empty(last - first)
        for branch in range(first, last):
            total = given.constants[branch]
            upper = 0.0
            sign = -1.0 if given.odd[branch] else 1.0
            if total > -np.inf:
                for place in range(given.weight_starts[branch], given.weight_starts[branch + 1]):
                    total += weights[given.weights[place]] * given.weight_times[place]
                upper = total
                for place in range(given.call_starts[branch], given.call_starts[branch + 1]):
                    total += values[given.called[place]] * given.call_times[place]
                    upper += bounds[given.called[place]] * given.call_times[place]
                    if signs[given.called[place]] < 0.0 and given.call_times[place] % 2.0 == 1.0:
                        sign = -sign
            else:
                upper = -np.inf
            branches[branch] = total
            uppers[branch - first] = upper
            parity[branch - first] = sign
            highest = max(highest, total)
            top = max(top, upper)
        signs[value] = 1.0
        values[value] = -np.inf
        bounds[value] = -np.inf
        if top == -np.inf:
            continue
        total = 0.0
        error = 0.0
        for branch in range(first, last):
            term = np.exp(branches[branch] - top)
            total += parity[branch - first] * term
            error += np.exp(uppers[branch - first] - top) - term
            if term > 0.0:
                error += _EPSILON * term * (1.0 + abs(branches[branch]))
        signs[value] = 1.0 if total >= 0.0 else -1.0
        if total != 0.0:
            values[value] = top + np.log(abs(total))
        bounds[value] = top + np.log(abs(total) + error)
        for branch in range(first, last):  # later passes need the sign of each branch
            given.odd[branch] = parity[branch - first] < 0.0


@njit(cache=True)
def backward(given, branches, values, signs, adjoints, gradient):  # type: ignore[no-untyped-def]
    """Add to `gradient` the derivative of the sum of values, weighted by `adjoints`."""
    for value in range(len(values) - 1, -1, -1):
        own = adjoints[value] * signs[value]
        if own == 0.0 or values[value] == -np.inf:
            continue
        for branch in range(given.starts[value], given.starts[value + 1]):
            share = own * np.exp(branches[branch] - values[value])
            if share == 0.0:
                continue
            if given.odd[branch]:
                share = -share
            for place in range(given.weight_starts[branch], given.weight_starts[branch + 1]):
                gradient[given.weights[place]] += share * given.weight_times[place]
            for place in range(given.call_starts[branch], given.call_starts[branch + 1]):
                adjoints[given.called[place]] += share * given.call_times[place]
