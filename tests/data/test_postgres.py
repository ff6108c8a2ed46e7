"""PostgreSQL: a real server, started here on loopback; keys, types and names as they are there."""

import sqlite3
import sys
from pathlib import Path

import duckdb
import pytest

from mlnlearn.cli.main import run
from mlnlearn.data.load.sql import from_sql, read_sql
from mlnlearn.data.load.urls import read_url
from mlnlearn.errors import InputError, InputErrors

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")


@pytest.fixture(scope="module")
def server(postgres):
    return postgres


@pytest.fixture
def database(server, request):
    """An empty database of its own: its address, and a connection to fill it."""
    name = f"test{abs(hash(request.node.nodeid)) % 10**9}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    with psycopg.connect(f"{server}/{name}", autocommit=True) as connection:
        yield f"{server}/{name}", connection


TABLES = """
CREATE TABLE person (id INTEGER PRIMARY KEY, rank VARCHAR);
CREATE TABLE paper (id INTEGER PRIMARY KEY, venue TEXT, good BOOLEAN);
CREATE TABLE wrote (
  person INTEGER REFERENCES person, paper INTEGER REFERENCES paper (id),
  PRIMARY KEY (person, paper));
INSERT INTO person VALUES (1, 'full'), (2, NULL);
INSERT INTO paper VALUES (1, 'A', true), (9, 'B', false);
INSERT INTO wrote VALUES (1, 9), (2, 9);
"""


def test_keys_nulls_and_truth_values(database):
    url, connection = database
    connection.execute(TABLES)
    for source in (url, connection):
        loaded, mapping = from_sql(source)
        assert str(loaded.schema).splitlines() == [
            "rank(person,rank_value!)",
            "venue(paper,venue_value!)",
            "good(paper)",
            "wrote(person,paper)",
        ]
        assert sorted(loaded.rows("wrote")) == [("1", "9"), ("2", "9")]
        assert list(loaded.rows("good")) == [("1",)]
        assert loaded.unknown_facts("rank").tolist() == [[1], [0]]
        assert mapping["wrote"].kind == "relationship"
    assert from_sql(url).database.name == url.rpartition("/")[2]


def test_some_tables_only(database):
    url, connection = database
    connection.execute(TABLES)
    assert [table.name for table in read_sql(url, ["paper"])] == ["paper"]
    assert [table.name for table in read_sql(url, ["public.paper"])] == ["paper"]
    with pytest.raises(InputErrors, match="no such table 'x'; there are: person, paper, wrote"):
        from_sql(url, tables=["x"])
    with pytest.raises(InputErrors, match="person refers to table 'person', which is missing"):
        from_sql(url, tables=["wrote", "paper"])


def test_values_of_every_kind(database):
    url, connection = database
    connection.execute("""
        CREATE TYPE mood AS ENUM ('glad', 'sad');
        CREATE DOMAIN score AS numeric(6, 2) CHECK (VALUE >= 0);
        CREATE TABLE t (
          id NUMERIC PRIMARY KEY, mood mood, score score, ratio REAL, wide DOUBLE PRECISION,
          small SMALLINT, code CHAR(5), day DATE, moment TIMESTAMPTZ, tag UUID, extra JSONB);
        SET timezone = 'America/New_York';
        INSERT INTO t VALUES
          (12345678901234567890123, 'glad', 2.50, 0.1, 1e300, -3, 'ab', '2020-02-01',
           '2020-02-01 12:00:00+00', '00000000-0000-0000-0000-000000000001', '{"a": 1}'),
          (12345678901234567890124, NULL, 3.00, 'NaN', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    """)
    [table] = read_sql(url)
    cells = {title: column.names for title, column in table.columns.items()}
    assert cells == {
        "id": ("12345678901234567890123", "12345678901234567890124"),
        "mood": ("glad",),
        "score": ("2.5", "3"),
        "ratio": ("0.1",),
        "wide": ("1e+300",),
        "small": ("-3",),
        "code": ("ab",),
        "day": ("2020-02-01",),
        "moment": ("2020-02-01 12:00:00+00",),
        "tag": ("00000000-0000-0000-0000-000000000001",),
        "extra": ('{"a": 1}',),
    }
    assert all(column.has_missing for title, column in table.columns.items() if title not in
               ("id", "score"))  # fmt: skip
    assert table.declared["score"] == "score"
    assert table.declared["code"] == "character(5)"


