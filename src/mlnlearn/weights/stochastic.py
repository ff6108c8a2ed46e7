"""Weight learning from sampled expectations (Lowd & Domingos 2007).

The gradient of the conditional log-likelihood is observed minus expected counts, its negated
Hessian the covariance of the counts; both are estimated from MC-SAT samples, the value is not.
Three methods: the voted perceptron (fixed steps, averaged weights), diagonal Newton (each gradient
component over its variance) and scaled conjugate gradient (conjugate directions, with the inverse
variances as preconditioner). The latter two choose the step length from the curvature along the
direction, held back by a trust parameter that grows when a step disappoints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mlnlearn.infer.network import Network
from mlnlearn.weights.expectations import SampledCounts, sampled_counts
from mlnlearn.weights.objective import Floats, Objective

Optimizer = Literal["newton", "scg", "perceptron"]

_PERCEPTRON_RATE = 0.5
_FIRST_TRUST = 1.0
_LEAST_TRUST = 1e-3


@dataclass(frozen=True, slots=True)
class Climbed:
    """Weights reached, the average over the second half of the iterations, and their number."""

    weights: Floats
    iterations: int


def climb(
    networks: list[Network],
    observed: Floats,
    start: Floats,
    *,
    prior: Objective,
    locked: NDArray[np.bool_],
    optimizer: Optimizer,
    samples: int,
    max_iterations: int,
    seed: int,
) -> Climbed:
    """Climb the conditional likelihood with sampled gradients.

    Parameters
    ----------
    networks
        Ground networks of the databases, all with the same rules.
    observed
        Counts of the rules in the data, over all databases.
    start
        First weights.
    prior
        Log-prior of the weights.
    locked
        Weights that must not change.
    optimizer
        Which method.
    samples
        MC-SAT samples an iteration.
    max_iterations
        Number of iterations; weights are averaged over the second half.
    seed
        Seed of the samplers; each iteration has a stream of its own.
    """
    weights = np.array(start, np.float64)
    total = np.zeros_like(weights)
    averaged = 0
    direction = np.zeros_like(weights)
    gradient = np.zeros_like(weights)
    trust = _FIRST_TRUST
    for iteration in range(max_iterations):
        found = sampled_counts(networks, weights, samples, _mixed(seed, iteration))
        slope = observed - found.mean + prior(weights)[1]
        slope[locked] = 0.0
        if optimizer == "perceptron":
            step = _PERCEPTRON_RATE * slope / np.maximum(np.abs(observed), 1.0)
        else:
            trust = _adjusted(trust, direction, gradient, slope, found)
            direction = _direction(optimizer, direction, gradient, slope, found)
            direction[locked] = 0.0
            gradient = slope
            step = direction = _length(direction, slope, found, trust) * direction
        weights = weights + step
        if 2 * iteration >= max_iterations:
            total += weights
            averaged += 1
    return Climbed(total / averaged if averaged else weights, max_iterations)


def _mixed(seed: int, iteration: int) -> int:
    return int(np.random.SeedSequence([seed, iteration]).generate_state(1)[0])


def _direction(
    optimizer: Optimizer, before: Floats, old: Floats, new: Floats, found: SampledCounts
) -> Floats:
    scale = 1.0 / np.maximum(found.variance, 1e-2)
    steepest = scale * new
    if optimizer == "newton" or not before.any():
        return steepest
    # Polak-Ribière on the preconditioned gradients, restarted where it points downhill
    beta = max(float(steepest @ (new - old)) / max(float(old @ (scale * old)), 1e-12), 0.0)
    conjugate = steepest + beta * before
    return conjugate if float(conjugate @ new) > 0 else steepest


def _length(direction: Floats, slope: Floats, found: SampledCounts, trust: float) -> float:
    """Step to the top of the quadratic along the direction, held back by the trust parameter."""
    curve = found.curvature(direction) + trust * float(direction @ direction)
    return float(direction @ slope) / max(curve, 1e-12)


def _adjusted(trust: float, step: Floats, old: Floats, new: Floats, found: SampledCounts) -> float:
    """Compare what the last step gained (at least) with what the quadratic promised."""
    if not step.any():
        return trust
    promised = float(step @ old) - 0.5 * found.curvature(step)
    gained = float(step @ new)
    if promised <= 0.0 or gained < 0.25 * promised:
        return min(4.0 * trust, 1e6) if gained < 0.0 else trust
    return max(trust / 2.0, _LEAST_TRUST)
