"""Maximisation of objectives: Newton's method where weights are few and curvature is known.

Else L-BFGS. Both with locked weights and a Gaussian prior, L-BFGS with an optional L1 penalty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from mlnlearn.errors import InputError
from mlnlearn.late import late
from mlnlearn.run import check_time
from mlnlearn.weights.objective import Curved, Floats, GaussianPrior, Objective

optimize = late("scipy.optimize")
linalg = late("scipy.linalg")

# Newton's method takes a matrix of so many rows; beyond, the steps of L-BFGS cost less
_FEW = 256
_NO_PRIOR = GaussianPrior(math.inf)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@dataclass(frozen=True, slots=True)
class Optimum:
    """Where an optimiser stopped.

    Attributes
    ----------
    weights
        The best weights found.
    value
        The objective there, penalties included.
    iterations
        Steps taken.
    converged
        Whether the tolerance was met before the limit of iterations.
    """

    weights: Floats
    value: float
    iterations: int
    converged: bool


def maximise(
    objective: Objective,
    start: Floats,
    *,
    prior: GaussianPrior = _NO_PRIOR,
    l1: float = 0.0,
    locked: NDArray[np.bool_] | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
) -> Optimum:
    """Maximise an objective and a prior from a starting point.

    Parameters
    ----------
    objective
        Value and gradient; where it is `Curved`, with no L1 penalty and few weights, they are
        found by Newton's method, else by L-BFGS.
    start
        First guess; locked weights keep their value there.
    prior
        Added to the objective.
    l1
        Penalty on the sum of absolute (unlocked) weights.
    locked
        Weights that must not change.
    tolerance
        Relative improvement below which to stop.
    max_iterations
        Limit of iterations.

    Examples
    --------
    >>> def bowl(w):
    ...     return -float(((w - 3.0) ** 2).sum()), -2.0 * (w - 3.0)
    >>> optimum = maximise(bowl, np.zeros(2), l1=2.0)
    >>> optimum.weights.round(6).tolist(), round(optimum.value, 6)
    ([2.0, 2.0], -10.0)
    """
    free = np.ones(len(start), bool) if locked is None else ~locked
    weights = np.array(start, np.float64)
    if not free.any():
        return Optimum(weights, objective(weights)[0] + prior(weights)[0], 0, True)
    if isinstance(objective, Curved) and not l1 and free.sum() <= _FEW:
        found = _newton(objective, weights, prior, free, tolerance, max_iterations)
    else:
        found = _lbfgs(objective, weights, prior, free, l1, tolerance, max_iterations)
    if not (np.isfinite(found.value) and np.isfinite(found.weights).all()):
        raise InputError(
            "the objective is no finite number at the weights that learning starts from",
            hint="give starting weights of moderate size, or none",
        )
    return found


def _newton(
    objective: Curved,
    start: Floats,
    prior: GaussianPrior,
    free: NDArray[np.bool_],
    tolerance: float,
    max_iterations: int,
) -> Optimum:
    """Maximise by Newton's method, with steps halved until they lead up far enough."""

    def height(point: Floats) -> float:
        return objective.value(point) + prior(point)[0]

    weights, value = start, height(start)
    # no look at the clock: steps are few, and a search has a first network whatever its time
    for iteration in range(max_iterations if np.isfinite(value) else 0):
        curvature = Curvature.at(objective, weights, prior, ~free)
        step = np.zeros_like(weights)
        step[free] = curvature.solved(curvature.gradient)
        promise = float(curvature.gradient @ step[free])
        if promise < tolerance * max(abs(value), 1.0):
            # so near, a full step squares the error: where it stops does not show in the weights
            return Optimum(weights + step, height(weights + step), iteration, True)
        size, trial = 1.0, -math.inf
        while size > 1e-9:
            trial = height(weights + size * step)
            if trial >= value + 1e-4 * size * promise:
                break
            size *= 0.5
        else:
            return Optimum(weights, value, iteration, True)
        weights, value = weights + size * step, trial
    return Optimum(weights, value, max_iterations, False)


@dataclass(frozen=True, slots=True)
class Curvature:
    """The negated Hessian of an objective and its prior at some weights, over the free ones.

    Attributes
    ----------
    free
        The numbers of the weights that are not locked.
    gradient
        The gradient with respect to these.
    factor
        The Hessian, factored.
    """

    free: NDArray[np.int64]
    gradient: Floats
    factor: tuple[Floats, bool]

    @classmethod
    def at(
        cls, objective: Curved, weights: Floats, prior: GaussianPrior, locked: NDArray[np.bool_]
    ) -> Curvature:
        """Return the curvature at some weights."""
        free = np.flatnonzero(~locked)
        gradient, hessian = objective.derivatives(weights)
        gradient = (gradient + prior(weights)[1])[free]
        bend = hessian[free[:, None], free]
        bend.flat[:: len(free) + 1] += 1.0 / prior.sigma**2
        return cls(free, gradient, _factored(bend))

    def solved(self, slope: Floats) -> Floats:
        """Return Newton's step: the inverse times a slope."""
        step: Floats = linalg.cho_solve(self.factor, slope) if len(slope) else slope
        return step

    def explained(self, coupling: Floats) -> float:
        """Return how much of a new weight's curvature the present weights take up."""
        part = coupling[self.free]
        return float(part @ self.solved(part))


def _factored(hessian: Floats) -> tuple[Floats, bool]:
    """Factor a Hessian, with a ridge where rounding makes it singular: features may be alike."""
    if not np.isfinite(hessian).all():
        raise InputError(
            "the curvature of the objective is no finite number: its counts or weights are too "
            "large",
            hint="give starting weights of moderate size, or leave out formulas of huge counts",
        )
    ridge = 1e-12 * float(np.abs(np.diag(hessian)).sum())
    while True:
        try:
            factor: tuple[Floats, bool] = linalg.cho_factor(hessian)
            return factor
        except linalg.LinAlgError:
            hessian = hessian + ridge * np.eye(len(hessian))
            ridge *= 10.0


def _lbfgs(
    objective: Objective,
    start: Floats,
    prior: GaussianPrior,
    free: NDArray[np.bool_],
    l1: float,
    tolerance: float,
    max_iterations: int,
) -> Optimum:
    """Maximise by L-BFGS.

    With an L1 penalty each weight is written as the difference of two non-negative parts, which
    makes the penalty smooth under bounds and drives weights to exactly zero.
    """
    number = int(free.sum())

    def unfold(point: Floats) -> Floats:
        full = start.copy()
        full[free] = point[:number] - point[number:] if l1 else point
        return full

    def loss(point: Floats) -> tuple[float, Floats]:
        check_time()
        weights = unfold(point)
        value, gradient = objective(weights)
        log_prior, pull = prior(weights)
        slope = -(gradient + pull)[free]
        if l1:
            penalty = l1 * float(point.sum())
            return penalty - value - log_prior, np.concatenate([slope, -slope]) + l1
        return -value - log_prior, slope

    first = start[free]
    bounds = None
    if l1:
        first = np.concatenate([np.maximum(first, 0.0), np.maximum(-first, 0.0)])
        bounds = [(0.0, None)] * len(first)
    options = {"maxiter": max_iterations, "ftol": tolerance, "gtol": 1e-7, "maxcor": 20}
    # the matrices are small: threads of the linear algebra library would only spin
    with _libraries().limit(limits=1, user_api="blas"):
        result = optimize.minimize(
            loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
    return Optimum(unfold(result.x), -float(result.fun), int(result.nit), bool(result.success))