@pytest.mark.parametrize("kind", ["bytea", "integer[]", "pair"])
def test_what_is_neither_name_nor_number_is_left_out(database, kind):
    url, connection = database
    connection.execute(f"CREATE TYPE pair AS (a int, b int); CREATE TABLE t (id int, x {kind})")
    (table,) = read_sql(url)
    assert table.columns["x"].opaque
    assert from_sql(url).mapping["t"]["x"].role == "skip"


def test_names_are_names_and_never_code(database):
    url, connection = database
    odd = 'a"b; DROP TABLE "keep" --'
    quoted = '"' + odd.replace('"', '""') + '"'
    connection.execute('CREATE TABLE "keep" ("Id" INT PRIMARY KEY, "SELECT" TEXT)')
    connection.execute(
        f'CREATE TABLE {quoted} ("X Y" INT PRIMARY KEY, "% s" TEXT, k INT REFERENCES "keep")'
    )
    connection.execute("INSERT INTO \"keep\" VALUES (1, 'it''s')")
    connection.execute(f"INSERT INTO {quoted} VALUES (5, 'v', 1)")
    keep, other = read_sql(url)
    assert (keep.name, keep.primary_key, list(keep.columns)) == ("keep", ("Id",), ["Id", "SELECT"])
    assert (other.name, other.primary_key) == (odd, ("X Y",))
    assert other.columns["% s"].names == ("v",)
    assert other.foreign_keys[0].table == "keep"
    assert [table.name for table in read_sql(url, [odd])] == [odd]
    with pytest.raises(InputErrors, match="no such table"):
        read_sql(url, ['keep"; DROP TABLE keep --'])
    assert connection.execute('SELECT count(*) FROM "keep"').fetchone() == (1,)


def test_other_schemas(database):
    url, connection = database
    connection.execute("""
        CREATE SCHEMA lab; CREATE SCHEMA "Old";
        CREATE TABLE person (id INT PRIMARY KEY, sex TEXT);
        CREATE TABLE lab.test (id INT PRIMARY KEY, person INT REFERENCES person, result TEXT);
        CREATE TABLE "Old".person (id INT PRIMARY KEY, sex TEXT);
        INSERT INTO person VALUES (1, 'f'); INSERT INTO lab.test VALUES (7, 1, 'good');
    """)
    assert [table.name for table in read_sql(url)] == ["person"]
    both = from_sql(f"{url}?schema=lab,public")
    assert list(both.database.rows("result")) == [("7", "good")]
    assert list(both.database.rows("person")) == [("7", "1")]
    names = [table.name for table in read_sql(f"{url}?schema=public,Old")]
    assert names == ["public.person", "Old.person"]
    with pytest.raises(InputErrors, match=r"table 'public.person', which is missing"):
        from_sql(f"{url}?schema=lab")
    with pytest.raises(InputErrors, match="no tables in nowhere"):
        read_sql(f"{url}?schema=nowhere")
    connection.execute("SET search_path = lab, public")
    assert [table.name for table in read_sql(connection)] == ["test", "person"]


def test_partitions_are_one_table_and_views_none(database):
    url, connection = database
    connection.execute("""
        CREATE TABLE who (id INT PRIMARY KEY);
        CREATE TABLE visit (id INT PRIMARY KEY, who INT REFERENCES who, good BOOL)
          PARTITION BY RANGE (id);
        CREATE TABLE visit1 PARTITION OF visit FOR VALUES FROM (0) TO (10);
        CREATE VIEW seen AS SELECT * FROM visit;
        INSERT INTO who VALUES (4); INSERT INTO visit VALUES (3, 4, true);
    """)
    who, visit = read_sql(url)
    assert (who.name, visit.name, visit.rows) == ("who", "visit", 1)
    assert len(visit.foreign_keys) == 1


def test_nothing_is_changed_and_one_moment_is_seen(database, monkeypatch):
    url, connection = database
    connection.execute(TABLES)
    seen = []
    execute = psycopg.Cursor.execute

    def spy(self, query, *args, **kwargs):
        if self.connection is not connection and "wrote" in str(query):
            seen.append(execute(self, "SHOW transaction_read_only").fetchone())
            seen.append(execute(self, "SHOW transaction_isolation").fetchone())
            # a row that comes while the tables are read is in none of them
            connection.execute("INSERT INTO person VALUES (3, 'late') ON CONFLICT DO NOTHING")
            connection.execute("INSERT INTO wrote VALUES (3, 9) ON CONFLICT DO NOTHING")
        return execute(self, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, "execute", spy)
    loaded = from_sql(url).database
    assert ("on",) in seen
    assert ("repeatable read",) in seen
    assert loaded.size("person") == 2
    assert loaded.count("wrote") == 2


