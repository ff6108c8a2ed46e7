"""Sparse tables: named columns of codes with a count a row; joined and summed over packed keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, TypeVar

import numpy as np

from mlnlearn.counting.arrays import (
    Codes,
    Index,
    Ints,
    common_keys,
    group_sums,
    overflow,
    times,
    unpack,
)
from mlnlearn.counting.budget import Room
from mlnlearn.counting.match_sums import add_matches, pack_matches
from mlnlearn.counting.packed_sums import bits_of_counts, sums_of_packed
from mlnlearn.data.sampling import MOST_KEYS

N = TypeVar("N", bound=Hashable)

_CHUNK = 1 << 22
# Bytes a row beside the tables themselves, temporary arrays included; a test measures that they
# suffice. Keys and sums of groups (by place or by sorting), and a copy of columns that do not fit a
# key;
_GROUPING, _GROUPING_COLUMN = 72, 8
# keys, ranges of matches and their ends, of the table that is looked up;
_PROBING = 48
# keys, their order and sorted copies, of the table that is looked up in;
_INDEXING = 48
# numbers of the rows that are joined, and their counts;
_JOINING = 48
# what a row adds to the place of a sum, and sums by place;
_ADDING = 48
# a joined row as one number, its sum, and both as they are taken apart.
_PACKED = 40


@dataclass(frozen=True, slots=True, eq=False)
class SparseTable(Generic[N]):
    """Counts by the values of some columns.

    Attributes
    ----------
    columns
        Codes, by the columns' names.
    counts
        The counts; 64-bit integers.
    """

    columns: Mapping[N, Codes]
    counts: Ints

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        return sum(column.nbytes for column in self.columns.values()) + self.counts.nbytes

    def renamed(self, names: Mapping[N, N]) -> SparseTable[N]:
        """Return the table with other names for its columns; those not given keep theirs."""
        columns = {names.get(name, name): column for name, column in self.columns.items()}
        return SparseTable(columns, self.counts)


def merging_bytes(columns: int) -> int:
    """Return what a row takes at most while tables are put together and equal rows are added."""
    width = 4 * columns + 8
    return 2 * width + _GROUPING + _GROUPING_COLUMN * columns


def sum_out(
    table: SparseTable[N], keep: Collection[N], bounds: Mapping[N, int], room: Room | None = None
) -> SparseTable[N]:
    """Sum the counts over all columns but some; the rows of the answer are distinct and in order.

    Parameters
    ----------
    table
        The table.
    keep
        The columns of the answer (others that the table does not have are ignored).
    bounds
        For each column, a number that is larger than its codes.
    room
        What it may take beside the table; unchecked where it is not given.

    Examples
    --------
    >>> codes = np.array([0, 0, 1], np.int32)
    >>> table = SparseTable({"x": codes, "y": np.arange(3, dtype=np.int32)}, np.full(3, 2))
    >>> sum_out(table, {"x"}, {"x": 2, "y": 3}).counts.tolist()
    [4, 2]
    """
    kept = [name for name in table.columns if name in keep]
    if room is not None:
        room.taking(len(table) * (_GROUPING + (4 + _GROUPING_COLUMN) * len(kept)), len(table))
    if not kept:
        total, _ = group_sums([np.zeros(len(table), np.int32)], [1], table.counts)[::-1]
        return SparseTable({}, total)
    columns, counts = group_sums(
        [table.columns[name] for name in kept], [bounds[name] for name in kept], table.counts
    )
    return SparseTable(dict(zip(kept, columns, strict=True)), counts)


def join(
    left: SparseTable[N],
    right: SparseTable[N],
    keep: Collection[N],
    bounds: Mapping[N, int],
    room: Room,
    tally: Callable[[int], None] | None = None,
) -> SparseTable[N]:
    """Join two tables on all shared columns, multiply counts, and sum out all columns but `keep`.

    The join is made in pieces that are summed at once, so that a large join with a small answer
    takes little memory. `tally` is told the number of rows that match, before they are made.

    Examples
    --------
    >>> edges = {"x": np.array([0, 0, 1], np.int32), "y": np.array([1, 2, 2], np.int32)}
    >>> first = SparseTable(edges, np.ones(3, np.int64))
    >>> second = SparseTable({"y": edges["x"], "z": edges["y"]}, np.ones(3, np.int64))
    >>> paths = join(first, second, {"x"}, dict.fromkeys("xyz", 3), Room(1 << 20, "paths"))
    >>> paths.columns["x"].tolist(), paths.counts.tolist()
    ([0], [1])
    """
    probe, other = (left, right) if len(left) >= len(right) else (right, left)
    both = dict.fromkeys([*left.columns, *right.columns])
    names = [name for name in both if name in keep]
    matches = _Matches(probe, other, bounds, room)
    if tally is not None:
        tally(matches.total)
    if len(names) == len(both):
        return _whole(matches, names, bounds, matches.room)
    places = math.prod(max(bounds[name], 1) for name in names)
    rows, room = len(probe) + len(other), matches.room
    if places <= max(4 * matches.total, 1 << 10) and _ADDING * (rows + places) <= room.nbytes:
        return _added_by_place(matches, names, [bounds[name] for name in names])
    found = _sorted_sums(matches, names, [bounds[name] for name in names])
    return _summed(matches, names, bounds, room) if found is None else found


def join_all(
    tables: Sequence[SparseTable[N]],
    through: Collection[N],
    reduced: Callable[[SparseTable[N], Sequence[SparseTable[N]]], tuple[SparseTable[N], set[N]]],
    bounds: Mapping[N, int],
    room: Room,
    tally: Callable[[int], None] | None = None,
) -> SparseTable[N]:
    """Join tables two at a time: first those whose join should have the fewest rows.

    Parameters
    ----------
    tables
        At least one.
    through
        The columns that tables are connected by; tables that share none of them come last.
    reduced
        Given a table and those that it is not joined with next, returns it as it goes into the join
        and which of its columns are still needed after.
    bounds, room, tally
        As for `join`.
    """
    waiting = list(tables)
    while len(waiting) > 1:
        first, second = _nearest(waiting, through, bounds)
        others = [table for place, table in enumerate(waiting) if place not in (first, second)]
        left, kept = reduced(waiting[first], others)
        right, also = reduced(waiting[second], others)
        waiting = [join(left, right, kept | also, bounds, room, tally), *others]
    return waiting[0]


def _nearest(
    tables: Sequence[SparseTable[N]], through: Collection[N], bounds: Mapping[N, int]
) -> tuple[int, int]:
    """Return the two tables to join next; the first two where none are connected."""
    found = []
    for (first, left), (second, right) in combinations(enumerate(tables), 2):
        shared = [name for name in left.columns if name in through and name in right.columns]
        if shared:
            matching = math.prod(max(bounds[name], 1) for name in shared)
            found.append((len(left) * len(right) / matching, first, second))
    return min(found)[1:] if found else (0, 1)


class _Matches(Generic[N]):
    """Pairs of rows that agree on all shared columns, made in pieces."""

    def __init__(
        self, probe: SparseTable[N], other: SparseTable[N], bounds: Mapping[N, int], room: Room
    ) -> None:
        self.probe, self.other = probe, other
        shared = [name for name in probe.columns if name in other.columns]
        space = math.prod(max(bounds[name], 1) for name in shared)
        rows, wide = len(probe) + len(other), 0 if space < MOST_KEYS else 32 * len(shared)
        places = min(space, max(4 * len(other), 2 * len(probe), 1 << 12)) + 1
        taken = _PROBING * len(probe) + _INDEXING * len(other) + 16 * places + wide * rows
        self.room = room.taking(taken, rows)
        keys, index_keys = common_keys(
            [probe.columns[name] for name in shared] or [np.zeros(len(probe), np.int32)],
            [other.columns[name] for name in shared] or [np.zeros(len(other), np.int32)],
            [bounds[name] for name in shared] or [1],
        )
        self.index = Index(index_keys, space, len(probe))
        self.starts, self.lengths = self.index.ranges(keys)
        self.ends = np.cumsum(self.lengths)
        self.total = int(self.ends[-1]) if len(self.ends) else 0

    @property
    def order(self) -> Ints:
        """The order of the other table's rows; empty where it is their own."""
        return np.empty(0, np.int64) if self.index.order is None else self.index.order

    def places(self, names: Sequence[N], sizes: Sequence[int]) -> tuple[Ints, Ints]:
        """Return what each row of either table adds to the place of its matches in the answer."""
        first, second = np.zeros(len(self.probe), np.int64), np.zeros(len(self.other), np.int64)
        step = math.prod(max(size, 1) for size in sizes)
        for name, size in zip(names, sizes, strict=True):
            step //= max(size, 1)
            if name in self.probe.columns:
                first += self.probe.columns[name] * np.int64(step)
            else:
                second += self.other.columns[name] * np.int64(step)
        return first, second

    def pieces(self, names: Sequence[N], most: int) -> Iterator[tuple[slice, SparseTable[N]]]:
        """Yield joined rows, at most so many at a time, with their places in the whole join."""
        for start in range(0, self.total, most):
            stop = min(start + most, self.total)
            yield slice(start, stop), self._piece(names, start, stop)

    def _piece(self, names: Sequence[N], start: int, stop: int) -> SparseTable[N]:
        begin, end = np.searchsorted(self.ends, [start, stop - 1], side="right").tolist()
        rows = slice(begin, end + 1)
        starts, lengths = self.starts[rows].copy(), self.lengths[rows].copy()
        # the piece may begin and end in the middle of a row's matches
        lengths[-1] -= self.ends[end] - stop
        skipped = start - int(self.ends[begin] - self.lengths[begin])
        starts[0] += skipped
        lengths[0] -= skipped
        first = np.repeat(np.arange(rows.start, rows.stop), lengths)
        second = self.index.rows(starts, lengths)
        columns = {
            name: self.probe.columns[name][first]
            if name in self.probe.columns
            else self.other.columns[name][second]
            for name in names
        }
        return SparseTable(columns, times(self.probe.counts[first], self.other.counts[second]))


