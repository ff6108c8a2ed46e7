"""Facts grouped by key, in compiled loops: where each group starts, for `counting.lookups`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.arrays import Codes, Ints


def group_numbers(numbers: Codes, space: int) -> tuple[Codes, Codes | None]:
    """Return where each number below `space` begins among them sorted, then all; and their order.

    The order is None where they are sorted.

    Examples
    --------
    >>> first, order = group_numbers(np.array([2, 0, 2], np.int32), 3)
    >>> first.tolist(), order.tolist()
    ([0, 1, 1, 3], [1, 0, 2])
    """
    first, order = np.zeros(space + 1, np.int32), np.empty(len(numbers), np.int32)
    is_sorted = _group_numbers(numbers, first, order)
    return first, None if is_sorted else order


@njit(cache=True)
def _group_numbers(numbers, first, order):  # type: ignore[no-untyped-def]
    space, is_sorted = len(first) - 1, True
    for at in range(len(numbers)):
        first[numbers[at] + 1] += 1
        is_sorted &= at == 0 or numbers[at - 1] <= numbers[at]
    for number in range(space):
        first[number + 1] += first[number]
    if is_sorted:
        return is_sorted
    for at in range(len(numbers)):
        order[first[numbers[at]]] = at
        first[numbers[at]] += 1
    for number in range(space, 0, -1):
        first[number] = first[number - 1]
    first[0] = 0
    return is_sorted


@njit(cache=True)
def number_of_runs(keys):  # type: ignore[no-untyped-def]
    """Return how many different keys there are; -1 where they are not sorted."""
    runs = np.int64(len(keys) > 0)
    for at in range(1, len(keys)):
        if keys[at] < keys[at - 1]:
            return np.int64(-1)
        runs += keys[at] != keys[at - 1]
    return runs


def group_keys(
    keys: Ints, shift: int, buckets: int, mask: int, distinct: NDArray[np.integer], starts: Codes
) -> Codes:
    """Return, for each bucket of sorted keys, the number of its first group; then that of all.

    Puts what the mask leaves of the groups' keys into `distinct`, and where they start into
    `starts`, unless that has no room.
    """
    first = np.zeros(buckets + 1, np.int32)
    _group_keys(keys, shift, mask, distinct, starts, first)
    return first


@njit(cache=True)
def _group_keys(keys, shift, mask, distinct, starts, first):  # type: ignore[no-untyped-def]
    group = -1
    for at in range(len(keys)):
        if at and keys[at] == keys[at - 1]:
            continue
        group += 1
        distinct[group] = keys[at] & mask
        first[(keys[at] >> shift) + 1] += 1
        if len(starts):
            starts[group] = at
    if len(starts):
        starts[group + 1] = len(keys)
    for bucket in range(len(first) - 1):
        first[bucket + 1] += first[bucket]
