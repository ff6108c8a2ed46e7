"""Histograms of gradients over binned features.

Numbers and names are bins of a byte matrix, a row a feature; whether some related row has a given
name is a column of a sparse matrix. Most features of relations say the same of most examples: that
nothing is there. Only what differs from it is added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import inner, njit
from mlnlearn.counting.aggregates import Floats, Ints

MISSING = 255
"""The bin of unknown values."""
OTHER = 254
"""The bin of names that are too rare to be told apart."""
_HAS = np.arange(256) == 1  # the bins that pass of a column of flags
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
    def by_column(self) -> Lists:
        """The examples that have each sparse column."""
        return _turned(Lists(self.indptr, self.indices), len(self.doubts))

    def has(self, column: int) -> NDArray[np.bool_]:
        """Return which examples have a sparse column."""
        found = np.zeros(len(self.indptr) - 1, np.bool_)
        found[self.by_column[column]] = True
        return found

    def passes(self, test: tuple[int, NDArray[np.bool_]], rows: Ints) -> NDArray[np.bool_]:
        """Return which rows pass a test: of a feature by its bins, of a sparse column by having it.

        Parameters
        ----------
        test
            The number of the feature, and which of its bins pass.
        rows
            The rows.
        """
        feature, passing = test
        if feature >= self.dense:
            return self.has(feature - self.dense)[rows]
        found: NDArray[np.bool_] = passing[self.bins[feature][rows]]
        return found

    def parted(
        self, test: tuple[int, NDArray[np.bool_]], rows: Ints, places: Ints
    ) -> tuple[Ints, Ints]:
        """Return which places among rows are of those that pass a test, and which are of others.

        Parameters
        ----------
        test
            As in `passes`.
        rows
            The rows.
        places
            Places among them, in rising order, as both parts will be.
        """
        found: tuple[Ints, Ints] = _part(*self.column(test), rows, places)
        return found

    def column(
        self, test: tuple[int, NDArray[np.bool_]]
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return the bins of all examples by the feature of a test, and which of them pass.

        Having a sparse column is bin 1.
        """
        feature, passing = test
        if feature < self.dense:
            return self.bins[feature], passing
        return self.has(feature - self.dense).view(np.uint8), _HAS

    @cached_property
    def others(self) -> _Others:
        """What is listed by example: of features that are mostly in one bin, the other bins."""
        counts = np.zeros((len(self.bins), 256), np.int64)
        _count_bins(self.bins, counts)
        usual = counts.argmax(axis=1)
        listed = len(self.indptr) - 1 - counts.max(axis=1) <= _LISTED * self.bins.shape[1]
        bins = Lists(*_by_bin(self.bins, usual, counts, np.flatnonzero(listed), self.starts))
        cells, distinct = bins.then(self.by_column).distinct()
        by_example = _turned(distinct, len(self.indptr) - 1)
        return _Others(listed, _numbered(usual, self.starts), cells, len(distinct), by_example)


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of numbers, one after the other.

    Attributes
    ----------
    starts
        Where each begins, and where the last ends.
    entries
        What they hold, in rising order each.
    """

    starts: Ints
    entries: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> NDArray[np.int32]:
        return self.entries[self.starts[number] : self.starts[number + 1]]

    def then(self, other: Lists) -> Lists:
        """Return these lists, and others after them."""
        starts = np.concatenate([self.starts, self.starts[-1] + other.starts[1:]])
        return Lists(starts, np.concatenate([self.entries, other.entries]))

    def distinct(self) -> tuple[Ints, Lists]:
        """Return the number of each list among those that differ, -1 if it is empty, and these."""
        numbers: dict[bytes, int] = {}
        found = np.full(len(self), -1)
        first: list[NDArray[np.int32]] = []
        for number in np.flatnonzero(np.diff(self.starts)).tolist():
            key = blake2b(self[number].data, digest_size=16).digest()
            found[number] = numbers.setdefault(key, len(numbers))
            if found[number] == len(first):
                first.append(self[number])
        starts = np.cumsum([0, *map(len, first)])
        return found, Lists(starts, np.concatenate([np.empty(0, np.int32), *first]))


def _turned(lists: Lists, number: int) -> Lists:
    """Return, for each of so many numbers, the lists that it is in."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(lists.entries, minlength=number))])
    found = np.empty(len(lists.entries), np.int32)
    _turn(lists.starts, lists.entries, starts[:-1].copy(), found)
    return Lists(starts, found)


@dataclass(frozen=True, eq=False)
class _Others:
    """Bins of examples that are not the usual ones of their features, and sparse columns.

    Many hold of the very same examples. A *cell* stands for all that do, and is added up once.

    Attributes
    ----------
    listed, usual
        Of each feature, whether it is listed, and the bin that most examples are in.
    cells, number
        Of each bin, and of each column after them, its cell; -1 where no example is listed. How
        many cells there are.
    by_example
        Of each example, the cells that it is in.
    """

    listed: NDArray[np.bool_]
    usual: Ints
    cells: Ints
    number: int
    by_example: Lists


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
        self._by_bin = np.flatnonzero(chosen & ~listed)
        self._listed = np.flatnonzero(chosen & listed)
        self._bins = picked(binned.bins, self._by_bin, rows)

    def sums(self, some: Ints) -> Floats:
        """Return the sums over some examples."""
        binned, others, slopes = self._binned, self._binned.others, self._slopes
        one = slopes.shape[1] == 3
        found: Floats = (_sums_of_one if one else _sums)(
            len(binned.doubts),
            (self._bins, self._by_bin, self._listed, binned.starts),
            (others.by_example.starts, others.by_example.entries, others.cells, others.number),
            others.usual,
            self._rows,
            some,
            slopes,
        )
        return found


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _part(column, passing, rows, places):  # type: ignore[no-untyped-def]
    """Return the places whose rows have bins that pass, and the others."""
    yes, no = np.empty(len(places), np.int64), np.empty(len(places), np.int64)
    passed = 0
    for at in range(len(places)):  # both are written: a jump would often be guessed wrong
        place = places[at]
        yes[passed], no[at - passed] = place, place
        passed += passing[column[rows[place]]]
    return yes[:passed], no[: len(places) - passed]


