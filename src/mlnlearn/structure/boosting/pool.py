"""The examples of one target that boosting learns from, with their weights.

Negatives outnumber positives by orders of magnitude in relational data. Two ways to deal with it:

``calibrated``
    All negatives take part (or a fixed uniform sample where there are too many), but together
    they weigh only `balance` times as much as the positives, so that gradients are balanced and
    few steps suffice. Scaling the negatives by a constant factor shifts the true log-odds by its
    logarithm; adding that to the bias makes the probabilities hold on the full population. What a
    finite number of steps leaves amiss is mended after each of them: the bias moves to where the
    mean probability is the share of true atoms.

``paper``
    Twice as many negatives as positives, drawn afresh for every step and unweighted, from the
    potential -1.8 on. Probabilities then fit a world with two negatives to a positive: their
    conditional log-likelihood is good on test sets of that make, and poor on full populations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.lookups import refuse_arity
from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples, positives_and_negatives
from mlnlearn.errors import InputError
from mlnlearn.logistic import expit
from mlnlearn.structure.boosting.regression import Floats, Mask
from mlnlearn.threads import in_slices

Expected: TypeAlias = Callable[[Codes], Floats]
"""Gives examples (rows) their probability of being true; not a number where it is known."""

PAPER_RATIO = 2.0
PAPER_POTENTIAL = -1.8


@dataclass(frozen=True, slots=True)
class NegativeSampling:
    """How examples are weighted and drawn.

    Attributes
    ----------
    negatives
        ``"calibrated"`` or ``"paper"``, see above.
    balance
        Most weight that all negatives have together, as a multiple of that of the positives;
        infinity leaves every example its own weight.
    fraction
        Share of the examples that takes part in a step.
    held_out
        Share of the examples that takes part in no step, to tell when to stop.
    max_examples
        Negatives are sampled where there are more examples than this.
    """

    negatives: str = "calibrated"
    balance: float = 20.0
    fraction: float = 1.0
    held_out: float = 0.0
    max_examples: int | None = 200_000


@dataclass(frozen=True, eq=False)
class Pool:
    """Examples of one target over numbered objects.

    Attributes
    ----------
    rows
        A row of databases, then one of each argument's objects.
    labels
        Which are true.
    goal
        How probably each is true: 1 or 0, but for atoms that are unknown and only filled in.
    aim
        The same where examples count by their weights.
    weight
        How much each counts in training.
    population
        How many atoms of the population each stands for.
    start
        The potential before the first step, in the world of the weights.
    shift
        What to add to such potentials so that they hold on the population.
    held_out
        Examples kept aside.
    sampling
        How examples are drawn for a step.
    """

    rows: Codes
    labels: Mask
    goal: Floats | Mask
    aim: Floats | Mask
    weight: Floats
    population: Floats
    start: float
    shift: float
    held_out: Mask
    sampling: NegativeSampling

    def draw(self, rng: np.random.Generator) -> Mask:
        """Return the examples that take part in one step."""
        chosen = ~self.held_out
        if self.sampling.negatives == "paper":
            negatives = np.flatnonzero(chosen & ~self.labels)
            wanted = round(PAPER_RATIO * np.count_nonzero(chosen & self.labels))
            if wanted < len(negatives):
                chosen &= self.labels
                chosen[rng.choice(negatives, wanted, replace=False)] = True
        if self.sampling.fraction < 1.0:
            among = np.flatnonzero(chosen)
            wanted = max(round(self.sampling.fraction * len(among)), 1)
            chosen = np.zeros(len(chosen), np.bool_)
            chosen[rng.choice(among, wanted, replace=False)] = True
        return chosen

    def calibration(self, potential: Floats, guess: float) -> float:
        """Return what to add to potentials so that the mean probability is the share of positives.

        The numbers are those of the population; `guess` is where Newton's method starts.
        """
        if self.sampling.negatives == "paper":
            return 0.0

        def true_ones(part: slice) -> float:
            return float((self.population[part] * self.goal[part]).sum())

        def expected_ones(part: slice) -> tuple[float, float]:
            expected = expit(potential[part] + (self.shift + result))
            mass = self.population[part] * expected
            return float(mass.sum()), float((mass * (1.0 - expected)).sum())

        positive = sum(in_slices(true_ones, len(potential)))
        result = guess
        for _ in range(100):
            excess, slope = -positive, 0.0
            for mass, curve in in_slices(expected_ones, len(potential)):
                excess += mass
                slope += curve
            change = float(np.clip(-excess / max(slope, 1e-300), -1.0, 1.0))
            result += change
            if abs(change) < 1e-10:
                break
        return result


def make_pool(
    world: Objects,
    target: str,
    examples: Examples | None,
    sampling: NegativeSampling,
    rng: np.random.Generator,
    expected: Expected | None = None,
    shares: Floats | None = None,
) -> Pool:
    """Gather the examples of a target, or those given, and weigh them, by database if asked to.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> facts = {"likes": [("Anna", "Bob")]}
    >>> names = {"person": [f"P{i}" for i in range(8)]}
    >>> world = Objects([Database.from_facts(schema, facts, domains=names)])
    >>> drawn = NegativeSampling(balance=9.0)
    >>> pool = make_pool(world, "likes", None, drawn, np.random.default_rng(0))
    >>> len(pool.labels), round(float(pool.weight.sum()), 6), round(pool.start + pool.shift, 4)
    (100, 10.0, -4.5951)
    """
    refuse_arity(world.schema[target])
    if examples is None:
        examples = population_examples(world.databases, target, sampling.max_examples, rng)
    if shares is not None:
        examples = replace(examples, weights=examples.weights * shares[examples.database])
    labels = examples.labels
    for kind, present in (("true", labels.any()), ("false", not labels.all())):
        if not present:
            raise InputError(
                f"there is no {kind} example of {target} in the training data",
                hint="give databases, or examples, of both kinds",
            )
    rows = world.numbered(examples.predicate, examples.database, examples.columns)
    goal: Floats | Mask = labels
    if expected is not None:
        found = expected(rows)
        goal = np.where(np.isnan(found), labels, found)
    own = np.ones(len(labels)) if shares is None else shares[examples.database]
    weight, aim, start, shift = _weights(examples, goal, own, sampling)
    held_out = _held_out(labels, sampling.held_out, rng)
    population = examples.weights
    return Pool(rows, labels, goal, aim, weight, population, start, shift, held_out, sampling)


def population_examples(
    databases: Sequence[Database], target: str, most: int | None, rng: np.random.Generator
) -> Examples:
    """Return all atoms of a target, or all true ones and a sample of the others."""
    positives = sum(database.count(target) for database in databases)
    total = sum(database.ground_atoms(target) for database in databases)
    ratio = None
    if most is not None and total > most:
        ratio = max((most - positives) / max(positives, 1), PAPER_RATIO)
    return positives_and_negatives(databases, target, ratio=ratio, rng=rng)


def _weights(
    examples: Examples, goal: Floats | Mask, own: Floats, sampling: NegativeSampling
) -> tuple[Floats, Floats | Mask, float, float]:
    """Return training weights, what to learn under them, the first potential, and the shift."""
    labels = examples.labels
    if sampling.negatives == "paper":
        return own, goal, PAPER_POTENTIAL, 0.0
    positive = float(examples.weights[labels].sum())
    negative = float(examples.weights[~labels].sum())
    factor = min(sampling.balance * positive / negative, 1.0)
    # what is true with probability g is a true example that weighs g and a false one
    share = (1.0 - goal) * factor
    share += goal
    start = math.log(positive / (factor * negative))
    settled = goal.dtype == np.bool_ or bool(((goal == 0.0) | (goal == 1.0)).all())
    aim = goal if settled else goal / share
    return np.multiply(share, examples.weights, out=share), aim, start, math.log(factor)


def _held_out(labels: Mask, share: float, rng: np.random.Generator) -> Mask:
    """Choose the share of the true and of the false examples that is kept aside."""
    chosen = np.zeros(len(labels), np.bool_)
    if share > 0:
        for kind in (True, False):
            among = np.flatnonzero(labels == kind)
            chosen[rng.choice(among, round(share * len(among)), replace=False)] = True
    return chosen
