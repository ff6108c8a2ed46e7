"""Histograms of gradients over binned features.

Numbers and names are bins of a byte matrix, a row a feature; whether some related row has a given
name is a column of a sparse matrix. Most features of relations say the same of most examples: that
nothing is there. Only what differs from it is added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.aggregates import Floats, Ints

MISSING = 255
"""The bin of unknown values."""
OTHER = 254
"""The bin of names that are too rare to be told apart."""
_LISTED = 0.3  # the largest share of examples outside of the usual bin that are listed


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

    @cached_property
    def starts(self) -> Ints:
        """Where the bins of each feature begin, and end, if those of all are numbered through.

        After its own bins, a feature has one of rare names and one of what is not known.
        """
        return np.concatenate([[0], np.cumsum(self.sizes + 2)]).astype(np.int64)

    @cached_property
    def others(self) -> _Others:
        """What is listed by example: of features that are mostly in one bin, the other bins."""
        usual = np.array([np.bincount(bins, minlength=256).argmax() for bins in self.bins], int)
        counts = [
            np.count_nonzero(bins != bin_) for bins, bin_ in zip(self.bins, usual, strict=True)
        ]
        listed = np.array(counts, np.int64) <= _LISTED * self.bins.shape[1]
        pointers, entries = _entries(self.bins, usual, np.flatnonzero(listed), self.starts)
        return _Others(listed, _numbered(usual, self.starts), pointers, entries)


@dataclass(frozen=True, eq=False)
class _Others:
    """Bins of examples that are not the usual ones of their features, by number.

    Attributes
    ----------
    listed, usual
        Of each feature, whether it is listed, and the bin that most examples are in.
    indptr, entries
        Of each example, the other bins that it is in, of features that are listed.
    """

    listed: NDArray[np.bool_]
    usual: Ints
    indptr: Ints
    entries: NDArray[np.int32]


def _numbered(bins: Ints, starts: Ints) -> Ints:
    """Return the numbers of bins, one of each feature."""
    return np.where(bins < OTHER, starts[:-1] + bins, starts[1:] - 256 + bins)


class Histograms:
    """Sums over examples by the bins of features: of gradients, of curvatures, and counts.

    A row of the sums is a bin; those of sparse columns come after those of features in bins, and
    the sums over all examples are last. Examples are told by their place among those that take
    part. Of a feature that most examples have in the same bin, the others are added up, and that
    bin has what they leave of the whole.

    Parameters
    ----------
    binned, rows
        The features, and the examples that take part.
    gradients, curvatures
        Of these examples, (examples, outputs).
    use
        Which features (and sparse columns, after them) are of interest: the sums of others need
        not be there.
    """

    def __init__(
        self,
        binned: Binned,
        rows: Ints,
        gradients: Floats,
        curvatures: Floats,
        use: NDArray[np.bool_],
    ) -> None:
        self._binned, self._rows = binned, rows
        self._slopes = np.concatenate([gradients, curvatures, np.ones((len(rows), 1))], axis=1)
        chosen, listed = use[: binned.dense], binned.others.listed
        self._by_bin, self._listed = np.flatnonzero(chosen & ~listed), np.flatnonzero(listed)
        self._bins = binned.bins[np.ix_(self._by_bin, rows)]

    def sums(self, some: Ints) -> Floats:
        """Return the sums over some examples."""
        binned, others, slopes = self._binned, self._binned.others, self._slopes
        starts = binned.starts
        found = np.zeros((starts[-1] + len(binned.doubts) + 1, slopes.shape[1]))
        found[-1] = slopes[some].sum(axis=0)
        one = slopes.shape[1] == 3
        add_bins, add_entries = (
            (_add_bins_of_one, _add_entries_of_one) if one else (_add_bins, _add_entries)
        )
        add_bins(found, self._bins, self._by_bin, starts, some, slopes)
        rows = self._rows[some]
        add_entries(found, others.indptr, others.entries, rows, some, slopes)
        add_entries(found[starts[-1] :], binned.indptr, binned.indices, rows, some, slopes)
        _add_usual(found, self._listed, others.usual, starts)
        return found


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _entries(bins, usual, listed, starts):  # type: ignore[no-untyped-def]
    """List, by example, the bins that are not the usual ones of their features."""
    examples = bins.shape[1]
    pointers = np.zeros(examples + 1, np.int64)
    for feature in listed:
        for example in range(examples):
            pointers[example + 1] += bins[feature, example] != usual[feature]
    for example in range(examples):
        pointers[example + 1] += pointers[example]
    entries = np.empty(pointers[examples], np.int32)
    at = pointers[:examples].copy()
    for feature in listed:
        for example in range(examples):
            value = bins[feature, example]
            if value != usual[feature]:
                start = starts[feature] if value < 254 else starts[feature + 1] - 256
                entries[at[example]] = start + value
                at[example] += 1
    return pointers, entries


@njit(cache=True)
def _add_entries(found, indptr, entries, rows, some, slopes):  # type: ignore[no-untyped-def]
    """Add examples to the rows of the sums that are listed for them."""
    for at in range(len(some)):
        example = some[at]
        for entry in range(indptr[rows[at]], indptr[rows[at] + 1]):
            place = entries[entry]
            for output in range(slopes.shape[1]):
                found[place, output] += slopes[example, output]


@njit(cache=True)
def _add_entries_of_one(found, indptr, entries, rows, some, slopes):  # type: ignore[no-untyped-def]
    """Do the same where there is one output."""
    for at in range(len(some)):
        gradient, curvature = slopes[some[at], 0], slopes[some[at], 1]
        for entry in range(indptr[rows[at]], indptr[rows[at] + 1]):
            place = entries[entry]
            found[place, 0] += gradient
            found[place, 1] += curvature
            found[place, 2] += 1.0


@njit(cache=True)
def _add_usual(found, listed, usual, starts):  # type: ignore[no-untyped-def]
    """Give the usual bin of features what their other bins leave of the whole."""
    for number in listed:
        for output in range(found.shape[1]):
            rest = found[-1, output]
            for other in range(starts[number], starts[number + 1]):
                rest -= found[other, output]
            found[usual[number], output] = rest


@njit(cache=True)
def _add_bins(found, bins, numbers, starts, some, slopes):  # type: ignore[no-untyped-def]
    """Add examples to the bins of features."""
    for at in range(len(numbers)):
        column = bins[at]
        start, end = starts[numbers[at]], starts[numbers[at] + 1]
        for example in some:
            value = column[example]
            place = start + value if value < 254 else end - 256 + value
            for output in range(slopes.shape[1]):
                found[place, output] += slopes[example, output]


@njit(cache=True)
def _add_bins_of_one(found, bins, numbers, starts, some, slopes):  # type: ignore[no-untyped-def]
    """Do the same where there is one output.

    Of several features at a time: many examples are in the same bin of a feature, and each
    addition to it would wait for the one before.
    """
    many = len(numbers)
    places = np.zeros(4, np.int64)
    for first in range(0, many, 4):
        here = min(4, many - first)
        one, two, three, four = (
            bins[first],
            bins[min(first + 1, many - 1)],
            bins[min(first + 2, many - 1)],
            bins[min(first + 3, many - 1)],
        )
        for example in some:
            gradient, curvature = slopes[example, 0], slopes[example, 1]
            places[0], places[1] = one[example], two[example]
            places[2], places[3] = three[example], four[example]
            for number in range(here):
                value = places[number]
                if value < 254:
                    place = starts[numbers[first + number]] + value
                else:
                    place = starts[numbers[first + number] + 1] - 256 + value
                found[place, 0] += gradient
                found[place, 1] += curvature
                found[place, 2] += 1.0


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
