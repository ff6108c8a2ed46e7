"""Exact likelihood learning, against closed forms, brute force and values of other systems."""

import os

import numpy as np
import pytest

from lifted_worlds import Worlds
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.catalog import benchmark
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.weights.likelihood import learn_likelihood, likelihood_of, log_likelihood

needs_data = pytest.mark.skipif(
    "MLNLEARN_DATA" not in os.environ, reason="MLNLEARN_DATA does not name the benchmark folder"
)
RULES = """
smokes(person)
friends(person,person)
0.4 smokes(x)
-0.3 friends(x,y)
1.1 friends(x,y) ^ smokes(x) => smokes(y)
0.2 smokes(Anna)
"""


def random_database(rng, schema, people):
    pairs = [(a, b) for a in people for b in people]
    true = {
        "smokes": [(p,) for p in people if rng.random() < 0.5],
        "friends": [pair for pair in pairs if rng.random() < 0.4],
    }
    return Database.from_facts(schema, true, domains={"person": people})


def test_log_likelihood_is_the_probability_of_the_world():
    mln = MLN.parse(RULES)
    rng = np.random.default_rng(0)
    for people in (["Anna", "Bob"], ["Bob", "Carl"]):
        db = random_database(rng, mln.schema, people)
        worlds = Worlds(mln.schema, {"person": [*people, *({"Anna"} - set(people))]})
        soft = [rule.formula for rule in mln.soft]
        _, _, probability = worlds.log_z(soft, mln.weights)
        truth = [names in set(db.rows(predicate)) for predicate, names in worlds.atoms]
        place = np.flatnonzero((worlds.truth == truth).all(axis=1))[0]
        assert log_likelihood(mln, db) == pytest.approx(np.log(probability[place]), abs=1e-9)


def test_gradient_vanishes_at_the_optimum():
    mln = MLN.parse(RULES)
    rng = np.random.default_rng(1)
    people = [f"P{i}" for i in range(12)]
    data = [random_database(rng, mln.schema, people[: 6 + i]) for i in range(4)]
    data = with_constants_of(mln, data)
    learned = learn_likelihood(mln, data, sigma=5.0)
    value, gradient = likelihood_of(learned.mln, MemoryEngine(data))(learned.mln.weights)
    np.testing.assert_allclose(gradient, learned.mln.weights / 25.0, atol=1e-3)
    assert value == pytest.approx(learned.likelihood)
    assert learned.objective == pytest.approx(value - (learned.mln.weights**2).sum() / 50.0)


def test_locked_weights_stay():
    mln = MLN.parse("p(t)\nq(t)\n1.5. p(x)\n0.5 p(x) => q(x)")
    db = Database.from_facts(mln.schema, {"p": [("A",)]}, domains={"t": ["A", "B"]})
    assert learn_likelihood(mln, [db]).mln.weights[0] == 1.5


def test_violated_hard_rules_are_named():
    mln = MLN.parse("p(t)\nq(t)\np(x) => q(x).")
    db = Database.from_facts(mln.schema, {"p": [("A",)]})
    with pytest.raises(InputError, match=r"likelihood is zero: p\(x\) => q\(x\)"):
        learn_likelihood(mln, [db])


UNKNOWN = RULES + "Rain\n0.7 Rain => smokes(x)\n"


@pytest.mark.parametrize("seed", range(5))
def test_unknown_atoms_are_summed_out(seed):
    mln = MLN.parse(UNKNOWN)
    rng = np.random.default_rng(seed)
    people = ["Anna", "Bob"]
    worlds = Worlds(mln.schema, {"person": people})
    probability = worlds.log_z([rule.formula for rule in mln.soft], mln.weights)[2]
    state = rng.choice(["true", "false", "unknown"], len(worlds.atoms))
    state[worlds.atoms["Rain", ()]] = "unknown"
    tables = {"true": {}, "false": {}, "unknown": {}}
    for (name, names), column in worlds.atoms.items():
        tables[state[column]].setdefault(name, []).append(names)
    known = state != "unknown"
    agree = (worlds.truth == (state == "true"))[:, known].all(axis=1)
    expected = np.log(probability[agree].sum())
    listed = Database.from_facts(
        mln.schema, tables["true"], unknown=tables["unknown"], domains={"person": people}
    )
    opened = Database.from_facts(
        mln.schema,
        tables["true"],
        false=tables["false"],
        open=[predicate.name for predicate in mln.schema.predicates],
        domains={"person": people},
    )
    assert log_likelihood(mln, listed) == pytest.approx(expected, abs=1e-9)
    assert log_likelihood(mln, opened) == pytest.approx(expected, abs=1e-9)


