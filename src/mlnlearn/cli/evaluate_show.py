"""What ``mlnlearn evaluate`` prints: scores by fold, means, and how learners differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mlnlearn.cli.show import heading, print_table

if TYPE_CHECKING:  # loading the evaluation can wait until the command runs
    from mlnlearn.evaluate.results import FoldResult, Results
    from mlnlearn.evaluate.significance import LearnerComparison

_WIDE = 100  # columns of a screen that takes everything about a fold
_TITLES, _CELL = 24, 18  # columns of the titles and of one learner in the table of means
_BY_FOLD = {
    "auc_pr": "AUC-PR",
    "ap": "AP",
    "auc_roc": "AUC-ROC",
    "cll": "CLL",
    "accuracy": "accuracy",
    "attribute_cll": "CLL of values",
}
_MEASURES = {
    "auc_pr": "AUC-PR",
    "ap": "average precision",
    "auc_roc": "AUC-ROC",
    "cll": "CLL",
    "brier": "Brier (small is good)",
    "calibration_error": "calibration error (same)",
    "accuracy": "accuracy of values",
    "attribute_cll": "CLL of values",
    "train_cpu_seconds": "training, CPU s",
    "test_cpu_seconds": "test, CPU s",
    "peak_megabytes": "peak memory, MB",
}


def plain(found: Sequence[Results], compared: Sequence[LearnerComparison]) -> Any:
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


def print_folds(screen: Console, results: Results, seeds: int) -> None:
    """Print a line for each fold, seed and predicate."""
    several = len(results.query) > 1
    columns: dict[str, Callable[[FoldResult], str]] = {"fold": lambda fold: str(fold.fold)}
    if several:
        columns["predicate"] = lambda fold: fold.query
    if seeds > 1:
        columns["seed"] = lambda fold: str(fold.seed)
    narrow = screen.width < _WIDE
    shown = _columns(results, narrow, len(columns))
    for metric, title in _BY_FOLD.items():
        if metric in shown:
            columns[title] = lambda fold, metric=metric: _shown(fold.scores.get(metric))  # type: ignore[misc]
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


def _columns(results: Results, narrow: bool, places: int) -> set[str]:
    """Return the metrics that have a place beside the fold."""
    if not narrow:
        return set(results.metrics)
    if "accuracy" in results.metrics:
        return {"auc_pr", "accuracy", "attribute_cll"}
    return set(_BY_FOLD) & set(results.metrics) - ({"ap"} if places > 1 else set())


def _shown(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.4f}"


def print_means(screen: Console, found: Sequence[Results]) -> None:
    """Print the means of all learners side by side; of several predicates, each one's too."""
    screen.print(heading("mean ± standard deviation over folds and seeds"))
    together = max(1, (screen.width - _TITLES) // _CELL)
    for start in range(0, len(found), together):
        part = found[start : start + together]
        cells = {
            name: [one.shown_mean(name) for one in part]
            for name in _MEASURES
            if any(name in one.mean for one in part)
        }
        rows = [(_MEASURES[name], *shown) for name, shown in cells.items()]
        if start:
            screen.print()
        print_table(screen, ("", *(one.learner for one in part)), rows)
    for results in found if len(found[0].query) > 1 else ():
        _print_by_predicate(screen, results)


def _print_by_predicate(screen: Console, results: Results) -> None:
    shown = _columns(results, screen.width < _WIDE, 2)
    titles = {name: title for name, title in _BY_FOLD.items() if name in shown}
    rows = []
    for query in results.query:
        mean = results.of(query).mean
        rows.append((query, *(_shown(mean.get(name)) for name in titles)))
    screen.print()
    screen.print(heading(f"{results.learner}: means by predicate"))
    print_table(screen, ("predicate", *titles.values()), rows)


def print_comparisons(screen: Console, compared: Sequence[LearnerComparison]) -> None:
    """Print how learners differ, if there are several."""
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
