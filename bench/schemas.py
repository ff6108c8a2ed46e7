"""Learn-and-join on databases as they are found, without a mapping.

Targets: a table of 40 columns and 2,000 rows in 15 CPU seconds; eleven tables of 16,000 rows in 30
CPU seconds and 1 GB; `f1`, nine tables of 97,000 rows that declare no keys, in 120 CPU seconds and
2 GB; and `explain` of an atom within a second.
"""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import mlnlearn as ml
from bench.result import Result, clock, peak_megabytes, run_cases, run_one
from mlnlearn.data.catalog import VARIABLE
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import Table

_EMPTY = 0.25
_CUSTOMERS = 940  # some 16,000 rows


def wide() -> ml.Data:
    """Return a table of forty columns, each of which follows the one before or is by chance."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 4, (40, 2_000))
    for column in range(1, 40, 2):
        copied = rng.random(2_000) < 0.7
        values[column, copied] = values[column - 1, copied]
    cells = {"id": Column.of(range(2_000))}
    for number, column in enumerate(values):
        cells[f"a{number}"] = Column.of(column, rng.random(2_000) < _EMPTY)
    return ml.tables_data([Table("answers", cells, ("id",))]).data


def shop() -> ml.Data:
    """Return a made-up shop of eleven tables."""
    made = ml.synthetic.messy_shop("count of links", _CUSTOMERS, rng=5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shop.sqlite")
        made.write(path)
        return ml.tables_data(path).data


def racing() -> ml.Data:
    """Return sixty years of motor racing."""
    return ml.tables_data(Path(os.environ[VARIABLE], "f1")).data


def measure(name: str, seconds: float, megabytes: float | None) -> list[Result]:
    """Learn a net with trees from the tables, explain an atom, and say what it took."""
    data = DATA[name]()
    ml.LAJDT().fit(_small())  # compiles what the first use compiles
    with clock() as used:
        model = ml.LAJDT().fit(data).model
    found = [
        Result(f"learn-and-join, {name}: CPU", used.cpu, "s", seconds),
        Result(f"learn-and-join, {name}: peak memory", peak_megabytes(), "MB", megabytes),
        Result(f"learn-and-join, {name}: rules", model.parameter_counts()["leaf_values"], "rules"),
    ]
    (database,) = data.databases
    if name in ASKED:
        with clock() as used:
            ml.explain(model, database, ASKED[name])
        found.append(Result(f"explain, {name}: CPU", used.cpu, "s", 1.0))
    return found


def _small() -> ml.Data:
    cells = {"id": Column.of(range(60)), "a": Column.of([n % 2 for n in range(60)])}
    cells["b"] = Column.of([f"b{n % 3}" for n in range(60)])
    return ml.tables_data([Table("small", cells, ("id",))]).data


DATA = {"wide": wide, "shop": shop, "f1": racing}
ASKED = {"wide": 'a1("7","2")', "shop": "churned(7)"}
CASES = {
    "wide": partial(measure, "wide", 15.0, None),
    "shop": partial(measure, "shop", 30.0, 1024.0),
    "f1": partial(measure, "f1", 120.0, 2048.0),
}


def main() -> list[Result]:
    """Run all cases, that of `f1` where the data are there."""
    there = [case for case in CASES if case != "f1" or os.environ.get(VARIABLE)]
    return run_cases("bench.schemas", there)


if __name__ == "__main__":
    run_one(CASES)
