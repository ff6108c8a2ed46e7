"""Maximisation of objectives: L-BFGS, with an optional L1 penalty and locked weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController

from mlnlearn.errors import InputError
from mlnlearn.run import check_time
from mlnlearn.weights.objective import Floats, Objective


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
    l1: float = 0.0,
    locked: NDArray[np.bool_] | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
) -> Optimum:
    """Maximise an objective from a starting point by L-BFGS.

    With an L1 penalty each weight is written as the difference of two non-negative parts, which
    makes the penalty smooth under bounds and drives weights to exactly zero.

    Parameters
    ----------
    objective
        Value and gradient.
    start
        First guess; locked weights keep their value there.
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
    number = int(free.sum())
    if number == 0:
        return Optimum(weights, objective(weights)[0], 0, True)

    def unfold(point: Floats) -> Floats:
        full = weights.copy()
        full[free] = point[:number] - point[number:] if l1 else point
        return full

    def loss(point: Floats) -> tuple[float, Floats]:
        check_time()
        value, gradient = objective(unfold(point))
        slope = -gradient[free]
        if l1:
            return -value + l1 * float(point.sum()), np.concatenate([slope, -slope]) + l1
        return -value, slope

    first = weights[free]
    bounds = None
    if l1:
        first = np.concatenate([np.maximum(first, 0.0), np.maximum(-first, 0.0)])
        bounds = [(0.0, None)] * len(first)
    options = {"maxiter": max_iterations, "ftol": tolerance, "gtol": 1e-7, "maxcor": 20}
    # the matrices are small: threads of the linear algebra library would only spin
    with _libraries().limit(limits=1, user_api="blas"):
        result = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    if not (np.isfinite(result.fun) and np.isfinite(result.x).all()):
        raise InputError(
            "the objective is no finite number at the weights that learning starts from",
            hint="give starting weights of moderate size, or none",
        )
    return Optimum(unfold(result.x), -float(result.fun), int(result.nit), bool(result.success))