def _whole(
    matches: _Matches[N], names: Sequence[N], _: Mapping[N, int], room: Room
) -> SparseTable[N]:
    """Return all rows of a join, in place; how many there are is known before."""
    width = 4 * len(names) + 8
    room = room.taking(width * matches.total, matches.total)
    most = min(_CHUNK, max(matches.total, 1))
    most = max(min(most, room.nbytes // (_JOINING + width)), min(most, 1 << 12))
    room.taking(most * (_JOINING + width), matches.total)
    columns = {name: np.empty(matches.total, np.int32) for name in names}
    counts = np.empty(matches.total, np.int64)
    for place, piece in matches.pieces(names, most):
        counts[place] = piece.counts
        for name in names:
            columns[name][place] = piece.columns[name]
    return SparseTable(columns, counts)


def _added_by_place(
    matches: _Matches[N], names: Sequence[N], sizes: Sequence[int]
) -> SparseTable[N]:
    """Return a join with columns summed out, where the rows of the answer can be but few."""
    probe, other = matches.probe, matches.other
    sums = np.zeros(math.prod(max(size, 1) for size in sizes), np.int64)
    seen = np.zeros(len(sums), np.bool_)
    first, second = matches.places(names, sizes)
    order = matches.order
    left, right = (first, probe.counts), (second, other.counts)
    if not add_matches(sums, seen, left, right, matches.starts, matches.lengths, order):
        highest = [float(np.abs(table.counts).max()) for table in (probe, other)]
        raise overflow(highest[0] * highest[1] * matches.total)
    found = np.flatnonzero(seen)
    return SparseTable(dict(zip(names, unpack(found, sizes), strict=True)), sums[found])


def _sorted_sums(
    matches: _Matches[N], names: Sequence[N], sizes: Sequence[int]
) -> SparseTable[N] | None:
    """Return a join with columns summed out, each row of it one number; None where they do not fit.

    So the join is sorted at once, and what is in the same place of the answer is side by side.
    """
    probe, other, total = matches.probe, matches.other, matches.total
    rows, width = len(probe) + len(other), 4 * len(names) + 8
    if not total or _ADDING * rows + (_PACKED + width) * total > matches.room.nbytes:
        return None
    ends = [(int(table.counts.min()), int(table.counts.max())) for table in (probe, other)]
    products = [left * right for left in ends[0] for right in ends[1]]
    least, bits = min(products), bits_of_counts(min(products), max(products), total)
    if (math.prod(max(size, 1) for size in sizes) - 1).bit_length() + bits > 64:
        return None
    first, second = matches.places(names, sizes)
    together = np.empty(total, np.uint64)
    left, right = (first, probe.counts), (second, other.counts)
    matching = matches.starts, matches.lengths, matches.order
    pack_matches(together, np.uint64(bits), least, left, right, *matching)
    distinct, sums = sums_of_packed(together, bits, least)
    return SparseTable(dict(zip(names, unpack(distinct, sizes), strict=True)), sums)


def _summed(
    matches: _Matches[N], names: Sequence[N], bounds: Mapping[N, int], room: Room
) -> SparseTable[N]:
    """Return a join with columns summed out, piece by piece, so that only the answer need fit."""
    width, total = 4 * len(names) + 8, matches.total
    grouping = _GROUPING + _GROUPING_COLUMN * len(names)
    # of a row on its way: in the pieces, put together, summed
    merging = width + merging_bytes(len(names))
    most = min(_CHUNK, room.nbytes // (4 * (_JOINING + width + grouping)), max(total, 1))
    most = max(most, min(total, _CHUNK, 1 << 12), 1)
    room.taking(most * (_JOINING + width + grouping), min(most, total))
    merged: list[SparseTable[N]] = []
    for _, piece in matches.pieces(names, most):
        new = sum(map(len, merged[1:]))
        # merging only when the new rows outnumber the merged ones keeps the work linear
        if merged and (
            new > len(merged[0]) or merging * (len(merged[0]) + new + most) > room.nbytes
        ):
            merged = [_added(merged, names, bounds)]
            rows = len(merged[0]) + min(most, len(piece))
            room.taking(merging * rows, rows)
        merged.append(sum_out(piece, names, bounds))
    return _added(merged or [_nothing(names)], names, bounds)


def _added(
    tables: list[SparseTable[N]], names: Collection[N], bounds: Mapping[N, int]
) -> SparseTable[N]:
    if len(tables) == 1:
        return tables[0]
    together = SparseTable(
        {name: np.concatenate([table.columns[name] for table in tables]) for name in names},
        np.concatenate([table.counts for table in tables]),
    )
    return sum_out(together, names, bounds)


def _nothing(names: Collection[N]) -> SparseTable[N]:
    return SparseTable({name: np.empty(0, np.int32) for name in names}, np.empty(0, np.int64))
