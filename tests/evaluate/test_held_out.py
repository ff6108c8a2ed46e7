"""Rows that are kept aside: which, what is hidden of them, and how answers are scored."""

from dataclasses import replace

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting.examples import examples_of, find_place
from mlnlearn.counting.relational import relational
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.evaluate.held_out import held_out_scores, row_scores
from mlnlearn.evaluate.held_out_data import withheld
from mlnlearn.evaluate.row_split import split_examples
from mlnlearn.structure.relational_boosting.learner import RelationalBoost


def shop(seed, size=300):
    """People, their orders, and who is happy: those with three orders or more, mostly."""
    rng = np.random.default_rng(seed)
    orders = rng.poisson(3, size)
    happy = rng.random(size) < np.where(orders >= 3, 0.95, 0.05)
    people = {
        "id": Column.of([str(i) for i in range(size)]),
        "happy": Column.of([str(int(h)) for h in happy]),
        "mood": Column.of(["good" if h else "bad" for h in happy]),
    }
    owner = np.repeat(np.arange(size), orders)
    bought = {
        "number": Column.of([str(i) for i in range(len(owner))]),
        "who": Column.of([str(i) for i in owner]),
    }
    key = (ForeignKey(("who",), "person"),)
    return ml.as_data([Table("person", people, ("id",)), Table("bought", bought, ("number",), key)])


def test_only_labels_of_rows_kept_aside_are_hidden():
    data = shop(1, 60)
    view = relational(data.databases, data.mapping)
    for target in ("person.happy", "person.mood"):
        examples = examples_of(view, find_place(view, target))
        split = split_examples(examples, seed=3)
        assert split.test.sum() == pytest.approx(12, abs=1)
        hidden = withheld(data, view, examples, split.test)
        seen = relational(hidden.databases, hidden.mapping)
        found = examples_of(seen, find_place(seen, target))
        assert (np.isnan(found.label) == split.test).all()
        names = [examples.classes[int(x)] for x in examples.label[~split.test]]
        assert [found.classes[int(x)] for x in found.label[~split.test]] == names


def test_scores_on_rows_kept_aside_are_those_of_the_cause():
    data = shop(2)
    learner = RelationalBoost(target="happy", steps=30)
    found = held_out_scores(learner, ml.Data(data.databases, _without_mood(data)))
    assert found.rows == pytest.approx(60, abs=1)
    assert found.scores["auc_roc"] > 0.85
    assert found.baseline["auc_roc"] == 0.5
    assert found.scores["cll"] > found.baseline["cll"]


def _without_mood(data):
    column = replace(data.mapping["person"]["mood"], role="skip")
    return data.mapping.with_column("person", column)


def test_too_few_rows_are_not_split():
    data = shop(3, 10)
    view = relational(data.databases, data.mapping)
    assert split_examples(examples_of(view, find_place(view, "happy"))) is None


def test_scores_of_classes_and_numbers():
    sure = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    found = row_scores(sure, np.array([0.0, 1.0]), 3)
    assert found["accuracy"] == 0.5
    assert found["cll"] == pytest.approx((np.log(0.7) + np.log(0.1)) / 2)
    assert row_scores(np.array([[1.0], [4.0]]), np.array([2.0, 2.0]), 0) == {"mae": 1.5}
