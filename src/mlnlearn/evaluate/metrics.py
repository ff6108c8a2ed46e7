"""All metrics of a set of predictions at once, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlnlearn.data.sampling import distinct
from mlnlearn.errors import InputError
from mlnlearn.evaluate.probability import brier, calibration_error, cll
from mlnlearn.evaluate.ranking import labelled, operating_points

_RANKING = ("auc_pr", "ap", "auc_roc")
_OTHERS = {"cll": cll, "brier": brier, "calibration_error": calibration_error}

METRICS = (*_RANKING, *_OTHERS)
"""Names of all metrics of single atoms."""
SMALLER_IS_BETTER = frozenset({"brier", "calibration_error"})
"""The metrics that measure an error."""


def scores(
    labels: ArrayLike,
    probabilities: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    metrics: Iterable[str] = METRICS,
) -> dict[str, float]:
    """Return the metrics of predictions, by name; the examples are sorted only once.

    Parameters
    ----------
    labels
        Whether each atom is true.
    probabilities
        Predicted probability that it is.
    weights
        How many atoms each stands for; by default 1.
    metrics
        Which ones: ``auc_pr``, ``ap`` (average precision), ``auc_roc``, ``cll``, ``brier``,
        ``calibration_error``.

    Examples
    --------
    >>> found = scores([True, False], [0.8, 0.2], metrics=["auc_pr", "brier"])
    >>> {name: round(value, 6) for name, value in found.items()}
    {'auc_pr': 1.0, 'brier': 0.04}
    """
    wanted = list(metrics)
    for name in wanted:
        if name not in METRICS:
            raise InputError(f"no metric {name!r}; there are: {', '.join(METRICS)}")
    found: dict[str, float] = {}
    if set(wanted) & set(_RANKING):
        points = operating_points(labels, probabilities, weights)
        found["auc_pr"] = points.auc_pr()
        found["ap"] = points.average_precision()
        found["auc_roc"] = points.auc_roc()
    for name, metric in _OTHERS.items():
        if name in wanted:
            found[name] = metric(labels, probabilities, weights)
    return {name: found[name] for name in wanted}


def sample_negatives(
    labels: ArrayLike, ratio: float, rng: np.random.Generator | int
) -> NDArray[np.int64]:
    """Return the places of all positives and of a random sample of the negatives, in order.

    With `ratio` 2 this is the "twice the negatives" of the published tables. Where there are fewer
    negatives than that, all are taken.

    Examples
    --------
    >>> len(sample_negatives([True] + [False] * 9, 2, 0))
    3
    """
    truth = np.asarray(labels, np.bool_)
    negatives = np.flatnonzero(~truth)
    positives = np.flatnonzero(truth)
    wanted = min(len(negatives), round(ratio * len(positives)))
    chosen = negatives[distinct(len(negatives), wanted, np.random.default_rng(rng))]
    return np.sort(np.concatenate([positives, chosen]))


def sampled_scores(
    labels: ArrayLike,
    probabilities: ArrayLike,
    *,
    ratio: float = 2.0,
    repeats: int = 20,
    rng: np.random.Generator | int = 0,
    metrics: Iterable[str] = METRICS,
) -> dict[str, float]:
    """Return the metrics over all positives and sampled negatives, averaged over repeated samples.

    Examples
    --------
    >>> labels, predicted = [True] + 8 * [False], [0.5, 0.9] + 7 * [0.1]
    >>> round(sampled_scores(labels, predicted, repeats=1000, metrics=["ap"])["ap"], 1)  # 7/8
    0.9
    """
    truth, values, _ = labelled(labels, probabilities, None)
    generator = np.random.default_rng(rng)
    wanted = list(metrics)
    found = []
    for _ in range(repeats):
        rows = sample_negatives(truth, ratio, generator)
        found.append(scores(truth[rows], values[rows], metrics=wanted))
    return mean_of(found)


def mean_of(found: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each entry, over the mappings in which it is a number.

    Examples
    --------
    >>> mean_of([{"ap": 0.5, "cll": -1.0}, {"ap": float("nan"), "cll": -3.0}])
    {'ap': 0.5, 'cll': -2.0}
    """
    rows = list(found)
    result = {}
    for name in rows[0] if rows else ():
        values = np.array([row[name] for row in rows], np.float64)
        known = values[~np.isnan(values)]
        result[name] = float(known.mean()) if len(known) else float("nan")
    return result
