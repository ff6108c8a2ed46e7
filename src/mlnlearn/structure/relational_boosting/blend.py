"""How much trees and the linear part count, and how far scores go: chosen on held-out examples.

Values of leaves are shrunk, and steps end where another tree is not worth it; where labels follow
from features without exception, what is left is less sure than the data. Factors that predict
held-out examples best make up for that, and where a part is too sure, take it back. A gain that
could be chance is believed in part: scores are drawn back by how uncertain it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.structure.relational_boosting.losses import Loss
from mlnlearn.structure.relational_boosting.steps import BoostingRun

_MOST, _BY_EXAMPLES = 8.0, 50  # the largest factor, and examples that allow one more
_DOUBT = 0.1  # examples of each class that are taken to have another label than they seem
_WORTH = 0.01  # of what is gained: what a second part must add
_CHOSEN = 2.0  # by how much the variance of a gain is doubted more than it seems
_LITTLE = 0.1
_BELIEVED = 0.5  # the belief in a gain from which on a larger one is looked at
_FEW = 8.0  # so many examples that carry a gain are few


@dataclass(frozen=True, eq=False)
class Blend:
    """How much trees and tests of single features count, and what held-out examples say of it.

    Attributes
    ----------
    by_trees, by_tests
        The factors of both.
    belief
        How much of the gain of held-out examples is believed.
    deviance
        The mean deviance of held-out examples, drawn back by doubt.
    each, weight
        The deviance of each of them, and how many examples it stands for.
    """

    by_trees: float
    by_tests: float
    belief: float
    deviance: float
    each: Floats
    weight: Floats

    def beats(self, other: Blend, by_itself: bool = False) -> bool:
        """Whether held-out examples gain beyond the standard error.

        Where the other is not believed, what seems to be gained beside it is chance, too.

        Parameters
        ----------
        other
            The other.
        by_itself
            Whether this one may see what the other cannot, and is to be believed instead.
        """
        if (self if by_itself else other).belief < _BELIEVED:
            return False
        gains, total = other.each - self.each, float(self.weight.sum())
        mean = float((self.weight * gains).sum()) / total
        error = float(np.sqrt((self.weight**2 * (gains - mean) ** 2).sum())) / total
        return mean > error


def trees_alone(run: BoostingRun, fold: Ints) -> Blend:
    """Return how much the trees of a run are to be believed by what it left out."""
    label, weight = run.label[fold], run.weight[fold]
    nothing = run.loss.each(np.repeat(run.start[None], len(fold), axis=0), label)
    each = run.loss.each(run.scores[fold], label)
    belief = believed(nothing - each, weight)
    return Blend(belief, 0.0, belief, np.inf, each, weight)


def blend(runs: Sequence[BoostingRun], folds: Sequence[Ints], linear: Sequence[Floats]) -> Blend:
    """Return the factors of trees and of the linear part under which held-out deviance is least.

    Parameters
    ----------
    runs
        Of each fold, the run that did not see it.
    folds
        The examples that were held out.
    linear
        Scores that the linear part gives to them.
    """
    loss = runs[0].loss
    rows = np.concatenate(folds)
    label, weight = runs[0].label[rows], runs[0].weight[rows]
    pairs = list(zip(runs, folds, linear, strict=True))
    start = np.concatenate([np.repeat(run.start[None], len(fold), 0) for run, fold, _ in pairs])
    trees = np.concatenate([run.scores[fold] - run.start for run, fold, _ in pairs])
    other = np.concatenate([scores - run.start for run, _, scores in pairs])
    parts = np.stack([start, trees, other], axis=2)
    if loss.kind != "squares":
        more, labels, share = _doubted(loss, parts, label, weight)
        parts = np.concatenate([parts, more])
        label, weight = np.concatenate([label, labels]), np.concatenate([weight, share])

    def deviance(by: Floats) -> float:
        return loss.deviance(parts @ np.array([1.0, *by]), label, weight)

    nothing = deviance(np.zeros(2))
    plain = slice(0, len(rows))
    found = []
    most = min(_MOST, 1.0 + len(rows) / _BY_EXAMPLES)
    for used in ((True, False), (False, True), (True, True)):
        bounds = [(0.0, most if use else 0.0) for use in used]
        first = np.array(used, np.float64) / sum(used)
        best = minimize(deviance, first, method="L-BFGS-B", bounds=bounds).x
        found.append((deviance(best), best))
    alone = min(found[:2], key=lambda one: one[0])
    together = alone[0] - found[2][0] > _WORTH * max(nothing - alone[0], 0.0)
    best = found[2][1] if together else alone[1]
    before = loss.each(start, label[plain])
    each = loss.each(parts[plain] @ np.array([1.0, *best]), label[plain])
    belief = believed(before - each, weight[plain])
    by_trees, by_tests = best = belief * best
    each = loss.each(parts[plain] @ np.array([1.0, *best]), label[plain])
    return Blend(float(by_trees), float(by_tests), belief, deviance(best), each, weight[plain])


def believed(gains: Floats, weight: Floats) -> float:
    """Return how much of what held-out examples gain is to be believed, between 0 and 1.

    Of the square of a mean that is known up to an error, all but the square of the error is
    expected to be there again, as in the estimator of James and Stein; what was chosen as the best
    of several is doubted twice as much, and what rests on a few examples even more. Of what is
    more than its error a little is kept in any case: for the order in which it puts examples.

    Parameters
    ----------
    gains
        Of each example.
    weight
        How many examples each stands for.

    Examples
    --------
    >>> round(believed(np.array([0.5, 0.6, 0.4, 0.5]), np.ones(4)), 3)
    0.97
    >>> believed(np.array([0.5, -0.5, 0.4, -0.3]), np.ones(4))
    0.0
    """
    total = float(weight.sum())
    mean = float((weight * gains).sum()) / total
    if mean <= 0.0:
        return 0.0
    error = float((weight**2 * (gains - mean) ** 2).sum()) / total**2
    carried = weight * np.abs(gains)
    carriers = float(carried.sum()) ** 2 / float((carried**2).sum())
    doubt = (1.0 + _FEW / carriers) * error / mean**2
    return max(_LITTLE if doubt < 1.0 else 0.0, 1.0 - _CHOSEN * doubt)


def _doubted(
    loss: Loss, parts: Floats, label: Floats, weight: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return examples that keep scores finite: each class's mean scores under other labels."""
    classes = range(max(loss.outputs, 2))
    present = [code for code in classes if np.any(label == code)]
    means = {
        code: np.average(parts[label == code], axis=0, weights=weight[label == code])
        for code in present
    }
    pairs = [(code, other) for code in present for other in classes if other != code]
    share = np.full(len(pairs), _DOUBT / (len(classes) - 1))
    others = np.array([other for _, other in pairs], np.float64)
    return np.stack([means[code] for code, _ in pairs]), others, share
