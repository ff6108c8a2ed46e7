"""How the true groundings of each formula change with each single atom."""

from __future__ import annotations

from functools import partial

import numpy as np

from agreement.compare import Answer, Path
from agreement.language import atoms_of
from agreement.problem import Problem, own_domains
from agreement.reference import world_and_flips
from mlnlearn.counting.duck import DuckEngine
from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.grid_counts import GridCounts


def expected(problem: Problem) -> Answer:
    case = problem.case
    found = {}
    pairs = zip(case.training, problem.training, strict=True)
    for number, (facts, database) in enumerate(pairs):
        worlds, atoms = world_and_flips(case.predicates, own_domains(database), facts)
        for place, rule in enumerate(case.rules):
            counts = worlds.counts(rule.formula)
            used = {atom.name for atom in atoms_of(rule.formula)}
            for i, atom in enumerate(atoms):
                if atom[0] in used:
                    found[number, place, atom] = int(counts[i] - counts[i + len(atoms)])
    return found


def by_engine(problem: Problem, engine_type: type) -> Answer:
    engine = engine_type(problem.training)
    stack, schema = engine.stack, problem.mln.schema
    found = {}
    for place, rule in enumerate(problem.mln.rules):
        for name in sorted({a.name for a in atoms_of(problem.case.rules[place].formula)}):
            predicate, places = schema[name], tuple(schema.functional.get(name, ()))
            flips = flip_counts(engine, rule.formula, predicate, places)
            for number, database in enumerate(problem.training):
                sizes = [database.size(kind) for kind in predicate.types]
                for codes in np.ndindex(*sizes):
                    pairs = list(zip(predicate.types, codes, strict=True))
                    names = tuple(database.domains[kind][code] for kind, code in pairs)
                    columns = [
                        np.array([stack.code(kind, text)])
                        for kind, text in zip(predicate.types, names, strict=True)
                    ]
                    value = flips.at(stack, np.array([number]), columns)[0]
                    found[number, place, (name, names)] = int(value)
    return found


def by_grid(problem: Problem) -> Answer:
    counts = GridCounts(MemoryEngine(problem.training), Background(problem.mln.schema, ()))
    found = {}
    for place, rule in enumerate(problem.mln.rules):
        for name, flips in counts.flips(rule.formula).items():
            predicate = problem.mln.schema[name]
            spread = counts.grid.spread(flips, predicate.arity)
            cells = np.broadcast_to(spread, counts.grid.shape(predicate))
            for number, database in enumerate(problem.training):
                sizes = [database.size(kind) for kind in predicate.types]
                for codes in np.ndindex(*sizes):
                    pairs = zip(predicate.types, codes, strict=True)
                    names = tuple(database.domains[kind][code] for kind, code in pairs)
                    found[number, place, (name, names)] = float(cells[(number, *codes)])
    return found


PATHS = (
    Path("flips: memory", expected, partial(by_engine, engine_type=MemoryEngine), share=0.4),
    Path("flips: duckdb", expected, partial(by_engine, engine_type=DuckEngine), share=0.05),
    Path("flips: grid", expected, by_grid, share=0.4),
)
