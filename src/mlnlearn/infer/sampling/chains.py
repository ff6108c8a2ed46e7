"""Running several chains of a sampler: budget, stopping, and what the draws say.

All chains advance batch by batch. A chain draws from a random stream of its own, spawned from the
seed, and its sums are kept apart until the end; so the number of threads changes nothing but the
time. Batches double in length whenever there are sixteen of them, so that eight to sixteen batch
means a chain are kept however long the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mlnlearn.infer.network import Codes, Floats, Network
from mlnlearn.infer.sampling import gibbs, mcsat
from mlnlearn.infer.sampling.budget import MOST_BATCHES, Budget, Clock
from mlnlearn.infer.sampling.diagnostics import effective_sample_size, split_r_hat, standard_error
from mlnlearn.infer.sampling.rulecounts import count_worlds

Method = Literal["gibbs", "mcsat"]
Stop = Literal["samples", "time", "precision"]
Progress = Callable[[int, int], None]

# A sampler is a module with prepare(network), init(plan, rng) and step(plan, state, …).
_SAMPLERS: dict[Method, Any] = {"gibbs": gibbs, "mcsat": mcsat}
_MISSED = 2.0
_BURN_IN_SHARE_OF_TIME = 0.25
_MOST_KEPT_CELLS = 4_000_000
_WORK_AT_ONCE = 4_000_000  # variables and literals looked at, some tens of nanoseconds each


@dataclass(frozen=True, eq=False)
class SampleResult:
    """What the chains found; arrays run over the values of all variables, as in the network.

    Attributes
    ----------
    marginals
        Estimated probability of each value.
    standard_error
        Monte Carlo standard error of each estimate.
    effective_sample_size
        Number of independent worlds that would estimate each value as well.
    r_hat
        Disagreement of the chains about each value: near 1 if they have mixed.
    samples, chains
        Number of samples, over all chains, and of chains.
    moved
        Share of draws that changed their variable.
    stopped_by
        What ended the run.
    seconds
        Wall-clock time.
    counts
        Counts of each rule's true groundings, shape (samples, rules), if asked for.
    worlds
        Every `thin`-th world of each chain, chain after chain, if asked for.
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
    counts: Floats | None = None
    worlds: Codes | None = None

    @property
    def expected_counts(self) -> Floats:
        """Expected number of true groundings of each rule; needs ``counts=True`` in the run."""
        if self.counts is None:
            raise ValueError("the counts were not kept: run the chains with counts=True")
        mean: Floats = self.counts.mean(axis=0)
        return mean


