"""Newton's method for pseudo-likelihoods of few weights, each predicate a part of its own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

Floats = NDArray[np.float64]


class Part(Protocol):
    """A predicate's share of a pseudo-log-likelihood."""

    @property
    def features(self) -> NDArray[np.int64]:
        """Numbers of the formulas that the predicate is in."""
        ...

    def likelihood(self, weights: Floats) -> float:
        """Return the share, at some weights."""
        ...

    def derivatives(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the negated Hessian, over the part's own features."""
        ...


@dataclass(frozen=True, slots=True)
class Curvature:
    """The negated Hessian at an optimum, factored, over the free weights."""

    free: NDArray[np.int64]
    factor: tuple[Floats, bool]

    def explained(self, coupling: Floats) -> float:
        """Return how much of a new weight's curvature the present weights take up."""
        part = coupling[self.free]
        return float(part @ cho_solve(self.factor, part)) if len(part) else 0.0


def likelihood(parts: Collection[Part], weights: Floats) -> float:
    """Return the pseudo-log-likelihood of all predicates, without the prior."""
    return sum(part.likelihood(weights) for part in parts)


def fit(
    parts: Collection[Part],
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
    parts
        The share of each predicate.
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
    >>> from mlnlearn.structure.search.rows import Rows
    >>> rows = Rows(np.array([0]), np.ones((1, 1)), np.array([0.25]), np.array([1.0]))
    >>> fit([rows], np.zeros(1), np.zeros(1, bool), 1e-9).round(4).tolist()  # log odds of 1 in 4
    [-1.0986]
    """
    weights = start.copy()
    free = np.flatnonzero(~locked)
    objective = _objective(parts, weights, precision)
    for _ in range(max_steps):
        gradient, hessian = _derivatives(parts, weights, precision)
        step = np.zeros_like(weights)
        step[free] = cho_solve(_factored(hessian[np.ix_(free, free)]), gradient[free])
        promise = float(gradient @ step)
        if promise < tolerance:
            # so near, a full step squares the error: where it stops does not show in the weights
            weights = weights + step
            break
        size = 1.0
        while size > 1e-9:
            trial = _objective(parts, weights + size * step, precision)
            if trial >= objective + 1e-4 * size * promise:
                break
            size *= 0.5
        else:
            break
        weights, objective = weights + size * step, trial
    return weights


def curvature(
    parts: Collection[Part], weights: Floats, locked: NDArray[np.bool_], precision: float
) -> Curvature:
    """Return the curvature of the objective at some weights."""
    free = np.flatnonzero(~locked)
    _, hessian = _derivatives(parts, weights, precision)
    return Curvature(free, _factored(hessian[np.ix_(free, free)]))


def _objective(parts: Collection[Part], weights: Floats, precision: float) -> float:
    return likelihood(parts, weights) - 0.5 * precision * float(weights @ weights)


def _derivatives(
    parts: Collection[Part], weights: Floats, precision: float
) -> tuple[Floats, Floats]:
    gradient = -precision * weights
    hessian = precision * np.eye(len(weights))
    for part in parts:
        slope, bend = part.derivatives(weights)
        gradient[part.features] += slope
        hessian[np.ix_(part.features, part.features)] += bend
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
