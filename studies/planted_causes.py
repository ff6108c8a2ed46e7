"""Untidy databases with one planted cause each: ``python -m studies.planted_causes``."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlnlearn.data.load.read import read_tables
from mlnlearn.data.load.task_data import tables_data
from mlnlearn.data.synthetic.messy import messy_shop
from mlnlearn.data.synthetic.messy_causes import CAUSES
from mlnlearn.evaluate.auto import Auto, AutoNotes
from mlnlearn.evaluate.held_out import held_out_scores
from mlnlearn.evaluate.measure import measured
from mlnlearn.structure.join_bayes.model import JoinBayesModel
from studies.common import Options, Study, markdown_table, run, run_tasks

FIRST = 3
CUSTOMERS = 1000
STUDY = Study(
    name="planted_causes",
    title="Planted causes in untidy databases",
    about=(
        f"SQLite files of eleven tables with {CUSTOMERS:,} customers, as they are found (texts as "
        "keys, tables without keys, BLOBs, free text, forty columns of survey answers, three cells "
        "of ten empty). One thing decides who leaves; it is of one of twelve kinds. The default "
        "learner reads each file with no mapping. A cause counts as found if one of the first "
        f"{FIRST} rules speaks of all columns it is made of; the area under the ROC curve on "
        "customers kept aside stands beside the best that the planted probabilities allow, with "
        "all cells known."
    ),
    settings={"learner": "auto", "target": "customer.churned", "first rules": FIRST},
    seeds=4,
    minutes=15,
)


@dataclass(frozen=True)
class Task:
    """One database."""

    kind: str
    seed: int


def solve(task: Task) -> dict[str, Any]:
    """Make up a database, learn from it, and see whether the cause is found."""
    shop = messy_shop(task.kind, CUSTOMERS, rng=task.seed)
    with tempfile.TemporaryDirectory() as folder, measured() as cost:
        path = Path(folder, "shop.sqlite")
        shop.write(path)
        data = tables_data(read_tables(path)).data
        learner = Auto(target=shop.planted.target)
        held_out = held_out_scores(learner, data)
        assert held_out is not None
        assert isinstance(held_out.notes, AutoNotes)
        chosen = held_out.notes.chosen  # as `mlnlearn learn` does: chosen once, and kept
        model = learner.only(chosen).fit(data).model
        rules = (
            model.sentences(FIRST, shop.planted.target)
            if isinstance(model, JoinBayesModel)
            else model.shown_rules(FIRST)
        )
    return {
        "found": any(_speaks_of(r.sentence + r.rule, shop.planted.columns) for r in rules),
        "learner": chosen,
        "auc": held_out.scores["auc_roc"],
        "best": _best_auc(shop.probabilities),
        "cpu": cost.cpu_seconds,
        "mb": cost.peak_bytes / 1e6,
        "first": rules[0].sentence if rules else "",
    }


def _speaks_of(text: str, columns: tuple[str, ...]) -> bool:
    return all(column.rpartition(".")[2] in text for column in columns)


def _best_auc(chance: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Return the area that the true probabilities, of two values, reach in expectation."""
    high, low = float(chance.max()), float(chance.min())
    share = float((chance == high).mean())
    true, false = share * high + (1 - share) * low, share * (1 - high) + (1 - share) * (1 - low)
    hit, alarm = share * high / true, share * (1 - high) / false
    return 0.5 * (1 + hit - alarm)


def sections(options: Options) -> Iterator[str]:
    """Yield a row a kind, the totals, and a rule a kind."""
    tasks = [Task(kind, seed) for kind in CAUSES for seed in range(options.seeds)]
    results = dict(zip(tasks, run_tasks(solve, tasks, options, STUDY.name), strict=True))
    rows = []
    for kind in CAUSES:
        found = [results[Task(kind, seed)] for seed in range(options.seeds)]
        areas = [r["auc"] for r in found]
        rows.append(
            [
                kind,
                f"{sum(r['found'] for r in found)} of {len(found)}",
                f"{np.mean(areas):.3f} ± {np.std(areas):.3f}",
                f"{np.mean([r['best'] for r in found]):.3f}",
                f"{np.mean([r['cpu'] for r in found]):.1f}",
                f"{np.max([r['mb'] for r in found]):.0f}",
            ]
        )
    total = sum(r["found"] for r in results.values())
    learned = Counter(r["learner"] for r in results.values())
    by = ", ".join(f"`{name}` {number} times" for name, number in learned.most_common())
    yield f"Found: {total} of {len(results)} ({total / len(results):.0%}). Chosen: {by}."
    header = ["cause", "found", "AUC-ROC, kept aside", "best possible", "CPU s", "MB"]
    yield markdown_table(header, rows)
    lines = [f"- {kind}: {results[Task(kind, 0)]['first']}" for kind in CAUSES]
    yield "The first rule of the first database of each kind:\n\n" + "\n".join(lines)


if __name__ == "__main__":
    run(STUDY, sections)
