"""Rows of a grid: cells grouped by their flip counts, split again for each feature that joins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mlnlearn.structure.search.newton import Floats

Numbers = NDArray[np.int64]
Test = Callable[[Floats], tuple[float, float, Floats]]
"""From a new feature's counts on all cells: slope and curvature in its weight, and coupling."""

# a table of this many flags costs less than sorting
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class Cells:
    """A predicate's ground atoms that take part: cells of a grid, numbered.

    Attributes
    ----------
    true, total
        The weight of each cell: where its atom is true (else 0), and in any case.
    database
        The number of its database.
    """

    true: Floats
    total: Floats
    database: Numbers


@dataclass(frozen=True, slots=True)
class Rows:
    """A predicate's atoms, grouped by their flip counts; a `Part` of a pseudo-likelihood.

    Attributes
    ----------
    features
        Numbers of the formulas that the predicate is in.
    counts
        Flip counts, one row a group of atoms, one column a feature.
    true, total
        Weight of the true atoms and of all atoms in each group.
    """

    features: Numbers
    counts: Floats | csr_array
    true: Floats
    total: Floats

    def likelihood(self, weights: Floats) -> float:
        """Return the rows' share of the pseudo-log-likelihood."""
        odds = self.counts @ weights[self.features]
        return float(self.true @ odds - self.total @ np.logaddexp(0.0, odds))

    def derivatives(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the negated Hessian, over the rows' own features."""
        probability = self.probability(weights)
        spread = self.total * probability * (1.0 - probability)
        gradient = self.counts.T @ (self.true - self.total * probability)
        if isinstance(self.counts, csr_array):
            return gradient, (self.counts.T @ self.counts.multiply(spread[:, None])).toarray()
        return gradient, self.counts.T @ (spread[:, None] * self.counts)

    def probability(self, weights: Floats) -> Floats:
        """Return the conditional probability of the atoms in each group."""
        result: Floats = 0.5 * (1.0 + np.tanh(0.5 * (self.counts @ weights[self.features])))
        return result


@dataclass(frozen=True, slots=True)
class Term:
    """A predicate's cells, their rows, and the row of each cell."""

    cells: Cells
    rows: Rows
    row_of: Numbers

    @classmethod
    def of(cls, cells: Cells) -> Term:
        """Return the term with no features: all cells are alike."""
        sums = np.array([cells.true.sum()]), np.array([cells.total.sum()])
        whole = Rows(np.empty(0, np.int64), np.empty((1, 0)), *sums)
        return cls(cells, whole, np.zeros(len(cells.true), np.int64))

    def seen(self, databases: NDArray[np.bool_]) -> Rows:
        """Return the rows with the weight of the cells of some databases only."""
        chosen = databases[self.cells.database]
        rows, number = self.row_of[chosen], len(self.rows.true)
        true, total = (
            sums(rows, part[chosen], number) for part in (self.cells.true, self.cells.total)
        )
        return replace(self.rows, true=true, total=total)

    def split(self, number: int, values: Floats) -> Term:
        """Split the rows by the flip counts of one more feature."""
        counts, row_of = split_rows(self.rows.counts, self.row_of, values)
        true, total = (
            sums(row_of, part, len(counts)) for part in (self.cells.true, self.cells.total)
        )
        rows = Rows(np.append(self.rows.features, number), counts, true, total)
        return Term(self.cells, rows, row_of)

    def only(self, place: Numbers) -> Term:
        """Return the term with its features renumbered, those without a new number dropped."""
        features, counts = renumbered(self.rows.features, self.rows.counts, place)
        return replace(self, rows=replace(self.rows, features=features, counts=counts))

    def test(self, weights: Floats) -> Test:
        """Return the score test for new features at some weights."""
        probability = self.rows.probability(weights)
        spread = probability * (1.0 - probability)
        cells, row_of, counts = self.cells, self.row_of, self.rows.counts

        def tested(values: Floats) -> tuple[float, float, Floats]:
            slope, bend, by_row = _row_sums(values, cells.true, cells.total, row_of, probability)
            return slope, bend, counts.T @ (spread * by_row)

        return tested


def renumbered(features: Numbers, counts: Any, place: Numbers) -> tuple[Numbers, Any]:
    """Return new numbers and counts of those features that have a new number, not -1."""
    stay = place[features] >= 0
    return place[features[stay]], counts[:, stay]


def split_rows(counts: Floats, row_of: Numbers, values: Floats) -> tuple[Floats, Numbers]:
    """Split rows by one more column: return their counts, and the new row of each cell."""
    distinct, rank = _ranked(values)
    old = len(counts)
    keys = row_of * len(distinct) + rank
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
    return np.column_stack([counts[before], distinct[value]]), row_of


def sums(rows: Numbers, weights: Floats, number: int) -> Floats:
    """Add up weights by row."""
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
def _row_sums(values, true, total, row_of, probability):  # type: ignore[no-untyped-def]
    """Return slope and curvature in a new weight, and its counts summed by row."""
    slope, bend = 0.0, 0.0
    by_row = np.zeros(len(probability))
    for cell in range(len(values)):
        value = values[cell]
        if value != 0.0:
            row = row_of[cell]
            chance = probability[row]
            slope += value * (true[cell] - total[cell] * chance)
            bend += value * value * total[cell] * chance * (1.0 - chance)
            by_row[row] += total[cell] * value
    return slope, bend, by_row
