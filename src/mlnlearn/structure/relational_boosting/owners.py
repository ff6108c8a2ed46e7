"""Rows that many examples look at by a link: sums over examples, once for each such row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.counting.relational import Link, Relational, RowSet


@dataclass(frozen=True, eq=False)
class Owners:
    """Rows that examples look at, with sums over the examples of each.

    Attributes
    ----------
    rows
        The rows: the examples themselves, or what a link of theirs points to.
    of_example
        The row of each example; None where they are the examples.
    gradients, curvatures, examples
        Sums over the examples of each row, and how many there are; the former once over all, and
        for each fold over all others, (rows, 1 + folds, outputs).
    """

    rows: RowSet
    of_example: Ints | None
    gradients: Floats
    curvatures: Floats
    examples: Floats

    def through(self, link: Link, view: Relational) -> Owners:
        """Return what a link of the examples points to."""
        there = view[link.to]
        to = np.where(link.codes < 0, there.rows, link.codes).astype(np.int64)
        entries = (np.ones(len(to)), (to, np.arange(len(to))))
        adding = csr_array(entries, shape=(there.rows + 1, len(to)))[: there.rows]
        return Owners(
            there,
            to,
            _added(adding, self.gradients),
            _added(adding, self.curvatures),
            np.asarray(adding.sum(axis=1)).reshape(-1),
        )

    def column_scores(self, matrix: csr_array) -> Floats:
        """Score all columns of a sparse matrix of rows at once, (1 + folds, columns)."""
        turned = csr_array(matrix.T)
        sums, weights = _added(turned, self.gradients), _added(turned, self.curvatures)
        whole, curved = self.gradients.sum(axis=0), self.curvatures.sum(axis=0)
        gains = sums**2 / (weights + 1.0) + (whole - sums) ** 2 / (curved - weights + 1.0)
        total: Floats = (gains - whole**2 / (curved + 1.0)).mean(axis=2)
        return total.T

    def told(self, matrix: csr_array) -> csr_array:
        """Return a matrix of rows as one of examples: what looks at nothing has no entries."""
        if self.of_example is None:
            return matrix
        empty = csr_array((1, matrix.shape[1]), dtype=matrix.dtype)
        return csr_array(vstack([matrix, empty], format="csr"))[self.of_example]


def by_fold(values: Floats, folds: Sequence[Ints]) -> Floats:
    """Return values of examples, and copies without those of each fold."""
    found = np.repeat(values[:, None], 1 + len(folds), axis=1)
    for number, fold in enumerate(folds):
        found[fold, 1 + number] = 0.0
    return found


def _added(matrix: csr_array, values: Floats) -> Floats:
    """Multiply a sparse matrix with values of more than one axis a row."""
    flat = matrix @ values.reshape(len(values), -1)
    return np.asarray(flat).reshape(matrix.shape[0], *values.shape[1:])


def of_examples(parts: list[tuple[Owners, csr_array]], chosen: Ints) -> csr_array:
    """Return the chosen columns of all parts, numbered through, with a row an example.

    What the same rows have is put together before it is said of examples, which are many.
    """
    by_owners: dict[Owners, list[csr_array]] = {}
    places: dict[Owners, list[Ints]] = {}
    start = 0
    for owners, matrix in parts:
        end = start + matrix.shape[1]
        own = np.flatnonzero((chosen >= start) & (chosen < end))
        by_owners.setdefault(owners, []).append(csr_array(matrix[:, chosen[own] - start]))
        places.setdefault(owners, []).append(own)
        start = end
    found = [owners.told(hstack(each, format="csr")) for owners, each in by_owners.items()]
    together = csr_array(hstack(found, format="csr"))
    order = np.concatenate([own for each in places.values() for own in each])
    entries = together.data, order[together.indices], together.indptr
    numbered = csr_array(entries, shape=together.shape)
    numbered.sort_indices()
    return numbered
