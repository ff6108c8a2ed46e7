"""``mlnlearn evaluate --target``: scores on rows of tables, or atoms, that were kept aside."""

from __future__ import annotations

import json as json_text
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import mlnlearn as ml
from mlnlearn.cli.evaluate_learners import by_learner
from mlnlearn.cli.learn import configured
from mlnlearn.cli.progress import Reporter
from mlnlearn.cli.rows import chosen_as_plain, print_choice, warn_of_leaks
from mlnlearn.cli.show import complain, console, heading, print_json, print_table
from mlnlearn.errors import InputError, MlnError
from mlnlearn.files import write_files
from mlnlearn.registry import Entry

if TYPE_CHECKING:  # loading the evaluation can wait until the command runs
    from mlnlearn.evaluate.held_out import HeldOut
    from mlnlearn.evaluate.row_split import SplitBy


def evaluate_rows(
    chosen: Mapping[str, Entry],
    settings: Sequence[str],
    data: ml.Data,
    target: str,
    split: SplitBy,
    seeds: int = 1,
    *,
    out: Path | None,
    json: bool,
) -> None:
    """Keep rows aside, learn from the others, and show how well the label of those is predicted."""
    warn_of_leaks(data, target)
    found: dict[str, list[HeldOut]] = {}
    mine = by_learner(dict(chosen), settings)
    for name, entry in chosen.items():
        try:
            found[name] = _scored(name, entry, mine[name], data, target, split, seeds)
        except MlnError as error:
            if len(chosen) == 1:
                raise
            complain("error", f"{name}: {error}")
    if not found:
        raise InputError("no learner could be evaluated, for the reasons above")
    plain = [
        {
            "learner": name,
            **chosen_as_plain(several[0].notes),
            "held_out": _mean([held.scores for held in several]),
            "baseline": _mean([held.baseline for held in several]),
            **({} if seeds == 1 else {"by_seed": [held.scores for held in several]}),
            "rows": several[0].rows,
            "split": several[0].how,
        }
        for name, several in found.items()
    ]
    if out is not None:
        write_files({out: json_text.dumps(plain, indent=1, ensure_ascii=False) + "\n"})
    if json:
        print_json(plain)
        return
    _print(target, found)
    if out is not None:
        console().print(f"\nwritten to {out}")


def _mean(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: fmean(one[name] for one in scores) for name in scores[0]}


def _scored(
    name: str,
    entry: Entry,
    settings: Sequence[str],
    data: ml.Data,
    target: str,
    split: SplitBy,
    seeds: int,
) -> list[HeldOut]:
    """Return the scores with each seed, which says what is kept aside and what a learner draws."""
    if not entry.load().reads_numbers:  # it knows constants, and predicates by their names
        target, data = ml.predicate_of(data, target), data.banded()
    targets = (target,) if entry.has("target") else ()
    found = []
    with Reporter(name) as report:
        run = ml.Run(progress=report)
        for seed in range(seeds):
            own = seed if entry.has("seed") and seeds > 1 else None
            learner = configured(name, entry, settings, targets, own)
            held = ml.held_out_scores(learner, data, run, by=split, target=target, seed=seed)
            if held is None:
                raise InputError(
                    f"{target}: there are too few rows with a label to keep some aside"
                )
            found.append(held)
    return found


def _print(target: str, found: Mapping[str, Sequence[HeldOut]]) -> None:
    first, *more = next(iter(found.values()))
    screen = console()
    times = f", {1 + len(more)} times" if more else ""
    screen.print(heading(f"{target}: {first.rows:,} rows kept aside ({first.how}{times})"))
    rows = [
        (
            words,
            *(_said([held.scores[score] for held in several]) for several in found.values()),
            _said([held.baseline[score] for held in (first, *more)]),
        )
        for (words, _, _), score in zip(first.in_words(), first.scores, strict=True)
    ]
    print_table(screen, ("score", *found, "base rate"), rows, words=(0,))
    for several in found.values():
        print_choice(screen, several[0].notes)


def _said(scores: Sequence[float]) -> str:
    """Say a score, or the mean of several with its standard error."""
    if len(scores) == 1:
        return f"{scores[0]:.3f}"
    return f"{fmean(scores):.3f} ± {stdev(scores) / math.sqrt(len(scores)):.3f}"
