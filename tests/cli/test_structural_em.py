"""Structural EM on the command line: learn from unknown atoms, and ask with unknown evidence."""

import json

import pytest

import mlnlearn as ml
from mlnlearn.data.synthetic import hide, smokers


@pytest.fixture
def folder(tmp_path, monkeypatch):
    whole = smokers(40, rng=1).databases[0]
    part = hide(whole, "smokes", 0.4, rng=2)
    lines = [
        f"{p.name}({','.join(row)})" for p in part.schema.predicates for row in part.rows(p.name)
    ]
    hidden = part.decode("smokes", part.unknown_facts("smokes"))
    lines += [f"?smokes({name})" for (name,) in hidden]
    (tmp_path / "people.db").write_text("\n".join(lines) + "\n")
    names = ", ".join(whole.domains["person"].names)
    declared = "\n".join(map(str, whole.schema.predicates))
    (tmp_path / "schema.mln").write_text(f"person = {{{names}}}\n{declared}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def learned(program, *more):
    return program(
        "learn", "--schema", "schema.mln", "--db", "people.db", "--target", "cancer", "--out",
        "model.mln", "--set", "iterations=2", "--set", "max_leaves=2", *more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("learner", "base"),
    [("sem", "mln-bt"), ("sem", "mln-bc"), ("sem", "rdn-b"), ("h-sem", "mln-bt")],
)
def test_learn_and_ask(folder, program, learner, base):
    code, out, err = learned(
        program, "--learner", learner, "--base", base, "--set", "worlds=4", "--json",
        "--checkpoint", "run.json", "--seed", "3",
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(out)["learner"] == learner
    model = ml.BoostedModel.load("model.json")
    assert [rules.predicate.name for rules in model.targets] == ["cancer", "smokes"]
    assert model.existential == (base == "rdn-b")
    assert model.steps == 4
    header = (folder / "run.json").read_text().splitlines()[0].partition(" ")[2]
    assert json.loads(header)["settings"]["seed"] == "3"
    code, out, err = program(
        "infer", "--model", "model.mln", "--db", "people.db", "--schema", "schema.mln", "--query",
        "smokes", "--json",
    )  # fmt: skip
    assert code == 0, err
    asked = {row["atom"] for row in json.loads(out)["answers"]}
    lines = (folder / "people.db").read_text().splitlines()
    assert asked == {line[1:] for line in lines if line.startswith("?")}


def test_settings_of_both_are_listed(program):
    code, out, _ = program("learn", "--learner", "sem", "--base", "rdn-b", "--settings")
    assert code == 0
    assert "worlds" in out
    assert "max_leaves" in out


def test_bases_that_make_no_sense(folder, program):
    code, _, err = learned(program, "--learner", "sem", "--base", "gslp")
    assert (code, "mln-bt" in err) == (1, True)
    code, _, err = learned(program, "--learner", "msl", "--base", "rdn-b")
    assert (code, "not built on another" in err) == (1, True)


def test_steps_are_refused_where_they_would_not_count(folder, program):
    code, _, err = learned(program, "--learner", "sem", "--set", "steps=3")
    assert (code, "trees_per_step" in err) == (1, True)
