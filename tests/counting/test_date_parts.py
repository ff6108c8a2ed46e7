"""Weekdays, months and hours of moments, and spans between them."""

import datetime

import numpy as np
import polars as pl
import pytest

import mlnlearn as ml
from mlnlearn.counting.date_parts import MONTHS, WEEKDAYS, parts_of
from mlnlearn.counting.relational import relational

ROWS = 600
RNG = np.random.default_rng(5)
BEGIN = datetime.datetime(2019, 1, 1)
ORDERED = [BEGIN + datetime.timedelta(hours=int(n)) for n in RNG.integers(0, 24 * 1000, ROWS)]
BORN = [datetime.date(1930, 1, 1) + datetime.timedelta(int(n)) for n in RNG.integers(0, 29000, 200)]
WHO = RNG.integers(0, 200, ROWS)
AGE = np.array([(day.date() - BORN[n]).days for day, n in zip(ORDERED, WHO, strict=True)]) / 365.25


def test_parts_are_those_of_the_calendar():
    moments = [datetime.datetime(1931, 2, 28, 23, 59, 59), *ORDERED[:300]]
    seconds = [day.replace(tzinfo=datetime.UTC).timestamp() for day in moments]
    parts = dict(parts_of("day", np.array(seconds)))
    for word, names in (("weekday", WEEKDAYS), ("month", MONTHS)):
        found = [names[int(code)] for code in parts[f"{word} of day"].values]
        form = {"weekday": "%A", "month": "%B"}[word]
        assert found == [day.strftime(form) for day in moments]
    assert parts["hour of day"].values.tolist() == [day.hour for day in moments]


def data(chance):
    """Orders that come back with a chance, by row."""
    frames = {
        "customer": pl.DataFrame({"id": range(200), "born": BORN}),
        "order": pl.DataFrame(
            {
                "nr": range(ROWS),
                "customer": WHO,
                "ordered": ORDERED,
                "price": RNG.normal(50, 10, ROWS),
                "returned": np.random.default_rng(6).random(ROWS) < chance,
            }
        ),
    }
    return ml.as_data(frames)


PLANTED = {
    "weekday": (
        np.array([day.weekday() >= 5 for day in ORDERED]),
        "weekday of ordered is Saturday or Sunday",
    ),
    "season": (
        np.array([day.month in (6, 7, 8) for day in ORDERED]),
        "month of ordered is June, July or August",
    ),
    "hour": (np.array([day.hour >= 18 for day in ORDERED]), "hour of ordered > 17.5"),
    "age": (AGE > 60, "time from born of its customer to ordered > "),
}


@pytest.mark.parametrize("cause", PLANTED)
def test_what_depends_on_a_part_of_a_date_is_the_first_rule(cause):
    holds, said = PLANTED[cause]
    given = data(np.where(holds, 0.75, 0.2))
    model = (
        ml.RelationalBoost(target="order.returned", steps=40, max_links=1, own_facts=False)
        .fit(given)
        .model
    )
    sentence = model.shown_rules(1)[0].sentence
    assert said in sentence
    if cause == "age":
        assert abs(float(sentence.split(said)[1].split(" years")[0]) - 60) < 2
    # what was learned is found in other data, whatever cells these have
    one = {
        "customer": pl.DataFrame({"id": [1], "born": [BORN[0]]}),
        "order": pl.DataFrame(
            {"nr": [1], "customer": [1], "ordered": ["2021-03-01"], "price": [50.0]}
        ).with_columns(returned=pl.lit(None, pl.Boolean)),
    }
    answers = model.query(ml.from_frames(one, mapping=given.mapping).database)
    assert len(answers) == 1


def test_what_is_to_be_predicted_is_not_read_of_its_own_parts():
    made = data(np.full(ROWS, 0.5))
    view = relational(made.databases, made.mapping)
    orders = view["order"]
    assert "weekday of ordered" in orders.dated
    assert not [name for name in orders.without("ordered").dated if "ordered" in name]
    some = orders.taken(np.array([3, 1]))
    assert some.dated["hour of ordered"].values.tolist() == [ORDERED[3].hour, ORDERED[1].hour]
