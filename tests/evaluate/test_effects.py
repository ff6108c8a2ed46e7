"""Curves of numbers against the truth that data were made of, and on the page."""

import re

import numpy as np
import polars as pl
import pytest

import mlnlearn as ml
from mlnlearn.counting.examples import examples_of
from mlnlearn.counting.relational import Place, relational
from mlnlearn.model.relational.evaluate import Values


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    age, noise = rng.uniform(20, 80, 600), rng.uniform(0, 1, 600)
    kind = np.where(age < 40, "red", np.where(age < 60, "green", "blue"))
    pay = 10 + 2.0 * age + rng.normal(0, 1, 600)
    frame = pl.DataFrame({"id": range(600), "age": age, "noise": noise, "kind": kind, "pay": pay})
    return ml.as_data({"person": frame.drop("pay")}), ml.as_data({"person": frame.drop("kind")})


def test_the_curve_of_a_number_follows_what_is_predicted(people):
    _, data = people
    model = ml.RelationalBoost(target="person.pay").fit(data).model
    curve, *others = ml.number_effects(model, data)
    assert (curve.feature, curve.of) == ("age", "pay")
    inner = slice(2, -2)
    assert curve.answers[inner] == pytest.approx(10 + 2 * curve.values[inner], abs=8)
    assert all(other.spread < curve.spread / 10 for other in others)


def test_a_curve_is_the_mean_of_answers_with_the_value_in_all_rows(people):
    _, data = people
    model = ml.RelationalBoost(target="person.pay", steps=30).fit(data).model
    view = relational(data.databases, data.mapping)
    base = examples_of(view, Place("person", "pay")).base
    chosen = np.linspace(0, base.rows - 1, 500).astype(np.int64)
    columns = model.columns(view, base.taken(chosen))
    for curve in ml.number_effects(model, data):
        feature = next(f for f in columns if str(f) == curve.feature)
        for value, answer in list(zip(curve.values, curve.answers, strict=True))[::5]:
            changed = {**columns, feature: Values(np.full(500, value))}
            assert answer == pytest.approx(model.scores_of(changed, 500).mean())


def test_of_classes_the_one_that_moves_most_is_shown(people):
    data, _ = people
    model = ml.RelationalBoost(target="person.kind").fit(data).model
    curve = ml.number_effects(model, data, most=1)[0]
    assert curve.of in ("P(kind = red)", "P(kind = blue)")
    low, high = curve.answers[0], curve.answers[-1]
    assert abs(high - low) > 0.8
    page = ml.rows_report("person.kind", [], None, effects=[curve])
    assert 'href="#effects"' in page
    figure = re.search(r'<figure class="plot"><h4>age</h4>.*?</figure>', page)
    assert figure is not None
    assert 'class="line main"' in figure[0]


def test_without_numbers_there_is_no_curve():
    frame = pl.DataFrame({"id": range(60), "sex": ["f", "m"] * 30, "ill": ["yes", "no"] * 30})
    data = ml.as_data({"person": frame})
    model = ml.RelationalBoost(target="person.ill").fit(data).model
    assert ml.number_effects(model, data) == []
