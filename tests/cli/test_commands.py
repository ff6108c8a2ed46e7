"""The commands as a user runs them: what comes out, where it comes out, and the exit code."""

import gzip
import json
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

SCHEMA = "smokes(person)\nfriends(person,person)\nage(person,years!)\n"
FIRST = "smokes(Anna)\nfriends(Anna,Bob)\nfriends(Bob,Anna)\nage(Anna,1)\nage(Bob,2)\n"
SECOND = (
    "smokes(Bob)\nsmokes(Carl)\nfriends(Bob,Carl)\nfriends(Carl,Bob)\nage(Bob,1)\nage(Carl,1)\n"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two databases and their schema, and the shell in it."""
    (tmp_path / "people.mln").write_text(SCHEMA)
    (tmp_path / "first.db").write_text(FIRST)
    (tmp_path / "second.db").write_text(SECOND)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_inspect_json_is_exactly_the_sizes(folder, program):
    code, out, err = program("inspect", "first.db", "second.db", "--schema", "people.mln", "--json")
    assert code == 0
    assert err == ""
    assert json.loads(out) == {
        "databases": [
            {
                "file": "first.db",
                "true_atoms": 5,
                "constants": {"person": 2, "years": 2},
                "ground_atoms": 2 + 4 + 4,
                "predicates": {"smokes": 1, "friends": 2, "age": 2},
            },
            {
                "file": "second.db",
                "true_atoms": 6,
                "constants": {"person": 2, "years": 1},
                "ground_atoms": 2 + 4 + 2,
                "predicates": {"smokes": 2, "friends": 2, "age": 2},
            },
        ]
    }


def test_inspect_shows_what_it_found(folder, program, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    code, out, _ = program("inspect", "first.db", "second.db", "--schema", "people.mln")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["smokes(person)", "3", "4", "75%"] in lines
    assert ["person", "2"] in lines
    assert ["years", "1", "–", "2"] in lines
    [friends] = [line for line in out.splitlines() if line.startswith("friends")]
    assert friends.rstrip().endswith("(place 2)")
    assert "symmetric, irreflexive, exactly 1 person (place 1)" in friends
    [age] = [line for line in out.splitlines() if line.startswith("age")]
    assert "exactly 1 years" in age


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_nothing_is_cut_off_in_a_narrow_terminal(folder, program, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    long = "verySatisfiedWithTheServiceOf(customerOfTheBank,branchOfTheBank)"
    (folder / "long.mln").write_text(long + "\n")
    (folder / "long.db").write_text("verySatisfiedWithTheServiceOf(Anna,Main)\n")
    code, out, _ = program("inspect", "long.db", "--schema", "long.mln")
    assert code == 0
    assert max(map(len, out.splitlines())) <= columns
    start = out.index("Predicate")
    first = "".join(line.split(" ")[0] for line in out[start:].splitlines()[2:])
    assert first == long


def test_inspect_takes_the_schema_beside_the_file_and_says_so(folder, program):
    (folder / "people.mln").rename(folder / "schema.mln")
    code, out, err = program("inspect", "first.db", "second.db", "--json")
    assert code == 0
    assert len(json.loads(out)["databases"]) == 2
    assert err == "note: declarations from schema.mln\n"


def test_inspect_without_a_schema_is_refused(folder, program):
    code, out, err = program("inspect", "first.db", "--json")
    assert (code, out) == (1, "")
    assert err == (
        "error: first.db: which predicates are declared? There is no schema.mln beside the file\n"
        "  hint: name the file with the declarations: --schema FILE.mln; in Python,"
        " read_data(…, schema)\n"
    )


def test_inspect_warns_on_standard_error(folder, program):
    (folder / "odd.db").write_text("smokes(Anna)\nsmokes(Anna)\nage(Anna,1)\n?age(Bob,1)\n")
    code, out, err = program("inspect", "odd.db", "--schema", "people.mln", "--json")
    assert code == 0
    assert json.loads(out)["databases"][0]["true_atoms"] == 2
    assert err.splitlines() == [
        "warning: 1 repeated atom, taken once: smokes(Anna) at odd.db:1 and odd.db:2",
        "warning: friends has no true atom",
        "warning: age has 1 unknown atom",
    ]


def test_inspect_reads_gzip_and_databases_of_different_schemas(folder, program):
    (folder / "first.db.gz").write_bytes(gzip.compress(FIRST.encode()))
    other = folder / "other"
    other.mkdir()
    (other / "schema.mln").write_text("likes(cat,cat)\n")
    (other / "cats.db").write_text("likes(Tom,Mia)\n")
    (folder / "people.mln").rename(folder / "schema.mln")
    code, out, _ = program("inspect", "first.db.gz", "other/cats.db", "--json")
    assert code == 0
    sizes = [(one["file"], one["true_atoms"]) for one in json.loads(out)["databases"]]
    assert sizes == [("first.db.gz", 5), ("other/cats.db", 1)]


def test_inspect_reads_tables_and_prints_the_mapping(folder, program):
    tables = folder / "tables"
    tables.mkdir()
    (tables / "person.csv").write_text("id,job\nAnna,Cook\nBob,Baker\n")
    (tables / "knows.csv").write_text("a,b\nAnna,Bob\n")
    (folder / "keys.sql").write_text(
        "CREATE TABLE person (id TEXT PRIMARY KEY, job TEXT);\n"
        "CREATE TABLE knows (a TEXT REFERENCES person(id), b TEXT REFERENCES person(id),\n"
        "  PRIMARY KEY (a, b));\n"
    )
    code, out, err = program("inspect", "tables", "--schema", "keys.sql")
    assert (code, err) == (0, "")
    assert any(line.split()[:3] == ["person", "entity", "2"] for line in out.splitlines())
    assert any(line.split()[:2] == ["job", "value"] for line in out.splitlines())
    both = ("tables/knows.csv", "tables/person.csv", "--schema", "keys.sql")
    code, out, _ = program("inspect", *both, "--json")
    assert code == 0
    [one] = json.loads(out)["databases"]
    assert one["predicates"] == {"knows": 1, "job": 2}
    (folder / "edit.toml").write_text('[knows]\npredicate = "friend"\n')
    code, out, _ = program("count", "friend(x,y)", *both, "--mapping", "edit.toml", "--json")
    assert json.loads(out) == {"total": 1, "groundings": 4, "by": []}


def test_an_sqlite_file_is_known_by_its_content(folder, program):
    with sqlite3.connect("store.db") as connection:
        connection.executescript(
            "CREATE TABLE person (id TEXT PRIMARY KEY, job TEXT);"
            "INSERT INTO person VALUES ('Anna', 'Cook');"
        )
    connection.close()
    code, out, err = program("count", "job(x,Cook)", "store.db", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["total"] == 1


def test_problems_of_all_files_are_listed_together(folder, program):
    (folder / "bad.db").write_text("smoke(Anna)\nfriends(Anna)\n")
    code, out, err = program("inspect", "gone.db", "bad.db", "--schema", "people.mln")
    assert (code, out) == (1, "")
    lines = err.splitlines()
    assert lines[0] == "error: 3 problems found"
    assert "gone.db: no such file or folder" in lines
    assert "bad.db:1:1: no such predicate 'smoke'" in lines
    assert "bad.db:2:1: 'friends' takes 2 arguments, not 1" in lines


def test_count_adds_over_databases(folder, program):
    files = ("first.db", "second.db", "--schema", "people.mln")
    code, out, err = program("count", "friends(x,y) => smokes(y)", *files, "--json")
    assert (code, err) == (0, "")
    # First: of four pairs only friends(Anna,Bob) with Bob not smoking is false. Second: all true.
    assert json.loads(out) == {"total": 7, "groundings": 8, "by": []}
    code, out, _ = program("count", "friends(x,y)", *files, "--by", "x", "--json")
    assert json.loads(out) == {
        "total": 4,
        "groundings": 8,
        "by": [["Bob", 2], ["Anna", 1], ["Carl", 1]],
    }
    code, out, _ = program("count", "friends(x,y) ^ smokes(y)", *files, "--by", "y, x", "--json")
    assert json.loads(out)["by"] == [["Anna", "Bob", 1], ["Bob", "Carl", 1], ["Carl", "Bob", 1]]


def test_count_prints_a_table(folder, program):
    code, out, _ = program("count", "age(x,1)", "second.db", "--schema", "people.mln", "--by", "x")
    assert code == 0
    lines = out.splitlines()
    assert lines[:2] == ["age(x,1)", "2 of 2 groundings are true (100%)"]
    assert [line.split() for line in lines[-2:]] == [["Bob", "1"], ["Carl", "1"]]


def test_count_shows_its_plan(folder, program):
    files = ("first.db", "second.db", "--schema", "people.mln")
    code, out, _ = program("count", "friends(x,y) ^ smokes(y)", *files, "--plan")
    lines = out.splitlines()
    assert (code, lines[0]) == (0, "1 times the count of friends(x,y) ^ smokes(y)")
    assert [line.split()[1] for line in lines[1:3]] == ["friends(x,y)", "smokes(y)"]
    assert all(line.endswith("bytes") for line in lines[1:])


def test_count_goes_on_where_memory_ends(folder, program):
    """Circles of four among people who all know each other."""
    links = [f"friends(P{a},P{b})" for a in range(150) for b in range(150)]
    (folder / "all.db").write_text("\n".join(links))
    given = ("count", "friends(x,y) ^ friends(y,z) ^ friends(z,u) ^ friends(u,x)", "all.db",
             "--schema", "people.mln", "--json", "--memory", "2MB")  # fmt: skip
    code, _, err = program(*given, "--engine", "memory")
    assert code == 1
    assert "the limit is 2 MB" in err
    assert "--engine duckdb" in err
    code, out, _ = program(*given, "--memory", "64MB")  # DuckDB itself needs a few
    assert (code, json.loads(out)["total"]) == (0, 150**4)
    code, _, err = program("count", "smokes(x)", "first.db", "--engine", "abacus")
    assert (code, "no engine 'abacus'" in err) == (1, True)


def test_count_shows_the_first_rows_of_many(folder, program):
    (folder / "many.db").write_text("".join(f"smokes(P{k})\n" for k in range(50)))
    arguments = ("count", "smokes(x)", "many.db", "--schema", "people.mln", "--by", "x")
    _, out, _ = program(*arguments)
    assert out.splitlines()[-1] == "… and 30 more; --json lists all"
    _, out, _ = program(*arguments, "--json")
    assert len(json.loads(out)["by"]) == 50


@pytest.mark.parametrize(
    ("formula", "by", "message"),
    [
        ("smoke(x)", "", "formula:1:1: no such predicate 'smoke'\n  smoke(x)\n  ^\n"),
        ("smokes(x", "", "formula:1:9: expected ',' or ')', found end of text\n"),
        ("", "", "formula:1:1: expected a formula, found end of text\n"),
        ("smokes(x)", "y", "--by: y: no free variable of smokes(x)\n  hint: it has x\n"),
        ("EXIST x smokes(x)", "x", "--by: x: no free variable of EXIST x smokes(x)\n"),
        ("*smokes(x)", "", "*smokes(x) stands for two formulas\n"),
    ],
)
def test_a_bad_formula_is_one_clear_error(folder, program, formula, by, message):
    code, out, err = program("count", formula, "first.db", "--schema", "people.mln", "--by", by)
    assert (code, out) == (1, "")
    assert err.startswith(f"error: {message}")
    assert "Traceback" not in err


def test_a_constant_that_no_database_has_is_warned_of(folder, program):
    code, out, err = program("count", "smokes(Zed)", "first.db", "--schema", "people.mln", "--json")
    assert code == 0
    assert json.loads(out)["total"] == 0
    assert err.startswith("warning: the rules name constants of type 'person' that first.db")


def test_a_constant_of_the_formula_is_counted_with_its_type(folder, program):
    code, out, _ = program(
        "count", "!smokes(x) v smokes(Zed)", "first.db", "--schema", "people.mln", "--json"
    )
    assert code == 0
    assert json.loads(out) == {"total": 2, "groundings": 3, "by": []}  # Bob and Zed of three


def test_databases_of_different_schemas_cannot_be_counted_together(folder, program):
    other = folder / "other"
    other.mkdir()
    (other / "schema.mln").write_text("likes(cat,cat)\n")
    (other / "cats.db").write_text("likes(Tom,Mia)\n")
    (folder / "people.mln").rename(folder / "schema.mln")
    code, _, err = program("count", "smokes(x)", "first.db", "other/cats.db")
    assert code == 1
    assert "error: other/cats.db does not declare the same predicates as first.db" in err


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("inspect",), ("count", "smokes(x)"), ("demo", "--fast"), ()]
)
def test_a_wrong_command_line_exits_with_2(program, arguments):
    assert program(*arguments)[0] == 2


@pytest.mark.parametrize("command", ["demo", "inspect", "count"])
def test_every_command_explains_itself_with_an_example(program, command):
    code, out, err = program(command, "--help")
    assert (code, err) == (0, "")
    assert f"Example:  mlnlearn {command}" in out


def test_version(program):
    code, out, _ = program("--version")
    assert code == 0
    assert out.startswith("mlnlearn 0.")


def test_a_failure_inside_is_not_hidden(folder, program, monkeypatch):
    monkeypatch.setattr("mlnlearn.cli.inspect.load_each", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        program("inspect", "first.db")


def test_memory_that_runs_out_is_an_error(folder, program, monkeypatch):
    def load(*_):
        raise MemoryError

    monkeypatch.setattr("mlnlearn.cli.inspect.load_each", load)
    assert program("inspect", "first.db") == (1, "", "error: out of memory\n")


def test_ctrl_c_is_met_quietly(folder):
    text = "import signal, sys\n"
    text += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    text += "import mlnlearn.cli.inspect as command, time\n"
    text += "command.load_each = lambda *_: (print('ready', flush=True), time.sleep(60))\n"
    text += "from mlnlearn.cli.main import run\n"
    text += "sys.argv = ['mlnlearn', 'inspect', 'first.db']\nrun()\n"
    with subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"")
