"""Signatures: random linear functions of flip-count vectors, in 64-bit arithmetic."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Signatures = NDArray[np.uint64]

_AT_A_TIME = 1 << 14  # numbers that fit in the processor's own memory


@lru_cache(maxsize=256)
def multipliers(features: int) -> Signatures:
    """Return fixed odd random numbers: the coefficients of the features in a signature."""
    rng = np.random.default_rng(0x6D6C6E)
    numbers = rng.integers(0, 2**64, size=features, dtype=np.uint64, endpoint=False)
    odd = numbers | np.uint64(1)
    odd.flags.writeable = False
    return odd


def mixed(values: Signatures) -> Signatures:
    """Scramble 64-bit numbers (one step of SplitMix64), so that sums tell multisets apart.

    It is done for some at a time: to be given memory for all that is between takes longer.
    """
    found = np.empty(len(values), np.uint64)
    for start in range(0, len(values), _AT_A_TIME):
        part = slice(start, start + _AT_A_TIME)
        code = values[part] + np.uint64(0x9E3779B97F4A7C15)
        code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found[part] = code ^ (code >> np.uint64(31))
    return found
