"""Metrics of a ranking: areas under the precision-recall and the ROC curve.

All of them read the same *operating points*: how many positives and negatives score at least as
much as each threshold. Examples with equal scores pass a threshold together, so ties make one
point, whatever the order of the examples. Scores that differ by round-off alone are equal: the same
sum taken in another order must not decide which of two examples ranks higher.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlnlearn.errors import InputError

Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]

ROUND_OFF = 1e-12
"""Numbers this close, relative to their size, are ties: far above what the order of additions
changes, far below any difference that means something."""


def labelled(
    labels: ArrayLike, values: ArrayLike, weights: ArrayLike | None
) -> tuple[Labels, Floats, Floats | None]:
    """Return labels, values and weights as arrays, checked to fit each other.

    Examples
    --------
    >>> labelled([0, 1], [0.2, 0.7], None)
    (array([False,  True]), array([0.2, 0.7]), None)
    """
    truth = np.asarray(labels, np.bool_)
    numbers = np.asarray(values, np.float64)
    if truth.ndim != 1 or truth.shape != numbers.shape:
        raise InputError(f"labels have shape {truth.shape}, but values {numbers.shape}")
    if np.isnan(numbers).any():
        raise InputError("a predicted value is not a number")
    if weights is None:
        return truth, numbers, None
    mass = np.asarray(weights, np.float64)
    if mass.shape != truth.shape:
        raise InputError(f"labels have shape {truth.shape}, but weights {mass.shape}")
    if len(mass) and not (mass.min() >= 0.0 and np.isfinite(mass.max())):
        raise InputError("weights must be finite and not negative")
    return truth, numbers, mass


@dataclass(frozen=True, eq=False)
class OperatingPoints:
    """Weight of the examples at or above each threshold, from the highest threshold down.

    Attributes
    ----------
    thresholds
        The distinct scores, in descending order; of scores equal up to round-off, the lowest.
    true_positives, false_positives
        Total weight of the positives, and of the negatives, that score at least the threshold.

    Examples
    --------
    >>> points = operating_points([True, False, True], [0.9, 0.9, 0.1])
    >>> points.thresholds.tolist(), points.true_positives.tolist(), points.false_positives.tolist()
    ([0.9, 0.1], [1.0, 2.0], [1.0, 1.0])
    """

    thresholds: Floats
    true_positives: Floats
    false_positives: Floats

    @property
    def positives(self) -> float:
        """Weight of all positives."""
        return float(self.true_positives[-1]) if len(self.thresholds) else 0.0

    @property
    def negatives(self) -> float:
        """Weight of all negatives."""
        return float(self.false_positives[-1]) if len(self.thresholds) else 0.0

    @property
    def recall(self) -> Floats:
        """Share of the positives found at each threshold; not a number without positives."""
        return self.true_positives / (self.positives or np.nan)

    @property
    def fall_out(self) -> Floats:
        """Share of the negatives taken for positives; not a number without negatives."""
        return self.false_positives / (self.negatives or np.nan)

    @property
    def precision(self) -> Floats:
        """Share of positives among the examples at or above each threshold."""
        found = self.true_positives + self.false_positives
        return np.divide(self.true_positives, found, out=np.ones_like(found), where=found > 0)

    def auc_pr(self) -> float:
        """Return the area under the interpolated precision-recall curve; see `auc_pr`."""
        if not self.positives:
            return float("nan")
        true = np.concatenate([[0.0], self.true_positives])
        false = np.concatenate([[0.0], self.false_positives])
        gain = np.diff(true)
        rising = np.flatnonzero(gain > 0)
        gain = gain[rising]
        # Between two points FP = FP_A + s·(TP - TP_A), so that precision = TP / (a·TP + b) with
        # a = 1 + s, b = FP_A - s·TP_A, whose integral over TP is elementary.
        slope = np.diff(false)[rising] / gain
        a = 1.0 + slope
        b = false[rising] - slope * true[rising]
        start = true[rising] + false[rising]
        # From the origin b = 0: the first point's precision holds all the way to recall 0.
        ratio = np.divide(a * gain, start, out=np.zeros_like(start), where=start > 0)
        area = gain / a - b / (a * a) * np.log1p(ratio)
        return float(area.sum() / self.positives)

    def average_precision(self) -> float:
        """Return the mean precision at the thresholds, by gained recall."""
        if not self.positives:
            return float("nan")
        gained = np.diff(self.true_positives, prepend=0.0)
        return float(gained @ self.precision / self.positives)

    def auc_roc(self) -> float:
        """Return the area under the ROC curve."""
        if not self.positives or not self.negatives:
            return float("nan")
        true = np.concatenate([[0.0], self.true_positives])
        width = np.diff(self.false_positives, prepend=0.0)
        area = width @ (true[1:] + true[:-1]) / 2.0
        return float(area / (self.positives * self.negatives))

    def interpolated(self, recall: ArrayLike) -> Floats:
        """Return the precision at given recalls in (0, 1], on the curve that `auc_pr` measures."""
        wanted = np.asarray(recall, np.float64) * self.positives
        true = np.concatenate([[0.0], self.true_positives])
        false = np.concatenate([[0.0], self.false_positives])
        # the first point that reaches the recall, and the last one before it
        after = np.minimum(np.searchsorted(true, wanted, side="left"), len(true) - 1)
        after = np.maximum(after, 1)
        share = (wanted - true[after - 1]) / (true[after] - true[after - 1])
        wrong = false[after - 1] + share * (false[after] - false[after - 1])
        result: Floats = wanted / (wanted + wrong)
        return result


def operating_points(
    labels: ArrayLike, scores: ArrayLike, weights: ArrayLike | None = None
) -> OperatingPoints:
    """Return the operating points of a scoring, one for each distinct score.

    Examples
    --------
    >>> operating_points([True, False], [0.8, 0.3]).precision
    array([1. , 0.5])
    """
    truth, values, mass = labelled(labels, scores, weights)
    if mass is not None and not mass.all():
        # an example without weight is no example, so it must not make an operating point either
        some = mass > 0
        truth, values, mass = truth[some], values[some], mass[some]
    order = np.argsort(-values)
    ranked = values[order]
    falls = ~np.isclose(ranked[1:], ranked[:-1], rtol=ROUND_OFF, atol=0.0)
    last = np.flatnonzero(np.append(falls, True)[: len(ranked)])
    hits = truth[order]
    if mass is None:
        true = np.cumsum(hits, dtype=np.int64)[last].astype(np.float64)
        false = (last + 1) - true
    else:
        heavy = mass[order]
        true = np.cumsum(np.where(hits, heavy, 0.0))[last]
        false = np.cumsum(np.where(hits, 0.0, heavy))[last]
    return OperatingPoints(ranked[last], true, false)


def auc_pr(labels: ArrayLike, scores: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the area under the precision-recall curve, correctly interpolated.

    Between two operating points, a classifier that picks either at random finds true and false
    positives in proportion, so precision follows a hyperbola, not a straight line (Davis &
    Goadrich 2006, section 4). Their program adds trapezoids at every whole number of true
    positives; here the hyperbola is integrated exactly. The precision of the first point is
    extended to recall 0. Not a number without positives.

    Examples
    --------
    >>> area = auc_pr([True, False, False, True], [0.9, 0.6, 0.5, 0.4])
    >>> round(area, 6), round(1 - np.log(4 / 3), 6)  # by hand: 1/2 + (1 - 2 log 4/3) / 2
    (0.712318, np.float64(0.712318))
    """
    return operating_points(labels, scores, weights).auc_pr()


def average_precision(
    labels: ArrayLike, scores: ArrayLike, weights: ArrayLike | None = None
) -> float:
    """Return the average precision: the precision at each threshold, weighted by gained recall.

    The area under the stepwise curve, without interpolation, as scikit-learn defines it. Not a
    number without positives.

    Examples
    --------
    >>> average_precision([True, False, False, True], [0.9, 0.6, 0.5, 0.4])
    0.75
    """
    return operating_points(labels, scores, weights).average_precision()


def auc_roc(labels: ArrayLike, scores: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the area under the ROC curve: how often a positive outranks a negative.

    Ties count half. Not a number where one of the classes is missing.

    Examples
    --------
    >>> auc_roc([True, False, False, True], [0.9, 0.6, 0.5, 0.4])
    0.5
    """
    return operating_points(labels, scores, weights).auc_roc()
