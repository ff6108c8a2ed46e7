"""Grow a tree on binned features: histograms of gradients, the best split first.

Numbers and names are bins of a byte matrix, a row a feature; whether some related row has a given
name is a column of a sparse matrix. One tree serves all classes: gains add up over the classes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.aggregates import Floats, Ints

MISSING = 255
"""The bin of unknown values."""
OTHER = 254
"""The bin of names that are too rare to be told apart."""
_NAMES_RIDGE = 5.0  # groups of names are chosen after the fact: their gain is doubted more
# What the best group of names gains by chance, for each name but one: 2/pi of one output (half of
# the names are above the mean), about 1.1 of several (the direction is chosen, too).
_NAMES_CHANCE, _NAMES_CHANCE_OF_SEVERAL = 2.0 / np.pi, 1.1


@dataclass(frozen=True, eq=False)
class Binned:
    """The features of all examples.

    Attributes
    ----------
    bins
        A row a feature, a byte an example.
    kinds, sizes
        Of each feature, whether its bins are numbers in order (0) or names (1), and how many.
    indptr, indices
        Of each example, the sparse columns that it has.
    doubts
        What the gain of each sparse column is lowered by: they are many.
    dense_doubts
        The same of the features in bins; nothing by default.
    """

    bins: NDArray[np.uint8]
    kinds: NDArray[np.int8]
    sizes: NDArray[np.int64]
    indptr: Ints
    indices: NDArray[np.int32]
    doubts: Floats
    dense_doubts: Floats | None = None

    @property
    def dense(self) -> int:
        """Number of features in bins."""
        return len(self.bins)


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


@dataclass(eq=False)
class GrowingNode:
    """A node while a tree grows: its examples, its values, its split if it has one."""

    rows: Ints
    values: Floats
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
        Minus the first derivatives and the second ones, (examples, outputs).
    use
        Which features (and sparse columns, after them) may be split on.
    settings
        Its size.
    """
    search = _SplitSearch(binned, gradients, curvatures, use, settings)
    root = GrowingNode(rows, search.value(rows))
    leaves = [_Leaf(root, *search.looked(rows))]
    number = 1
    while number < settings.max_leaves:
        place = max(range(len(leaves)), key=lambda at: leaves[at].cut.gain)
        if leaves[place].cut.gain <= 1e-9:
            break
        leaf = leaves.pop(place)
        node = leaf.node
        passing = search.passes(leaf.cut, node.rows)
        node.cut = leaf.cut
        node.yes = GrowingNode(node.rows[passing], search.value(node.rows[passing]))
        node.no = GrowingNode(node.rows[~passing], search.value(node.rows[~passing]))
        number += 1
        if number < settings.max_leaves:
            # the larger part's sums are what the smaller one leaves of those of both
            small, large = sorted((node.yes, node.no), key=lambda below: len(below.rows))
            cut, sums = search.looked(small.rows)
            leaves.append(_Leaf(small, cut, sums))
            rest = leaf.sums.less(sums)
            leaves.append(_Leaf(large, search.best(large.rows, rest), rest))
    return root


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of gradients and curvatures, and counts, by bin and by sparse column."""

    gradients: Floats
    curvatures: Floats
    counts: Ints
    column_gradients: Floats
    column_curvatures: Floats
    column_counts: Ints

    def less(self, other: _Sums) -> _Sums:
        """Return the sums without those of some of the examples."""
        own = (getattr(self, item.name) - getattr(other, item.name) for item in fields(self))
        return _Sums(*own)


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A leaf that may yet be split."""

    node: GrowingNode
    cut: Cut
    sums: _Sums


