"""Every learner of the command line on UW-CSE: ``python -m studies.uwcse_all_learners``.

Each learner is one call of ``mlnlearn evaluate``, as a user would make it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlnlearn.data.catalog import data_folder
from studies.common import Options, Study, bold_best, markdown_table, run, run_tasks

QUERY = "advisedBy"
FOLDS = 5
# what keeps each learner within minutes, in clauses, literals and rounds, never in seconds
BUDGETS: Mapping[str, tuple[str, ...]] = {
    "mln-bt": (),
    "mln-bc": (),
    "rdn-b": (),
    "sem": ("iterations=2",),
    "h-sem": ("iterations=2",),
    "gslp": ("max_literals=4",),
    "msl": ("max_literals=3", "held_out=true", "joint=true", "min_gain=0.001"),
    "lsl": ("max_literals=2", "max_rounds=10"),
    "laj-dt": ("max_chain=1", "max_parents=3"),
    "mbn": ("max_chain=1", "max_parents=3"),
    "busl": (),
    "hgsm": ("max_literals=4",),
    "dmsp": (),
    "lsm": ("max_literals=4",),
    "lhl": ("max_literals=4",),
    "ils": ("max_literals=3", "max_rounds=10"),
    "ils-dsl": (),
}
METRICS = {"auc_pr": "AUC-PR", "auc_roc": "AUC-ROC", "cll": "CLL"}
STUDY = Study(
    name="uwcse_all_learners",
    title=f"All learners on UW-CSE: {QUERY}",
    about=(
        "Who advises whom, in five areas of a department: each area is predicted in turn by every "
        "learner of the command line, from all other predicates; all false atoms of the area are "
        "asked, and the `!` of the schema is stripped, as most published work does. Boosting, "
        "`busl`, `dmsp` and `ils-dsl` have their default settings; the others have budgets, so "
        "that the whole takes minutes: it is no contest of what they can do. The data are "
        "complete, so that `sem` and `h-sem` have nothing to fill in. `laj-dt` and `mbn` are made "
        "for attributes; asked for a link, they are learned with links as nodes of the net."
    ),
    settings={name: ", ".join(texts) or "defaults" for name, texts in BUDGETS.items()},
    seeds=1,
    minutes=30,
)


@dataclass(frozen=True)
class Evaluated:
    """A learner of the command line with some of its settings."""

    learner: str
    settings: tuple[str, ...]


def evaluate(task: Evaluated) -> dict[str, Any]:
    """Run ``mlnlearn evaluate`` for one learner, and return what it found."""
    folder = data_folder() / "uwcse"
    with tempfile.TemporaryDirectory() as here:
        schema = Path(here) / "plain.mln"
        schema.write_text((folder / "schema.mln").read_text().replace("!", ""))
        command = [sys.executable, "-m", "mlnlearn", "evaluate", "--learner", task.learner]
        command += ["--schema", str(schema), "--query", QUERY, "--json", "--db"]
        command += [str(folder / f"fold{number + 1}.db") for number in range(FOLDS)]
        command += [word for text in task.settings for word in ("--set", text)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    return dict(json.loads(done.stdout))


def row_of(name: str, folds: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a learner's means over folds."""
    row = [name, str(len(folds))]
    for metric in METRICS:
        values = np.array([fold[metric] for fold in folds])
        sd = f" ± {values.std(ddof=1):.3f}" if metric == "auc_pr" else ""
        row.append(f"{values.mean():.{4 if metric == 'cll' else 3}f}{sd}")
    return [*row, f"{np.mean([fold['train_cpu_seconds'] for fold in folds]):.2f}"]


def sections(options: Options) -> Iterator[str]:
    """Compute the page."""
    tasks = [Evaluated(name, texts) for name, texts in BUDGETS.items()]
    found = dict(zip(BUDGETS, run_tasks(evaluate, tasks, options, "learners"), strict=True))
    failed = {name: result["failed"] for name, result in found.items() if "failed" in result}
    rows = [row_of(name, r["folds"]) for name, r in found.items() if name not in failed]
    header = ["learner", "folds", *METRICS.values(), "training, CPU s"]
    yield markdown_table(header, bold_best(rows, (2, 3, 4), lambda _: ""))
    if failed:
        yield "\n".join(f"- {name} gave no result: {text}" for name, text in failed.items())
    first = next(result for name, result in found.items() if name not in failed)
    yield "## What is asked"
    yield markdown_table(
        ["area", "true", "false"],
        [[Path(f["name"]).stem, f["n_pos"], f["n_neg"]] for f in first["folds"]],
    )


if __name__ == "__main__":
    run(STUDY, sections)
