"""The command line on triples: learn, evaluate, infer and explain."""

import json

import pytest
from typer.testing import CliRunner

from mlnlearn.cli.app import app

PARENTS = [(a, b) for a in range(30) for b in (2 * a + 1, 2 * a + 2) if b < 30]
GRAND = [(a, c) for a, b in PARENTS for b2, c in PARENTS if b == b2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("triples")
    rows = [f"p {a}\tparent of\tp {b}\n" for a, b in PARENTS]
    rows += [f"p {a}\tgrandparent of\tp {c}\n" for a, c in GRAND[4:]]
    (path / "train.tsv").write_text("".join(rows))
    for name, pairs in (("valid", GRAND[:2]), ("test", GRAND[2:4])):
        lines = [f"p {a}\tgrandparent of\tp {c}\n" for a, c in pairs]
        (path / f"{name}.tsv").write_text("".join(lines))
    return path


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=True)


def test_evaluate_gives_the_metrics_as_json(folder):
    files = [
        f"--{part}={folder / name}.tsv"
        for part, name in (("triples", "train"), ("valid", "valid"), ("test", "test"))
    ]
    found = json.loads(call("evaluate", *files, "--json").stdout)
    assert found["hits_at_10"] == 1.0
    assert {"mrr", "hits_at_1", "hits_at_3", "by_relation", "cpu_seconds", "peak_mb"} <= set(found)
    assert found["by_relation"]["grandparent of"]["queries"] == 4
    shown = call("evaluate", *files, "--set", "aggregation=maximum").stdout
    assert "grandparent of" in shown


def test_learn_infer_and_explain(folder):
    model, train = folder / "model.tsv", folder / "train.tsv"
    learned = call("learn", "--learner", "paths", "--triples", train, "--out", model)
    assert "grandparent of(X,Y) <= parent of(X,A), parent of(A,Y)" in " ".join(
        learned.stdout.split()
    )
    head, tail = (f"p {number}" for number in GRAND[2])
    asked = ("--model", model, "--triples", train, "--json")
    question = ("--relation", "grandparent of", "--head", head, "-k", 4)
    answers = json.loads(call("infer", *asked, *question).stdout)["answers"]
    assert len(answers) == 4
    assert tail in [answer["entity"] for answer in answers]
    reasons = call("explain", *asked, "--triple", head, "grandparent of", tail).stdout
    explained = json.loads(reasons)
    assert not explained["known"]
    assert any(
        path[0] == head and path[-1] == tail for r in explained["reasons"] for path in r["paths"]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("evaluate", "--triples", "{train}"), "no triples to rank"),
        (("evaluate", "--db", "x.db"), "--learner: name a learner"),
        (("learn", "--learner", "gslp", "--triples", "{train}", "--out", "m.mln"), "paths"),
        (("explain", "--model", "m.tsv", "--triples", "{train}"), "--triple HEAD RELATION TAIL"),
    ],
)
def test_what_does_not_go_together_is_said(folder, words, message):
    result = call(*(word.format(train=folder / "train.tsv") for word in words))
    assert result.exit_code
    assert message in str(result.exception)
