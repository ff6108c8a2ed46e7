"""Worlds of unknown atoms: sampled one after the other, or the most probable one."""

from __future__ import annotations

import math

import numpy as np

from mlnlearn.counting.arrays import Ints
from mlnlearn.logistic import expit
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.hidden.atoms import Mask
from mlnlearn.model.boosted.hidden.components import sweep_order
from mlnlearn.model.boosted.hidden.kernels import (
    WALKS,
    HiddenWorld,
    assign,
    fill,
    log_odds,
    sweep,
    value_chances,
)
from mlnlearn.model.boosted.hidden.network import GroundNetwork, Rules

_VISITS_AT_ONCE = 100_000


class Sampler:
    """A world of unknown atoms that is changed atom by atom (Gibbs sampling).

    Parameters
    ----------
    network
        The ground rules.
    rng
        Where the draws come from.
    order
        The atoms to draw, in the order of a sweep, and the first of each block; by default all of
        them, as `sweep_order` has it.

    Attributes
    ----------
    walks
        Walks through trees so far: what was recomputed.
    visits
        Atoms drawn so far. Without knowing what an atom touches, every visit would take as many
        walks as the network has values.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms
    >>> from mlnlearn.model.boosted.rules import TargetRules
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(schema, {}, unknown={"smokes": [("Anna",), ("Bob",)]})
    >>> hidden = HiddenAtoms.of([db], ["smokes"])
    >>> rules = [TargetRules(schema["smokes"], -1.0)]
    >>> sampler = Sampler(GroundNetwork.of(rules, False, hidden), np.random.default_rng(0))
    >>> sampler.run(10).round(3).tolist()
    [0.269, 0.269]
    """

    def __init__(
        self, network: GroundNetwork, rng: np.random.Generator, order: Ints | None = None
    ) -> None:
        self.network = network
        self.rng = rng
        self.order = sweep_order(network.rules) if order is None else order
        self.steps_at_once = max(1, _VISITS_AT_ONCE // max(len(self.order), 1))
        rules = network.rules
        self._state = HiddenWorld(
            truth=np.zeros(len(rules.own), np.bool_),
            needs=network.needs.copy(),
            counts=network.sure.copy(),
            values=np.zeros(network.size),
            false_heads=_heads(rules, len(network.sure)),
        )
        fill(rules, self._state.counts, self._state.values)
        most = int(np.diff(rules.uses).max(initial=0))
        self._scratch = np.empty(most, np.int64), np.zeros(network.size, np.int64)
        self._work = np.zeros(2, np.int64)
        self.visits = 0

    @property
    def truth(self) -> Mask:
        """The world as it is."""
        return self._state.truth.copy()

    @property
    def walks(self) -> int:
        """Walks through trees so far."""
        return int(self._work[WALKS])

    @property
    def buffers(self) -> tuple[HiddenWorld, Ints, Ints, Ints]:
        """The world as it is, and scratch space, for compiled loops to change."""
        return self._state, *self._scratch, self._work

    def scatter(self) -> None:
        """Start from a world in which every atom is drawn by what is sure of it alone.

        Blocks have no value before the first sweep draws one.
        """
        own = self.network.rules.fixed[self.network.rules.own[self.order]]
        truth = np.zeros(len(self._state.truth), np.bool_)
        truth[self.order] = self.rng.random(len(own)) < expit(own)
        truth &= self.network.rules.next_value == np.arange(len(truth))
        self.assign(truth)

    def assign(self, truth: Mask) -> None:
        """Go over to another world."""
        assign(self.network.rules, truth, self._state, *self._scratch, self._work)

    def run(self, sweeps: int) -> Floats:
        """Sweep over all atoms, and return their mean conditional probabilities on the way."""
        sums = np.zeros(len(self._state.truth))
        self.step(sweeps, sums)
        return sums / max(sweeps, 1)

    def step(self, steps: int, sums: Floats, burn_in: bool = False) -> float:
        """Make sweeps, add up the conditional probabilities, and return the share of changes."""
        changes = sum(self._sweep(1.0, sums) for _ in range(steps))
        return changes / max(steps * len(self.order), 1)

    def log_odds(self) -> Floats:
        """Return the log-odds of every atom given all others in the world as it is."""
        found = np.empty(len(self._state.truth))
        self.visits += len(found)
        log_odds(self.network.rules, self._state, *self._scratch, self._work, found)
        return found

    def conditionals(self) -> Floats:
        """Return the probability of every atom given all others in the world as it is.

        Of a value of a block, given all atoms outside of the block.
        """
        found: Floats = expit(self.log_odds())
        value_chances(self.network.rules, self.order, *self.buffers, found)
        return found

    def descend(self, sweeps: int, starts: int) -> Mask:
        """Look for the most probable world: sampling that gets sharper, then greedy changes.

        Under existential semantics there may be no such thing as a world's probability; then the
        last world is returned in which every atom has its likelier value, if one was found.
        """
        best, highest = self.truth, -math.inf
        sums = np.zeros(len(best))
        for _ in range(starts):
            self.scatter()
            for number in range(sweeps):
                self._sweep(sweeps / (sweeps - number), sums)
            for _ in range(max(sweeps, 10)):
                if not self._sweep(math.inf, sums):
                    break
            if self.network.rules.existential:
                return self.truth
            weight = self.log_weight()
            if weight > highest:
                best, highest = self.truth, weight
        return best

    def log_weight(self) -> float:
        """Return the world's log-probability but for a constant (counting semantics)."""
        rules = self.network.rules
        false = (rules.atom < 0) | ~self._state.truth[np.maximum(rules.atom, 0)]
        head = np.repeat(np.arange(len(false)), np.diff(rules.units))
        return -float(rules.fixed[false].sum() + self._state.values[false[head]].sum())

    def _sweep(self, sharpness: float, sums: Floats) -> int:
        draws = self.rng.random(len(self.order))
        self.visits += len(draws)
        changes: int = sweep(self.network.rules, self.order, *self.buffers, draws, sharpness, sums)
        return changes


def _heads(rules: Rules, counters: int) -> Ints:
    """Return how many heads each counter counts for, where that is needed."""
    if np.isnan(rules.slope).all():
        return np.empty(0, np.int64)
    return np.bincount(rules.place, minlength=counters)
