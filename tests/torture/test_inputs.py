"""Inputs that are small, valid to the eye, and meant to hang, leak or break what reads them."""

import gzip
import os
import sqlite3
import time

import duckdb
import pytest

import mlnlearn as ml
from mlnlearn.data.load.ddl import read_ddl
from mlnlearn.data.load.edits import read_edits
from mlnlearn.data.load.parquet import read_parquet
from mlnlearn.data.load.sql import read_sql
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.urls import read_url, shown_address
from mlnlearn.errors import LONGEST_MESSAGE, DataWarning, InputError, InputErrors, Location
from mlnlearn.files import read_text
from mlnlearn.syntax import parse_formula, parse_mln, read_mln, write_mln
from mlnlearn.syntax.tokens import tokenize

SCHEMA = ml.Schema.of("smokes(person)")
LARGE = 300_000  # letters: what is quadratic takes minutes, what is linear no time


def test_unclosed_comments_and_strings_are_looked_through_once():
    with pytest.raises(InputErrors, match="this comment is never closed") as caught:
        ml.parse_db("/* " * (LARGE // 3), SCHEMA)
    assert len(caught.value.problems) == 1
    with pytest.raises(InputErrors):
        ml.parse_db("//\n" + '\\"' * (LARGE // 2), SCHEMA)
    with pytest.raises(InputErrors, match="1:1: this comment"):
        ml.parse_db("/*/ smokes(Anna)\nsmokes(Bob)\n", SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        f"p({','.join(['t'] * 30_000)})", "p(" * 20_000, "p(" * 20_000 + "x" + ")" * 20_000,
        "1 p(" + ",".join(["f(x)"] * 10_000) + ")",
        "1 p(" + "(" * 20_000, ") p(" * 10_000,
    ],
)  # fmt: skip
def test_statements_without_declarations_are_looked_through_once(text):
    started = time.process_time()
    with pytest.raises((InputError, InputErrors)):
        parse_mln(text)
    assert time.process_time() - started < 4


def test_models_of_many_rules_are_read_in_time_that_follows_their_length():
    started = time.process_time()
    declared = "".join(f"p{number}(a)\n" for number in range(4000))
    rules = "".join(f"1 p{number}(x)\n" for number in range(4000))
    assert len(ml.MLN.parse(declared + rules).rules) == 4000
    with pytest.warns(DataWarning, match="declares no predicate"):
        assert len(ml.MLN.parse(rules).schema.predicates) == 4000
    assert time.process_time() - started < 8


def test_digits_that_are_no_number_are_looked_at_once():
    assert len(tokenize("1" * LARGE + "'")) == 3


def test_names_are_compared_a_few_times():
    lines = [f"predicate{i}(t)" for i in range(1500)] + [
        f"predicat{i}x(x) ^ p(x)" for i in range(1500)
    ]
    lines += ["a" * 150_000 + "(t)", "a" * 149_999 + "b(x) ^ p(x)"]
    with pytest.raises(InputErrors) as caught:
        parse_mln("\n".join(lines))
    assert "did you mean" in str(caught.value.problems[0])


def test_statements_are_told_apart_in_one_pass():
    for text in ("';" * LARGE, ";/*" * LARGE, "CREATE TRIGGER a BEGIN " + "b;" * LARGE):
        with pytest.raises(InputErrors):
            read_ddl("(" + text)
    found = read_ddl(
        "CREATE TABLE a (x TEXT DEFAULT ';', \"y;\" TEXT /* ; */); -- ;\n"
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM a; DELETE FROM a; END;\n"
        "CREATE TABLE b (z TEXT)"
    )
    assert [(table.name, list(table.columns)) for table in found] == [
        ("a", ["x", "y;"]),
        ("b", ["z"]),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE b AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) "
        "SELECT * FROM n",
        "CREATE TABLE b AS SELECT zeroblob(400000000)",
        "CREATE TABLE b AS SELECT 1 AS x",
        "ATTACH 'x.sqlite' AS (x)",
    ],
)
def test_definitions_declare_and_compute_nothing(statement):
    with pytest.raises(InputErrors):
        read_ddl(f"CREATE TABLE a (x TEXT); {statement};")


def test_dumps_are_read():
    text = (
        "DROP TABLE IF EXISTS a;"
        "CREATE TABLE a (id INTEGER PRIMARY KEY, n TEXT CHECK (length(n) < 9));"
        "CREATE INDEX i ON a (n); INSERT INTO a VALUES (1, 'x;y'); ALTER TABLE a ADD COLUMN m TEXT;"
    )
    assert list(read_ddl(text)[0].columns) == ["id", "n", "m"]


def test_a_zero_byte_in_definitions():
    with pytest.raises(InputErrors):
        read_ddl("CREATE TABLE a (x\0 TEXT)")


def test_a_table_of_too_many_columns(tmp_path):
    (tmp_path / "wide.csv").write_text(",".join(f"c{i}" for i in range(100_000)) + "\n")
    with pytest.raises(InputErrors, match="100,000 cells, more than 10,000"):
        ml.from_csv(tmp_path)


def test_gzip_bombs(tmp_path):
    (tmp_path / "bomb.db.gz").write_bytes(gzip.compress(b"\n" * 100_000_000, 9))
    with pytest.raises(InputError, match="more than 200 times its size"):
        ml.read_db(tmp_path / "bomb.db.gz", schema=SCHEMA)
    (tmp_path / "plain.db.gz").write_bytes(gzip.compress(b"smokes(Anna)\n" * 10_000))
    assert len(read_text(tmp_path / "plain.db.gz")) == 130_000


def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.mln")
    os.mkfifo(tmp_path / "schema.sql")
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(InputError, match="not a regular file"):
        read_mln(tmp_path / "pipe.mln")
    with pytest.raises(InputErrors, match=r"cannot include .*not a regular file"):
        parse_mln('#include "pipe.mln"', str(tmp_path / "a.mln"))
    with pytest.raises(InputError, match="not a regular file"):
        read_ddl(tmp_path / "schema.sql")
    with pytest.raises(InputErrors, match="not a regular file"):
        ml.from_csv({"t": tmp_path / "t.csv"})
    with pytest.raises(InputError, match="not a regular file"):
        read_edits(tmp_path / "schema.sql", [])
    for path in (tmp_path / "t.csv", "/dev/zero"):
        with pytest.raises(InputError, match="not a regular file"):
            read_sql(path)


@pytest.mark.parametrize("name", ["t.parquet", "part/t.parquet", "t/year=2020/t.parquet"])
def test_pipes_among_files_of_tables_are_not_waited_for(tmp_path, name):
    """DuckDB opens all files of a folder itself."""
    pipe = tmp_path / name
    pipe.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(pipe)
    (tmp_path / "schema.mln").write_text("t(a)\n")
    with pytest.raises(InputError, match="not a regular file"):
        read_parquet("t", pipe if pipe.parent == tmp_path else tmp_path / name.split("/")[0])
    if pipe.parent == tmp_path:
        with pytest.raises(InputError, match="not a regular file"):
            ml.facts_in_place(tmp_path)


def test_deep_toml():
    with pytest.raises(InputError, match="nested too deeply"):
        read_edits("a = " + "[" * 100_000, [Table("a", {})])


def test_chains_of_includes(tmp_path):
    for number in range(1500):
        (tmp_path / f"{number}.mln").write_text(f'#include "{number + 1}.mln"\n')
    with pytest.raises(InputErrors, match="50 levels deep"):
        read_mln(tmp_path / "0.mln")


def test_includes_quote_nothing_of_other_files(tmp_path):
    (tmp_path / "secrets").write_text("zyx:x:secret\n")
    with pytest.raises(InputErrors) as caught:
        parse_mln('#include "secrets"', str(tmp_path / "a.mln"))
    assert "zyx" not in str(caught.value)
    assert "does not end in .mln" in str(caught.value)


def test_arguments_without_end():
    with pytest.raises(InputErrors, match="more than 64 arguments"):
        parse_mln(f"p({','.join(['t'] * 100_000)})")
    with pytest.raises(InputError, match="more than 64"):
        ml.Schema.of(f"p({','.join(['t'] * 100_000)})")


def test_a_second_declaration_with_other_types_is_an_error():
    with pytest.raises(InputErrors, match="'smokes' is declared already, as smokes\\(person\\)"):
        parse_mln("smokes(person)\nfriendly(cat)\nsmokes(cat)")
    with pytest.raises(InputErrors, match="declared already"):
        parse_mln("cat = {Tom}\nsmokes(person)\nsmokes(cat)")


def test_a_bare_atom_that_is_a_formula_is_told_once_and_written_in_brackets(recwarn):
    file = parse_mln("smokes(person)\nsmokes(cat)\nsmokes(dog)\n", "a.mln")
    told = [str(item.message) for item in recwarn if item.category is DataWarning]
    assert len(told) == 1
    assert told[0].startswith("a.mln:2:1: smokes(cat) is read as a formula")
    assert parse_mln(write_mln(file)) == file
    assert len(recwarn) == 1


def test_catalogs_that_are_not_utf8(tmp_path):
    path = tmp_path / "a.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE zzzz (id TEXT PRIMARY KEY, qqqq TEXT)")
    connection.commit()
    connection.close()
    for name in (b"zzzz", b"qqqq"):
        broken = tmp_path / "broken.sqlite"
        broken.write_bytes(path.read_bytes().replace(name, b"z\xff\xfez"))
        with pytest.raises(InputError):
            read_sql(broken)


