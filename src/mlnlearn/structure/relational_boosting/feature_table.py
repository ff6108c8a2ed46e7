"""The features that a run has opened, in bins: what trees are grown on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.errors import InputError
from mlnlearn.model.relational.features import AnyFeature, Feature
from mlnlearn.structure.relational_boosting.bins import Binning
from mlnlearn.structure.relational_boosting.histograms import Binned


@dataclass(frozen=True, eq=False)
class Opened:
    """A feature with its bins and its scores: on all examples, and without those of each fold."""

    feature: AnyFeature
    binning: Binning
    scores: Floats


@dataclass(eq=False)
class FeatureTable:
    """Features in bins: what trees are grown on.

    Attributes
    ----------
    opened
        The features in bins.
    columns
        The features of sparse columns.
    binned
        Their values for all examples.
    usable
        Which features may be used by a run of all examples (the first row), and by one without the
        examples of each fold (those after it): the ones chosen without looking at their labels.
    own, own_bins
        Which features in bins read labels of other rows, and their bins where those of a fold are
        hidden from all rows, (folds, features, examples).
    """

    opened: list[Opened]
    columns: list[Feature]
    binned: Binned
    usable: NDArray[np.bool_]
    own: Ints
    own_bins: NDArray[np.uint8]

    def __post_init__(self) -> None:
        self._places = {feature: at for at, feature in enumerate(self.features)}

    @property
    def features(self) -> list[AnyFeature]:
        """All features; those of sparse columns come after those in bins."""
        return [*(one.feature for one in self.opened), *self.columns]

    def without(self, left_out: Sequence[bool]) -> FeatureTable:
        """Return the table without some of the features in bins; itself where there are none."""
        kept = np.flatnonzero(~np.array(left_out[: len(self.opened)], np.bool_))
        if len(kept) == len(self.opened):
            return self
        doubts = self.binned.dense_doubts
        binned = replace(
            self.binned,
            bins=self.binned.bins[kept],
            kinds=self.binned.kinds[kept],
            sizes=self.binned.sizes[kept],
            dense_doubts=None if doubts is None else doubts[kept],
        )
        sparse = np.arange(len(self.opened), len(self.opened) + len(self.columns))
        usable = self.usable[:, np.concatenate([kept, sparse])]
        still = np.isin(self.own, kept)
        own = np.searchsorted(kept, self.own[still])
        opened = [self.opened[at] for at in kept]
        return FeatureTable(opened, self.columns, binned, usable, own, self.own_bins[:, still])

    def of_run(self, number: int) -> FeatureTable:
        """Return what a run may know: the first of all labels, others of none of their fold.

        A label that is hidden must not be learned from as that of a neighbour either.
        """
        if not number or not len(self.own):
            return self
        bins = self.binned.bins.copy()
        bins[self.own] = self.own_bins[number - 1]
        return replace(self, binned=replace(self.binned, bins=bins))

    def place(self, feature: AnyFeature) -> int:
        """Return the number of a feature; sparse columns come after those in bins."""
        if feature not in self._places:
            raise InputError(f"the data have no such feature: {feature}")
        return self._places[feature]
