"""Signatures: random linear functions of flip-count vectors, in 64-bit arithmetic."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Signatures = NDArray[np.uint64]


@lru_cache(maxsize=256)
def multipliers(features: int) -> Signatures:
    """Return fixed odd random numbers: the coefficients of the features in a signature."""
    rng = np.random.default_rng(0x6D6C6E)
    numbers = rng.integers(0, 2**64, size=features, dtype=np.uint64, endpoint=False)
    odd = numbers | np.uint64(1)
    odd.flags.writeable = False
    return odd


def mixed(values: Signatures) -> Signatures:
    """Scramble 64-bit numbers (one step of SplitMix64), so that sums tell multisets apart."""
    with np.errstate(over="ignore"):
        found = values + np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))
