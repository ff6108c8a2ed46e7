"""``mlnlearn evaluate --tables --target``: scores on rows of tables that were kept aside."""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import mlnlearn as ml
from mlnlearn.cli.evaluate_learners import by_learner
from mlnlearn.cli.learn import configured
from mlnlearn.cli.progress import Reporter
from mlnlearn.cli.rows import warn_of_leaks
from mlnlearn.cli.show import complain, console, heading, print_json, print_table
from mlnlearn.errors import InputError, MlnError
from mlnlearn.files import write_files
from mlnlearn.registry import Entry

if TYPE_CHECKING:  # loading the evaluation can wait until the command runs
    from mlnlearn.data.load.task_data import TaskData
    from mlnlearn.evaluate.held_out import HeldOut, SplitBy


def evaluate_rows(
    chosen: Mapping[str, Entry],
    settings: Sequence[str],
    given: TaskData,
    target: str,
    split: SplitBy,
    *,
    out: Path | None,
    json: bool,
) -> None:
    """Keep rows aside, learn from the others, and show how well the label of those is predicted."""
    data = given.data
    asked = given.task.target if given.task is not None else target
    warn_of_leaks(data, asked)
    found: dict[str, HeldOut] = {}
    mine = by_learner(dict(chosen), settings)
    for name, entry in chosen.items():
        try:
            found[name] = _scored(name, entry, mine[name], data, asked, split)
        except MlnError as error:
            if len(chosen) == 1:
                raise
            complain("error", f"{name}: {error}")
    if not found:
        raise InputError("no learner could be evaluated, for the reasons above")
    plain = [
        {
            "learner": name,
            "held_out": held.scores,
            "baseline": held.baseline,
            "rows": held.rows,
            "split": held.how,
        }
        for name, held in found.items()
    ]
    if out is not None:
        write_files({out: json_text.dumps(plain, indent=1, ensure_ascii=False) + "\n"})
    if json:
        print_json(plain)
        return
    _print(asked, found)
    if out is not None:
        console().print(f"\nwritten to {out}")


def _scored(
    name: str, entry: Entry, settings: Sequence[str], data: ml.Data, target: str, split: SplitBy
) -> HeldOut:
    if not entry.load().reads_numbers:  # it knows constants, and predicates by their names
        target, data = ml.predicate_of(data, target), data.banded()
    targets = (target,) if entry.has("target") else ()
    learner = configured(name, entry, settings, targets, None)
    with Reporter(name) as report:
        run = ml.Run(progress=report)
        held = ml.held_out_scores(learner, data, run, by=split, target=target)
    if held is None:
        raise InputError(f"{target}: there are too few rows with a label to keep some aside")
    return held


def _print(target: str, found: Mapping[str, HeldOut]) -> None:
    first = next(iter(found.values()))
    screen = console()
    screen.print(heading(f"{target}: {first.rows:,} rows kept aside ({first.how})"))
    by_score = zip(*(held.in_words() for held in found.values()), strict=True)
    rows = [
        (several[0][0], *(f"{score:.3f}" for _, score, _ in several), f"{several[0][2]:.3f}")
        for several in by_score
    ]
    print_table(screen, ("score", *found, "base rate"), rows, words=(0,))
