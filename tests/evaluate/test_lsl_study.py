"""The study of LSL: a test fold has no part in the choice of its settings; tallies by hand."""

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from studies import lsl_tables
from studies.lsl_data import CHOICES, Asked, Fold, Inner
from studies.lsl_tables import (
    MIXTURE,
    chosen,
    inner_tasks,
    left_out_sums,
    mixed,
    tally_section,
    why_section,
)
from studies.lsl_why import is_growing, numbers


@pytest.fixture
def found():
    rng = np.random.default_rng(0)
    return {task: {"likelihood": (-100.0 * rng.random(2)).tolist()} for task in inner_tasks()}


def test_sums_are_over_the_training_folds(found):
    sums = left_out_sums(found, "webkb", "sigma 1")
    webkb = {
        t.left_out: r["likelihood"]
        for t, r in found.items()
        if (t.data, t.variant) == ("webkb", "sigma 1")
    }
    assert sums[0] == pytest.approx(webkb[0, 1][1] + webkb[0, 2][1] + webkb[0, 3][1])
    assert sums[2] == pytest.approx(webkb[0, 2][0] + webkb[1, 2][0] + webkb[2, 3][1])
    assert len(sums) == 4


@pytest.mark.parametrize("number", range(4))
def test_a_test_fold_has_no_part_in_its_choice(found, number):
    first = CHOICES["webkb"][0]
    before = {(task.data, task.number): task.variant for task in chosen(found)}
    for task, result in found.items():
        if task.data == "webkb" and number in task.left_out and task.variant == first:
            result["likelihood"][task.left_out.index(number)] = 1e6
    after = {(task.data, task.number): task.variant for task in chosen(found)}
    assert after["webkb", number] == before["webkb", number]
    assert all(after["webkb", other] == first for other in range(4) if other != number)


def test_a_mixture_is_of_the_variants_to_choose_from(found):
    one, other = (found[Inner("webkb", (0, 1), variant)] for variant in CHOICES["webkb"])
    one["likelihood"], other["likelihood"] = [-100.0, -700.0], [-103.0, -600.0]
    together = mixed(found)[Inner("webkb", (0, 1), MIXTURE)]["likelihood"]
    half = np.log(0.5)
    assert together == pytest.approx([-100 + np.log1p(np.exp(-3)) + half, -600 + half])


def test_what_is_only_compared_is_never_chosen(found):
    for task, result in found.items():
        if task.variant not in CHOICES[task.data]:
            result["likelihood"] = [1e6, 1e6]
    assert all(task.variant in CHOICES[task.data] for task in chosen(found))


def scored(auc, cll, mean_field=False):
    return {"auc_pr": auc, "cll": cll, "mean field": mean_field}


def test_tallies_leave_out_what_was_not_answered(monkeypatch):
    monkeypatch.setattr(lsl_tables, "FOLDS", {"webkb": 4})
    good, bad = scored(0.9, -0.1), scored(0.5, -0.1, mean_field=True)
    scores = {
        "student": {"LSL": good, "M+LWL": bad, "MSL": None, "B+LWL": bad, "BUSL": good},
        "faculty": {"LSL": bad, "M+LWL": good, "MSL": bad, "B+LWL": bad, "BUSL": good},
        "project": {"LSL": good, "M+LWL": bad, "MSL": bad, "B+LWL": good, "BUSL": good},
    }
    text = tally_section([Fold("webkb", 0)], [scores])
    line = "| webkb, LSL against tractable MSL | 3 | 3 | 3 | 9/11/0 | 2/1/0 | 13/7/0 | 0/0/3 |"
    assert line in text
    assert "| webkb, LSL against MSL | 2 | 3 | 2 | 9/11/0 | 1/0/1 | 13/7/0 | 0/0/2 |" in text
    assert "| webkb, LSL against BUSL | 3 | 3 | 1 | 15/5/0 | 0/1/2 | 16/4/0 | 0/0/3 |" in text


def test_losses_are_counted_with_both_priors():
    asked = [Asked("uwcse_lsl", number, {}) for number in range(2)]
    scores = [
        {"ta": {"LSL": scored(0.5, -0.3), "M+LWL": scored(0.5, -0.1)}},
        {"ta": {"LSL": scored(0.5, -0.3), "M+LWL": scored(0.5, -0.3)}},
    ]
    wide = [{"ta": {"LSL": scored(0.5, -0.05)}}, {"ta": {"LSL": scored(0.5, -0.4)}}]
    text = why_section(asked, scores, [{"likelihood": -1.0}, {"likelihood": -2.0}], wide)
    assert "| ta | -0.2000 | -0.3000 | 0/1/1 | -0.2250 | 1/1/0 |" in text
    assert "loses 1 queries in place of 1" in text
    assert "-1.0, -2.0" in text


def test_expected_numbers_of_atoms_are_those_of_the_network():
    """Of ten independent atoms, a quarter of one predicate and half of the other."""
    schema = Schema.of("p(t)", "q(t)")
    mln = MLN.parse(f"{schema}\n{np.log(1 / 3)} p(x)\n0.0 q(x)")
    database = Database.from_facts(
        schema, {"p": [("A",)], "q": []}, domains={"t": [f"{c}" for c in "ABCDEFGHIJ"]}
    )
    found = numbers([database, database], {"PLL": mln})
    assert found["p"] == {"true": 2, "PLL": pytest.approx(5.0)}
    assert found["q"] == {"true": 0, "PLL": pytest.approx(10.0)}


def test_clauses_that_grow_with_a_domain_are_told_apart():
    mln = MLN.parse("p(t)\nr(t,t)\n1 !p(x) v r(x,y)\n1 !r(x,y) v p(x)")
    assert [is_growing(rule) for rule in mln.rules] == [True, False]
