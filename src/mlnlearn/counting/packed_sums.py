"""Sums of the counts of equal keys, each key sorted together with its count, in one number.

Nothing is looked up by place after sorting, which takes longer than to sort where rows are more
than the processor's own memory has room for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit

Ints = NDArray[np.int64]


def bits_of_counts(least: int, most: int, number: int) -> int:
    """Return how many bits tell so many counts apart; 64 where their sums might not fit.

    Examples
    --------
    >>> bits_of_counts(-1, 3, 10), bits_of_counts(1, 2**62, 10)
    (3, 64)
    """
    fits = max(abs(least), abs(most)).bit_length() + number.bit_length() < 63
    return (most - least).bit_length() if fits else 64


def sums_of_packed(together: NDArray[np.uint64], bits: int, least: int) -> tuple[Ints, Ints]:
    """Return the distinct keys in order, and the sums of their counts; what is given is used up.

    Parameters
    ----------
    together
        Of each row, the key, and in so many lowest bits the count less the least one.
    bits, least
        Of the counts.

    Examples
    --------
    >>> keys, counts = np.array([5, 3, 5], np.uint64), np.array([0, 1, 3], np.uint64)
    >>> [part.tolist() for part in sums_of_packed(keys << np.uint64(2) | counts, 2, 1)]
    [[3, 5], [2, 5]]
    """
    together.sort()
    sums = np.empty(len(together), np.int64)
    runs = _add_packed(together, np.uint64(bits), least, sums)
    return together[:runs].view(np.int64), sums[:runs].copy()


@njit(cache=True, nogil=True)
def _add_packed(together, bits, least, sums):  # type: ignore[no-untyped-def]
    """Put distinct keys first, and the sums of their counts; return how many there are."""
    runs, one = 0, np.uint64(1)
    mask = (one << bits) - one
    for row in range(len(together)):
        number = together[row]
        key, count = number >> bits, np.int64(number & mask) + least
        if runs and together[runs - 1] == key:
            sums[runs - 1] += count
        else:
            together[runs], sums[runs] = key, count
            runs += 1
    return runs
