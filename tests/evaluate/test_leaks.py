"""Columns that are known only afterwards are named; honest ones are not."""

import numpy as np
import pandas as pd
import pytest

import mlnlearn as ml
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.load.task_data import tables_data
from mlnlearn.evaluate.leaks import future_leaks

ROWS = 400


def leaks_of(data, target):
    return {f"{leak.table}.{leak.column}": leak.why for leak in future_leaks(data, target)}


@pytest.fixture
def orders():
    rng = np.random.default_rng(3)
    size = rng.normal(size=ROWS)
    back = size + rng.normal(size=ROWS) > 0
    day = [f"2020-0{1 + n % 9}-1{n % 7}" for n in range(ROWS)]
    columns = {
        "id": Column.of([f"o{n}" for n in range(ROWS)]),
        "size": Column.of([round(float(s), 3) for s in size]),
        "returned": Column.of(["yes" if b else "no" for b in back]),
        "came back on": Column.of([d if b else None for d, b in zip(day, back, strict=True)]),
        "state": Column.of(["closed" if b else f"open {n % 3}" for n, b in enumerate(back)]),
        "by": Column.of([f"courier {n % 4}" for n in range(ROWS)]),
        "often empty": Column.of([f"v{n % 2}" if n % 3 else None for n in range(ROWS)]),
    }
    return Table("orders", columns, ("id",))


def test_what_is_filled_or_tells_by_itself_is_named(orders):
    found = leaks_of(tables_data([orders]).data, "orders.returned")
    assert set(found) == {"orders.came back on", "orders.state"}
    assert "empty for the others" in found["orders.came back on"]
    assert "alone tells" in found["orders.state"]


def test_a_number_that_is_the_label_in_other_words(orders):
    price = Column.of([round(2.2 * float(name), 3) for name in orders.columns["size"].names])
    cells = price.at(orders.columns["size"].codes)
    wider = Table("orders", {**orders.columns, "with tax": cells}, ("id",))
    assert "orders.with tax" in leaks_of(tables_data([wider]).data, "orders.size")


def test_moments_after_those_of_a_task(tmp_path):
    people = {
        "person": Column.of([f"p{n}" for n in range(60)]),
        "born": Column.of([f"19{n % 90 + 10}-01-01" for n in range(60)]),
        "left on": Column.of([f"2021-0{1 + n % 9}-01" for n in range(60)]),
    }
    visits = {
        "id": Column.of(range(60)),
        "person": people["person"],
        "day": Column.of([f"2019-0{1 + n % 9}-05" for n in range(60)]),
    }
    link = (ForeignKey(("person",), "people"),)
    tables = [
        Table("people", people, ("person",)),
        Table("visits", visits, ("id",), link),
    ]
    lines = [f"p{n},2020-0{1 + n % 9}-01,{n % 2}" for n in range(60)]
    path = tmp_path / "train.csv"
    path.write_text("person,as of,leaves\n" + "\n".join(lines) + "\n")
    edits = {"people": {"time": "", "columns": {}}}
    given = tables_data(tables, task=path, mapping=edits)
    found = leaks_of(given.data, given.task.target)
    assert set(found) == {"people.left on"}
    assert "100%" in found["people.left on"]


def test_a_column_that_is_filled_for_one_of_several_labels():
    rng = np.random.default_rng(4)
    kind = rng.choice(["fixed", "invalid", "duplicate"], 300)
    bug = pd.DataFrame(
        {
            "id": range(300),
            "twin": np.where(kind == "duplicate", rng.integers(0, 9, 300).astype(str), None),
            "note": np.where(rng.random(300) < 0.5, "a", None),
            "resolution": kind,
        }
    )
    found = ml.future_leaks(ml.tables_data({"bug": bug}).data, "bug.resolution")
    assert [leak.column for leak in found] == ["twin"]
    assert "'duplicate'" in found[0].why


def test_the_time_until_another_moment_tells_the_label():
    rng = np.random.default_rng(4)
    ordered = np.datetime64("2020-01-01") + rng.integers(0, 700, 300)
    needed = rng.integers(1, 60, 300)
    order = pd.DataFrame(
        {
            "id": range(300),
            "ordered": ordered.astype(str),
            "shipped": (ordered + needed).astype(str),
            "born": (ordered - 9000 - rng.integers(0, 9000, 300)).astype(str),
            "late": needed > 28,
        }
    )
    order.loc[::20, "shipped"] = None  # some are on their way
    found = ml.future_leaks(ml.tables_data({"order": order}).data, "order.late")
    assert [leak.column for leak in found] == ["shipped"]
    assert "time from ordered to shipped" in found[0].why


def test_tables_that_have_rows_for_some_labels_only():
    rng = np.random.default_rng(4)
    churned = rng.random(300) < 0.4
    tables = {
        "customers": pd.DataFrame({"customer_id": range(1, 301), "churned": churned}),
        "reasons": pd.DataFrame(
            {"customer_id": np.flatnonzero(churned) + 1, "text": rng.integers(0, 3, churned.sum())}
        ),
        "calls": pd.DataFrame({"id": range(500), "customer_id": rng.integers(1, 301, 500)}),
    }
    found = ml.future_leaks(ml.tables_data(tables).data, "customers.churned")
    assert [leak.table for leak in found] == ["reasons"]
    assert 'reasons = { kind = "skip" }' in str(found[0])


def test_of_a_task_tables_without_a_time_are_suspicious_and_those_with_one_are_not(tmp_path):
    rng = np.random.default_rng(4)
    soon = rng.random(300) < 0.4
    policies = np.flatnonzero(soon) + 1
    tables = {
        "policies": pd.DataFrame({"policy_id": range(1, 301), "kind": ["a", "b", "c"] * 100}),
        "claims": pd.DataFrame(
            {"claim_id": range(len(policies)), "policy_id": policies, "day": "2021-02-03"}
        ),
        "settled": pd.DataFrame({"claim_id": range(len(policies)), "paid": "yes"}),
        "cases": pd.DataFrame(
            {
                "policy_id": policies,
                "team": ["x", "y"] * (len(policies) // 2) + ["x"] * (len(policies) % 2),
            }
        ),
    }
    path = tmp_path / "task.csv"
    lines = [f"{n + 1},2021-01-01,{int(s)}" for n, s in enumerate(soon)]
    path.write_text("policy_id,as of,soon\n" + "\n".join(lines) + "\n")
    given = ml.tables_data(tables, task=path)
    found = ml.future_leaks(given.data, given.task.target)
    assert [leak.table for leak in found] == ["cases"]
