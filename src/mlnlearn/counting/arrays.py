"""Array work under the counting engine: packed keys, grouped sums, joins, checked arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.packed_sums import bits_of_counts, sums_of_packed
from mlnlearn.data.sampling import MOST_KEYS, keys_of
from mlnlearn.errors import CountOverflowError

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
AnyInts = NDArray[np.integer]

_TOP = 2**63 - 1
_EXACT = 2**53  # whole numbers below this are floats without a rounding


def pack(columns: Sequence[AnyInts], sizes: Sequence[int]) -> Ints | None:
    """Pack columns of codes below `sizes` into one 64-bit key a row; None where they do not fit."""
    if math.prod(max(size, 1) for size in sizes) >= MOST_KEYS:
        return None
    return keys_within(columns, sizes)


def keys_within(columns: Sequence[AnyInts], sizes: Sequence[int]) -> Ints:
    """Pack columns as `pack` does, where it is known that keys fit.

    Examples
    --------
    >>> keys_within([np.array([0, 0]), np.array([2, 1]), np.array([3, 0])], [1, 3, 4])
    array([11,  4])
    """
    first = _first_open(sizes)
    return keys_of(columns[first:], sizes[first:])


def unpack(keys: Ints, sizes: Sequence[int]) -> list[Codes]:
    """Undo `pack`."""
    columns = np.empty((len(sizes), len(keys)), np.int32)
    left, first = keys.astype(np.int64), _first_open(sizes)
    for place in range(len(sizes) - 1, first, -1):
        _take_apart(left, max(sizes[place], 1), columns[place])
    if len(sizes):
        columns[:first], columns[first] = 0, left
    return list(columns)


def _first_open(sizes: Sequence[int]) -> int:
    """Return the first column of several codes, or the last one; there is often one database."""
    return next((k for k, size in enumerate(sizes[:-1]) if size > 1), max(len(sizes) - 1, 0))


@njit(cache=True, nogil=True)
def _take_apart(keys, size, rests):  # type: ignore[no-untyped-def]
    """Divide keys; a product with the inverse takes a tenth of the time of a division."""
    inverse = 1.0 / size
    for row in range(len(keys)):
        key = keys[row]
        if key < _EXACT:
            quotient = np.int64(key * inverse)  # or next to it
            rest = key - quotient * size
            if rest < 0:
                quotient, rest = quotient - 1, rest + size
            elif rest >= size:
                quotient, rest = quotient + 1, rest - size
        else:
            quotient = key // size
            rest = key - quotient * size
        keys[row] = quotient
        rests[row] = rest


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


def sort_keys(keys: Ints) -> tuple[Ints, Ints]:
    """Return the order that sorts keys of 0 and more, equal ones by their place; and them sorted.

    Sorting numbers is many times faster than sorting places by numbers, so that keys and places are
    sorted together, in one number, where they fit.

    Examples
    --------
    >>> order, ordered = sort_keys(np.array([3, 1, 3, 0]))
    >>> order.tolist(), ordered.tolist()
    ([3, 1, 0, 2], [0, 1, 3, 3])
    """
    bits = max(len(keys) - 1, 0).bit_length()
    if not len(keys) or int(keys.max()).bit_length() + bits > 64 or int(keys.min()) < 0:
        order = np.argsort(keys, kind="stable")
        return order, keys[order]
    together = keys.astype(np.uint64) << np.uint64(bits)
    together |= np.arange(len(keys), dtype=np.uint64)
    together.sort()
    order = (together & np.uint64((1 << bits) - 1)).view(np.int64)
    return order, np.right_shift(together, np.uint64(bits), out=together).view(np.int64)


@njit(cache=True, nogil=True)
def _add_into(sums, places, counts):  # type: ignore[no-untyped-def]
    """Add counts at places; tell whether no sum left 64 bits on the way."""
    # compiled code may assume that sums do not wrap, so the room left is looked at beforehand
    fits = True
    for row in range(len(places)):
        before, more = sums[places[row]], counts[row]
        if (more > 0 and before > _TOP - more) or (more < 0 and before < -_TOP - more):
            fits = False
        sums[places[row]] = before + more
    return fits


def add_at(sums: Ints, places: Ints, counts: Ints) -> None:
    """Add counts to the sums at the given places, refusing results beyond 64 bits."""
    if not _add_into(sums, places, counts):
        raise overflow(float(np.abs(counts.astype(np.float64)).sum()))


def group_sums(
    columns: Sequence[AnyInts], sizes: Sequence[int], counts: Ints
) -> tuple[list[Codes], Ints]:
    """Sum `counts` over equal rows; rows come back distinct, in lexicographic order."""
    if not len(counts):
        return [np.empty(0, np.int32) for _ in columns], counts
    keys = pack(columns, sizes)
    if keys is None:
        distinct, inverse = np.unique(np.stack(columns), axis=1, return_inverse=True)
        sums = np.zeros(distinct.shape[1], np.int64)
        add_at(sums, inverse.reshape(-1).astype(np.int64), counts)
        return [row.astype(np.int32) for row in distinct], sums
    space = math.prod(max(size, 1) for size in sizes)
    if space <= max(4 * len(keys), 1024):
        sums = np.zeros(space, np.int64)
        add_at(sums, keys, counts)
        seen = np.zeros(space, np.bool_)
        seen[keys] = True
        found = np.flatnonzero(seen)
        return unpack(found, sizes), sums[found]
    if bool((keys[1:] > keys[:-1]).all()):
        return [np.asarray(column, np.int32) for column in columns], counts
    least, most = int(counts.min()), int(counts.max())
    bits = bits_of_counts(least, most, len(counts))
    if (space - 1).bit_length() + bits <= 64:
        together = keys.astype(np.uint64) << np.uint64(bits)
        if bits:
            together |= (counts - least).view(np.uint64)
        distinct, sums = sums_of_packed(together, bits, least)
        return unpack(distinct, sizes), sums
    order, ordered = sort_keys(keys)
    first, sums, fits = _run_sums(ordered, order, counts)
    if not fits:
        raise overflow(float(np.abs(counts.astype(np.float64)).sum()))
    return [np.asarray(column, np.int32)[first] for column in columns], sums


def distinct_rows(
    columns: Sequence[AnyInts], sizes: Sequence[int]
) -> tuple[Codes, tuple[Codes, ...]]:
    """Return, for each row, the number of its combination of values, and all combinations.

    Examples
    --------
    >>> numbers, combinations = distinct_rows([np.array([1, 0, 1]), np.array([2, 2, 2])], [2, 3])
    >>> numbers.tolist(), [column.tolist() for column in combinations]
    ([1, 0, 1], [[0, 1], [2, 2]])
    """
    distinct, _ = group_sums(columns, sizes, np.ones(len(columns[0]), np.int64))
    rows, known = common_keys(columns, distinct, sizes)
    return np.searchsorted(known, rows).astype(np.int32), tuple(distinct)


@njit(cache=True, nogil=True)
def _run_sums(ordered, order, counts):  # type: ignore[no-untyped-def]
    """Add up counts of equal keys: the first row of each, its sum, and whether all fit 64 bits."""
    runs = 1
    for place in range(1, len(order)):
        runs += ordered[place] != ordered[place - 1]
    first, sums = np.empty(runs, np.int64), np.zeros(runs, np.int64)
    run, fits = -1, True
    for place in range(len(order)):
        row = order[place]
        if place == 0 or ordered[place] != ordered[place - 1]:
            run += 1
            first[run] = row
        before, more = sums[run], counts[row]
        if (more > 0 and before > _TOP - more) or (more < 0 and before < -_TOP - more):
            fits = False
        sums[run] = before + more
    return first, sums, fits


@njit(cache=True, nogil=True)
def _products_fit(left, right):  # type: ignore[no-untyped-def]
    for row in range(len(left)):
        if left[row] != 0 and abs(right[row]) > _TOP // abs(left[row]):
            return False
    return True


def times(left: Ints, right: Ints) -> Ints:
    """Multiply elementwise, refusing results beyond 64 bits."""
    if len(left):
        highest = float(np.abs(left).max()) * float(np.abs(right).max())
        # far below the limit the rounding of floats cannot hide an overflow
        if highest >= 2.0**62 and not _products_fit(left, right):
            raise overflow(highest)
    return left * right


def overflow(value: float) -> CountOverflowError:
    """Return the error for a count of about `value`."""
    return CountOverflowError(
        f"a count of about {value:.3g} does not fit in 64 bits",
        hint="restrict the formula, or the domains of its unconstrained variables",
    )


class Index:
    """Rows of a table by key, for lookups and joins.

    Parameters
    ----------
    keys
        The rows' keys, 0 and more.
    space
        A number larger than any key that will be asked for, if it is known. Where it is not much
        larger than the table, groups are found by their place, else by binary search.
    asked
        How many keys will be asked for, if it is known: twice as many places are worth their while.
    """

    def __init__(self, keys: Ints, space: int | None = None, asked: int = 0) -> None:
        in_order = len(keys) < 2 or bool((keys[1:] >= keys[:-1]).all())
        self.order: Ints | None = None
        if not in_order:
            self.order, keys = sort_keys(keys)
        self._starts: Ints | None = None
        if space is not None and space <= max(4 * len(keys), 2 * asked, 1 << 12):
            self._starts = np.zeros(space + 1, np.int64)
            np.cumsum(np.bincount(keys, minlength=space), out=self._starts[1:])
        else:
            self.keys = keys
            self._distinct = len(keys) > 0 and bool((keys[1:] > keys[:-1]).all())

    def ranges(self, wanted: Ints) -> tuple[Ints, Ints]:
        """Return, for each wanted key, where its rows start and how many there are."""
        if self._starts is not None:
            first, last = self._starts[wanted], self._starts[1:][wanted]
        else:
            first = np.searchsorted(self.keys, wanted, side="left")
            if self._distinct:
                found = self.keys[np.minimum(first, len(self.keys) - 1)] == wanted
                return first, found.astype(np.int64)
            last = np.searchsorted(self.keys, wanted, side="right")
        return first, last - first

    def rows(self, starts: Ints, lengths: Ints) -> Ints:
        """Return the row numbers of the given ranges, one after the other."""
        places = expand_ranges(starts, lengths)
        return places if self.order is None else self.order[places]


def matching_rows(
    left: Sequence[AnyInts], right: Sequence[AnyInts], sizes: Sequence[int]
) -> tuple[Ints, Ints]:
    """Return all pairs of a row on the left and an equal one on the right, in order of the left.

    Examples
    --------
    >>> first, second = matching_rows([np.array([1, 2])], [np.array([2, 0, 2])], [3])
    >>> first.tolist(), second.tolist()
    ([1, 1], [0, 2])
    """
    wanted, keys = common_keys(left, right, sizes)
    index = Index(keys)
    starts, lengths = index.ranges(wanted)
    return np.repeat(np.arange(len(wanted)), lengths), index.rows(starts, lengths)


def rows_of(known: Sequence[AnyInts], wanted: Sequence[AnyInts], sizes: Sequence[int]) -> Ints:
    """Return the place of each wanted row among distinct known ones, -1 where there is none.

    Examples
    --------
    >>> rows_of([np.array([5, 3])], [np.array([3, 4])], [6]).tolist()
    [1, -1]
    """
    found = np.full(len(wanted[0]), -1, np.int64)
    rows, places = matching_rows(wanted, known, sizes)
    found[rows] = places
    return found


def expand_ranges(starts: Ints, lengths: Ints) -> Ints:
    """Concatenate ``range(start, start + length)`` of all pairs."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places = np.repeat(starts - (ends - lengths), lengths)
    places += np.arange(total)
    return places


