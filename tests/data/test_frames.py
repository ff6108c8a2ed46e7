"""The same tables as frames, files and databases give the same database."""

import datetime
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.files import from_csv, from_parquet
from mlnlearn.data.load.frames import from_frames
from mlnlearn.data.load.sql import from_sql
from mlnlearn.data.load.tables import ForeignKey, Keys, Table
from mlnlearn.errors import InputErrors

DDL = """
CREATE TABLE person (
  id INTEGER PRIMARY KEY, name TEXT, size DOUBLE, shoe INTEGER, tall BOOLEAN, born DATE,
  boss INTEGER, FOREIGN KEY (boss) REFERENCES person (id));
CREATE TABLE town (code TEXT PRIMARY KEY);
CREATE TABLE stay (
  who INTEGER, place TEXT, nights INTEGER, PRIMARY KEY (place, who),
  FOREIGN KEY (who) REFERENCES person (id), FOREIGN KEY (place) REFERENCES town (code));
"""
KEYS = {
    "person": Keys("id", {"boss": "person"}),
    "town": "code",
    "stay": Keys(("place", "who"), {"who": "person", "place": "town"}),
}
NAMES = ["Anna", "Zoë", 'a "b"', "x,y", "3.0", "007", "two\nlines"]


def random_tables(seed):
    """Return the cells of each table by column, as plain Python lists with None for NULL."""
    rng = np.random.default_rng(seed)
    people, towns = int(rng.integers(1, 12)), int(rng.integers(1, 5))
    ids = rng.permutation(100)[:people].tolist()
    codes = [f"T{i}" for i in range(towns)]

    def some(values, count=people, gaps=0.2):
        chosen = [values[i] for i in rng.integers(0, len(values), count)]
        return [None if rng.random() < gaps else value for value in chosen]

    day = datetime.date(2000, 1, 31)
    person = {
        "id": ids,
        "name": some(NAMES),
        "size": some([1.0, 0.1, 2.5, 1e20]),
        "shoe": some([40, 41, -3]),
        "tall": some([True, False], gaps=float(rng.choice([0.0, 0.3]))),
        "born": some([day, day + datetime.timedelta(40)]),
        "boss": some(ids),
    }
    pairs = [(who, place) for who in ids for place in codes if rng.random() < 0.4]
    stay = {
        "who": [who for who, _ in pairs],
        "place": [place for _, place in pairs],
        "nights": some([1, 2], len(pairs)),
    }
    return {"person": person, "town": {"code": codes}, "stay": stay}


def snapshot(database):
    """Return everything about a database but its name, for comparison."""
    return {
        "schema": str(database.schema),
        "domains": {kind: found.names for kind, found in database.domains.items()},
        "true": {p.name: database.facts(p.name).tolist() for p in database.schema.predicates},
        "unknown": {
            p.name: database.unknown_facts(p.name).tolist() for p in database.schema.predicates
        },
    }


TYPES = {
    "id": pa.int64(),
    "name": pa.string(),
    "size": pa.float64(),
    "shoe": pa.int32(),
    "tall": pa.bool_(),
    "born": pa.date32(),
    "boss": pa.int64(),
    "code": pa.string(),
    "who": pa.int64(),
    "place": pa.string(),
    "nights": pa.int64(),
}


def arrow(columns):
    return pa.table({name: pa.array(cells, TYPES[name]) for name, cells in columns.items()})


def reference(tables):
    """Build the database from tables made by hand."""
    made = []
    for name, columns in tables.items():
        keys = KEYS[name]
        primary = (keys,) if isinstance(keys, str) else keys.columns
        foreign = () if isinstance(keys, str) else keys.foreign.items()
        made.append(
            Table(
                name,
                {title: Column.of(cells) for title, cells in columns.items()},
                primary,
                tuple(ForeignKey((column,), target) for column, target in foreign),
            )
        )
    return snapshot(build_database(made).database)


def fill(connection, tables):
    for name, columns in tables.items():
        marks = ", ".join("?" * len(columns))
        rows = list(zip(*columns.values(), strict=True))
        if rows:
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


