"""Time and memory of grounding about a million undecided clauses.

Run as ``python bench/grounding.py``; prints one line a case.
"""

import argparse
import resource
import time

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.infer.ground import ground
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import And, Exists, Implies, Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN

SCHEMA = Schema.of("friends(person,person)", "smokes(person)", "says(person,word)")
FRIENDS, SMOKES, SAYS = (SCHEMA[name] for name in ("friends", "smokes", "says"))
X, Y, W = Variable("x"), Variable("y"), Variable("w")


def database(people, facts=None):
    """Return a database of so many people, with facts as code arrays."""
    domains = {
        "person": Vocabulary(f"P{i}" for i in range(people)),
        "word": Vocabulary(f"W{i}" for i in range(1000)),
    }
    return Database.from_codes(SCHEMA, domains, facts or {})


def random_pairs(rng, first, second, count):
    """Return distinct random pairs."""
    keys = np.unique(rng.integers(0, first * second, count))
    return np.stack(np.divmod(keys, second))


def cases(scale):
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


def main():
    """Ground every case once small, to compile, and once at full size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="multiple of a million clauses")
    scale = parser.parse_args().scale
    for _, rules, data, query in cases(0.01):
        ground(MLN(SCHEMA, rules), data, query)
    for name, rules, data, query in cases(scale):
        start = time.process_time()
        network = ground(MLN(SCHEMA, rules), data, query)
        seconds = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name:16} {network.variables:9,} variables {network.clauses:9,} clauses "
            f"{len(network.literal_variable):10,} literals {network.unary_counts.nnz:9,} unary "
            f"{seconds:6.2f} CPU s {peak:6.0f} MB peak so far"
        )


if __name__ == "__main__":
    main()
