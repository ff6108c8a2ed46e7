"""Counts of formulas equal brute force, exactly, on both engines."""

import numpy as np
import pytest

from brute import assignments, brute_count
from mlnlearn.counting.count import (
    count_by,
    groundings,
    lookup,
    true_groundings,
)
from mlnlearn.counting.duck import DuckEngine
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.counting.query import Query
from mlnlearn.data.database import Database
from mlnlearn.errors import CountOverflowError, InputError, MemoryLimitError
from mlnlearn.logic.atoms import Comparison, Constant, Literal, Variable
from mlnlearn.logic.clauses import clause
from mlnlearn.logic.formulas import And, Exists, Forall, Iff, Implies, Not, Or, free_variables
from mlnlearn.logic.schema import Schema
from worlds import random_clause, random_database_list, random_schema

ENGINES = {"memory": MemoryEngine, "duck": DuckEngine}


def named(engine, table, types):
    """Rows of a table as ``{(database, *names): count}``."""
    names = [
        [engine.stack.vocabularies[types[variable]][code] for code in column.tolist()]
        for variable, column in zip(table.variables, table.columns, strict=True)
    ]
    rows = list(zip(table.database.tolist(), *names, strict=True))
    assert len(rows) == len(set(rows))
    return dict(zip(rows, table.counts.tolist(), strict=True))


def random_by(rng, formula):
    found = free_variables(formula)
    chosen = rng.permutation(len(found))[: rng.integers(0, len(found) + 1)]
    return tuple(found[i] for i in chosen)


def with_comparison(rng, random):
    """Add an equality or inequality of two variables of one type, where there are two."""
    kinds = {}
    for variable in random.variables:
        kinds.setdefault(variable.name.split("_")[0], []).append(variable)
    pairs = [found[:2] for found in kinds.values() if len(found) > 1]
    if not pairs:
        return random
    operator = str(rng.choice(["=", "<", ">="]))
    literal = Literal(Comparison(operator, *pairs[0]), bool(rng.integers(2)))
    return clause(*random, literal)


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("seed", range(10))
def test_random_clauses_equal_brute_force(kind, seed):
    """2 engines, 10 seeds, 20 worlds, 10 clauses: 2,000 pairs on each engine."""
    rng = np.random.default_rng([1, seed])
    for _ in range(20):
        schema = random_schema(rng)
        databases = random_database_list(rng, schema, most=2)
        engine = ENGINES[kind](databases)
        for number in range(10):
            random = random_clause(rng, schema, variables=2)
            if number % 3 == 0:
                random = with_comparison(rng, random)
            formula = random.formula
            by = random_by(rng, formula)
            expected = [brute_count(database, formula, by) for database in databases]
            assert true_groundings(engine, formula) == [sum(e.values()) for e in expected]
            table = count_by(engine, formula, by)
            types = {v: v.name.split("_")[0] for v in by}
            assert named(engine, table, types) == {
                (number, *values): count
                for number, found in enumerate(expected)
                for values, count in found.items()
            }


@pytest.fixture
def people():
    schema = Schema.of("friends(person,person)", "smokes(person)", "age(person,num)", "rain")
    facts = {
        "friends": [("Anna", "Bob"), ("Bob", "Anna"), ("Carl", "Anna")],
        "smokes": [("Anna",), ("Carl",)],
        "age": [("Anna", "9"), ("Bob", "10"), ("Carl", "10")],
        "rain": [()],
    }
    return Database.from_facts(schema, facts, domains={"person": ["Anna", "Bob", "Carl", "Dora"]})


