"""How many rules a short list has: as many as held-out examples gain by."""

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.logic.schema import Schema
from mlnlearn.model.relational import trees
from mlnlearn.model.relational.rules import Condition
from mlnlearn.structure.relational_boosting.distil import (
    DistilSettings,
    _with_fewer_names,
    distil,
    rule_bodies,
    taken_rules,
)
from mlnlearn.structure.relational_boosting.learner import RelationalBoost


def _one_cause(seed, rows=400):
    """People who leave where one of twenty answers is yes, mostly."""
    rng = np.random.default_rng(seed)
    schema = Schema.of("leaves(person,flag!)", *(f"q{n}(person,answer{n}!)" for n in range(20)))
    answers = rng.random((20, rows)) < 0.5
    leaves = rng.random(rows) < np.where(answers[7], 0.9, 0.1)
    facts = {"leaves": [(f"p{n}", "Yes" if one else "No") for n, one in enumerate(leaves)]}
    for number, column in enumerate(answers):
        facts[f"q{number}"] = [(f"p{n}", "A" if one else "B") for n, one in enumerate(column)]
    return Database.from_facts(schema, facts)


def test_one_cause_is_one_rule():
    for seed in range(3):
        model = RelationalBoost(target="leaves").fit(_one_cause(seed)).model
        assert len(model.listed.rules) <= 2
        assert "q7" in str(model.listed.rules[0].conditions[0])
        assert model.listed.kept > 0.9


@pytest.fixture
def runs(monkeypatch):
    """The runs that lists are made of from here on."""
    runs = []

    def noted(run, seed):
        runs.append(run)
        return rule_bodies(run, seed)

    monkeypatch.setattr("mlnlearn.structure.relational_boosting.learner.rule_bodies", noted)
    return runs


def _run_by_town(runs, towns, lives):
    """The run of a learner told who leaves, and in which of so many towns each lives, if known."""
    rng = np.random.default_rng(0)
    leaves = rng.random(len(lives)) < np.where(np.arange(len(lives)) % towns == 1, 0.9, 0.1)
    facts = {
        "leaves": [(f"p{n}", "Yes" if one else "No") for n, one in enumerate(leaves)],
        "lives": [(f"p{n}", town) for n, town in enumerate(lives) if town],
    }
    schema = Schema.of("leaves(person,flag!)", "lives(person,town!)")
    RelationalBoost(target="leaves").fit(Database.from_facts(schema, facts))
    run = runs[-1]
    (feature,) = (one for one in run.table.features if str(one) == "lives")
    return run, feature


def _same_rows(run, one, other):
    first, second = (run.passes(c.test, run.rows) == c.holds for c in (one, other))
    return (first == second).all()


@pytest.mark.parametrize("rare", [False, True])
def test_all_names_but_one_are_said_by_that_one_if_no_example_has_another(runs, rare):
    lives = [f"T{n % 8}" for n in range(400)]
    if rare:
        lives[0] = "Hamlet"
    run, feature = _run_by_town(runs, 8, lives)
    given = Condition(trees.Test(feature, None, tuple(f"T{n}" for n in range(8) if n != 5)), False)
    found = _with_fewer_names(run, given)
    said = "lives is not T0, T1, T2, T3, T4, T6 or T7" if rare else "lives is T5"
    assert str(found).startswith(said)
    assert _same_rows(run, given, found)
    assert (run.passes(given.test, run.rows) == given.holds).sum() == 50 + rare


@pytest.mark.parametrize(
    ("towns", "given", "holds", "said"),
    [
        (3, "12", True, "lives is T1 or T2"),  # rather than that it is not T0
        (4, "12", True, "lives is T1 or T2"),
        (4, "123", True, "lives is not T0"),
        (5, "123", True, "lives is T1, T2 or T3"),
        (6, "1235", True, "lives is not T0 or T4"),
        (2, "1", False, "lives is not T1"),
        (3, "12", False, "lives is T0"),
        (3, "0", False, "lives is not T0"),
    ],
)
@pytest.mark.parametrize("unknown", [False, True])
def test_what_a_value_is_is_said_unless_what_it_is_not_is_clearly_shorter(
    runs, towns, given, holds, said, unknown
):
    lives = [f"T{n % towns}" if n % 11 else "" for n in range(440)]
    run, feature = _run_by_town(runs, towns, lives)
    names = tuple(f"T{name}" for name in given)
    condition = Condition(trees.Test(feature, None, names, unknown == holds), holds)
    found = _with_fewer_names(run, condition)
    assert str(found) == said + " (or not known)" * unknown
    assert _same_rows(run, condition, found)


def test_rules_that_are_taken_have_the_scores_that_their_list_has(runs):
    RelationalBoost(target="leaves").fit(_one_cause(0))
    run = runs[-1]
    settings = DistilSettings(6, 1.0, 0, ("No", "Yes"))
    own = rule_bodies(run, 0)
    taken, listed = taken_rules(run, settings, own), distil(run, settings, own)
    *_, last = taken.scores(run, run.rows)
    expected = np.repeat([listed.start], len(run.rows), axis=0)
    for rule in listed.rules:
        covered = np.ones(len(run.rows), bool)
        for condition in rule.conditions:
            covered &= run.passes(condition.test, run.rows) == condition.holds
        expected[covered] += rule.weights
    np.testing.assert_allclose(last, expected, atol=1e-12)
    assert len(list(taken.scores(run, run.rows))) == len(listed.rules) + 1
