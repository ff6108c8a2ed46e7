"""Bins of features: at most 254 by quantiles, a bin a name, and one for what is not known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.aggregates import Floats
from mlnlearn.model.relational.evaluate import Values
from mlnlearn.structure.relational_boosting.grow import MISSING, OTHER

MOST_BINS = 254


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
    distinct, counts = np.unique(known, return_counts=True)
    # values that differ by round-off alone are one: a cut between them says nothing
    apart = np.diff(distinct) > 1e-9 * np.maximum(np.abs(distinct[1:]), np.abs(distinct[:-1]))
    cuts = np.flatnonzero(apart)
    if len(cuts) > most - 1:
        at = np.cumsum(counts)[cuts]
        goals = np.linspace(0, len(known), most + 1)[1:-1]
        cuts = np.unique(cuts[np.minimum(np.searchsorted(at, goals), len(cuts) - 1)])
    low, high = distinct[cuts], distinct[np.minimum(cuts + 1, len(distinct) - 1)]
    return Binning(low + (high - low) / 2)


def screening_score(
    bins: NDArray[np.uint8], gradients: Floats, curvatures: Floats, ridge: float
) -> float:
    """Return how much bins of a feature tell of gradients, less what chance would.

    Under chance, the sum of squared gradients over their variance is about one for each bin and
    output.
    """
    counts = np.bincount(bins, minlength=256)
    total = 0.0
    for gradient, curvature in zip(gradients.T, curvatures.T, strict=True):
        sums = np.bincount(bins, gradient, 256)
        weights = np.bincount(bins, curvature, 256)
        total += float((sums**2 / (weights + ridge)).sum())
        total -= float(gradient.sum() ** 2 / (curvature.sum() + ridge))
    free = (np.count_nonzero(counts) - 1) * gradients.shape[1]
    return (total - free) / np.sqrt(2.0 * max(free, 1)) if free else -np.inf