def bounds_of(lengths: AnyInts | NDArray[np.bool_]) -> Ints:
    """Return where parts of the given lengths begin when they lie side by side, and where all end.

    Examples
    --------
    >>> bounds_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def run_starts(ordered: NDArray[np.generic]) -> Ints:
    """Return where each run of equal values begins.

    Examples
    --------
    >>> run_starts(np.array([4, 4, 7, 9, 9])).tolist(), run_starts(np.empty(0)).tolist()
    ([0, 2, 3], [])
    """
    begins = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return np.flatnonzero(begins)


def places_among(known: NDArray[np.generic], wanted: NDArray[np.generic]) -> Ints:
    """Return the place of each wanted value among known ones, which rise; -1 where it is not there.

    Examples
    --------
    >>> places_among(np.array([3, 5, 8]), np.array([5, 9, 3, 4])).tolist()
    [1, -1, 0, -1]
    """
    if not len(known):
        return np.full(len(wanted), -1, np.int64)
    if known.dtype == wanted.dtype == np.int64 and _rises(wanted.view(np.int64)):
        places = np.empty(len(wanted), np.int64)
        _merge(known, wanted, places)
        return places
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[places] == wanted, places, -1)


def _rises(values: Ints) -> bool:
    return bool((values[1:] >= values[:-1]).all())


@njit(cache=True, nogil=True)
def _merge(known, wanted, places):  # type: ignore[no-untyped-def]
    """Find wanted values that rise among known ones; each step is twice as far as the one before.

    So few values are found among many as by a search, and as many as there are in one run.
    """
    low, size = 0, len(known)
    for row in range(len(wanted)):
        value, step = wanted[row], 1
        while low + step < size and known[low + step] <= value:
            low, step = low + step, 2 * step
        while step:
            if low + step < size and known[low + step] <= value:
                low += step
            step >>= 1
        places[row] = low if known[low] == value else -1


def renumbered(labels: AnyInts) -> Ints:
    """Return numbers for labels, in the order in which they first occur.

    Examples
    --------
    >>> renumbered(np.array([7, 2, 7, 5])).tolist()
    [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]
