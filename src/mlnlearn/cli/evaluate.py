"""``mlnlearn evaluate``: how well learners predict databases that they have not seen."""

from __future__ import annotations

import json as json_text
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from mlnlearn.cli.inspect import JsonOption, SchemaOption
from mlnlearn.cli.learn import configured
from mlnlearn.cli.options import LEARNER_NAMES, DatabasesOption, MoreArgument, SetOption, names
from mlnlearn.cli.progress import Reporter
from mlnlearn.cli.registry import Entry, learner_named
from mlnlearn.cli.show import console, heading, print_json, print_table
from mlnlearn.cli.sources import load
from mlnlearn.errors import InputError
from mlnlearn.files import write_atomically

if TYPE_CHECKING:  # loading the evaluation can wait until the command runs
    from mlnlearn.data.database import Database
    from mlnlearn.evaluate.results import FoldResult, Results
    from mlnlearn.evaluate.significance import Comparison

_WIDE = 100  # columns of a screen that takes everything about a fold
_TITLES, _CELL = 27, 17  # columns of the titles and of one learner in the table of means
_BY_FOLD = {"auc_pr": "AUC-PR", "ap": "AP", "auc_roc": "AUC-ROC", "cll": "CLL"}
_MEASURES = {
    "auc_pr": "AUC-PR",
    "ap": "average precision",
    "auc_roc": "AUC-ROC",
    "cll": "CLL",
    "brier": "Brier score (small is good)",
    "calibration_error": "calibration error (same)",
    "train_cpu_seconds": "training, CPU s",
    "test_cpu_seconds": "test, CPU s",
    "peak_megabytes": "peak memory, MB",
}


def evaluate(
    learner: Annotated[
        list[str],
        typer.Option(
            help=f"A learner, of {LEARNER_NAMES}; give several to compare them.",
            show_default=False,
        ),
    ],
    db: DatabasesOption,
    query: Annotated[
        str,
        typer.Option(
            help="Predicates to predict, with commas; several are hidden and predicted together."
        ),
    ],
    more: MoreArgument = None,
    schema: SchemaOption = None,
    negatives: Annotated[
        str, typer.Option(help="all, or so many sampled false atoms for each true one.")
    ] = "all",
    set_: SetOption = None,
    seeds: Annotated[int, typer.Option(help="Repeat with seeds 0, 1, ….", min=1)] = 1,
    jobs: Annotated[int, typer.Option(help="Processes; results do not depend on it.", min=1)] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Write the results as JSON.", show_default=False)
    ] = None,
    json: JsonOption = False,
) -> None:
    """Train on all databases but one, predict that one, and so on in turn."""
    queries = names(query, "--query")
    ratio = _negatives(negatives)
    chosen = _configured(learner, set_ or (), queries)
    databases = load(db + (more or []), schema).databases
    if len(databases) < 2:
        raise InputError("--db: at least two databases are needed, one for each fold")
    found = [
        _run(name, settings, databases, queries, ratio, seeds, jobs)
        for name, settings in chosen.items()
    ]
    compared = _compared(found)
    plain = _plain(found, compared)
    if out is not None:
        write_atomically(out, json_text.dumps(plain, indent=1, ensure_ascii=False) + "\n")
    if json:
        print_json(plain)
        return
    screen = console()
    for results in found:
        _print_folds(screen, results, seeds)
    _print_means(screen, found)
    _print_comparisons(screen, compared)
    if out is not None:
        screen.print(f"\nwritten to {out}")


def _negatives(text: str) -> Literal["all"] | float:
    if text == "all":
        return "all"
    try:
        ratio = float(text)
    except ValueError:
        ratio = math.nan
    if not 0 < ratio < math.inf:
        raise InputError(f"--negatives {text}: expected all, or a number above 0")
    return ratio


def _configured(
    learners: Sequence[str], texts: Sequence[str], query: tuple[str, ...]
) -> dict[str, Any]:
    """Return the learners with their settings, by name; targets are what is asked for."""
    from mlnlearn.cli.settings import parse_settings, settings_of  # noqa: PLC0415

    entries: dict[str, Entry] = {name: learner_named(name) for name in learners}
    for name, entry in entries.items():
        if entry.tables:
            raise InputError(f"--learner {name}: it learns from tables, not from databases")
    parse_settings(texts, entries)
    found = {}
    for name, entry in entries.items():
        known = settings_of(entry)
        mine = [text for text in texts if text.partition("=")[0].strip() in known]
        found[name] = configured(name, entry, mine, query if entry.has("target") else (), 0)
    return found


