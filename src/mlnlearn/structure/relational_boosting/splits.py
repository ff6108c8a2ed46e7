"""The best split of a node of a tree that serves all classes: gains add up over the classes."""

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
from mlnlearn.structure.relational_boosting.histograms import Binned, Histograms

NAMES_RIDGE = 5.0
"""Groups of names are chosen after the fact: their gain is doubted more."""
# What the best group of names gains by chance, for each name but one: 2/pi of one output (half of
# the names are above the mean), about 1.1 of several (the direction is chosen, too).
_NAMES_CHANCE, NAMES_CHANCE_OF_SEVERAL = 2.0 / np.pi, 1.1


def grow(
    binned: Binned,
    rows: Ints,
    gradients: Floats,
    curvatures: Floats,
    use: NDArray[np.bool_],
    settings: GrowSettings,
) -> GrowingNode:
    """Grow a tree on some examples.

    Parameters
    ----------
    binned, rows
        The features, and the examples that take part.
    gradients, curvatures
        Minus the first derivatives of these examples and the second ones, (examples, outputs).
    use
        Which features (and sparse columns, after them) may be split on.
    settings
        Its size.
    """
    search = _Splits(binned, rows, gradients, curvatures, use, settings)
    return grown(search, len(rows), settings)


class _Splits(SplitSearch):
    """Splits that gain by a value for each class."""

    def __init__(
        self,
        binned: Binned,
        rows: Ints,
        gradients: Floats,
        curvatures: Floats,
        use: NDArray[np.bool_],
        settings: GrowSettings,
    ) -> None:
        histograms = Histograms(binned, rows, gradients, curvatures, use)
        super().__init__(binned, rows, histograms, use, settings)
        self.outputs = gradients.shape[1]
        self.room = room_of_bins(self.outputs)

    def best_binned(
        self, sums: Floats, total: int, passing: NDArray[np.bool_]
    ) -> tuple[float, int]:
        caution, starts = self.settings.caution, self.binned.starts
        chance = _NAMES_CHANCE if self.outputs == 1 else NAMES_CHANCE_OF_SEVERAL
        found: tuple[float, int] = _best_dense(
            self.binned.kinds,
            self.doubts,
            self.chosen,
            starts,
            sums[: starts[-1]],
            self._whole(sums),
            total,
            self.settings.min_examples,
            self.settings.ridge,
            caution * NAMES_RIDGE,
            caution * chance,
            passing,
            self.room,
        )
        return found

    def best_column(self, sums: Floats, total: int) -> tuple[float, int]:
        found: tuple[float, int] = _best_sparse(
            self.columns,
            self.column_doubts,
            sums[self.binned.starts[-1] : -1],
            self._whole(sums),
            total,
            self.settings.min_examples,
            self.settings.ridge,
        )
        return found

    def _whole(self, sums: Floats) -> tuple[Floats, Floats]:
        return sums[-1, : self.outputs], sums[-1, self.outputs : -1]


def room_of_bins(outputs: int) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Return the numbers of bins, and room that compiled loops work in.

    That is room for these numbers in another order, for six vectors of the outputs, for one of each
    bin, and for a figure of each.
    """
    bins = 256
    vectors, means = np.empty((6, outputs)), np.empty((bins, outputs))
    return np.arange(bins), np.empty(bins, np.int64), vectors, means, np.empty(bins)


# Compiled functions carry no annotations: numba infers their types.


@inner
def _score(gradient, curvature, ridge):  # type: ignore[no-untyped-def]
    total = 0.0
    for output in range(len(gradient)):
        total += gradient[output] * gradient[output] / (curvature[output] + ridge)
    return total


@inner
def order_of_names(sums, weights, counts, size, ridge, room):  # type: ignore[no-untyped-def]
    """Sort the bins of names by their mean gradients' main direction."""
    outputs = sums.shape[1]
    _, names, vectors, means, projected = room
    direction, fresh = vectors[4], vectors[5]
    for name in range(size):
        for output in range(outputs):
            means[name, output] = sums[name, output] / (weights[name, output] + ridge)
    direction[0] = 1.0
    if outputs > 1:
        for output in range(outputs):  # no start that could be at right angles to the answer
            direction[output] = 1.0 + 0.37 * output
        for _ in range(8):
            for output in range(outputs):
                fresh[output] = 0.0
            for name in range(size):
                if counts[name] > 0:
                    along = 0.0
                    for output in range(outputs):
                        along += means[name, output] * direction[output]
                    for output in range(outputs):
                        fresh[output] += counts[name] * along * means[name, output]
            length = 0.0
            for output in range(outputs):
                length += fresh[output] * fresh[output]
            length = np.sqrt(length)
            if length < 1e-300:
                break
            for output in range(outputs):
                direction[output] = fresh[output] / length
    present = 0
    for name in range(size):
        if counts[name] > 0:
            names[present], projected[present] = name, 0.0
            for output in range(outputs):
                projected[present] += means[name, output] * direction[output]
            present += 1
    for place in range(1, present):  # by insertion: NumPy's sorts compile for seconds
        name, value, at = names[place], projected[place], place
        while at > 0 and projected[at - 1] > value:
            names[at], projected[at] = names[at - 1], projected[at - 1]
            at -= 1
        names[at], projected[at] = name, value
    return names[:present]


@inner
def mark_passing(passing, order, place, backward, missing):  # type: ignore[no-untyped-def]
    """Put down which bins pass a cut at a place of their order."""
    for bin_ in range(len(passing)):
        passing[bin_] = False
    for at in range(len(order)):
        passing[order[at]] = at > place if backward else at <= place
    passing[255] = missing


