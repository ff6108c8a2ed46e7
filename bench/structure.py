"""GSLP and MSL: time, likelihood, and how many planted clauses they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from bench.result import Result, clock, run_cases, run_one
from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Atom, Literal
from mlnlearn.logic.clauses import Clause, as_clause, clause
from mlnlearn.logic.polynomial import polynomial
from mlnlearn.logic.schema import Schema
from mlnlearn.logic.substitute import substitute
from mlnlearn.model.mln import MLN
from mlnlearn.structure.beam.learn import MSL
from mlnlearn.structure.predicate_graph.learn import GSLP
from studies.gslp_data import plain_folds

SCHEMA = Schema.of("a(t)", "b(t)", "r(t,t)", "s(t,t)")
RUNS = 200

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


a, b, r, s = (SCHEMA[name] for name in "abrs")
SHAPES = (
    (b("x"), a("x")),
    (b("y"), r("x", "y")),
    (b("y"), r("x", "y"), a("x")),
    (s("x", "y"), r("x", "y")),
    (s("x", "y"), r("y", "x")),
)
# the two relations bear on each other only where a(x) lets them: the clause of their edge gains
# nothing alone, so that GSLP drops the edge, and with it all ways to this clause, unless mft < 0
HIDDEN = (s("x", "y"), r("y", "x"), a("x"))


def planted(
    rng: np.random.Generator,
    people: Sequence[int] = (60, 80, 100),
    shapes: Sequence[Sequence[Atom]] = SHAPES,
) -> tuple[Clause, list[Database]]:
    """Return a random clause, and worlds drawn from the network of it and the unit clauses.

    Every predicate is in the clause at most once, so that all its atoms are independent given the
    other predicates: worlds are drawn by Gibbs sampling, a predicate at a time.
    """
    atoms = shapes[int(rng.integers(len(shapes)))]
    # a relation in the body is denied, so that few groundings depend on an atom
    signs = [True, *(a.predicate.arity == 1 and bool(rng.integers(2)) for a in atoms[1:])]
    chosen = clause(*(Literal(atom, sign) for atom, sign in zip(atoms, signs, strict=True)))
    weight = rng.uniform(2.0, 3.0)
    return chosen, [_world(rng, chosen, weight, size) for size in people]


def _world(rng: np.random.Generator, chosen: Clause, weight: float, people: int) -> Database:
    """Draw a world."""
    # where a relation bears on persons it is sparse: about two partners each
    sparse = len({literal.atom for literal in chosen if len(literal.atom.terms) == 1}) > 0
    relation = -np.log(people / 2) if sparse else -1.0
    units = {"a": 0.0, "b": 0.0, "r": relation, "s": relation}
    truth = {p.name: np.zeros((people,) * p.arity, bool) for p in SCHEMA.predicates}
    for _ in range(100):
        for name, unit in units.items():
            odds = unit + weight * _flips(chosen, name, truth, people)
            truth[name] = rng.random(odds.shape) < 1.0 / (1.0 + np.exp(-odds))
    names = [f"T{i}" for i in range(people)]
    facts = {
        name: [tuple(names[i] for i in row) for row in np.argwhere(values)]
        for name, values in truth.items()
    }
    return Database.from_facts(SCHEMA, facts, domains={"t": names})


def _flips(given: Clause, name: str, truth: dict[str, Bools], people: int) -> Floats:
    """Return the flip counts of a predicate that is in a clause over x and y once or never."""
    own = next((lit for lit in given if str(lit.atom).startswith(f"{name}(")), None)
    if own is None:
        return np.zeros(truth[name].shape)
    axes = {"x": (slice(None), None), "y": (None, slice(None)), "x,y": (), "y,x": ()}
    violated = np.ones((people, people))
    for literal in given:
        if literal is not own:
            terms = ",".join(map(str, literal.atom.terms))
            values = truth[str(literal.atom).partition("(")[0]] != literal.positive
            violated = violated * (values.T if terms == "y,x" else values)[axes[terms]]
    terms = ",".join(map(str, own.atom.terms))
    if "y" not in {str(variable) for variable in given.variables}:
        violated = violated[:, :1]
    counted = {"x": violated.sum(axis=1), "y": violated.sum(axis=0), "x,y": violated}
    found: Floats = counted.get(terms, violated.T)
    return found if own.positive else -found


def is_equivalent(one: Clause, other: Clause) -> bool:
    """Tell whether two clauses are the same feature, up to sign and beside the unit clauses."""
    first, second = list(one.variables), list(other.variables)
    if len(first) != len(second) or len(one) != len(other):
        return False
    wanted = _joint(one)
    for order in permutations(first):
        renamed = substitute(other, dict(zip(second, order, strict=True)))
        found = _joint(renamed)
        if found in (wanted, {term: -value for term, value in wanted.items()}):
            return True
    return False


def _joint(given: Clause) -> dict[frozenset[object], int]:
    return {term: n for term, n in polynomial(given.formula).items() if len(term) > 1}


def recovered(mln: MLN, chosen: Clause) -> bool:
    """Tell whether a network holds a clause or an equivalent one."""
    clauses = (as_clause(rule.formula) for rule in mln.rules)
    return any(found is not None and is_equivalent(chosen, found) for found in clauses)


def share_missed(learner: GSLP | MSL, runs: int, shapes: Sequence[Sequence[Atom]]) -> float:
    """Return the share of runs in which a planted clause was not found."""
    misses = 0
    for seed in range(runs):
        chosen, databases = planted(np.random.default_rng(seed), shapes=shapes)
        misses += not recovered(learner.fit(databases).mln, chosen)
    return misses / runs


def planted_clauses() -> list[Result]:
    """Plant a clause many times over and look for it: five shapes, then with the sixth."""
    learners: dict[str, GSLP | MSL] = {
        "GSLP": GSLP(max_length=3),
        "GSLP with all edges": GSLP(max_length=3, mft=-1.0),
        "MSL": MSL(max_literals=3, max_variables=3, held_out=True, penalty=0.001),
    }
    found = []
    for label, learner in learners.items():
        for number, shapes in (("5", SHAPES), ("6", (*SHAPES, HIDDEN))):
            name = f"{label}, planted clauses of {number} shapes missed in {RUNS} runs"
            found.append(Result(name, share_missed(learner, RUNS, shapes), "share", 0.1))
    return found


def gslp(name: str, target: float) -> list[Result]:
    """Train GSLP on all folds but the first."""
    train = plain_folds(name)[1:]
    GSLP(max_clauses=1).fit(train)
    with clock() as measured:
        learned = GSLP().fit(train)
    return [
        Result(f"GSLP, {name}, 4 folds", measured.cpu, "CPU s", target),
        Result(f"GSLP, {name}, minus WPLL", -learned.likelihood, ""),
    ]


def msl(name: str, train: Sequence[Database], target: float, likelihood: float) -> list[Result]:
    """Train MSL with at most 4 literals and 3 variables."""
    learner = MSL(max_literals=4, max_variables=3)
    replace(learner, max_rounds=1, max_literals=2).fit(train)
    with clock() as measured:
        learned = learner.fit(train)
    return [
        Result(f"MSL, {name}", measured.cpu, "CPU s", target),
        Result(f"MSL, {name}, minus WPLL", -learned.likelihood, "", -likelihood),
    ]


def msl_imdb() -> list[Result]:
    """Four folds of IMDB; Alchemy: 65 CPU s, WPLL -3.705."""
    return msl("imdb_lsl, 4 folds", plain_folds("imdb_lsl")[1:], 6.0, -2.93)


def msl_uwcse() -> list[Result]:
    """Train on the smallest fold of UW-CSE; Alchemy: 50 CPU s, WPLL -0.153."""
    folds = plain_folds("uwcse_lsl")
    smallest = min(folds, key=lambda f: sum(f.count(p.name) for p in f.schema.predicates))
    return msl("uwcse_lsl, smallest fold", [smallest], 5.0, -0.153)


CASES = {
    "gslp_imdb": lambda: gslp("imdb", 10.0),
    "gslp_uwcse": lambda: gslp("uwcse", 60.0),
    "gslp_cora": lambda: gslp("cora", 600.0),
    "msl_imdb": msl_imdb,
    "msl_uwcse": msl_uwcse,
    "planted": planted_clauses,
}


def main() -> list[Result]:
    """Run every case."""
    return run_cases("bench.structure", CASES)


if __name__ == "__main__":
    run_one(CASES)