@pytest.mark.parametrize("seed", range(12))
def test_every_source_gives_the_same_database(tmp_path, seed):
    tables = random_tables(seed)
    expected = reference(tables)
    frames = {name: arrow(columns) for name, columns in tables.items()}

    def check(loaded):
        assert snapshot(loaded.database) == expected

    check(from_frames(frames, keys=KEYS))
    check(from_frames({n: pl.from_arrow(f) for n, f in frames.items()}, keys=KEYS))
    check(from_frames({n: pl.from_arrow(f).lazy() for n, f in frames.items()}, keys=KEYS))
    check(from_frames({n: f.to_pandas() for n, f in frames.items()}, ddl=DDL))
    by_hand = {n: pd.DataFrame(columns) for n, columns in tables.items()}
    check(from_frames(by_hand, ddl=DDL))
    for folder in ("csv", "polars_csv", "parquet"):
        (tmp_path / folder).mkdir()
    for name, frame in frames.items():
        frame.to_pandas().to_csv(tmp_path / "csv" / f"{name}.csv", index=False)
        pl.from_arrow(frame).write_csv(tmp_path / "polars_csv" / f"{name}.csv")
        pyarrow.parquet.write_table(frame, tmp_path / "parquet" / f"{name}.parquet")
    check(from_csv(tmp_path / "csv", ddl=DDL))
    check(from_csv(tmp_path / "polars_csv", ddl=DDL))
    check(from_parquet(tmp_path / "parquet", ddl=DDL))
    texts = {
        name: {t: [str(c) if t == "born" and c else c for c in cells] for t, cells in table.items()}
        for name, table in tables.items()
    }
    with sqlite3.connect(tmp_path / "world.sqlite") as connection:
        connection.executescript(DDL)
        fill(connection, texts)
    check(from_sql(tmp_path / "world.sqlite"))
    check(from_sql(connection))
    connection.close()
    # DuckDB checks a reference within its own table row by row, so the link is given by `keys`.
    with duckdb.connect(tmp_path / "world.duckdb") as connection:
        connection.execute(
            DDL.replace(
                ",\n  boss INTEGER, FOREIGN KEY (boss) REFERENCES person (id)", ", boss INTEGER"
            )
        )
        fill(connection, tables)
        check(from_sql(connection, keys={"person": KEYS["person"]}))
    check(from_sql(tmp_path / "world.duckdb", keys={"person": KEYS["person"]}))


def test_categories_strings_and_large_integers():
    big = 2**60 + 1
    frame = pd.DataFrame(
        {
            "id": pd.array([big, 7], "Int64"),
            "rank": pd.Categorical(["low", None], categories=["high", "low"]),
            "when": pd.to_datetime(["2020-01-01 10:00", None]),
            "words": pd.array(["a", pd.NA], "string"),
        }
    )
    database, _ = from_frames({"p": frame}, keys={"p": "id"})
    assert database.domains["p"].names == ("7", str(big))
    assert list(database.rows("rank")) == [(str(big), "low")]
    assert list(database.rows("when")) == [(str(big), "2020-01-01 10:00:00")]
    assert list(database.decode("words", database.unknown_facts("words"))) == [("7", "a")]


BROKEN = {
    "list": ({"p": [1, 2]}, "table p: expected a data frame, found list"),
    "repeated": (
        {"p": pd.DataFrame([[1, 2]], columns=["a", "a"])},
        "table p: Expected unique column names, got:",
    ),
    "numbered": ({"p": pd.DataFrame([[1]])}, "table p: expected names of columns, found 0"),
    "lists": (
        {"p": pl.DataFrame({"a": [[1], [2]]})},
        "table p: column 'a' holds list, not names or numbers",
    ),
    "bytes": (
        {"p": pl.DataFrame({"a": [b"1"]})},
        "table p: column 'a' holds bytes, not names or numbers",
    ),
    "keys": ({"p": pl.DataFrame({"a": [1, 1]})}, "table p:2: column 'a': the primary key '1'"),
    "empty": ({"p": pd.DataFrame()}, "table p: the primary key names no column 'a'"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_frames(case):
    frames, message = BROKEN[case]
    with pytest.raises(InputErrors) as caught:
        from_frames(frames, keys={"p": "a"})
    assert str(caught.value).split("\n", 1)[1].startswith(message)
