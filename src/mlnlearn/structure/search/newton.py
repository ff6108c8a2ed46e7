"""Newton's method for pseudo-likelihoods of few weights over distinct rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rows:
    """A predicate's atoms, grouped by their flip counts.

    Attributes
    ----------
    features
        Numbers of the formulas that the predicate is in.
    counts
        Flip counts, one row a group of atoms, one column a feature.
    true, total
        Weight of the true atoms and of all atoms in each group.
    """

    features: NDArray[np.int64]
    counts: Floats
    true: Floats
    total: Floats

    def likelihood(self, weights: Floats) -> float:
        """Return the rows' share of the pseudo-log-likelihood."""
        odds = self.counts @ weights[self.features]
        return float(self.true @ odds - self.total @ np.logaddexp(0.0, odds))

    def derivatives(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the negated Hessian, over the rows' own features."""
        probability = self.probability(weights)
        spread = self.total * probability * (1.0 - probability)
        gradient = self.counts.T @ (self.true - self.total * probability)
        return gradient, self.counts.T @ (spread[:, None] * self.counts)

    def probability(self, weights: Floats) -> Floats:
        """Return the conditional probability of the atoms in each group."""
        result: Floats = 0.5 * (1.0 + np.tanh(0.5 * (self.counts @ weights[self.features])))
        return result


@dataclass(frozen=True, slots=True)
class Curvature:
    """The negated Hessian at an optimum, factored, over the free weights."""

    free: NDArray[np.int64]
    factor: tuple[Floats, bool]

    def explained(self, coupling: Floats) -> float:
        """Return how much of a new weight's curvature the present weights take up."""
        part = coupling[self.free]
        return float(part @ cho_solve(self.factor, part)) if len(part) else 0.0


def likelihood(terms: Collection[Rows], weights: Floats) -> float:
    """Return the pseudo-log-likelihood of all predicates, without the prior."""
    return sum(term.likelihood(weights) for term in terms)


def fit(
    terms: Collection[Rows],
    start: Floats,
    locked: NDArray[np.bool_],
    precision: float,
    *,
    tolerance: float = 1e-10,
    max_steps: int = 100,
) -> Floats:
    """Maximise the pseudo-log-likelihood plus a Gaussian prior.

    Parameters
    ----------
    terms
        The rows of each predicate.
    start
        Weights to start from; locked ones keep their value.
    locked
        Which weights must not change.
    precision
        Of the prior on every weight: one over its variance.
    tolerance
        Stop where a step promises less.
    max_steps
        Stop after so many steps.

    Examples
    --------
    >>> rows = Rows(np.array([0]), np.ones((1, 1)), np.array([0.25]), np.array([1.0]))
    >>> fit([rows], np.zeros(1), np.zeros(1, bool), 1e-9).round(4).tolist()  # log odds of 1 in 4
    [-1.0986]
    """
    weights = start.copy()
    free = np.flatnonzero(~locked)
    objective = _objective(terms, weights, precision)
    for _ in range(max_steps):
        gradient, hessian = _derivatives(terms, weights, precision)
        step = np.zeros_like(weights)
        step[free] = cho_solve(_factored(hessian[np.ix_(free, free)]), gradient[free])
        promise = float(gradient @ step)
        if promise < tolerance:
            break
        size = 1.0
        while size > 1e-9:
            trial = _objective(terms, weights + size * step, precision)
            if trial >= objective + 1e-4 * size * promise:
                break
            size *= 0.5
        else:
            break
        weights, objective = weights + size * step, trial
    return weights


def curvature(
    terms: Collection[Rows], weights: Floats, locked: NDArray[np.bool_], precision: float
) -> Curvature:
    """Return the curvature of the objective at some weights."""
    free = np.flatnonzero(~locked)
    _, hessian = _derivatives(terms, weights, precision)
    return Curvature(free, _factored(hessian[np.ix_(free, free)]))


def _objective(terms: Collection[Rows], weights: Floats, precision: float) -> float:
    return likelihood(terms, weights) - 0.5 * precision * float(weights @ weights)


def _derivatives(
    terms: Collection[Rows], weights: Floats, precision: float
) -> tuple[Floats, Floats]:
    gradient = -precision * weights
    hessian = precision * np.eye(len(weights))
    for term in terms:
        slope, bend = term.derivatives(weights)
        gradient[term.features] += slope
        hessian[np.ix_(term.features, term.features)] += bend
    return gradient, hessian


def _factored(hessian: Floats) -> tuple[Floats, bool]:
    """Factor a Hessian, with a ridge where rounding makes it singular: features may be alike."""
    ridge = 0.0
    while True:
        try:
            factor: tuple[Floats, bool] = cho_factor(hessian + ridge * np.eye(len(hessian)))
            return factor
        except LinAlgError:
            ridge = max(10.0 * ridge, 1e-12 * float(np.trace(hessian)))
