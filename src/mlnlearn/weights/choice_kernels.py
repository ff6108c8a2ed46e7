"""A sum over choices among rows of sparse counts, with its gradient, in compiled loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit

Floats = NDArray[np.float64]
Table = tuple[NDArray[np.integer], NDArray[np.integer], Floats]
"""Counts in compressed columns: where each starts, the rows of its entries, and these."""
Blocks = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The rows of each block, one block after the other, and where each starts; none is empty."""


def choice_slope(
    weights: Floats, table: Table, true: Floats, total: Floats, blocks: Blocks
) -> tuple[float, Floats]:
    """Return the log-likelihood of choices among rows, and its gradient over the weights.

    Rows have few counts, columns many: loops over columns are those of which the processor guesses
    the end. Exponents are NumPy's, of many numbers at once.

    Parameters
    ----------
    weights
        One for each column of the counts.
    table
        The counts.
    true
        Weight of the true atoms of each row.
    total
        Weight of all atoms of each block.
    blocks
        The choices.

    Examples
    --------
    Of two rows one is true, and a feature counts 1 for it.

    >>> table = np.array([0, 1]), np.array([1]), np.array([1.0])
    >>> blocks = np.array([0, 1]), np.array([0])
    >>> true, total = np.array([0.0, 1.0]), np.array([1.0])
    >>> value, slope = choice_slope(np.zeros(1), table, true, total, blocks)
    >>> round(value, 4), slope.tolist()
    (-0.6931, [0.5])
    """
    scores, highest = np.zeros(len(true)), np.empty(len(total))
    raised = np.empty(len(blocks[0]))
    value = _scored(weights, table, true, blocks, scores, highest, raised)
    np.exp(raised, out=raised)
    mass, missed = np.empty(len(total)), true.copy()  # what is true, less what is expected
    _take_expected(raised, total, blocks, mass, missed)
    gradient = np.empty(len(weights))
    _add_by_column(table, missed, gradient)
    return value - float((total * (highest + np.log(mass))).sum()), gradient


@njit(cache=True, nogil=True)
def _scored(weights, table, true, blocks, scores, highest, below):  # type: ignore[no-untyped-def]
    """Score rows; put each block's highest score and how far others are below; sum true ones."""
    indptr, indices, counts = table
    for column in range(len(weights)):
        weight = weights[column]
        for place in range(indptr[column], indptr[column + 1]):
            scores[np.uint64(indices[place])] += counts[place] * weight
    value = 0.0
    for row in range(len(true)):
        value += true[row] * scores[row]
    members, starts = blocks
    for block in range(len(starts)):
        first = starts[block]
        last = starts[block + 1] if block + 1 < len(starts) else len(members)
        most = scores[members[first]]
        for place in range(first + 1, last):
            score = scores[np.uint64(members[place])]
            most = score if score > most else most
        for place in range(first, last):
            below[place] = scores[np.uint64(members[place])] - most
        highest[block] = most
    return value


@njit(cache=True, nogil=True)
def _take_expected(raised, total, blocks, mass, missed):  # type: ignore[no-untyped-def]
    """Take off what is expected of each row, by the exponents of its block; sum these."""
    members, starts = blocks
    for block in range(len(starts)):
        first = starts[block]
        last = starts[block + 1] if block + 1 < len(starts) else len(members)
        together = 0.0
        for place in range(first, last):
            together += raised[place]
        share = total[block] / together
        for place in range(first, last):
            missed[np.uint64(members[place])] -= share * raised[place]
        mass[block] = together


@njit(cache=True, nogil=True)
def _add_by_column(table, missed, gradient):  # type: ignore[no-untyped-def]
    indptr, indices, counts = table
    for column in range(len(gradient)):
        slope = 0.0
        for place in range(indptr[column], indptr[column + 1]):
            slope += counts[place] * missed[np.uint64(indices[place])]
        gradient[column] = slope
