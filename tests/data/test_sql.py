"""SQLite and DuckDB: keys from the catalog, files opened for reading only, faults located."""

import sqlite3

import duckdb
import pytest

from mlnlearn.data.load.sql import from_sql
from mlnlearn.errors import DataWarning, InputError, InputErrors

TABLES = """
CREATE TABLE person (id INTEGER PRIMARY KEY, rank VARCHAR);
CREATE TABLE paper (id INTEGER PRIMARY KEY, venue VARCHAR, good BOOLEAN);
CREATE TABLE wrote (
  person INTEGER REFERENCES person (id), paper INTEGER REFERENCES paper (id),
  PRIMARY KEY (person, paper));
INSERT INTO person VALUES (1, 'full'), (2, NULL);
INSERT INTO paper VALUES (1, 'A', true), (9, 'B', false);
INSERT INTO wrote VALUES (1, 9), (2, 9);
"""
SCHEMA = [
    "rank(person,rank_value!)",
    "venue(paper,venue_value!)",
    "good(paper)",
    "wrote(person,paper)",
]


@pytest.fixture
def sqlite():
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    yield connection
    connection.close()


@pytest.fixture
def duck():
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        yield connection


@pytest.mark.parametrize("engine", ["sqlite", "duck"])
def test_keys_come_from_the_catalog(engine, request):
    connection = request.getfixturevalue(engine)
    database, mapping = from_sql(connection, name="papers")
    assert str(database.schema).splitlines() == SCHEMA
    assert sorted(database.rows("wrote")) == [("1", "9"), ("2", "9")]
    assert list(database.rows("good")) == [("1",)]
    assert database.unknown_facts("rank").tolist() == [[1], [0]]
    assert mapping["wrote"].kind == "relationship"
    assert database.name == "papers"


@pytest.mark.parametrize("engine", ["sqlite", "duck"])
def test_some_tables_only(engine, request):
    connection = request.getfixturevalue(engine)
    database, _ = from_sql(connection, tables=["paper"])
    assert str(database.schema).splitlines() == SCHEMA[1:3]
    with pytest.raises(InputErrors, match="no such table 'x'; there are: person, paper, wrote"):
        from_sql(connection, tables=["x"])
    with pytest.raises(InputErrors, match="person refers to table 'person', which is missing"):
        from_sql(connection, tables=["wrote", "paper"])


def test_the_callers_connection_is_left_as_it_was(sqlite, duck):
    sqlite.row_factory = sqlite3.Row
    from_sql(sqlite)
    assert sqlite.row_factory is sqlite3.Row
    duck.execute("SELECT id FROM person ORDER BY id")
    from_sql(duck)
    assert duck.fetchall() == [(1,), (2,)]


def test_odd_names_and_types(duck, sqlite):
    for connection in (duck, sqlite):
        connection.execute(
            'CREATE TABLE "my ""table" ("a key" INTEGER PRIMARY KEY, "b;c" DECIMAL(5,2))'
        )
        connection.execute('INSERT INTO "my ""table" VALUES (1, 2.50)')
        database, _ = from_sql(connection, tables=['my "table'])
        assert str(database.schema) == "b_c(my_table,b_c_value!)"
        assert list(database.rows("b_c")) == [("1", "2.5")]
    duck.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, e ENUM('x', 'y'), h HUGEINT, i INTERVAL)")
    duck.execute("INSERT INTO t VALUES (1, 'x', 170141183460469231731687303715884105727, '1 day')")
    database, _ = from_sql(duck, tables=["t"])
    assert list(database.rows("e")) == [("1", "x")]
    assert list(database.rows("h")) == [("1", "170141183460469231731687303715884105727")]
    duck.execute("CREATE TABLE u (a INTEGER PRIMARY KEY, b INTEGER[], c BLOB)")
    duck.execute("INSERT INTO u VALUES (1, [2], 'x')")
    _, mapping = from_sql(duck, tables=["u"])
    notes = [(column.role, column.note) for column in mapping["u"].columns]
    assert notes == [("key", ""), ("skip", "holds INTEGER[]"), ("skip", "holds BLOB")]


def test_sqlite_cells_that_do_not_fit_their_column_keep_their_names(sqlite):
    sqlite.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER)")
    sqlite.execute("INSERT INTO t VALUES (1, 'x'), (2, '3')")
    database, _ = from_sql(sqlite, tables=["t"])
    assert sorted(database.rows("b")) == [("1", "x"), ("2", "3")]
    sqlite.execute("CREATE TABLE u (a INTEGER PRIMARY KEY, b)")
    sqlite.execute("INSERT INTO u VALUES (1, x'00')")
    assert from_sql(sqlite, tables=["u"]).mapping["u"]["b"].note == "holds BLOB"
    sqlite.execute("CREATE TABLE w (a INTEGER PRIMARY KEY, b TEXT)")
    sqlite.execute("INSERT INTO w VALUES (1, CAST(x'ff' AS TEXT))")
    with pytest.raises(InputError, match="database: SQLite cannot read it: Could not decode"):
        from_sql(sqlite, tables=["w"])


def test_links_that_lead_nowhere_are_left_out(sqlite):
    sqlite.execute("INSERT INTO wrote VALUES (7, 1), (1, 8)")
    with pytest.warns(DataWarning) as caught:
        database, _ = from_sql(sqlite)
    assert sorted(str(warning.message) for warning in caught) == [
        "table wrote: 1 cells of 'paper' are no key of 'paper': they are left out",
        "table wrote: 1 cells of 'person' are no key of 'person': they are left out",
    ]
    assert sorted(database.rows("wrote")) == [("1", "9"), ("2", "9")]


def test_files_that_are_no_databases(tmp_path):
    with pytest.raises(InputError, match=r"none.db: cannot read the file: No such file"):
        from_sql(tmp_path / "none.db")
    path = tmp_path / "x.db"
    path.write_text("hello")
    with pytest.raises(InputError, match=r"x.db: neither an SQLite nor a DuckDB file"):
        from_sql(path)
    path.write_bytes(b"SQLite format 3\x00" + bytes(100))
    with pytest.raises(InputError, match=r"x.db: SQLite cannot read it: "):
        from_sql(str(path))
    path.write_bytes(bytes(8) + b"DUCK" + bytes(100))
    with pytest.raises(InputError, match=r"x.db: cannot read the file: "):
        from_sql(path)
    sqlite3.connect(tmp_path / "empty.db").execute("CREATE TABLE a (x)").connection.close()
    assert from_sql(tmp_path / "empty.db").database.true_atoms == 0
    with pytest.raises(InputErrors, match="the database has no tables"):
        from_sql(sqlite3.connect(":memory:"))


def test_reading_leaves_files_as_they_are(tmp_path):
    path = tmp_path / "w.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(TABLES)
    connection.close()
    before = path.read_bytes()
    database, _ = from_sql(path)
    assert database.name == "w"
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["w.db"]
