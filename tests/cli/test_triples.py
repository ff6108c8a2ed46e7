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


def test_a_network_is_learned_of_rules_and_asked(folder):
    model, train = folder / "best.mln", folder / "train.tsv"
    learned = json.loads(
        call("learn", "--triples", train, "--set", "epochs=1", "--out", model, "--json").stdout
    )
    weights = {rule["rule"]: rule["weight"] for rule in learned["rules"]}
    assert weights["parent_of(x,a) ^ parent_of(a,y) => grandparent_of(x,y)"] > 1.0
    head, tail = (f"p {number}" for number in GRAND[2])
    question = ("--relation", "grandparent of", "--head", head, "-k", 4, "--json")
    answers = json.loads(call("infer", "--model", model, "--triples", train, *question).stdout)
    assert tail in [answer["entity"] for answer in answers["answers"]]
    explained = call("explain", "--model", model, "--triples", train, "--triple", head, "r", tail)
    assert "a model of the learner paths" in str(explained.exception)


def test_weights_are_learned_for_rules_of_anyburl(folder):
    rules, train = folder / "anyburl.txt", folder / "train.tsv"
    lines = (
        "18\t14\t0.7\tgrandparent of(X,Y) <= parent of(X,A), parent of(A,Y)",
        "20\t3\t0.1\tgrandparent of(X,p 3) <= parent of(X,A)",
    )
    rules.write_text("\n".join(lines) + "\n")
    given = ("--triples", train, "--set", f"rules={rules}", "--set", "min_confidence=0")
    call("learn", *given, "--out", folder / "weighed.tsv", "--json")
    table = (folder / "weighed.tsv").read_text().splitlines()[1:]
    counts = {line.split("\t")[-1]: line.split("\t") for line in table}
    row = counts["grandparent of(X,Y) <= parent of(X,A), parent of(A,Y)"]
    assert row[:2] == [str(len(GRAND) - 4), str(len(GRAND))]
    assert float(row[5]) > 0
    assert call("learn", *given, "--out", folder / "weighed.mln").exit_code == 0
    assert "=> grandparent_of(x,y)" in (folder / "weighed.mln").read_text()
    refused = call("learn", *given, "--out", rules, "--force")
    assert refused.exit_code


def test_other_learners_rank_by_the_same_code(folder):
    files = [
        f"--{part}={folder / name}.tsv" for part, name in (("triples", "train"), ("test", "test"))
    ]
    settings = ("--set", "steps=5", "--set", "literals_per_node=2")
    found = json.loads(call("evaluate", *files, "--learner", "rdn-b", *settings, "--json").stdout)
    assert found["learner"] == "rdn-b"
    assert found["by_relation"]["grandparent of"]["queries"] == 4
    assert found["mrr"] > 0.3
    settings = ("--paths", 2, "--set", "steps=5", "--set", "literals_per_node=1")
    paths = json.loads(call("evaluate", *files, "--learner", "rdn-b", *settings, "--json").stdout)
    assert paths["mrr"] >= found["mrr"]
    auto = json.loads(call("evaluate", *files, "--learner", "auto", "--json").stdout)
    assert auto["learner"] == "paths"


def test_other_learners_learn_from_triples(folder):
    model, train = folder / "boosted.model", folder / "train.tsv"
    words = ("--learner", "rdn-b", "--target", "grandparent of", "--set", "steps=3")
    assert call("learn", *words, "--triples", train, "--out", model).exit_code == 0
    question = ("--relation", "grandparent of", "--head", "p 0", "-k", 3, "--json")
    answers = json.loads(call("infer", "--model", model, "--triples", train, *question).stdout)
    assert len(answers["answers"]) == 3


def test_a_boosted_model_reads_the_paths_that_stand_beside_it(folder):
    model, train = folder / "tests.model", folder / "train.tsv"
    words = ("--learner", "rdn-b", "--target", "grandparent of", "--set", "literals_per_node=1")
    words += ("--set", "steps=2", "--triples", train, "--paths", 4, "--out", model)
    assert call("learn", *words).exit_code == 0
    test = "grandparent_of_then_parent_of_1_then_parent_of(e1,e2)"
    assert f"{test} => grandparent_of(e1,e2)" in model.read_text()
    beside = folder / "tests.paths.tsv"
    rule = "grandparent of(X,Y) <= grandparent of(X,A), parent of(B,A), parent of(B,Y)"
    assert rule in beside.read_text()
    # of three children, two are known as grandchildren, and so is the third
    more = "".join(f"p 40\tparent of\tp {b}\np 40\tparent of\tp 9{b}\n" for b in range(50, 53))
    known = "".join(f"p 41\tgrandparent of\tp {b}\n" for b in range(50, 52))
    (folder / "more.tsv").write_text(train.read_text() + more + known)
    question = ("--relation", "grandparent of", "--head", "p 41", "-k", 4, "--json")
    asked = ("infer", "--model", model, "--triples", folder / "more.tsv", *question)
    answers = json.loads(call(*asked).stdout)["answers"]
    assert {answer["entity"] for answer in answers} == {"p 52", "p 950", "p 951", "p 952"}
    beside.rename(folder / "elsewhere.tsv")
    alone = call(*asked)
    assert "reads what the triples lack" in alone.stderr
    assert json.loads(alone.stdout)["answers"] != answers


