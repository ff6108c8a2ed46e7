"""P(atom | evidence) of every unknown atom asked for."""

from __future__ import annotations

import math
from functools import partial
from itertools import product

import numpy as np

import mlnlearn as ml
from agreement.case import Facts
from agreement.compare import Answer, Path, Sampled
from agreement.problem import Problem, Skip, ground_atom
from agreement.reference import Distribution, TooLarge, listed_worlds
from mlnlearn.evaluate.ask import Marginals, atom_probabilities
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.infer.network import Network


def expected(problem: Problem) -> Answer:
    atoms = [atom for atom in problem.unknown.atoms if atom[0] in problem.case.query]
    return {atom: problem.posterior.marginal(atom) for atom in atoms}


def by_query(problem: Problem, method: str) -> Answer:
    case = problem.case
    answers = ml.query(
        problem.mln, problem.evidence, case.query,
        method=method, open=case.open, closed=case.closed,
    )  # fmt: skip
    return {ground_atom(str(answer.atom)): answer.probability for answer in answers}


def by_chunks(problem: Problem) -> Answer:
    case = problem.case
    chunks = ml.query_in_chunks(
        problem.mln, problem.evidence, case.query, atoms=2, open=case.open, closed=case.closed
    )
    return {ground_atom(str(a.atom)): a.probability for answers in chunks for a in answers}


def by_sampling(problem: Problem, seed: int, method: str) -> Sampled:
    case = problem.case
    answers = ml.query(
        problem.mln, problem.evidence, case.query, method=method, open=case.open,
        closed=case.closed, samples=8000 * (1 + 3 * seed), seed=seed,
    )  # fmt: skip
    rows = [(ground_atom(str(a.atom)), a.probability, a.standard_error) for a in answers]
    return Sampled({a: p for a, p, _ in rows}, {a: e for a, _, e in rows})


def by_belief(problem: Problem) -> Answer:
    """Belief propagation, where the ground network has no loop."""
    case = problem.case
    (evidence,) = problem.with_constants([problem.evidence])
    network = ground(problem.mln, evidence, case.query, open=case.open, closed=case.closed)
    if not _is_forest(network):
        raise Skip
    return by_query(problem, "bp")


def _is_forest(network: Network) -> bool:
    """Whether no two clauses are joined by two ways; those over the same variables are one."""
    ends = network.clause_starts
    scopes = {
        frozenset(network.literal_variable[ends[i] : ends[i + 1]].tolist())
        for i in range(network.clauses)
    }
    joined = [scope for scope in scopes if len(scope) > 1]
    tree_of = list(range(network.variables))
    for scope in joined:
        trees = {tree_of[variable] for variable in scope}
        if len(trees) < len(scope):
            return False
        tree_of = [min(trees) if tree in trees else tree for tree in tree_of]
    return True


def by_evaluation(problem: Problem, method: str) -> Answer:
    """How `evaluate` asks: the query predicate hidden, all others as in the data."""
    name = problem.case.query[0]
    (database,) = problem.with_constants(problem.read[:1])
    sizes = [database.size(kind) for kind in database.schema[name].types]
    codes = np.indices(sizes, np.int32).reshape(len(sizes), math.prod(sizes))
    given = Marginals(method=method)
    found = atom_probabilities(problem.mln, database, name, codes, given)
    rows = product(*(database.domains[kind].names for kind in database.schema[name].types))
    return {(name, row): float(p) for row, p in zip(rows, found, strict=True)}


def expected_evaluation(problem: Problem) -> Answer:
    case, name = problem.case, problem.case.query[0]
    facts, domains = case.training[0], case.domains(case.training[0])
    rest = Facts(frozenset(atom for atom in facts.true if atom[0] != name))
    try:
        worlds, unknown = listed_worlds(case.predicates, domains, rest, {name})
    except TooLarge:
        raise Skip from None
    found = Distribution(worlds, worlds.log_weights(case.rules))
    if found.log_weights.max(initial=-np.inf) == -np.inf:
        raise Skip  # evaluation takes hard rules that the data break as very strong ones
    return {atom: found.marginal(atom) for atom in unknown.atoms}


def by_lifting(problem: Problem) -> Answer:
    case = problem.case
    answers = ml.lifted_query(
        problem.mln, problem.evidence, case.query, open=case.open, closed=case.closed
    )
    return {ground_atom(str(answer.atom)): answer.probability for answer in answers}


PATHS = (
    Path("marginals: auto", expected, partial(by_query, method="auto")),
    Path("marginals: exact", expected, partial(by_query, method="exact"), share=0.3),
    Path("marginals: in chunks", expected, by_chunks, share=0.5),
    Path("marginals: bp", expected, by_belief, tolerance=1e-5, share=0.5),
    Path(
        "marginals: evaluate", expected_evaluation, partial(by_evaluation, method="auto"), share=0.5
    ),
    Path("marginals: lifted", expected, by_lifting),
    Path(
        "marginals: gibbs", expected, partial(by_sampling, method="gibbs"), sampled=True, share=0.5
    ),
    Path(
        "marginals: mcsat", expected, partial(by_sampling, method="mcsat"), sampled=True, share=0.4
    ),
)
