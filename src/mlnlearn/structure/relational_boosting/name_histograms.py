"""Histograms of gradients by the bins of features and the names of an axis.

Laid out as those of a score for each name: an example counts for its own name alone, so that it is
added up once by feature, however many names there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.structure.relational_boosting.histograms import (
    Binned,
    add_usual,
    give_cells,
    picked,
)


class NameHistograms:
    """Sums over examples, as `Histograms` has them, with columns for each name of an axis.

    Parameters
    ----------
    binned, rows
        The features, and the examples that take part.
    slopes
        Gradients and curvatures of these examples, a row each.
    names, number
        The name of each of them, and how many names there are.
    use
        Which features are of interest.
    """

    def __init__(
        self,
        binned: Binned,
        rows: Ints,
        slopes: Floats,
        names: Ints,
        number: int,
        use: NDArray[np.bool_],
    ) -> None:
        self._binned, self._rows = binned, rows
        self._examples = np.ascontiguousarray(slopes), names, number
        chosen, listed = use[: binned.dense], binned.others.listed
        self._by_bin = np.flatnonzero(chosen & ~listed)
        self._listed = np.flatnonzero(chosen & listed)
        self._bins = picked(binned.bins, self._by_bin, rows)

    def sums(self, some: Ints) -> Floats:
        """Return the sums over some examples: gradients by name, curvatures by name, counts."""
        binned, others = self._binned, self._binned.others
        starts, width = binned.starts, 2 * self._examples[2] + 1
        found = np.zeros((starts[-1] + len(binned.doubts) + 1, width))
        _add_all(found[-1], some, self._examples)
        _add_bins(found, self._bins, self._by_bin, starts, some, self._examples)
        cells = np.zeros((others.number, width))
        listed = [(self._rows, others.by_example)]
        listed += [(of_link[self._rows], others.by_group) for of_link in others.groups]
        for rows, lists in listed:
            _add_entries(cells, lists.starts, lists.entries, rows, some, self._examples)
        give_cells(found, cells, others.cells)
        add_usual(found, self._listed, others.usual, starts)
        return found


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _add(row, example, examples):  # type: ignore[no-untyped-def]
    slopes, names, number = examples
    name = names[example]
    row[name] += slopes[example, 0]
    row[number + name] += slopes[example, 1]
    row[2 * number] += 1.0


@njit(cache=True)
def _add_all(found, some, examples):  # type: ignore[no-untyped-def]
    """Add examples to the sums over all."""
    for example in some:
        _add(found, example, examples)


@njit(cache=True)
def _add_bins(found, bins, numbers, starts, some, examples):  # type: ignore[no-untyped-def]
    """Add examples to the bins of features."""
    for at in range(len(numbers)):
        column = bins[at]
        start, end = starts[numbers[at]], starts[numbers[at] + 1]
        for example in some:
            value = column[example]
            _add(found[start + value if value < 254 else end - 256 + value], example, examples)


@njit(cache=True)
def _add_entries(found, indptr, entries, rows, some, examples):  # type: ignore[no-untyped-def]
    """Add examples to the rows of the sums that are listed for them."""
    for example in some:
        row = rows[example]
        for entry in range(indptr[row], indptr[row + 1]):
            _add(found[entries[entry]], example, examples)
