"""Flip counts of twenty random connected three-literal clauses, for every predicate in them.

On UW-CSE and Cora all types may connect literals. In the large university literals connect through
people, courses and titles: a connection through one of a few values, such as a quarter, relates
everything to everything, and the engine refuses what does not fit its memory limit. How many
clauses it refused on the way to twenty is reported.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from bench.result import Result, clock, peak_megabytes, run_cases, run_one
from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.catalog import VARIABLE, benchmark
from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import university
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Atom, Literal, Predicate, Variable
from mlnlearn.logic.clauses import Clause, clause
from mlnlearn.logic.schema import Schema

CLAUSES, LITERALS, SEED = 20, 3, 1
STUDENTS = 115_500


def random_clause(rng: np.random.Generator, schema: Schema, links: Sequence[str]) -> Clause:
    """Draw literals, each sharing with the earlier ones a variable of a type in `links`."""
    types: dict[Variable, str] = {}
    literals: list[Literal] = []
    while len(literals) < LITERALS:
        predicate = schema.predicates[rng.integers(len(schema.predicates))]
        terms: list[Variable] = []
        for kind in predicate.types:
            known = [v for v, other in types.items() if other == kind and kind in links]
            if known and rng.random() < 0.5:
                terms.append(known[rng.integers(len(known))])
            else:
                terms.append(Variable(f"{kind}{len(types) + len(terms)}"))
        literal = Literal(predicate(*terms), bool(rng.random() < 0.5))
        shares = any(term in types for term in terms)
        if (literals and not shares) or any(literal.atom == other.atom for other in literals):
            continue
        types |= dict(zip(terms, predicate.types, strict=True))
        literals.append(literal)
    return clause(*literals)


def predicates_of(drawn: Clause) -> list[Predicate]:
    """Return the predicates of a clause, each once."""
    atoms = [literal.atom for literal in drawn if isinstance(literal.atom, Atom)]
    return list(dict.fromkeys(atom.predicate for atom in atoms))


def accepted(engine: MemoryEngine, drawn: Clause) -> bool:
    """Count the flips of all predicates of a clause; tell whether the engine took it."""
    try:
        for predicate in predicates_of(drawn):
            flip_counts(engine, drawn.formula, predicate)
    except MemoryLimitError:
        return False
    return True


def measure(
    name: str,
    databases: Sequence[Database],
    links: Sequence[str],
    seconds: float,
    megabytes: float | None,
) -> list[Result]:
    """Count until so many clauses are done; the time is that of the clauses that were taken."""
    rng = np.random.default_rng(SEED)
    engine = MemoryEngine(databases)
    cpu, taken, refused = 0.0, 0, 0
    while taken < CLAUSES:
        drawn = random_clause(rng, databases[0].schema, links)
        with clock() as time:
            done = accepted(engine, drawn)
        cpu += time.cpu
        taken, refused = taken + done, refused + (not done)
    title = f"flip counts, {CLAUSES} clauses, {name}"
    return [
        Result(title, cpu, "CPU s", seconds),
        Result(f"{title}: peak memory", peak_megabytes(), "MB", megabytes),
        Result(f"{title}: refused, on top of the {CLAUSES}", refused, "clauses"),
    ]


def warm_up() -> None:
    """Have the kernels compiled, or loaded from disk."""
    small = university(50, 2, rng=0)
    measure("warm-up", small.databases, small.schema.types, 0, None)


def data_set(name: str, title: str, seconds: float, megabytes: float | None) -> list[Result]:
    """Measure on a benchmark data set."""
    warm_up()
    databases = benchmark(name)
    return measure(title, databases, databases[0].schema.types, seconds, megabytes)


def large() -> list[Result]:
    """Measure on a university of a million facts."""
    warm_up()
    made = university(STUDENTS, 1, rng=0)
    database = made.databases[0]
    atoms = sum(database.ground_atoms(p.name) for p in made.schema.predicates)
    title = f"university, {database.true_atoms:,} facts, {atoms:.0e} ground atoms"
    return measure(title, made.databases, ("person", "course", "title"), 30, 2048)


CASES = {
    "uwcse": lambda: data_set("uwcse", "UW-CSE, 5 folds", 0.5, None),
    "cora": lambda: data_set("cora", "Cora, 5 folds", 5, 1024),
    "university": large,
}


def main() -> list[Result]:
    """Run all cases; those on benchmark data where there is any."""
    names = CASES if os.environ.get(VARIABLE) else ("university",)
    return run_cases("bench.flips", {name: CASES[name] for name in names})


if __name__ == "__main__":
    run_one(CASES)