def test_unknown_values_of_a_block_and_of_a_predicate_in_no_rule():
    mln = MLN.parse("step = {S0, S1, S2}\nphase(person,step!)\nq(person)\n0.8 phase(x,S1)")
    unknown = {"phase": [("Anna", "S0"), ("Anna", "S1")], "q": [("Anna",)]}
    db = Database.from_facts(mln.schema, {}, unknown=unknown)
    expected = np.log(1.0 + np.exp(0.8)) - np.log(2.0 + np.exp(0.8))
    assert log_likelihood(mln, db) == pytest.approx(expected, abs=1e-9)


def test_data_without_a_value_of_a_block_are_no_world_whatever_else_is_unknown():
    mln = MLN.parse("phase(person,stage!)\nq(person)\nstage = {S0, S1}\n1 phase(x,S0)\n")
    for facts, message in (({}, "Anna"), ({"phase": [("Anna", "S0")]}, "Bob")):
        unknown = {"q": [("Anna",), ("Bob",)]}
        db = Database.from_facts(mln.schema, facts, unknown=unknown)
        with pytest.raises(InputError, match=rf"leaves no value for phase\({message},\?\)"):
            log_likelihood(mln, db)


@pytest.mark.parametrize("unknown", [{"smokes": [("Anna",)]}, {"Rain": [()]}])
def test_weights_are_not_learned_from_unknown_atoms(unknown):
    mln = MLN.parse(UNKNOWN)
    db = Database.from_facts(mln.schema, {}, unknown=unknown, domains={"person": ["Anna"]})
    with pytest.raises(InputError, match="unknown atoms"):
        learn_likelihood(mln, [db])


def folds(name):
    return benchmark(name, schema="schema_nosame.mln" if name == "webkb" else "schema.mln")


def without(databases, test):
    return [database for number, database in enumerate(databases, start=1) if number != test]


@needs_data
@pytest.mark.parametrize("name", ["imdb_lsl", "uwcse_lsl", "webkb"])
def test_units_equal_the_closed_form(name):
    databases = folds(name)
    mln = MLN(databases[0].schema.without_functional())
    for test in range(1, len(databases) + 1):
        train = without(databases, test)
        learned = learn_likelihood(mln, train, sigma=1e6)
        expected = 0.0
        held = databases[test - 1]
        for number, predicate in enumerate(mln.schema.predicates):
            true = sum(database.count(predicate.name) for database in train)
            atoms = sum(database.ground_atoms(predicate.name) for database in train)
            odds = np.log(true / (atoms - true))
            assert learned.mln.weights[number] == pytest.approx(odds, abs=1e-4)
            share = true / atoms
            expected += held.count(predicate.name) * np.log(share)
            rest = held.ground_atoms(predicate.name) - held.count(predicate.name)
            expected += rest * np.log1p(-share)
        assert log_likelihood(learned.mln, held) == pytest.approx(expected, abs=1e-2)


THEORIES = {
    "imdb_lsl": "genre(x,y) v workedUnder(z,x)\n!genre(x,y) v !workedUnder(z,x)\n"
    "!workedUnder(x,y) v director(y)",
    "uwcse_lsl": "!Professor(x) v !Yearsinprogram(x,y)\n!Courselevel(x,y) v !Courselevel(x,z)\n"
    "!Professor(x) v !Ta(y,x,z)\n!Taughtby(a,b,c) v Professor(b)\n!Advisedby(a,b) v Professor(b)",
    "webkb": "!project(x,y) v student(y)\n!courseProf(x,y) v faculty(y)\n!faculty(x) v !student(x)",
}


@needs_data
@pytest.mark.parametrize(
    ("name", "test", "lowest", "highest"),
    [
        ("imdb_lsl", 3, -860.02, -859.70),
        ("uwcse_lsl", 5, -2332.58, -2332.57),
        ("webkb", 4, -1323.44, -1323.43),
    ],
)
def test_values_of_other_systems(name, test, lowest, highest):
    """Test log-likelihoods that Forclift, or a prototype of the same method, computed."""
    databases = folds(name)
    schema = databases[0].schema.without_functional()
    mln = MLN.parse(f"{schema}\n{THEORIES[name]}")
    learned = learn_likelihood(mln, without(databases, test), sigma=100.0)
    assert lowest <= log_likelihood(learned.mln, databases[test - 1]) <= highest


@needs_data
def test_unit_weights_of_imdb():
    databases = folds("imdb_lsl")
    mln = MLN(databases[0].schema.without_functional())
    learned = learn_likelihood(mln, without(databases, 1)).mln
    names = [str(rule.formula).partition("(")[0] for rule in learned.rules]
    weights = dict(zip(names, learned.weights.tolist(), strict=True))
    assert weights["workedUnder"] == pytest.approx(-3.51218, abs=1e-4)
    assert weights["genre"] == pytest.approx(-2.79490, abs=1e-4)
    assert log_likelihood(learned, databases[0]) == pytest.approx(-555.0165, abs=1e-3)
