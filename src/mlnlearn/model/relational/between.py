"""Paths that connect two links of a row, counted by products of sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.counting.relational import NAME, Link, Nominal, Number, Relational, RowSet
from mlnlearn.errors import InputError
from mlnlearn.late import late
from mlnlearn.model.relational.features import Between, Hop

if TYPE_CHECKING:
    from scipy.sparse import csr_array

sparse = late("scipy.sparse")

_CHUNK = 1 << 16
_DENSE = 1 << 22  # a product of so many entries is made as a whole
_TINY = 64  # places: arrays of so many are multiplied faster than their entries are listed
_KEPT = 1 << 23  # entries of matrices that are kept


def place_codes(view: Relational, rows: RowSet, columns: Sequence[str]) -> tuple[Ints, int]:
    """Return what the named columns of each row point to, as one number, and how many there are.

    The column of names stands for the row itself. Links to one row set have the same numbers
    everywhere, as have columns with the same names.
    """
    total, size = np.zeros(rows.rows, np.int64), 1
    for name in columns:
        codes, many = _codes(view, rows, name)
        total = np.where((codes < 0) | (total < 0), -1, total * many + codes)
        size *= many
    return total, size


def _codes(view: Relational, rows: RowSet, name: str) -> tuple[NDArray[np.integer], int]:
    column = rows.columns.get(name)
    if name == NAME:
        return np.arange(rows.rows), rows.rows
    if isinstance(column, Link):
        return column.codes, view[column.to].rows
    if isinstance(column, Nominal):
        return column.codes, len(column.names)
    if isinstance(column, Number) or column is None:
        raise InputError(
            f"{rows.name!r} has no link {name!r}", hint="give data of the model's schema"
        )
    raise AssertionError


def hop_matrix(view: Relational, hop: Hop) -> csr_array:
    """Return how many rows lead from one place to another."""
    if hop.rows not in view.row_sets:
        raise InputError(f"the data have no rows of {hop.rows!r}")
    rows = view[hop.rows]
    enter, sources = place_codes(view, rows, hop.enter)
    leave, goals = place_codes(view, rows, hop.leave)
    known = (enter >= 0) & (leave >= 0)
    entries = (np.ones(int(known.sum())), (enter[known], leave[known]))
    matrix = sparse.csr_array(entries, shape=(sources, goals))
    matrix.sum_duplicates()
    return matrix


@dataclass(eq=False)
class HopMatrices:
    """The matrices of hops of some data, each made once as long as there is room.

    Attributes
    ----------
    view
        The data.
    like, but
        The matrices of other data that differ from these in one row set alone, and its name.
    """

    view: Relational
    like: HopMatrices | None = None
    but: str = ""
    _made: dict[tuple[Hop, ...], csr_array] = field(default_factory=dict)
    _entries: int = 0
    _ends: dict[tuple[RowSet, str], Ints] = field(default_factory=dict)

    def __getitem__(self, hop: Hop) -> csr_array:
        return self.product((hop,))

    def product(self, hops: tuple[Hop, ...]) -> csr_array:
        """Return how many ways lead from one place to another by some hops."""
        if self.like is not None and all(hop.rows != self.but for hop in hops):
            return self.like.product(hops)
        found = self._made.get(hops)
        if found is None:
            found = (
                hop_matrix(self.view, hops[0])
                if len(hops) == 1
                else self.product(hops[:-1]) @ self[hops[-1]]
            )
            if self._entries + found.nnz <= _KEPT:
                self._made[hops] = found
                self._entries += found.nnz
        return found

    def ends(self, base: RowSet, link: str) -> Ints:
        """Return what a link of the rows of a base points to."""
        if self.like is not None:
            return self.like.ends(base, link)
        if (base, link) not in self._ends:
            self._ends[base, link] = place_codes(self.view, base, (link,))[0]
        return self._ends[base, link]


def paths_between(
    hops: HopMatrices, base: RowSet, feature: Between, rows: NDArray[np.integer] | None = None
) -> Floats:
    """Return the number of paths for rows of a base (by default all), 0 where a link is empty."""
    chosen = slice(None) if rows is None else rows
    start, end = hops.ends(base, feature.start)[chosen], hops.ends(base, feature.end)[chosen]
    known = (start >= 0) & (end >= 0)
    if not feature.hops:
        return np.asarray(known & (start == end), np.float64)
    matrices = [hops[hop] for hop in feature.hops]
    if matrices[0].shape[0] * matrices[-1].shape[1] > _DENSE:
        return _counted(matrices, start, end, known)
    if all(max(matrix.shape) <= _TINY for matrix in matrices):
        whole = reduce(np.matmul, [matrix.toarray() for matrix in matrices])
    else:
        whole = hops.product(feature.hops).toarray()
    if not whole.size:
        return np.zeros(len(start))
    if known.all():
        return np.asarray(whole.reshape(-1)[start * np.int64(whole.shape[1]) + end])
    return np.where(known, whole[np.where(known, start, 0), np.where(known, end, 0)], 0.0)


def _counted(
    matrices: Sequence[csr_array], start: Ints, end: Ints, known: NDArray[np.bool_]
) -> Floats:
    """Return entries of a product of matrices, without making the product itself."""
    middle = (len(matrices) + 1) // 2
    left = _product(matrices[:middle])
    across = sparse.csr_array(_product(matrices[middle:]).T) if middle < len(matrices) else None
    found = np.zeros(len(start))
    rows = np.flatnonzero(known)
    for at in range(0, len(rows), _CHUNK):
        part = rows[at : at + _CHUNK]
        here = left[start[part]]
        if across is None:
            found[part] = _entries(here, end[part])
        else:
            found[part] = np.asarray(here.multiply(across[end[part]]).sum(axis=1)).reshape(-1)
    return found


def _product(matrices: Sequence[csr_array]) -> csr_array:
    found = matrices[0]
    for matrix in matrices[1:]:
        found = sparse.csr_array(found @ matrix)
    return found


def _entries(matrix: csr_array, columns: Ints) -> Floats:
    """Return one entry of each row."""
    size = matrix.shape[1]
    picked = sparse.csr_array(
        (np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), size)
    )
    return np.asarray(matrix.multiply(picked).sum(axis=1)).reshape(-1)
