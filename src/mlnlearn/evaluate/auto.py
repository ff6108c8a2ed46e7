"""The learner that chooses among learners: each is tried within the training data.

Learners of a portfolio are trained on part of the data and asked for the rest, first on one fold;
the best two go on to the other folds; the best of all learns from everything. Compared are the
share of the deviance of the base rate that a learner explains, and average precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from mlnlearn.counting.examples import find_place
from mlnlearn.counting.relational import relational
from mlnlearn.data.database import Database
from mlnlearn.data.load.data import Data
from mlnlearn.errors import MlnError
from mlnlearn.evaluate.cross_validate import cross_validate
from mlnlearn.evaluate.folds import Fold
from mlnlearn.registry import LEARNERS
from mlnlearn.run import Course, Fitted, Notes, OutOfTimeError, Run
from mlnlearn.settings import AtLeast
from mlnlearn.structure.learner import Learner

_MOST_ATOMS = 100_000
_NEGATIVES = 50.0


@dataclass(frozen=True)
class Tried:
    """A learner of the portfolio, and how it did.

    Attributes
    ----------
    learner
        Its name.
    score
        Mean over the folds of the share of deviance explained and average precision.
    folds
        On how many folds it was tried.
    seconds
        CPU time of learning and answering.
    failed
        Why it has no score, if it has none.
    """

    learner: str
    score: float
    folds: int
    seconds: float
    failed: str = ""


@dataclass(frozen=True, kw_only=True)
class AutoNotes(Notes):
    """How the choice went: who was tried, who was chosen, and the notes of the chosen one."""

    tried: tuple[Tried, ...] = ()
    chosen: str = ""
    own: Notes | None = None


@dataclass(frozen=True, kw_only=True)
class Auto(Learner[Any, AutoNotes]):
    """Choose among learners by how well they predict held-out training data, and learn.

    Columns of tables, and all that is learned from one database, are given to ``boost``; for
    predicates of several databases, the portfolio is tried.

    Parameters
    ----------
    target
        What to predict: a predicate, ``TABLE.COLUMN``, or a column.
    portfolio
        The learners to choose from, by name.
    folds
        Most folds on which learners are tried.
    seed
        Of all random draws.
    """

    reads_numbers: ClassVar[bool] = True

    target: str
    portfolio: tuple[str, ...] = ("boost", "mln-bt", "rdn-b")
    folds: Annotated[int, AtLeast(1)] = 3
    seed: Annotated[int, AtLeast(0)] = 0

    def learn(self, data: Data, course: Course) -> Iterator[Fitted[Any, AutoNotes]]:
        """Yield the models of the learner that was chosen."""
        chosen, tried = self._chosen(data, course)
        course.tell(f"learning by {chosen}")
        learner = self._learner(chosen)
        for fitted in learner.learn(learner.data_from(data), course):
            yield Fitted(fitted.model, AutoNotes(tried=tried, chosen=chosen, own=fitted.notes))

    def _learner(self, name: str) -> Any:
        entry = LEARNERS[name]
        return entry.load()(target=self.target, seed=self.seed, **entry.fixed)

    def _chosen(self, data: Data, course: Course) -> tuple[str, tuple[Tried, ...]]:
        first = self.portfolio[0]
        find_place(relational(data.databases[:1], data.mapping), self.target)
        known = self.target in data.databases[0].schema
        if not known or len(data.databases) < 2 or data.mapping or len(self.portfolio) == 1:
            return first, ()
        folds = _folds(data.databases, self.target, self.folds)
        if not folds:
            return first, ()
        found = [self._tried(name, folds[:1], course) for name in self.portfolio]
        best = sorted(found, key=lambda t: -t.score)[:2]
        if len(folds) > 1:
            again = [self._more(tried, folds[1:], course) for tried in best]
            found = [next((a for a in again if a.learner == t.learner), t) for t in found]
            best = sorted(again, key=lambda t: -t.score)
        return best[0].learner, tuple(found)

    def _more(self, tried: Tried, folds: Sequence[Fold], course: Course) -> Tried:
        if tried.failed:
            return tried
        rest = self._tried(tried.learner, folds, course)
        number = tried.folds + rest.folds
        score = (tried.score * tried.folds + rest.score * rest.folds) / max(number, 1)
        seconds = tried.seconds + rest.seconds
        return replace(tried, score=score, folds=number, seconds=seconds, failed=rest.failed)

    def _tried(self, name: str, folds: Sequence[Fold], course: Course) -> Tried:
        course.check()
        course.tell(f"trying {name}")
        many = max(_atoms(fold.test, self.target) for fold in folds) > _MOST_ATOMS
        try:
            results = cross_validate(
                _Reading(self._learner(name), self._limit(course)),
                folds,
                self.target,
                negatives=_NEGATIVES if many else "all",
                reweight=many,
                repeats=1,
                seeds=[self.seed],
                metrics=["cll", "ap"],
            )
        except OutOfTimeError:
            raise
        except MlnError as error:
            return Tried(name, -np.inf, 0, 0.0, str(error).splitlines()[0])
        scores = [
            _score(record.scores, fold.test, self.target)
            for record, fold in zip(results.folds, folds, strict=True)
        ]
        seconds = sum(
            record.train_cpu_seconds + record.test_cpu_seconds for record in results.folds
        )
        return Tried(name, float(np.nanmean(scores)), len(scores), seconds)

    def _limit(self, course: Course) -> float | None:
        """Return how long a learner may be tried: all trials together take half of the time."""
        whole = course.run.max_seconds
        return None if whole is None else 0.5 * whole / (len(self.portfolio) + 2 * (self.folds - 1))


@dataclass(frozen=True)
class _Reading:
    """A learner with a time limit, given the data in the form that it reads."""

    learner: Any
    max_seconds: float | None

    def fit(self, databases: Sequence[Database]) -> object:
        run = Run(max_seconds=self.max_seconds)
        fitted: object = self.learner.fit(list(databases), run)
        return fitted


def _folds(databases: Sequence[Database], target: str, most: int) -> list[Fold]:
    """Leave out databases that have true atoms of the target, each in one of a few folds."""
    having = [i for i, database in enumerate(databases) if database.count(target)]
    number = min(most, len(having))
    if number < 2:
        return []
    folds = []
    for fold in range(number):
        test = set(having[fold::number])
        train = tuple(db for i, db in enumerate(databases) if i not in test)
        folds.append(Fold(train, tuple(databases[i] for i in sorted(test)), f"fold {fold + 1}"))
    return folds


def _atoms(databases: Sequence[Database], target: str) -> int:
    return sum(database.ground_atoms(target) for database in databases)


def _score(scores: Mapping[str, float], databases: Sequence[Database], target: str) -> float:
    """Return the mean of average precision and the share of the base rate's deviance explained."""
    rate = sum(database.count(target) for database in databases) / _atoms(databases, target)
    base = rate * np.log(rate) + (1 - rate) * np.log(1 - rate) if 0 < rate < 1 else np.nan
    return float(0.5 * (scores["ap"] + 1 - scores["cll"] / base))
