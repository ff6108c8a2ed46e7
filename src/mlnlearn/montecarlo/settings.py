"""How long to sample where that is needed: the settings of every sampler."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sampling:
    """How long to sample where that is needed.

    Attributes
    ----------
    samples
        Number of samples over all chains, rounded up to a multiple of `chains`. A sample is a sweep
        over all unknown atoms.
    burn_in
        Samples that each chain throws away first (within a quarter of `max_seconds`).
    chains
        Number of chains.
    seed
        Same seed, same result, for any number of workers (unless the time runs out).
    max_seconds
        Wall-clock limit for each part that is sampled.
    precision
        Stop when every standard error is at most this.
    workers
        Number of threads that chains are spread over.

    Examples
    --------
    >>> Sampling(precision=0.01).samples
    20000
    """

    samples: int = 20_000
    burn_in: int = 500
    chains: int = 4
    seed: int = 0
    max_seconds: float | None = None
    precision: float | None = None
    workers: int = 1

    def sequence(self, key: int) -> np.random.SeedSequence:
        """Return the seed of one component: the same whatever else is computed, in any order."""
        return np.random.SeedSequence(self.seed, spawn_key=(key,))