def _run(
    name: str,
    learner: Any,
    databases: Sequence[Database],
    query: tuple[str, ...],
    negatives: Literal["all"] | float,
    seeds: int,
    jobs: int,
) -> Results:
    from mlnlearn.evaluate.ask import Marginals  # noqa: PLC0415 - loads the evaluation
    from mlnlearn.evaluate.cross_validate import cross_validate  # noqa: PLC0415

    with Reporter(name) as report:
        return cross_validate(
            learner,
            databases,
            query,
            negatives=negatives,
            seeds=seeds,
            jobs=jobs,
            given=Marginals(hide=query),
            name=name,
            progress=report,
        )


def _compared(found: Sequence[Results]) -> list[Comparison]:
    """Compare the first learner with each of the others, by every metric."""
    from mlnlearn.evaluate.significance import compare  # noqa: PLC0415 - loads the statistics

    first, *others = found
    return [compare(first, other, metric) for other in others for metric in first.metrics]


def _plain(found: Sequence[Results], compared: Sequence[Comparison]) -> Any:
    """Return results as JSON has them; each but the first with how it differs from the first."""
    results = [one.to_dict() for one in found]
    for one in results[1:]:
        one["compared"] = [
            {
                "with": item.first,
                "metric": item.metric,
                "difference": _number(-item.difference),
                "t_test": _number(item.t_test),
                "wilcoxon": _number(item.wilcoxon),
                "wins": item.tally.losses,
                "losses": item.tally.wins,
                "ties": item.tally.ties,
            }
            for item in compared
            if item.second == one["learner"]
        ]
    return results if len(results) > 1 else results[0]


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _print_folds(screen: Console, results: Results, seeds: int) -> None:
    several = len(results.query) > 1
    columns: dict[str, Callable[[FoldResult], str]] = {"fold": lambda fold: str(fold.fold)}
    if several:
        columns["predicate"] = lambda fold: fold.query
    if seeds > 1:
        columns["seed"] = lambda fold: str(fold.seed)
    narrow = len(columns) > 1 and screen.width < _WIDE
    for metric, title in _BY_FOLD.items():
        if not (narrow and title == "AP"):
            columns[title] = lambda fold, metric=metric: _shown(fold.scores[metric])  # type: ignore[misc]
    columns["train s"] = lambda fold: f"{fold.train_cpu_seconds:.2f}"
    columns["test s"] = lambda fold: f"{fold.test_cpu_seconds:.2f}"
    if not narrow:
        columns["MB"] = lambda fold: f"{fold.peak_megabytes:.0f}"
    columns["true"] = lambda fold: f"{fold.n_pos:,}"
    columns["false"] = lambda fold: f"{fold.n_neg:,}"
    rows = [[show(fold) for show in columns.values()] for fold in results.folds]
    screen.print(heading(f"{results.learner} on {', '.join(results.query)}"))
    print_table(screen, tuple(columns), rows, words=(0, 1) if several else (0,))
    screen.print()


def _shown(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4f}"


def _print_means(screen: Console, found: Sequence[Results]) -> None:
    from mlnlearn.evaluate.results import mean_and_sd  # noqa: PLC0415 - loads the evaluation

    screen.print(heading("mean ± standard deviation over folds and seeds"))
    together = max(1, (screen.width - _TITLES) // _CELL)
    for start in range(0, len(found), together):
        part = found[start : start + together]
        rows = [
            (title, *(mean_and_sd(one.mean[name], one.sd[name]) for one in part))
            for name, title in _MEASURES.items()
        ]
        if start:
            screen.print()
        print_table(screen, ("", *(one.learner for one in part)), rows)


def _print_comparisons(screen: Console, compared: Sequence[Comparison]) -> None:
    if not compared:
        return
    screen.print()
    screen.print(heading("differences, with p-values over folds"))
    rows = [
        (
            f"{item.first} – {item.second}",
            _MEASURES[item.metric].partition(" (")[0],
            f"{item.difference:+.4f}",
            _shown(item.t_test),
            _shown(item.wilcoxon),
            f"{item.tally.wins}/{item.tally.losses}/{item.tally.ties}",
        )
        for item in compared
    ]
    titles = ("learners", "metric", "difference", "t-test", "Wilcoxon", "win/loss/tie")
    print_table(screen, titles, rows, words=(0, 1))
