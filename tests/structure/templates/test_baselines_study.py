"""The page on the systems that the papers compare with says what was computed."""

import math

import pytest

from mlnlearn.model.mln import MLN
from studies.baselines import (
    DATA,
    LEARNERS,
    MEANS,
    SINGLE,
    TARGETS,
    clauses_of,
    lowest_row,
    row_of,
    verdict,
)


def fold(auc, cll):
    scores = {"p": {"auc_pr": auc, "cll": cll}, "q": {"auc_pr": math.nan, "cll": cll}}
    both = {"all unknown": scores, "one unknown": scores}
    return {"scores": both, "clauses": 2, "learning": 1.0, "answering": 3.0}


def test_means_are_over_predicates_then_folds():
    row = row_of("imdb: LSM", [fold(0.8, -0.1), fold(0.6, -0.3)])
    assert row[:4] == ["imdb: LSM", "2", "0.700 ± 0.141", "-0.200 ± 0.141"]
    assert row[-3:] == ["2.0", "1.0", "3.0"]
    assert row_of("one", [fold(0.8, -0.1)])[2] == "0.800"


def test_verdicts_follow_from_the_figures():
    text = verdict("imdb", "LSM", [fold(0.8, -0.23026)], (0.714, -0.191))
    assert "imdb, LSM, 1 folds: AUC-PR at or above the published one (0.800, 0.714)" in text
    assert "CLL below the published one (-0.230, -0.191) [-0.100 to base 10]" in text


def test_published_rows_are_of_learners_that_are_run():
    published = {column.partition(", ")[2] for column in MEANS.columns}
    assert {"LSM", "HGSM"} <= published & set(LEARNERS)
    assert set(DATA) <= set(MEANS.rows)
    assert set(TARGETS) <= set(SINGLE.rows)


def test_the_lowest_of_all_folds_is_told_apart():
    row = lowest_row("imdb: LSM", [fold(0.8, -0.1), fold(0.6, -0.4)])
    assert row == ["imdb: LSM", "2", "p", "-0.400", "-0.200"]


def test_unit_clauses_are_not_counted():
    mln = MLN.parse("p(t)\nq(t)\n1.0 p(x)\n1.0 q(x)\n0.5 p(x) v !q(x)\n")
    assert clauses_of(mln) == pytest.approx(1)
