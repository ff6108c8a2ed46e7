"""Running several chains of a sampler: budget, stopping, and what the draws say.

All chains advance batch by batch. A chain draws from a random stream of its own, and its sums are
kept apart until the end; so the number of threads changes nothing but the time. Batches double in
length whenever there are sixteen of them, so that eight to sixteen batch means a chain are kept
however long the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mlnlearn.montecarlo.budget import MOST_BATCHES, Budget, Clock
from mlnlearn.montecarlo.diagnostics import (
    MOST_R_HAT,
    Floats,
    effective_sample_size,
    split_r_hat,
    standard_error,
)

Stop = Literal["samples", "time", "precision"]
Progress = Callable[[int, int], None]
_Advance = Callable[[int, int | None], None]

_MISSED = 2.0
_BURN_IN_SHARE_OF_TIME = 0.25


class Chain(Protocol):
    """A sampler at work: a world that it changes step by step.

    Attributes
    ----------
    steps_at_once
        Steps that take a moment. Compiled code cannot be interrupted: it gets no more at once. How
        many follows from the model, not from the clock, so that the sums are always the same.
    """

    steps_at_once: int

    def step(self, steps: int, sums: Floats, burn_in: bool) -> float:
        """Make steps, add each one's estimates to `sums`, and return the share of moves."""
        ...


@dataclass(frozen=True, eq=False)
class Estimates:
    """What the chains found; arrays run over the estimates.

    Attributes
    ----------
    marginals
        Estimated probabilities.
    standard_error
        Monte Carlo standard error of each estimate.
    effective_sample_size
        Number of independent worlds that would estimate each probability as well.
    r_hat
        Disagreement of the chains about each estimate: near 1 if they have mixed.
    samples, chains
        Number of samples, over all chains, and of chains.
    moved
        Share of draws that changed their variable.
    stopped_by
        What ended the run.
    seconds
        Wall-clock time.
    """

    marginals: Floats
    standard_error: Floats
    effective_sample_size: Floats
    r_hat: Floats
    samples: int
    chains: int
    moved: float
    stopped_by: Stop
    seconds: float

    def judged(self, group: NDArray[np.integer]) -> dict[int, tuple[bool, float, float]]:
        """Judge groups of estimates by their worst member.

        Parameters
        ----------
        group
            The number of each estimate's group; estimates of a negative one are left out.

        Returns
        -------
        For each group: whether its chains agree, its largest R̂, its smallest effective sample size.
        """
        numbers, place = np.unique(group[group >= 0], return_inverse=True)
        worst, least = np.ones(len(numbers)), np.full(len(numbers), np.inf)
        np.fmax.at(worst, place, self.r_hat[group >= 0])
        # a value that no or every sample had says nothing about mixing
        varied = (self.marginals > 0.0) & (self.marginals < 1.0)
        sizes = np.where(varied, self.effective_sample_size, float(self.samples))
        np.fmin.at(least, place, sizes[group >= 0])
        found = zip(worst.tolist(), least.tolist(), strict=True)
        judged = [(r_hat <= MOST_R_HAT, r_hat, size) for r_hat, size in found]
        return dict(zip(numbers.tolist(), judged, strict=True))


