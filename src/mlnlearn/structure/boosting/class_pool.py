"""The examples of a target with an axis: what the other arguments say, each with all constants."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.objects import Objects
from mlnlearn.data.examples import Examples
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logistic import expit
from mlnlearn.structure.boosting.class_regression import ClassAxis
from mlnlearn.structure.boosting.pool import NegativeSampling, population_examples
from mlnlearn.structure.boosting.regression import Floats, Mask


@dataclass(frozen=True, eq=False)
class ClassPool:
    """Examples of one target with an axis. Arrays by constant have a row for each of them.

    Attributes
    ----------
    rows
        A row of databases, then one of each argument's objects but for that of the axis.
    labels
        By constant, which are true; of exclusive constants, the share that each has.
    weight
        By constant, how much each counts in training; nothing for what is not known.
    population
        By constant, how many atoms of the population each stands for.
    start
        By constant, the potential before the first step, in the world of the weights.
    shift
        By constant, what to add to such potentials so that they hold on the population.
    bias
        The log-odds (of exclusive constants, the log-weight) of a constant that never occurred.
    held_out
        Examples kept aside.
    """

    rows: Codes
    labels: Floats
    weight: Floats
    population: Floats
    start: Floats
    shift: Floats
    bias: float
    held_out: Mask

    def draw(self, fraction: float, rng: np.random.Generator) -> Mask:
        """Return the examples that take part in one step."""
        chosen = ~self.held_out
        if fraction < 1.0:
            among = np.flatnonzero(chosen)
            wanted = max(round(fraction * len(among)), 1)
            chosen = np.zeros(len(chosen), np.bool_)
            chosen[rng.choice(among, wanted, replace=False)] = True
        return chosen

    def calibration(self, potential: Floats, guess: float) -> float:
        """Return what to add to all potentials so that as many atoms are expected as are true."""
        shifted = potential + self.shift[:, None]
        positive = float((self.population * self.labels).sum())
        result = guess
        for _ in range(100):
            expected = expit(shifted + result)
            mass = self.population * expected
            slope = float((mass * (1.0 - expected)).sum())
            change = float(np.clip((positive - mass.sum()) / max(slope, 1e-300), -1.0, 1.0))
            result += change
            if abs(change) < 1e-10:
                break
        return result


def make_class_pool(
    world: Objects,
    target: Predicate,
    axis: ClassAxis,
    examples: Examples | None,
    sampling: NegativeSampling,
    rng: np.random.Generator,
) -> ClassPool:
    """Gather the examples of a target, or those given, and weigh them.

    Of exclusive constants, an example is learned from where it is known which one is true.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("is(track,genre!)")
    >>> facts = {"is": [("A", "Jazz"), ("B", "Rock"), ("C", "Rock")]}
    >>> world = Objects([Database.from_facts(schema, facts)])
    >>> axis = ClassAxis(1, "genre", ("Jazz", "Rock"), True)
    >>> made = make_class_pool(
    ...     world, schema["is"], axis, None, NegativeSampling(), np.random.default_rng(0))
    >>> made.labels.tolist(), np.exp(made.start).tolist()
    ([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], [0.375, 0.625])
    """
    gathered = (_choices if axis.exclusive else _atoms)(
        world, target, axis, examples, sampling, rng
    )
    held_out = np.zeros(gathered.rows.shape[1], np.bool_)
    aside = round(sampling.held_out * len(held_out))
    held_out[rng.choice(len(held_out), aside, replace=False)] = True
    if axis.exclusive:
        return _exclusive_pool(gathered, held_out)
    return _independent_pool(gathered, held_out, sampling.balance)


@dataclass(frozen=True, eq=False)
class _Gathered:
    """Examples, what is true of them, and how many each stands for; see `ClassPool`."""

    rows: Codes
    labels: Floats
    population: Floats


def _exclusive_pool(found: _Gathered, held_out: Mask) -> ClassPool:
    """Weigh examples of exclusive constants: alike, from how frequent each constant is."""
    positive = (found.population * found.labels).sum(axis=1)
    total = float(positive.sum()) + 0.5 * len(positive)
    start = np.log((positive + 0.5) / total)
    return ClassPool(
        found.rows,
        found.labels,
        found.population,
        found.population,
        start,
        np.zeros(len(start)),
        math.log(0.5 / total),
        held_out,
    )


def _independent_pool(found: _Gathered, held_out: Mask, balance: float) -> ClassPool:
    """Weigh examples of constants of which several may be true: false ones count less.

    What is true of each constant is as if there were one atom more, true as often as all are.
    """
    positive = (found.population * found.labels).sum(axis=1)
    negative = found.population.sum(axis=1) - positive
    rate = float(positive.sum() / found.population.sum())
    positive, negative = positive + rate, negative + (1.0 - rate)
    factor = np.minimum(balance * positive / negative, 1.0)
    return ClassPool(
        found.rows,
        found.labels,
        found.population * np.where(found.labels > 0, 1.0, factor[:, None]),
        found.population,
        np.log(positive / (factor * negative)),
        np.log(factor),
        math.log(rate / (1.0 - rate)),
        held_out,
    )


def _choices(
    world: Objects,
    target: Predicate,
    axis: ClassAxis,
    examples: Examples | None,
    sampling: NegativeSampling,
    rng: np.random.Generator,
) -> _Gathered:
    """Return the examples of which it is known what is true, what is, and how much they count."""
    if examples is None:
        facts = world.relation(target)
        counts = np.ones(facts.shape[1])
    else:
        true = examples.take(examples.labels)
        facts = world.numbered(target, true.database, true.columns)
        counts = true.weights
    rows, of = _grouped(facts, axis.place)
    if not rows.shape[1]:
        raise InputError(
            f"there is no true example of {target.name} in the training data",
            hint="give databases, or examples, with some",
        )
    labels = np.zeros((len(axis.names), rows.shape[1]))
    np.add.at(labels, (_classes(world, axis, facts), of), counts)
    weight = labels.sum(axis=0)
    labels /= weight
    most = sampling.max_examples
    if most is not None and len(weight) > most:
        kept = np.sort(rng.choice(len(weight), most, replace=False))
        rows, labels = np.ascontiguousarray(rows[:, kept]), np.ascontiguousarray(labels[:, kept])
        weight = weight[kept]
    return _Gathered(rows, labels, np.repeat(weight[None], len(axis.names), axis=0))


def _atoms(
    world: Objects,
    target: Predicate,
    axis: ClassAxis,
    examples: Examples | None,
    sampling: NegativeSampling,
    rng: np.random.Generator,
) -> _Gathered:
    """Return examples with what is known of each constant; what is not has no weight."""
    if examples is None:
        examples = population_examples(world.databases, target.name, sampling.max_examples, rng)
    for kind, present in (("true", examples.labels.any()), ("false", not examples.labels.all())):
        if not present:
            raise InputError(
                f"there is no {kind} example of {target.name} in the training data",
                hint="give databases, or examples, of both kinds",
            )
    atoms = world.numbered(target, examples.database, examples.columns)
    rows, of = _grouped(atoms, axis.place)
    labels = np.zeros((len(axis.names), rows.shape[1]))
    weight = np.zeros(labels.shape)
    place = _classes(world, axis, atoms), of
    labels[place] = examples.labels
    weight[place] = examples.weights
    return _Gathered(rows, labels, weight)


def _classes(world: Objects, axis: ClassAxis, atoms: Codes) -> Ints:
    """Return the number of each atom's constant of the axis."""
    numbers = {name: number for number, name in enumerate(axis.names)}
    names, codes = world.values(axis.kind)
    by_code = np.array([numbers[name] for name in names], np.int64)
    found: Ints = by_code[codes[atoms[axis.place + 1]]]
    return found


def _grouped(atoms: Codes, place: int) -> tuple[Codes, Ints]:
    """Return the different atoms but for one argument, and which of them each atom is."""
    rows, of = np.unique(np.delete(atoms, place + 1, axis=0), axis=1, return_inverse=True)
    return np.ascontiguousarray(rows), of.reshape(-1)
