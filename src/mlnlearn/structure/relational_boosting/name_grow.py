"""Grow a tree whose leaves have a value for each name of an axis.

Values of names are drawn to the mean of their leaf, as far as names differ: a split gains by its
means, as other trees do, and by what names are apart from their mean on both sides. Of the latter,
what chance would give is taken off.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import inner, njit
from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.structure.relational_boosting.grow import (
    AS_GOOD,
    GrowingNode,
    GrowSettings,
    SplitSearch,
    grown,
)
from mlnlearn.structure.relational_boosting.histograms import Binned
from mlnlearn.structure.relational_boosting.name_axis import NamedExamples
from mlnlearn.structure.relational_boosting.name_histograms import NameHistograms
from mlnlearn.structure.relational_boosting.splits import (
    NAMES_CHANCE_OF_SEVERAL,
    NAMES_RIDGE,
    mark_passing,
    order_of_names,
    room_of_bins,
)

# Curvature by which splits take values of names to be drawn to their mean; where what chance would
# give is not taken off, names are taken to be less apart.
_APART, _APART_IN_DOUBT = 10.0, 50.0
_LEAST, _MOST = 1.0, 1e6  # the same of values of leaves, which is estimated


def grow_by_name(
    binned: Binned,
    rows: Ints,
    slopes: tuple[Floats, Floats],
    named: NamedExamples,
    use: NDArray[np.bool_],
    settings: GrowSettings,
) -> GrowingNode:
    """Grow a tree on some examples, see `grow`; `slopes` are of one score."""
    search = _NameSplits(binned, rows, slopes, named, use, settings)
    return grown(search, len(rows), settings)


def leaf_values(sums: Floats, leaves: NDArray[np.bool_], ridge: float) -> tuple[Floats, Floats]:
    """Return the value of each node for all names, and for each name.

    Values of names are drawn to that of all by how far they are apart in all leaves together,
    beyond what chance makes of them (an empirical-Bayes estimate by moments).

    Parameters
    ----------
    sums
        Gradients by name, then curvatures by name, a row a node.
    leaves
        Which nodes are leaves.
    ridge
        How much values for all names are shrunk.
    """
    gradients, curvatures = np.split(sums, 2, axis=1)
    total, curved = gradients.sum(axis=1), curvatures.sum(axis=1)
    means = total / (curved + ridge)
    rest = gradients - curvatures * means[:, None]
    drawn = _drawn(gradients[leaves], curvatures[leaves])
    return means, means[:, None] + rest / (curvatures + drawn)


def _drawn(gradients: Floats, curvatures: Floats) -> float:
    """Return the curvature by which values of names are drawn to their mean, leaf by leaf."""
    total, curved = gradients.sum(axis=1), np.maximum(curvatures.sum(axis=1), 1e-300)
    rest = gradients - curvatures * (total / curved)[:, None]
    seen = curvatures > 0
    by = np.where(seen, curvatures, 1.0)
    apart = float((rest**2 / by)[seen].sum()) - float(np.maximum(seen.sum(axis=1) - 1, 0).sum())
    weight = float((curved - (curvatures**2).sum(axis=1) / curved).sum())
    if weight <= 0.0 or apart <= weight / _MOST:
        return _MOST
    return max(weight / apart, _LEAST)


class _NameSplits(SplitSearch):
    """Splits that gain by a value for each name."""

    def __init__(
        self,
        binned: Binned,
        rows: Ints,
        slopes: tuple[Floats, Floats],
        named: NamedExamples,
        use: NDArray[np.bool_],
        settings: GrowSettings,
    ) -> None:
        both = np.concatenate(slopes, axis=1)
        histograms = NameHistograms(binned, rows, both, named.places[rows], named.number, use)
        super().__init__(binned, rows, histograms, use, settings)
        caution = settings.caution
        apart = caution * _APART + (1 - caution) * _APART_IN_DOUBT
        self.prior = (settings.ridge, apart, caution)
        self.room = room_of_bins(named.number)

    def best_binned(
        self, sums: Floats, total: int, passing: NDArray[np.bool_]
    ) -> tuple[float, int]:
        caution = self.settings.caution
        found: tuple[float, int] = _best_dense(
            self.binned.kinds,
            self.doubts,
            self.chosen,
            self.binned.starts,
            sums,
            total,
            self.settings.min_examples,
            self.prior,
            (caution * NAMES_RIDGE, caution * NAMES_CHANCE_OF_SEVERAL),
            passing,
            self.room,
        )
        return found

    def best_column(self, sums: Floats, total: int) -> tuple[float, int]:
        added = sums[self.binned.starts[-1] :]
        least = self.settings.min_examples
        found: tuple[float, int] = _best_sparse(
            self.columns, self.column_doubts, added, total, least, self.prior
        )
        return found


# Compiled functions carry no annotations: numba infers their types.


@inner
def _score(sums, prior):  # type: ignore[no-untyped-def]
    """Return what examples gain by values of their own for each name, less what chance would."""
    ridge, apart, caution = prior
    names = len(sums) // 2
    total, curved = 0.0, 0.0
    for name in range(names):
        total += sums[name]
        curved += sums[names + name]
    mean = total / (curved + ridge)
    found = total * mean
    for name in range(names):
        own = sums[names + name]
        rest = sums[name] - own * mean
        found += (rest * rest - caution * own) / (own + apart)
    return found


@njit(cache=True)
def _best_dense(  # type: ignore[no-untyped-def]
    kinds, doubts, chosen, starts, added, total, least, prior, of_names, passing, room
):
    """Find the best split of a node by a binned feature: its gain and number.

    The bins that pass are put into `passing`.
    """
    width = added.shape[1] - 1
    outputs = width // 2
    whole = added[-1]
    base = _score(whole[:width], prior)
    best, best_feature = 0.0, -1
    in_order = room[0]
    here, rest = np.zeros(width + 1), np.zeros(width)
    for number in range(len(chosen)):
        feature = chosen[number]
        start, end = starts[feature], starts[feature + 1]
        sums = added[start:end]
        size = end - start - 2
        named = kinds[feature] == 1
        order = in_order[:size]
        doubt = doubts[feature]
        own = prior
        if named:
            own = (prior[0] + of_names[0], prior[1], prior[2])
            order = order_of_names(
                sums[:, :outputs], sums[:, outputs:width], sums[:, width], size, own[0], room
            )
            doubt += of_names[1] * (len(order) - 1)
        for turned in range(2 if named else 1):
            backward = turned == 1 or not named
            for missing in range(2 if sums[size + 1, width] > 0 else 1):
                gain, place = _scan(
                    sums, order, backward, missing == 1, whole, total, least, own, here, rest
                )
                gain -= base + doubt
                if gain > best + AS_GOOD * (best + abs(base)):
                    best, best_feature = gain, feature
                    mark_passing(passing, order, place, backward, missing == 1)
    return best, best_feature


@inner
def _add_row(here, sums, row):  # type: ignore[no-untyped-def]
    for output in range(len(here)):
        here[output] += sums[row, output]


@inner
def _scan(  # type: ignore[no-untyped-def]
    sums, order, backward, missing, whole, total, least, prior, here, rest
):
    """Cut an order of bins: passing is what comes first, or last where `backward`.

    `here` and `rest` are room for the sums of both sides.
    """
    width = len(rest)
    for output in range(len(here)):  # sums of arrays compile for seconds
        here[output] = 0.0
    best, place = -np.inf, -1
    # what is first in order is gathered in `here`; it fails where the passing ones come last
    if missing != backward:
        _add_row(here, sums, len(sums) - 1)
    if backward:  # rare names never pass: they are with those that come first
        _add_row(here, sums, len(sums) - 2)
    for at in range(len(order)):
        bin_ = order[at]
        if sums[bin_, width] == 0:
            continue
        _add_row(here, sums, bin_)
        if here[width] < least:
            continue
        if total - here[width] < least:
            break
        for output in range(width):
            rest[output] = whole[output] - here[output]
        gain = _score(here[:width], prior) + _score(rest, prior)
        if gain > best:
            best, place = gain, at
    return best, place


@njit(cache=True)
def _best_sparse(columns, doubts, added, total, least, prior):  # type: ignore[no-untyped-def]
    """Find the best split of a node by a sparse column: its gain and number."""
    width = added.shape[1] - 1
    whole = added[-1, :width]
    base = _score(whole, prior)
    best, best_column = 0.0, -1
    for column in range(len(columns)):
        count = added[column, width]
        if not columns[column] or count < least or total - count < least:
            continue
        here = added[column, :width]
        gain = _score(here, prior) + _score(whole - here, prior) - base - doubts[column]
        if gain > best + AS_GOOD * (best + abs(base)):
            best, best_column = gain, column
    return best, best_column
