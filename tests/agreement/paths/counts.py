"""True groundings of each rule's formula in each database."""

from __future__ import annotations

from functools import partial

import mlnlearn as ml
from agreement.compare import Answer, Path
from agreement.problem import Problem, Skip, own_domains
from agreement.program import files
from agreement.reference import Worlds, listed_worlds
from mlnlearn.counting.count import groundings, true_groundings
from mlnlearn.counting.duck import DuckEngine
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.logic.clauses import as_clause
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.engine_counts import EngineCounts
from mlnlearn.structure.search.grid_counts import GridCounts


def _worlds(problem: Problem) -> list[Worlds]:
    """The data as worlds, over the constants that the databases have."""
    predicates = problem.case.predicates
    pairs = zip(problem.case.training, problem.training, strict=True)
    plain = [type(p)(p.name, p.types) for p in predicates]
    return [listed_worlds(plain, own_domains(db), facts, set())[0] for facts, db in pairs]


def expected(problem: Problem) -> Answer:
    return {
        (number, place, "true"): int(world.counts(rule.formula)[0])
        for number, world in enumerate(_worlds(problem))
        for place, rule in enumerate(problem.case.rules)
    } | {
        (number, place, "all"): len(world.groundings(rule.formula))
        for number, world in enumerate(_worlds(problem))
        for place, rule in enumerate(problem.case.rules)
    }


def by_engine(problem: Problem, engine_type: type) -> Answer:
    engine = engine_type(problem.training)
    found = {}
    for place, rule in enumerate(problem.mln.rules):
        for number, count in enumerate(true_groundings(engine, rule.formula)):
            found[number, place, "true"] = count
        for number, count in enumerate(groundings(engine, rule.formula)):
            found[number, place, "all"] = count
    return found


def by_files(problem: Problem) -> Answer:
    """Facts that stay in Parquet files, counted there."""
    found = {}
    for number, database in enumerate(problem.training):
        with files() as path, ml.counting_with("duckdb", "200MB"):
            ml.write_parquet(database, path["folder"] + "/facts")
            placed = ml.facts_in_place(path["folder"] + "/facts")
            engine = ml.open_engine([placed])
            for place, rule in enumerate(problem.mln.rules):
                (found[number, place, "true"],) = true_groundings(engine, rule.formula)
                (found[number, place, "all"],) = groundings(engine, rule.formula)
    return found


def _clauses(problem: Problem) -> list[int]:
    """The rules that the grid takes: clauses without constants."""
    found = []
    for place, rule in enumerate(problem.mln.rules):
        clause = as_clause(rule.formula)
        if clause is not None and clause.is_plain:
            found.append(place)
    if not found:
        raise Skip
    return found


def expected_of_clauses(problem: Problem) -> Answer:
    worlds = _worlds(problem)
    rules = problem.case.rules
    return {
        place: sum(int(world.counts(rules[place].formula)[0]) for world in worlds)
        for place in _clauses(problem)
    }


def by_search(problem: Problem, counts_type: type) -> Answer:
    """As a search of structure counts its candidates."""
    counts = counts_type(MemoryEngine(problem.training), Background(problem.mln.schema, ()))
    found = {}
    for place in _clauses(problem):
        clause = as_clause(problem.mln.rules[place].formula)
        assert clause is not None
        found[place] = counts.true_instances(clause)
    return found


PATHS = (
    Path("counts: memory", expected, partial(by_engine, engine_type=MemoryEngine)),
    Path("counts: duckdb", expected, partial(by_engine, engine_type=DuckEngine), share=0.1),
    Path("counts: in place", expected, by_files, share=0.02),
    Path("counts: grid", expected_of_clauses, partial(by_search, counts_type=GridCounts)),
    Path("counts: search", expected_of_clauses, partial(by_search, counts_type=EngineCounts)),
)
