"""What boosting lowers: deviances with their first and second derivatives in the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, log_softmax, logsumexp, softmax

from mlnlearn.compiled import njit
from mlnlearn.counting.aggregates import Floats

Kind = Literal["logistic", "classes", "squares"]
_FAR = 5.0  # times the spread of the middle half
_OF_RARER = 6


@dataclass(frozen=True, eq=False)
class Loss:
    """A deviance of labels under scores, weighted by examples.

    Attributes
    ----------
    kind
        ``"logistic"``: one score, the log-odds of label 1; ``"classes"``: a score a class;
        ``"squares"``: half the squared error.
    outputs
        Number of scores.
    """

    kind: Kind
    outputs: int

    def start(self, label: Floats, weight: Floats) -> Floats:
        """Return the best scores that are the same for all examples."""
        total = weight.sum()
        if self.kind == "squares":
            return np.array([float((weight * label).sum() / total)])
        counts = np.bincount(label.astype(np.int64), weight, max(self.outputs, 2))
        shares = (counts + 0.5) / (total + 0.5 * len(counts))
        if self.kind == "logistic":
            return np.array([float(np.log(shares[1] / shares[0]))])
        return np.asarray(np.log(shares))

    def slopes(self, scores: Floats, label: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return minus the first derivative, and the second, each (examples, outputs)."""
        if self.kind == "squares":
            return weight[:, None] * (label[:, None] - scores), np.repeat(
                weight[:, None], self.outputs, 1
            )
        if self.kind == "logistic":
            chance, curvatures = expit(scores), np.empty(scores.shape)
            _logistic_slopes(chance, curvatures, label, weight)
            return chance, curvatures
        chance = softmax(scores, axis=1)
        truth = np.zeros(scores.shape)
        truth[np.arange(len(label)), label.astype(np.int64)] = 1.0
        spread = np.maximum(chance * (1 - chance), 1e-9)
        return weight[:, None] * (truth - chance), weight[:, None] * spread

    def each(self, scores: Floats, label: Floats) -> Floats:
        """Return the deviance of every example."""
        if self.kind == "squares":
            return np.asarray(0.5 * (label - scores[:, 0]) ** 2)
        if self.kind == "logistic":
            found = scores[:, 0].copy()
            _logistic_deviances(found, label)
            return found
        rows = np.arange(len(label))
        return np.asarray(logsumexp(scores, axis=1) - scores[rows, label.astype(np.int64)])

    def deviance(self, scores: Floats, label: Floats, weight: Floats) -> float:
        """Return the mean deviance."""
        return float((weight * self.each(scores, label)).sum() / weight.sum())


def fences(numbers: Floats) -> tuple[float, float]:
    """Return bounds beyond which numbers are outliers, so far off that squares of errors mislead.

    Examples
    --------
    >>> fences(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 1000.0]))
    (-10.25, 17.25)
    """
    low, high = np.quantile(numbers, (0.25, 0.75))
    apart = _FAR * (high - low)
    return (float(low - apart), float(high + apart)) if apart > 0 else (-np.inf, np.inf)


def probabilities(kind: Kind, scores: Floats) -> Floats:
    """Return the probabilities of classes, shape (examples, classes).

    Examples
    --------
    >>> probabilities("logistic", np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """
    if kind == "logistic":
        true = expit(scores[:, 0])
        return np.stack([expit(-scores[:, 0]), true], axis=1)
    return np.asarray(np.exp(log_softmax(scores, axis=1)))


def telling_examples(loss: Loss, label: Floats) -> float:
    """Return how many examples tell anything: of two labels, few more than have the rarer one.

    Examples
    --------
    >>> telling_examples(Loss("logistic", 1), np.array([1.0] * 10 + [0.0] * 990))
    60.0
    >>> telling_examples(Loss("squares", 1), np.zeros(500))
    500.0
    """
    if loss.kind != "logistic":
        return float(len(label))
    true = float(label.sum())
    return min(float(len(label)), _OF_RARER * true, _OF_RARER * (len(label) - true))


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _logistic_slopes(chance, curvatures, label, weight):  # type: ignore[no-untyped-def]
    """Put the gradients of examples in place of the chance of label 1, and their curvatures."""
    for example in range(len(chance)):
        here = chance[example, 0]
        chance[example, 0] = weight[example] * (label[example] - here)
        curvatures[example, 0] = weight[example] * max(here * (1 - here), 1e-9)


@njit(cache=True)
def _logistic_deviances(scores, label):  # type: ignore[no-untyped-def]
    """Put deviances in place of scores: log(1 + exp(-score)) where the label is 1."""
    for example in range(len(scores)):
        against = -scores[example] if label[example] > 0 else scores[example]
        scores[example] = max(against, 0.0) + np.log1p(np.exp(-abs(against)))
