"""Rows of numbers that are equal, found by hashing in one compiled loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import inner, njit
from mlnlearn.counting.arrays import Ints

_GROUPS = 1 << 10  # distinct rows that there is room for at first


def equal_rows(rows: Ints) -> tuple[Ints, Ints]:
    """Return the number of each row among distinct ones, in order, and the first row of each.

    Examples
    --------
    >>> numbers, first = equal_rows(np.array([[3, 1], [2, 2], [3, 1]]))
    >>> numbers.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    number, room = np.empty(len(rows), np.int64), _GROUPS
    while True:
        first = np.empty(room, np.int64)
        found = _number(rows, np.full(2 * room, -1, np.int64), first, number)
        if found >= 0:
            return number, first[:found].copy()
        room = min(8 * room, 1 << (len(rows) - 1).bit_length())  # few times: all is done anew


def ranked_marks(marks: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """Return the rank of each mark among distinct ones, and the first place of each of these.

    It is for many marks of few different ones, which are then not sorted.

    Examples
    --------
    >>> rank, first = ranked_marks(np.array([7, 2, 7, 9], np.uint64))
    >>> rank.tolist(), first.tolist()
    ([1, 0, 1, 2], [1, 0, 3])
    """
    number, first = equal_rows(marks.view(np.int64)[:, None])
    order = np.argsort(marks[first])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[number], first[order]


@inner
def scrambled(code):  # type: ignore[no-untyped-def]
    """Return 64 bits that look random (Steele, Lea & Flood 2014)."""
    code += np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(31))


@njit(cache=True, nogil=True)
def _number(rows, slots, first, number):  # type: ignore[no-untyped-def]
    """Put down the number of each row among distinct ones, and the first place of each of these.

    Returns how many there are; -1 where they are more than there is room for. All is in one loop:
    arrays that were handed to another function would take most of the time.
    """
    found, last = 0, np.uint64(len(slots) - 1)
    for row in range(len(rows)):
        code = np.uint64(0)
        for place in range(rows.shape[1]):
            code = scrambled(code ^ np.uint64(rows[row, place]))
        while True:
            group = slots[code & last]
            if group < 0:
                if found == len(first):
                    return -1
                slots[code & last], first[found], group = found, row, found
                found += 1
                break
            same, other = True, np.uint64(first[np.uint64(group)])
            for place in range(rows.shape[1]):
                same &= rows[row, place] == rows[other, place]
            if same:
                break
            code += np.uint64(1)
        number[row] = group
    return found
