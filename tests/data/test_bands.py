"""Numbers and empty cells: bands are the same on every way, cells stand for the atoms they are."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.data.bands import banded, banded_like, declared_cuts, find_bands
from mlnlearn.data.database import Database
from mlnlearn.data.identity import fingerprint
from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.tables import Table
from mlnlearn.data.vocabulary import Vocabulary, moment_name, seconds_of
from mlnlearn.data.write import db_text
from mlnlearn.logic.schema import Schema

ROWS = 120


def shoppers(seed=0):
    """People whose ages decide what they like, with days, and some empty cells."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(10, 90, ROWS).tolist()
    likes = ["tea" if age > 45 else "cola" for age in ages]
    days = [moment_name(float(day) * 86_400) for day in rng.integers(10_000, 12_000, ROWS)]
    for row in range(0, ROWS, 7):
        ages[row] = None
    for row in range(3, ROWS, 9):
        days[row] = None
    columns = {"id": [f"p{i}" for i in range(ROWS)], "age": ages, "likes": likes, "since": days}
    cells = {name: Column.of(values) for name, values in columns.items()}
    return Table("person", cells, ("id",))


def test_cells_stand_for_the_atoms_of_every_value():
    rng = np.random.default_rng(1)
    schema = Schema.of("p(a,b)")
    for _ in range(50):
        sizes = rng.integers(1, 4, 2)
        domains = {"a": Vocabulary("ABC"[: sizes[0]]), "b": Vocabulary("XYZ"[: sizes[1]])}
        truth = {pair: rng.integers(4) for pair in product(range(sizes[0]), range(sizes[1]))}

        def of(value, truth=truth):
            return np.array([p for p, t in truth.items() if t == value]).reshape(-1, 2).T

        empty = np.flatnonzero(rng.integers(2, size=sizes[0]))
        db = Database.from_codes(
            schema, domains, {"p": of(1)}, {"p": of(2)}, {"p": of(3)}, cells={"p": empty[None]}
        )
        expected = {p for p, t in truth.items() if t == 3 or (t == 0 and p[0] in empty)}
        assert set(map(tuple, db.unknown_facts("p").T.tolist())) == expected
        assert db.unknown_facts("p").shape[1] == len(expected)
        assert bool(db.incomplete) == bool(len(empty) or (of(3).shape[1]))
        assert not db.closed().has_unknown
        assert not db.without_facts(["p"]).has_unknown
        assert (db.restricted(["p"]).cells["p"] == db.cells["p"]).all()


def test_bands_of_a_number_column_are_those_of_bins_in_the_mapping():
    table = shoppers()
    numbers = Data(*as_parts(build_database([table]))).banded()
    mapping = 'person.columns.age = { bins = 5 }\nperson.columns.since = { as = "time", bins = 5 }'
    cut, resolved = build_database([table], mapping)
    (database,) = numbers.databases
    for name in ("age", "since"):
        assert list(database.rows(name)) == list(cut.rows(name))
        unknown = [set(db.decode(name, db.unknown_facts(name))) for db in (database, cut)]
        assert unknown[0] == unknown[1] != set()
    assert numbers.mapping == resolved
    # and tables read by that mapping are cut in the same way
    again, _ = build_database([table], numbers.mapping)
    assert list(again.rows("since")) == list(database.rows("since"))


def as_parts(loaded):
    return (loaded.database,), loaded.mapping


@pytest.mark.parametrize("name", ["LAJDT", "BoostedMLN"])
def test_a_model_of_bands_answers_for_numbers(name, tmp_path):
    learner = ml.LAJDT() if name == "LAJDT" else ml.BoostedMLN(target="likes", steps=3)
    loaded = build_database([shoppers()])
    model = learner.fit(loaded).model
    cuts = declared_cuts(model.schema)
    assert cuts.keys() >= {"age_value"}
    (cut,) = (banded(db, find_bands([db])) for db in [loaded.database])
    if name == "LAJDT":
        raw, done = (model.predict(db)["likes"].log_probabilities for db in (loaded.database, cut))
        assert (raw == done).all()
        accuracy = (raw.argmax(1) == model.predict(cut)["likes"].truth).mean()
        assert accuracy > 0.85
    else:
        asked = [db.without_facts(["likes"]) for db in (loaded.database, cut)]
        raw, done = ([a.probability for a in model.query(db, "likes")] for db in asked)
        assert raw == done
    network = model.mln() if name == "LAJDT" else model.to_mln()
    network.save(tmp_path / "net.mln")
    assert declared_cuts(ml.load_model(tmp_path / "net.mln").schema) == cuts


def test_a_network_that_declares_bands_cuts_the_numbers_it_meets():
    schema = Schema.of("age(person,years!)")
    domains = {"person": Vocabulary("ABC"), "years": Vocabulary.of_numbers([8, 20, 70])}
    db = Database.from_codes(schema, domains, {"age": np.array([[0, 1, 2], [2, 0, 1]])})
    network = ml.MLN.parse("""
    years = {"(-inf,18)", "[18,65)", "[65,inf)"}
    age(person,years!)
    old(person)
    2 age(p,"[65,inf)") => old(p)
    """)
    (cut,) = ml.with_constants_of(network, [db])
    assert list(cut.rows("age")) == [("A", "[65,inf)"), ("B", "(-inf,18)"), ("C", "[18,65)")]
    plain = Schema(schema.predicates, {"years": ("young", "old")}, schema.functional)
    assert banded_like(plain, [db])[0] is db


def test_most_numbers_alike_and_no_numbers_at_all():
    schema = Schema.of("n(x,v!)")

    def database(numbers):
        objects = Vocabulary(map(str, range(len(numbers))))
        domains = {"x": objects, "v": Vocabulary.of_numbers(numbers)}
        codes = np.searchsorted(domains["v"].numbers, numbers)
        return Database.from_codes(schema, domains, {"n": np.stack([np.arange(len(codes)), codes])})

    assert find_bands([database([0.0] * 50 + [3.0])]) == {"v": (3.0,)}
    assert find_bands([database([1.0] * 5)]) == {"v": ()}
    assert find_bands([database([])]) == {"v": ()}
    assert banded(database([1.0] * 5), {"v": ()}).domains["v"].names == ("(-inf,inf)",)


def test_days_and_moments():
    for text in ("1969-07-20", "2024-02-29 23:59:59", "0999-01-01"):
        assert moment_name(seconds_of(text)) == text
    for text in ("20200101", "2020", "12:30", "1e5", "", "2020-13-01"):
        assert np.isnan(seconds_of(text))


def test_numbers_and_cells_are_part_of_what_data_are():
    loaded = build_database([shoppers()])
    one = fingerprint([loaded.database])
    name = "atoms of age in database 1"
    assert one[name] != fingerprint([replace(loaded.database, cells={})])[name]
    kind = "constants of age_value in database 1"
    plain = Vocabulary(loaded.database.domains["age_value"].names)
    domains = {**loaded.database.domains, "age_value": plain}
    assert one[kind] != fingerprint([replace(loaded.database, domains=domains)])[kind]


def test_numbers_are_written_and_read_again(tmp_path):
    database, _ = build_database([shoppers()])
    (tmp_path / "people.db").write_text(db_text(database))
    again = ml.read_db(tmp_path / "people.db", schema=database.schema)
    for name in ("age", "since"):
        assert sorted(again.rows(name)) == sorted(database.rows(name))
        unknown = [set(db.decode(name, db.unknown_facts(name))) for db in (database, again)]
        assert unknown[0] == unknown[1]