def test_messages_stay_short():
    name = "a" * 1_000_000
    texts = []
    for attempt in (
        lambda: parse_mln(f"{name}(t)\n{name}(x) ^"),
        lambda: ml.parse_db(f"{name}(A)\n" * 3, SCHEMA),
        lambda: ml.parse_db("\n".join(f"likes{i}(A)" for i in range(900)), SCHEMA),
        lambda: parse_formula(f"{name}(x)", SCHEMA),
        lambda: read_mln(name),
        lambda: SCHEMA[name],
    ):
        with pytest.raises(InputError) as caught:
            attempt()
        texts.append(str(caught.value))
    assert max(map(len, texts)) <= 2000
    assert texts[2].endswith("more")


@pytest.mark.parametrize("length", range(190, 200))
def test_messages_of_many_problems_stay_short(length):
    problems = [InputError("a" * length) for _ in range(30)]
    assert len(str(InputErrors(problems))) <= LONGEST_MESSAGE


def test_messages_of_long_parts_stay_short():
    error = InputError("m" * 900, Location("f" * 900, 1, 5, "t" * 900), "h" * 900)
    assert len(str(error)) <= LONGEST_MESSAGE
    assert len(str(InputErrors([error]))) <= LONGEST_MESSAGE
    assert len(str(InputErrors([error, error]))) <= LONGEST_MESSAGE


