"""The boosting loop for a target with an axis: gradients by constant, one structure for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mlnlearn.counting.example_sums import counted_elsewhere
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body, Pattern
from mlnlearn.data.examples import Examples
from mlnlearn.late import late
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema
from mlnlearn.logistic import expit
from mlnlearn.model.boosted.evaluate import routes
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.boosted.rules import (
    ClauseList,
    HornClause,
    Leaf,
    Node,
    Split,
    Step,
    TargetRules,
    Tree,
    nodes,
    roots,
)
from mlnlearn.run import Fitted, Notes
from mlnlearn.structure.boosting.class_pool import ClassPool, make_class_pool
from mlnlearn.structure.boosting.class_regression import ClassAxis, ClassRegression
from mlnlearn.structure.boosting.clauses import ClauseSettings, search_clause
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.fit import StepSettings, log_chance
from mlnlearn.structure.boosting.language import BodyLanguage
from mlnlearn.structure.boosting.pool import NegativeSampling
from mlnlearn.structure.boosting.regression import Floats, Mask, Regression
from mlnlearn.structure.boosting.trees import TreeSettings, grow

special = late("scipy.special")

_LONGEST_STEP = 8.0


@dataclass(eq=False)
class ClassState:
    """A target with an axis while it is learned; `potential` has a row for each constant."""

    predicate: Predicate
    axis: ClassAxis
    pool: ClassPool
    potential: Floats
    steps: list[Step] = field(default_factory=list)
    shifts: list[float] = field(default_factory=list)

    def rules(self, steps: int) -> TargetRules:
        """Return what was learned in the first steps."""
        first = self.shifts[0]
        prior = self.axis.leaf(self.pool.bias, self.pool.start + self.pool.shift)
        return TargetRules(
            self.predicate,
            self.pool.bias + first,
            ClauseList((HornClause((), 0.0, prior.by),)),
            tuple(self.steps),
            () if self.axis.exclusive else tuple(shift - first for shift in self.shifts[1:]),
        ).first(steps)

    def chances(self, potential: Floats) -> Floats:
        """Return the probabilities that potentials mean."""
        if self.axis.exclusive:
            return np.asarray(special.softmax(potential, axis=0))
        return np.asarray(expit(potential))

    def calibrate(self) -> None:
        """Note the shift that makes the mean probability right; a choice needs none."""
        guess = self.shifts[-1] if self.shifts else 0.0
        exclusive = self.axis.exclusive
        self.shifts.append(0.0 if exclusive else self.pool.calibration(self.potential, guess))

    def log_likelihood(self, chosen: Mask) -> float:
        """Return the weighted log-likelihood of some examples."""
        potential, labels = self.potential[:, chosen], self.pool.labels[:, chosen]
        weight = self.pool.weight[:, chosen]
        if self.axis.exclusive:
            logs = special.log_softmax(potential, axis=0)
            return float((weight * labels * logs).sum())
        return float((weight * log_chance(labels, potential)).sum())


class ClassBoosting:
    """A run of boosting over a target with an axis.

    Parameters
    ----------
    world
        The training data.
    predicate, axis
        The target, and the argument that leaves have vectors for.
    language
        The literals that may be tried for the other arguments.
    examples
        Examples of the target; drawn from the data where None.
    sampling, settings, base
        How examples are drawn, how steps are made, and trees or clauses.
    seed
        Every draw depends on it and on the step's number only, so that a run can be taken up again.
    """

    def __init__(
        self,
        world: Objects,
        predicate: Predicate,
        axis: ClassAxis,
        language: BodyLanguage,
        examples: Examples | None,
        sampling: NegativeSampling,
        settings: StepSettings,
        base: TreeSettings | ClauseSettings,
        seed: int,
    ) -> None:
        self.world, self.settings, self.base, self.seed = world, settings, base, seed
        self.fraction = sampling.fraction
        rng = np.random.default_rng([seed, 0])
        pool = make_class_pool(world, predicate, axis, examples, sampling, rng)
        potential = np.repeat(pool.start[:, None], pool.rows.shape[1], axis=1)
        self.state = ClassState(predicate, axis, pool, potential)
        types = (*predicate.types[: axis.place], *predicate.types[axis.place + 1 :])
        self.features = Features(world, pool.rows, types, language, None, counted_elsewhere(world))
        self.history: list[float] = []
        self._note()

    @property
    def targets(self) -> list[ClassState]:
        """The one target."""
        return [self.state]

    @property
    def done(self) -> int:
        """Number of steps made."""
        return len(self.history) - 1

    @property
    def best(self) -> int:
        """The number of steps to keep: all, or those after which held-out examples fared best."""
        return int(np.argmax(self.history)) if self._has_held_out() else self.done

    @property
    def finished(self) -> bool:
        """Whether no further step is wanted."""
        if self.done >= self.settings.steps:
            return True
        return self._has_held_out() and self.done - self.best >= self.settings.patience

    def fitted(self) -> Fitted[BoostedModel, Notes]:
        """Return the model as it stands."""
        rules = self.state.rules(self.best)
        return Fitted(BoostedModel(self._schema(), self.base.existential, (rules,)), Notes())

    def _schema(self) -> Schema:
        """Return the schema with the constants of the axis, which data to come may not mention."""
        schema, axis = self.world.schema, self.state.axis
        if axis.kind in schema.declared:
            return schema
        return replace(schema, listed={**schema.listed, axis.kind: axis.names})

    def step(self) -> None:
        """Fit one tree, or list of clauses; then update the potentials."""
        state = self.state
        rng = np.random.default_rng([self.seed, 0, 1 + self.done])
        chosen = state.pool.draw(self.fraction, rng)
        step, growth = self._fitted_step(chosen)
        factor = self.settings.shrinkage
        if self.settings.line_search:
            factor *= self._best_length(growth, chosen)
        if factor != 1.0:
            step = step.scaled(factor)
            growth = self._growth(step)
        self._take(step, growth)

    def replay(self, steps: Sequence[Sequence[Step]]) -> None:
        """Take up steps learned before."""
        for (step,) in steps:
            within = _renumbered(step, self.state.axis.place, -1)
            self._take(within, self._growth(within))

    def _take(self, step: Step, growth: Floats) -> None:
        self.state.steps.append(_renumbered(step, self.state.axis.place, 1))
        self.state.potential += growth
        self._note()

    def _note(self) -> None:
        self.state.calibrate()
        self.history.append(self.state.log_likelihood(self.state.pool.held_out))

    def _has_held_out(self) -> bool:
        return bool(self.state.pool.held_out.any())

    def _regression(self, potential: Floats, chosen: Mask) -> ClassRegression:
        pool = self.state.pool
        chances = self.state.chances(potential)
        gradient = pool.labels - chances
        once = self.base.existential
        each = tuple(
            Regression(gradient[number], pool.weight[number], chosen, None, once)
            for number in range(len(gradient))
        )
        return ClassRegression(self.state.axis, each, chances * (1.0 - chances))

    def _fitted_step(self, chosen: Mask) -> tuple[Step, Floats]:
        """Return a step over the other arguments, and what it adds to the potentials."""
        potential, axis = self.state.potential, self.state.axis
        if isinstance(self.base, TreeSettings):
            grown = grow(self.features, self._regression(potential, chosen), self.base)
            leaves = [Leaf(path.value, path.by) for path in grown.tree.paths]
            growth = np.stack([axis.values(leaf) for leaf in leaves], axis=1)[:, grown.leaf]
            return grown.tree, growth if grown.counts is None else growth * grown.counts
        growth, found = np.zeros(potential.shape), []
        for _ in range(self.base.number):
            regression = self._regression(potential + growth, chosen)
            item = search_clause(self.features, regression, self.base)
            values = axis.values(Leaf(item.clause.weight, item.clause.by))
            growth += values[:, None] * item.counts
            found.append(item.clause)
        return ClauseList(tuple(found)), growth

    def _growth(self, step: Step) -> Floats:
        """Return what a step over the other arguments adds to the potentials."""
        growth = np.zeros(self.state.potential.shape)
        rows, axis = self.state.pool.rows, self.state.axis
        for root in roots(step):
            for (_, node), stop in zip(nodes(root), routes(root, self.world, rows), strict=True):
                if isinstance(node, Leaf) and not node.is_zero:
                    reached = np.flatnonzero(stop.reached)
                    times = 1.0 if self.base.existential else stop.counts[reached]
                    growth[:, reached] += axis.values(node)[:, None] * times
        return growth

    def _best_length(self, growth: Floats, chosen: Mask) -> float:
        """Return the multiple of a step that maximises the likelihood, by Newton's method."""
        state = self.state
        weight, labels = state.pool.weight[:, chosen], state.pool.labels[:, chosen]
        potential, growth = state.potential[:, chosen], growth[:, chosen]
        length = 1.0
        for _ in range(50):
            expected = state.chances(potential + length * growth)
            slope = float((weight * growth * (labels - expected)).sum())
            curve = float((weight * growth**2 * expected).sum())
            if state.axis.exclusive:
                curve -= float((weight[0] * (growth * expected).sum(axis=0) ** 2).sum())
            else:
                curve -= float((weight * (growth * expected) ** 2).sum())
            change = float(np.clip(slope / max(curve, 1e-12), -1.0, 1.0))
            length = float(np.clip(length + change, 0.0, _LONGEST_STEP))
            if abs(change) < 1e-9 or length in (0.0, _LONGEST_STEP):
                break
        return length


def _renumbered(step: Step, place: int, by: int) -> Step:
    """Return a step for a head with an argument more at a place, or one fewer."""
    first = place if by > 0 else place + 1

    def body(given: Body) -> Body:
        return tuple(
            Pattern(
                pattern.predicate,
                tuple(t + by if isinstance(t, int) and t >= first else t for t in pattern.terms),
            )
            for pattern in given
        )

    def node(given: Node) -> Node:
        if isinstance(given, Leaf):
            return given
        return Split(body(given.test), node(given.yes), node(given.no))

    if isinstance(step, Tree):
        return Tree(node(step.root))
    return ClauseList(tuple(replace(clause, body=body(clause.body)) for clause in step.clauses))
