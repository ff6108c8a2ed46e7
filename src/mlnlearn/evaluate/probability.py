"""Metrics of probabilities: conditional log-likelihood, Brier score and calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mlnlearn.errors import InputError
from mlnlearn.evaluate.ranking import Floats, Labels, labelled

CLIP = 1e-6
"""How close to 0 or 1 a probability may come before its logarithm is taken."""


def _probabilities(
    labels: ArrayLike, probabilities: ArrayLike, weights: ArrayLike | None
) -> tuple[Labels, Floats, Floats | None]:
    truth, values, mass = labelled(labels, probabilities, weights)
    if len(values) and not (values.min() >= 0.0 and values.max() <= 1.0):
        raise InputError(
            f"probabilities must lie between 0 and 1; found {values.min():g} to {values.max():g}"
        )
    return truth, values, mass


def _mean(values: Floats, weights: Floats | None) -> float:
    if weights is None:
        return float(values.mean()) if len(values) else float("nan")
    total = float(weights.sum())
    return float(values @ weights) / total if total else float("nan")


def cll(
    labels: ArrayLike,
    probabilities: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    clip: float = CLIP,
) -> float:
    """Return the conditional log-likelihood: the mean log-probability of what is the case.

    Probabilities are first moved into ``[clip, 1 - clip]``, so that one confident mistake costs
    at most ``log(clip)`` = -13.8. The programs behind the published boosting results put the same
    1e-6 in place of exact zeros and ones.

    Examples
    --------
    >>> round(cll([True, False], [0.5, 0.75]), 6)  # (log 1/2 + log 1/4) / 2
    -1.039721
    >>> round(cll([True], [0.0]), 2)
    -13.82
    """
    truth, values, mass = _probabilities(labels, probabilities, weights)
    inside = np.clip(values, clip, 1.0 - clip)
    return _mean(np.log(np.where(truth, inside, 1.0 - inside)), mass)


def brier(labels: ArrayLike, probabilities: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the Brier score: the mean squared difference of probability and truth.

    Examples
    --------
    >>> brier([True, False], [0.5, 0.5])
    0.25
    """
    truth, values, mass = _probabilities(labels, probabilities, weights)
    return _mean((values - truth) ** 2, mass)


@dataclass(frozen=True, eq=False)
class CalibrationBins:
    """Examples in bins of equal width by predicted probability; empty bins are left out.

    Attributes
    ----------
    predicted
        Mean probability of each bin.
    observed
        Share of positives in each bin.
    weights
        Total weight of each bin.

    Examples
    --------
    >>> bins = calibration_bins([False, True, True], [0.1, 0.9, 1.0], bins=2)
    >>> bins.predicted.tolist(), bins.observed.tolist(), bins.weights.tolist()
    ([0.1, 0.95], [0.0, 1.0], [1.0, 2.0])
    """

    predicted: Floats
    observed: Floats
    weights: Floats


def calibration_bins(
    labels: ArrayLike,
    probabilities: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    bins: int = 10,
) -> CalibrationBins:
    """Sort examples into bins of equal width: what a calibration plot shows.

    Examples
    --------
    >>> calibration_bins([True, False], [0.55, 0.55]).observed
    array([0.5])
    """
    truth, values, mass = _probabilities(labels, probabilities, weights)
    place = np.minimum((values * bins).astype(np.int64), bins - 1)
    unit = np.ones(len(values)) if mass is None else mass
    total: Floats = np.bincount(place, unit, bins).astype(np.float64)
    some = np.flatnonzero(total)
    return CalibrationBins(
        np.bincount(place, unit * values, bins)[some] / total[some],
        np.bincount(place, unit * truth, bins)[some] / total[some],
        total[some],
    )


def calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, weights: ArrayLike | None = None
) -> float:
    """Return the expected calibration error: mean gap of probability and frequency over ten bins.

    Examples
    --------
    >>> round(calibration_error([True, False], [0.75, 0.75]), 6)
    0.25
    """
    found = calibration_bins(labels, probabilities, weights)
    return _mean(np.abs(found.predicted - found.observed), found.weights)