class _SplitSearch:
    """Finds the best split of a node."""

    def __init__(
        self,
        binned: Binned,
        gradients: Floats,
        curvatures: Floats,
        use: NDArray[np.bool_],
        settings: GrowSettings,
    ) -> None:
        self.binned, self.settings = binned, settings
        self.chosen = np.flatnonzero(use[: binned.dense])
        self.columns = use[binned.dense :]
        self.gradients, self.curvatures = gradients, curvatures
        # after its own bins, a feature has one of rare names and one of what is not known
        sizes = binned.sizes[self.chosen] + 2
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        given = binned.dense_doubts
        self.doubts = np.zeros(binned.dense) if given is None else settings.caution * given

    def value(self, rows: Ints) -> Floats:
        total = self.gradients[rows].sum(axis=0)
        found: Floats = total / (self.curvatures[rows].sum(axis=0) + self.settings.ridge)
        return found

    def looked(self, rows: Ints) -> tuple[Cut, _Sums]:
        """Return the best split of some examples, and their sums."""
        binned = self.binned
        gradients, curvatures = self.gradients[rows], self.curvatures[rows]
        one = self.gradients.shape[1] == 1
        sums = _Sums(
            *(_dense_sums_of_one if one else _dense_sums)(
                binned.bins, self.chosen, self.starts, rows, gradients, curvatures
            ),
            *_sparse_sums(binned.indptr, binned.indices, self.columns, rows, gradients, curvatures),
        )
        return self.best(rows, sums), sums

    def best(self, rows: Ints, sums: _Sums) -> Cut:
        nothing = Cut(0.0, -1, np.zeros(256, np.bool_))
        least, ridge = self.settings.min_examples, self.settings.ridge
        caution = self.settings.caution
        if len(rows) < 2 * least:
            return nothing
        whole = self.gradients[rows].sum(axis=0), self.curvatures[rows].sum(axis=0)
        gain, feature, passing = _best_dense(
            self.binned.kinds,
            self.doubts,
            self.chosen,
            self.starts,
            (sums.gradients, sums.curvatures, sums.counts),
            whole,
            len(rows),
            least,
            ridge,
            caution * _NAMES_RIDGE,
            caution * (_NAMES_CHANCE if self.gradients.shape[1] == 1 else _NAMES_CHANCE_OF_SEVERAL),
        )
        if len(self.binned.doubts):
            sparse_gain, column = _best_sparse(
                self.columns,
                caution * self.binned.doubts,
                (sums.column_gradients, sums.column_curvatures, sums.column_counts),
                whole,
                len(rows),
                least,
                ridge,
            )
            if sparse_gain > gain:
                return Cut(sparse_gain, self.binned.dense + column, np.ones(256, np.bool_))
        return Cut(gain, feature, passing) if feature >= 0 else nothing

    def passes(self, cut: Cut, rows: Ints) -> NDArray[np.bool_]:
        found: NDArray[np.bool_]
        if cut.feature < self.binned.dense:
            found = cut.passing[self.binned.bins[cut.feature][rows]]
            return found
        column = cut.feature - self.binned.dense
        found = has_column(self.binned.indptr, self.binned.indices, column, rows)
        return found


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _score(gradient, curvature, ridge):  # type: ignore[no-untyped-def]
    total = 0.0
    for output in range(len(gradient)):
        total += gradient[output] * gradient[output] / (curvature[output] + ridge)
    return total


@njit(cache=True)
def _order_of_names(sums, weights, counts, size, ridge):  # type: ignore[no-untyped-def]
    """Sort the bins of names by their mean gradients' main direction."""
    outputs = sums.shape[1]
    means = np.zeros((size, outputs))
    for name in range(size):
        for output in range(outputs):
            means[name, output] = sums[name, output] / (weights[name, output] + ridge)
    direction = np.ones(outputs)
    if outputs > 1:
        for output in range(outputs):  # no start that could be at right angles to the answer
            direction[output] = 1.0 + 0.37 * output
        for _ in range(8):
            fresh = np.zeros(outputs)
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
    projected = np.zeros(size)
    present = 0
    names = np.zeros(size, np.int64)
    for name in range(size):
        if counts[name] > 0:
            names[present] = name
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
def _dense_sums(bins, chosen, starts, rows, gradients, curvatures):  # type: ignore[no-untyped-def]
    """Add up gradients and curvatures, and count examples, by the bins of features."""
    outputs = gradients.shape[1]
    sums = np.zeros((starts[-1], outputs))
    weights = np.zeros((starts[-1], outputs))
    counts = np.zeros(starts[-1], np.int64)
    for number in range(len(chosen)):
        column = bins[chosen[number]]
        start, end = starts[number], starts[number + 1]
        for at in range(len(rows)):
            value = column[rows[at]]
            place = start + value if value < 254 else end - 256 + value
            counts[place] += 1
            for output in range(outputs):
                sums[place, output] += gradients[at, output]
                weights[place, output] += curvatures[at, output]
    return sums, weights, counts


@njit(cache=True)
def _dense_sums_of_one(bins, chosen, starts, rows, gradients, curvatures):  # type: ignore[no-untyped-def]
    """Do the same where there is one output.

    Of several features at a time: most examples are in the same bin of a feature, and each
    addition to it would wait for the one before.
    """
    found = np.zeros((starts[-1], 3))
    places = np.zeros(4, np.int64)
    for first in range(0, len(chosen), 4):
        some = min(4, len(chosen) - first)
        one, two, three, four = (
            bins[chosen[first]],
            bins[chosen[first + min(1, some - 1)]],
            bins[chosen[first + min(2, some - 1)]],
            bins[chosen[first + min(3, some - 1)]],
        )
        for at in range(len(rows)):
            row = rows[at]
            gradient, curvature = gradients[at, 0], curvatures[at, 0]
            places[0], places[1], places[2], places[3] = one[row], two[row], three[row], four[row]
            for number in range(some):
                value = places[number]
                if value < 254:
                    place = starts[first + number] + value
                else:
                    place = starts[first + number + 1] - 256 + value
                found[place, 0] += gradient
                found[place, 1] += curvature
                found[place, 2] += 1.0
    sums, weights = found[:, :1].copy(), found[:, 1:2].copy()
    return sums, weights, found[:, 2].astype(np.int64)


