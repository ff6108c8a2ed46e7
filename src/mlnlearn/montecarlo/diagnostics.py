"""How far to trust estimates from Markov chains: standard errors, effective samples, R̂.

All are computed from the means of consecutive batches of each chain, so that nothing has to be
kept but a few numbers for each estimate. Estimates are probabilities; their spread in single draws
is taken to be that of the event itself, p (1 - p), also where the chain averaged conditional
probabilities instead of events.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_R_HAT = 1.05
"""Chains whose R̂ is larger disagree."""
# Means of four chains that agree are so far apart, against what their batches tell, in one of 140.
_APART = 2.0


def standard_error(batches: Floats) -> Floats:
    """Return the Monte Carlo standard error of the mean, by batch means.

    Correlation of neighbouring batches, left where batches are short for the chain's memory, is
    counted in where it is positive. Chains that stay where they began have more memory than that:
    where their means are much farther apart than their batches tell, these means are all there is.

    Parameters
    ----------
    batches
        Batch means, shape (chains, batches, estimates).

    Examples
    --------
    Independent batches of unit variance, 4 chains of 16:

    >>> batches = np.random.default_rng(0).normal(size=(4, 16, 1000))
    >>> 0.12 < standard_error(batches).mean() < 0.14    # 1 / sqrt(64) = 0.125
    np.True_
    """
    chains, count, _ = batches.shape
    total = chains * count
    if total < 2:
        return np.full(batches.shape[2], np.inf)
    away = batches - batches.mean(axis=(0, 1))
    variance = np.square(away).sum(axis=(0, 1)) / (total - 1)
    neighbours = (away[:, 1:] * away[:, :-1]).sum(axis=(0, 1)) / (total - 1)
    spread: Floats = np.sqrt((variance + 2.0 * np.maximum(neighbours, 0.0)) / total)
    if chains < 2:
        return spread
    apart: Floats = batches.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(chains)
    return np.where(apart > _APART * spread, apart, spread)


def effective_sample_size(mean: Floats, error: Floats, samples: int) -> Floats:
    """Return how many independent worlds would give the same standard error.

    Averages of conditional probabilities can be worth more than one world each.

    Examples
    --------
    >>> effective_sample_size(np.array([0.5, 0.0]), np.array([0.05, 0.0]), 400)
    array([100., 400.])
    """
    spread = np.maximum(mean * (1.0 - mean), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = spread / np.square(error)
    return np.where(error > 0.0, size, float(samples))


def split_r_hat(batches: Floats, draws: int) -> Floats:
    """Return R̂ of each estimate: 1 where the halves of all chains agree (Gelman et al. 2013).

    Parameters
    ----------
    batches
        Batch means of probabilities, shape (chains, batches, estimates).
    draws
        Number of draws in each chain.

    Examples
    --------
    Two chains that stay apart, and two that agree:

    >>> apart = np.array([[0.1, 0.1], [0.9, 0.9]])[:, :, None]
    >>> agree = np.array([[0.5, 0.5], [0.5, 0.5]])[:, :, None]
    >>> split_r_hat(np.concatenate([apart, agree], axis=2), draws=200).round(2)
    array([1.83, 1.  ])
    """
    half = batches.shape[1] // 2
    if not half:
        return np.full(batches.shape[2], np.inf)
    halves = np.concatenate([batches[:, :half].mean(axis=1), batches[:, -half:].mean(axis=1)])
    within = np.maximum(halves * (1.0 - halves), 0.0).mean(axis=0)
    between = halves.var(axis=0, ddof=1)
    length = max(draws // 2, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (length - 1) / length + between / within
    r_hat: Floats = np.where(between > 0.0, np.sqrt(np.maximum(ratio, 1.0)), 1.0)
    return r_hat