def run(
    chains: Sequence[Chain],
    uncertain: NDArray[np.bool_],
    *,
    samples: int,
    burn_in: int,
    max_seconds: float | None = None,
    precision: float | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Estimates:
    """Advance chains until the samples are made, the time is up or the precision reached.

    Parameters
    ----------
    chains
        The samplers, each with a random stream of its own.
    uncertain
        Per estimate, whether a rare event that no chain has met may change it.
    samples, burn_in, max_seconds, precision, workers
        See `mlnlearn.montecarlo.settings.Sampling`.
    progress
        Called with the samples done and the samples asked for.

    Examples
    --------
    >>> class Coin:
    ...     def __init__(self, seed):
    ...         self.rng, self.steps_at_once = np.random.default_rng(seed), 1000
    ...     def step(self, steps, sums, burn_in):
    ...         sums += (self.rng.random((steps, 1)) < 0.25).sum(axis=0)
    ...         return 1.0
    >>> found = run([Coin(1), Coin(2)], np.ones(1, bool), samples=8000, burn_in=0)
    >>> bool(abs(found.marginals[0] - 0.25) < 4 * found.standard_error[0])
    True
    """
    runs = [_ChainRun(chain, len(uncertain)) for chain in chains]
    started = time.perf_counter()
    with ThreadPoolExecutor(max(1, workers)) as pool:

        def advance(steps: int, batch: int | None) -> None:
            each = map if workers < 2 else pool.map
            list(each(lambda one: one.advance(steps, batch), runs))

        share = None if max_seconds is None else max_seconds * _BURN_IN_SHARE_OF_TIME
        try:
            _burn_in(advance, burn_in, Clock(share))
            left = None if max_seconds is None else max_seconds + started - time.perf_counter()
            budget = Budget(-(-samples // len(runs)), Clock(left), precision)
            stopped = _sample(advance, runs, uncertain, budget, progress)
        except BaseException:
            for one in runs:  # on other threads, which the pool waits for
                one.stopping = True
            raise
    return _result(runs, uncertain, stopped, time.perf_counter() - started)


class _ChainRun:
    """One chain with its sums and batch means."""

    def __init__(self, chain: Chain, estimates: int) -> None:
        self._chain = chain
        self.sums = np.zeros(estimates)
        self.samples = 0
        self.moved = 0.0
        self.stopping = False
        self.batches: list[NDArray[np.float32]] = []

    def advance(self, steps: int, batch: int | None) -> None:
        """Make steps: a batch if they are `batch`, burn-in if that is None."""
        sums = np.zeros_like(self.sums)
        left = steps
        while left and not self.stopping:
            piece = min(left, self._chain.steps_at_once)
            moved = self._chain.step(piece, sums, batch is None)
            if batch is not None:
                self.samples += piece
                self.moved += moved * piece
            left -= piece
        if batch is None:
            return
        self.sums += sums
        if steps == batch:
            self.batches.append((sums / steps).astype(np.float32))

    def merge_batches(self) -> None:
        """Join neighbouring batches."""
        pairs = zip(self.batches[::2], self.batches[1::2], strict=True)
        self.batches = [((left + right) / 2).astype(np.float32) for left, right in pairs]


def _burn_in(advance: _Advance, steps: int, clock: Clock) -> None:
    """Throw away steps, in growing pieces so that the clock can stop them."""
    piece = 1 if clock.limited else steps
    while steps:
        now = clock.fit(min(piece, steps))
        if not now:
            return
        advance(now, None)
        steps -= now
        piece *= 4


def _sample(
    advance: _Advance,
    runs: list[_ChainRun],
    uncertain: NDArray[np.bool_],
    budget: Budget,
    progress: Progress | None,
) -> Stop:
    """Advance all chains until something says stop; return what."""
    batch = budget.first_batch
    while runs[0].samples < budget.samples:
        if len(runs[0].batches) == MOST_BATCHES:
            for one in runs:
                one.merge_batches()
            batch *= 2
        steps = budget.clock.fit(min(batch, budget.samples - runs[0].samples))
        if not steps:
            return "time"
        advance(steps, batch)
        if progress is not None:
            progress(runs[0].samples * len(runs), budget.samples * len(runs))
        if budget.judges(runs[0].samples) and budget.meets(_errors(runs, uncertain)):
            return "precision"
    return "samples"


def _errors(runs: list[_ChainRun], uncertain: NDArray[np.bool_]) -> Floats:
    """Return the standard errors, with an allowance for rare events that no chain has met.

    Until a chain meets them, conditional probabilities show no spread.
    """
    error = standard_error(np.array([one.batches for one in runs], np.float64))
    missed = _MISSED / (runs[0].samples * len(runs))
    return np.where(uncertain, np.hypot(error, missed), error)


def _result(
    runs: list[_ChainRun], uncertain: NDArray[np.bool_], stopped: Stop, seconds: float
) -> Estimates:
    """Put the chains together."""
    samples = runs[0].samples * len(runs)
    marginals = np.sum([one.sums for one in runs], axis=0) / samples
    error = _errors(runs, uncertain)
    batches = np.array([one.batches for one in runs], np.float64)
    return Estimates(
        marginals=marginals,
        standard_error=error,
        effective_sample_size=effective_sample_size(marginals, error, samples),
        r_hat=split_r_hat(batches, runs[0].samples),
        samples=samples,
        chains=len(runs),
        moved=sum(one.moved for one in runs) / samples,
        stopped_by=stopped,
        seconds=seconds,
    )