def test_carets_point_into_long_lines():
    text = " " * 500 + "x = y" + " " * 500
    shown = str(InputError("bad", Location("a", 1, 501, text))).splitlines()
    assert shown[1][shown[2].index("^")] == "x"


SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "source",
    [
        f"postgresql://anna:{SECRET}/x@localhost/shop",
        f"postgresql://anna:x#{SECRET}@localhost/shop",
        f"postgresql://anna:x?{SECRET}@localhost/shop",
        f"postgresql://anna:{SECRET}@[::1/shop",
        f"postgresql://anna:{SECRET}@localhost:port/shop",
        f"mysql://anna:{SECRET}@localhost/shop",
        f"host=localhost password={SECRET} dbname=shop",
        f"host=localhost password='x {SECRET}' dbname=shop",
    ],
)
def test_passwords_are_not_told(source):
    with pytest.raises(InputError) as caught:
        read_sql(source)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value)
    assert SECRET not in shown_address(source)


def test_the_hint_on_addresses_is_told_whole():
    with pytest.raises(InputError, match=r"%40 for '@'; .* postgresql://user@host:port/name"):
        read_url(f"postgresql://anna:{SECRET}/@[::1/shop")


def test_passwords_are_not_in_values_that_are_printed():
    address = read_url(f"postgresql://anna:{SECRET}@localhost/shop")
    assert SECRET not in repr(address)
    assert address.shown == "postgresql://anna@localhost/shop"
    assert SECRET in address.url


def test_files_may_have_an_at_sign():
    assert read_url("sqlite:///a@b.sqlite").name == "a@b.sqlite"


@pytest.mark.parametrize("steps", [10**400, 2**63, -(10**400)])
def test_whole_numbers_that_nothing_can_hold(steps):
    with pytest.raises(InputError, match="steps"):
        ml.BoostedRDN(target="smokes", steps=steps)


def test_views_of_a_file_read_no_other_file(tmp_path):
    """Facts are counted where they are; what a DuckDB file computes is still its own."""
    (tmp_path / "secret.txt").write_text("s3cret")
    with duckdb.connect(str(tmp_path / "facts.duckdb")) as connection:
        connection.execute("CREATE TABLE q AS SELECT 'A' AS x")
        connection.execute("CREATE VIEW kept AS SELECT x FROM q")
        view = f"SELECT content AS x FROM read_text('{tmp_path}/secret.txt')"
        connection.execute(f"CREATE VIEW p AS {view}")
    schema = ml.Schema.of("q(a)", "kept(a)")
    with ml.counting_with("duckdb", "100MB"):
        placed = ml.facts_in_place(tmp_path / "facts.duckdb", schema)
        assert ml.true_groundings(ml.open_engine([placed]), schema["kept"]("x")) == [1]
        with pytest.raises(InputError, match="Permission Error"):
            ml.facts_in_place(tmp_path / "facts.duckdb", ml.Schema.of("p(a)"))
