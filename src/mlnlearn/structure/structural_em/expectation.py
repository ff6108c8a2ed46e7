"""The E-step: worlds of the unknown atoms under the current model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.objects import Objects
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms, Mask
from mlnlearn.model.boosted.hidden.network import GroundNetwork, Kept
from mlnlearn.model.boosted.hidden.sampler import Sampler
from mlnlearn.model.boosted.rules import TargetRules
from mlnlearn.montecarlo.chains import run
from mlnlearn.run import check_time

_CHAINS = 2
_STREAM = 0x5E3  # keeps these draws apart from those of boosting
_STARTS = 3


@dataclass(frozen=True, eq=False)
class Worlds:
    """Completed databases: for each world, all databases in turn.

    Attributes
    ----------
    hidden
        The unknown atoms.
    truth
        Their values, shape ``(worlds, atoms)``.
    chance
        Per world, the probability of each atom given all others in it. Its mean over the worlds
        estimates P(y=1 | x; ψₜ) of eq. 2 with less variance than the values do.
    r_hat
        Largest R̂ of an atom's probability, where it can be told.
    saved
        Share of the walks through trees that were not needed.
    log_weights
        Each world's log-probability but for a constant, under counting semantics.
    shares
        How much each world counts; they add up to the number of worlds.
    """

    hidden: HiddenAtoms
    truth: Mask
    chance: Floats
    r_hat: float | None
    saved: float
    log_weights: Floats | None = None
    shares: Floats | None = None

    def __len__(self) -> int:
        return len(self.truth)

    def by_probability(self) -> Worlds:
        """Return every world once, weighed by its probability among those there are."""
        if self.log_weights is None:
            raise ValueError("worlds without probabilities")
        _, first = np.unique(self.truth, axis=0, return_index=True)
        first.sort()
        shares = np.exp(self.log_weights[first] - self.log_weights[first].max())
        return replace(
            self,
            truth=self.truth[first],
            chance=self.chance[first],
            log_weights=self.log_weights[first],
            shares=len(first) * shares / shares.sum(),
        )

    def stacked(self) -> Objects:
        """Return the worlds as facts of so many databases."""
        return Objects([db for truth in self.truth for db in self.hidden.completed(truth)])

    def expected(self, stack: Objects, predicate: Predicate, rows: Codes) -> Floats:
        """Return the chances of atoms of the stacked databases; not a number for known ones."""
        world, here = in_one_copy(stack, self.hidden.known, predicate, rows)
        numbers = self.hidden.numbers(predicate, here)
        found = np.full(len(numbers), math.nan)
        hidden = np.flatnonzero(numbers >= 0)
        found[hidden] = self.chance[world[hidden], numbers[hidden]]
        return found


def in_one_copy(
    stack: Objects, single: Objects, predicate: Predicate, rows: Codes
) -> tuple[Codes, Codes]:
    """Return the number of the copy that each of the stacked atoms is in, and its row there."""
    copy, database = np.divmod(rows[0], len(single.databases))
    here = np.empty_like(rows)
    here[0] = database
    for place, kind in enumerate(predicate.types, 1):
        codes = rows[place] - stack.offsets[kind][rows[0]]
        here[place] = codes + single.offsets[kind][database]
    return copy, here


def sampled_worlds(
    targets: Sequence[TargetRules],
    existential: bool,
    hidden: HiddenAtoms,
    worlds: int,
    burn_in: int,
    thin: int,
    seed: Sequence[int],
    kept: Kept | None = None,
) -> Worlds:
    """Draw worlds by Gibbs sampling of the unknown atoms only.

    Parameters
    ----------
    targets, existential
        The model; every predicate with unknown atoms is a target of it.
    hidden
        The unknown atoms.
    worlds
        How many; they come from two chains.
    burn_in, thin
        Sweeps of each chain before its first world, and from one world to the next.
    seed
        Of all draws.
    kept
        Groundings of earlier E-steps, which need not be found again.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(schema, {}, unknown={"smokes": [("Anna",), ("Bob",)]})
    >>> rules = [TargetRules(schema["smokes"], -1.0)]
    >>> found = sampled_worlds(rules, False, HiddenAtoms.of([db], ["smokes"]), 4, 1, 1, [0])
    >>> found.truth.shape, found.chance[0].round(3).tolist(), found.r_hat
    ((4, 2), [0.269, 0.269], 1.0)
    """
    network = GroundNetwork.of(targets, existential, hidden, kept)
    wanted = [len(part) for part in np.array_split(np.arange(worlds), min(_CHAINS, worlds))]
    streams = [np.random.default_rng([*seed, _STREAM, chain]) for chain in range(len(wanted))]
    chains = [_WorldChain(Sampler(network, rng), thin) for rng in streams]
    sweeps = len(chains) * wanted[0] * thin  # the first has as many worlds as any
    uncertain = np.ones(len(hidden), np.bool_)
    found = run(chains, uncertain, samples=sweeps, burn_in=burn_in)
    enough = wanted[-1] >= 2 and len(hidden) > 0
    samplers = [chain.sampler for chain in chains]
    visits = sum(sampler.visits for sampler in samplers)
    drawn = [w for chain, number in zip(chains, wanted, strict=True) for w in chain.kept[:number]]
    weights = None if existential else np.array([world.log_weight for world in drawn])
    return Worlds(
        hidden,
        np.stack([world.truth for world in drawn]),
        np.stack([world.chance for world in drawn]),
        float(found.r_hat.max()) if enough else None,
        1.0 - sum(sampler.walks for sampler in samplers) / max(visits * network.size, 1),
        weights,
    )


class _KeptWorld(NamedTuple):
    """A world, the probability of each atom given all others in it, and its log-probability."""

    truth: Mask
    chance: Floats
    log_weight: float


class _WorldChain:
    """A chain of which every so many worlds are kept, but for those of burn-in."""

    def __init__(self, sampler: Sampler, thin: int) -> None:
        sampler.scatter()
        self.sampler, self.kept = sampler, list[_KeptWorld]()
        self.steps_at_once = sampler.steps_at_once
        self._thin, self._sweeps = thin, 0

    def step(self, steps: int, sums: Floats, burn_in: bool) -> float:
        """Make sweeps, and keep worlds on the way."""
        check_time()
        if burn_in:
            return self.sampler.step(steps, sums)
        moved = 0.0
        for _ in range(steps):
            moved += self.sampler.step(1, sums)
            self._sweeps += 1
            if self._sweeps % self._thin == 0:
                self.kept.append(self._world())
        return moved / steps

    def _world(self) -> _KeptWorld:
        sampler = self.sampler
        weight = math.nan if sampler.network.rules.existential else sampler.log_weight()
        return _KeptWorld(sampler.truth, sampler.conditionals(), weight)


def best_world(
    targets: Sequence[TargetRules],
    existential: bool,
    hidden: HiddenAtoms,
    sweeps: int,
    seed: Sequence[int],
    kept: Kept | None = None,
) -> Worlds:
    """Return the most probable world that a search finds (hard EM).

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(schema, {}, unknown={"smokes": [("Anna",), ("Bob",)]})
    >>> rules = [TargetRules(schema["smokes"], -1.0)]
    >>> best_world(rules, False, HiddenAtoms.of([db], ["smokes"]), 10, [0]).truth.tolist()
    [[False, False]]
    """
    network = GroundNetwork.of(targets, existential, hidden, kept)
    sampler = Sampler(network, np.random.default_rng([*seed, _STREAM]))
    truth = sampler.descend(sweeps, _STARTS)[None]
    saved = 1.0 - sampler.walks / max(sampler.visits * network.size, 1)
    return Worlds(hidden, truth, truth.astype(np.float64), None, saved)
