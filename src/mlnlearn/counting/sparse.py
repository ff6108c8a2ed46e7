"""Sparse tables: named columns of codes with a count a row; joined and summed over packed keys."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np

from mlnlearn.counting.arrays import Codes, Index, Ints, common_keys, group_sums, times
from mlnlearn.errors import MemoryLimitError

N = TypeVar("N", bound=Hashable)

_CHUNK = 1 << 22
# Bytes a row that grouping needs beside the row itself: keys, their order, sorted copies.
_SORTING = 40


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


@dataclass(frozen=True, slots=True)
class Room:
    """What a table may take.

    Attributes
    ----------
    nbytes
        Bytes that making a single table may take.
    purpose
        What it is for, as the error says it.
    """

    nbytes: int
    purpose: str

    def bytes_for(self, rows: int, columns: int) -> int:
        """Return the bytes that making a table takes."""
        return rows * (4 * columns + 8 + _SORTING)

    def check(self, rows: int, columns: int) -> None:
        """Refuse a table that would not fit."""
        size = self.bytes_for(rows, columns)
        if size > self.nbytes:
            raise MemoryLimitError(
                f"{self.purpose} needs room for {rows:,} rows, {size / 2**20:,.0f} MB; "
                f"the limit is {self.nbytes / 2**20:,.0f} MB",
                hint="raise memory_limit, use the DuckDB engine, or drop the formula",
            )


def sum_out(table: SparseTable[N], keep: Collection[N], bounds: Mapping[N, int]) -> SparseTable[N]:
    """Sum the counts over all columns but some; the rows of the answer are distinct and in order.

    Parameters
    ----------
    table
        The table.
    keep
        The columns of the answer (others that the table does not have are ignored).
    bounds
        For each column, a number that is larger than its codes.

    Examples
    --------
    >>> codes = np.array([0, 0, 1], np.int32)
    >>> table = SparseTable({"x": codes, "y": np.arange(3, dtype=np.int32)}, np.full(3, 2))
    >>> sum_out(table, {"x"}, {"x": 2, "y": 3}).counts.tolist()
    [4, 2]
    """
    kept = [name for name in table.columns if name in keep]
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
) -> SparseTable[N]:
    """Join two tables on all shared columns, multiply counts, and sum out all columns but `keep`.

    The join is made in pieces that are summed at once, so that a large join with a small answer
    takes little memory.

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
    shared = [name for name in probe.columns if name in other.columns]
    keys, index_keys = common_keys(
        [probe.columns[name] for name in shared] or [np.zeros(len(probe), np.int32)],
        [other.columns[name] for name in shared] or [np.zeros(len(other), np.int32)],
        [bounds[name] for name in shared] or [1],
    )
    space = math.prod(max(bounds[name], 1) for name in shared)
    index = Index(index_keys, space)
    starts, lengths = index.ranges(keys)
    both = dict.fromkeys([*left.columns, *right.columns])
    names = [name for name in both if name in keep]
    whole = len(names) == len(both)
    total = int(lengths.sum())
    if whole:
        room.check(total, len(names))
    merged: list[SparseTable[N]] = []
    for rows in _row_chunks(lengths, total):
        first = np.repeat(np.arange(rows.start, rows.stop), lengths[rows])
        second = index.rows(starts[rows], lengths[rows])
        columns = {
            name: probe.columns[name][first]
            if name in probe.columns
            else other.columns[name][second]
            for name in names
        }
        piece = SparseTable(columns, times(probe.counts[first], other.counts[second]))
        merged.append(piece if whole else sum_out(piece, names, bounds))
        # merging only when the new rows outnumber the merged ones keeps the work linear, and a
        # table past half the limit could not be merged with as many rows again within it
        new = sum(map(len, merged[1:]))
        if new > len(merged[0]) or room.bytes_for(2 * new, len(names)) > room.nbytes:
            merged = [_added(merged, names, bounds, whole)]
            room.check(2 * len(merged[0]), len(names))
    return _added(merged, names, bounds, whole)


def _added(
    tables: list[SparseTable[N]], names: Collection[N], bounds: Mapping[N, int], whole: bool
) -> SparseTable[N]:
    if len(tables) == 1:
        return tables[0]
    together = SparseTable(
        {name: np.concatenate([table.columns[name] for table in tables]) for name in names},
        np.concatenate([table.counts for table in tables]),
    )
    return together if whole else sum_out(together, names, bounds)


def _row_chunks(lengths: Ints, total: int) -> Iterable[slice]:
    """Cut the probe side so that no piece of the join has many more rows than a chunk."""
    if total <= _CHUNK:
        return [slice(0, len(lengths))]
    ends = np.cumsum(lengths)
    cuts = np.searchsorted(ends, np.arange(_CHUNK, total, _CHUNK), side="left") + 1
    edges = np.unique(np.concatenate([[0], cuts, [len(lengths)]]))
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]
