"""Parts of the studies of the papers' tables that no table shows when they are wrong."""

from types import SimpleNamespace

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import disjunctive, hide
from mlnlearn.logic.schema import Schema
from studies.gslp_answers import within
from studies.gslp_runs import SAMPLING
from studies.khot2011_systems import ASKED, TEST_SETS, column_of
from studies.laj_tables import attribute_section, beside_published, by_instance
from studies.papers import absent_systems
from studies.published import tables
from studies.sample_systems import empty_cells, published_row, row_of, scored
from studies.structural_em import verdict
from studies.structural_em_recursion import HIDDEN, whole_objects


def prediction(logs, truth):
    node = SimpleNamespace(size=2)
    known = np.array(truth) < 2
    rows = np.array(logs)[known]
    picked = rows[np.arange(known.sum()), np.array(truth)[known]]
    right = (rows.argmax(axis=1) == np.array(truth)[known]).mean()
    return SimpleNamespace(
        node=node,
        log_probabilities=np.array(logs),
        truth=np.array(truth),
        accuracy=float(right),
        cll=float(picked.mean()),
    )


def test_by_instance_every_value_counts_alike():
    often = prediction(np.log([[0.9, 0.1]] * 3), [0, 0, 0])
    once = prediction(np.log([[0.9, 0.1], [0.5, 0.5]]), [1, 2])  # the second is unknown
    accuracy, cll = by_instance({"often": often, "once": once})
    assert accuracy == pytest.approx(3 / 4)
    assert cll == pytest.approx((3 * np.log(0.9) + np.log(0.1)) / 4)


def test_only_cells_that_were_emptied_are_scored():
    given = prediction(np.log([[0.8, 0.2], [0.4, 0.6], [0.3, 0.7]]), [0, 2, 2])
    truth = prediction(np.log([[0.5, 0.5]] * 3), [0, 1, 0])
    found = scored(given, truth)
    assert found["cll"] == pytest.approx((np.log(0.6) + np.log(0.3)) / 2)
    assert found["accuracy"] == 0.5


def test_rows_of_samples_are_means_over_attributes_then_samples():
    samples = [
        {
            "scores": {
                "age": {"auc_pr": auc, "cll": -1.0, "accuracy": 0.5},
                "sex": {"auc_pr": 0.5, "cll": -0.5, "accuracy": 1.0},
            },
            "rules": 3,
            "learning": 1.0,
            "answering": 2.0,
        }
        for auc in (0.1, 0.3)
    ]
    row = row_of("movielens 1: GSLP", samples)
    assert row[1:3] == ["2", f"0.350 ± {np.std([0.3, 0.4], ddof=1):.3f}"]
    assert row[3:] == ["-0.750 ± 0.000", "0.750 ± 0.000", "3.0", "1.0", "2.0"]
    assert len(row) == len(published_row("movielens 1", "GSLP"))


def test_attributes_are_shown_with_their_share_of_all_values():
    runs = {
        label: [{"attributes": {"stars": (30, 0.3, -1.5), "sex": (10, accuracy, -0.5)}}]
        for label, accuracy in (("marginals alone", 0.7), ("LAJ+DT, compact", 0.8))
    }
    text = attribute_section(runs)
    assert "`stars` alone is 75% of all values" in text
    assert "| sex | 0.250 | 0.700 | -0.500 | 0.800 | -0.500 |" in text


def test_rules_without_conditions_stand_beside_the_published_figures():
    good = {"accuracy": 0.6, "cll": -0.7, "leaf_values": 18, "leaves": 7}
    runs = {label: [good, good] for label in ("marginals alone", "LAJ+DT, branches alone")}
    text = beside_published("movielens", runs)
    assert "mean over 2 test folds" in text
    assert "accuracy (0.600, 0.55) and CLL (-0.700, -0.8). So the paper's protocol" in text
    runs["marginals alone"] = [good | {"accuracy": 0.5}]
    text = beside_published("movielens", runs)
    assert "published figures: CLL (-0.700, -0.8). Published are 39 parameters" in text


def test_systems_without_a_figure_are_named():
    text = absent_systems()
    assert "Aleph" in text
    assert "ILS" in text
    assert "LSM" not in text


def test_a_third_of_the_cells_is_emptied_and_no_link():
    schema = Schema.of("age(user,band!)", "rated(user,film)", "stars(user,film,number)")
    users, films = [f"U{i}" for i in range(9)], [f"F{i}" for i in range(3)]
    pairs = [(u, f) for u in users for f in films]
    facts = {
        "age": [(u, "Old") for u in users],
        "rated": pairs,
        "stars": [(*pair, "Five") for pair in pairs],
    }
    whole = Database.from_facts(schema, facts)
    emptied = empty_cells(whole, np.random.default_rng(0))
    counts = {name: (emptied.count(name), emptied.cells.get(name)) for name in facts}
    assert counts["rated"] == (27, None)
    assert counts["age"][0] == 6
    assert counts["age"][1].shape == (1, 3)
    assert counts["stars"][0] == 18
    assert counts["stars"][1].shape == (2, 9)


def test_objects_with_something_hidden_decide_nothing():
    database = disjunctive(20, 3, rng=0).databases[0]
    train = hide(database, HIDDEN, 0.2, rng=1)
    chosen = set(whole_objects(train).columns[0].tolist())
    assert chosen == set(range(20)) - set(train.unknown[HIDDEN][0].tolist())
    assert 0 < len(chosen) < 20


def test_the_asked_columns_are_those_of_the_paper():
    for asked in ASKED:
        known = tables()["khot2011", asked.table]
        named = {
            column_of(asked.table, metric, test_set, target)
            for metric in ("AUC-PR", "CLL")
            for test_set in TEST_SETS
            for target in asked.targets
        } - {""}
        assert named == {column for column in known.columns if column != "time"}


def test_a_verdict_counts_what_is_better_and_what_is_sure():
    rows = [
        ["one", "H-SEM: +0.1, better 9 of 10, p = 0.01; CWA: -0.1, better 2 of 10, p = 0.001"],
        ["two", "H-SEM: +0.1, better 6 of 10, p = 0.2; CWA: +0.1, better 9 of 10, p = 1e-05"],
    ]
    text = verdict(rows, "here")
    assert "better than H-SEM in 2 of 2 cells, with p < 0.05 in 1 (not in two)" in text
    assert "better than CWA in 1 of 2, with p < 0.05 in 1 (not in one)" in text
    with pytest.raises(ValueError, match="not a comparison: H-SEM better"):
        verdict([["one", "H-SEM better"]], "here")


def test_samples_are_fewer_where_ground_clauses_are_many():
    assert within(SAMPLING, 10_000, 1e8) == SAMPLING
    fewer = within(SAMPLING, 100_000, 1e8)
    assert (fewer.samples + fewer.burn_in) * fewer.chains * 100_000 <= 1e8
    assert within(SAMPLING, 10_000_000, 1e8) is None
