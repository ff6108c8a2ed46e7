"""The boosting loop: gradients, one step a target, new potentials (algorithm 1 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from mlnlearn.counting.arrays import Ints
from mlnlearn.data.examples import Examples
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.evaluate import step_values
from mlnlearn.model.boosted.influence import influence
from mlnlearn.model.boosted.rules import ClauseList, Step, TargetRules
from mlnlearn.model.boosted.world import World
from mlnlearn.structure.boosting.clauses import ClauseSettings, FoundList, find_clause
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.language import Language
from mlnlearn.structure.boosting.pool import Pool, Sampling, make_pool
from mlnlearn.structure.boosting.scoring import Floats, Mask
from mlnlearn.structure.boosting.trees import TreeSettings, grow_tree

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of steps done and wanted."""

_SMALL_SHARE = 0.1
_LONGEST_STEP = 8.0


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
    """

    steps: int = 20
    shrinkage: float = 1.0
    line_search: bool = False
    patience: int = 5


@dataclass(eq=False)
class TargetState:
    """One target while it is learned."""

    predicate: Predicate
    pool: Pool
    language: Language
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
        odds = np.where(self.pool.labels, self.potential, -self.potential)
        return float((self.pool.weight * -np.logaddexp(0.0, -odds))[chosen].sum())


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
    """

    def __init__(
        self,
        world: World,
        languages: Mapping[str, Language],
        examples: Mapping[str, Examples],
        priors: Mapping[str, ClauseList],
        sampling: Sampling,
        settings: StepSettings,
        base: TreeSettings | ClauseSettings,
        seed: int,
    ) -> None:
        self.world, self.settings, self.base, self.seed = world, settings, base, seed
        self.targets: list[TargetState] = []
        for number, (name, language) in enumerate(languages.items()):
            rng = np.random.default_rng([seed, number])
            pool = make_pool(world, name, examples.get(name), sampling, rng)
            prior = priors.get(name, ClauseList(()))
            potential = np.full(len(pool.labels), pool.start)
            potential += step_values(prior, world, pool.rows, base.existential)
            state = TargetState(world.schema[name], pool, language, prior, potential)
            self.targets.append(state)
        for number, state in enumerate(self.targets):
            if state.prior.clauses:
                self._spread(number, state.prior)
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

    def step(self) -> None:
        """Fit one tree, or list of clauses, for every target; then update all potentials."""
        self._take([self._fit(number) for number in range(len(self.targets))])

    def replay(self, steps: Sequence[Sequence[Step]]) -> None:
        """Take up steps learned before: for each round, one step a target."""
        for chosen in steps:
            self._take([(step, None) for step in chosen])

    def _take(self, chosen: Sequence[tuple[Step, Floats | None]]) -> None:
        for state, (step, known) in zip(self.targets, chosen, strict=True):
            if known is None:
                rows = state.pool.rows
                state.potential += step_values(step, self.world, rows, self.base.existential)
            else:
                state.potential += known
            state.steps.append(step)
        for number, (step, _) in enumerate(chosen):
            self._spread(number, step)
        self._note()

    def _note(self) -> None:
        for state in self.targets:
            state.calibrate()
        self.history.append(
            sum(state.log_likelihood(state.pool.held_out) for state in self.targets)
        )

    def _spread(self, number: int, step: Step) -> None:
        """Add what a step for one target means to the atoms of others in its bodies (eq. 12)."""
        if self.base.existential:
            return
        head = self.targets[number].predicate
        for other in self.targets:
            if other.predicate != head:
                other.potential += influence(
                    step, head, self.world, other.predicate, other.pool.rows, other.pool.labels
                )

    def _fit(self, number: int) -> tuple[Step, Floats | None]:
        """Fit one step of a target; with it come its values, where they are known."""
        state = self.targets[number]
        rng = np.random.default_rng([self.seed, number, 1 + self.done])
        chosen = state.pool.draw(rng)
        everyone = bool(chosen.mean() > _SMALL_SHARE)
        part = np.arange(len(chosen)) if everyone else np.flatnonzero(chosen)
        features = self._features(state, part, everyone)
        labels, weight = state.pool.labels[part], state.pool.weight[part]
        potential, chosen = state.potential[part], chosen[part]
        step, values = fit_step(features, potential, labels, weight, chosen, self.base)
        factor = self.settings.shrinkage
        if self.settings.line_search:
            factor *= _best_length(potential, values(step), labels, np.where(chosen, weight, 0.0))
        if factor != 1.0:
            step = step.scaled(factor)
        return step, values(step) if everyone else None

    def _features(self, state: TargetState, part: Ints, everyone: bool) -> Features:
        if everyone and state.features is not None:
            return state.features
        rows = state.pool.rows if everyone else state.pool.rows[:, part]
        features = Features(self.world, rows, state.predicate.types, state.language)
        if everyone:
            state.features = features
        return features

    def _has_held_out(self) -> bool:
        return any(state.pool.held_out.any() for state in self.targets)


def fit_step(
    features: Features,
    potential: Floats,
    labels: Mask,
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
    # the gradient of the log-likelihood by the potential: observed minus expected (eq. 9)
    if isinstance(base, TreeSettings):
        grown = grow_tree(features, labels - expit(potential), weight, chosen, base)
        return grown.tree, grown.values
    found = []
    current = potential.copy()
    for _ in range(base.number):
        item = find_clause(features, labels - expit(current), weight, chosen, base)
        current[item.examples] += item.clause.weight * item.counts
        found.append(item)
    listed = FoundList(tuple(found), len(features))
    return listed.step, listed.values


def _best_length(potential: Floats, values: Floats, labels: Mask, weight: Floats) -> float:
    """Return the multiple of a step that maximises the likelihood, by Newton's method."""
    length = 1.0
    for _ in range(50):
        expected = expit(potential + length * values)
        slope = float((weight * values * (labels - expected)).sum())
        curve = float((weight * values**2 * expected * (1.0 - expected)).sum())
        change = float(np.clip(slope / max(curve, 1e-12), -1.0, 1.0))
        length = float(np.clip(length + change, 0.0, _LONGEST_STEP))
        if abs(change) < 1e-9 or length in (0.0, _LONGEST_STEP):
            break
    return length