@njit(cache=True)
def _count_bins(bins, found):  # type: ignore[no-untyped-def]
    """Count the examples in each bin of each feature."""
    for feature in range(len(bins)):
        for bin_ in bins[feature]:
            found[feature, bin_] += 1


@njit(cache=True)
def _by_bin(bins, usual, counts, listed, starts):  # type: ignore[no-untyped-def]
    """List the examples in the bins of features that are not their usual ones."""
    pointers = np.zeros(starts[-1] + 1, np.int64)
    for feature in listed:
        for value in range(256):
            if counts[feature, value] and value != usual[feature]:
                start = starts[feature] if value < 254 else starts[feature + 1] - 256
                pointers[start + value + 1] = counts[feature, value]
    for number in range(starts[-1]):
        pointers[number + 1] += pointers[number]
    entries = np.empty(pointers[-1], np.int32)
    at = pointers[:-1].copy()
    for feature in listed:
        for example in range(bins.shape[1]):
            value = bins[feature, example]
            if value != usual[feature]:
                start = starts[feature] if value < 254 else starts[feature + 1] - 256
                entries[at[start + value]] = example
                at[start + value] += 1
    return pointers, entries


@njit(cache=True)
def _turn(pointers, entries, at, found):  # type: ignore[no-untyped-def]
    """List, for each number, the lists that it is in; `at` is where what is of each begins."""
    for number in range(len(pointers) - 1):
        for entry in range(pointers[number], pointers[number + 1]):
            found[at[entries[entry]]] = number
            at[entries[entry]] += 1


@njit(cache=True)
def picked(bins, features, rows):  # type: ignore[no-untyped-def]
    """Return the bins of some features for some rows."""
    found = np.empty((len(features), len(rows)), np.uint8)
    for number in range(len(features)):
        column = bins[features[number]]
        for at in range(len(rows)):
            found[number, at] = column[rows[at]]
    return found


@inner
def _add_all(found, some, slopes):  # type: ignore[no-untyped-def]
    """Add examples to the sums over all."""
    for example in some:
        for output in range(slopes.shape[1]):
            found[output] += slopes[example, output]


@inner
def _add_entries(found, indptr, entries, rows, some, slopes):  # type: ignore[no-untyped-def]
    """Add examples to the rows of the sums that are listed for them."""
    for example in some:
        row = rows[example]
        for entry in range(indptr[row], indptr[row + 1]):
            place = entries[entry]
            for output in range(slopes.shape[1]):
                found[place, output] += slopes[example, output]


@inner
def _add_entries_of_one(found, indptr, entries, rows, some, slopes):  # type: ignore[no-untyped-def]
    """Do the same where there is one output."""
    for example in some:
        gradient, curvature, row = slopes[example, 0], slopes[example, 1], rows[example]
        for entry in range(indptr[row], indptr[row + 1]):
            place = entries[entry]
            found[place, 0] += gradient
            found[place, 1] += curvature
            found[place, 2] += 1.0


@njit(cache=True)
def give_cells(found, sums, cells):  # type: ignore[no-untyped-def]
    """Give bins and columns the sums of their cells."""
    for place in range(len(cells)):
        if cells[place] >= 0:
            for output in range(found.shape[1]):
                found[place, output] = sums[cells[place], output]


@njit(cache=True)
def add_usual(found, listed, usual, starts):  # type: ignore[no-untyped-def]
    """Give the usual bin of features what their other bins leave of the whole."""
    for number in listed:
        for output in range(found.shape[1]):
            rest = found[-1, output]
            for other in range(starts[number], starts[number + 1]):
                rest -= found[other, output]
            found[usual[number], output] = rest


@inner
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


@inner
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
def _sums(columns, features, listed, usual, rows, some, slopes):  # type: ignore[no-untyped-def]
    """Return the sums over some examples, by bins, by columns after them, and over all."""
    bins, by_bin, mostly_usual, starts = features
    pointers, entries, of_place, number = listed
    found = np.zeros((starts[-1] + columns + 1, slopes.shape[1]))
    cells = np.zeros((number, slopes.shape[1]))
    _add_all(found[-1], some, slopes)
    _add_bins(found, bins, by_bin, starts, some, slopes)
    _add_entries(cells, pointers, entries, rows, some, slopes)
    give_cells(found, cells, of_place)
    add_usual(found, mostly_usual, usual, starts)
    return found


@njit(cache=True)
def _sums_of_one(columns, features, listed, usual, rows, some, slopes):  # type: ignore[no-untyped-def]
    """Do the same where there is one output."""
    bins, by_bin, mostly_usual, starts = features
    pointers, entries, of_place, number = listed
    found = np.zeros((starts[-1] + columns + 1, 3))
    cells = np.zeros((number, 3))
    _add_all(found[-1], some, slopes)
    _add_bins_of_one(found, bins, by_bin, starts, some, slopes)
    _add_entries_of_one(cells, pointers, entries, rows, some, slopes)
    give_cells(found, cells, of_place)
    add_usual(found, mostly_usual, usual, starts)
    return found
