"""Array work under the counting engine: packed keys, grouped sums, joins, checked arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mlnlearn.errors import CountOverflowError

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
AnyInts = NDArray[np.integer]

_LIMIT = 2.0**63
_KEY_LIMIT = 2**62


def pack(columns: Sequence[AnyInts], sizes: Sequence[int]) -> Ints | None:
    """Pack columns of codes below `sizes` into one 64-bit key a row; None where they do not fit."""
    if math.prod(max(size, 1) for size in sizes) >= _KEY_LIMIT:
        return None
    keys = columns[0].astype(np.int64)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        keys *= size
        keys += column
    return keys


def unpack(keys: Ints, sizes: Sequence[int]) -> list[Codes]:
    """Undo `pack`."""
    columns: list[Codes] = []
    for size in reversed(sizes[1:]):
        keys, last = np.divmod(keys, size)
        columns.append(last.astype(np.int32))
    columns.append(keys.astype(np.int32))
    return columns[::-1]


def common_keys(
    left: Sequence[AnyInts], right: Sequence[AnyInts], sizes: Sequence[int]
) -> tuple[Ints, Ints]:
    """Return keys of two tables such that rows are equal exactly where their keys are."""
    first, second = pack(left, sizes), pack(right, sizes)
    if first is not None and second is not None:
        return first, second
    stacked = np.stack([np.concatenate([a, b]) for a, b in zip(left, right, strict=True)])
    _, ranks = np.unique(stacked, axis=1, return_inverse=True)
    ranks = ranks.reshape(-1).astype(np.int64)
    return ranks[: len(left[0])], ranks[len(left[0]) :]


@njit(cache=True)
def _dense_sums(keys, counts, size):  # type: ignore[no-untyped-def]
    sums = np.zeros(size, np.int64)
    seen = np.zeros(size, np.bool_)
    for row in range(len(keys)):
        sums[keys[row]] += counts[row]
        seen[keys[row]] = True
    return sums, seen


def group_sums(
    columns: Sequence[AnyInts], sizes: Sequence[int], counts: Ints
) -> tuple[list[Codes], Ints]:
    """Sum `counts` over equal rows; rows come back distinct, in lexicographic order."""
    if not len(counts):
        return [np.empty(0, np.int32) for _ in columns], counts
    keys = pack(columns, sizes)
    if keys is None:
        distinct, inverse = np.unique(np.stack(columns), axis=1, return_inverse=True)
        sums = _checked_group(inverse.reshape(-1).astype(np.int64), counts, distinct.shape[1])
        return [row.astype(np.int32) for row in distinct], sums
    space = math.prod(max(size, 1) for size in sizes)
    if space <= max(4 * len(keys), 1024):
        check_sum(counts)
        sums, seen = _dense_sums(keys, counts, space)
        found = np.flatnonzero(seen)
        return unpack(found, sizes), sums[found]
    if len(keys) > 1 and bool((keys[1:] > keys[:-1]).all()):
        return [np.asarray(column, np.int32) for column in columns], counts
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    check_sum(counts)
    return unpack(ordered[starts], sizes), np.add.reduceat(counts[order], starts)


def _checked_group(groups: Ints, counts: Ints, size: int) -> Ints:
    check_sum(counts)
    sums: Ints = _dense_sums(groups, counts, size)[0]
    return sums


def check_sum(counts: Ints) -> None:
    """Refuse sums that could leave 64 bits."""
    if len(counts) and float(np.abs(counts).max()) * len(counts) >= _LIMIT:
        total = float(np.abs(counts.astype(np.float64)).sum())
        if total >= _LIMIT:
            raise overflow(total)


def times(left: Ints, right: Ints) -> Ints:
    """Multiply elementwise, refusing results beyond 64 bits."""
    if not len(left):
        return left * right
    highest = float(np.abs(left).max()) * float(np.abs(right).max())
    if highest >= _LIMIT:
        product = np.abs(left.astype(np.float64) * right)
        if float(product.max()) >= _LIMIT:
            raise overflow(float(product.max()))
    return left * right


def overflow(value: float) -> CountOverflowError:
    """Return the error for a count of about `value`."""
    return CountOverflowError(
        f"a count of about {value:.3g} does not fit in 64 bits",
        hint="restrict the formula, or the domains of its unconstrained variables",
    )


class Index:
    """Rows of a table by key, for lookups and joins."""

    def __init__(self, keys: Ints) -> None:
        in_order = len(keys) < 2 or bool((keys[1:] >= keys[:-1]).all())
        self.order: Ints | None = None if in_order else np.argsort(keys, kind="stable")
        self.keys = keys if self.order is None else keys[self.order]

    def ranges(self, wanted: Ints) -> tuple[Ints, Ints]:
        """Return, for each wanted key, where its rows start and how many there are."""
        first = np.searchsorted(self.keys, wanted, side="left")
        last = np.searchsorted(self.keys, wanted, side="right")
        return first, last - first

    def rows(self, starts: Ints, lengths: Ints) -> Ints:
        """Return the row numbers of the given ranges, one after the other."""
        places = expand_ranges(starts, lengths)
        return places if self.order is None else self.order[places]


def expand_ranges(starts: Ints, lengths: Ints) -> Ints:
    """Concatenate ``range(start, start + length)`` of all pairs."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    offsets = np.repeat(starts - (ends - lengths), lengths)
    return offsets + np.arange(total)
