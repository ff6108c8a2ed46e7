"""The boosting loop: gradients, one step a target, new potentials (algorithm 1 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.example_sums import counted_elsewhere
from mlnlearn.counting.objects import Objects
from mlnlearn.data.examples import Examples
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logistic import expit
from mlnlearn.model.boosted.influence import influence
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.boosted.potentials import own_values, without_itself
from mlnlearn.model.boosted.rules import ClauseList, Step, TargetRules
from mlnlearn.run import Fitted, Notes
from mlnlearn.structure.boosting.clauses import ClauseSettings, FoundList, find_clause
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.language import BodyLanguage
from mlnlearn.structure.boosting.pool import Expected, NegativeSampling, Pool, make_pool
from mlnlearn.structure.boosting.regression import Floats, Mask
from mlnlearn.structure.boosting.trees import TreeSettings, grow_tree
from mlnlearn.threads import in_slices

Adds: TypeAlias = Callable[[Predicate, Step], Callable[[Predicate, Codes], Floats]]
"""Tells what a step for a target adds to the log-odds of examples of any target."""

# Up to this share of the pool, a step counts for the drawn examples alone. Beyond it, it counts for
# all, and keeps the counts for later steps: that pays earlier for trees, which ask again for what
# they asked before, than for clauses, whose beam goes elsewhere in every step.
_SMALL_SHARE_TREES = 0.1
_SMALL_SHARE_CLAUSES = 0.3
_LONGEST_STEP = 8.0
_SHORTEST_STEP = 1e-3


@dataclass(frozen=True, slots=True)
class StepSettings:
    """How far a step goes, and when to stop.

    Attributes
    ----------
    steps
        Most steps.
    shrinkage
        What every step is multiplied by.
    line_search
        Whether a step is first stretched to where the likelihood is highest.
    patience
        Steps without a better likelihood of the held-out examples after which to stop.
    cautious
        Whether steps are halved until the likelihood of all targets together does not fall.
    """

    steps: int = 20
    shrinkage: float = 1.0
    line_search: bool = False
    patience: int = 5
    cautious: bool = False


@dataclass(eq=False)
class TargetState:
    """One target while it is learned."""

    predicate: Predicate
    pool: Pool
    language: BodyLanguage
    prior: ClauseList
    potential: Floats
    features: Features | None = None
    steps: list[Step] = field(default_factory=list)
    shifts: list[float] = field(default_factory=list)

    def rules(self, steps: int) -> TargetRules:
        """Return what was learned in the first steps."""
        bias = self.pool.start + self.pool.shift + self.shifts[0]
        shifts = tuple(shift - self.shifts[0] for shift in self.shifts[1:])
        return TargetRules(self.predicate, bias, self.prior, tuple(self.steps), shifts).first(steps)

    def calibrate(self) -> None:
        """Note the shift that makes the mean probability right after the latest step."""
        guess = self.shifts[-1] if self.shifts else 0.0
        self.shifts.append(self.pool.calibration(self.potential, guess))

    def log_likelihood(self, chosen: Mask) -> float:
        """Return the weighted log-likelihood of some examples."""
        if not chosen.any():
            return 0.0
        found = self.pool.weight * log_chance(self.pool.aim, self.potential)
        return float(found[chosen].sum())

    def expected_log_likelihood(self, growth: Floats | float = 0.0) -> float:
        """Return the log-likelihood of the whole population, were the potentials to grow so."""
        pool, potential = self.pool, self.potential + growth
        shift = pool.calibration(potential, self.shifts[-1])
        chances = log_chance(pool.goal, potential + pool.shift + shift)
        return float((pool.population * chances).sum())


class Boosting:
    """A run of boosting over one or more targets.

    Parameters
    ----------
    world
        The training data.
    languages
        The literals that may be tried, for each target.
    examples
        Examples of targets; those of others are drawn from the data.
    priors
        Given clauses, by target.
    sampling, settings, base
        How examples are drawn, how steps are made, and trees or clauses.
    seed
        Every draw depends on it and on the step's number only, so that a run can be taken up again.
    expected
        By target, the probabilities of atoms that are unknown and only filled in.
    adds
        What steps add to log-odds, where someone knows it better than joins over the facts.
    shares
        How much the examples of each database count; alike where None.
    """

    def __init__(
        self,
        world: Objects,
        languages: Mapping[str, BodyLanguage],
        examples: Mapping[str, Examples],
        priors: Mapping[str, ClauseList],
        sampling: NegativeSampling,
        settings: StepSettings,
        base: TreeSettings | ClauseSettings,
        seed: int,
        expected: Mapping[str, Expected] | None = None,
        adds: Adds | None = None,
        shares: Floats | None = None,
    ) -> None:
        self.world, self.settings, self.base, self.seed = world, settings, base, seed
        self.adds = adds
        self.elsewhere = counted_elsewhere(world)
        self.targets: list[TargetState] = []
        for number, (name, language) in enumerate(languages.items()):
            rng = np.random.default_rng([seed, number])
            soft = (expected or {}).get(name)
            pool = make_pool(world, name, examples.get(name), sampling, rng, soft, shares)
            prior = priors.get(name, ClauseList(()))
            potential = np.full(len(pool.labels), pool.start)
            self.targets.append(TargetState(world.schema[name], pool, language, prior, potential))
        for number, state in enumerate(self.targets):
            if state.prior.clauses:
                for other, part in zip(
                    self.targets, self._growth(number, state.prior), strict=True
                ):
                    other.potential += part
        self.history: list[float] = []
        self._note()

    @property
    def done(self) -> int:
        """Number of steps made."""
        return len(self.history) - 1

    @property
    def best(self) -> int:
        """The number of steps to keep: all, or those after which held-out examples fared best."""
        if not self._has_held_out():
            return self.done
        return int(np.argmax(self.history))

    @property
    def finished(self) -> bool:
        """Whether no further step is wanted."""
        if self.done >= self.settings.steps:
            return True
        return self._has_held_out() and self.done - self.best >= self.settings.patience

    def rules(self) -> tuple[TargetRules, ...]:
        """Return what was learned."""
        return tuple(state.rules(self.best) for state in self.targets)

    def fitted(self) -> Fitted[BoostedModel, Notes]:
        """Return the model as it stands."""
        model = BoostedModel(self.world.schema, self.base.existential, self.rules())
        return Fitted(model, Notes())

    def step(self) -> None:
        """Fit one tree, or list of clauses, for every target; then update all potentials."""
        fitted = [self._fit(number) for number in range(len(self.targets))]
        for number, (step, values) in enumerate(fitted):
            growth = self._growth(number, step, values)
            if self.settings.cautious:
                length = self._safe_length(growth)
                self._take(number, step.scaled(length), [length * part for part in growth])
            else:
                self._take(number, step, growth)
        self._note()

    def replay(self, steps: Sequence[Sequence[Step]]) -> None:
        """Take up steps learned before: for each round, one step a target."""
        for chosen in steps:
            for number, step in enumerate(chosen):
                self._take(number, step, self._growth(number, step))
            self._note()

    def _take(self, number: int, step: Step, growth: Sequence[Floats]) -> None:
        self.targets[number].steps.append(step)
        for state, part in zip(self.targets, growth, strict=True):
            state.potential += part

    def _growth(self, number: int, step: Step, values: Floats | None = None) -> list[Floats]:
        """Return what a step for one target adds to the potentials of all targets.

        Its own examples get its values, which may be known; the target atoms in its bodies what it
        means to them (eq. 12).
        """
        head = self.targets[number].predicate
        if self.adds is not None:
            found = self.adds(head, step)
            return [found(state.predicate, state.pool.rows) for state in self.targets]
        growth = []
        for place, state in enumerate(self.targets):
            pool = state.pool
            if place != number:
                part = np.zeros(len(state.potential))
            else:
                part = values if values is not None else self._own(state, step)
            if not self.base.existential:
                part = part + influence(
                    step, head, self.world, state.predicate, pool.rows, pool.labels
                )
            growth.append(part)
        return growth

    def _own(self, state: TargetState, step: Step) -> Floats:
        """Return what rules for a target give to its examples."""
        rows, labels = state.pool.rows, state.pool.labels
        return own_values(step, self.world, state.predicate, rows, labels, self.base.existential)

    def _safe_length(self, growth: Sequence[Floats]) -> float:
        """Return 1, or half as often as it takes not to do worse than before."""

        def value(length: float) -> float:
            return sum(
                state.expected_log_likelihood(length * part)
                for state, part in zip(self.targets, growth, strict=True)
            )

        length, least = 1.0, value(0.0)
        while length > _SHORTEST_STEP and value(length) < least:
            length /= 2
        return length if length > _SHORTEST_STEP else 0.0

    def _note(self) -> None:
        for state in self.targets:
            state.calibrate()
        self.history.append(
            sum(state.log_likelihood(state.pool.held_out) for state in self.targets)
        )

    def _fit(self, number: int) -> tuple[Step, Floats | None]:
        """Fit one step of a target; with it come its values, where they are known."""
        state = self.targets[number]
        rng = np.random.default_rng([self.seed, number, 1 + self.done])
        chosen = state.pool.draw(rng)
        trees = isinstance(self.base, TreeSettings)
        small = _SMALL_SHARE_TREES if trees else _SMALL_SHARE_CLAUSES
        everyone = bool(chosen.mean() > small)
        part = slice(None) if everyone else np.flatnonzero(chosen)
        features = self._features(state, part, everyone)
        aim, weight = state.pool.aim[part], state.pool.weight[part]
        potential, chosen = state.potential[part], chosen[part]
        step, values = fit_step(features, potential, aim, weight, chosen, self.base)
        factor = self.settings.shrinkage
        if self.settings.line_search:
            factor *= _best_length(potential, values(step), aim, np.where(chosen, weight, 0.0))
        if factor != 1.0:
            step = step.scaled(factor)
        return step, values(step) if everyone else None

    def _features(self, state: TargetState, part: slice | Ints, everyone: bool) -> Features:
        if everyone and state.features is not None:
            return state.features
        rows, labels = state.pool.rows[:, part], state.pool.labels[part]
        recursive = any(mode.predicate == state.predicate for mode in state.language.modes)
        flip = without_itself(state.predicate, rows, labels) if recursive else None
        types = state.predicate.types
        features = Features(self.world, rows, types, state.language, flip, self.elsewhere)
        if everyone:
            state.features = features
        return features

    def _has_held_out(self) -> bool:
        return any(state.pool.held_out.any() for state in self.targets)


def fit_step(
    features: Features,
    potential: Floats,
    aim: Floats | Mask,
    weight: Floats,
    chosen: Mask,
    base: TreeSettings | ClauseSettings,
) -> tuple[Step, Callable[..., Floats]]:
    """Fit a tree or clauses to the gradients of some examples.

    Returns
    -------
    The step, and a function that gives the examples' values under it (or under the same rules with
    other weights).
    """
    if isinstance(base, TreeSettings):
        grown = grow_tree(features, _gradient(aim, potential), weight, chosen, base)
        return grown.tree, grown.values
    found = []
    current = potential.copy()
    for _ in range(base.number):
        item = find_clause(features, _gradient(aim, current), weight, chosen, base)
        item.add_to(current, item.clause.weight)
        found.append(item)
    listed = FoundList(tuple(found), len(features))
    return listed.step, listed.values


def _gradient(aim: Floats | Mask, potential: Floats) -> Floats:
    """Return that of the log-likelihood by the potential: observed minus expected (eq. 9)."""
    gradient = np.empty(len(potential))

    def fill(part: slice) -> None:
        np.subtract(aim[part], expit(potential[part]), out=gradient[part])

    in_slices(fill, len(potential))
    return gradient


def log_chance(goal: Floats | Mask, potential: Floats) -> Floats:
    """Return the log-likelihood of examples that are true with the given probabilities."""
    return -1.0 * goal * np.logaddexp(0.0, -potential) - (1.0 - goal) * np.logaddexp(0.0, potential)


def _best_length(potential: Floats, values: Floats, aim: Floats | Mask, weight: Floats) -> float:
    """Return the multiple of a step that maximises the likelihood, by Newton's method."""
    length = 1.0
    for _ in range(50):
        expected = expit(potential + length * values)
        slope = float((weight * values * (aim - expected)).sum())
        curve = float((weight * values**2 * expected * (1.0 - expected)).sum())
        change = float(np.clip(slope / max(curve, 1e-12), -1.0, 1.0))
        length = float(np.clip(length + change, 0.0, _LONGEST_STEP))
        if abs(change) < 1e-9 or length in (0.0, _LONGEST_STEP):
            break
    return length
