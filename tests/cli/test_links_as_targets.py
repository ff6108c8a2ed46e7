"""A foreign key is a column like any other: learned, scored, and filled in."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting.examples import examples_of, find_place
from mlnlearn.counting.relational import relational
from mlnlearn.errors import DataWarning, InputError

SETTINGS = ("steps=6", "rate=0.8", "max_rules=3", "own_facts=false")
FEW = ("--learner", "boost", *(part for text in SETTINGS for part in ("--set", text)))
TOWNS, BIG = 130, 3


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """People live in three big towns, by their age, or in one of many small ones."""
    path = tmp_path_factory.mktemp("towns") / "people.sqlite"
    rng = random.Random(3)
    with closing(sqlite3.connect(path)) as file:
        file.executescript("""
            CREATE TABLE town (id INTEGER PRIMARY KEY);
            CREATE TABLE person (id INTEGER PRIMARY KEY, town INTEGER REFERENCES town, age REAL);
            CREATE TABLE stay (person INTEGER REFERENCES person, town INTEGER REFERENCES town,
                days INTEGER, PRIMARY KEY (person, town));""")
        file.executemany("INSERT INTO town VALUES (?)", [(n,) for n in range(TOWNS)])
        for n in range(700):
            big = rng.random() < 0.6
            town = rng.randrange(BIG) if big else rng.randrange(BIG, TOWNS)
            age = 20 * town + rng.random() if big else 90 + rng.random()
            empty = n % 9 == 4
            file.execute("INSERT INTO person VALUES (?, ?, ?)", (n, None if empty else town, age))
            days = 10 * town if big else 70
            file.execute("INSERT INTO stay VALUES (?, ?, ?)", (n, town, days + rng.randrange(5)))
        file.commit()
    return path


def test_frequent_rows_are_classes_and_the_rest_is_one(file):
    data = ml.tables_data(str(file)).data
    view = relational(data.databases, data.mapping)
    place = find_place(view, "person.town")
    with pytest.warns(DataWarning, match="30 most frequent"):
        found = examples_of(view, place)
    assert len(found.classes) == 31
    assert set(map(str, range(BIG))) < set(found.classes)
    label = found.label[found.known].astype(int)
    counts = np.bincount(label)
    # none of the others is more frequent than one that is told apart
    with closing(sqlite3.connect(file)) as base:
        true = dict(base.execute("SELECT town, count(*) FROM person GROUP BY 1").fetchall())
    told = {name: int(count) for name, count in zip(found.classes, counts, strict=True)}
    rest = [n for name, n in true.items() if name is not None and str(name) not in told]
    assert told["other"] == sum(rest)
    assert all(told[name] == true[int(name)] for name in told if name != "other")
    assert max(rest) <= min(n for name, n in told.items() if name != "other")
    few = examples_of(view, place, classes=("0", "other"))
    assert (few.label == 0).sum() == told["0"]
    assert np.isnan(few.label).sum() == true[None]


def test_a_link_is_learned_and_filled_in_where_it_is_known(file, program, monkeypatch):
    monkeypatch.chdir(file.parent)
    tables = ("--tables", file.name)
    code, out, err = program("learn", *tables, "--target", "person.town", *FEW, "--json")
    assert code == 0, err
    assert err.count("30 most frequent") == 1
    found = json.loads(out)
    assert found["held_out"]["accuracy"] > 0.7 > 0.5 > found["baseline"]["accuracy"]
    assert found["held_out"]["cll"] > found["baseline"]["cll"] + 1
    assert Path("town.mln").exists()  # called as what it predicts
    assert Path("town.html").exists()
    code, _, err = program("infer", "--model", "town.mln", *tables, "--filled", "f.sqlite")
    assert code == 0, err
    with closing(sqlite3.connect("f.sqlite")) as filled:
        rows = filled.execute("SELECT age, town FROM person WHERE id % 9 = 4").fetchall()
    right = [int(age // 20) if age < 80 else None for age, _ in rows]
    assert np.mean([town == told for (_, town), told in zip(rows, right, strict=True)]) > 0.8
    assert None in right
    assert all(town in (*range(TOWNS), None) for _, town in rows)


def test_part_of_a_key_is_learned_with_rows_as_events(file, program, monkeypatch):
    monkeypatch.chdir(file.parent)
    command = ("learn", "--tables", file.name, "--target", "stay.town", *FEW, "--json")
    code, out, err = program(*command, "--out", "stay.mln")
    assert code == 0, err
    assert json.loads(out)["held_out"]["accuracy"] > 0.7
    command = ("evaluate", "--tables", file.name, "--target", "stay.town", *FEW, "--json")
    code, out, err = program(*command)
    assert code == 0, err
    assert json.loads(out)[0]["held_out"]["accuracy"] > 0.7
    # what is no part of a key leaves tables as they are
    assert ml.tables_data(str(file), target="stay.days").data.tables["stay"].kind == "relationship"
    data = ml.tables_data(str(file)).data
    with pytest.raises(InputError, match="part of what names a row"):
        ml.held_out_scores(ml.RelationalBoost(target="stay.town", steps=1), data)
