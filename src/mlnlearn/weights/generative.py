"""Generative weight learning: maximum pseudo-likelihood over one or several databases."""

from __future__ import annotations

from collections.abc import Sequence

from mlnlearn.counting.query import Engine
from mlnlearn.data.database import Database, constants_by_type
from mlnlearn.model.domains import carrying_domains
from mlnlearn.model.mln import MLN
from mlnlearn.weights.data import engine_of
from mlnlearn.weights.pseudolikelihood import PseudoLikelihood
from mlnlearn.weights.result import LearnedWeights, best_weights


def learn_pseudolikelihood(
    mln: MLN,
    data: Sequence[Database] | Engine,
    *,
    weighted: bool = True,
    query: Sequence[str] = (),
    sigma: float = 100.0,
    l1: float = 0.0,
    units: bool = True,
    max_iterations: int = 1000,
) -> LearnedWeights:
    """Learn weights that maximise the (weighted) pseudo-log-likelihood.

    Parameters
    ----------
    mln
        The rules; weights they have are starting values, locked ones stay.
    data
        Databases, each with its own constants and those that rules name, or an engine that holds
        them. Unknown atoms are refused; `learn_em` sums them out.
    weighted
        Take each predicate's mean in each database (WPLL) rather than its sum (PLL).
    query
        Predicate names to predict; the others are evidence only. By default all are predicted.
    sigma
        Standard deviation of the Gaussian prior around zero.
    l1
        Weight of an additional L1 penalty.
    units
        Add a unit clause for every predicate that has none.
    max_iterations
        Limit of optimiser iterations.

    Examples
    --------
    >>> mln = MLN.parse("smokes(person)")
    >>> people = {"person": ["Anna", "Bob", "Carl", "Dora"]}
    >>> db = Database.from_facts(mln.schema, {"smokes": [("Anna",)]}, domains=people)
    >>> learned = learn_pseudolikelihood(mln, [db])
    >>> print(f"{learned.mln.weights[0]:.2f}")  # log odds of 1 in 4
    -1.10
    """
    full = mln.with_unit_clauses() if units else mln
    engine = engine_of(full, data)
    databases = engine.stack.databases
    full = carrying_domains(full.expanded(constants_by_type(databases)), databases)
    predicates = tuple(full.schema[name] for name in query) or None
    likelihood = PseudoLikelihood(
        engine,
        tuple(rule.formula for rule in full.soft),
        weighted,
        predicates,
        tuple(rule.formula for rule in full.hard),
    )
    return best_weights(full, likelihood, sigma=sigma, l1=l1, max_iterations=max_iterations)
