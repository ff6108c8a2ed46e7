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

from mlnlearn.compiled import inner, njit
from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.structure.relational_boosting.cells import Lists, Others, others, turned

_FEWER = 4  # times as many groups: examples so few are not added up by group
_HAS = np.arange(256) == 1  # the bins that pass of a column of flags


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
    links
        What links of the examples point to, a row a link: what features say of many examples is
        often said of what they link to.
    """

    bins: NDArray[np.uint8]
    kinds: NDArray[np.int8]
    sizes: NDArray[np.int64]
    indptr: Ints
    indices: NDArray[np.int32]
    doubts: Floats
    dense_doubts: Floats | None = None
    links: NDArray[np.integer] | None = None

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
        return turned(Lists(self.indptr, self.indices), len(self.doubts))

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
    def others(self) -> Others:
        """What is listed by example: of features that are mostly in one bin, the other bins."""
        links = np.empty((0, self.bins.shape[1]), np.int64) if self.links is None else self.links
        return others(self.bins, self.by_column, self.starts, links.astype(np.int64, copy=False))


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
            (others.groups, others.by_group.starts, others.by_group.entries),
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


@inner
def _add_shared(found, shared, rows, some, slopes):  # type: ignore[no-untyped-def]
    """Add examples to the rows of the sums that are listed for their groups.

    Where examples are many to a group, each group is added up first.
    """
    groups, pointers, entries = shared
    number = len(pointers) - 1
    few = _FEWER * len(some) < number
    sums = np.zeros((0 if few else number, slopes.shape[1]))
    for link in range(len(groups)):
        of_row = groups[link]
        for example in some:
            group = of_row[rows[example]]
            if few:
                for entry in range(pointers[group], pointers[group + 1]):
                    for output in range(slopes.shape[1]):
                        found[entries[entry], output] += slopes[example, output]
            else:
                for output in range(slopes.shape[1]):
                    sums[group, output] += slopes[example, output]
    for group in range(len(sums)):
        if sums[group, -1] > 0:
            for entry in range(pointers[group], pointers[group + 1]):
                for output in range(slopes.shape[1]):
                    found[entries[entry], output] += sums[group, output]


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
def _sums(  # type: ignore[no-untyped-def]
    columns, features, listed, shared, usual, rows, some, slopes
):
    """Return the sums over some examples, by bins, by columns after them, and over all."""
    bins, by_bin, mostly_usual, starts = features
    pointers, entries, of_place, number = listed
    found = np.zeros((starts[-1] + columns + 1, slopes.shape[1]))
    cells = np.zeros((number, slopes.shape[1]))
    _add_all(found[-1], some, slopes)
    _add_bins(found, bins, by_bin, starts, some, slopes)
    _add_entries(cells, pointers, entries, rows, some, slopes)
    _add_shared(cells, shared, rows, some, slopes)
    give_cells(found, cells, of_place)
    add_usual(found, mostly_usual, usual, starts)
    return found


@njit(cache=True)
def _sums_of_one(  # type: ignore[no-untyped-def]
    columns, features, listed, shared, usual, rows, some, slopes
):
    """Do the same where there is one output."""
    bins, by_bin, mostly_usual, starts = features
    pointers, entries, of_place, number = listed
    found = np.zeros((starts[-1] + columns + 1, 3))
    cells = np.zeros((number, 3))
    _add_all(found[-1], some, slopes)
    _add_bins_of_one(found, bins, by_bin, starts, some, slopes)
    _add_entries_of_one(cells, pointers, entries, rows, some, slopes)
    _add_shared(cells, shared, rows, some, slopes)
    give_cells(found, cells, of_place)
    add_usual(found, mostly_usual, usual, starts)
    return found
