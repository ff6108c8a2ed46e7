"""Grow a tree on binned features: the best split first, by sums over the examples of nodes.

How a split is scored is left to a search: one tree serves all classes (`splits`), or its leaves
have a value for each name of an axis (`name_grow`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.structure.relational_boosting.histograms import Binned

AS_GOOD = 1e-9
"""Of what a node gains: by how much more the second of two tests must gain to be taken."""


@dataclass(frozen=True)
class GrowSettings:
    """How a tree is grown.

    Attributes
    ----------
    max_leaves
        Most leaves.
    min_examples
        Fewest examples of a leaf.
    ridge
        Examples' worth of a doubt that each leaf's value is shrunk by.
    caution
        How much gains are doubted that the best of many features, or of many groups of names, has
        by chance: 1 for all of it, 0 for nothing.
    """

    max_leaves: int
    min_examples: int
    ridge: float
    caution: float = 1.0


@dataclass(frozen=True, eq=False)
class Cut:
    """A split: the feature (sparse columns after the dense ones), and which bins pass."""

    gain: float
    feature: int
    passing: NDArray[np.bool_]

    @property
    def bins(self) -> tuple[int, NDArray[np.bool_]]:
        """The feature and its passing bins."""
        return self.feature, self.passing


@dataclass(eq=False)
class GrowingNode:
    """A node while a tree grows: the places of its examples, and its split if it has one."""

    places: Ints
    cut: Cut | None = None
    yes: GrowingNode | None = None
    no: GrowingNode | None = None


class Histogram(Protocol):
    """What adds examples up: a row for each bin of features, for each sparse column, and of all."""

    def sums(self, some: Ints) -> Floats:
        """Return the sums over some examples; how many they are stands in the last column."""


class SplitSearch(ABC):
    """Finds the best split of a node.

    Parameters
    ----------
    binned, rows
        The features, and the examples that take part.
    histograms
        Of these.
    use
        Which features (and sparse columns, after them) may be split on.
    settings
        Of the tree.
    """

    def __init__(
        self,
        binned: Binned,
        rows: Ints,
        histograms: Histogram,
        use: NDArray[np.bool_],
        settings: GrowSettings,
    ) -> None:
        self.binned, self.rows, self.settings = binned, rows, settings
        self.histograms = histograms
        given = binned.dense_doubts
        self.doubts = np.zeros(binned.dense) if given is None else settings.caution * given
        self.chosen = np.flatnonzero(use[: binned.dense])
        self.columns = use[binned.dense :]
        self.column_doubts = settings.caution * binned.doubts

    def looked(self, places: Ints) -> tuple[Cut, Floats]:
        """Return the best split of some examples, and their sums."""
        sums = self.histograms.sums(places)
        return self.best(places, sums), sums

    def best(self, places: Ints, sums: Floats) -> Cut:
        """Return the best split by the sums of examples."""
        passing = np.zeros(256, np.bool_)
        if len(places) < 2 * self.settings.min_examples:
            return Cut(0.0, -1, passing)
        gain, feature = self.best_binned(sums, len(places), passing)
        if len(self.columns):
            sparse_gain, column = self.best_column(sums, len(places))
            if sparse_gain > gain + AS_GOOD * gain:
                return Cut(sparse_gain, self.binned.dense + column, np.ones(256, np.bool_))
        return Cut(gain, feature, passing)

    @abstractmethod
    def best_binned(
        self, sums: Floats, total: int, passing: NDArray[np.bool_]
    ) -> tuple[float, int]:
        """Return the best gain by a binned feature and its number, or 0 and -1.

        Parameters
        ----------
        sums
            Of the examples.
        total
            How many they are.
        passing
            Is told which bins pass.
        """

    @abstractmethod
    def best_column(self, sums: Floats, total: int) -> tuple[float, int]:
        """Return the best gain by a sparse column and its number, or 0 and -1."""

    def parted(self, cut: Cut, places: Ints) -> tuple[Ints, Ints]:
        """Return the examples that pass a split, and the others."""
        return self.binned.parted(cut.bins, self.rows, places)


def grown(search: SplitSearch, examples: int, settings: GrowSettings) -> GrowingNode:
    """Grow a tree on so many examples by the splits that a search finds."""
    root = GrowingNode(np.arange(examples))
    leaves = [_Leaf(root, *search.looked(root.places))]
    number = 1
    while leaves and number < settings.max_leaves:
        place = max(range(len(leaves)), key=lambda at: leaves[at].cut.gain)
        if leaves[place].cut.gain <= 1e-9:
            break
        leaf = leaves.pop(place)
        node = leaf.node
        node.cut = leaf.cut
        yes, no = search.parted(leaf.cut, node.places)
        node.yes, node.no = GrowingNode(yes), GrowingNode(no)
        number += 1
        if number < settings.max_leaves:
            small, large = sorted((node.yes, node.no), key=lambda part: len(part.places))
            if len(large.places) < 2 * settings.min_examples:
                continue  # neither is split
            # the larger part's sums are what the smaller one leaves of those of both
            cut, sums = search.looked(small.places)
            leaves.append(_Leaf(small, cut, sums))
            rest = leaf.sums - sums
            leaves.append(_Leaf(large, search.best(large.places, rest), rest))
    return root


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A leaf that may yet be split.

    Attributes
    ----------
    node, cut, sums
        The node, its best split and its sums.
    """

    node: GrowingNode
    cut: Cut
    sums: Floats
