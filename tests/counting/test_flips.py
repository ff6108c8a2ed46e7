"""Flip counts equal brute force, exactly, on both engines."""

from itertools import product

import numpy as np
import pytest

from brute import UNLINKED_SCHEMA, brute_flips, unlinked_formulas
from mlnlearn.cache import ByteCache
from mlnlearn.counting.duck import DuckEngine
from mlnlearn.counting.flips import FlipCounter, flip_counts
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import And, Exists, Iff, Implies, Not, Or
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.mln import parse_formula
from worlds import random_clause, random_database_list, random_schema

ENGINES = {"memory": MemoryEngine, "duck": DuckEngine}


def all_flips(engine, formula, predicate, exclusive=()):
    """Flip counts of every ground atom: ``{(database, predicate, *names): count}``, zeros out."""
    return listed(engine, flip_counts(engine, formula, predicate, exclusive), predicate)


def listed(engine, flips, predicate):
    found = {}
    for number, database in enumerate(engine.stack.databases):
        atoms = list(product(*(database.domains[kind].names for kind in predicate.types)))
        columns = [
            np.array([engine.stack.code(kind, atom[place]) for atom in atoms], np.int64)
            for place, kind in enumerate(predicate.types)
        ]
        counts = flips.at(engine.stack, np.full(len(atoms), number), columns)
        for atom, count in zip(atoms, counts.tolist(), strict=True):
            if count:
                found[(number, predicate.name, *atom)] = count
    return found


