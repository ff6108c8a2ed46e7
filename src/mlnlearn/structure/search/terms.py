"""Terms of a grid: cells grouped into rows by their flip counts, split again for each new feature.

Where cells exclude each other, blocks of them with the same rows are grouped, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mlnlearn.compiled import njit
from mlnlearn.counting.arrays import expand_ranges
from mlnlearn.counting.signatures import mixed
from mlnlearn.weights.objective import Floats
from mlnlearn.weights.rows import Numbers, RowBlocks, Rows, by_row

Test = Callable[[Floats], tuple[float, float, Floats]]
"""From a new feature's counts on all cells: slope and curvature in its weight, and coupling."""

# a table of this many flags costs less than sorting
_TABLE = 1 << 22


@dataclass(frozen=True, slots=True)
class GridCells:
    """A predicate's ground atoms that take part: cells of a grid, numbered.

    Attributes
    ----------
    true, total
        The weight of each cell: where its atom is true (else 0), and in any case.
    database
        The number of its database.
    databases
        How many databases there are.
    blocks
        The cells of each block of exclusive ones, where there are such blocks.
    """

    true: Floats
    total: Floats
    database: Numbers
    databases: int
    blocks: RowBlocks | None = None


@dataclass(frozen=True, slots=True)
class GridTerm:
    """A predicate's cells with their rows.

    Attributes
    ----------
    cells
        The cells.
    whole
        Distinct rows, and groups of blocks, with weights by database.
    row_of
        The row of each cell.
    group_of
        The group of each block, where there are blocks.
    """

    cells: GridCells
    whole: Rows
    row_of: Numbers
    group_of: Numbers

    @classmethod
    def of(cls, cells: GridCells) -> GridTerm:
        """Return the term with no features: all cells are alike."""
        row_of = np.zeros(len(cells.true), np.int64)
        return _grouped(cells, np.empty(0, np.int64), np.empty((1, 0)), row_of)

    def split(self, number: int, values: Floats) -> GridTerm:
        """Split the rows by the flip counts of one more feature."""
        counts, row_of = _split_rows(self.whole.counts, self.row_of, values)
        return _grouped(self.cells, np.append(self.whole.features, number), counts, row_of)

    def only(self, place: Numbers) -> GridTerm:
        """Return the term with its features renumbered, those without a new number dropped."""
        return replace(self, whole=self.whole.only(place))

    def test(self, weights: Floats) -> Test:
        """Return the score test for new features at some weights."""
        cells, row_of, counts = self.cells, self.row_of, self.whole.counts
        scores = self.whole.scores(weights)
        norms = self.whole.norms(scores)
        if cells.blocks is None:
            chances = np.exp(scores - norms)
            spread = chances * (1.0 - chances)

            def tested(values: Floats) -> tuple[float, float, Floats]:
                found = row_sums(values, cells.true, cells.total, row_of, chances)
                return found[0], found[1], counts.T @ (spread * found[2])

            return tested
        members, starts = cells.blocks.members, np.append(cells.blocks.starts, len(row_of))
        norm_of = np.repeat(norms[self.group_of], np.diff(starts))
        chance_of = np.exp(scores[row_of[members]] - norm_of)

        def tested_in_blocks(values: Floats) -> tuple[float, float, Floats]:
            slope, bend, by_cell = _block_sums(
                values[members], cells.true[members], cells.total[members], starts, chance_of
            )
            coupling = np.bincount(row_of[members], by_cell, len(scores))
            return slope, bend, counts.T @ coupling

        return tested_in_blocks


def _grouped(cells: GridCells, features: Numbers, counts: Floats, row_of: Numbers) -> GridTerm:
    """Add up the cells of each row, and put the blocks with the same rows together."""
    shape = len(counts), cells.databases
    true = by_row(row_of, cells.database, cells.true, shape)
    if cells.blocks is None:
        total = by_row(row_of, cells.database, cells.total, shape)
        return GridTerm(cells, Rows(features, counts, true, total), row_of, np.empty(0, np.int64))
    members, starts = cells.blocks.members, cells.blocks.starts
    marks = mixed(row_of[members].astype(np.uint64))
    # sums of scrambled numbers tell sets of rows apart
    marks = np.add.reduceat(marks, starts) if len(starts) else marks
    _, first, group_of = np.unique(marks, return_index=True, return_inverse=True)
    group_of = group_of.reshape(-1)
    lengths = cells.blocks.lengths[first]
    chosen = members[expand_ranges(starts[first], lengths)]
    one = members[starts]
    shape = len(first), cells.databases
    total = by_row(group_of, cells.database[one], cells.total[one], shape)
    blocks = RowBlocks(row_of[chosen], np.cumsum(lengths) - lengths)
    return GridTerm(cells, Rows(features, counts, true, total, blocks), row_of, group_of)


def _split_rows(counts: Floats, row_of: Numbers, values: Floats) -> tuple[Floats, Numbers]:
    """Split rows by one more column: return their counts, and the new row of each cell."""
    distinct, rank = _ranked(values)
    keys = row_of * len(distinct) + rank
    size = len(counts) * len(distinct)
    kept, row_of = _numbered(keys, size, max(4 * len(keys), _TABLE))
    before, value = np.divmod(kept, max(len(distinct), 1))
    return np.column_stack([counts[before], distinct[value]]), row_of


def _ranked(values: Floats) -> tuple[Floats, Numbers]:
    """Return the distinct values, whole numbers, and the place of each value among them."""
    if not len(values):
        return np.empty(0), np.empty(0, np.int64)
    low = values.min()
    distinct, rank = _numbered((values - low).astype(np.int64), int(values.max() - low) + 1, _TABLE)
    return low + distinct, rank


def _numbered(keys: Numbers, size: int, most: int) -> tuple[Numbers, Numbers]:
    """Return the distinct keys below a size, and the place of each key among them."""
    if size > most:
        distinct, place = np.unique(keys, return_inverse=True)
        return distinct, place.reshape(-1)
    present = np.zeros(size, bool)
    present[keys] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]


@njit(cache=True)
def row_sums(values, true, total, row_of, chances):  # type: ignore[no-untyped-def]
    """Return slope and curvature in a new weight, and its counts summed by row."""
    slope, bend = 0.0, 0.0
    by_row = np.zeros(len(chances))
    for cell in range(len(values)):
        value = values[cell]
        if value != 0.0:
            row = row_of[cell]
            chance = chances[row]
            slope += value * (true[cell] - total[cell] * chance)
            bend += value * value * total[cell] * chance * (1.0 - chance)
            by_row[row] += total[cell] * value
    return slope, bend, by_row


@njit(cache=True)
def _block_sums(values, true, weight, starts, chances):  # type: ignore[no-untyped-def]
    """Return slope and curvature in a new weight, and how its counts vary with each cell."""
    slope, bend = 0.0, 0.0
    by_cell = np.zeros(len(values))
    for block in range(len(starts) - 1):
        mean, square = 0.0, 0.0
        for cell in range(starts[block], starts[block + 1]):
            slope += values[cell] * (true[cell] - weight[cell] * chances[cell])
            mean += values[cell] * chances[cell]
            square += values[cell] * values[cell] * chances[cell]
        for cell in range(starts[block], starts[block + 1]):
            by_cell[cell] = weight[cell] * chances[cell] * (values[cell] - mean)
        bend += weight[starts[block]] * (square - mean * mean)
    return slope, bend, by_cell
