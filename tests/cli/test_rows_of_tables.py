"""Models of one column of tables: answers, reasons, a page, and tables without empty cells."""

import csv
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

TABLES = ("--tables", "shop.sqlite")
COLUMNS = {"client": "id, money, rich", "buy": "client, prod, rating"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Who has much money is rich; what costs much is good; every seventh cell is empty."""
    folder = tmp_path_factory.mktemp("shop")
    rng = random.Random(7)
    with closing(sqlite3.connect(folder / "shop.sqlite")) as file:
        file.executescript("""
            CREATE TABLE client (id TEXT PRIMARY KEY, money REAL, rich TEXT);
            CREATE TABLE prod (id INTEGER PRIMARY KEY, price INTEGER);
            CREATE TABLE buy (client TEXT REFERENCES client, prod INTEGER REFERENCES prod,
                rating TEXT, PRIMARY KEY (client, prod));""")
        for p in range(12):
            file.execute("INSERT INTO prod VALUES (?, ?)", (p, 3 * p))
        for n in range(90):
            money = round(rng.gauss(100, 30), 2)
            rich = None if n % 7 == 3 else "Y" if money > 100 else "N"
            # keys come in another order than they are sorted
            cells = (f"k{(37 * n) % 90}", money, rich)
            file.execute("INSERT INTO client VALUES (?, ?, ?)", cells)
            for p in rng.sample(range(12), 4):
                rating = None if rng.random() < 0.15 else "good" if p > 5 else "bad"
                file.execute("INSERT INTO buy VALUES (?, ?, ?)", (cells[0], p, rating))
        file.commit()
    return folder


def learned(program, shop, monkeypatch, target):
    monkeypatch.chdir(shop)
    model = f"{target}.json"
    if not Path(model).exists():
        few = ("--set", "steps=25", "--set", "rate=0.5", "--set", "max_rules=3")
        command = ("learn", "--learner", "boost", *TABLES, "--target", target, *few)
        code, _, err = program(*command, "--out", model)
        assert code == 0, err
    return model


def rows_of(path, table):
    with closing(sqlite3.connect(path)) as file:
        found = file.execute(f"SELECT {COLUMNS[table]} FROM {table}").fetchall()
    return {row[:-1]: row[-1] for row in found}


@pytest.mark.parametrize("target", ["client.rich", "buy.rating"])
def test_filled_cells_are_right_marked_and_alone_changed(shop, program, monkeypatch, target):
    model = learned(program, shop, monkeypatch, target)
    table, column = target.split(".")
    before = Path("shop.sqlite").read_bytes()
    filled = f"filled.{target}.sqlite"
    code, _, err = program("infer", "--model", model, *TABLES, "--filled", filled)
    assert code == 0, err
    assert Path("shop.sqlite").read_bytes() == before
    old, new = rows_of("shop.sqlite", table), rows_of(filled, table)
    assert all(new[key] == value for key, value in old.items() if value is not None)
    with closing(sqlite3.connect(filled)) as file:
        marks = file.execute("SELECT * FROM filled_cells").fetchall()
    empty = {key for key, value in old.items() if value is None}
    assert {mark[2] for mark in marks} == {
        key[0] if table == "client" else f"{key[0]}, {key[1]}" for key in empty
    }
    assert all(mark[0] == table and mark[3] == column and 0.5 <= mark[5] <= 1 for mark in marks)
    right = {
        key: ("Y" if key[1] > 100 else "N")
        if table == "client"
        else "good"
        if key[1] > 5
        else "bad"
        for key in empty
    }
    assert sum(new[key] == right[key] for key in empty) > 0.9 * len(empty)


def test_numbers_are_filled_in_as_numbers(shop, program, monkeypatch):
    monkeypatch.chdir(shop)
    with (
        closing(sqlite3.connect("shop.sqlite")) as file,
        closing(sqlite3.connect("n.sqlite")) as to,
    ):
        file.backup(to)
        to.execute("UPDATE client SET money = NULL WHERE id LIKE 'k4%'")
        to.commit()
    command = ("learn", "--learner", "boost", "--tables", "n.sqlite", "--target", "client.money")
    assert program(*command, "--set", "steps=2", "--out", "money.mln")[0] == 0
    command = ("infer", "--model", "money.mln", "--tables", "n.sqlite", "--filled", "m.sqlite")
    assert program(*command)[0] == 0
    with closing(sqlite3.connect("m.sqlite")) as file:
        found = file.execute("SELECT typeof(money), count(*) FROM client GROUP BY 1").fetchall()
        assert found == [("real", 90)]
        assert file.execute("SELECT max(probability) FROM filled_cells").fetchone() == (None,)


def test_tables_that_were_filled_are_read_as_tables_again(shop, program, monkeypatch):
    model = learned(program, shop, monkeypatch, "client.rich")
    if not Path("again.sqlite").exists():
        assert program("infer", "--model", model, *TABLES, "--filled", "again.sqlite")[0] == 0
    code, out, err = program("inspect", "--tables", "again.sqlite", "--json")
    assert code == 0, err
    assert "filled_cells" not in out


def test_rows_of_a_relationship_bear_the_names_of_what_they_relate(shop, program, monkeypatch):
    model = learned(program, shop, monkeypatch, "buy.rating")
    assert program("infer", "--model", model, *TABLES, "--out", "a.csv", "--force")[0] == 0
    with open("a.csv") as file:
        found = {row["row"]: row["prediction"] for row in csv.DictReader(file)}
    old = rows_of("shop.sqlite", "buy")
    assert set(found) == {f"{key[0]}, {key[1]}" for key, value in old.items() if value is None}
    right = [
        ("good" if int(row.split(", ")[1]) > 5 else "bad") == said for row, said in found.items()
    ]
    assert sum(right) > 0.9 * len(right)


def test_parquet_that_we_wrote_is_replaced_and_no_other(shop, program, monkeypatch):
    model = learned(program, shop, monkeypatch, "client.rich")
    command = ("infer", "--model", model, *TABLES, "--out")
    for _ in range(2):
        code, _, err = program(*command, "ours.parquet")
        assert code == 0, err
    found = duckdb.sql("SELECT row, probability FROM 'ours.parquet'")
    assert [str(kind) for kind in found.types] == ["VARCHAR", "DOUBLE"]
    duckdb.sql("COPY (SELECT 1 AS row) TO 'theirs.parquet'")
    before = Path("theirs.parquet").read_bytes()
    code, _, err = program(*command, "theirs.parquet")
    assert code == 1
    assert "--force" in err
    assert Path("theirs.parquet").read_bytes() == before


def test_a_row_is_explained_by_what_is_known_of_it(shop, program, monkeypatch):
    model = learned(program, shop, monkeypatch, "client.rich")
    code, out, err = program("explain", "--model", model, *TABLES, "--row", "k0", "--json")
    assert code == 0, err
    found = json.loads(out)
    atom = json.loads(
        program("explain", "--model", model, *TABLES, "--atom", 'rich("k0")', "--json")[1]
    )
    shown = program("explain", "--model", model, *TABLES, "--atom", 'rich("k0")')[1]
    assert "log-odds" in shown
    assert "groundings" not in shown  # of which trees of features have none
    yes = found["probability"] if found["answer"] == "true" else 1 - found["probability"]
    assert yes == pytest.approx(atom["probability"])
    total = sum(part["log_odds"] for part in found["contributions"])
    assert total == pytest.approx(atom["log_odds"])
    assert any("money is " in part["because"] for part in found["contributions"])
    code, _, err = program("explain", "--model", model, *TABLES, "--row", "nobody")
    assert code == 1
    assert "client has no row 'nobody'" in err


def test_a_row_is_explained_by_a_net_of_all_columns(shop, program, monkeypatch):
    monkeypatch.chdir(shop)
    code, _, err = program("learn", "--learner", "laj-dt", *TABLES, "--out", "net.json")
    assert code == 0, err
    ask = ("explain", "--model", "net.json", *TABLES, "--row", "k0")
    code, out, err = program(*ask, "--target", "buy.rating", "--json")
    assert code == 1
    assert "buy has no row 'k0'" in err
    code, out, err = program(*ask, "--target", "client.rich", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["atom"] == 'rich("k0")'
    code, out, _ = program("explain", "--model", "net.json", *TABLES, "--atom", 'rich("k0")')
    assert code == 0
    assert f"probability {found['probability']:.4f}" in out  # which no other row tells
    assert program(*ask, "--target", "client.rich")[1] == out
    for more, said in (
        ((), "--target: the model is of all columns"),
        (("--target", "client.wealthy"), "client.wealthy"),
        (("--target", "client.rich", "--task", "t.csv"), "--task"),
    ):
        code, _, err = program(*ask, *more)
        assert code == 1
        assert said in err
    model = learned(program, shop, monkeypatch, "client.rich")
    asked = ("explain", "--model", model, *TABLES, "--target", "client.rich")
    assert "leave it out" in program(*asked, "--row", "k0")[2]
    assert "--target" in program(*asked, "--atom", "rich(k0)")[2]


def test_a_page_on_a_model_of_rows(shop, program, monkeypatch):
    model = learned(program, shop, monkeypatch, "client.rich")
    code, _, err = program("report", "--model", model, *TABLES, "--out", "page.html")
    assert code == 0, err
    page = Path("page.html").read_text("utf-8")
    assert "training scores" in page
    assert "area under the ROC curve" in page
    assert "money is " in page


def test_what_cannot_be_asked_is_said_in_its_own_words(shop, program, monkeypatch):
    monkeypatch.chdir(shop)
    code, _, err = program("learn", *TABLES, "--out", "none.mln")
    assert code == 1
    assert "--target: name the column to predict" in err
    code, _, err = program("learn", *TABLES, "--target", "client.id", "--out", "none.mln")
    assert code == 1
    assert "client.id names the rows" in err
