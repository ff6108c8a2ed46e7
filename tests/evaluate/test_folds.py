"""Folds: nothing of the test data is in the training data, and nothing is lost."""

import numpy as np
import pytest

from learners import SCHEMA, people
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.evaluate.folds import (
    entity_folds,
    group_folds,
    leave_group_out,
    leave_one_out,
    restricted_to,
    time_folds,
)
from mlnlearn.logic.schema import Schema
from worlds import random_database, random_schema, true_facts


def test_leave_one_out():
    databases = [people(seed) for seed in range(3)]
    folds = leave_one_out(databases)
    assert [fold.test for fold in folds] == [(db,) for db in databases]
    assert folds[1].train == (databases[0], databases[2])
    assert [fold.name for fold in folds] == ["people 0", "people 1", "people 2"]
    with pytest.raises(InputError, match="at least two folds"):
        leave_one_out(databases[:1])


def test_leave_group_out():
    databases = [people(seed) for seed in range(4)]
    first, second = leave_group_out(databases, ["a", "b", "b", "a"])
    assert first.test == (databases[0], databases[3])
    assert first.train == second.test == (databases[1], databases[2])
    with pytest.raises(InputError, match="4 databases, but 1 groups"):
        leave_group_out(databases, ["a"])


@pytest.mark.parametrize("seed", range(20))
def test_restriction_equals_a_filter_of_names(seed):
    rng = np.random.default_rng([4, seed])
    schema = random_schema(rng)
    if not schema.types:
        return
    database = random_database(rng, schema)
    kind = schema.types[0]
    keep = np.flatnonzero(rng.random(database.size(kind)) < 0.6)
    part = restricted_to(database, {kind: keep})
    names = {database.domains[kind][code] for code in keep.tolist()}
    expected = {
        predicate.name: {
            fact
            for fact in database.rows(predicate.name)
            if all(n in names for n, k in zip(fact, predicate.types, strict=True) if k == kind)
        }
        for predicate in schema.predicates
    }
    assert true_facts(part) == expected
    assert set(part.domains[kind]) == names
    assert all(part.domains[k] == database.domains[k] for k in schema.types[1:])


def test_restriction_keeps_all_truth_values():
    schema = Schema.of("likes(person,person)")
    database = Database.from_facts(
        schema,
        {"likes": [("A", "B"), ("A", "C")]},
        false={"likes": [("B", "C"), ("B", "A")]},
        unknown={"likes": [("C", "C"), ("C", "B")]},
        open=["likes"],
    )
    part = restricted_to(database, {"person": np.array([0, 1])}, "small")
    assert (part.name, part.open) == ("small", frozenset({"likes"}))
    assert list(part.rows("likes")) == [("A", "B")]
    assert list(part.decode("likes", part.false_facts("likes"))) == [("B", "A")]
    assert not part.unknown_facts("likes").size
    with pytest.raises(InputError, match="no type 'dog'; there are: person"):
        restricted_to(database, {"dog": np.array([0])})


def test_entities_are_split_and_values_stay_whole():
    database = people(0, count=22)
    folds = entity_folds(database, ["person"], 5, rng=1)
    tested = [name for fold in folds for name in fold.test[0].domains["person"]]
    assert sorted(tested) == sorted(database.domains["person"])
    whole = true_facts(database)
    for fold in folds:
        [train], [test] = fold.train, fold.test
        mine, theirs = set(test.domains["person"]), set(train.domains["person"])
        assert not mine & theirs
        assert len(mine | theirs) == 22
        assert test.size("years") == train.size("years") == 3
        assert true_facts(test)["friends"] == {
            (a, b) for a, b in whole["friends"] if a in mine and b in mine
        }
        assert true_facts(train)["friends"] == {
            (a, b) for a, b in whole["friends"] if a in theirs and b in theirs
        }
    again = entity_folds(database, ["person"], 5, rng=1)
    other = entity_folds(database, ["person"], 5, rng=2)
    parts = [[fold.test[0].domains["person"].names for fold in f] for f in (folds, again, other)]
    assert parts[0] == parts[1] != parts[2]


