"""The pseudo-likelihood of the data at the model's weights, its gradient, and its conditionals."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

from agreement.case import ground_atoms
from agreement.compare import Answer, Path
from agreement.conditionals import Conditionals
from agreement.problem import Problem, own_domains
from mlnlearn.counting.duck import DuckEngine
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.evaluate.conditional import conditional_probabilities
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.engine_counts import EngineCounts
from mlnlearn.structure.search.grid_counts import GridCounts
from mlnlearn.structure.search.network import Model
from mlnlearn.weights.pseudolikelihood import PseudoLikelihood


def _conditionals(problem: Problem) -> list[Conditionals]:
    case = problem.case
    pairs = zip(case.training, problem.training, strict=True)
    return [Conditionals.of(case, facts, own_domains(db), case.rules) for facts, db in pairs]


def expected(problem: Problem, weighted: bool) -> Answer:
    weights = np.array(problem.case.weights)
    parts = [part.pseudo_likelihood(weights, weighted) for part in _conditionals(problem)]
    value = sum(value for value, _ in parts)
    gradient = np.sum([slope for _, slope in parts], axis=0)
    return {"value": value, **dict(enumerate(gradient.tolist()))}


def by_engine(problem: Problem, engine_type: type, weighted: bool) -> Answer:
    mln = problem.mln
    objective = PseudoLikelihood(
        engine_type(problem.training),
        tuple(rule.formula for rule in mln.soft),
        weighted,
        hard=tuple(rule.formula for rule in mln.hard),
    )
    value, gradient = objective(mln.weights)
    return {"value": value, **dict(enumerate(gradient.tolist()))}


def expected_value(problem: Problem) -> Answer:
    return {"value": expected(problem, True)["value"]}


def by_search(problem: Problem, counts_type: type) -> Answer:
    """The likelihood of a search's model, on the grid or from the engine."""
    mln = problem.mln
    counts = counts_type(MemoryEngine(problem.training), Background(mln.schema, mln.rules))
    terms = {p.name: counts.term(p.name) for p in mln.schema.predicates}
    model = Model(counts, 1.0, (), np.empty(0), np.empty(0, bool), terms)
    for rule in mln.soft:
        model = model.joined(rule.formula, rule.weight or 0.0)
    return {"value": model.likelihood}


def expected_of_atoms(problem: Problem) -> Answer:
    weights = np.array(problem.case.weights)
    found = {}
    for number, (facts, part) in enumerate(
        zip(problem.case.training, _conditionals(problem), strict=True)
    ):
        own = set(
            ground_atoms(problem.case.predicates, problem.case.domains(facts, with_rules=False))
        )
        atoms = part.of_atoms(weights).items()
        found |= {(number, atom): p for atom, p in atoms if atom in own}
    return found


def by_conditionals(problem: Problem) -> Answer:
    found = {}
    for number, database in enumerate(problem.read):
        for predicate in database.schema.predicates:
            values = conditional_probabilities(problem.mln, database, predicate.name)
            rows = product(*(database.domains[kind].names for kind in predicate.types))
            pairs = zip(rows, values.tolist(), strict=True)
            found |= {(number, (predicate.name, row)): value for row, value in pairs}
    return found


PATHS = (
    Path("pll: memory", partial(expected, weighted=False),
         partial(by_engine, engine_type=MemoryEngine, weighted=False), share=0.3),
    Path("pll: weighted", partial(expected, weighted=True),
         partial(by_engine, engine_type=MemoryEngine, weighted=True), share=0.3),
    Path("pll: duckdb", partial(expected, weighted=True),
         partial(by_engine, engine_type=DuckEngine, weighted=True), share=0.05),
    Path("pll: grid", expected_value, partial(by_search, counts_type=GridCounts), share=0.4),
    Path("pll: search", expected_value, partial(by_search, counts_type=EngineCounts), share=0.2),
    Path("pll: each atom", expected_of_atoms, by_conditionals, share=0.3),
)  # fmt: skip
