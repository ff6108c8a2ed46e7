"""Which atoms are unknown, and what variables they form."""

import pytest

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.infer.grounding.worlds import open_predicates, world_of
from mlnlearn.logic.schema import Schema

SCHEMA = Schema.of("smokes(person)", "cancer(person)", "friends(person,person)", "phase(person,s!)")
DOMAINS = {"person": ["Anna", "Bob", "Carl"], "s": ["One", "Two", "Three"]}


def database(true=None, **tables):
    return Database.from_facts(SCHEMA, true or {}, domains=DOMAINS, **tables)


def unknown(world, name):
    return {
        row
        for atoms in world.atoms
        if atoms.predicate.name == name
        for row in world.database.decode(name, atoms.columns)
    }


def test_predicates_of_the_evidence_are_closed_all_others_open():
    evidence = database({"smokes": [("Anna",)]}, false={"friends": [("Anna", "Bob")]})
    assert open_predicates(evidence) == {"cancer", "phase"}
    assert open_predicates(evidence, ["smokes"]) == {"smokes", "cancer", "phase"}
    assert open_predicates(evidence, open=["friends"]) == {"friends", "cancer", "phase"}
    assert open_predicates(evidence, ["smokes"], closed=["phase"]) == {"smokes", "cancer"}
    assert open_predicates(evidence, ["smokes"], closed=["smokes"]) == {"cancer", "phase"}
    assert open_predicates(database(unknown={"cancer": [("Bob",)]}, open=["smokes"])) == {
        "smokes",
        "friends",
        "phase",
    }


def test_listed_atoms_of_open_predicates_are_evidence():
    evidence = database({"smokes": [("Anna",)]}, false={"smokes": [("Bob",)]})
    assert unknown(world_of(evidence, ["smokes"], ["smokes"]), "smokes") == {("Carl",)}


def test_only_listed_atoms_of_closed_predicates_are_unknown():
    evidence = database({"smokes": [("Anna",)]}, unknown={"smokes": [("Bob",)]})
    assert unknown(world_of(evidence, ["smokes"], []), "smokes") == {("Bob",)}


def test_query_evidence_asks_for_listed_atoms_only():
    evidence = database({"smokes": [("Anna",)]}, unknown={"smokes": [("Bob",)]})
    opened = open_predicates(evidence, ["smokes"], query_evidence=True)
    assert "smokes" not in opened
    assert unknown(world_of(evidence, ["smokes"], opened), "smokes") == {("Bob",)}
    with pytest.raises(InputError, match="listed as unknown"):
        open_predicates(evidence, ["cancer"], query_evidence=True)


def test_options_are_checked_together():
    with pytest.raises(InputError) as caught:
        open_predicates(database(), ["smoke"], open=["cancer", "x"], closed=["cancer"])
    assert len(caught.value.problems) == 3


def test_blocks_are_variables_and_known_values_decide_them():
    evidence = database(
        {"phase": [("Anna", "Two")]},
        false={"phase": [("Bob", "One"), ("Carl", "One"), ("Carl", "Three")]},
    )
    world = world_of(evidence, ["phase"], ["phase"])
    assert world.cardinalities.tolist() == [2]
    assert unknown(world, "phase") == {("Bob", "Two"), ("Bob", "Three")}
    # Anna has a value, and Carl has one left
    assert world.known["phase"].true.tolist() == [1, 7]


def test_blocks_without_a_value_or_with_two_are_refused():
    rows = [("Bob", step) for step in DOMAINS["s"]]
    with pytest.raises(InputError, match=r"leaves no value for phase\(Bob,\?\)"):
        world_of(database(false={"phase": rows}), ["phase"], ["phase"])
    with pytest.raises(InputError, match=r"several true values for phase\(Bob,\?\)"):
        world_of(database({"phase": rows[:2]}), ["phase"], ["phase"])


def test_predicates_too_large_to_be_open_are_refused():
    schema = Schema.of("link(page,page)")
    pages = {"page": [f"P{i}" for i in range(20_000)]}
    evidence = Database.from_facts(schema, {}, domains=pages)
    with pytest.raises(MemoryLimitError, match="400000000 ground atoms"):
        world_of(evidence, ["link"], ["link"])