def test_entities_of_several_databases():
    databases = [people(0), people(1)]
    folds = entity_folds(databases, ["person"], 3)
    assert [len(fold.test) for fold in folds] == [2, 2, 2]
    assert folds[0].test[1].schema == SCHEMA


def test_impossible_splits_are_refused():
    for arguments, message in [
        (([], 3), "name the types"),
        ((["person"], 1), "at least two parts"),
        ((["person"], 13), "12 constants of 'person' do not make 13 parts"),
        ((["dog"], 2), "no type 'dog'"),
    ]:
        with pytest.raises(InputError, match=message):
            entity_folds(people(0), *arguments)


def test_time_is_cut():
    schema = Schema.of("sold(item,year)", "red(item)")
    facts = {
        "sold": [("A", "1999"), ("B", "2000"), ("C", "2001"), ("D", "2003")],
        "red": [("A",), ("D",)],
    }
    database = Database.from_facts(schema, facts)
    first, second = time_folds(database, "year", [1999, 2000.5])
    assert list(first.train[0].rows("sold")) == [("A", "1999")]
    assert list(first.test[0].rows("sold")) == [("B", "2000")]
    assert list(second.train[0].rows("sold")) == [("A", "1999"), ("B", "2000")]
    assert list(second.test[0].rows("sold")) == [("C", "2001"), ("D", "2003")]
    assert first.train[0].size("year") == 1
    assert list(first.train[0].rows("red")) == [("A",), ("D",)]
    for cuts, message in [
        ([], "ascending"),
        ([2000, 1999], "ascending"),
        ([1990], "at or before 1990"),
        ([2003], "none after it"),
    ]:
        with pytest.raises(InputError, match=message):
            time_folds(database, "year", cuts)
    with pytest.raises(InputError, match="do not read as numbers"):
        time_folds(database, "item", [1])
    with pytest.raises(InputError, match="no type 'day'"):
        time_folds(database, "day", [1])


DATED = Schema.of("made(item,year!)", "next(item,item)", "kind(item,sort)")
DATED_FACTS = {
    "made": [("A", "1999"), ("B", "2000"), ("C", "2001")],
    "next": [("A", "B"), ("B", "C"), ("D", "A"), ("D", "C")],
    "kind": [("A", "Big"), ("B", "Big"), ("C", "Small")],
}


def test_entities_belong_to_their_times():
    database = Database.from_facts(DATED, DATED_FACTS)
    [fold] = time_folds(database, "made", [2000])
    # D has no time, so it is always there
    assert set(fold.train[0].domains["item"]) == {"A", "B", "D"}
    assert set(fold.test[0].domains["item"]) == {"C", "D"}
    assert set(fold.train[0].rows("next")) == {("A", "B"), ("D", "A")}
    assert set(fold.test[0].rows("next")) == {("D", "C")}
    assert fold.name == "made > 2000"


def test_groups_of_entities():
    database = Database.from_facts(DATED, DATED_FACTS)
    big, small = group_folds(database, "kind")
    assert (big.name, small.name) == ("Big", "Small")
    assert set(big.test[0].domains["item"]) == {"A", "B", "D"}
    assert set(big.train[0].domains["item"]) == {"C", "D"}
    assert set(big.test[0].rows("next")) == {("A", "B"), ("D", "A")}
    assert true_facts(small.test[0])["made"] == {("C", "2001")}
    assert small.train[0].domains["year"] == database.domains["year"]


def test_impossible_groups_are_refused():
    twice = Database.from_facts(
        Schema.of("kind(item,sort)", "red(item)"), {"kind": [("A", "Big"), ("A", "Small")]}
    )
    for predicate, message in [
        ("kind", "gives some item more than one sort"),
        ("red", "has 1 arguments"),
        ("blue", "no such predicate"),
    ]:
        with pytest.raises(InputError, match=message):
            group_folds(twice, predicate)
    alike = Database.from_facts(DATED, {"kind": [("A", "Big"), ("B", "Big")]})
    with pytest.raises(InputError, match="makes 1 groups"):
        group_folds(alike, "kind")
