"""Groundings of which all rules say the same, together: what a pseudo-likelihood is summed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_matrix, vstack

from mlnlearn.compiled import njit
from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.equal_rows import equal_rows, scrambled
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.weights.rows import RowBlocks, Rows

Floats = NDArray[np.float64]

_PIECE = 1 << 12  # groups


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """What all rules say about an attribute, once for all groundings that they do not tell apart.

    Attributes
    ----------
    node
        The attribute.
    matrix
        Sparse; a row for each (group of groundings, value), a column for each rule: how many
        groundings of the rule would hold.
    true
        How many of a group have each value; shape ``(groups, values)``.
    groundings
        How many there are in each group, those of unknown value among them.
    """

    node: NetNode
    matrix: csr_matrix
    true: Ints
    groundings: Ints

    @classmethod
    def of(cls, node: NetNode, matrix: csr_matrix, truth: Codes, group: Ints) -> FeatureRows:
        """Return the features of groups, given the value and the group of each grounding."""
        groups, size = matrix.shape[0] // node.size, node.size
        known = truth < size
        keys = group[known] * size + truth[known]
        true = np.bincount(keys, minlength=groups * size).reshape(-1, size)
        return cls(node, matrix, true, np.bincount(group, minlength=groups)).reduced()

    @classmethod
    def together(cls, parts: Sequence[FeatureRows]) -> FeatureRows:
        """Return the groups of several parts of the data as those of all of it."""
        matrix = csr_matrix(vstack([part.matrix for part in parts], format="csr"))
        true = np.concatenate([part.true for part in parts])
        groundings = np.concatenate([part.groundings for part in parts])
        return cls(parts[0].node, matrix, true, groundings).reduced()

    def reduced(self) -> FeatureRows:
        """Return groups of which no two have the same features."""
        place, first = self._alike()
        true = np.zeros((len(first), self.node.size), np.int64)
        np.add.at(true, place, self.true)
        groundings = np.zeros(len(first), np.int64)
        np.add.at(groundings, place, self.groundings)
        size = self.node.size
        chosen = self.matrix[(first[:, None] * size + np.arange(size)).reshape(-1)]
        return FeatureRows(self.node, chosen, true, groundings)

    def _alike(self) -> tuple[Ints, Ints]:
        """Return the group of each grounding, and the first grounding of each.

        Rows are compared by their products with a random vector: equal rows have equal products,
        different ones practically never. The groups' order depends on these alone.
        """
        rng = np.random.default_rng(0)
        marks = (self.matrix @ rng.normal(size=self.matrix.shape[1])).reshape(-1, self.node.size)
        place, first = equal_rows(np.ascontiguousarray(marks).view(np.int64))
        order = np.lexsort(marks[first].T[::-1])
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return rank[place], first[order]

    def scaled(self, scale: Floats) -> FeatureRows:
        """Return the features with each rule's counts divided by a number, where that is not 0."""
        factors = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        return replace(self, matrix=self.matrix.multiply(factors[None, :]).tocsr())

    def pieces(self) -> Iterator[FeatureRows]:
        """Yield the groups, so many at a time that threads can share them out."""
        size = self.node.size
        for start in range(0, len(self.true), _PIECE):
            chosen = slice(start, start + _PIECE)
            matrix = self.matrix[start * size : (start + _PIECE) * size]
            yield FeatureRows(self.node, matrix, self.true[chosen], self.groundings[chosen])

    def rows(self, share: float = 1.0) -> Rows:
        """Return the choices among values, each counted `share` times."""
        features = np.flatnonzero(self.matrix.getnnz(axis=0))
        # the first value of an attribute of links is N/A, and not among the choices
        first = int(self.node.relationship is not None)
        members = np.arange(self.true.size).reshape(self.true.shape)[:, first:]
        blocks = RowBlocks(members.reshape(-1), np.arange(len(members)) * members.shape[1])
        true: Floats = self.true * np.float64(share)
        counts = csc_array(self.matrix[:, features])
        return Rows(features, counts, true.reshape(-1), true.sum(axis=1), blocks)


def typical_counts(features: Sequence[FeatureRows]) -> Floats:
    """Return the root mean square of each rule's counts where it holds at all; 0 where never."""
    rules = features[0].matrix.shape[1]
    squares, entries = np.zeros(rules), np.zeros(rules)
    for part in features:
        times = np.repeat(part.groundings, part.node.size)
        times = np.repeat(times, np.diff(part.matrix.indptr)).astype(np.float64)
        squares += np.bincount(part.matrix.indices, times * part.matrix.data**2, rules)
        entries += np.bincount(part.matrix.indices, times, rules)
    return np.sqrt(squares / np.maximum(entries, 1.0))


def add_marks(marks: Ints, groundings: Ints, columns: Sequence[Codes], counts: Ints) -> None:
    """Add a number to each grounding's mark that tells which rows of counts it has.

    It is the sum of counts times random numbers, one for each combination of values, modulo 2^64:
    the same for the same counts, and for others practically never.
    """
    codes = np.stack(columns, axis=1) if columns else np.empty((len(counts), 0), np.int32)
    _add_marks(marks, groundings, codes, counts)


@njit(cache=True, nogil=True)
def _add_marks(marks, groundings, codes, counts):  # type: ignore[no-untyped-def]
    for row in range(len(groundings)):
        code = np.uint64(1)
        for place in range(codes.shape[1]):
            code = scrambled(code ^ np.uint64(codes[row, place]))
        marks[groundings[row]] += np.int64(scrambled(code) * np.uint64(counts[row]))