def _formulas(schema):
    friends, smokes, age, rain = (schema[n] for n in ("friends", "smokes", "age", "rain"))
    x, y, m, n = (Variable(name) for name in "xymn")
    has_friend = Exists((y,), friends("x", "y"))
    yield Iff(smokes("x"), has_friend)
    yield And((Not(has_friend), smokes("x")))
    yield Forall((x, y), Implies(friends("x", "y"), friends("y", "x")))
    yield Implies(Forall((y,), Implies(friends("x", "y"), smokes("y"))), smokes("x"))
    yield Exists((x, y), And((friends("x", "y"), smokes("x"))))
    yield And((age("x", "m"), age("y", "n"), Comparison("<", m, n)))
    yield And((age("x", "m"), Comparison(">=", m, Constant("10"))))
    yield And((age("x", "m"), Comparison("<", Constant("9.5"), m)))
    yield Or((Not(Comparison("=", x, y)), And((friends("x", "y"), rain()))))
    yield And((Comparison("=", x, Constant("Anna")), Or((smokes("x"), friends("x", "y")))))
    yield And((Comparison("=", x, Constant("Nobody")), smokes("x")))
    yield Or((smokes("x"), Not(smokes("x"))))
    yield And((smokes("x"), Not(smokes("x"))))


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("number", range(13))
def test_connectives_quantifiers_and_comparisons(people, kind, number):
    formula = list(_formulas(people.schema))[number]
    inner = formula.body if isinstance(formula, Forall) else formula
    engine = ENGINES[kind]([people])
    by = free_variables(inner)[:1]
    expected = brute_count(people, inner, by)
    assert true_groundings(engine, formula) == [sum(expected.values())]
    assert groundings(engine, formula) == [len(list(assignments(people, inner)))]
    types = dict.fromkeys(by, "person")
    found = named(engine, count_by(engine, formula, by), types)
    assert found == {(0, *key): count for key, count in expected.items()}


def test_counts_of_given_rows(people):
    engine = MemoryEngine([people])
    friends, smokes = people.schema["friends"], people.schema["smokes"]
    formula = Or((Not(friends("x", "y")), smokes("y")))
    x = Variable("x")
    wanted = np.array([2, 0, 2, 3])
    numbers = np.zeros(4, np.int64)
    table = count_by(engine, formula, [x])
    counts = lookup(engine, table, ["person"], numbers, [wanted])
    everyone = brute_count(people, formula, [x])
    names = people.domains["person"].names
    assert counts.tolist() == [everyone.get((names[code],), 0) for code in wanted]


def test_grouping_by_a_stranger_is_refused(people):
    with pytest.raises(InputError, match=r"z is not a free variable of smokes\(x\)"):
        count_by(MemoryEngine([people]), people.schema["smokes"]("x"), [Variable("z")])


def test_untyped_variable_is_refused(people):
    formula = Or((people.schema["rain"](), Comparison("=", Variable("u"), Constant("Anna"))))
    with pytest.raises(InputError, match="no type for variable u"):
        true_groundings(MemoryEngine([people]), formula)


def test_count_beyond_64_bits_is_an_error():
    schema = Schema.of("p(t)")
    database = Database.from_facts(schema, {}, domains={"t": [f"C{i}" for i in range(2000)]})
    p = schema["p"]
    formula = Or(tuple(Not(p(f"x{i}")) for i in range(6)))
    with pytest.raises(CountOverflowError, match="does not fit in 64 bits"):
        true_groundings(MemoryEngine([database]), formula)


def test_a_group_too_large_for_memory_is_refused():
    schema = Schema.of("p(t)", "q(t)")
    names = [f"C{i}" for i in range(3000)]
    database = Database.from_facts(schema, {"p": [(n,) for n in names]}, domains={"t": names})
    engine = MemoryEngine([database], memory_limit=1 << 20)
    formula = And((schema["p"]("x"), schema["p"]("y")))
    with pytest.raises(MemoryLimitError, match="room for 9,000,000 rows"):
        count_by(engine, formula, [Variable("x"), Variable("y")])


def test_a_grouped_join_stays_within_the_memory_limit():
    schema = Schema.of("p(a,b)")
    facts = {"p": [(f"A{i}", "B") for i in range(3000)]}
    engine = MemoryEngine([Database.from_facts(schema, facts)], memory_limit=10 << 20)
    p = schema["p"]
    with pytest.raises(MemoryLimitError, match="the limit is 10 MB"):
        count_by(engine, And((p("x", "z"), p("y", "z"))), [Variable("x"), Variable("y")])


def test_answers_cannot_be_changed(people):
    engine = MemoryEngine([people])
    x = Variable("x")
    table = engine.table(Query((people.schema["smokes"]("x"),), (x,)))
    with pytest.raises(ValueError, match="read-only"):
        table.columns[0][:] = 0
