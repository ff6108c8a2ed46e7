"""Calculations in formulas: counts, flips and probabilities equal brute force."""

import numpy as np
import pytest

from brute import brute_count, brute_flips
from mlnlearn.counting.count import true_groundings
from mlnlearn.counting.duck import DuckEngine
from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from mlnlearn.syntax import parse_formula
from reference import brute_marginals
from worlds import true_facts

SCHEMA = Schema.of("at(place,time)", "next(time,time)", "hot(time)", "size(place,time)")
FORMULAS = [
    "at(x,t) => at(x,t+1)",
    "at(x,t) ^ at(x,t-1)",
    "at(x,succ(t)) v !hot(t)",
    "hot(t++) ^ hot(t)",
    "next(t,u) => t + 1 = u",
    "next(t,u) ^ t * 2 > u + 1",
    "hot(t) ^ hot(u) ^ hot(plus(t,u))",
    "hot(t) ^ hot(u) ^ hot(minus(t,u))",
    "hot(t) ^ times(t,t) = u ^ hot(u)",
    "hot(t) ^ hot(u) ^ dividedBy(t,u) = w ^ hot(w)",
    "hot(t) ^ hot(u) ^ mod(t,u) = w ^ hot(w)",
    "hot(t) ^ greaterThan(t,u) ^ hot(u)",
    "hot(t) ^ lessThanEq(t,2)",
    "EXIST t at(x,t) ^ hot(t+1)",
    "hot(t) ^ t != t + 1",
    "hot(t) ^ t + t = t * 2",
    "hot(t) => (EXIST u u = t + 2 ^ hot(u))",
]


def random_database(rng):
    times = [str(n) for n in rng.choice(np.arange(-3, 7), size=rng.integers(1, 6), replace=False)]
    places = ["A", "B"][: rng.integers(1, 3)]
    domains = {"time": times, "place": places}
    facts = {}
    for predicate in SCHEMA.predicates:
        rows = [()]
        for kind in predicate.types:
            rows = [(*row, name) for row in rows for name in domains[kind]]
        facts[predicate.name] = [row for row in rows if rng.random() < 0.5]
    return Database.from_facts(SCHEMA, facts, domains=domains)


@pytest.mark.parametrize("engine", [MemoryEngine, DuckEngine])
@pytest.mark.parametrize("text", FORMULAS)
def test_counts_equal_brute_force(engine, text):
    rng = np.random.default_rng(7)
    formula = parse_formula(text, SCHEMA).formula
    databases = [random_database(rng) for _ in range(3)]
    found = true_groundings(engine(databases), formula)
    assert found == [sum(brute_count(db, formula).values()) for db in databases]


@pytest.mark.parametrize("text", FORMULAS[:12])
def test_marginals_equal_brute_force(text):
    mln = MLN.parse("\n".join([*map(str, SCHEMA.predicates), f"0.7 {text}", "0.3 hot(t)"]))
    rng = np.random.default_rng(11)
    database = random_database(rng)
    network = ground(mln, database, ["hot"])
    facts = true_facts(database)
    weights = []
    names = list(database.domains["time"])
    for number in range(2 ** len(names)):
        world = {**facts, "hot": {(n,) for i, n in enumerate(names) if number >> i & 1}}
        counts = [brute_count(database, r.formula, facts=world).get((), 0) for r in mln.rules]
        weights.append(0.7 * counts[0] + 0.3 * counts[1])
    assert brute_marginals(network)[0] == pytest.approx(np.logaddexp.reduce(weights))


@pytest.mark.parametrize("text", FORMULAS[:13])
def test_flips_equal_brute_force(text):
    rng = np.random.default_rng(5)
    formula = parse_formula(text, SCHEMA).formula
    database = random_database(rng)
    engine = MemoryEngine([database])
    expected = brute_flips(database, formula)
    flips = flip_counts(engine, formula, SCHEMA["hot"])
    times = engine.stack.vocabularies["time"]
    zero = np.zeros(len(times), np.int64)
    found = flips.at(engine.stack, zero, [np.arange(len(times))]).tolist()
    assert found == [expected.get(("hot", name), 0) for name in times.names]


def test_what_is_no_whole_number_is_refused():
    formula = parse_formula("hot(t) ^ hot(t+1)", SCHEMA).formula
    database = Database.from_facts(SCHEMA, {"hot": [("1",), ("Noon",)]})
    with pytest.raises(InputError, match=r"t \+ 1 = v1 calculates with whole numbers, but Noon"):
        true_groundings(MemoryEngine([database]), formula)


def test_numbers_that_grow_too_large_are_refused():
    formula = parse_formula("hot(t) ^ t * t * t > 1", SCHEMA).formula
    database = Database.from_facts(SCHEMA, {"hot": [("99999999999",)]})
    with pytest.raises(InputError, match="too large"):
        true_groundings(MemoryEngine([database]), formula)


def test_a_step_is_looked_up_not_gone_through():
    """All pairs of 20,000 times would be 4e8 rows, more than a comparison may go through."""
    formula = parse_formula("hot(t) ^ hot(t+1)", SCHEMA).formula
    facts = {"hot": [(str(t),) for t in range(0, 20000, 1)]}
    database = Database.from_facts(SCHEMA, facts)
    expected = 20000 * 19999 + 1 + 19999  # t + 1 = v holds of 19,999 pairs, all true
    total = true_groundings(MemoryEngine([database]), formula)
    assert total == [expected]
