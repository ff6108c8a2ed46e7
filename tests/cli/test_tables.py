"""Tables on the command line: what they are, rules from them, and their empty cells."""

import csv
import json
import sqlite3
from contextlib import closing

import pytest

import mlnlearn as ml
from mlnlearn.cli.progress import Reporter
from mlnlearn.structure.join_bayes.ges import greedy_equivalence_search

ROWS = 60


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Persons with jobs; some pay is not known, and some persons came late."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    with closing(sqlite3.connect("shop.sqlite")) as connection:
        connection.executescript("""
            CREATE TABLE person (id TEXT PRIMARY KEY, sex TEXT, since INTEGER);
            CREATE TABLE job (id TEXT PRIMARY KEY, pay TEXT);
            CREATE TABLE works (person TEXT REFERENCES person, job TEXT REFERENCES job,
                                PRIMARY KEY (person, job));
        """)
        people = [(f"P{i}", "fm"[i % 2], 2000 + i // 10) for i in range(ROWS)]
        jobs = [(f"J{i}", None if i % 7 == 0 else ["low", "high"][i % 2]) for i in range(30)]
        connection.executemany("INSERT INTO person VALUES (?, ?, ?)", people)
        connection.executemany("INSERT INTO job VALUES (?, ?)", jobs)
        links = [(f"P{i}", f"J{i % 30}") for i in range(ROWS)]
        connection.executemany("INSERT INTO works VALUES (?, ?)", links)
        connection.commit()
    (tmp_path / "map.toml").write_text('person.time = "since"\n')
    return tmp_path


def learned(*more, out="m.mln", learner="laj-dt"):
    return (
        "learn", "--learner", learner, "--tables", "shop.sqlite", "--mapping", "map.toml",
        "--out", out, *more,
    )  # fmt: skip


@pytest.mark.parametrize("source", ["shop.sqlite", "sqlite:///shop.sqlite"])
def test_what_is_in_tables(shop, program, source):
    code, out, _ = program("inspect", "--tables", source)
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["works", "relationship", f"{ROWS}", "links"] in lines
    assert next(line for line in lines if line[:1] == ["pay"])[-1] == "5"  # empty
    code, out, _ = program("inspect", "--tables", source, "--verbose")
    assert "possible" in out
    code, out, _ = program("inspect", "--tables", source, "--json")
    found = json.loads(out)
    assert found["mapping"][0]["works"]["kind"] == "relationship"
    empty = {(c["table"], c["column"]): c["empty"] for c in found["columns"] if c["empty"]}
    assert 5 in empty.values()
    assert found["databases"][0]["predicates"]["works"] == ROWS


def test_a_mapping_is_written_and_used_again(shop, program):
    code, _, _ = program("inspect", "--tables", "shop.sqlite", "--write-mapping", "written.toml")
    assert code == 0
    with open("written.toml") as file:
        text = file.read()
    assert "[works]" in text
    assert 'columns.pay = { as = "value"' in text
    _, first, _ = program("inspect", "--tables", "shop.sqlite", "--json")
    _, again, _ = program(
        "inspect", "--tables", "shop.sqlite", "--mapping", "written.toml", "--json"
    )
    assert json.loads(first)["mapping"] == json.loads(again)["mapping"]
    code, _, err = program("inspect", "--tables", "shop.sqlite", "--write-mapping", "shop.sqlite")
    assert code != 0
    assert "shop.sqlite" in err


def test_only_rows_up_to_a_time(shop, program):
    command = ("inspect", "--tables", "shop.sqlite", "--until", "2002")
    code, out, _ = program(*command, "--time-column", "person.since")
    assert code == 0
    assert "30 of 60 rows are used" in out
    assert ["since", "left", "out"] in [line.split()[:3] for line in out.splitlines()]
    assert program(*learned("--until", "2002", "--json"))[0] == 0
    assert ml.JoinBayesModel.load("m.json").mapping["person"].until == "2002"
    # a model that knows only the past is asked about all of it
    code, out, _ = program("infer", "--model", "m.mln", "--tables", "shop.sqlite", "--json")
    assert len(json.loads(out)["answers"]) == 10


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("inspect --tables shop.sqlite --until 2002", "no table has a time column"),
        ("inspect --tables shop.sqlite --until x --time-column person.since", "expected a date"),
        ("inspect --tables shop.sqlite --time-column person.since", "up to when?"),
        ("inspect --tables shop.sqlite --until 1 --time-column since", "expected TABLE.COLUMN"),
        ("inspect shop.sqlite --until 1 --time-column a.b", "--until: give the data with --tables"),
        ("inspect --tables nothing.sqlite", "nothing.sqlite: no such file or folder"),
        ("inspect --tables mysql://u:hush@h/x", "no databases with addresses mysql://"),
        ("inspect --tables shop.sqlite --schema map.toml", "is no schema for tables"),
        ("learn --learner gslp --db a.db --until 1 --out m", "--until: give the data with"),
        ("infer --model rules.mln --tables shop.sqlite", "--query: name the predicates"),
        ("infer --model m.mln --tables shop.sqlite --db a.db", "goes with none of --db"),
        ("infer --model m.mln --tables shop.sqlite --query hair", "no attribute 'hair'"),
        ("infer --model m.mln --tables shop.sqlite --filled shop.sqlite", "nothing is overwritten"),
        ("infer --model m.mln --db a.db --query sex --filled x", "--filled goes with --tables"),
        ("infer --model m.mln --db a.db", "--query: name the predicates"),
        ("report --model m.mln", "give the data with --db or with --tables"),
    ],
)
def test_faults(shop, program, command, message):
    program(*learned())
    (shop / "rules.mln").write_text("smokes(person)\n1 smokes(x)\n")
    before = (shop / "shop.sqlite").read_bytes()
    code, _, err = program(*command.split())
    assert code == 1
    assert message in err
    assert "hush" not in err
    assert (shop / "shop.sqlite").read_bytes() == before


