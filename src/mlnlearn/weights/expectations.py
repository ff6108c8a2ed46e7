"""Expected true groundings of rules under a network: exactly, or from MC-SAT samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.infer.network import Network
from mlnlearn.infer.sampling.chains import run_chains
from mlnlearn.weights.objective import Floats


@dataclass(frozen=True, slots=True)
class SampledCounts:
    """Counts of each rule's true groundings in sampled worlds, one row a world."""

    counts: Floats

    @property
    def mean(self) -> Floats:
        """Estimated expectations."""
        mean: Floats = self.counts.mean(axis=0)
        return mean

    @property
    def variance(self) -> Floats:
        """Estimated variances: the diagonal of the negated Hessian of the log-likelihood."""
        variance: Floats = self.counts.var(axis=0)
        return variance

    def curvature(self, direction: Floats) -> float:
        """Return the variance of the counts along a direction: ``d' H d`` up to its sign."""
        return float((self.counts @ direction).var())


def sampled_counts(
    networks: list[Network], weights: Floats, samples: int, seed: int
) -> SampledCounts:
    """Sample worlds of several independent networks by MC-SAT; rows add up over the networks."""
    total = np.zeros((samples, len(weights)))
    for number, network in enumerate(networks):
        result = run_chains(
            network.reweighted(weights),
            "mcsat",
            samples=samples,
            burn_in=max(samples // 10, 10),
            chains=1,
            seed=np.random.SeedSequence(seed, spawn_key=(number,)),
            counts=True,
        )
        assert result.counts is not None
        total += result.counts[:samples]
    return SampledCounts(total)
