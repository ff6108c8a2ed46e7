"""Rows of a grid: cells grouped by their flip counts, split again for each feature that joins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mlnlearn.structure.search.newton import Floats, Rows

Numbers = NDArray[np.int64]

# a table of this many flags costs less than sorting
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class Term:
    """A predicate's rows, and the row of each live cell."""

    rows: Rows
    row_of: Numbers


def reweighted(term: Term, weights: tuple[Floats, Floats], chosen: NDArray[np.bool_]) -> Rows:
    """Return a term's rows with the weight of some cells only."""
    rows, number = term.row_of[chosen], len(term.rows.counts)
    true, total = (_sums(rows, part[chosen], number) for part in weights)
    return Rows(term.rows.features, term.rows.counts, true, total)


def split(term: Term, number: int, values: Floats, true: Floats, total: Floats) -> Term:
    """Split a predicate's rows by the flip counts of one more feature."""
    distinct, rank = _ranked(values)
    old = len(term.rows.counts)
    keys = term.row_of * len(distinct) + rank
    if old * len(distinct) <= max(4 * len(keys), _BLOCK):
        present = np.zeros(old * len(distinct), bool)
        present[keys] = True
        found = np.flatnonzero(present)
        place = np.cumsum(present) - 1
        row_of = place[keys]
    else:
        found, row_of = np.unique(keys, return_inverse=True)
        row_of = row_of.reshape(-1)
    before, value = np.divmod(found, max(len(distinct), 1))
    rows = Rows(
        np.append(term.rows.features, number),
        np.column_stack([term.rows.counts[before], distinct[value]]),
        _sums(row_of, true, len(found)),
        _sums(row_of, total, len(found)),
    )
    return Term(rows, row_of)


def _sums(rows: Numbers, weights: Floats, number: int) -> Floats:
    return np.bincount(rows, weights, number).astype(np.float64)


def _ranked(values: Floats) -> tuple[Floats, Numbers]:
    """Return the distinct values, and the place of each value among them."""
    if not len(values):
        return np.empty(0), np.empty(0, np.int64)
    low = values.min()
    span = int(values.max() - low) + 1
    if span > _BLOCK:
        distinct, rank = np.unique(values, return_inverse=True)
        return distinct, rank.reshape(-1)
    shifted = (values - low).astype(np.int64)
    present = np.zeros(span, bool)
    present[shifted] = True
    return low + np.flatnonzero(present), (np.cumsum(present) - 1)[shifted]


@njit(cache=True)
def row_sums(values, true, total, row_of, probability):  # type: ignore[no-untyped-def]
    """Return slope and curvature in a new weight, and its counts summed by row."""
    slope, bend = 0.0, 0.0
    sums = np.zeros(len(probability))
    for cell in range(len(values)):
        value = values[cell]
        if value != 0.0:
            row = row_of[cell]
            chance = probability[row]
            slope += value * (true[cell] - total[cell] * chance)
            bend += value * value * total[cell] * chance * (1.0 - chance)
            sums[row] += total[cell] * value
    return slope, bend, sums