@njit(cache=True)
def _best_dense(  # type: ignore[no-untyped-def]
    kinds, doubts, chosen, starts, added, both, total, least, ridge, names_ridge, names_chance,
    passing, room,
):  # fmt: skip
    """Find the best split of a node by a binned feature: its gain and number.

    The bins that pass are put into `passing`.
    """
    outputs = len(both[0])
    all_sums, all_weights = added[:, :outputs], added[:, outputs:-1]
    all_counts = added[:, -1]
    base = _score(both[0], both[1], ridge)
    best, best_feature = 0.0, -1
    in_order, halves = room[0], room[2]
    for number in range(len(chosen)):
        feature = chosen[number]
        start, end = starts[feature], starts[feature + 1]
        sums, weights = all_sums[start:end], all_weights[start:end]
        counts = all_counts[start:end]
        size = end - start - 2
        named = kinds[feature] == 1
        own_ridge = ridge + (names_ridge if named else 0.0)
        order = in_order[:size]
        doubt = doubts[feature]
        if named:
            order = order_of_names(sums, weights, counts, size, own_ridge, room)
            doubt += names_chance * (len(order) - 1)
        for turned in range(2 if named else 1):
            backward = turned == 1 or not named
            for missing in range(2 if counts[size + 1] > 0 else 1):
                if outputs == 1:
                    gain, place = _scan_of_one(
                        sums[:, 0],
                        weights[:, 0],
                        counts,
                        order,
                        backward,
                        missing == 1,
                        both,
                        least,
                        own_ridge,
                        total,
                    )
                else:
                    gain, place = _scan(
                        sums,
                        weights,
                        counts,
                        order,
                        backward,
                        missing == 1,
                        both,
                        least,
                        own_ridge,
                        total,
                        halves,
                    )
                gain -= base + doubt
                if gain > best + AS_GOOD * (best + base):
                    best, best_feature = gain, feature
                    mark_passing(passing, order, place, backward, missing == 1)
    return best, best_feature


@inner
def _scan(  # type: ignore[no-untyped-def]
    sums, weights, counts, order, backward, missing, both, least, ridge, total, halves
):
    """Cut an order of bins: passing is what comes first, or last where `backward`.

    `halves` is room for the sums of both sides.
    """
    whole, whole_curved = both
    outputs = len(whole)
    here, here_curved, rest, rest_curved = halves[0], halves[1], halves[2], halves[3]
    for output in range(outputs):
        here[output], here_curved[output] = 0.0, 0.0
    number = 0
    best, place = -1.0, -1
    # what is first in order is gathered in `here`; it fails where the passing ones come last
    with_missing = missing != backward
    if with_missing:
        number += counts[-1]
        for output in range(outputs):
            here[output] += sums[-1, output]
            here_curved[output] += weights[-1, output]
    if backward:  # rare names never pass: they are with those that come first
        number += counts[-2]
        for output in range(outputs):
            here[output] += sums[-2, output]
            here_curved[output] += weights[-2, output]
    for at in range(len(order)):
        bin_ = order[at]
        if counts[bin_] == 0:
            continue
        number += counts[bin_]
        for output in range(outputs):
            here[output] += sums[bin_, output]
            here_curved[output] += weights[bin_, output]
        if number < least:
            continue
        if total - number < least:
            break
        for output in range(outputs):
            rest[output] = whole[output] - here[output]
            rest_curved[output] = whole_curved[output] - here_curved[output]
        gain = _score(here, here_curved, ridge) + _score(rest, rest_curved, ridge)
        if gain > best:
            best, place = gain, at
    return best, place


@inner
def _scan_of_one(  # type: ignore[no-untyped-def]
    sums, weights, counts, order, backward, missing, both, least, ridge, total
):
    """Do the same where there is one output."""
    whole, whole_curved = both[0][0], both[1][0]
    here, here_curved, number = 0.0, 0.0, 0.0
    best, place = -1.0, -1
    with_missing = missing != backward
    if with_missing:
        number += counts[-1]
        here += sums[-1]
        here_curved += weights[-1]
    if backward:
        number += counts[-2]
        here += sums[-2]
        here_curved += weights[-2]
    for at in range(len(order)):
        bin_ = order[at]
        if counts[bin_] == 0:
            continue
        number += counts[bin_]
        here += sums[bin_]
        here_curved += weights[bin_]
        if number < least:
            continue
        if total - number < least:
            break
        rest = whole - here
        gain = here * here / (here_curved + ridge)
        gain += rest * rest / (whole_curved - here_curved + ridge)
        if gain > best:
            best, place = gain, at
    return best, place


@njit(cache=True)
def _best_sparse(columns, doubts, added, both, total, least, ridge):  # type: ignore[no-untyped-def]
    """Find the best split of a node by a sparse column: its gain and number."""
    whole, whole_curved = both
    outputs = len(whole)
    base = _score(whole, whole_curved, ridge)
    best, best_column = 0.0, -1
    for column in range(len(columns)):
        count = added[column, 2 * outputs]
        if not columns[column] or count < least or total - count < least:
            continue
        gain = -base - doubts[column]
        for output in range(outputs):
            here, curved = added[column, output], added[column, outputs + output]
            gain += here * here / (curved + ridge)
            rest = whole[output] - here
            gain += rest * rest / (whole_curved[output] - curved + ridge)
        if gain > best + AS_GOOD * (best + base):
            best, best_column = gain, column
    return best, best_column
