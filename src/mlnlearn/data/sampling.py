"""Ground atoms by number: 64-bit keys, and uniform samples of them without listing them all.

A predicate over domains of sizes ``n1, n2, …`` has ``n1·n2·…`` ground atoms. An atom's *key* is its
place in lexicographic order. Keys make it cheap to draw from 10^10 atoms, to skip those that are
listed, and to compare sets of atoms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.errors import CountOverflowError

Keys = NDArray[np.int64]

MOST_KEYS = 2**62
"""Keys stay below this number."""


def number_of_keys(sizes: Sequence[int]) -> int:
    """Return the number of ground atoms over domains of the given sizes, if 64 bits can hold it.

    Examples
    --------
    >>> number_of_keys([1000, 1000])
    1000000
    """
    total = math.prod(sizes)
    if total >= MOST_KEYS:
        raise CountOverflowError(
            f"{total} ground atoms over domains of sizes {list(sizes)} do not fit in 64-bit keys",
            hint="restrict the domains of some arguments",
        )
    return total


def pack(columns: NDArray[np.integer], sizes: Sequence[int]) -> Keys:
    """Return the keys of atoms given as ``(arity, n)`` codes.

    Examples
    --------
    >>> pack(np.array([[0, 2], [1, 3]]), [3, 4])
    array([ 1, 11])
    """
    number_of_keys(sizes)
    return keys_of(columns, sizes) if len(sizes) else np.zeros(columns.shape[1], np.int64)


def keys_of(
    columns: Sequence[NDArray[np.integer]] | NDArray[np.integer], sizes: Sequence[int]
) -> Keys:
    """Return the keys of codes in one column or more; whether they fit is not asked.

    Examples
    --------
    >>> keys_of([np.array([0, 2]), np.array([1, 3])], [3, 4])
    array([ 1, 11])
    """
    keys: Keys = columns[0].astype(np.int64)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        keys *= size
        keys += column
    return keys


def unpack(keys: Keys, sizes: Sequence[int]) -> NDArray[np.int32]:
    """Return the ``(arity, n)`` codes of atoms given by key.

    Examples
    --------
    >>> unpack(np.array([1, 11]), [3, 4])
    array([[0, 2],
           [1, 3]], dtype=int32)
    """
    columns = table_with_owner(len(sizes), len(keys))
    for place in range(len(sizes) - 1, 0, -1):
        before = keys // sizes[place]  # many times as fast as the rest, or both, by a division
        columns[place] = keys - before * sizes[place]
        keys = before
    if len(sizes):
        columns[0] = keys
    return columns


def is_among(keys: Keys, listed: Keys) -> NDArray[np.bool_]:
    """Tell which keys are among `listed`, which must be sorted.

    Examples
    --------
    >>> is_among(np.array([5, 0, 7]), np.array([5, 6]))
    array([ True, False, False])
    """
    if not len(listed):
        return np.zeros(len(keys), np.bool_)
    places = np.searchsorted(listed, keys)
    places[places == len(listed)] = 0
    found: NDArray[np.bool_] = listed[places] == keys
    return found


def unlisted(ranks: Keys, listed: Keys) -> Keys:
    """Return the ``rank``-th keys (from 0) among those that are not `listed` (sorted, distinct).

    Below the key ``listed[i]`` there are ``listed[i] - i`` unlisted ones, so a rank must be moved
    up by the number of listed keys with at most that many unlisted ones below them.

    Examples
    --------
    >>> unlisted(np.array([0, 1, 2]), np.array([0, 2]))
    array([1, 3, 4])
    """
    below = listed - np.arange(len(listed))
    return ranks + np.searchsorted(below, ranks, side="right")


def distinct(total: int, count: int, rng: np.random.Generator) -> Keys:
    """Draw `count` different numbers below `total`, every set equally likely; sorted.

    Time and memory follow `count`, whatever the `total`: numbers are drawn with repeats, the
    repeats dropped, and the excess removed at random. Where more than half is asked for, the
    numbers to leave out are drawn instead.

    Examples
    --------
    >>> distinct(5, 5, np.random.default_rng(0))
    array([0, 1, 2, 3, 4])
    >>> len(set(distinct(10**12, 1000, np.random.default_rng(0)).tolist()))
    1000
    """
    if not 0 <= count <= total:
        raise ValueError(f"cannot draw {count} different numbers out of {total}")
    if 2 * count > total:
        kept = np.ones(total, np.bool_)
        kept[distinct(total, total - count, rng)] = False
        return np.flatnonzero(kept)
    # By symmetry every set of a given size is equally likely at every stage, so a uniform choice
    # within the last one is uniform overall.
    found = np.empty(0, np.int64)
    while len(found) < count:
        missing = count - len(found)
        fresh = rng.integers(0, total, missing + missing // 8 + 16)
        found = np.concatenate([found, fresh])
        found.sort()  # many times faster than the hashing of np.unique
        found = found[np.append(True, found[1:] != found[:-1])]
    excess = rng.choice(len(found), len(found) - count, replace=False, shuffle=False)
    return np.delete(found, excess)


def table_with_owner(arity: int, number: int) -> NDArray[np.int32]:
    """Return a table for the arguments of atoms, with a row of zeros in memory before them.

    That row says that all atoms are of the first database. As long as it is only read, it takes no
    memory, and who needs it can have it without a copy: see `with_owner`.

    Examples
    --------
    >>> columns = table_with_owner(2, 3)
    >>> columns.shape, with_owner(columns).shape, with_owner(columns.copy())
    ((2, 3), (3, 3), None)
    """
    return np.zeros((arity + 1, number), np.int32)[1:]


def with_owner(columns: NDArray[np.integer]) -> NDArray[np.int32] | None:
    """Return such a table with the row before it; None where it is not one."""
    whole = columns.base
    if not isinstance(whole, np.ndarray) or whole.dtype != np.int32 or not columns.size:
        return None
    rows, number = columns.shape
    if whole.shape != (rows + 1, number) or not whole.flags.c_contiguous:
        return None
    same = whole[1:].__array_interface__["data"] == columns.__array_interface__["data"]
    if not same or columns.strides != whole.strides or whole[0].any():
        return None
    return whole
