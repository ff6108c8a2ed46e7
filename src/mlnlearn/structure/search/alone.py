"""A clause beside the unit clauses: its weight and what it gains, from a few distinct rows.

With one clause beside the unit clauses, an atom's conditional depends on its flip count alone, so
all atoms of a predicate fall into a handful of rows. The weights (the clause's, and the unit
weights of the predicates it touches) are found by Newton's method; the Hessian couples each unit
weight to the clause's weight only and is solved by elimination.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit

Floats = NDArray[np.float64]

_DENSE_RANGE = 4096


def histogram(values: Floats, true: Floats, total: Floats) -> tuple[Floats, Floats, Floats]:
    """Add up the weights of atoms with equal flip counts.

    Parameters
    ----------
    values
        Flip counts, whole numbers.
    true, total
        Weight of the true atoms and of all atoms with each; of the same shape.

    Examples
    --------
    >>> values, true, total = np.array([0.0, 2.0, 0.0]), np.array([0.0, 1.0, 1.0]), np.ones(3)
    >>> [column.tolist() for column in histogram(values, true, total)]
    [[0.0, 2.0], [1.0, 1.0], [2.0, 1.0]]
    """
    flat = values.ravel()
    low, high = (flat.min(), flat.max()) if len(flat) else (0.0, 0.0)
    if high - low < _DENSE_RANGE:
        counted: tuple[Floats, Floats, Floats] = _counted(
            flat, true.ravel(), total.ravel(), low, int(high - low) + 1
        )
        return counted
    distinct, place = np.unique(flat, return_inverse=True)
    true_sums, total_sums = (
        np.bincount(place.reshape(-1), weights.ravel(), len(distinct)).astype(np.float64)
        for weights in (true, total)
    )
    return distinct, true_sums, total_sums


@njit(cache=True)
def _counted(flat, true, total, low, span):  # type: ignore[no-untyped-def]
    true_sums, total_sums = np.zeros(span), np.zeros(span)
    for cell in range(len(flat)):
        if total[cell] > 0.0:
            place = int(flat[cell] - low)
            true_sums[place] += true[cell]
            total_sums[place] += total[cell]
    kept = np.flatnonzero(total_sums)
    return low + kept, true_sums[kept], total_sums[kept]


@njit(cache=True)
def fit_alone(values, true, total, starts, units, precision):  # type: ignore[no-untyped-def]
    """Fit a clause's weight and the unit weights of the predicates it touches.

    Parameters
    ----------
    values, true, total
        Rows of all touched predicates, one predicate after the other.
    starts
        Where each predicate's rows start, and where the last ones end.
    units
        The unit weights to start from.
    precision
        Of the Gaussian prior on every weight: one over its variance.

    Returns
    -------
    weight, biases, likelihood
        The clause's weight, the unit weights, and the pseudo-log-likelihood of the rows, no prior.
    """
    number = len(units)
    weight, biases = 0.0, units.copy()
    objective, likelihood = _value(values, true, total, starts, weight, biases, precision)
    coupling, bends, slopes = np.empty(number), np.empty(number), np.empty(number)
    for _ in range(100):
        slope, bend = -precision * weight, precision
        for k in range(number):
            slopes[k], bends[k], coupling[k] = -precision * biases[k], precision, 0.0
            for row in range(starts[k], starts[k + 1]):
                probability = 1.0 / (1.0 + np.exp(-(biases[k] + weight * values[row])))
                residual = true[row] - total[row] * probability
                spread = total[row] * probability * (1.0 - probability)
                slopes[k] += residual
                bends[k] += spread
                coupling[k] += spread * values[row]
                slope += residual * values[row]
                bend += spread * values[row] * values[row]
        reduced_slope, reduced_bend = slope, bend
        for k in range(number):
            reduced_slope -= coupling[k] / bends[k] * slopes[k]
            reduced_bend -= coupling[k] / bends[k] * coupling[k]
        step = reduced_slope / max(reduced_bend, precision)
        moves = (slopes - coupling * step) / bends
        promise = slope * step + (slopes * moves).sum()
        if promise < 1e-13:
            # so near, a full step squares the error: where it stops does not show in the weights
            weight, biases = weight + step, biases + moves
            objective, likelihood = _value(values, true, total, starts, weight, biases, precision)
            break
        size = 1.0
        while size > 1e-10:
            trial, found = _value(
                values, true, total, starts, weight + size * step, biases + size * moves, precision
            )
            if trial >= objective + 1e-4 * size * promise:
                break
            size *= 0.5
        if size <= 1e-10:
            break
        weight, biases = weight + size * step, biases + size * moves
        objective, likelihood = trial, found
    return weight, biases, likelihood


@njit(cache=True)
def _value(values, true, total, starts, weight, biases, precision):  # type: ignore[no-untyped-def]
    likelihood = 0.0
    for k in range(len(biases)):
        for row in range(starts[k], starts[k + 1]):
            odds = biases[k] + weight * values[row]
            # log(1 + exp(odds)) without overflow
            softplus = max(odds, 0.0) + np.log1p(np.exp(-abs(odds)))
            likelihood += true[row] * odds - total[row] * softplus
    penalty = 0.5 * precision * (weight * weight + (biases * biases).sum())
    return likelihood - penalty, likelihood


@njit(cache=True)
def fit_held_out(values, true, total, starts, units, precision, database, databases):  # type: ignore[no-untyped-def]
    """Return the likelihood of each database's rows under weights fitted to the others, summed.

    Parameters are those of `fit_alone`, and the database of each row.
    """
    held_out = 0.0
    for number in range(databases):
        kept = (database != number).astype(np.float64)
        weight, biases, _ = fit_alone(values, true * kept, total * kept, starts, units, precision)
        left = 1.0 - kept
        held_out += _value(values, true * left, total * left, starts, weight, biases, precision)[1]
    return held_out
