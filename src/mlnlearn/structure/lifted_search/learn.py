"""LSL: greedy structure learning by exact likelihood (Van Haaren et al. 2015, algorithm 1).

Departures from the paper. Every network holds the unit clauses. A candidate refits only the
components it touches. All candidates are screened by a score test, and only the best are refitted.

Clauses fitted to domains of one size can ruin others. By default, therefore, only clauses are
candidates whose shorter products do not gain weight with the domains; a clause must also raise the
likelihood of held-out training databases, the more so the more it makes expected densities depend
on domain sizes; and it counts for no more than it gains on the data it is fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Annotated

from mlnlearn.data.database import Database
from mlnlearn.data.identity import journal_of
from mlnlearn.logic.atoms import Atom
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.formulas import Rule
from mlnlearn.model.mln import MLN
from mlnlearn.settings import Above, AtLeast, Settings
from mlnlearn.structure.lifted_search.candidates import (
    enumerate_clauses,
    is_size_neutral,
    shapes_of,
)
from mlnlearn.structure.lifted_search.parts import Parts
from mlnlearn.structure.lifted_search.problem import Limits
from mlnlearn.structure.lifted_search.search import Choice, Search
from mlnlearn.structure.lifted_search.steps import Step, next_step


@dataclass(frozen=True, slots=True)
class Learned:
    """What LSL returns.

    Attributes
    ----------
    mln
        The network.
    likelihood
        Log-likelihood of the training databases.
    held_out
        Their log-likelihood when each is left out of the fit of the weights in turn; None where
        that was not asked for.
    steps
        The clauses added, in order.
    """

    mln: MLN
    likelihood: float
    held_out: float | None
    steps: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class LiftedStructureLearner(Settings):
    """Learn liftable clauses by exact likelihood (LSL; Van Haaren et al. 2015).

    Parameters
    ----------
    max_literals
        Most literals of a clause.
    max_variables
        Most variables of a clause.
    size_neutral
        Consider only clauses whose shorter products do not grow with the domains; see
        `is_size_neutral`. Candidates that are given are taken as they are.
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
    max_clauses
        Stop after so many clauses; None for no limit.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)", "cancer(person)")
    >>> people = [f"P{i}" for i in range(40)]
    >>> facts = {"smokes": [(p,) for p in people[:20]], "cancer": [(p,) for p in people[:16]]}
    >>> db = Database.from_facts(schema, facts, domains={"person": people})
    >>> learned = LiftedStructureLearner(sigma=5.0).fit([db])
    >>> [str(rule.formula) for rule in learned.mln.rules[2:]]
    ['!cancer(x1) v smokes(x1)']
    """

    max_literals: Annotated[int, AtLeast(1)] = 3
    max_variables: Annotated[int, AtLeast(1)] = 3
    size_neutral: bool = True
    sigma: Annotated[float, Above(0)] = 2.0
    held_out: bool = True
    min_gain: Annotated[float, AtLeast(0)] = 0.5
    refitted: Annotated[int, AtLeast(1)] = 40
    risk: Annotated[float, AtLeast(0)] = 10.0
    max_axes: Annotated[int, AtLeast(0)] = 2
    max_terms: Annotated[int, AtLeast(1)] = 200_000
    max_candidate_seconds: Annotated[float, AtLeast(0)] | None = None
    max_clauses: Annotated[int, AtLeast(0)] | None = None

    def fit(
        self,
        databases: Sequence[Database],
        *,
        candidates: Sequence[Clause] | None = None,
        progress: Callable[[Step], None] | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Learned:
        """Learn a network from databases.

        Parameters
        ----------
        databases
            The training data, each database with its own constants.
        candidates
            Clauses to choose from; by default all connected ones within the limits.
        progress
            Called with every clause that is added.
        checkpoint
            A file that the steps are written to. A run that was stopped, started again with the
            same settings and data, goes on from there to the same network.
        """
        given = {} if candidates is None else {"candidates given": map(str, candidates)}
        journal = journal_of(checkpoint, self, databases, given)
        limits = Limits(self.max_axes, self.max_terms)
        validates = self.held_out and len(databases) > 1
        parts = Parts(databases, self.sigma, limits, held_out=validates)
        chosen = candidates
        if chosen is None:
            chosen = enumerate_clauses(
                parts.schema.predicates,
                max_literals=self.max_literals,
                max_variables=self.max_variables,
            )
            chosen = [c for c in chosen if is_size_neutral(c) or not self.size_neutral]
        choice = Choice(self.min_gain, self.refitted, self.risk, self.max_candidate_seconds)
        search = Search(parts, shapes_of(chosen), choice)
        steps: list[Step] = []
        while self.max_clauses is None or len(steps) < self.max_clauses:
            step = next_step(search, journal, len(steps) + 1)
            if step is None:
                break
            steps.append(step)
            if progress is not None:
                progress(step)
        return _learned(parts, steps, validates)


def _learned(parts: Parts, steps: Sequence[Step], validated: bool) -> Learned:
    """Gather the rules of all components, unit clauses first."""
    found = parts.distinct()
    rules = [
        Rule(formula, float(weight))
        for part in found
        for formula, weight in zip(part.formulas, part.weights, strict=True)
    ]
    rules.sort(key=lambda rule: not isinstance(rule.formula, Atom))
    held_out = sum(float(part.held_out.sum()) for part in found) if validated else None
    likelihood = sum(part.likelihood for part in found)
    return Learned(MLN(parts.schema, tuple(rules)), likelihood, held_out, tuple(steps))
