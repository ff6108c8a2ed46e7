"""What weight learning returns, and the last step that its batch methods share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.model.mln import MLN
from mlnlearn.weights.objective import GaussianPrior, Objective
from mlnlearn.weights.optimize import maximise


@dataclass(frozen=True, slots=True)
class LearnedWeights:
    """A network with learned weights, and how the learning went.

    Attributes
    ----------
    mln
        The network, ``+x`` and ``*P`` written out.
    objective
        What was maximised, at the learned weights, prior included.
    likelihood
        The same without the prior.
    iterations
        Steps of the optimiser.
    converged
        Whether it stopped because nothing improved any more.
    """

    mln: MLN
    objective: float
    likelihood: float
    iterations: int
    converged: bool


def best_weights(
    mln: MLN,
    likelihood: Objective,
    *,
    sigma: float,
    l1: float = 0.0,
    tolerance: float = 1e-9,
    max_iterations: int = 1000,
) -> LearnedWeights:
    """Return a network with the weights that maximise a likelihood and their prior.

    Parameters
    ----------
    mln
        The network, shorthands written out; weights it has are starting values, locked ones stay.
    likelihood
        Value and gradient for the weights of its soft formulas.
    sigma, l1
        Standard deviation of the Gaussian prior around zero, and an additional L1 penalty.
    tolerance
        Relative improvement below which to stop.
    max_iterations
        Limit of iterations.

    Examples
    --------
    >>> def bowl(w):
    ...     return -float(((w - 3.0) ** 2).sum()), -2.0 * (w - 3.0)
    >>> learned = best_weights(MLN.parse("smokes(person)").with_unit_clauses(), bowl, sigma=1e3)
    >>> print(f"{learned.mln.weights[0]:.3f}")
    3.000
    """
    optimum = maximise(
        likelihood,
        np.array([rule.weight or 0.0 for rule in mln.soft]),
        prior=GaussianPrior(sigma),
        l1=l1,
        locked=np.array([rule.locked for rule in mln.soft], bool),
        tolerance=tolerance,
        max_iterations=max_iterations,
    )
    return LearnedWeights(
        mln.with_weights(optimum.weights),
        optimum.value,
        likelihood(optimum.weights)[0],
        optimum.iterations,
        optimum.converged,
    )
