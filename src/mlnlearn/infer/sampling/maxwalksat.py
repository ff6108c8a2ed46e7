"""The most probable world by weighted local search (MaxWalkSAT; Kautz, Selman & Jiang 1997).

Cost is what a world falls short of the best each clause and each variable alone could give. A step
picks something that falls short and changes one variable to mend it: the best change that is not
tabu, or with some probability a random one. Clauses of negative weight fall short when they hold.
Each try ends with changes of one variable at a time as long as any helps. Restricted to what is
hard, the same search finds the worlds that the samplers start from.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as OutOfTime
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlnlearn.errors import MlnError
from mlnlearn.infer.network import Codes, Floats, Network
from mlnlearn.infer.sampling.kernels import new_stream
from mlnlearn.infer.sampling.layout import Layout, build_layout
from mlnlearn.infer.sampling.localsearch import ROUNDING, polish, search

_STARTS = 20
_LEAST_FLIPS = 2_000
_FLIPS_PER_VARIABLE = 20
_FLIPS_AT_ONCE = 20_000  # without looking up: some hundredths of a second


@dataclass(frozen=True)
class MapResult:
    """The best world found.

    Attributes
    ----------
    world
        A value for each variable.
    log_weight
        Its unnormalised log-probability.
    proven
        Whether it is certainly optimal: nothing in it falls short.
    tries
        Number of starts.
    """

    world: Codes
    log_weight: float
    proven: bool
    tries: int


def maxwalksat(
    network: Network,
    *,
    seed: int | np.random.SeedSequence,
    tries: int = 10,
    flips: int | None = None,
    noise: float = 0.2,
    tabu: int = 3,
    max_seconds: float | None = None,
) -> MapResult:
    """Search for the most probable world.

    Parameters
    ----------
    seed
        Seed; the same seed gives the same world.
    tries
        Number of starts: the first from each variable's own best value, then random ones.
    flips
        Changes in each try; by default 20 a variable, at least 2,000.
    noise
        Probability of a random change instead of the best one.
    tabu
        Number of steps in which a changed variable is left alone, unless a new best world results.
    max_seconds
        Wall-clock limit; what is found then depends on the machine.

    Examples
    --------
    Two atoms, ``a v b`` of weight 2 and ``a`` of weight -1; b alone is the best:

    >>> from scipy.sparse import csr_array
    >>> network = Network(
    ...     cardinalities=np.array([2, 2], np.int32), unary_starts=np.array([0, 2, 4]),
    ...     unary_counts=csr_array([[0, 0], [0, 1], [0, 0], [0, 0]]), forbidden=np.zeros(4, bool),
    ...     clause_starts=np.array([0, 2]), literal_variable=np.array([0, 1], np.int32),
    ...     literal_value=np.array([1, 1], np.int32), literal_positive=np.array([True, True]),
    ...     clause_rule=np.array([0], np.int32), multiplicity=np.array([1.0]),
    ...     constants=np.zeros(2), weights=np.array([2.0, -1.0]))
    >>> best = maxwalksat(network, seed=0)
    >>> best.world, best.log_weight, best.proven
    (array([0, 1], dtype=int32), 2.0, True)
    """
    layout = build_layout(network)
    rng = np.random.default_rng(seed)
    flips = max(_LEAST_FLIPS, _FLIPS_PER_VARIABLE * network.variables) if flips is None else flips
    best = MapResult(np.zeros(network.variables, np.int32), -np.inf, False, 0)
    end = None if max_seconds is None else time.perf_counter() + max_seconds
    for number in range(1, tries + 1):
        world = _own_best(layout) if number == 1 else random_world(layout, rng)
        stream = new_stream(rng)
        potentials = (layout, layout.unary, layout.strength)
        cost = _interruptible(flips, end, *potentials, world, flips, noise, tabu, 0.0, stream)
        polish(layout, world)
        log_weight = network.log_weight(world)
        if log_weight > best.log_weight or number == 1:
            best = MapResult(world, log_weight, bool(cost <= ROUNDING), number)
        if best.proven or (end is not None and time.perf_counter() >= end):
            break
    if np.isneginf(best.log_weight):
        raise _no_world(tries * flips)
    return MapResult(best.world, best.log_weight, best.proven, number)


def feasible_world(layout: Layout, rng: np.random.Generator) -> Codes:
    """Return a random world that satisfies everything hard (not uniformly drawn).

    Examples
    --------
    >>> from mlnlearn.infer.sampling.layout import build_layout
    >>> from scipy.sparse import csr_array
    >>> network = Network(
    ...     cardinalities=np.array([2, 2], np.int32), unary_starts=np.array([0, 2, 4]),
    ...     unary_counts=csr_array((4, 0)), forbidden=np.array([False, True, False, False]),
    ...     clause_starts=np.array([0, 2]), literal_variable=np.array([0, 1], np.int32),
    ...     literal_value=np.array([1, 1], np.int32), literal_positive=np.array([True, True]),
    ...     clause_rule=np.array([-1], np.int32), multiplicity=np.array([1.0]),
    ...     constants=np.zeros(0), weights=np.zeros(0))
    >>> feasible_world(build_layout(network), np.random.default_rng(0))
    array([0, 1], dtype=int32)
    """
    unary = np.where(layout.unary <= -layout.hard, layout.unary, 0.0)
    strength = np.where(layout.strength >= layout.hard, layout.strength, 0.0)
    flips = max(_LEAST_FLIPS, _FLIPS_PER_VARIABLE * len(layout.cardinality))
    for _ in range(_STARTS):
        world = random_world(layout, rng)
        stream = new_stream(rng)
        enough = layout.hard / 2
        cost = _interruptible(
            flips, None, layout, unary, strength, world, flips, 0.3, 3, enough, stream
        )
        if cost < layout.hard / 2:
            return world
    raise _no_world(_STARTS * flips)


def _interruptible(flips: int, end: float | None, *arguments: Any) -> float:
    """Search on another thread where it takes a while, so that Ctrl-C and a time limit end it."""
    stop = np.zeros(1, np.uint8)
    if flips < _FLIPS_AT_ONCE:
        return float(search(*arguments, stop))
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(search, *arguments, stop)  # type: ignore[call-arg]
        try:
            return float(found.result(None if end is None else max(end - time.perf_counter(), 0)))
        except OutOfTime:
            stop[0] = 1
            return float(found.result())
        except BaseException:
            stop[0] = 1
            raise


def random_world(layout: Layout, rng: np.random.Generator) -> Codes:
    """Return a world with each variable drawn uniformly from its values that are not forbidden.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> network = Network(
    ...     cardinalities=np.array([2], np.int32), unary_starts=np.array([0, 2]),
    ...     unary_counts=csr_array((2, 0)), forbidden=np.array([True, False]),
    ...     clause_starts=np.array([0]), literal_variable=np.empty(0, np.int32),
    ...     literal_value=np.empty(0, np.int32), literal_positive=np.empty(0, bool),
    ...     clause_rule=np.empty(0, np.int32), multiplicity=np.empty(0),
    ...     constants=np.zeros(0), weights=np.zeros(0))
    >>> random_world(build_layout(network), np.random.default_rng(0))
    array([1], dtype=int32)
    """
    keys = np.where(layout.unary <= -layout.hard, -1.0, rng.random(len(layout.unary)))
    return _argmax(layout, keys)


def _own_best(layout: Layout) -> Codes:
    return _argmax(layout, layout.unary)


def _argmax(layout: Layout, keys: Floats) -> Codes:
    """Return the first value of each variable with the largest key."""
    if not len(layout.cardinality):
        return np.empty(0, np.int32)
    largest = np.maximum.reduceat(keys, layout.value_start[:-1])
    places = np.where(
        keys == np.repeat(largest, layout.cardinality), np.arange(len(keys)), len(keys)
    )
    first = np.minimum.reduceat(places, layout.value_start[:-1])
    return (first - layout.value_start[:-1]).astype(np.int32)


def _no_world(flips: int) -> MlnError:
    return MlnError(
        f"no world found that satisfies the hard rules and the evidence ({flips} changes tried)",
        hint="the hard rules may contradict each other or the evidence; make some of them soft",
    )