@njit(cache=True)
def _sparse_sums(indptr, indices, columns, rows, gradients, curvatures):  # type: ignore[no-untyped-def]
    """Add up gradients and curvatures, and count examples, by those sparse columns in use."""
    outputs = gradients.shape[1]
    sums = np.zeros((len(columns), outputs))
    weights = np.zeros((len(columns), outputs))
    counts = np.zeros(len(columns), np.int64)
    if len(columns):
        for at in range(len(rows)):
            for place in range(indptr[rows[at]], indptr[rows[at] + 1]):
                column = indices[place]
                if not columns[column]:
                    continue
                counts[column] += 1
                for output in range(outputs):
                    sums[column, output] += gradients[at, output]
                    weights[column, output] += curvatures[at, output]
    return sums, weights, counts


@njit(cache=True)
def _best_dense(  # type: ignore[no-untyped-def]
    kinds, doubts, chosen, starts, added, both, total, least, ridge, names_ridge, names_chance
):
    """Find the best split of a node by a binned feature: its gain, number and passing bins."""
    all_sums, all_weights, all_counts = added
    whole, whole_curved = both
    base = _score(whole, whole_curved, ridge)
    best, best_feature = 0.0, -1
    best_passing = np.zeros(256, np.bool_)
    for number in range(len(chosen)):
        feature = chosen[number]
        start, end = starts[number], starts[number + 1]
        sums, weights = all_sums[start:end], all_weights[start:end]
        counts = all_counts[start:end]
        size = end - start - 2
        named = kinds[feature] == 1
        own_ridge = ridge + (names_ridge if named else 0.0)
        order = np.arange(size)
        doubt = doubts[feature]
        if named:
            order = _order_of_names(sums, weights, counts, size, own_ridge)
            doubt += names_chance * (len(order) - 1)
        for turned in range(2 if named else 1):
            backward = turned == 1 or not named
            for missing in range(2 if counts[size + 1] > 0 else 1):
                gain, place = _scan(
                    sums,
                    weights,
                    counts,
                    order,
                    backward,
                    missing == 1,
                    whole,
                    whole_curved,
                    least,
                    own_ridge,
                    total,
                )
                gain -= base + doubt
                if gain > best + 1e-12:
                    best, best_feature = gain, feature
                    best_passing[:] = False
                    for at in range(len(order)):
                        best_passing[order[at]] = at > place if backward else at <= place
                    best_passing[255] = missing == 1
    return best, best_feature, best_passing


@njit(cache=True)
def _scan(  # type: ignore[no-untyped-def]
    sums, weights, counts, order, backward, missing, whole, whole_curved, least, ridge, total
):
    """Cut an order of bins: passing is what comes first, or last where `backward`."""
    outputs = len(whole)
    here = np.zeros(outputs)
    here_curved = np.zeros(outputs)
    number = 0
    rest = np.zeros(outputs)
    rest_curved = np.zeros(outputs)
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


@njit(cache=True)
def _best_sparse(columns, doubts, added, both, total, least, ridge):  # type: ignore[no-untyped-def]
    """Find the best split of a node by a sparse column: its gain and number."""
    sums, weights, counts = added
    whole, whole_curved = both
    base = _score(whole, whole_curved, ridge)
    best, best_column = 0.0, -1
    for column in range(len(columns)):
        if not columns[column] or counts[column] < least or total - counts[column] < least:
            continue
        gain = (
            _score(sums[column], weights[column], ridge)
            + _score(whole - sums[column], whole_curved - weights[column], ridge)
            - base
            - doubts[column]
        )
        if gain > best + 1e-12:
            best, best_column = gain, column
    return best, best_column


@njit(cache=True)
def has_column(indptr, indices, column, rows):  # type: ignore[no-untyped-def]
    """Return which rows have a sparse column; the columns of a row are sorted."""
    found = np.zeros(len(rows), np.bool_)
    for at in range(len(rows)):
        low, high = indptr[rows[at]], indptr[rows[at] + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < column:
                low = middle + 1
            else:
                high = middle
        found[at] = low < indptr[rows[at] + 1] and indices[low] == column
    return found
