"""Commands that learn weights and answer queries."""

import csv
import json

import pytest

from mlnlearn.model.mln import MLN

RULES = """
smokes(person)
cancer(person)
friends(person,person)
smokes(x) => cancer(x)
friends(x,y) ^ smokes(x) => smokes(y)
"""
FACTS = """
friends(Anna,Bob)
friends(Bob,Anna)
friends(Carl,Dora)
smokes(Anna)
smokes(Bob)
cancer(Anna)
"""
EVIDENCE = """
friends(Eve,Finn)
friends(Finn,Eve)
smokes(Eve)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "rules.mln").write_text(RULES)
    (tmp_path / "one.db").write_text(FACTS)
    (tmp_path / "two.db").write_text(FACTS.replace("Anna", "Gina"))
    (tmp_path / "evidence.db").write_text(EVIDENCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def learned(program, *more):
    code, out, err = program(
        "weights", "--model", "rules.mln", "--db", "one.db", "two.db", "--out", "learned.mln", *more
    )
    assert (code, err) == (0, "")
    return out


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        ((), 5),
        (("--method", "pll"), 5),
        (("--no-units",), 2),
        (("--method", "conditional", "--query", "smokes"), 3),
        (("--method", "em"), 5),
    ],
)
def test_weights_json(folder, program, options, rules):
    found = json.loads(learned(program, "--json", *options))
    assert set(found) == {"objective", "iterations", "cpu_seconds", "rules"}
    assert found["objective"] < 0
    assert len(found["rules"]) == rules
    assert found["rules"][0]["formula"] == "smokes(x) => cancer(x)"
    saved = MLN.read(folder / "learned.mln")
    assert [rule.weight for rule in saved.rules] == [rule["weight"] for rule in found["rules"]]


def test_databases_may_be_named_one_by_one(folder, program):
    together = json.loads(learned(program, "--json"))
    code, out, _ = program(
        "weights", "--model", "rules.mln", "--db", "one.db", "--db", "two.db", "--json"
    )
    assert code == 0
    assert json.loads(out)["rules"] == together["rules"]


@pytest.mark.parametrize("method", ["auto", "exact", "gibbs", "mcsat", "bp", "map"])
def test_infer_json(folder, program, method):
    learned(program)
    code, out, _ = program(
        "infer", "--model", "learned.mln", "--db", "evidence.db", "--query", "smokes,cancer",
        "--method", method, "--samples", "2000", "--json", "--out", "answers.csv",
    )  # fmt: skip
    found = json.loads(out)
    assert code == 0
    assert set(found) == {"answers", "components", "cpu_seconds"}
    atoms = [answer["atom"] for answer in found["answers"]]
    assert atoms == ["smokes(Finn)", "cancer(Eve)", "cancer(Finn)"]
    assert all(0 <= answer["probability"] <= 1 for answer in found["answers"])
    assert {"atoms", "clauses", "method"} <= set(found["components"][0])
    with (folder / "answers.csv").open() as file:
        assert [row["atom"] for row in csv.DictReader(file)] == atoms


def test_closed_and_open_change_what_is_asked(folder, program):
    learned(program)
    ask = ("infer", "--model", "learned.mln", "--db", "evidence.db", "--query", "smokes", "--json")
    opened = json.loads(program(*ask)[1])["answers"]
    closed = json.loads(program(*ask, "--closed", "cancer")[1])["answers"]
    assert opened[0]["probability"] > closed[0]["probability"]  # no cancer: smoking less likely


def test_explain(folder, program):
    learned(program)
    code, out, _ = program(
        "explain", "--model", "learned.mln", "--db", "one.db", "--atom", "cancer(Bob)", "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert found["atom"] == "cancer(Bob)"
    total = sum(part["log_odds"] for part in found["contributions"])
    assert found["log_odds"] == pytest.approx(total)
    code, out, _ = program(
        "explain", "--model", "learned.mln", "--db", "one.db", "--atom", "cancer(Bob)"
    )
    assert code == 0
    assert "smokes(x) => cancer(x)" in out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("infer --model rules.mln --db one.db --query smokes", "needs a weight"),
        ("infer --model none.mln --db one.db --query smokes", "none.mln"),
        ("infer --model rules.mln --db one.db two.db --query smokes", "one database is needed"),
        ("weights --model rules.mln --db one.db --query smoks", "no such predicate 'smoks'"),
        ("weights --model rules.mln --db one.db --method conditional", "name the predicates"),
        ("weights --model rules.mln --db one.db --method em --l1 1", "takes neither"),
        ("explain --model rules.mln --db one.db --atom smokes(Zoe)", "Zoe"),
    ],
)
def test_bad_input_is_one_message(folder, program, command, message):
    code, out, err = program(*command.split())
    assert (code, out) == (1, "")
    assert message in err
    assert "Traceback" not in err
    assert not list(folder.glob("learned*"))


def boosted(program):
    code, _, err = program(
        "learn", "--learner", "mln-bt", "--schema", "rules.mln", "--db", "one.db", "--target",
        "smokes", "--set", "steps=2", "--out", "trees.mln",
    )  # fmt: skip
    assert code == 0, err


def test_damaged_json_beside_rules_is_an_error_that_names_it(folder, program):
    """The rules alone may be fewer than the model: they never stand in for it without a word."""
    boosted(program)
    ask = ("infer", "--model", "trees.mln", "--db", "evidence.db", "--query", "smokes")
    assert program(*ask)[0] == 0
    file = folder / "trees.json"
    whole = file.read_bytes()
    for kept in (0, 1, len(whole) // 2, len(whole) - 3):
        file.write_bytes(whole[:kept])
        code, out, err = program(*ask)
        assert (code, out) == (1, "")
        assert "trees.json" in err
        assert "damaged" in err
    file.write_bytes(b"{\xff")
    assert program(*ask)[0] == 1
    file.write_text("[1, 2]")  # a file of something else
    assert program(*ask)[0] == 0
