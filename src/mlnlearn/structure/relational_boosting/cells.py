"""What is listed of examples: the bins that are not the usual ones of features, and sparse columns.

Many of them hold of the very same examples, and many are said of what examples link to: all that
link to the same are in them, or none.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.aggregates import Ints

MISSING = 255
"""The bin of unknown values."""
OTHER = 254
"""The bin of names that are too rare to be told apart."""
_LISTED = 0.3  # the largest share of examples outside of the usual bin that are listed
_SHARED = 4  # fewest examples that share what they link to, on average


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

    def only(self, kept: NDArray[np.bool_]) -> Lists:
        """Return the lists with some of all entries."""
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return Lists(starts, self.entries[kept])


def turned(lists: Lists, number: int) -> Lists:
    """Return, for each of so many numbers, the lists that it is in."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(lists.entries, minlength=number))])
    found = np.empty(len(lists.entries), np.int32)
    _turn(lists.starts, lists.entries, starts[:-1].copy(), found)
    return Lists(starts, found)


@dataclass(frozen=True, eq=False)
class Others:
    """Bins of examples that are not the usual ones of their features, and sparse columns.

    Many hold of the very same examples. A *cell* stands for all that do, and is added up once.

    Attributes
    ----------
    listed, usual
        Of each feature, whether it is listed, and the bin that most examples are in.
    cells, number
        Of each bin, and of each column after them, its cell; -1 where no example is listed. How
        many cells there are.
    groups
        The group of each example by each link, numbered through, a row a link: those that link to
        the same. Links are left out that few examples have in common.
    by_group
        Of each group, the cells that all of its examples are in, if the cell holds whole groups.
    by_example
        Of each example, the other cells that it is in.
    """

    listed: NDArray[np.bool_]
    usual: Ints
    cells: Ints
    number: int
    groups: Ints
    by_group: Lists
    by_example: Lists


def others(bins: NDArray[np.uint8], columns: Lists, starts: Ints, links: Ints) -> Others:
    """Return what is listed of features that are mostly in one bin, or said of links.

    Parameters
    ----------
    bins
        A row a feature, a byte an example.
    columns
        The examples that have each sparse column.
    starts
        Where the bins of each feature begin.
    links
        What the links of examples point to, a row a link; -1 for nothing.
    """
    counts = np.zeros((len(bins), 256), np.int64)
    _count_bins(bins, counts)
    usual = counts.argmax(axis=1)
    shared = [group for group in map(_grouped, links) if _SHARED * group.max() < len(group)]
    listed = bins.shape[1] - counts.max(axis=1) <= _LISTED * bins.shape[1]
    for group in shared:
        rest = np.flatnonzero(~listed)
        first = _first_of_each(group)[group]
        listed[rest] = [bool((bins[at] == bins[at][first]).all()) for at in rest.tolist()]
    cells, distinct = (
        Lists(*_by_bin(bins, usual, counts, np.flatnonzero(listed), starts))
        .then(columns)
        .distinct()
    )
    groups, by_group, own = _split(distinct, shared, bins.shape[1])
    by_example = turned(own, bins.shape[1])
    numbered = _numbered(usual, starts)
    return Others(listed, numbered, cells, len(distinct), groups, by_group, by_example)


def _grouped(link: Ints) -> Ints:
    """Return numbers for what a link points to, without gaps; for nothing, there is one, too."""
    there = np.bincount(link + 1) > 0
    found: Ints = (np.cumsum(there) - 1)[link + 1]
    return found


def _first_of_each(group: Ints) -> Ints:
    """Return the first example of each group."""
    found = np.empty(int(group.max()) + 1, np.int64)
    found[group[::-1]] = np.arange(len(group))[::-1]
    return found


def _split(cells: Lists, shared: list[Ints], examples: int) -> tuple[Ints, Lists, Lists]:
    """Return the groups of examples, the cells of each, and the examples of all other cells."""
    groups = np.empty((len(shared), examples), np.int64)
    taken = np.zeros(len(cells), np.bool_)
    number, pairs = 0, [np.empty((2, 0), np.int64)]
    of_entry = np.repeat(np.arange(len(cells)), np.diff(cells.starts))
    for at, group in enumerate(shared):
        groups[at] = group + number
        whole = _of_whole_groups(cells.starts, cells.entries, group, np.bincount(group)) & ~taken
        taken |= whole
        first = np.zeros(examples, np.bool_)
        first[_first_of_each(group)] = True
        kept = whole[of_entry] & first[cells.entries]
        pairs.append(np.stack([of_entry[kept], groups[at][cells.entries[kept]]]))
        number += int(group.max()) + 1
    cell, of_group = np.concatenate(pairs, axis=1)
    order = np.argsort(of_group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_group, minlength=number))])
    by_group = Lists(starts.astype(np.int64), cell[order].astype(np.int32))
    return groups, by_group, cells.only(~taken[of_entry])


def _numbered(bins: Ints, starts: Ints) -> Ints:
    """Return the numbers of bins, one of each feature."""
    return np.where(bins < OTHER, starts[:-1] + bins, starts[1:] - 256 + bins)


# Compiled functions carry no annotations: numba infers their types.


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
def _of_whole_groups(pointers, entries, group, sizes):  # type: ignore[no-untyped-def]
    """Return which lists hold all examples of a group, or none, of each group."""
    found = np.ones(len(pointers) - 1, np.bool_)
    counts = np.zeros(len(sizes), np.int64)
    for number in range(len(found)):
        for entry in range(pointers[number], pointers[number + 1]):
            counts[group[entries[entry]]] += 1
        for entry in range(pointers[number], pointers[number + 1]):
            here = group[entries[entry]]
            if counts[here] and counts[here] != sizes[here]:
                found[number] = False
            counts[here] = 0
    return found
