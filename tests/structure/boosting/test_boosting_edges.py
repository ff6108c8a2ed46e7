"""Boosting at the edges of what data may be: predicates without facts, many arguments."""

from dataclasses import replace

import pytest

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.infer.query import query
from mlnlearn.logic.schema import Schema
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN

LEARNERS = {
    "mln-bt": BoostedMLN(target="goal", steps=3, max_leaves=3),
    "mln-bc": BoostedMLN(target="goal", steps=3, representation="clauses"),
    "rdn-b": BoostedRDN(target="goal", steps=3, max_leaves=3),
}
SCHEMA = Schema.of("goal(a)", "rain", "near(a,b)", "big(b)", "likes(a,a)")
PEOPLE = [f"A{number}" for number in range(40)]
FACTS = {
    "goal": [(name,) for name in PEOPLE[::2]],
    "rain": [()],
    "near": [(name, f"B{number % 2}") for number, name in enumerate(PEOPLE)],
    "big": [("B0",)],
}
DOMAINS = {"a": PEOPLE, "b": ["B0", "B1"]}


@pytest.mark.parametrize("recursive", [(), ("goal",)])
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("kept", [["goal"], ["goal", "near"], ["goal", "big"], ["goal", "rain"]])
def test_predicates_without_facts(kept, learner, recursive):
    facts = {name: FACTS[name] for name in kept}
    database = Database.from_facts(SCHEMA, facts, domains=DOMAINS)
    for bodies in (None, ("rain",), ("rain", "big")):
        settings = replace(LEARNERS[learner], bodies=bodies, recursive=recursive)
        model = settings.fit([database]).model
        examples = model.query(database).by_atom()
        assert len(examples) == len(PEOPLE)
        if kept == ["goal"] and not recursive:
            # nothing tells the atoms apart: each has the share of true ones
            assert list(examples.values()) == pytest.approx([0.5] * len(PEOPLE), abs=1e-6)


@pytest.mark.parametrize("arity", [6, 7])
@pytest.mark.parametrize("learner", LEARNERS)
def test_targets_of_many_arguments(learner, arity):
    """What a target of many arguments is asked, its rules as a network say too."""
    schema = Schema.of(f"many({','.join('t' * arity)})", "big(t)")
    rows = [[f"T{number >> place & 1}" for place in range(arity)] for number in (0, 5, 21, 42)]
    database = Database.from_facts(schema, {"many": rows, "big": [("T1",)]})
    model = replace(LEARNERS[learner], target="many").fit([database]).model
    found = model.query(database).by_atom()
    assert len(found) == 2**arity
    asked = query(model.to_mln(), database.without_facts(["many"]), "many", closed=["big"])
    expected = {str(answer.atom): answer.probability for answer in asked}
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
def test_more_arguments_than_a_key_has_are_refused_before_learning(learner):
    schema = Schema.of(f"many({','.join('t' * 16)})", "big(t)")
    rows = [["T0"] * 16, ["T1"] * 16]
    database = Database.from_facts(schema, {"many": rows, "big": [("T1",)]})
    with pytest.raises(InputError, match="many has 16 arguments"):
        replace(LEARNERS[learner], target="many").fit([database])
