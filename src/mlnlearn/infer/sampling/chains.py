"""Several chains of a sampler of ground networks, and what is kept of their worlds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mlnlearn.infer.network import Codes, Flags, Floats, Network
from mlnlearn.infer.sampling import gibbs, mcsat
from mlnlearn.infer.sampling.rulecounts import count_worlds
from mlnlearn.montecarlo.chains import Estimates, Progress, run
from mlnlearn.montecarlo.settings import Sampling

Method = Literal["gibbs", "mcsat"]

# A sampler is a module with prepare(network), init(plan, rng) and step(plan, state, …).
_SAMPLERS: dict[Method, Any] = {"gibbs": gibbs, "mcsat": mcsat}
_MOST_KEPT_CELLS = 4_000_000
_WORK_AT_ONCE = 4_000_000  # variables and literals looked at, some tens of nanoseconds each


@dataclass(frozen=True, eq=False)
class SampleResult(Estimates):
    """What the chains found; arrays run over the values of all variables, as in the network.

    Attributes
    ----------
    stuck
        Per value, whether strong clauses may keep it as it was at first in all chains alike.
    counts
        Counts of each rule's true groundings, shape (samples, rules), if asked for.
    worlds
        Every `thin`-th world of each chain, chain after chain, if asked for.
    """

    stuck: Flags
    counts: Floats | None = None
    worlds: Codes | None = None

    def judged(self, group: NDArray[np.integer]) -> dict[int, tuple[bool, float, float]]:
        """Judge groups of estimates; chains that agree say nothing where all may be stuck."""
        doubtful = set(group[self.stuck].tolist())
        return {
            number: (agree and number not in doubtful, r_hat, size)
            for number, (agree, r_hat, size) in super().judged(group).items()
        }

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
    chains: int = Sampling.chains,
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
    samples, burn_in, chains, seed, max_seconds, precision, workers
        See `mlnlearn.montecarlo.settings.Sampling`.
    counts
        Whether to return each sample's counts of true groundings.
    thin
        Return every thin-th world of each chain.
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
        _NetworkChain(_SAMPLERS[method], plan, network, np.random.default_rng(child), keep)
        for child in _sequence(seed).spawn(chains)
    ]
    found = run(
        runs,
        _uncertain(network),
        samples=samples,
        burn_in=burn_in,
        max_seconds=max_seconds,
        precision=precision,
        workers=workers,
        progress=progress,
    )
    kept_counts = [part for one in runs for part in one.counts]
    kept_worlds = [part for one in runs for part in one.worlds]
    stuck = gibbs.stuck(plan) if method == "gibbs" else np.zeros(network.variables, np.bool_)
    return SampleResult(
        **vars(found),
        stuck=np.repeat(stuck, network.cardinalities),
        counts=np.concatenate(kept_counts) if kept_counts else None,
        worlds=np.concatenate(kept_worlds) if kept_worlds else None,
    )


@dataclass(frozen=True)
class _Keep:
    """What to keep of each world."""

    counts: bool
    thin: int | None

    @property
    def anything(self) -> bool:
        return self.counts or self.thin is not None


class _NetworkChain:
    """One chain over a network, and what is kept of its worlds."""

    def __init__(
        self, sampler: Any, plan: Any, network: Network, rng: np.random.Generator, keep: _Keep
    ) -> None:
        self._sampler, self._plan, self._network, self._keep = sampler, plan, network, keep
        self._state = sampler.init(plan, rng)
        self._samples = 0
        work = network.variables + len(network.literal_variable)
        cells = _MOST_KEPT_CELLS // max(network.variables, 1)
        most = _WORK_AT_ONCE // max(work, 1)
        self.steps_at_once = max(1, min(most, cells) if keep.anything else most)
        self.counts: list[Floats] = []
        self.worlds: list[Codes] = []

    def step(self, steps: int, sums: Floats, burn_in: bool) -> float:
        """Make steps; keep what is wanted of their worlds, but for burn-in."""
        keeping = self._keep.anything and not burn_in
        worlds = np.empty((steps if keeping else 0, self._network.variables), np.int32)
        moved: float = self._sampler.step(self._plan, self._state, steps, sums, worlds)
        if not keeping:
            return moved
        if self._keep.counts:
            self.counts.append(count_worlds(self._network, worlds))
        if self._keep.thin is not None:
            self.worlds.append(worlds[-(self._samples + 1) % self._keep.thin :: self._keep.thin])
        self._samples += steps
        return moved


def _sequence(seed: int | np.random.SeedSequence) -> np.random.SeedSequence:
    return seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)


def _uncertain(network: Network) -> Flags:
    """Tell which values may surprise: only a variable in no clause is certain not to."""
    bound = np.bincount(network.literal_variable, minlength=network.variables) > 0
    values: Flags = np.repeat(bound, network.cardinalities) & ~network.forbidden
    return values
