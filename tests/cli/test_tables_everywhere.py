"""Tables with every command: what one learned from them, the others read in the same way."""

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import mlnlearn as ml

ROWS = 80


@pytest.fixture
def bank(tmp_path, monkeypatch):
    """A file with what stops simple readers; those with much money smoke."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    with closing(sqlite3.connect("bank.sqlite")) as file:
        file.executescript("""
            CREATE TABLE client (id INTEGER PRIMARY KEY, "Geld (€)" REAL, smokes BOOLEAN,
                photo BLOB, town TEXT);
            CREATE TABLE visit (client INTEGER REFERENCES client, at DATE, mood TEXT);""")
        for n in range(ROWS):
            money = round(float(rng.normal(100, 30)), 2)
            town = str(rng.choice(["Brno", "Linz"]))
            cells = (n, None if n % 9 == 1 else money, money > 100, b"x", town)
            file.execute("INSERT INTO client VALUES (?, ?, ?, ?, ?)", cells)
            for _ in range(rng.integers(3)):
                day = f"2024-0{rng.integers(1, 10)}-11"
                mood = str(rng.choice(["good", "bad"]))
                file.execute("INSERT INTO visit VALUES (?, ?, ?)", (n, day, mood))
        file.commit()
    return tmp_path


TABLES = ("--tables", "bank.sqlite")


def check_answers(program):
    code, _, err = program("infer", "--model", "m.json", *TABLES, "--out", "a.csv")
    assert code == 0, err
    with open("a.csv") as file:
        found = {row["atom"]: float(row["probability"]) for row in csv.DictReader(file)}
    assert len(found) == ROWS
    database, _ = ml.from_sql("bank.sqlite")
    smokers = {f"smokes({name})" for (name,) in database.rows("smokes")}
    yes = np.mean([p for atom, p in found.items() if atom in smokers])
    no = np.mean([p for atom, p in found.items() if atom not in smokers])
    assert yes > no + 0.2


@pytest.mark.parametrize("learner", ["mln-bt", "boost"])
def test_a_boosted_model_of_tables_answers_explains_and_is_reported(bank, program, learner):
    settings = ("--set", "steps=3", "--set", "max_constants=10") if learner == "mln-bt" else ()
    code, _, err = program(
        "learn",
        "--learner",
        learner,
        *TABLES,
        "--target",
        "client.smokes",
        "--out",
        "m.json",
        *settings,
    )
    assert code == 0, err
    # how tables are read is kept: in the model, or beside it
    kept = ml.load_model("m.json")
    assert Path("m.toml").exists() == (getattr(kept, "mapping", None) is None)
    if learner == "mln-bt":
        check_answers(program)
    code, out, err = program(
        "explain", "--model", "m.json", *TABLES, "--atom", "smokes(3)", "--json"
    )
    assert code == 0, err
    assert 0 < json.loads(out)["probability"] < 1
    if learner == "mln-bt":
        code, _, err = program("report", "--model", "m.json", *TABLES, "--out", "page.html")
        assert code == 0, err


def test_rules_with_bands_get_weights_and_answer(bank, program):
    code, _, err = program("convert", *TABLES, "--out", "all.db")
    assert code == 0, err
    assert len(Path("all.db").read_text()) < 30_000  # five bands for an empty cell
    with closing(sqlite3.connect("bank.sqlite")) as file:
        file.execute('DELETE FROM client WHERE "Geld (€)" IS NULL')
        file.execute("DELETE FROM visit WHERE client NOT IN (SELECT id FROM client)")
        file.commit()
    code, _, err = program("convert", *TABLES, "--out", "bank.db")
    assert code == 0, err
    declared = Path("bank.mln").read_text()
    assert 'geld_value = {"(-inf,' in declared
    bands = next(line for line in declared.splitlines() if line.startswith("geld_value = "))
    top = bands.split('"')[-2]
    Path("rules.mln").write_text(f'{declared}\n0 Geld(c,"{top}") ^ smokes(c)\n0 smokes(c)\n')
    command = ("weights", "--model", "rules.mln", "--out", "learned.mln")
    assert program(*command, *TABLES)[0] == 0
    from_tables = ml.load_model("learned.mln").weights
    assert program(*command, "--db", "bank.db", "--force")[0] == 0
    assert np.allclose(from_tables, ml.load_model("learned.mln").weights, atol=1e-4)
    assert from_tables[0] > 1
    code, out, err = program(
        "explain", "--model", "learned.mln", *TABLES, "--atom", "smokes(3)", "--json"
    )
    assert code == 0, err
    assert 0 < json.loads(out)["probability"] < 1
    # whom the tables do not call a smoker is none, and asked about
    code, out, err = program(
        "infer", "--model", "learned.mln", *TABLES, "--query", "smokes", "--json"
    )
    assert code == 0, err
    database, _ = ml.from_sql("bank.sqlite")
    silent = database.size("client") - database.count("smokes")
    assert len(json.loads(out)["answers"]) == silent


def test_learners_of_constants_are_evaluated_on_bands(bank, program):
    code, out, err = program(
        "evaluate", "--learner", "mbn", *TABLES, "--query", "smokes", "--parts", "2", "--json"
    )
    assert code == 0, err
    assert "auc_roc" in out


def test_data_twice_or_not_at_all(bank, program):
    Path("rules.mln").write_text("smokes(client)\n1 smokes(c)\n")
    for command in (
        ["weights"],
        ["explain", "--atom", "smokes(1)"],
        ["infer", "--query", "smokes"],
    ):
        code, _, err = program(*command, "--model", "rules.mln", *TABLES, "--db", "x.db")
        assert code == 1
        assert "not both" in err or "--db or with --tables" in err
