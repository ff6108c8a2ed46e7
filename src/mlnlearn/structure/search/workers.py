"""Scoring many clauses at once, in several processes; the numbers do not depend on how many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from mlnlearn.data.database import Database
from mlnlearn.late import late
from mlnlearn.logic.clauses import Clause
from mlnlearn.processes import pool
from mlnlearn.resources import carried
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.clause_scorer import ClauseScorer
from mlnlearn.structure.search.network import Alone
from mlnlearn.structure.search.scoring import scorer

if TYPE_CHECKING:
    import joblib
else:
    joblib = late("joblib")

_BATCH = 128
_SERIAL = count()
# the scorer of a worker process, made when its first batch comes, under the number of the search
_OWN: dict[int, ClauseScorer] = {}


@dataclass(frozen=True, eq=False)
class _Problem:
    """What a worker needs to make a scorer of its own."""

    number: int
    databases: tuple[Database, ...]
    background: Background
    sigma: float


class Workers:
    """Scores batches of clauses beside the unit clauses; made by `workers`."""

    def __init__(self, own: ClauseScorer, problem: _Problem, pool: joblib.Parallel | None) -> None:
        self.scorer = own
        self._problem = problem
        self._pool = pool

    def alone(self, clauses: Sequence[Clause]) -> list[Alone | None]:
        """Score clauses; results in the order of the clauses."""
        if self._pool is None or len(clauses) < 2 * _BATCH:
            return [self.scorer.alone(clause) for clause in clauses]
        batches = [clauses[i : i + _BATCH] for i in range(0, len(clauses), _BATCH)]
        parts = self._pool(
            joblib.delayed(carried(_alone))(self._problem, batch) for batch in batches
        )
        return [found for part in parts for found in part]


@contextmanager
def workers(
    databases: Sequence[Database], background: Background, sigma: float, jobs: int
) -> Iterator[Workers]:
    """Provide a scorer, with `jobs` processes where that is more than one.

    Linear algebra runs on one thread: its matrices are small.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> data = [Database.from_facts(Schema.of("p(t)", "q(t)"), {"p": [("A",)], "q": [("B",)]})]
    >>> with workers(data, Background.of(data, None), 100.0, 1) as found:
    ...     round(found.scorer.start().likelihood, 4)
    -1.3863
    """
    with threadpool_limits(limits=1):
        own = scorer(databases, background, sigma)
        problem = _Problem(next(_SERIAL), tuple(databases), background, sigma)
        if jobs == 1:
            yield Workers(own, problem, None)
            return
        with pool(jobs) as shared:
            yield Workers(own, problem, shared)


def _alone(problem: _Problem, clauses: Sequence[Clause]) -> list[Alone | None]:
    if problem.number not in _OWN:
        _OWN.clear()
        _OWN[problem.number] = scorer(problem.databases, problem.background, problem.sigma)
    with threadpool_limits(limits=1):
        return [_OWN[problem.number].alone(clause) for clause in clauses]
