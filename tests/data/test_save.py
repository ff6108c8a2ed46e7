"""Tables written and read again; nothing is overwritten or left half-written."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.read import read_tables
from mlnlearn.data.load.save import save_tables
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.errors import InputError


def cells(table, name):
    column = table.columns[name]
    return [None if code < 0 else column.names[code] for code in column.codes.tolist()]


def tables():
    person = Table(
        'per"son',
        {
            "id": Column.of(["007", "8", "9"]),
            "age": Column.of([30, None, 7]),
            "size": Column.of([1.5, 2.0, None]),
            "tall": Column.of([True, None, False]),
            "a, b": Column.of(['x "y"', "line\nbreak", None]),
            "big": Column.of([10**20, 3, None]),
            "none": Column.of([None, None, None]),
        },
        ("id",),
        declared={"tall": "BOOLEAN", "id": "TEXT"},
    )
    likes = Table(
        "likes",
        {"a": Column.of(["007", "8"]), "b": Column.of(["9", "9"])},
        ("a", "b"),
        (ForeignKey(("a",), 'per"son'), ForeignKey(("b",), 'per"son', ("id",))),
    )
    return [person, likes]


@pytest.mark.parametrize("target", ["out.sqlite", "out.DB", "folder"])
def test_tables_come_back_as_they_were(tmp_path, target):
    save_tables(tables(), tmp_path / target)
    found = read_tables(tmp_path / target)
    assert [table.name for table in found] == ['per"son', "likes"]
    for table, before in zip(found, tables(), strict=True):
        assert table.primary_key == before.primary_key
        assert [key.table for key in table.foreign_keys] == [k.table for k in before.foreign_keys]
        for name in before.columns:
            assert cells(table, name) == cells(before, name), name
    assert [path.name for path in tmp_path.iterdir()] == [target]


def test_cells_have_their_types(tmp_path):
    save_tables(tables(), tmp_path / "out.sqlite")
    with closing(sqlite3.connect(tmp_path / "out.sqlite")) as connection:
        row = connection.execute('SELECT * FROM "per""son" WHERE id = \'007\'').fetchone()
        assert row == ("007", 30, 1.5, 1, 'x "y"', "100000000000000000000", None)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.parametrize("target", ["out.sqlite", "folder"])
def test_nothing_is_overwritten(tmp_path, target):
    save_tables(tables(), tmp_path / target)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="there already, and nothing is overwritten"):
        save_tables([], tmp_path / target)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_failure_leaves_nothing(tmp_path):
    bad = Table("../evil", {"id": Column.of(["A"])})
    with pytest.raises(InputError, match="cannot be a file"):
        save_tables([*tables(), bad], tmp_path / "folder")
    twice = Table("t", {"id": Column(("A",), np.zeros(2, np.int32))}, ("id",))
    with pytest.raises(InputError, match="cannot write the file: UNIQUE"):
        save_tables([twice], tmp_path / "out.sqlite")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="there is no folder"):
        save_tables(tables(), tmp_path / "no" / "folder")


def test_tables_are_read_from_anywhere(tmp_path):
    save_tables(tables(), tmp_path / "f.sqlite")
    assert len(read_tables(f"sqlite:///{tmp_path}/f.sqlite")) == 2
    with pytest.raises(InputError, match="are for folders"):
        read_tables(tmp_path / "f.sqlite", ddl=tmp_path / "x.sql")
    inner = tmp_path / "set" / "tables"
    inner.mkdir(parents=True)
    (tmp_path / "set" / "schema.sql").write_text("CREATE TABLE dog (id INTEGER PRIMARY KEY)")
    (inner / "dog.csv").write_text("id\n07\n")
    assert cells(read_tables(tmp_path / "set")[0], "id") == ["7"]
    (inner / "dog.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"'dog.csv' and 'dog.parquet' are both called 'dog'"):
        read_tables(tmp_path / "set")
