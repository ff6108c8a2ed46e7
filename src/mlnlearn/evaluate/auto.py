"""The learner that chooses among learners: each is tried within the training data.

Learners that apply are trained on part of the data and asked for the rest. After the first trial,
the preferred learner goes on with the best of the others, if that is not beaten clearly. It learns
from everything unless the other is better by more than two standard errors, on all trials and on
those by which it was not picked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from mlnlearn.counting.examples import RowExamples, examples_of, find_place
from mlnlearn.counting.relational import relational
from mlnlearn.data.load.data import Data
from mlnlearn.errors import MlnError
from mlnlearn.evaluate.measure import measured
from mlnlearn.evaluate.portfolio import FIRST, Portfolio, member, on_trial, portfolio_for
from mlnlearn.evaluate.trials import InnerTrial, Outcome, trials_of
from mlnlearn.run import Course, Fitted, Notes, OutOfTimeError
from mlnlearn.settings import AtLeast
from mlnlearn.structure.learner import Learner

_FEWEST, _FEWEST_OF_A_CLASS = 100, 15  # examples to choose by
_MOST_EXAMPLES = 20_000
_CLEARLY = 2.0  # standard errors
_SHARE = 0.5  # of a limited time, for all trials together


@dataclass(frozen=True)
class Tried:
    """A learner of the portfolio, and how it did.

    Attributes
    ----------
    learner
        Its name.
    score
        Mean over the trials of average precision and the share of deviance explained.
    folds
        How many trials it had.
    seconds
        CPU time of learning and answering.
    behind
        How far it is behind the best, on the trials that both had, with its standard error.
    failed
        Why it has no score, if it has none.
    """

    learner: str
    score: float
    folds: int
    seconds: float
    behind: tuple[float, float] = (0.0, 0.0)
    failed: str = ""

    def __str__(self) -> str:
        if self.failed:
            return f"{self.learner}: not tried, {self.failed}"
        times = "trial" if self.folds == 1 else "trials"
        lag, error = self.behind
        far = f", {lag:.3f} ± {error:.3f} behind the best" if lag > 0 else ""
        return f"{self.learner}: {self.score:.3f} in {self.folds} {times}{far}"


@dataclass(frozen=True, kw_only=True)
class AutoNotes(Notes):
    """How the choice went.

    Attributes
    ----------
    tried
        The learners that were tried or left out.
    chosen
        The learner that was chosen.
    why
        Why it was.
    own
        The notes of the chosen learner.
    """

    tried: tuple[Tried, ...] = ()
    chosen: str = ""
    why: str = ""
    own: Notes | None = None


@dataclass(frozen=True, kw_only=True)
class Auto(Learner[Any, AutoNotes]):
    """Choose among learners by how well they predict held-out training data, and learn.

    For predicates of databases, ``boost`` and the boosted rules of papers are tried; for columns of
    tables, ``boost`` and learn-and-join; numbers, and questions with moments, are for ``boost``.
    Trials keep rows or atoms of one database aside, or whole ones of several.

    Parameters
    ----------
    target
        What to predict: a predicate, ``TABLE.COLUMN``, or a column.
    portfolio
        The learners to choose from, by name, the preferred one first; by default those that apply.
    folds
        Most trials of a learner.
    max_rules
        Most rules of the short list, where ``boost`` is chosen; 0 for no list.
    seed
        Of all random draws.
    """

    reads_numbers: ClassVar[bool] = True

    target: str
    portfolio: tuple[str, ...] | None = None
    folds: Annotated[int, AtLeast(1)] = 3
    max_rules: Annotated[int, AtLeast(0)] = 20
    seed: Annotated[int, AtLeast(0)] = 0

    def learn(self, data: Data, course: Course) -> Iterator[Fitted[Any, AutoNotes]]:
        """Yield the models of the learner that was chosen."""
        view = relational(data.databases, data.mapping)
        examples = examples_of(
            view, find_place(view, self.target), max_examples=_MOST_EXAMPLES, seed=self.seed
        )
        found = _Choice(self, data, examples, course)
        if found.is_open:  # something to answer by, should time be over before a choice is made
            alone = member(FIRST, data, self.target, self.seed)
            start = next(alone.learn(alone.data_from(data), Course()))
            yield Fitted(start.model, AutoNotes(chosen=FIRST, own=start.notes))
        chosen, why, tried = found.made()
        course.tell(f"learning by {chosen}")
        learner = member(chosen, data, self.target, self.seed)
        if chosen == FIRST:
            learner = replace(learner, max_rules=self.max_rules)
        for fitted in _learning(learner, chosen, data, course):
            notes = AutoNotes(tried=tried, chosen=chosen, why=why, own=fitted.notes)
            yield Fitted(fitted.model, notes)
        course.cut |= found.is_hurried  # said in the end: what was chosen is learned as ever

    def only(self, name: str) -> Auto:
        """Return the learner that has made its choice: in other data of the kind, say."""
        return replace(self, portfolio=(name,))


def _learning(learner: Any, name: str, data: Data, course: Course) -> Iterator[Fitted[Any, Any]]:
    """Learn with a checkpoint of the learner's own, whichever was chosen before."""
    path = course.run.checkpoint
    if path is not None and name != FIRST:
        own = Path(path).with_name(f"{Path(path).name}.{name}")
        course.run = replace(course.run, checkpoint=own)
    yield from learner.learn(learner.data_from(data), course)


