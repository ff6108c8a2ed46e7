"""What weight learning maximises: functions of the weights with value and gradient, and priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Objective(Protocol):
    """A concave function of the weights, to be maximised."""

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the value and the gradient at some weights."""
        ...


@runtime_checkable
class Curved(Objective, Protocol):
    """An objective that knows its second derivatives."""

    def value(self, weights: Floats) -> float:
        """Return the value alone."""
        ...

    def derivatives(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the negated Hessian."""
        ...


@dataclass(frozen=True, slots=True)
class GaussianPrior:
    """Log-density of independent normal weights, without its constant.

    With an infinite standard deviation there is none: value and gradient are zero.

    Examples
    --------
    >>> value, gradient = GaussianPrior(sigma=2.0)(np.array([2.0]))
    >>> value, gradient.tolist()
    (-0.5, [-0.5])
    """

    sigma: float
    mean: float | Floats = 0.0

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the log-density and its gradient."""
        scaled = (weights - self.mean) / self.sigma
        return -0.5 * float(scaled @ scaled), -scaled / self.sigma
