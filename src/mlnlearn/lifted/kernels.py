"""Compiled passes over circuits: values forwards, derivatives backwards.

Values come in an order in which each uses earlier ones only. A value is the logarithm of a sum of
branches' exponentials; a branch adds a constant, multiples of weights and multiples of values.
"""

from __future__ import annotations

import numpy as np

from mlnlearn.compiled import njit

_EPSILON = 4.0 * np.finfo(np.float64).eps


@njit(cache=True)
def forward(arrays, weights, branches, values):  # type: ignore[no-untyped-def]
    """Fill `branches` and `values`; all terms are positive."""
    starts, constants, _, linear_starts, linear_weights, linear, call_starts, called, calls = arrays
    for value in range(len(values)):
        highest = -np.inf
        for branch in range(starts[value], starts[value + 1]):
            total = constants[branch]
            if total > -np.inf:
                for place in range(linear_starts[branch], linear_starts[branch + 1]):
                    total += weights[linear_weights[place]] * linear[place]
                for place in range(call_starts[branch], call_starts[branch + 1]):
                    total += values[called[place]] * calls[place]
            branches[branch] = total
            highest = max(highest, total)
        if highest == -np.inf:
            values[value] = -np.inf
            continue
        rest = 0.0
        for branch in range(starts[value], starts[value + 1]):
            rest += np.exp(branches[branch] - highest)
        values[value] = highest + np.log(rest)


@njit(cache=True)
def forward_signed(arrays, weights, branches, values, signs, bounds):  # type: ignore[no-untyped-def]
    """Fill `branches`, `values` (of magnitudes), `signs` and `bounds`.

    A bound is the logarithm of magnitude plus rounding error, so that cancellation shows.
    """
    starts, constants, odd, linear_starts, linear_weights, linear, call_starts, called, calls = (
        arrays
    )
    for value in range(len(values)):
        highest = -np.inf
        top = -np.inf
        first, last = starts[value], starts[value + 1]
        uppers = np.empty(last - first)
        parity = np.empty(last - first)
        for branch in range(first, last):
            total = constants[branch]
            upper = 0.0
            sign = -1.0 if odd[branch] else 1.0
            if total > -np.inf:
                for place in range(linear_starts[branch], linear_starts[branch + 1]):
                    total += weights[linear_weights[place]] * linear[place]
                upper = total
                for place in range(call_starts[branch], call_starts[branch + 1]):
                    total += values[called[place]] * calls[place]
                    upper += bounds[called[place]] * calls[place]
                    if signs[called[place]] < 0.0 and calls[place] % 2.0 == 1.0:
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
            odd[branch] = parity[branch - first] < 0.0


@njit(cache=True)
def backward(arrays, branches, values, signs, adjoints, gradient):  # type: ignore[no-untyped-def]
    """Add to `gradient` the derivative of the sum of values, weighted by `adjoints`."""
    starts, _, odd, linear_starts, linear_weights, linear, call_starts, called, calls = arrays
    for value in range(len(values) - 1, -1, -1):
        own = adjoints[value] * signs[value]
        if own == 0.0 or values[value] == -np.inf:
            continue
        for branch in range(starts[value], starts[value + 1]):
            share = own * np.exp(branches[branch] - values[value])
            if share == 0.0:
                continue
            if odd[branch]:
                share = -share
            for place in range(linear_starts[branch], linear_starts[branch + 1]):
                gradient[linear_weights[place]] += share * linear[place]
            for place in range(call_starts[branch], call_starts[branch + 1]):
                adjoints[called[place]] += share * calls[place]
