"""The study of LSL: a test fold has no part in the choice of its prior; tallies by hand."""

import numpy as np
import pytest

from studies import lsl_tables
from studies.lsl_data import PUBLISHED, SIGMAS, Fold
from studies.lsl_tables import chosen, inner_tasks, left_out_sums, tally_section


@pytest.fixture
def found():
    rng = np.random.default_rng(0)
    return {
        task: {"likelihood": (-100.0 * rng.random(2)).tolist()}
        for task in inner_tasks()
        if task.variant.startswith("sigma")
    }


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
    before = {(task.data, task.number): task.sigma for task in chosen(found)}
    for task, result in found.items():
        if task.data == "webkb" and number in task.left_out and task.variant == "sigma 1":
            result["likelihood"][task.left_out.index(number)] = 1e6
    after = {(task.data, task.number): task.sigma for task in chosen(found)}
    assert after["webkb", number] == before["webkb", number]
    assert all(after["webkb", other] == SIGMAS[0] for other in range(4) if other != number)


def test_tallies_leave_out_what_was_not_answered(monkeypatch):
    monkeypatch.setattr(lsl_tables, "PUBLISHED", {"webkb": PUBLISHED["webkb"]})
    good, bad = {"auc_pr": 0.9, "cll": -0.1}, {"auc_pr": 0.5, "cll": -0.1}
    scores = {
        "student": {"LSL": good, "M+LWL": bad, "MSL": None},
        "faculty": {"LSL": bad, "M+LWL": good, "MSL": bad},
        "project": {"LSL": good, "M+LWL": bad, "MSL": bad},
    }
    text = tally_section([Fold("webkb", 0)], [scores])
    assert "| webkb, LSL against tractable MSL | 3 | 3 | 9/11/0 | 2/1/0 | 13/7/0 | 0/0/3 |" in text
    assert "| webkb, LSL against MSL | 2 | 3 | 9/11/0 | 1/0/1 | 13/7/0 | 0/0/2 |" in text
