"""What weight learning returns."""

from __future__ import annotations

from dataclasses import dataclass

from mlnlearn.model.mln import MLN


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