def test_answers_are_written(folder):
    model, train, out = folder / "asked.tsv", folder / "train.tsv", folder / "answers.csv"
    call("learn", "--triples", train, "--set", "epochs=1", "--out", model)
    question = ("--relation", "parent of", "--head", "p 0", "-k", 3, "--out", out, "--json")
    asked = call("infer", "--model", model, "--triples", train, *question)
    first, *rows = out.read_text().splitlines()
    assert first == "entity,score,known"
    listed = json.loads(asked.stdout)["answers"]
    assert [row.split(",")[0] for row in rows] == [answer["entity"] for answer in listed]
    assert call("infer", "--model", model, "--triples", train, *question).exit_code == 0


def test_types_of_relations_can_be_given(folder):
    schema, model, train = folder / "types.mln", folder / "typed.mln", folder / "train.tsv"
    schema.write_text("parent_of(person,person)\n")
    words = ("--learner", "lsm", "--triples", train, "--max-seconds", 20, "--out", model)
    assert call("learn", *words, "--schema", schema).exit_code == 0
    assert "parent_of(person,person)" in model.read_text()
    schema.write_text("likes(person,person)\n")
    refused = call("learn", *words, "--schema", schema, "--force")
    assert "types.mln: none of these predicates is a relation" in str(refused.exception)


def test_validation_triples_reach_the_learner(folder):
    model, train = folder / "chosen.tsv", folder / "train.tsv"
    learned = call("learn", "--triples", train, "--valid", train, "--out", model)
    assert "left out of valid" in learned.stderr


def test_a_page_about_rules_and_how_they_rank(folder):
    model, train, page = folder / "page.tsv", folder / "train.tsv", folder / "page.html"
    call("learn", "--triples", train, "--set", "epochs=1", "--out", model)
    words = ("report", "--model", model, "--out", page, "--force")
    assert call(*words).exit_code == 0
    text = page.read_text()
    assert "grandparent of(X,Y) &lt;= parent of(X,A), parent of(A,Y)" in text
    assert "No triples were ranked" in text
    files = [
        f"--{part}={folder / name}.tsv"
        for part, name in (("triples", "train"), ("valid", "valid"), ("test", "test"))
    ]
    assert call(*words, *files).exit_code == 0
    text = page.read_text()
    assert "4 questions were asked" in text
    assert "Right answers among the first k" in text
    assert "--test: name the known triples" in str(call(*words, files[2]).exception)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("evaluate", "--triples", "{train}"), "no triples to rank"),
        (("evaluate", "--db", "x.db"), "--learner: name a learner"),
        (("evaluate", "--db", "x.db", "--paths", "3"), "--paths goes with --triples"),
        (
            ("evaluate", "--triples", "{train}", "--test", "{test}", "--paths", "3"),
            "such as rdn-b, not paths",
        ),
        (("evaluate", "--learner", "mbn", "--triples", "{train}", "--test", "{test}"), "a graph"),
        (("learn", "--triples", "{train}", "--db", "x.db", "--out", "m.tsv"), "--triples alone"),
        (("learn", "--triples", "{train}", "--task", "x.csv", "--out", "m.tsv"), "--triples alone"),
        (("learn", "--db", "x.db", "--valid", "{test}", "--out", "m.tsv"), "go with --triples"),
        (("learn", "--triples", "{train}", "--paths", "3", "--out", "m.tsv"), "not with paths"),
        (
            ("learn", "--learner", "msl", "--triples", "{train}", "--paths", "3", "--out", "m.mln"),
            "such as rdn-b, not msl",
        ),
        (
            ("learn", "--learner=msl", "--triples", "{train}", "--valid", "{test}", "--out=m.mln"),
            "--valid goes with the learner paths, not with msl",
        ),
        (("explain", "--model", "m.tsv", "--triples", "{train}"), "--triple HEAD RELATION TAIL"),
    ],
)
def test_what_does_not_go_together_is_said(folder, words, message):
    files = {part: folder / f"{part}.tsv" for part in ("train", "test")}
    result = call(*(word.format(**files) for word in words))
    assert result.exit_code
    assert message in str(result.exception)
