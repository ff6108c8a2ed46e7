"""Distil trees into a short list of rules whose weights are fitted to the examples.

Candidates are the beginnings of the trees' branches, of at most three tests. Rules are taken one
by one, each the one that brings the list closest to what the trees say, and after each all weights
are fitted anew by conditional likelihood: of the labels, of what the trees say of them, or of both
in equal parts, whichever predicts held-out examples best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from mlnlearn.compiled import njit
from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.model.relational.features import number_of_links
from mlnlearn.model.relational.rules import Condition, ReadableRule, RuleList, merged
from mlnlearn.model.relational.trees import LARGEST, FeatureNode, Test
from mlnlearn.run import check_time
from mlnlearn.structure.relational_boosting.cells import MISSING, OTHER, Lists
from mlnlearn.structure.relational_boosting.losses import Loss, probabilities
from mlnlearn.structure.relational_boosting.steps import BoostingRun

_SAMPLE = 10_000
_CANDIDATES = 800
_NEWTON, _TINY = 50, 1e-9  # most steps of a fit, and what is nothing
_LENGTH = 3
_NEAR = 0.5  # of the furthest value by name: names that are told together with it
_LISTED = ((2, 1), (6, 2))  # more names than so many are as long to read as so many links
_AT_A_GLANCE = 2  # so many names that a value is one of are read at once
_AS_GOOD = 0.7  # of the best gain: among such rules, the simplest is taken
_LEAST_GAIN = 0.002  # of the first rule's: what is less is not worth a reader's time


@dataclass(frozen=True)
class DistilSettings:
    """How a list is made.

    Attributes
    ----------
    max_rules, ridge, seed
        Its length, how much weights are shrunk, and the seed of samples.
    classes
        Names of the classes.
    trust
        How much weights are fitted to labels, the rest to what the trees say.
    """

    max_rules: int
    ridge: float
    seed: int
    classes: tuple[str, ...]
    trust: float = 1.0


@dataclass(frozen=True, eq=False)
class RuleBodies:
    """What lists for a run may be made of, however weights are fitted.

    Attributes
    ----------
    rows
        The examples that weights are fitted to.
    found
        The bodies of rules.
    covers
        Which of the examples each covers.
    useful
        Those of enough examples; of bodies that say the same, the shortest.
    """

    rows: Ints
    found: list[tuple[Condition, ...]]
    covers: NDArray[np.bool_]
    useful: Ints

    @cached_property
    def _rarer(self) -> tuple[NDArray[np.bool_], Lists]:
        """Which useful rules cover most examples, and what they do not cover, others do cover."""
        covers = self.covers[self.useful]
        counts = np.count_nonzero(covers, axis=1)
        most = 2 * counts > covers.shape[1]
        rules, examples = np.nonzero(covers != most[:, None])
        starts = np.concatenate([[0], np.cumsum(np.bincount(rules, minlength=len(covers)))])
        return most, Lists(starts.astype(np.int64), examples.astype(np.int32))

    def sums(self, values: Floats) -> Floats:
        """Return the sums of values of examples, (examples, outputs), that useful rules cover."""
        most, rarer = self._rarer
        found = np.empty((len(most), values.shape[1]))
        _add_lists(found, rarer.starts, rarer.entries, values)
        found[most] = values.sum(axis=0) - found[most]
        return found


def rule_bodies(run: BoostingRun, seed: int) -> RuleBodies:
    """Return the beginnings of branches of a run's trees, as bodies of rules."""
    rows = run.rows
    if len(rows) > _SAMPLE:
        rng = np.random.default_rng([seed, 3])
        rows = np.sort(rng.choice(rows, _SAMPLE, replace=False))
    found = list(_candidates(run.trees))
    passing: dict[Condition, NDArray[np.bool_]] = {}
    covers = np.ones((len(found), len(rows)), np.bool_)
    for number, body in enumerate(found):
        for condition in body:
            if condition not in passing:
                passing[condition] = _covered(run, (condition,), rows)
            covers[number] &= passing[condition]
    return RuleBodies(rows, found, covers, _distinct(found, covers, run.settings.size.min_examples))


@dataclass(frozen=True, eq=False)
class TakenRules:
    """Rules in the order in which they were taken: each says what those before it leave to say.

    Attributes
    ----------
    bodies
        Their conditions.
    weights
        Those of the constant and of the rules so far, before the first rule and after each: a row
        a rule, a column an output.
    """

    bodies: tuple[tuple[Condition, ...], ...]
    weights: tuple[Floats, ...]

    def scores(self, run: BoostingRun, rows: Ints) -> Iterator[Floats]:
        """Yield the scores that examples have by no rule, by the first, by the first two."""
        covers = [_covered(run, body, rows) for body in self.bodies]
        design = np.array([np.ones(len(rows), np.bool_), *covers], np.float64).T
        for weights in self.weights:
            yield design[:, : len(weights)] @ weights