class _Choice:
    """The choice under way: who is still in, and how all did."""

    def __init__(self, auto: Auto, data: Data, examples: RowExamples, course: Course) -> None:
        self.auto, self.data, self.examples, self.course = auto, data, examples, course
        applying = portfolio_for(data, examples)
        self.members = applying if auto.portfolio is None else Portfolio(auto.portfolio)
        self.outcomes: dict[str, Outcome] = {}
        self.seconds: dict[str, float] = {}
        self.failed: dict[str, str] = dict(self.members.left_out)
        self.is_hurried = False  # whether a trial had too little time

    @property
    def is_open(self) -> bool:
        """Whether there is anything to choose, and enough examples to choose by."""
        return len(self.members.names) > 1 and _are_enough(self.examples)

    def made(self) -> tuple[str, str, tuple[Tried, ...]]:
        """Return the learner that was chosen, why, and how all did."""
        first = self.members.names[0]
        if not self.is_open:
            only = len(self.members.names) == 1
            why = "no other learner applies" if only else "there are too few examples to choose by"
            return first, why, self._tried("")
        auto = self.auto
        trials = trials_of(self.data, auto.target, auto.folds, _MOST_EXAMPLES, auto.seed)
        left: Sequence[str] = self.members.names
        for trial in trials:
            for name in left:
                self._try(name, trial)
            left = self._still_in(left)
            if len(left) < 2:
                break
        if not left or not self.outcomes:
            return first, "no trial was possible", self._tried("")
        chosen, best = self._final(left)
        number = len(self.outcomes[best].whole)
        why = f"it was the best in {number} trial{'s' * (number > 1)} within the data"
        if chosen != best:
            why = f"it is within two standard errors of {best}, which was the best"
        return chosen, why, self._tried(best)

    def _final(self, names: Sequence[str]) -> tuple[str, str]:
        """Return the learner that is chosen of the last two, and the best of them."""
        unpicked = self._unpicked(names)
        best = max(names, key=lambda name: unpicked[name].score)
        chosen = next(name for name in names if name == best or not self._leads(best, name))
        return chosen, best

    def _unpicked(self, names: Sequence[str]) -> dict[str, Outcome]:
        """Return outcomes without the trial by which a learner was picked out of several.

        That trial says too much for it.
        """
        number = max(len(self.outcomes[name].whole) for name in names)
        passed = 1 if number > 1 and len(self.members.names) > 2 else 0
        return {name: self.outcomes[name].after(passed) for name in names}

    def _leads(self, name: str, other: str) -> bool:
        """Whether a learner is clearly better on all trials, and on those that did not pick it.

        Few trials may agree by chance: it must be so on both.
        """
        return all(
            _is_clear(*outcomes[name].lead(outcomes[other]))
            for outcomes in (self.outcomes, self._unpicked((name, other)))
        )

    def _still_in(self, names: Sequence[str]) -> list[str]:
        """Return the preferred learner and the best other; one alone where that is clear."""
        there = [name for name in names if name in self.outcomes]
        if len(there) < 2:
            return there
        first, *others = there
        rival = max(others, key=lambda name: self.outcomes[name].score)
        if _is_clear(*self.outcomes[first].lead(self.outcomes[rival])):
            return [first]
        several = len(self.outcomes[first].whole) > 1
        return [rival] if several and self._leads(rival, first) else [first, rival]

    def _try(self, name: str, trial: InnerTrial) -> None:
        self.course.check()
        self.course.tell(f"trying {name}")
        learner = on_trial(member(name, self.data, self.auto.target, self.auto.seed))
        run = replace(
            self.course.run, checkpoint=None, progress=None, max_seconds=self._seconds_left()
        )
        try:
            with measured() as cost:
                fitted = learner.fit(trial.training, run)
                outcome = Outcome.of(trial, trial.answers(fitted.model))
        except OutOfTimeError:
            self.is_hurried = True
            self.course.check()
            self.failed[name] = "the time for a trial was too short"
            self.outcomes.pop(name, None)
            return
        except MlnError as error:
            self.failed[name] = str(error).splitlines()[0]
            self.outcomes.pop(name, None)
            return
        self.is_hurried |= bool(fitted.notes.stopped)
        self.seconds[name] = self.seconds.get(name, 0.0) + cost.cpu_seconds
        before = self.outcomes.get(name)
        self.outcomes[name] = outcome if before is None else before.with_more(outcome)

    def _seconds_left(self) -> float | None:
        """Return how long a learner may be tried: all trials together take half of the time."""
        whole = self.course.run.max_seconds
        if whole is None:
            return None
        trials = len(self.members.names) + 2 * (self.auto.folds - 1)
        return _SHARE * whole / trials

    def _tried(self, best: str) -> tuple[Tried, ...]:
        found = []
        for name in dict.fromkeys(chain(self.members.names, self.failed)):
            if name in self.outcomes:
                own = self.outcomes[name]
                behind = self.outcomes[best].lead(own)
                found.append(Tried(name, own.score, len(own.whole), self.seconds[name], behind))
            elif name in self.failed:
                found.append(Tried(name, -np.inf, 0, 0.0, failed=self.failed[name]))
        return tuple(found)


def _is_clear(lead: float, error: float) -> bool:
    """Whether a lead is more than its standard error may make of nothing."""
    return lead > _CLEARLY * error


def _are_enough(examples: RowExamples) -> bool:
    """Whether there are examples enough to choose by."""
    label = examples.label[examples.known]
    if len(label) < _FEWEST or not len(examples.classes):
        return False
    counts = np.sort(np.bincount(label.astype(np.int64)))
    return len(counts) > 1 and int(counts[-2]) >= _FEWEST_OF_A_CLASS
