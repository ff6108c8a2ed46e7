"""Databases written as ``.db`` text and read again."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlnlearn.data.database import Database
from mlnlearn.data.load.alchemy import parse_db, read_db
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import number_of_keys, unpack
from mlnlearn.data.write import db_text, write_db
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema
from strategies import constant_names, schemas


@st.composite
def databases(draw):
    """Draw a database: any schema, awkward names, all truth values, open predicates."""
    schema = draw(schemas())
    domains = {
        kind: draw(st.lists(constant_names, min_size=1, max_size=3, unique=True))
        for kind in schema.types
        if kind not in schema.declared
    }
    empty = Database.from_facts(schema, {}, domains=domains)
    tables = {"true": {}, "false": {}, "unknown": {}}
    for predicate in schema.predicates:
        sizes = domain_sizes(empty, predicate.name)
        total = number_of_keys(sizes)
        truth = draw(st.lists(st.sampled_from(["", *tables]), min_size=total, max_size=total))
        atoms = unpack(np.arange(total, dtype=np.int64), sizes)
        for label, facts in tables.items():
            facts[predicate.name] = atoms[:, [mark == label for mark in truth]]
    names = [predicate.name for predicate in schema.predicates]
    chosen = draw(st.frozensets(st.sampled_from(names)))
    return Database.from_codes(schema, empty.domains, *tables.values(), open=chosen)


def named(database, name, codes):
    return set(database.decode(name, codes))


def unknown_atoms(database, name):
    """Return the names of all atoms that are unknown, listed or by openness."""
    if name not in database.open:
        return named(database, name, database.unknown_facts(name))
    sizes = domain_sizes(database, name)
    every = named(database, name, unpack(np.arange(number_of_keys(sizes)), sizes))
    known = named(database, name, database.facts(name))
    return every - known - named(database, name, database.false_facts(name))


@settings(max_examples=150, deadline=None)
@given(databases())
def test_the_same_world_is_read_again(database):
    try:
        text = db_text(database)
    except InputError as error:
        if "no atom can mention" not in str(error):
            raise
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random facts break the marks of the schema
        again = parse_db(text, database.schema)
    for kind in database.schema.types:
        assert set(again.domains[kind].names) == set(database.domains[kind].names)
    for predicate in database.schema.predicates:
        name = predicate.name
        assert set(again.rows(name)) == set(database.rows(name))
        assert unknown_atoms(again, name) == unknown_atoms(database, name)
        false = named(again, name, again.false_facts(name))
        assert false >= named(database, name, database.false_facts(name))


def test_files(tmp_path):
    schema = Schema.of("likes(person,food)", "rain()")
    facts = {"likes": [("Anna", 'a "pie"'), ("bob", "Jam")], "rain": [()]}
    database = Database.from_facts(schema, facts)
    write_db(database, tmp_path / "some.db")
    again = read_db(tmp_path / "some.db", schema=schema)
    assert list(again.rows("likes")) == [("Anna", 'a "pie"'), ("bob", "Jam")]
    assert again.count("rain") == 1
    assert (tmp_path / "some.db").read_text() == (
        '// mlnlearn facts\nlikes(Anna,"a \\"pie\\"")\nlikes("bob",Jam)\nrain()\n'
    )


def test_a_constant_that_no_atom_can_mention():
    schema = Schema.of("likes(person,food)")
    with pytest.raises(InputError, match="no atom can mention the constant Anna"):
        db_text(Database.from_facts(schema, {}, domains={"person": ["Anna"]}))


def test_an_open_predicate_of_very_many_atoms_is_refused():
    names = {"person": [f"P{i}" for i in range(4000)]}
    schema = Schema.of("knows(person,person)")
    with pytest.raises(MemoryLimitError, match="16,000,000 atoms"):
        db_text(Database.from_facts(schema, {}, domains=names, open=["knows"]))


def test_names_that_cannot_be_written_are_refused():
    with pytest.raises(InputError, match="cannot be written as a name"):
        db_text(Database.from_facts(Schema((Predicate("a b", ("person",)),)), {}))
