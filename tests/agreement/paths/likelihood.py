"""log Z over the domains of each database, expected counts, and the data's log-likelihood."""

from __future__ import annotations

import numpy as np

from agreement.case import Facts
from agreement.compare import Answer, Path
from agreement.problem import Problem, Skip
from agreement.reference import Distribution, TooLarge, listed_worlds, require_values
from mlnlearn.infer.exact import exact
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.lifted.query import expected_counts, log_partition
from mlnlearn.weights.likelihood import log_likelihood


def expected_log_z(problem: Problem) -> Answer:
    found = problem.prior(problem.case.training[0])
    # where no world is possible, Z is zero: its logarithm may be given as well as refused
    return {"log Z": found.log_z if np.isfinite(found.log_weights).any() else -np.inf}


def by_lifting(problem: Problem) -> Answer:
    return {"log Z": log_partition(problem.mln, problem.read[0])}


def by_grounding(problem: Problem) -> Answer:
    names = [predicate.name for predicate in problem.mln.schema.predicates]
    (database,) = problem.with_constants(problem.read[:1])
    empty = database.without_facts(names)
    return {"log Z": exact(ground(problem.mln, empty, names)).log_z}


def expected_expectations(problem: Problem) -> Answer:
    prior = problem.prior(problem.case.training[0])
    counts = prior.worlds.feature_counts(problem.case.soft)
    _ = prior.log_z
    return dict(enumerate((counts @ prior.probabilities).tolist()))


def by_lifted_counts(problem: Problem) -> Answer:
    return dict(enumerate(expected_counts(problem.mln, problem.read[0]).tolist()))


def log_likelihood_of(problem: Problem, facts: Facts) -> float:
    """Summed over all ways to fill in what is unknown."""
    case = problem.case
    prior = problem.prior(facts)
    try:
        worlds, _ = listed_worlds(case.predicates, case.domains(facts), facts, set())
    except TooLarge:
        raise Skip from None
    require_values(case.predicates, case.domains(facts), facts)
    observed = Distribution(worlds, worlds.log_weights(case.rules))
    return observed.log_z - prior.log_z


def expected_likelihood(problem: Problem) -> Answer:
    return {"loglik": log_likelihood_of(problem, problem.case.training[0])}


def expected_hidden(problem: Problem) -> Answer:
    if not problem.case.hidden[0].unknown:
        raise Skip
    return {"loglik": log_likelihood_of(problem, problem.case.hidden[0])}


def by_log_likelihood(problem: Problem) -> Answer:
    return {"loglik": log_likelihood(problem.mln, problem.read[0])}


def by_hidden_likelihood(problem: Problem) -> Answer:
    return {"loglik": log_likelihood(problem.mln, problem.hidden[0])}


PATHS = (
    Path("loglik: log Z lifted", expected_log_z, by_lifting, share=0.2),
    Path("loglik: log Z ground", expected_log_z, by_grounding, share=0.3),
    Path("loglik: expected counts", expected_expectations, by_lifted_counts, share=0.1),
    Path("loglik: data", expected_likelihood, by_log_likelihood, share=0.25),
    Path("loglik: unknown atoms", expected_hidden, by_hidden_likelihood, share=0.4),
)
