"""Trials within training data: part of the examples is kept aside, and learners are asked for it.

Of several databases whole ones are kept aside, of one database a share of its rows or atoms. What a
learner did on a trial is an `Outcome`; the differences of two have a standard error, by leaving out
a tenth of the examples at a time, all of an entity together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from mlnlearn.counting.examples import RowExamples, examples_of, find_place
from mlnlearn.counting.relational import Link, Relational, relational
from mlnlearn.data.load.data import Data
from mlnlearn.evaluate.held_out import answers_for, baseline
from mlnlearn.evaluate.held_out_data import withheld
from mlnlearn.evaluate.metrics import scores
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.evaluate.row_split import HeldOutSplit, Mask

_GROUPS = 10
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class InnerTrial:
    """What is learned from, and what is asked then.

    Attributes
    ----------
    training
        What learners may see.
    asked
        What models may know when they answer.
    view, examples
        The data that are asked about with all labels, and their examples.
    test
        Which examples are asked for.
    """

    training: Data
    asked: Data
    view: Relational
    examples: RowExamples
    test: Mask

    def answers(self, model: object) -> Floats:
        """Return what a model says: the chance of each class."""
        return answers_for(model, self.asked, self.view, self.examples, self.test)

    @cached_property
    def label(self) -> NDArray[np.int64]:
        """The class of each example that is asked for."""
        return self.examples.label[self.test].astype(np.int64)

    @cached_property
    def weight(self) -> Floats:
        """How many rows each of them stands for."""
        return self.examples.weight[self.test]

    @cached_property
    def base(self) -> Floats:
        """What is said where nothing is known but how often each class occurs."""
        return baseline(self.examples, HeldOutSplit(self.test, ""))

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """The tenth of each example that is asked for; examples of one entity share theirs."""
        rng = np.random.default_rng(0)
        links = [c for c in self.examples.base.columns.values() if isinstance(c, Link)]
        rows = np.flatnonzero(self.test)
        if self.examples.home.column is not None or not links:
            return rng.permutation(len(rows)) % _GROUPS
        entities = links[0].codes[rows]
        return (rng.permutation(int(entities.max(initial=0)) + 1) % _GROUPS)[entities]

    def quality(self, answers: Floats, left_out: int | None = None) -> float:
        """Return the mean of average precision and the share of deviance that is explained.

        Parameters
        ----------
        answers
            The chance of each class.
        left_out
            A group of examples to leave out.
        """
        kept = np.ones(len(self.label), np.bool_) if left_out is None else self.group != left_out
        label, weight = self.label[kept], self.weight[kept]
        own, base = (_deviance(one[kept], label, weight) for one in (answers, self.base))
        number = len(self.examples.classes)
        if number == 2:
            atoms, chances, repeated = label == 1, answers[kept, 1], weight
        else:
            atoms = (label[:, None] == np.arange(number)).ravel()
            chances, repeated = answers[kept].ravel(), np.repeat(weight, number)
        precision = scores(atoms, chances, repeated, metrics=("ap",))["ap"]
        explained = max(1.0 - own / base, -1.0) if base > 0 else 0.0
        return float(np.nanmean([precision, explained]))


def _deviance(answers: Floats, label: NDArray[np.int64], weight: Floats) -> float:
    chosen = np.clip(answers[np.arange(len(label)), label], _LEAST, 1.0)
    return float(-(weight * np.log(chosen)).sum())


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a learner's answers were worth on some trials.

    Attributes
    ----------
    whole
        The quality on each trial.
    parts
        The same without each group of examples in turn, shape (trials, groups).
    """

    whole: Floats
    parts: Floats

    @classmethod
    def of(cls, trial: InnerTrial, answers: Floats) -> Outcome:
        """Return the outcome of one trial."""
        parts = [trial.quality(answers, group) for group in range(_GROUPS)]
        return cls(np.array([trial.quality(answers)]), np.array([parts]))

    def with_more(self, other: Outcome) -> Outcome:
        """Return the outcome of these trials and others."""
        whole = np.append(self.whole, other.whole)
        return Outcome(whole, np.concatenate([self.parts, other.parts]))

    def after(self, trials: int) -> Outcome:
        """Return the outcome without the first so many trials."""
        return Outcome(self.whole[trials:], self.parts[trials:])

    @property
    def score(self) -> float:
        """The mean over trials."""
        return float(self.whole.mean())

    def lead(self, other: Outcome) -> tuple[float, float]:
        """Return how much better it is on the trials both had, with its standard error.

        Examples
        --------
        >>> one = Outcome(np.array([0.5]), np.array([[0.5, 0.5]]))
        >>> lead, error = one.lead(Outcome(np.array([0.4]), np.array([[0.4, 0.3]])))
        >>> round(lead, 3), round(error, 3)
        (0.1, 0.05)
        """
        both = min(len(self.whole), len(other.whole))
        ahead = self.whole[:both] - other.whole[:both]
        apart = (self.parts[:both] - other.parts[:both]).mean(axis=0)
        number = len(apart)
        variance = (number - 1) / number * np.sum((apart - apart.mean()) ** 2)
        if both > 1:  # databases differ by more than examples of one do
            variance = max(variance, _student(both) ** 2 * ahead.var(ddof=1) / both)
        return float(ahead.mean()), float(np.sqrt(variance))


def _student(trials: int) -> float:
    """Return how many of the errors that so many trials show make up one that is known.

    The spread of two or three trials may be small by chance: Student's distribution says how often.

    Examples
    --------
    >>> [round(_student(trials), 2) for trials in (2, 3, 10)]
    [1.84, 1.32, 1.06]
    """
    return float(stdtrit(trials - 1, ndtr(1.0)))


def trials_of(data: Data, target: str, most: int, max_examples: int, seed: int) -> list[InnerTrial]:
    """Return up to so many trials; none where there is too little to keep aside.

    Parameters
    ----------
    data
        The training data.
    target
        What is to be predicted, of classes.
    most
        Most trials.
    max_examples
        Of a relation with more possible rows than this, those that do not exist are sampled.
    seed
        Of these samples, and of what is kept aside.
    """
    view = relational(data.databases, data.mapping)
    place = find_place(view, target)
    examples = examples_of(view, place, max_examples=max_examples, seed=seed)
    several = len(data.databases) > 1
    masks = _by_database(examples, most) if several else _dealt(examples, most, seed)
    found = []
    for test in masks:
        asked = training = withheld(data, view, examples, test)
        if several:
            kept = np.setdiff1d(np.arange(len(data.databases)), examples.base.part[test])
            training = replace(data, databases=tuple(data.databases[n] for n in kept.tolist()))
        found.append(InnerTrial(training, asked, view, examples, test))
    return found


def _dealt(examples: RowExamples, most: int, seed: int) -> list[Mask]:
    """Deal a fifth of the examples to each trial, alike of every class."""
    rng = np.random.default_rng([seed, 3])
    known = np.flatnonzero(examples.known)
    order = known[rng.permutation(len(known))]
    order = order[np.argsort(examples.label[order], kind="stable")]
    dealt = np.full(len(examples.label), -1)
    dealt[order] = np.arange(len(order)) % max(5, most)
    return [dealt == number for number in range(most)]


def _by_database(examples: RowExamples, most: int) -> list[Mask]:
    """Deal databases that have examples of more than one class to the trials."""
    part, known = examples.base.part, examples.known
    having = [
        number
        for number in np.unique(part).tolist()
        if len(np.unique(examples.label[known & (part == number)])) > 1
    ]
    trials = min(most, len(having))
    if trials < 2:
        return []
    return [known & np.isin(part, having[number::trials]) for number in range(trials)]
