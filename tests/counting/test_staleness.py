"""Questions that are asked later than the last thing known."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.cutoff import TimeLimit, cut_tables
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.load.task_data import tables_data
from mlnlearn.errors import DataWarning, InputError
from mlnlearn.evaluate.rows import predict_rows
from mlnlearn.structure.relational_boosting.learner import RelationalBoost
from mlnlearn.structure.saved import load_model

PEOPLE, MONTHS = 30, 60


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Everybody buys every month; whoever bought much buys much again, but habits fade."""
    rng = np.random.default_rng(2)
    habit = rng.normal(size=PEOPLE)
    rows, labels = [], []
    for month in range(MONTHS):
        day = f"{2015 + month // 12}-{1 + month % 12:02d}"
        for person in range(PEOPLE):
            rows.append((f"{person}-{month}", f"p{person}", f"{day}-15", habit[person]))
            late = habit[person] * 0.97**month
            labels.append(f"p{person},{day}-01,{int(late + 0.3 * rng.normal() > 0)}")
            habit[person] += 0.6 * rng.normal()
    columns = dict(zip(("id", "person", "day", "sum"), zip(*rows, strict=True), strict=True))
    cells = {name: Column.of(list(values)) for name, values in columns.items()}
    buys = Table("buys", cells, ("id",), (ForeignKey(("person",), "people"),))
    people = Table("people", {"person": Column.of([f"p{n}" for n in range(PEOPLE)])}, ("person",))
    folder = tmp_path_factory.mktemp("shop")
    cut = 36 * PEOPLE
    for name, part in (("train", labels[:cut]), ("test", labels[cut:])):
        (folder / f"{name}.csv").write_text("person,as of,much\n" + "\n".join(part) + "\n")
    return folder, [people, buys]


def frozen(tables):
    keys = {table.name: table.primary_key for table in tables}
    return cut_tables(tables, {"buys": TimeLimit("day", "2017-12-31")}, keys)


def test_a_model_with_a_lag_answers_late_questions_better_and_says_nothing(shop):
    folder, tables = shop
    given = tables_data(tables, task=folder / "train.csv")
    losses = {}
    for lag in ("", "2y"):
        learner = RelationalBoost(target=given.task.target, lag=lag, steps=60)
        model = learner.fit(given.data).model
        model.save(folder / "m.mln")
        assert load_model(folder / "m.mln") == model
        asked = tables_data(frozen(tables), mapping=model.mapping, task=folder / "test.csv")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            chance = predict_rows(model, asked.data).values[:, 1]
        texts = [str(w.message) for w in said if issubclass(w.category, DataWarning)]
        # at the end of what is known a model without lag says how late it is asked
        assert bool(texts) == (not lag)
        assert not texts or "2017-12-15" in texts[0]
        column = asked.task.table.columns["much"]
        truth = column.numbers()[column.codes]
        losses[lag] = -np.mean(np.log(np.where(truth > 0, chance, 1 - chance)))
        rolling = tables_data(tables, mapping=model.mapping, task=folder / "test.csv")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(predict_rows(model, rolling.data)) == len(truth)
    assert losses["2y"] < losses[""] - 0.02


def test_facts_of_a_late_copy_end_before_it(shop):
    from mlnlearn.counting.date_parts import DatePart  # noqa: PLC0415
    from mlnlearn.counting.examples import examples_of, find_place  # noqa: PLC0415
    from mlnlearn.counting.relational import relational  # noqa: PLC0415
    from mlnlearn.counting.staleness import OLD, YEAR, with_stale_copies  # noqa: PLC0415

    folder, tables = shop
    given = tables_data(tables, task=folder / "train.csv")
    view = relational(given.data.databases, given.data.mapping)
    examples = examples_of(view, find_place(view, given.task.target))
    weekday = DatePart(np.arange(examples.base.rows) % 7.0, None, ("as of",))
    examples = replace(examples, base=replace(examples.base, dated={"weekday": weekday}))
    twice = with_stale_copies(examples, YEAR, 5)
    number = len(examples.label)
    assert np.array_equal(twice.base.dated["weekday"].values, np.tile(weekday.values, 2))
    old = twice.base.columns[OLD].values
    assert twice.base.rows == len(twice.label) == 2 * number
    assert (old[:number] == 0).all()
    assert 0 < old[number:].min() < old[number:].max() <= 1
    whole = twice.base.times + old * YEAR
    assert np.allclose(whole, np.tile(examples.base.times, 2))
    assert np.array_equal(twice.label, np.tile(examples.label, 2))


def test_a_lag_needs_moments(shop):
    _, tables = shop
    data = tables_data(tables).data
    with pytest.raises(InputError, match="lag: only examples with moments"):
        replace(RelationalBoost(target="buys.sum", lag="1y"), steps=1).fit(data)