def distil(
    run: BoostingRun, settings: DistilSettings, bodies: RuleBodies, told: Floats | None = None
) -> RuleList:
    """Return a short list of rules for the trees of a run, fitted to its examples.

    Parameters
    ----------
    run
        The run: its trees are what is said in rules, its examples what weights are fitted to.
    settings
        How long the list may be.
    bodies
        What rules are chosen from, see `rule_bodies`.
    told
        The labels that shares and means are said of; by default, those that weights are fitted to.
    """
    taken = taken_rules(run, settings, bodies)
    start, *weights = taken.weights[-1]
    label = run.label if told is None else told
    rules = [
        _rule(run, body, own, settings, label)
        for body, own in zip(taken.bodies, weights, strict=True)
    ]
    return RuleList(tuple(start.tolist()), tuple(rules))


def taken_rules(run: BoostingRun, settings: DistilSettings, bodies: RuleBodies) -> TakenRules:
    """Return the rules that bring a list closest to the trees of a run, with their weights."""
    with threadpool_limits(limits=1):  # sums that do not depend on the number of threads
        return _taken(run, settings, bodies)


def _taken(run: BoostingRun, settings: DistilSettings, bodies: RuleBodies) -> TakenRules:
    found, useful = bodies.found, bodies.useful
    fit = _ListFit(run, bodies.rows, settings)
    chosen: list[int] = []
    weights = [fit.weights]
    first = 0.0
    for _ in range(settings.max_rules):
        check_time()
        gains = fit.gains(bodies)
        gains[np.isin(useful, chosen)] = 0.0
        first = first or float(gains.max(initial=0.0))
        if gains.max(initial=0.0) <= _LEAST_GAIN * first:
            break
        near = useful[gains >= _AS_GOOD * gains.max()]
        chosen.append(int(min(near, key=lambda at: (_length(found[at]), at))))
        fit.add(bodies.covers[chosen[-1]])
        weights.append(fit.weights)
    return TakenRules(tuple(found[number] for number in chosen), tuple(weights))


def _candidates(trees: Sequence[FeatureNode]) -> Iterator[tuple[Condition, ...]]:
    """Yield the beginnings of branches, each once, those of the first trees first."""
    seen: set[tuple[Condition, ...]] = set()
    text = cache(str)
    for tree in trees:
        waiting: list[tuple[FeatureNode, tuple[Condition, ...]]] = [(tree, ())]
        while waiting:
            node, body = waiting.pop()
            for one in (body, *_with_names(body, node)):
                key = tuple(sorted(one, key=text))
                if one and key not in seen:
                    seen.add(key)
                    yield one
                    if len(seen) >= _CANDIDATES:
                        return
            if node.test is not None and node.yes is not None and node.no is not None:
                for below, holds in ((node.no, False), (node.yes, True)):
                    longer = merged((*body, Condition(node.test, holds)))
                    if len(longer) <= _LENGTH:
                        waiting.append((below, longer))


def _with_names(body: tuple[Condition, ...], node: FeatureNode) -> Iterator[tuple[Condition, ...]]:
    """Yield a body for the name whose value is furthest from that of all, and for those near it."""
    if node.by_name is None:
        return
    axis = node.by_name.axis
    apart = np.array(node.by_name.values) - node.values[0]
    furthest = int(np.argmax(np.abs(apart)))
    near = np.flatnonzero(apart * np.sign(apart[furthest]) >= _NEAR * np.abs(apart[furthest]))
    for places in ([furthest], near.tolist()):
        if len(places) < len(axis.names):
            names = tuple(axis.names[place] for place in places)
            longer = merged((Condition(Test(axis.feature, None, names)), *body))
            if len(longer) <= _LENGTH:
                yield longer


def _distinct(
    found: Sequence[tuple[Condition, ...]], covers: NDArray[np.bool_], least: int
) -> Ints:
    """Return candidates of enough examples; of those that say the same, the shortest."""
    by_cover: dict[bytes, int] = {}
    for number, cover in enumerate(covers):
        count = int(cover.sum())
        if not least <= count <= len(cover) - least:
            continue
        # a rule and its opposite differ by the sign of the weight alone
        key = np.packbits(cover if cover[0] else ~cover).tobytes()
        other = by_cover.get(key)
        if other is None or _length(found[number]) < _length(found[other]):
            by_cover[key] = number
    return np.array(sorted(by_cover.values()), np.int64)


def _length(body: tuple[Condition, ...]) -> tuple[int, int, bool, int]:
    """Return how long a rule is to read; one that says what is comes before one that denies."""
    links = sum(number_of_links(condition.test.feature) for condition in body)
    # what many names have in common is said sooner than the names are listed
    links += sum(
        cost * (len(condition.test.names) > most) for condition in body for most, cost in _LISTED
    )
    denies = not all(condition.holds for condition in body)
    return len(body), links, denies, len(" ".join(map(str, body)))


