"""LSL: greedy structure learning by exact likelihood (Van Haaren et al. 2015, algorithm 1).

Departures from the paper. Every network holds the unit clauses. A candidate refits only the
components it touches. All candidates are screened by a score test, and only the best are refitted.

Clauses fitted to domains of one size can ruin others. By default, therefore, only clauses are
candidates whose shorter products do not gain weight with the domains; a clause must also raise the
likelihood of held-out training databases, the more so the more it makes expected densities depend
on domain sizes; and it counts for no more than it gains on the data it is fitted to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from mlnlearn.data.identity import journal_of
from mlnlearn.data.load.data import Data, DataLike
from mlnlearn.logic.atoms import Atom
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.formulas import Rule
from mlnlearn.model.mln import MLN
from mlnlearn.run import Course, Fitted, Notes, Run, drive
from mlnlearn.settings import Above, AtLeast
from mlnlearn.structure.learner import Learner
from mlnlearn.structure.lifted_search.candidates import (
    enumerate_clauses,
    growing_types,
    shapes_of,
)
from mlnlearn.structure.lifted_search.parts import Parts
from mlnlearn.structure.lifted_search.problem import CandidateLimits
from mlnlearn.structure.lifted_search.search import Choice, ClauseSearch
from mlnlearn.structure.lifted_search.steps import AddedClause, next_step
from mlnlearn.structure.search.crowded import warn_where_crowded


@dataclass(frozen=True, kw_only=True)
class LSLNotes(Notes):
    """How LSL went.

    Attributes
    ----------
    likelihood
        Log-likelihood of the training databases.
    held_out
        Their log-likelihood when each is left out of the fit of the weights in turn; None where
        that was not asked for.
    steps
        The clauses added, in order.
    """

    likelihood: float
    held_out: float | None
    steps: tuple[AddedClause, ...]


@dataclass(frozen=True, kw_only=True)
class LiftedStructureLearner(Learner[MLN, LSLNotes]):
    """Learn liftable clauses by exact likelihood (LSL; Van Haaren et al. 2015).

    The preset ``"paper"`` adds whatever raises the likelihood of the training data, as the paper
    does; it is silent on a prior, which is a wide one there.

    Parameters
    ----------
    max_literals
        Most literals of a clause.
    max_variables
        Most variables of a clause.
    size_neutral
        Consider only clauses whose shorter products do not grow with the domains; see
        `growing_types`. Candidates that are given are taken as they are.
    tested_growth
        Consider a clause that grows with the domains of some types all the same where some training
        databases have at least so many times as many objects of each of them as the others, and
        then accept it only if it gains when fitted to the small ones and tested on the large ones,
        and the other way round. Needs `held_out`; None to consider no such clauses.
    sigma
        Standard deviation of the Gaussian prior on weights.
    held_out
        Accept a clause only if it raises the likelihood of training databases left out of the fit.
        Needs at least two databases; with one it has no effect.
    min_gain
        What each literal of a clause must add to the penalised log-likelihood, and to the held-out
        one.
    refitted
        How many of the best screened candidates are refitted, and tried on held-out databases, in
        each round.
    risk
        What a clause must add to the held-out log-likelihood for every e-fold by which it makes the
        expected density of a predicate change when a domain, or all of them, are half or twice as
        large: such clauses do not carry over well to other data.
    max_axes
        The search bias: candidates whose plans need more nested sums are not considered.
    max_terms
        The search bias: candidates whose plans need more terms over all databases are not
        considered. Neither limit depends on the machine.
    max_candidate_seconds
        Give a candidate up when compiling or fitting it took more processor seconds than this. With
        such a limit what is learned depends on the machine; None for no limit.
    max_rounds
        Stop after so many rounds, each of which adds a clause; None for no limit.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)", "cancer(person)")
    >>> people = [f"P{i}" for i in range(40)]
    >>> facts = {"smokes": [(p,) for p in people[:20]], "cancer": [(p,) for p in people[:16]]}
    >>> db = Database.from_facts(schema, facts, domains={"person": people})
    >>> learned = LiftedStructureLearner(sigma=5.0).fit(db)
    >>> [str(rule.formula) for rule in learned.model.rules[2:]]
    ['!cancer(x1) v smokes(x1)']
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "max_literals": 3,
            "max_variables": 3,
            "size_neutral": False,
            "tested_growth": None,
            "sigma": 100.0,
            "held_out": False,
            "min_gain": 0.0,
            "risk": 0.0,
        }
    }

    max_literals: Annotated[int, AtLeast(1)] = 3
    max_variables: Annotated[int, AtLeast(1)] = 3
    size_neutral: bool = True
    tested_growth: Annotated[float, Above(1)] | None = None
    sigma: Annotated[float, Above(0)] = 2.0
    held_out: bool = True
    min_gain: Annotated[float, AtLeast(0)] = 0.5
    refitted: Annotated[int, AtLeast(1)] = 40
    risk: Annotated[float, AtLeast(0)] = 10.0
    max_axes: Annotated[int, AtLeast(0)] = 2
    max_terms: Annotated[int, AtLeast(1)] = 200_000
    max_candidate_seconds: Annotated[float, AtLeast(0)] | None = None
    max_rounds: Annotated[int, AtLeast(0)] | None = None

    def fit(
        self,
        data: DataLike,
        run: Run | None = None,
        *,
        candidates: Sequence[Clause] | None = None,
    ) -> Fitted[MLN, LSLNotes]:
        """Learn a network.

        Parameters
        ----------
        data, run
            As for `Learner.fit`.
        candidates
            Clauses to choose from; by default all connected ones within the limits.
        """
        given = self.data_from(data)
        return drive(run, lambda course: self.learn(given, course, candidates))

    def learn(
        self, data: Data, course: Course, candidates: Sequence[Clause] | None = None
    ) -> Iterator[Fitted[MLN, LSLNotes]]:
        """Yield the network with the unit clauses alone, and after every clause that is added."""
        databases = data.databases
        warn_where_crowded(databases[0].schema.predicates, "lsl")
        given = {} if candidates is None else {"candidates given": map(str, candidates)}
        journal = journal_of(course.run.checkpoint, self, databases, given)
        limits = CandidateLimits(self.max_axes, self.max_terms)
        validates = self.held_out and len(databases) > 1
        parts = Parts(databases, self.sigma, limits, held_out=validates, growth=self.tested_growth)
        steps: list[AddedClause] = []
        yield _fitted(parts, steps, validates)
        chosen = candidates
        if chosen is None:
            chosen = enumerate_clauses(
                parts.schema.predicates,
                max_literals=self.max_literals,
                max_variables=self.max_variables,
            )
            if self.size_neutral:
                chosen = [c for c in chosen if growing_types(c) <= set(parts.splits.kinds)]
        choice = Choice(self.min_gain, self.refitted, self.risk, self.max_candidate_seconds)
        search = ClauseSearch(parts, shapes_of(chosen), choice)
        while self.max_rounds is None or len(steps) < self.max_rounds:
            course.check()
            step = next_step(search, journal, len(steps) + 1)
            if step is None:
                return
            steps.append(step)
            yield _fitted(parts, steps, validates)
            course.tell(f"clauses: {step.clause}", len(steps))


def _fitted(parts: Parts, steps: Sequence[AddedClause], validated: bool) -> Fitted[MLN, LSLNotes]:
    """Gather the rules of all components, unit clauses first."""
    found = parts.distinct()
    rules = [
        Rule(formula, float(weight))
        for part in found
        for formula, weight in zip(part.formulas, part.weights, strict=True)
    ]
    rules.sort(key=lambda rule: not isinstance(rule.formula, Atom))
    once = parts.splits.left_out
    held_out = sum(float(part.held_out[:once].sum()) for part in found) if validated else None
    likelihood = sum(part.likelihood for part in found)
    notes = LSLNotes(likelihood=likelihood, held_out=held_out, steps=tuple(steps))
    return Fitted(MLN(parts.schema, tuple(rules)), notes)