def rows_lie_in_the_domains(engine, flips):
    for table in flips.tables:
        for place, column in zip(table.places, table.columns, strict=True):
            members = engine.stack.members(flips.predicate.types[place])
            known = set(zip(members.database.tolist(), members.columns[0].tolist(), strict=True))
            assert known.issuperset(zip(table.database.tolist(), column.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_what_products_add_is_shared_among_formulas(seed):
    rng = np.random.default_rng([12, seed])
    schema = random_schema(rng)
    engine = MemoryEngine(random_database_list(rng, schema, most=2))
    counter = FlipCounter(engine, ByteCache(1 << 24).shelf(engine))
    for _ in range(60):
        formula = random_clause(rng, schema, variables=3, most=3).formula
        for predicate in schema.predicates:
            flips = counter.flips(formula, predicate)
            expected = all_flips(engine, formula, predicate)
            assert listed(engine, flips, predicate) == expected


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("seed", range(10))
def test_random_clauses_equal_brute_force(kind, seed):
    """2 engines, 10 seeds, 20 worlds, 10 clauses: 2,000 pairs on each engine, all predicates."""
    rng = np.random.default_rng([2, seed])
    for _ in range(20):
        schema = random_schema(rng)
        databases = random_database_list(rng, schema, most=2)
        engine = ENGINES[kind](databases)
        for _ in range(10):
            formula = random_clause(rng, schema, variables=2, most=3).formula
            expected = {
                (number, *atom): count
                for number, database in enumerate(databases)
                for atom, count in brute_flips(database, formula).items()
            }
            found = {}
            for predicate in schema.predicates:
                rows_lie_in_the_domains(engine, flip_counts(engine, formula, predicate))
                found |= all_flips(engine, formula, predicate)
            assert found == expected, str(formula)


@pytest.mark.parametrize("seed", range(5))
def test_exclusive_blocks_equal_brute_force(seed):
    rng = np.random.default_rng([3, seed])
    for _ in range(40):
        schema = random_schema(rng)
        databases = random_database_list(rng, schema, most=2)
        engine = MemoryEngine(databases)
        formula = random_clause(rng, schema, variables=2, most=3).formula
        for predicate in schema.predicates:
            places = range(predicate.arity)
            exclusive = tuple(p for p in places if rng.random() < 0.5) or tuple(places[:1])
            expected = {
                (number, *atom): count
                for number, database in enumerate(databases)
                for atom, count in brute_flips(
                    database, formula, (predicate.name, exclusive)
                ).items()
            }
            assert all_flips(engine, formula, predicate, exclusive) == expected, str(formula)


def test_products_equal_tables(monkeypatch):
    monkeypatch.setattr("mlnlearn.counting.flip_products._LISTED", -1)
    rng = np.random.default_rng(10)
    for _ in range(20):
        databases = random_database_list(rng, UNLINKED_SCHEMA, most=2)
        engine = MemoryEngine(databases)
        for formula in unlinked_formulas():
            expected = {
                (number, *atom): count
                for number, database in enumerate(databases)
                for atom, count in brute_flips(database, formula).items()
            }
            found = {}
            for predicate in UNLINKED_SCHEMA.predicates:
                found |= all_flips(engine, formula, predicate)
            assert flip_counts(engine, formula, UNLINKED_SCHEMA["r"]).products
            assert found == expected, str(formula)


LINKED = Schema.of("p(a,b,c)", "q(a,c)", "r(b,c)", "s(a,b)", "d(a,e)", "f(b,e)")


@pytest.mark.parametrize(
    "text",
    [
        "q(x,z) ^ r(y,z) => s(x,y)",  # through one variable
        "q(x,z) ^ r(y,z) ^ d(x,w) ^ f(y,w) => s(x,y)",  # through two
        "q(x,z) ^ r(y,z) => p(x,y,z)",  # through an argument of the flipped atom
        "q(x,z) ^ r(y,z) ^ p(x,y,w) => s(x,y)",
        "q(x,z) ^ r(y,z) ^ r(v,z) => s(x,y)",
    ],
)
def test_sums_of_products_equal_tables(text, monkeypatch):
    """Arguments that a few values link: the counts are sums of products, one a value."""
    monkeypatch.setattr("mlnlearn.counting.flip_products._LISTED_BY_VALUE", -1)
    monkeypatch.setattr("mlnlearn.counting.flip_products._classes", lambda *_: 0)
    # of all types but two, constants are so few that they are taken one by one
    monkeypatch.setattr("mlnlearn.counting.flip_products._MOST_VALUES", 6)
    rng = np.random.default_rng(5)
    formula, used = parse_formula(text, LINKED).formula, 0
    for _ in range(6):
        databases = []
        for _ in range(2):
            sizes = {"a": 9, "b": 8, "c": int(rng.integers(1, 4)), "e": 2}
            names = {kind: [f"{kind.upper()}{i}" for i in range(n)] for kind, n in sizes.items()}
            facts = {
                p.name: [t for t in product(*(names[k] for k in p.types)) if rng.random() < 0.3]
                for p in LINKED.predicates
            }
            databases.append(Database.from_facts(LINKED, facts, domains=names))
        engine = MemoryEngine(databases)
        for predicate in LINKED.predicates:
            used += len(flip_counts(engine, formula, predicate).products)
            expected = {
                (number, *atom): count
                for number, database in enumerate(databases)
                for atom, count in brute_flips(database, formula).items()
                if atom[0] == predicate.name
            }
            assert all_flips(engine, formula, predicate) == expected
    assert used


def test_unlinked_arguments_stay_a_product():
    schema = Schema.of("student(t)", "professor(t)", "advisedBy(t,t)")
    names = [f"C{i}" for i in range(4000)]
    facts = {"student": [(n,) for n in names[:3000]], "professor": [(n,) for n in names[3000:]]}
    engine = MemoryEngine([Database.from_facts(schema, facts, domains={"t": names})])
    student, professor, advised = schema.predicates
    formula = Implies(And((student("x"), professor("y"))), advised("x", "y"))
    flips = flip_counts(engine, formula, advised)
    assert flips.tables == ()
    assert [len(f) for product in flips.products for f in product.factors] == [1000, 3000]
    pairs = [np.array([0, 3500, 0]), np.array([3500, 0, 1])]
    assert flips.at(engine.stack, np.zeros(3, np.int64), pairs).tolist() == [1, 0, 0]


def test_formulas_that_are_not_clauses():
    schema = Schema.of("p(t,t)", "q(t)")
    rng = np.random.default_rng(4)
    p, q = schema["p"], schema["q"]
    formulas = [
        Iff(p("x", "y"), p("y", "x")),
        Iff(q("x"), Or((p("x", "y"), Not(q("y"))))),
        Not(Implies(p("x", "x"), q("x"))),
    ]
    for _ in range(20):
        databases = random_database_list(rng, schema)
        engine = MemoryEngine(databases)
        for formula in formulas:
            found = all_flips(engine, formula, p) | all_flips(engine, formula, q)
            assert found == {
                (number, *atom): count
                for number, database in enumerate(databases)
                for atom, count in brute_flips(database, formula).items()
            }


def test_sparse_facts_need_no_array_of_all_ground_atoms():
    schema = Schema.of("r(t,t)", "s(t)")
    size = 100_000
    names = [f"C{i}" for i in range(size)]
    facts = {"r": [(names[i], names[i + 1]) for i in range(50)], "s": [(names[1],)]}
    engine = MemoryEngine([Database.from_facts(schema, facts, domains={"t": names})])
    formula = Implies(schema["r"]("x", "y"), schema["s"]("x"))
    flips = flip_counts(engine, formula, schema["r"])
    assert flips.constant.tolist() == [-1]
    assert [(t.places, len(t)) for t in flips.tables] == [((0,), 1)]


def test_a_predicate_under_a_quantifier_is_refused():
    schema = Schema.of("p(t,t)", "q(t)")
    database = Database.from_facts(schema, {"p": [("A", "B")]})
    formula = Or((schema["q"]("x"), Exists((Variable("y"),), schema["p"]("x", "y"))))
    engine = MemoryEngine([database])
    assert flip_counts(engine, formula, schema["q"]).constant.tolist() == [1]
    with pytest.raises(InputError, match="p stands under a quantifier"):
        flip_counts(engine, formula, schema["p"])
