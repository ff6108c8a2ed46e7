"""Blocks of mutually exclusive cells (places declared ``!``), as terms of a pseudo-likelihood.

Exactly one cell of a block is true, so that a block is one choice among its cells: the likelihood
of a block is that of its true cell under a softmax over all. Cells are grouped into rows by their
flip counts as those of other predicates are, and blocks into groups of those with the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mlnlearn.structure.search.newton import Floats
from mlnlearn.structure.search.rows import Cells, Numbers, Test, renumbered, split_rows, sums
from mlnlearn.weights.compress import mixed


@dataclass(frozen=True, slots=True)
class BlockRows:
    """A predicate's blocks, grouped by their cells' flip counts; a `Part` of a pseudo-likelihood.

    Attributes
    ----------
    features
        Numbers of the formulas that the predicate is in.
    counts
        Flip counts, one row a group of cells, one column a feature.
    true
        Weight of the true cells in each row.
    members
        The rows of a block's cells, one line a group of blocks; -1 where a block has fewer cells.
    weight
        Weight of the blocks in each group.

    Examples
    --------
    Two blocks of two cells; the feature counts 1 for the cell that is true in the first one only.

    >>> counts, true = np.array([[0.0], [1.0]]), np.array([0.5, 0.5])
    >>> rows = BlockRows(np.array([0]), counts, true, np.array([[0, 1]]), np.array([1.0]))
    >>> round(rows.likelihood(np.array([0.0])), 4), rows.derivatives(np.array([0.0]))[0].tolist()
    (-0.6931, [0.0])
    """

    features: Numbers
    counts: Floats
    true: Floats
    members: Numbers
    weight: Floats

    def likelihood(self, weights: Floats) -> float:
        """Return the blocks' share of the pseudo-log-likelihood."""
        scores, total = self.scores(weights)
        return float(self.true @ scores - self.weight @ total)

    def scores(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the score of the cells of each row, and the log of a block's summed exponents."""
        scores: Floats = self.counts @ weights[self.features]
        by_block = np.where(self.members >= 0, scores[self.members], -np.inf)
        highest = by_block.max(axis=1, initial=-np.inf)
        highest[np.isinf(highest)] = 0.0
        with np.errstate(divide="ignore"):
            total = highest + np.log(np.exp(by_block - highest[:, None]).sum(axis=1))
        return scores, total

    def derivatives(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the negated Hessian, over the blocks' own features."""
        scores, total = self.scores(weights)
        inside = self.members >= 0
        chance = np.exp(scores[self.members] - total[:, None])[inside]
        weight = np.repeat(self.weight, inside.sum(axis=1))
        expected = np.bincount(self.members[inside], weight * chance, len(scores))
        starts = np.append(0, np.cumsum(inside.sum(axis=1)))
        shape = (len(self.members), len(scores))
        means = csr_array((chance, self.members[inside], starts), shape=shape) @ self.counts
        gradient = self.counts.T @ (self.true - expected)
        spread = self.counts.T @ (expected[:, None] * self.counts)
        return gradient, spread - means.T @ (self.weight[:, None] * means)


@dataclass(frozen=True, slots=True)
class BlockTerm:
    """A predicate's cells in blocks, with their rows and groups.

    Attributes
    ----------
    cells
        The cells.
    blocks
        The cells of each block; -1 where it has fewer than others.
    rows
        Distinct rows and blocks.
    row_of
        The row of each cell.
    group_of
        The group of each block.
    """

    cells: Cells
    blocks: Numbers
    rows: BlockRows
    row_of: Numbers
    group_of: Numbers

    @classmethod
    def of(cls, cells: Cells, block_of: Numbers) -> BlockTerm:
        """Return the term with no features, from the number of each cell's block."""
        _, block, lengths = np.unique(block_of, return_inverse=True, return_counts=True)
        order = np.argsort(block, kind="stable")
        inside = np.arange(lengths.max(initial=1)) < lengths[:, None]
        blocks = np.full(inside.shape, -1, np.int64)
        blocks[inside] = order
        row_of = np.zeros(len(cells.true), np.int64)
        return _grouped(cells, blocks, np.empty(0, np.int64), np.empty((1, 0)), row_of)

    def seen(self, databases: NDArray[np.bool_]) -> BlockRows:
        """Return the rows with the weight of the cells of some databases only."""
        chosen = databases[self.cells.database]
        first = self.blocks[:, 0]
        weight = np.where(chosen[first], self.cells.total[first], 0.0)
        true = sums(self.row_of[chosen], self.cells.true[chosen], len(self.rows.counts))
        by_group = sums(self.group_of, weight, len(self.rows.weight))
        return replace(self.rows, true=true, weight=by_group)

    def split(self, number: int, values: Floats) -> BlockTerm:
        """Split the rows, and the groups, by the flip counts of one more feature."""
        counts, row_of = split_rows(self.rows.counts, self.row_of, values)
        features = np.append(self.rows.features, number)
        return _grouped(self.cells, self.blocks, features, counts, row_of)

    def only(self, place: Numbers) -> BlockTerm:
        """Return the term with its features renumbered, those without a new number dropped."""
        features, counts = renumbered(self.rows.features, self.rows.counts, place)
        return replace(self, rows=replace(self.rows, features=features, counts=counts))

    def test(self, weights: Floats) -> Test:
        """Return the score test for new features at some weights."""
        scores, total = self.rows.scores(weights)
        counts, blocks, cells = self.rows.counts, self.blocks, self.cells

        def tested(values: Floats) -> tuple[float, float, Floats]:
            slope, bend, by_row = _block_sums(
                values, cells.true, cells.total, blocks, self.row_of, self.group_of, scores, total
            )
            return slope, bend, counts.T @ by_row

        return tested


def _grouped(
    cells: Cells, blocks: Numbers, features: Numbers, counts: Floats, row_of: Numbers
) -> BlockTerm:
    """Put the blocks with the same rows together: sums of scrambled numbers tell them apart."""
    inside = blocks >= 0
    members = np.where(inside, row_of[blocks], -1)
    marks = np.where(inside, mixed(members.astype(np.uint64)), np.uint64(0)).sum(axis=1)
    _, first, group_of = np.unique(marks, return_index=True, return_inverse=True)
    group_of = group_of.reshape(-1)
    weight = sums(group_of, cells.total[blocks[:, 0]], len(first))
    true = sums(row_of, cells.true, len(counts))
    rows = BlockRows(features, counts, true, members[first], weight)
    return BlockTerm(cells, blocks, rows, row_of, group_of)


@njit(cache=True)
def _block_sums(values, true, weight, blocks, row_of, group_of, scores, total):  # type: ignore[no-untyped-def]
    """Return slope and curvature in a new weight, and how its counts vary with each row."""
    slope, bend = 0.0, 0.0
    by_row = np.zeros(len(scores))
    for block in range(len(blocks)):
        mean, square, size = 0.0, 0.0, 0
        for cell in blocks[block]:
            if cell < 0:
                break
            size += 1
            chance = np.exp(scores[row_of[cell]] - total[group_of[block]])
            slope += values[cell] * (true[cell] - weight[cell] * chance)
            mean += values[cell] * chance
            square += values[cell] * values[cell] * chance
        for place in range(size):
            cell = blocks[block, place]
            chance = np.exp(scores[row_of[cell]] - total[group_of[block]])
            by_row[row_of[cell]] += weight[cell] * chance * (values[cell] - mean)
        if size > 0:
            bend += weight[blocks[block, 0]] * (square - mean * mean)
    return slope, bend, by_row
