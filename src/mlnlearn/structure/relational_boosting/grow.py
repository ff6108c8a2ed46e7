"""Grow a tree on binned features: histograms of gradients, the best split first.

One tree serves all classes: gains add up over the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import inner, njit
from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.structure.relational_boosting.histograms import Binned, Histograms

NAMES_RIDGE = 5.0  # groups of names are chosen after the fact: their gain is doubted more
# What the best group of names gains by chance, for each name but one: 2/pi of one output (half of
# the names are above the mean), about 1.1 of several (the direction is chosen, too).
_AS_GOOD = 1e-9  # of what a node gains: by how much more the second of two tests must gain
_NAMES_CHANCE, NAMES_CHANCE_OF_SEVERAL = 2.0 / np.pi, 1.1


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
    search = _SplitSearch(binned, rows, gradients, curvatures, use, settings)
    return grown(search, len(rows), settings)


class SplitSearch(Protocol):
    """What finds the best split of a node."""

    def looked(self, places: Ints) -> tuple[Cut, Floats]:
        """Return the best split of some examples, and their sums."""

    def best(self, places: Ints, sums: Floats) -> Cut:
        """Return the best split by the sums of examples."""

    def parted(self, cut: Cut, places: Ints) -> tuple[Ints, Ints]:
        """Return the examples that pass a split, and the others."""


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


class _SplitSearch:
    """Finds the best split of a node."""

    def __init__(
        self,
        binned: Binned,
        rows: Ints,
        gradients: Floats,
        curvatures: Floats,
        use: NDArray[np.bool_],
        settings: GrowSettings,
    ) -> None:
        self.binned, self.rows, self.settings = binned, rows, settings
        self.outputs = gradients.shape[1]
        self.histograms = Histograms(binned, rows, gradients, curvatures, use)
        given = binned.dense_doubts
        self.doubts = np.zeros(binned.dense) if given is None else settings.caution * given
        self.chosen = np.flatnonzero(use[: binned.dense])
        self.columns = use[binned.dense :]
        self.column_doubts = settings.caution * binned.doubts
        self.room = room_of_bins(self.outputs)

    def looked(self, places: Ints) -> tuple[Cut, Floats]:
        """Return the best split of some examples, and their sums."""
        sums = self.histograms.sums(places)
        return self.best(places, sums), sums

    def best(self, places: Ints, sums: Floats) -> Cut:
        passing = np.zeros(256, np.bool_)
        nothing = Cut(0.0, -1, passing)
        least, ridge = self.settings.min_examples, self.settings.ridge
        caution = self.settings.caution
        if len(places) < 2 * least:
            return nothing
        outputs, starts = self.outputs, self.binned.starts
        whole = sums[-1, :outputs], sums[-1, outputs:-1]
        gain, feature = _best_dense(
            self.binned.kinds,
            self.doubts,
            self.chosen,
            starts,
            sums[: starts[-1]],
            whole,
            len(places),
            least,
            ridge,
            caution * NAMES_RIDGE,
            caution * (_NAMES_CHANCE if outputs == 1 else NAMES_CHANCE_OF_SEVERAL),
            passing,
            self.room,
        )
        if len(self.columns):
            sparse_gain, column = _best_sparse(
                self.columns,
                self.column_doubts,
                sums[starts[-1] : -1],
                whole,
                len(places),
                least,
                ridge,
            )
            if sparse_gain > gain + _AS_GOOD * gain:
                return Cut(sparse_gain, self.binned.dense + column, np.ones(256, np.bool_))
        return Cut(gain, feature, passing) if feature >= 0 else nothing

    def parted(self, cut: Cut, places: Ints) -> tuple[Ints, Ints]:
        return self.binned.parted(cut.bins, self.rows, places)


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
                if gain > best + _AS_GOOD * (best + base):
                    best, best_feature = gain, feature
                    for bin_ in range(len(passing)):
                        passing[bin_] = False
                    for at in range(len(order)):
                        passing[order[at]] = at > place if backward else at <= place
                    passing[255] = missing == 1
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
        if gain > best + _AS_GOOD * (best + base):
            best, best_column = gain, column
    return best, best_column
