"""Soft evidence: what a probability in front of an atom does to the answers."""

import json
import math

import pytest
from typer.testing import CliRunner

import mlnlearn as ml
from mlnlearn.cli.app import app
from mlnlearn.errors import InputErrors

NETWORK = """
wet(lawn)
next(lawn,lawn)
1.5 next(x,y) ^ wet(x) => wet(y)
0.4 wet(x)
"""
FACTS = "next(A,B)\n0.8 wet(A)\n0.25 !wet(B)\n"


@pytest.fixture
def asked(tmp_path):
    path = tmp_path / "seen.db"
    path.write_text(FACTS)
    return path


def by_hand():
    """Sum over the four worlds of two lawns."""
    total, wet = 0.0, {"wet(A)": 0.0, "wet(B)": 0.0}
    for a in (0, 1):
        for b in (0, 1):
            # next(A,B) alone is true: of the four pairs, three are satisfied whatever is wet
            chance = math.exp(1.5 * (3 + (b or not a)) + 0.4 * (a + b))
            chance *= (0.8 if a else 0.2) * (0.75 if b else 0.25)
            total += chance
            wet["wet(A)"] += a * chance
            wet["wet(B)"] += b * chance
    return {atom: value / total for atom, value in wet.items()}


def test_soft_evidence_weighs_its_atom_as_the_odds_say(asked):
    network = ml.MLN.parse(NETWORK)
    given = ml.read_evidence(asked, network.schema)
    assert [round(rule.weight, 6) for rule in given.rules] == [1.386294, 1.098612]
    model = ml.MLN(network.schema, (*network.rules, *given.rules))
    for method in ("auto", "exact"):
        answers = ml.query(model, given.database, "wet", method=method)
        assert answers.by_atom() == pytest.approx(by_hand(), abs=1e-9)


def test_an_atom_on_which_nothing_else_bears_has_the_probability_given(tmp_path):
    path = tmp_path / "seen.db"
    path.write_text("0.8 wet(A)\n")
    schema = ml.Schema.of("wet(lawn)")
    given = ml.read_evidence(path, schema)
    answers = ml.query(ml.MLN(schema, given.rules), given.database, "wet")
    assert answers.by_atom() == pytest.approx({"wet(A)": 0.8})


def test_the_program_takes_it_in_questions_alone(asked, tmp_path):
    model = tmp_path / "lawns.mln"
    model.write_text(NETWORK)
    run = CliRunner().invoke
    said = run(
        app, ["infer", "--model", str(model), "--db", str(asked), "--query", "wet", "--json"]
    )
    assert said.exit_code == 0, said.output
    found = {each["atom"]: each["probability"] for each in json.loads(said.stdout)["answers"]}
    assert found == pytest.approx(by_hand(), abs=1e-9)
    why = run(app, ["explain", "--model", str(model), "--db", str(asked), "--atom", "wet(A)"])
    assert why.exit_code == 0
    assert "+1.3863" in why.stdout
    with pytest.raises(InputErrors, match=r"soft evidence, 0\.75 wet"):
        ml.read_db(asked, schema=model)
