"""The page on the systems that the papers compare with says what was computed."""

import math

import pytest

from mlnlearn.model.mln import MLN
from studies.baselines import (
    FOLDS,
    LEARNERS,
    PUBLISHED,
    PUBLISHED_TARGET,
    clauses_of,
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
    text = verdict("imdb", "LSM", [fold(0.8, -0.23026)], (0.714, -0.191, 1.23))
    assert "1 of 5 folds: AUC-PR at or above the published one (0.800, 0.714)" in text
    assert "CLL below the published one (-0.230, -0.191) [-0.100 to base 10]" in text


def test_published_rows_are_of_learners_that_are_run():
    assert {label for _, label in PUBLISHED} <= set(LEARNERS)
    assert {data for data, _ in (*PUBLISHED, *PUBLISHED_TARGET)} == set(FOLDS)


def test_unit_clauses_are_not_counted():
    mln = MLN.parse("p(t)\nq(t)\n1.0 p(x)\n1.0 q(x)\n0.5 p(x) v !q(x)\n")
    assert clauses_of(mln) == pytest.approx(1)