def test_the_callers_connection_is_left_as_it_was(database):
    url, connection = database
    connection.execute(TABLES)
    with psycopg.connect(url) as mine:  # in a transaction of its own, with changes
        mine.execute("INSERT INTO person VALUES (5, 'new')")
        assert from_sql(mine).database.size("person") == 3
        mine.execute("INSERT INTO person VALUES (6, 'newer')")
        assert mine.execute("SHOW datestyle").fetchone()[0].startswith("ISO")
        mine.rollback()
    assert connection.execute("SELECT count(*) FROM person").fetchone() == (2,)


def test_faults_say_where_and_keep_passwords(server):
    secret = server.replace("tester@", "tester:hush@")
    with pytest.raises(InputError, match="does not exist") as caught:
        from_sql(f"{secret}/nothing")
    assert "hush" not in str(caught.value)
    assert "tester@127.0.0.1" in str(caught.value)
    with pytest.raises(InputError, match=r"refused|failed") as caught:
        from_sql("postgresql://a:hush@127.0.0.1:1/x?connect_timeout=2")
    assert "hush" not in str(caught.value)


def test_the_command_line(database, tmp_path, monkeypatch, capsys):
    url, connection = database
    connection.execute("""
        CREATE TABLE person (id INT PRIMARY KEY, sex TEXT, fan TEXT);
        INSERT INTO person SELECT i, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END,
          CASE WHEN i % 9 = 0 THEN NULL WHEN i % 2 = 0 THEN 'yes' ELSE 'no' END
        FROM generate_series(1, 40) AS i;
    """)
    monkeypatch.chdir(tmp_path)
    secret = url.replace("tester@", "tester:hush@")
    for command in (
        "inspect --tables {}",
        "learn --learner laj-dt --tables {} --out m.mln",
        "infer --model m.mln --tables {} --filled new.sqlite",
        "report --model m.mln --tables {} --out r.html",
    ):
        monkeypatch.setattr(sys, "argv", ["mlnlearn", *command.format(secret).split()])
        with pytest.raises(SystemExit) as stop:
            run()
        out, err = capsys.readouterr()
        assert stop.value.code == 0, err
        assert "hush" not in out + err
    for file in ("m.mln", "m.json", "r.html"):
        assert "hush" not in Path(file).read_text()
    fans = {row[0]: row[1] for row in sqlite3.connect("new.sqlite").execute(
        "SELECT id, fan FROM person WHERE id % 9 = 0")}  # fmt: skip
    assert fans == {9: "no", 18: "yes", 27: "no", 36: "yes"}


def test_rows_that_may_not_be_read(database):
    url, connection = database
    connection.execute(TABLES)
    connection.execute("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    with pytest.raises(InputError, match="table person: PostgreSQL cannot read it: permission"):
        from_sql(url.replace("tester@", "guest@"))


def test_addresses_of_files_and_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("a file.db") as connection:
        connection.executescript("CREATE TABLE person (id TEXT PRIMARY KEY, sex TEXT);")
    assert [t.name for t in read_sql("sqlite:///a%20file.db")] == ["person"]
    assert [t.name for t in read_sql(f"sqlite:///{tmp_path}/a file.db")] == ["person"]
    assert from_sql("sqlite:///a%20file.db").database.name == "a file"
    with duckdb.connect("d.duckdb") as made:
        made.execute("CREATE TABLE dog (id TEXT PRIMARY KEY, big BOOLEAN)")
    assert [t.name for t in read_sql("duckdb:///d.duckdb")] == ["dog"]
    for wrong in ("sqlite://a.db", "duckdb:///"):
        with pytest.raises(InputError, match="three slashes"):
            read_sql(wrong)
    with pytest.raises(InputError, match="mysql://…; there are: sqlite://, duckdb://, postgre"):
        read_sql("mysql://u:hush@host/db")
    assert read_url("postgres://h/db?schema=a,b&sslmode=require").url.endswith("db?sslmode=require")


def test_without_the_client_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"mlnlearn\[postgres\]"):
        read_sql("postgresql://localhost/x")
