"""A sum over choices among rows of sparse counts, with its gradient: one compiled loop."""

from __future__ import annotations

import numpy as np

from mlnlearn.compiled import njit


@njit(cache=True, nogil=True)
def choice_slope(weights, indptr, indices, counts, true, total, members, starts):  # type: ignore[no-untyped-def]
    """Return the log-likelihood of choices among rows, and its gradient over the weights.

    Parameters
    ----------
    weights
        One for each column of the counts.
    indptr, indices, counts
        The counts, in compressed rows.
    true
        Weight of the true atoms of each row.
    total
        Weight of all atoms of each block.
    members
        The rows of each block, one block after the other.
    starts
        Where each block starts in them; none is empty.
    """
    value = 0.0
    scores = np.empty(len(true))
    for row in range(len(true)):
        score = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            score += counts[place] * weights[indices[place]]
        scores[row] = score
        value += true[row] * score
    raised = np.empty(len(members))  # exponents of scores, each block's highest one taken off
    missed = true.copy()  # what is true, less what is expected
    for block in range(len(starts)):
        first = starts[block]
        last = starts[block + 1] if block + 1 < len(starts) else len(members)
        highest = scores[members[first]]
        for place in range(first + 1, last):
            highest = max(highest, scores[members[place]])
        mass = 0.0
        for place in range(first, last):
            below = scores[members[place]] - highest
            raised[place] = np.exp(below) if below < 0.0 else 1.0
            mass += raised[place]
        value -= total[block] * (highest + np.log(mass))
        share = total[block] / mass
        for place in range(first, last):
            missed[members[place]] -= share * raised[place]
    gradient = np.zeros(len(weights))
    for row in range(len(true)):
        for place in range(indptr[row], indptr[row + 1]):
            gradient[indices[place]] += counts[place] * missed[row]
    return value, gradient
