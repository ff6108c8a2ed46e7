"""Time and memory of grounding about a million undecided clauses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from bench.result import Result, clock, peak_megabytes, run_cases, run_one
from mlnlearn.data.database import Columns, Database, Facts
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import And, Exists, Implies, Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN

SCHEMA = Schema.of("friends(person,person)", "smokes(person)", "says(person,word)")
FRIENDS, SMOKES, SAYS = (SCHEMA[name] for name in ("friends", "smokes", "says"))
X, Y, W = Variable("x"), Variable("y"), Variable("w")


def database(people: int, facts: Facts | None = None) -> Database:
    """Return a database of so many people, with facts as code arrays."""
    domains = {
        "person": Vocabulary(f"P{i}" for i in range(people)),
        "word": Vocabulary(f"W{i}" for i in range(1000)),
    }
    return Database.from_codes(SCHEMA, domains, facts or {})


def random_pairs(rng: np.random.Generator, first: int, second: int, count: int) -> Columns:
    """Return distinct random pairs."""
    keys = np.unique(rng.integers(0, first * second, count))
    return np.stack(np.divmod(keys, second)).astype(np.int32)


def cases(scale: float) -> Iterator[tuple[str, tuple[Rule, ...], Database, list[str]]]:
    """Yield a name, a model, a database and a query per case."""
    rng = np.random.default_rng(0)
    influence = Rule(Implies(And((FRIENDS("x", "y"), SMOKES("x"))), SMOKES("y")), 1.1)
    people = int(1000 * scale**0.5)
    yield "all unknown", (influence,), database(people), ["friends", "smokes"]
    many = int(100_000 * scale)
    pairs = random_pairs(rng, many, many, 10 * many)
    yield "friends known", (influence,), database(many, {"friends": pairs}), ["smokes"]
    lonely = Rule(Implies(SMOKES("x"), Exists((Y,), FRIENDS("x", "y"))), 0.5)
    yield "long clauses", (lonely,), database(people), ["friends", "smokes"]
    transitive = Rule(
        Implies(And((FRIENDS("x", "y"), FRIENDS("y", "z"))), FRIENDS("x", "z")), hard=True
    )
    yield "transitivity", (transitive,), database(int(100 * scale ** (1 / 3))), ["friends"]
    words = random_pairs(rng, many, 1000, 10 * many)
    per_word = Rule(Implies(SAYS("x", "w"), SMOKES("x")), 0.1, per_constant=(W,))
    yield "a rule per word", (per_word,), database(many, {"says": words}), ["smokes"]


def measure(chosen: str) -> list[Result]:
    """Ground a case once small, to compile, and once at full size."""
    for name, rules, data, query in cases(0.01):
        if name == chosen:
            ground(MLN(SCHEMA, rules), data, query)
    for name, rules, data, query in cases(1.0):
        if name == chosen:
            with clock() as time:
                network = ground(MLN(SCHEMA, rules), data, query)
    title = f"ground {network.clauses:,} clauses, {network.variables:,} atoms: {chosen}"
    return [
        Result(title, time.cpu, "CPU s", 10),
        Result(f"{title}: peak memory", peak_megabytes(), "MB", 1024),
    ]


CASES = {name: partial(measure, name) for name, *_ in cases(0.0001)}


def main() -> list[Result]:
    """Run all cases."""
    return run_cases("bench.grounding", CASES)


if __name__ == "__main__":
    run_one(CASES)