def _covered(run: BoostingRun, body: Sequence[Condition], rows: Ints) -> NDArray[np.bool_]:
    found = np.ones(len(rows), np.bool_)
    for condition in body:
        found &= run.passes(condition.test, rows) == condition.holds
    return found


class _ListFit:
    """Weights of a list, fitted to a goal, while rules are chosen by what the trees say."""

    def __init__(self, run: BoostingRun, rows: Ints, settings: DistilSettings) -> None:
        self.loss, self.ridge = run.loss, settings.ridge
        self.label, self.weight = run.label[rows], run.weight[rows]
        self.taught = _means(run.loss, run.scores[rows])
        truth = settings.trust * _truth(run.loss, self.label)
        self.goal = truth + (1.0 - settings.trust) * self.taught
        self.weights = run.loss.start(self.label, self.weight)[None]
        self.scores = np.repeat(self.weights, len(rows), axis=0)
        # examples that the same rules cover are a group; a column of the design stands for it
        self.group, self.design = np.zeros(len(rows), np.int64), np.ones((1, 1))

    def gains(self, bodies: RuleBodies) -> Floats:
        """Return how much closer each useful rule would bring the list to the trees."""
        gradients = self.weight[:, None] * (self.taught - _means(self.loss, self.scores))
        _, curvatures = self.loss.slopes(self.scores, self.label, self.weight)
        both = np.concatenate([gradients, curvatures], axis=1)
        sums, weights = np.split(bodies.sums(both), 2, axis=1)
        return np.asarray((sums**2 / (weights + self.ridge)).sum(axis=1))

    def add(self, covered: NDArray[np.bool_]) -> None:
        """Add a rule, and fit all weights to the goal."""
        halves = 2 * self.group + covered
        there = np.bincount(halves) > 0
        self.group = (np.cumsum(there) - 1)[halves]
        half = np.flatnonzero(there)
        before = np.ascontiguousarray(self.design[:, half // 2])
        self.design = np.concatenate([before, [half % 2]])
        goal = _Goal.of(self.loss, self.goal, self.weight, self.group)
        fresh = np.zeros((len(self.design), self.loss.outputs))
        fresh[: len(self.weights)] = self.weights

        if self.loss.outputs == 1:
            self.weights = _by_newton(goal, self.design, fresh, self.ridge)
        else:
            self.weights = _by_gradient(goal, self.design, fresh, self.ridge)
        self.scores = (self.design.T @ self.weights)[self.group]


@dataclass(frozen=True, eq=False)
class _Goal:
    """What groups of examples with the same scores are to be told: sums over each group.

    Attributes
    ----------
    weight, aimed, squared
        Of each group, the sums of the weights, and of the weights times goals and their squares.
    """

    loss: Loss
    weight: Floats
    aimed: Floats
    squared: Floats

    @classmethod
    def of(cls, loss: Loss, goal: Floats, weight: Floats, group: Ints) -> _Goal:
        """Add up the goals of examples, one row each, by the group that each is of."""
        columns = [weight, *(weight * goal.T), weight * (goal**2).sum(axis=1)]
        sums: Floats = np.array([np.bincount(group, column) for column in columns])
        return cls(loss, sums[0], sums[1:-1].T, sums[-1])

    @property
    def total(self) -> float:
        """The weight of all examples."""
        return float(self.weight.sum())

    def slopes(self, scores: Floats) -> Floats:
        """Return how the goal differs from what the scores of groups say."""
        found: Floats = self.aimed - self.weight[:, None] * _means(self.loss, scores)
        return found

    def curvatures(self, scores: Floats) -> Floats:
        """Return the second derivatives of the deviance in the scores of one output, by group."""
        if self.loss.kind == "squares":
            return self.weight
        chance = _means(self.loss, scores)[:, 0]
        return self.weight * chance * (1.0 - chance)

    def deviance(self, scores: Floats) -> float:
        """Return the deviance of the scores of groups from goals that may lie between labels."""
        told = (self.aimed * scores).sum(axis=1)
        if self.loss.kind == "squares":
            own = 0.5 * (self.weight * scores[:, 0] ** 2 + self.squared)
        elif self.loss.kind == "logistic":
            own = self.weight * np.logaddexp(0.0, scores[:, 0])
        else:
            own = self.weight * logsumexp(scores, axis=1)
        return float((own - told).sum())


def _by_newton(goal: _Goal, design: Floats, start: Floats, ridge: float) -> Floats:
    """Return the best weights of one output; the first, the constant, is not shrunk."""
    shrunk = np.full(len(start), ridge)
    shrunk[0] = 0.0
    weights = start[:, 0]

    def value(tried: Floats) -> float:
        prior = 0.5 * float((shrunk * tried**2).sum())
        return goal.deviance((design.T @ tried)[:, None]) + prior

    best = value(weights)
    for _ in range(_NEWTON):
        scores = (design.T @ weights)[:, None]
        slopes = design @ goal.slopes(scores)[:, 0] - shrunk * weights
        curved = (design * goal.curvatures(scores)) @ design.T + np.diag(shrunk + _TINY)
        step = np.linalg.solve(curved, slopes)
        fresh = value(weights + step)
        while fresh > best and np.abs(step).max() > _TINY:
            step = step / 2
            fresh = value(weights + step)
        if fresh > best - 1e-12 * goal.total:
            break
        weights, best = weights + step, fresh
    return weights[:, None]


def _by_gradient(goal: _Goal, design: Floats, start: Floats, ridge: float) -> Floats:
    """Return the best weights of several outputs; the first ones, constants, are not shrunk."""

    def value(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(start.shape)
        scores = design.T @ weights
        prior = 0.5 * ridge / goal.total * float((weights[1:] ** 2).sum())
        gradient = -(design @ goal.slopes(scores)) / goal.total
        gradient[1:] += ridge / goal.total * weights[1:]
        return goal.deviance(scores) / goal.total + prior, gradient.ravel()

    found = minimize(value, start.ravel(), jac=True, method="L-BFGS-B")
    best: Floats = found.x.reshape(start.shape)
    return best


def _means(loss: Loss, scores: Floats) -> Floats:
    """Return what is expected of labels."""
    if loss.kind == "squares":
        return scores
    found = probabilities(loss.kind, scores)
    return found[:, 1:] if loss.kind == "logistic" else found


def _truth(loss: Loss, label: Floats) -> Floats:
    """Return labels in the form of `_means`."""
    if loss.kind == "classes":
        found = np.zeros((len(label), loss.outputs))
        found[np.arange(len(label)), label.astype(np.int64)] = 1.0
        return found
    return label[:, None]


def _without_doubt(run: BoostingRun, condition: Condition) -> Condition:
    """Return a condition that says nothing of unknown values, where no example has any."""
    test, binned = condition.test, run.table.binned
    if test.missing != condition.holds:
        return condition
    place = run.table.place(test.feature)
    if place >= binned.dense:
        return condition
    if test.threshold == LARGEST or (binned.bins[place] == MISSING).any():
        return condition
    return Condition(replace(test, missing=not test.missing), condition.holds)


def _with_fewer_names(run: BoostingRun, condition: Condition) -> Condition:
    """Return a condition by the names that it leaves out, where these are clearly fewer.

    They are all others that there are: no example has a name that is too rare to be told apart.
    """
    test = condition.test
    if run.named is not None and test.feature == run.named.axis.feature:
        return condition
    place = run.table.place(test.feature)
    if not test.names or place >= run.table.binned.dense:
        return condition
    names = run.table.opened[place].binning.names or ()
    others = tuple(sorted(set(names) - set(test.names)))  # as in `merged`
    # what a value is says more than what it is not: that may take a name more
    most = max(len(others) + 1, _AT_A_GLANCE) if condition.holds else len(others)
    if not others or len(test.names) <= most or (run.table.binned.bins[place] == OTHER).any():
        return condition
    # unknown values stay on the side they are on: both the test and what it says are turned
    fewer = replace(test, names=others, missing=not test.missing)
    return Condition(fewer, not condition.holds)


def _rule(
    run: BoostingRun,
    body: tuple[Condition, ...],
    weights: Floats,
    settings: DistilSettings,
    label: Floats,
) -> ReadableRule:
    """Return a rule with what can be counted of it, in all examples."""
    told, weight, covered = label[run.rows], run.weight[run.rows], _covered(run, body, run.rows)
    says = ""
    if settings.classes:
        spoken = int(np.argmax(weights)) if run.loss.kind == "classes" else 1
        says, told = settings.classes[spoken], told == spoken
    share = float(np.average(told[covered], weights=weight[covered]))
    base = float(np.average(told, weights=weight))
    support = round(float(weight[covered].sum()))
    body = tuple(_with_fewer_names(run, _without_doubt(run, condition)) for condition in body)
    return ReadableRule(body, tuple(weights.tolist()), share, base, support, says)


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _add_lists(found, starts, entries, values):  # type: ignore[no-untyped-def]
    """Find the sums of values of the examples in each list.

    Of two outputs at a time: each addition waits for the one before.
    """
    outputs = values.shape[1]
    for number in range(len(found)):
        for one in range(0, outputs, 2):
            other = min(one + 1, outputs - 1)
            first, second = 0.0, 0.0
            for entry in range(starts[number], starts[number + 1]):
                example = entries[entry]
                first += values[example, one]
                second += values[example, other]
            found[number, one], found[number, other] = first, second
