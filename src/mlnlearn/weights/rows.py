"""Rows of flip counts: what a pseudo-likelihood is summed over, with value, gradient and Hessian.

Atoms with the same flip counts have the same conditional probability, and are one row with the
weight of those that are true and of all. A predicate's own conditionals are logistic; where it has
exclusive places (declared ``!``), exactly one atom of a block is true, and a block is one choice
among its rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from mlnlearn.threads import in_shares
from mlnlearn.weights.choice_kernels import choice_slope
from mlnlearn.weights.objective import Floats

Numbers = NDArray[np.int64]

_DENSE_LIMIT = 1 << 22
_SHARED = 1 << 16  # fewer numbers cost less than to share them out among threads


@dataclass(frozen=True, slots=True)
class RowBlocks:
    """Choices among rows.

    Attributes
    ----------
    members
        The rows of each block's atoms, one block after the other.
    starts
        Where each block starts in them; none is empty.
    """

    members: Numbers
    starts: Numbers

    @property
    def lengths(self) -> Numbers:
        """How many atoms each block has."""
        return np.diff(np.append(self.starts, len(self.members)))


@dataclass(frozen=True, slots=True)
class Rows:
    """A predicate's atoms, grouped by their flip counts: its share of a pseudo-log-likelihood.

    Attributes
    ----------
    features
        The numbers of the features: of the weights that the rows depend on.
    counts
        Flip counts, one row a group of atoms, one column a feature. Where they are sparse and atoms
        exclude each other, they are kept by columns.
    true
        Weight of the true atoms of each row; with a second axis, by database.
    total
        Weight of all atoms of each row, or of each block; with a second axis, by database.
    blocks
        The choices among rows, where atoms exclude each other.

    Examples
    --------
    One atom in four is true.

    >>> ones = np.ones((1, 1))
    >>> rows = Rows(np.array([0]), ones, np.array([0.25]), np.array([1.0]))
    >>> round(rows.value(np.zeros(1)), 4), rows.derivatives(np.zeros(1))[0].tolist()
    (-0.6931, [-0.25])

    Two blocks of two atoms; the feature counts 1 for the one that is true in the first one only.

    >>> counts, true = np.array([[0.0], [1.0]]), np.array([0.5, 0.5])
    >>> choices = RowBlocks(np.array([0, 1]), np.array([0]))
    >>> rows = Rows(np.array([0]), counts, true, np.array([1.0]), choices)
    >>> round(rows.value(np.zeros(1)), 4), rows.derivatives(np.zeros(1))[0].tolist()
    (-0.6931, [0.0])
    """

    features: Numbers
    counts: Floats | csr_array | csc_array
    true: Floats
    total: Floats
    blocks: RowBlocks | None = None

    def __post_init__(self) -> None:
        if self.blocks is not None and isinstance(self.counts, csr_array):
            object.__setattr__(self, "counts", csc_array(self.counts))

    @property
    def entries(self) -> int:
        """How many numbers the counts are."""
        return int(self.counts.size)

    def weighed(self, databases: Floats | NDArray[np.bool_]) -> Rows:
        """Return the rows with their weights by database added up, each database by its share."""
        return replace(self, true=self.true @ databases, total=self.total @ databases)

    def only(self, place: Numbers) -> Rows:
        """Return the rows with their features renumbered, those of the new number -1 dropped."""
        stay = place[self.features] >= 0
        return replace(self, features=place[self.features[stay]], counts=self.counts[:, stay])

    def value(self, weights: Floats) -> float:
        """Return the log-likelihood of the rows."""
        scores = self.scores(weights)
        return float(self.true @ scores - self.total @ self.norms(scores))

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the value, and the gradient over the rows' own features."""
        if self.blocks is not None and isinstance(self.counts, csc_array):
            table = self.counts.indptr, self.counts.indices, self.counts.data
            choices = self.blocks.members, self.blocks.starts
            return choice_slope(weights[self.features], table, self.true, self.total, choices)
        scores = self.scores(weights)
        norms = self.norms(scores)
        value = float(self.true @ scores - self.total @ norms)
        return value, self.counts.T @ (self.true - self._expected(scores, norms)[0])

    def derivatives(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the negated Hessian, over the rows' own features."""
        scores = self.scores(weights)
        expected, chances = self._expected(scores, self.norms(scores))
        gradient = self.counts.T @ (self.true - expected)
        if self.blocks is None:
            return gradient, _squared(self.counts, expected * (1.0 - chances))
        starts = np.append(self.blocks.starts, len(chances))
        shape = len(self.total), len(self.true)
        means = csr_array((chances, self.blocks.members, starts), shape=shape) @ self.counts
        return gradient, _squared(self.counts, expected) - _squared(means, self.total)

    def scores(self, weights: Floats) -> Floats:
        """Return the score of each row: its atoms' log-odds, or up to a constant in a block."""
        scores: Floats = self.counts @ weights[self.features]
        return scores

    def norms(self, scores: Floats) -> Floats:
        """Return the logarithm of the sum of the exponents of what each row, or block, may be."""
        if self.blocks is None:
            return np.logaddexp(0.0, scores)
        by_member, starts = scores[self.blocks.members], self.blocks.starts
        if not len(starts):
            return np.empty(0)
        highest = np.maximum.reduceat(by_member, starts)
        raised = np.exp(by_member - np.repeat(highest, self.blocks.lengths))
        return highest + np.log(np.add.reduceat(raised, starts))

    def _expected(self, scores: Floats, norms: Floats) -> tuple[Floats, Floats]:
        """Return the expected weight of each row, and the chance of each row or block member."""
        if self.blocks is None:
            chances = np.exp(scores - norms)
            return self.total * chances, chances
        lengths, members = self.blocks.lengths, self.blocks.members
        chances = np.exp(scores[members] - np.repeat(norms, lengths))
        weight = np.repeat(self.total, lengths) * chances
        return np.bincount(members, weight, len(scores)).astype(np.float64), chances


def by_row(
    rows: NDArray[np.integer],
    database: NDArray[np.integer],
    weights: NDArray[np.number],
    shape: tuple[int, int],
) -> Floats:
    """Add up weights by row and database."""
    places = rows if shape[1] == 1 else rows * np.int64(shape[1]) + database
    found = np.bincount(places, weights, shape[0] * shape[1])
    return found.astype(np.float64, copy=False).reshape(shape)


def is_handy(rows: int, columns: int) -> bool:
    """Say whether a matrix is small enough for the dense form, in which products are faster."""
    return rows * columns <= _DENSE_LIMIT


def _squared(counts: Floats | csr_array | csc_array, weights: Floats) -> Floats:
    """Return ``counts' diag(weights) counts``."""
    if not isinstance(counts, np.ndarray):
        dense: Floats = (counts.T @ counts.multiply(weights[:, None])).toarray()
        return dense
    squared: Floats = counts.T @ (weights[:, None] * counts)
    return squared


@dataclass(frozen=True, slots=True)
class RowLikelihood:
    """The sum of several predicates' rows; a `Curved` objective."""

    rows: Collection[Rows]

    def value(self, weights: Floats) -> float:
        """Return the log-likelihood."""
        return sum(part.value(weights) for part in self.rows)

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the value and the gradient."""
        total, gradient = 0.0, np.zeros(len(weights))
        parts = list(self.rows)
        sizes = [part.entries for part in parts]
        if sum(sizes) > _SHARED:
            found = in_shares(lambda part: part(weights), parts, sizes)
        else:
            found = [part(weights) for part in parts]
        for part, (value, slope) in zip(parts, found, strict=True):
            total += value
            gradient[part.features] += slope
        return total, gradient

    def derivatives(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the negated Hessian."""
        gradient, hessian = np.zeros(len(weights)), np.zeros((len(weights), len(weights)))
        for part in self.rows:
            slope, bend = part.derivatives(weights)
            gradient[part.features] += slope
            hessian[part.features[:, None], part.features] += bend
        return gradient, hessian