def run_chains(
    network: Network,
    method: Method,
    *,
    samples: int,
    burn_in: int = 100,
    chains: int = 4,
    seed: int | np.random.SeedSequence = 0,
    max_seconds: float | None = None,
    precision: float | None = None,
    counts: bool = False,
    thin: int | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> SampleResult:
    """Estimate the probability of every value of every variable by sampling.

    The run ends after `samples`, or earlier when the time is up or the precision reached.

    Parameters
    ----------
    method
        ``"gibbs"``, or ``"mcsat"`` for strong and hard rules.
    samples
        Number of samples over all chains, rounded up to a multiple of `chains`.
    burn_in
        Samples that each chain throws away first (within a quarter of `max_seconds`).
    seed
        Same seed, same result, for any number of workers (unless the time runs out).
    max_seconds
        Wall-clock limit.
    precision
        Stop when every standard error is at most this.
    counts
        Whether to return each sample's counts of true groundings.
    thin
        Return every thin-th world of each chain.
    workers
        Number of threads that chains are spread over.
    progress
        Called with the samples done and the samples asked for.

    Examples
    --------
    Two atoms under ``a v b`` of weight 2: P(a) = 2e² / (3e² + 1).

    >>> from scipy.sparse import csr_array
    >>> network = Network(
    ...     cardinalities=np.array([2, 2], np.int32), unary_starts=np.array([0, 2, 4]),
    ...     unary_counts=csr_array((4, 1)), forbidden=np.zeros(4, bool),
    ...     clause_starts=np.array([0, 2]), literal_variable=np.array([0, 1], np.int32),
    ...     literal_value=np.array([1, 1], np.int32), literal_positive=np.array([True, True]),
    ...     clause_rule=np.array([0], np.int32), multiplicity=np.array([1.0]),
    ...     constants=np.zeros(1), weights=np.array([2.0]))
    >>> result = run_chains(network, "gibbs", samples=10_000, seed=1)
    >>> bool(abs(result.marginals[1] - 0.638) < 0.01)
    True
    """
    plan = _SAMPLERS[method].prepare(network)
    keep = _Keep(counts, thin)
    runs = [
        _Chain(_SAMPLERS[method], plan, network, np.random.default_rng(child), keep)
        for child in _sequence(seed).spawn(chains)
    ]
    started = time.perf_counter()
    with ThreadPoolExecutor(max(1, workers)) as pool:

        def advance(steps: int, batch: int | None) -> None:
            each = map if workers < 2 else pool.map
            list(each(lambda run: run.advance(steps, batch), runs))

        share = None if max_seconds is None else max_seconds * _BURN_IN_SHARE_OF_TIME
        try:
            _burn_in(advance, burn_in, Clock(share))
            left = None if max_seconds is None else max_seconds + started - time.perf_counter()
            budget = Budget(-(-samples // chains), Clock(left), precision)
            stopped = _sample(network, advance, runs, budget, progress)
        except BaseException:
            for run in runs:  # on other threads, which the pool waits for
                run.stopping = True
            raise
    return _result(network, runs, stopped, time.perf_counter() - started)


@dataclass(frozen=True)
class _Keep:
    """What to keep of each world."""

    counts: bool
    thin: int | None

    @property
    def anything(self) -> bool:
        return self.counts or self.thin is not None


class _Chain:
    """One chain with its sums, batch means and what is kept of its worlds."""

    def __init__(
        self, sampler: Any, plan: Any, network: Network, rng: np.random.Generator, keep: _Keep
    ) -> None:
        self._sampler, self._plan, self._network, self._keep = sampler, plan, network, keep
        self._state = sampler.init(plan, rng)
        self.sums = np.zeros(int(network.unary_starts[-1]))
        self.samples = 0
        self.moved = 0.0
        self.stopping = False
        # Compiled code cannot be interrupted: it gets no more at once than takes a moment. How much
        # follows from the network, not from the clock, so that the sums are always the same.
        work = network.variables + len(network.literal_variable)
        cells = _MOST_KEPT_CELLS // max(network.variables, 1)
        most = _WORK_AT_ONCE // max(work, 1)
        self._most = max(1, min(most, cells) if keep.anything else most)
        self.batches: list[NDArray[np.float32]] = []
        self.counts: list[Floats] = []
        self.worlds: list[Codes] = []

    def advance(self, steps: int, batch: int | None) -> None:
        """Make steps: a batch if they are `batch`, burn-in if that is None."""
        sums = np.zeros_like(self.sums)
        if batch is None:
            nothing = np.empty((0, self._network.variables), np.int32)
            for piece in self._pieces(steps):
                self._sampler.step(self._plan, self._state, piece, sums, nothing)
            return
        for piece in self._pieces(steps):
            self._piece(piece, sums)
        self.sums += sums
        if steps == batch:
            self.batches.append((sums / steps).astype(np.float32))

    def _pieces(self, steps: int) -> Iterator[int]:
        while steps and not self.stopping:
            piece = min(steps, self._most)
            yield piece
            steps -= piece

    def _piece(self, steps: int, sums: Floats) -> None:
        rows = steps if self._keep.anything else 0
        worlds = np.empty((rows, self._network.variables), np.int32)
        moved = self._sampler.step(self._plan, self._state, steps, sums, worlds)
        self.moved += moved * steps
        if self._keep.counts:
            self.counts.append(count_worlds(self._network, worlds))
        if self._keep.thin is not None:
            self.worlds.append(worlds[-(self.samples + 1) % self._keep.thin :: self._keep.thin])
        self.samples += steps

    def merge_batches(self) -> None:
        """Join neighbouring batches."""
        pairs = zip(self.batches[::2], self.batches[1::2], strict=True)
        self.batches = [((left + right) / 2).astype(np.float32) for left, right in pairs]


def _sequence(seed: int | np.random.SeedSequence) -> np.random.SeedSequence:
    return seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)


Advance = Callable[[int, int | None], None]


def _burn_in(advance: Advance, steps: int, clock: Clock) -> None:
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
    network: Network,
    advance: Advance,
    runs: list[_Chain],
    budget: Budget,
    progress: Progress | None,
) -> Stop:
    """Advance all chains until something says stop; return what."""
    batch = budget.first_batch
    while runs[0].samples < budget.samples:
        if len(runs[0].batches) == MOST_BATCHES:
            for run in runs:
                run.merge_batches()
            batch *= 2
        steps = budget.clock.fit(min(batch, budget.samples - runs[0].samples))
        if not steps:
            return "time"
        advance(steps, batch)
        if progress is not None:
            progress(runs[0].samples * len(runs), budget.samples * len(runs))
        if budget.judges(runs[0].samples) and budget.meets(_errors(network, runs)):
            return "precision"
    return "samples"


def _errors(network: Network, runs: list[_Chain]) -> Floats:
    """Return the standard errors, with an allowance for rare events that no chain has met.

    Until a chain meets them, conditional probabilities show no spread; only a variable in no clause
    is certain to have none.
    """
    error = standard_error(np.array([run.batches for run in runs], np.float64))
    bound = np.bincount(network.literal_variable, minlength=network.variables) > 0
    open_values = np.repeat(bound, network.cardinalities) & ~network.forbidden
    missed = _MISSED / (runs[0].samples * len(runs))
    return np.where(open_values, np.hypot(error, missed), error)


def _result(network: Network, runs: list[_Chain], stopped: Stop, seconds: float) -> SampleResult:
    """Put the chains together."""
    chains, samples = len(runs), runs[0].samples * len(runs)
    marginals = np.sum([run.sums for run in runs], axis=0) / samples
    error = _errors(network, runs)
    batches = np.array([run.batches for run in runs], np.float64)
    kept_counts = [part for run in runs for part in run.counts]
    kept_worlds = [part for run in runs for part in run.worlds]
    return SampleResult(
        marginals=marginals,
        standard_error=error,
        effective_sample_size=effective_sample_size(marginals, error, samples),
        r_hat=split_r_hat(batches, runs[0].samples),
        samples=samples,
        chains=chains,
        moved=sum(run.moved for run in runs) / samples,
        stopped_by=stopped,
        seconds=seconds,
        counts=np.concatenate(kept_counts) if kept_counts else None,
        worlds=np.concatenate(kept_worlds) if kept_worlds else None,
    )