@pytest.mark.parametrize("learner", ["laj-dt", "mbn"])
def test_empty_cells_are_filled(shop, program, learner):
    assert program(*learned(learner=learner))[0] == 0
    command = ("infer", "--model", "m.mln", "--tables", "shop.sqlite")
    code, out, _ = program(*command, "--out", "p.csv", "--filled", "new.sqlite")
    assert code == 0
    assert "5 empty cells" in out
    with open("p.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    chances = {row["atom"]: float(row["probability"]) for row in rows}
    with closing(sqlite3.connect("new.sqlite")) as new:
        filled = dict(new.execute("SELECT id, pay FROM job"))
        assert new.execute("SELECT count(*) FROM works").fetchone() == (ROWS,)
    with closing(sqlite3.connect("shop.sqlite")) as old:
        known = dict(old.execute("SELECT id, pay FROM job"))
    for job, pay in known.items():
        if pay is None:
            both = {value: chances[f'pay({job},"{value}")'] for value in ("high", "low")}
            assert sum(both.values()) == pytest.approx(1)
            assert filled[job] == max(both, key=both.get) == ["low", "high"][int(job[1:]) % 2]
        else:
            assert filled[job] == pay
    code, out, _ = program(*command, "--json", "--query", "pay", "--filled", "folder")
    assert {a["atom"]: a["probability"] for a in json.loads(out)["answers"]} == pytest.approx(
        chances
    )
    assert (shop / "folder" / "schema.sql").is_file()
    code, out, _ = program("infer", "--model", "m.mln", "--tables", "folder")
    assert "0 empty cells" in out


def test_changed_rules_are_a_network_and_no_longer_the_model(shop, program):
    assert program(*learned())[0] == 0
    text = (shop / "m.mln").read_text()
    (shop / "m.mln").write_text(text + '\n1 sex(x,"f")\n')
    code, _, err = program("infer", "--model", "m.mln", "--tables", "shop.sqlite")
    assert code == 1
    assert "--query: name the predicates" in err
    filled = ("--filled", "x.sqlite")
    code, _, err = program("infer", "--model", "m.mln", "--tables", "shop.sqlite", *filled)
    assert code == 1
    assert "one that laj-dt or mbn learned" in err
    assert program("infer", "--model", "m.json", "--tables", "shop.sqlite")[0] == 0


@pytest.mark.parametrize("learner", ["laj-dt", "mbn"])
def test_an_interrupted_run_goes_on_to_the_same_files(shop, program, monkeypatch, learner):
    searches = []
    place = "mlnlearn.structure.join_bayes.lattice.greedy_equivalence_search"

    def counted(*given, **more):
        searches.append(given)
        return greedy_equivalence_search(*given, **more)

    monkeypatch.setattr(place, counted)
    assert program(*learned(out="whole.mln", learner=learner))[0] == 0
    whole = len(searches)
    stages = []

    def interrupt(self, progress):
        stages.append((progress.stage, progress.done, progress.total))
        if progress.stage == "relationships":
            raise KeyboardInterrupt

    command = learned("--checkpoint", "run.jsonl", out="resumed.mln", learner=learner)
    with monkeypatch.context() as patch:
        patch.setattr(Reporter, "__call__", interrupt)
        code, out, err = program(*command)
    assert (code, out) == (130, "")
    assert stages == [("tables", 1, 2), ("tables", 2, 2), ("relationships", 1, 1)]
    assert "run the same command again to go on from run.jsonl" in err
    kept = (shop / "run.jsonl").read_text().splitlines()
    assert len(kept) == 4  # what it belongs to, two tables and a relationship
    searches.clear()
    assert program(*command)[0] == 0
    # of the three that were kept, one had nothing open and was never searched for
    assert len(searches) == whole - 2
    for suffix in ("mln", "json"):
        assert (shop / f"resumed.{suffix}").read_bytes() == (shop / f"whole.{suffix}").read_bytes()
    # other rules on the same net go on from it, another net does not
    assert program(*command, "--set", "sigma=2")[0] == 0
    code, _, err = program(*command, "--set", "sample_size=3")
    assert code == 1
    assert "other settings: sample_size was 10.0, is 3.0" in err


def test_a_report_of_tables(shop, program):
    assert program(*learned())[0] == 0
    command = ("report", "--model", "m.mln", "--tables", "shop.sqlite", "--query", "pay")
    assert program(*command, "--out", "r.html")[0] == 0
    page = (shop / "r.html").read_text()
    assert "Bayes net" in page
    assert "leaves" in page
