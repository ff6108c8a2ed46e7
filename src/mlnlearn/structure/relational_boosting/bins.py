"""Bins of features: at most 254 by quantiles, a bin a name, and one for what is not known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.model.relational.evaluate import Values
from mlnlearn.model.relational.trees import Test
from mlnlearn.structure.relational_boosting.cells import MISSING, OTHER

MOST_BINS = 254
_DAY = 86_400.0


@dataclass(frozen=True, eq=False)
class Binning:
    """How the values of a feature become bins.

    Attributes
    ----------
    edges
        Of numbers: a value is in the bin of the number of edges below it.
    names
        Of names: the name of each bin; None for numbers.
    """

    edges: Floats
    names: tuple[str, ...] | None = None

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self.edges) + 1 if self.names is None else len(self.names)

    def bins(self, values: Values) -> NDArray[np.uint8]:
        """Return the bins of values."""
        unknown = np.isnan(values.values)
        if self.names is None:
            found = np.searchsorted(self.edges, values.values, side="left")
        else:
            places = {name: place for place, name in enumerate(self.names)}
            by_code = np.array([places.get(name, OTHER) for name in values.names or ()] + [OTHER])
            found = by_code[np.where(unknown, -1, values.values).astype(np.int64)]
        return np.where(unknown, MISSING, found).astype(np.uint8)

    def passing(self, test: Test) -> NDArray[np.bool_]:
        """Return which bins pass a test of the feature."""
        found = np.zeros(256, np.bool_)
        if self.names is not None:
            for at, name in enumerate(self.names):
                found[at] = name in test.names
        elif test.threshold is not None:
            found[np.searchsorted(self.edges, test.threshold) + 1 : MOST_BINS] = True
        found[MISSING] = test.missing
        return found


def binning(
    values: Values, least: int, most: int = MOST_BINS, kept: NDArray[np.bool_] | None = None
) -> Binning:
    """Choose bins for the values of examples.

    Parameters
    ----------
    values
        The values.
    least
        A name that fewer examples have is not told from others.
    most
        Most bins.
    kept
        Names that may have a bin of their own; by default all.

    Examples
    --------
    >>> binning(Values(np.array([1.0, 1.0, 2.0, np.nan, 5.0])), 1).edges.tolist()
    [1.5, 3.5]
    >>> binning(Values(86_400.0 * np.array([1.0, 2.0, 5.0])), 1).edges.tolist()
    [86400.0, 259200.0]
    """
    known = values.values[~np.isnan(values.values)]
    if values.names is not None:
        counts = np.bincount(known.astype(np.int64), minlength=len(values.names))
        if kept is not None:
            counts[~kept] = 0
        order = np.argsort(-counts, kind="stable")[:most]
        own = np.sort(order[counts[order] >= max(least, 1)])
        return Binning(np.empty(0), tuple(values.names[code] for code in own))
    known = np.sort(known)
    first = np.flatnonzero(np.append(len(known) > 0, known[1:] != known[:-1]))
    distinct, counts = known[first], np.diff(first, append=len(known))
    # values that differ by round-off alone are one: a cut between them says nothing
    apart = np.diff(distinct) > 1e-9 * np.maximum(np.abs(distinct[1:]), np.abs(distinct[:-1]))
    cuts = np.flatnonzero(apart)
    if len(cuts) > most - 1:
        at = np.cumsum(counts)[cuts]
        goals = np.linspace(0, len(known), most + 1)[1:-1]
        cuts = np.unique(cuts[np.minimum(np.searchsorted(at, goals), len(cuts) - 1)])
    low, high = distinct[cuts], distinct[np.minimum(cuts + 1, len(distinct) - 1)]
    edges = low + (high - low) / 2
    # between two days lies the first of them, not a noon
    return Binning(edges - edges % _DAY if not np.any(distinct % _DAY) else edges)


def screening_scores(
    bins: NDArray[np.uint8], folds: Ints, number: int, gradients: Floats, curvatures: Floats
) -> Floats:
    """Return how much bins of a feature tell of gradients, less what chance would.

    Under chance, the sum of squared gradients over their variance is about one for each bin and
    output. The first score is that of all examples; of each fold, one without its examples
    follows.

    Parameters
    ----------
    bins
        Of each example.
    folds, number
        The fold of each example, and how many there are: those of a higher one are in none.
    gradients, curvatures
        Of each example, (examples, outputs).
    """
    outputs = gradients.shape[1]
    slopes = np.zeros((number + 1, 256, 2 * outputs + 1))
    _add_by_fold(slopes, bins, folds, gradients, curvatures)
    whole = slopes.sum(axis=0)
    without = np.concatenate([whole[None], whole - slopes[:number]])
    total = np.zeros(number + 1)
    for output in range(outputs):
        sums, weights = without[:, :, output], without[:, :, outputs + output]
        total += (sums**2 / (weights + 1.0)).sum(axis=1)
        total -= sums.sum(axis=1) ** 2 / (weights.sum(axis=1) + 1.0)
    free = (np.count_nonzero(without[:, :, -1] > 0, axis=1) - 1) * outputs
    scores: Floats = (total - free) / np.sqrt(2.0 * np.maximum(free, 1))
    return np.where(free > 0, scores, -np.inf)


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _add_by_fold(found, bins, folds, gradients, curvatures):  # type: ignore[no-untyped-def]
    """Add up slopes by fold and bin, and count examples; those in no fold are in the last one."""
    outputs, last = gradients.shape[1], len(found) - 1
    for example in range(len(bins)):
        fold, bin_ = min(folds[example], last), bins[example]
        for output in range(outputs):
            found[fold, bin_, output] += gradients[example, output]
            found[fold, bin_, outputs + output] += curvatures[example, output]
        found[fold, bin_, 2 * outputs] += 1.0
