"""Profiles against definitions spelled out over all pairs, on small random databases."""

from itertools import product

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.profile import Functional, profile
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema
from worlds import random_database, random_schema


def holds_everywhere(databases, predicate, test):
    """Apply a test to (facts, constants of the first type) of every database."""
    return all(
        test(set(db.rows(predicate.name)), list(db.domains[predicate.types[0]].names))
        for db in databases
    )


def brute_relations(databases, predicate):
    """The names of all regularities of a relation of a type with itself."""
    tests = {
        "symmetric": lambda facts, _: all((b, a) in facts for a, b in facts),
        "reflexive": lambda facts, names: all((a, a) in facts for a in names),
        "irreflexive": lambda facts, names: not any((a, a) in facts for a in names),
    }
    if holds_everywhere(databases, predicate, lambda facts, _: all(a == b for a, b in facts)):
        return {"identity"}
    return {word for word, test in tests.items() if holds_everywhere(databases, predicate, test)}


def brute_functional(databases, predicate, place):
    """The least and the greatest number of values over all choices of the other arguments."""
    numbers = [0]
    exact = True
    for db in databases:
        facts = list(db.rows(predicate.name))
        others = [kind for i, kind in enumerate(predicate.types) if i != place]
        for choice in product(*(db.domains[kind].names for kind in others)):
            count = sum(fact[:place] + fact[place + 1 :] == choice for fact in facts)
            numbers.append(count)
            exact = exact and count == 1
    return "exactly" if exact else "at most" if max(numbers) <= 1 else ""


@pytest.mark.parametrize("seed", range(150))
def test_regularities_equal_their_definitions(seed):
    rng = np.random.default_rng(seed)
    schema = random_schema(rng, types=2)
    databases = [random_database(rng, schema, f"db{k}") for k in range(rng.integers(1, 3))]
    found = profile(databases)
    for predicate in schema.predicates:
        name = predicate.name
        named = {
            word
            for word in ("identity", "symmetric", "reflexive", "irreflexive")
            if name in getattr(found, word)
        }
        places = {
            place: "exactly" if Functional(predicate, place) in found.exactly_one else "at most"
            for place in range(predicate.arity)
            if Functional(predicate, place) in found.exactly_one + found.at_most_one
        }
        if not any(db.count(name) for db in databases):
            assert (named, places) == (set(), {})
            continue
        pair = len(predicate.types) == 2 and len(set(predicate.types)) == 1
        assert named == (brute_relations(databases, predicate) if pair else set())
        wanted = {}
        if predicate.arity > 1 and named != {"identity"}:
            wanted = {p: brute_functional(databases, predicate, p) for p in range(predicate.arity)}
        assert places == {place: word for place, word in wanted.items() if word}


@pytest.mark.parametrize("seed", range(20))
def test_sizes_equal_what_the_databases_say(seed):
    rng = np.random.default_rng(seed)
    database = random_database(rng, random_schema(rng), "here")
    [found] = profile([database]).databases
    schema = database.schema
    assert found.name == "here"
    assert found.constants == {kind: len(database.domains[kind]) for kind in schema.types}
    assert found.predicates == {p.name: len(list(database.rows(p.name))) for p in schema.predicates}
    assert found.true_atoms == sum(found.predicates.values())
    atoms = [
        atom
        for predicate in schema.predicates
        for atom in product(*(database.domains[kind].names for kind in predicate.types))
    ]
    assert found.ground_atoms == len(atoms)


def test_warnings():
    schema = Schema.of("likes(person,pet)", "old(person)", "near(person,person)", "score(mark)")
    first = Database.from_facts(
        schema,
        {"likes": [("Anna", "Rex"), ("7", "7")], "old": [("Anna",), ("7",), ("Rex",)]},
        unknown={"near": [("Anna", "Rex")]},
    )
    second = Database.from_facts(
        schema, {"likes": [("Bob", "Tom")], "old": [("Bob",)], "near": [("Bob", "Bob")]}
    )
    assert profile([first, second]).warnings == (
        "type mark has no constant",
        "old is true of everything",
        "near has no true atom in 1 of 2 databases",
        "near has 1 unknown atom",
        "score has no true atom",
        "types person and pet share 1 constant: Rex",
    )


def test_databases_of_two_schemas_are_refused():
    one = Database.from_facts(Schema.of("p(a)"), {}, name="one")
    two = Database.from_facts(Schema.of("q(a)"), {}, name="two")
    with pytest.raises(InputError, match="two has other predicates than one"):
        profile([one, two])
    with pytest.raises(InputError, match="at least one"):
        profile([])
