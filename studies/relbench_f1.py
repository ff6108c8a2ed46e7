"""Three prediction tasks over sixty years of motor racing: ``python -m studies.relbench_f1``.

Nine linked tables without declared keys, read with no mapping; the learner with its default
settings. Labels of the training and validation files are learned from; the test files are read
once, at the end.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mlnlearn.data.catalog import data_folder
from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.cutoff import TimeLimit, cut_tables
from mlnlearn.data.load.read import read_tables
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.task import without_tasks
from mlnlearn.data.load.task_data import tables_data
from mlnlearn.evaluate.measure import measured
from mlnlearn.evaluate.ranking import auc_roc
from mlnlearn.evaluate.rows import predict_rows
from mlnlearn.structure.relational_boosting.learner import RelationalBoost
from studies.common import Options, Study, markdown_table, run, run_tasks

TASKS = ("driver_dnf", "driver_top3", "driver_position")
FROZEN = "2010-01-01"
LAGS = {"driver_dnf": "4y", "driver_top3": "4y", "driver_position": "7y"}
"""How long after the day on which all is frozen the last question is asked, in whole years."""
RULES = 10
PUBLISHED = (
    ("frozen: LightGBM on the entity's own columns", ".686", ".739", "4.17"),
    ("frozen: graph network", ".726", ".755", "4.02"),
    ("frozen: a data scientist's features, LightGBM", ".698", ".824", "3.96"),
    ("rolling: in-context model, two versions", ".824; .846", ".911; .922", "2.75; 2.85"),
    ("rolling: forty features by hand, gradient boosting", ".831", ".913", "2.67"),
)
STUDY = Study(
    name="relbench_f1",
    title="Motor racing: predicting for a moment in time",
    about=(
        "The database `rel-f1` of the RelBench benchmark: nine tables, 97,000 rows, no declared "
        "keys, no mapping. Tasks: does a driver fail to finish a race in the next 30 days "
        "(AUROC), qualify among the first three (AUROC), the mean finishing position over the next "
        "60 days (mean absolute error). *Rolling*: for each row all facts up to its moment are "
        f"known; *frozen*: none after {FROZEN}. No feature is made by hand; default settings, "
        "learned from training and validation labels. Models for the frozen protocol are learned "
        "with the setting `lag`, the time from then to the last question (4 years, of positions "
        "7): every example counts twice, once with facts that end up to so long before. It was "
        "chosen on training and validation labels, with all frozen at the start of some earlier "
        "years."
    ),
    settings=asdict(RelationalBoost(target="task.label", until=True)),
    seeds=3,
    minutes=12,
)


@dataclass(frozen=True)
class Task:
    """One task with one seed."""

    task: str
    seed: int


def frozen(tables: Sequence[Table]) -> list[Table]:
    """Return the tables without rows after the day on which all is frozen."""
    mapping = build_database(tables).mapping
    limits = {t.name: TimeLimit(t.time, FROZEN) for t in mapping if t.time and t.kind != "skip"}
    keys = {table.name: table.primary_key for table in tables}
    return cut_tables(tables, limits, keys)


def solve(task: Task) -> dict[str, Any]:
    """Learn one task and score it on the test file by both protocols."""
    folder = data_folder() / "f1"
    tables = without_tasks(read_tables(folder))
    parts = [(folder / f"task_{task.task}_{part}.csv").read_text() for part in ("train", "val")]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "labels.csv")
        path.write_text(parts[0].rstrip("\n") + "\n" + parts[1].partition("\n")[2])
        given = tables_data(tables, task=path)
    assert given.task is not None
    learner = RelationalBoost(target=given.task.target, until=True, seed=task.seed)
    test = folder / f"task_{task.task}_test.csv"
    found: dict[str, Any] = {}
    late = replace(learner, lag=LAGS[task.task])
    protocols = (("rolling", learner, tables), ("frozen", late, frozen(tables)))
    for name, learning, known in protocols:
        with measured() as cost:
            model = learning.fit(given.data).model
        asked = tables_data(known, mapping=model.mapping, task=test)
        assert asked.task is not None
        values = predict_rows(model, asked.data).values
        column = asked.task.table.columns[asked.task.label]
        label = column.numbers()[column.codes]
        score = (
            auc_roc(label > 0, values[:, 1])
            if model.classes
            else float(np.abs(values[:, 0] - label).mean())
        )
        rules = [rule.sentence for rule in model.shown_rules(RULES)]
        costs = {"cpu": cost.cpu_seconds, "mb": cost.peak_bytes / 1e6}
        found[name] = {"score": score, "rules": rules, **costs}
    return found


def sections(options: Options) -> Iterator[str]:
    """Yield the tables of scores, costs and rules."""
    tasks = [Task(name, seed) for name in TASKS for seed in range(options.seeds)]
    results = dict(zip(tasks, run_tasks(solve, tasks, options, STUDY.name), strict=True))
    rows = []
    for protocol in ("rolling", "frozen"):
        cells = []
        for name in TASKS:
            values = [results[Task(name, seed)][protocol]["score"] for seed in range(options.seeds)]
            cells.append(f"{np.mean(values):.3f} ± {np.std(values):.3f}")
        rows.append([f"**{protocol}: ours**", *cells])
    rows += [list(row) for row in PUBLISHED]
    yield "## Scores on the test rows\n\n" + markdown_table(
        ["system", "driver-dnf AUROC", "driver-top3 AUROC", "driver-position MAE"], rows
    )
    costs = []
    for name in TASKS:
        for protocol in ("rolling", "frozen"):
            runs = [results[Task(name, seed)][protocol] for seed in range(options.seeds)]
            seconds, most = np.mean([run["cpu"] for run in runs]), max(run["mb"] for run in runs)
            costs.append([f"{name}, {protocol}", f"{seconds:.0f}", f"{most:.0f}"])
    yield "## Cost\n\n" + markdown_table(["task", "CPU seconds of learning", "MB at most"], costs)
    for name in TASKS:
        lines = "\n".join(
            f"{i}. {rule}" for i, rule in enumerate(results[Task(name, 0)]["rolling"]["rules"], 1)
        )
        yield f"## The first rules of {name}\n\n{lines}"


if __name__ == "__main__":
    run(STUDY, sections)
