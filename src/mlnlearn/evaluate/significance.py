"""Is one learner better than another? Paired tests over folds, and wins, losses and ties."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mlnlearn.errors import InputError
from mlnlearn.evaluate.metrics import SMALLER_IS_BETTER
from mlnlearn.evaluate.ranking import ROUND_OFF, Floats
from mlnlearn.evaluate.results import Results
from mlnlearn.late import late

stats = late("scipy.stats")


def _differences(first: ArrayLike, second: ArrayLike) -> Floats:
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if one.shape != other.shape or one.ndim != 1:
        raise InputError(f"scores must come in pairs; found shapes {one.shape} and {other.shape}")
    gaps = one - other
    paired = ~np.isnan(gaps)
    gaps, size = gaps[paired], np.abs([one[paired], other[paired]])
    # 0.9 - 0.8 and 0.3 - 0.2 are the same difference, though not to the last bit: a rank, or a
    # tie, must not hang on that. Round-off is as large as the scores make it, not the difference.
    largest = float(size.max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return gaps
    unit = ROUND_OFF * largest
    rounded: Floats = np.rint(gaps / unit) * unit
    return rounded


def paired_t_test(first: ArrayLike, second: ArrayLike) -> float:
    """Return the two-sided p-value of the paired t-test; not a number with fewer than two pairs.

    Pairs in which a score is not a number are left out.

    Examples
    --------
    >>> round(paired_t_test([1.0, 2.0, 4.0], [0.0, 0.0, 1.0]), 6)
    0.07418
    """
    gaps = _differences(first, second)
    if len(gaps) < 2:
        return math.nan
    if not np.ptp(gaps):
        # all differences are equal: no doubt at all, or nothing to doubt
        return 1.0 if gaps[0] == 0.0 else 0.0
    return float(stats.ttest_1samp(gaps, 0.0).pvalue)


def wilcoxon(first: ArrayLike, second: ArrayLike) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; ties are left out.

    Examples
    --------
    >>> wilcoxon([1.0, 2.0, 4.0], [0.0, 0.0, 1.0])
    0.25
    """
    gaps = _differences(first, second)
    if not len(gaps):
        return math.nan
    if not gaps.any():
        return 1.0
    return float(stats.wilcoxon(gaps[gaps != 0.0]).pvalue)


@dataclass(frozen=True, slots=True)
class Tally:
    """How often the first of two is better, worse, or no different.

    Examples
    --------
    >>> print(Tally(3, 1, 1))
    3 wins, 1 losses, 1 ties
    """

    wins: int
    losses: int
    ties: int

    def __str__(self) -> str:
        return f"{self.wins} wins, {self.losses} losses, {self.ties} ties"


def wins_losses_ties(first: ArrayLike, second: ArrayLike, tolerance: float = 0.0) -> Tally:
    """Count in how many pairs the first score is higher, lower, or within a tolerance.

    Examples
    --------
    >>> wins_losses_ties([0.9, 0.5, 0.3], [0.8, 0.5, 0.6])
    Tally(wins=1, losses=1, ties=1)
    """
    gaps = _differences(first, second)
    wins = int(np.count_nonzero(gaps > tolerance))
    losses = int(np.count_nonzero(gaps < -tolerance))
    return Tally(wins, losses, len(gaps) - wins - losses)


@dataclass(frozen=True, slots=True)
class LearnerComparison:
    """Two learners on the same folds, by one metric.

    Attributes
    ----------
    first, second
        Their names.
    metric
        What is compared.
    difference
        Mean of first minus second.
    t_test, wilcoxon
        Two-sided p-values.
    tally
        Folds in which the first is better, worse, or the same.
    """

    first: str
    second: str
    metric: str
    difference: float
    t_test: float
    wilcoxon: float
    tally: Tally


def compare(
    first: Results, second: Results, metric: str, tolerance: float = 0.0
) -> LearnerComparison:
    """Compare two learners over the same folds (and predicates); seeds are averaged first.

    Parameters
    ----------
    first, second
        What `cross_validate` returned for each learner, over the same folds.
    metric
        The score to compare by, such as ``auc_pr``.
    tolerance
        Scores that differ by no more than this are a tie.

    Examples
    --------
    >>> from mlnlearn.evaluate.results import FoldResult
    >>> def results(name, *values):
    ...     return Results(name, ("p",), tuple(
    ...         FoldResult(i, "", 0, "p", {"ap": v}, 0.0, 0.0, 0.0, 1, 1)
    ...         for i, v in enumerate(values)))
    >>> print(compare(results("A", 0.9, 0.8), results("B", 0.5, 0.8), "ap").tally)
    1 wins, 0 losses, 1 ties
    """
    one, other = first.by_fold(metric), second.by_fold(metric)
    if set(one) != set(other):
        raise InputError(
            f"{first.learner} and {second.learner} were not run on the same folds and predicates"
        )
    keys = sorted(one)
    mine, theirs = [one[key] for key in keys], [other[key] for key in keys]
    better, worse = (theirs, mine) if metric in SMALLER_IS_BETTER else (mine, theirs)
    gaps = _differences(mine, theirs)
    return LearnerComparison(
        first.learner,
        second.learner,
        metric,
        float(gaps.mean()) if len(gaps) else math.nan,
        paired_t_test(mine, theirs),
        wilcoxon(mine, theirs),
        wins_losses_ties(better, worse, tolerance),
    )
