"""Results of a cross-validation: one record per fold, seed and predicate, and their summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mlnlearn.errors import InputError
from mlnlearn.evaluate.predictions import Predictions, pooled
from mlnlearn.evaluate.ranking import Floats

COSTS = ("train_cpu_seconds", "test_cpu_seconds", "peak_megabytes")
"""What is measured beside the metrics."""


@dataclass(frozen=True, eq=False)
class FoldResult:
    """Scores of one predicate on one fold with one seed.

    Attributes
    ----------
    fold, name
        Number of the fold, from 1, and what it is called.
    seed
        The seed of learner and samples.
    query
        The predicate.
    scores
        The metrics, by name; not a number where one is not defined (no positives, say).
    train_cpu_seconds, test_cpu_seconds
        Processor time of learning, and of predicting. Learning is counted once a fold, with each
        of several predicates.
    peak_megabytes
        Most memory held by the process meanwhile.
    n_pos, n_neg
        Number of true and false test atoms; of sampled negatives, those of one sample.
    predictions
        The predictions themselves, if kept.
    """

    fold: int
    name: str
    seed: int
    query: str
    scores: dict[str, float]
    train_cpu_seconds: float
    test_cpu_seconds: float
    peak_megabytes: float
    n_pos: int
    n_neg: int
    predictions: Predictions | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON has it; what is not a number becomes None."""
        return {
            "fold": self.fold,
            "name": self.name,
            "seed": self.seed,
            "query": self.query,
            **{name: _plain(value) for name, value in self.scores.items()},
            **{name: getattr(self, name) for name in COSTS},
            "n_pos": self.n_pos,
            "n_neg": self.n_neg,
        }


@dataclass(frozen=True, eq=False)
class Results:
    """What a cross-validation found.

    Attributes
    ----------
    learner
        Its name.
    query
        The predicates.
    folds
        All records, by fold, seed and predicate.

    Examples
    --------
    >>> one = FoldResult(1, "a", 0, "smokes", {"ap": 0.5}, 1.0, 0.5, 80.0, 3, 9)
    >>> two = FoldResult(2, "b", 0, "smokes", {"ap": 0.7}, 3.0, 0.5, 80.0, 4, 12)
    >>> results = Results("BaseRate", ("smokes",), (one, two))
    >>> round(results.mean["ap"], 6), round(results.sd["ap"], 6), results.mean["train_cpu_seconds"]
    (0.6, 0.141421, 2.0)
    """

    learner: str
    query: tuple[str, ...]
    folds: tuple[FoldResult, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics; some may be defined for some of the predicates only."""
        return tuple(dict.fromkeys(name for fold in self.folds for name in fold.scores))

    @cached_property
    def mean(self) -> dict[str, float]:
        """The mean of every metric and cost over the records in which it is a number."""
        return {name: _mean(self._values(name)) for name in (*self.metrics, *COSTS)}

    @cached_property
    def sd(self) -> dict[str, float]:
        """The standard deviation (n - 1) over the records; not a number for a single one."""
        return {name: _sd(self._values(name)) for name in (*self.metrics, *COSTS)}

    def shown_mean(self, name: str) -> str:
        """Return a mean with its standard deviation as tables show it."""
        return mean_and_sd(self.mean.get(name, math.nan), self.sd.get(name, math.nan))

    def _values(self, name: str) -> Floats:
        values = [fold.scores.get(name, getattr(fold, name, math.nan)) for fold in self.folds]
        found = np.array(values, np.float64)
        return found[~np.isnan(found)]

    def of(self, query: str) -> Results:
        """Return the results of one predicate."""
        if query not in self.query:
            raise InputError(f"no results for {query!r}; there are: {', '.join(self.query)}")
        chosen = tuple(fold for fold in self.folds if fold.query == query)
        return replace(self, query=(query,), folds=chosen)

    def by_fold(self, metric: str) -> dict[tuple[int, str], float]:
        """Return a metric by fold and predicate, each the mean over seeds.

        Folds are the independent repetitions; seeds on the same fold are not, so that tests of
        significance compare these.
        """
        found: dict[tuple[int, str], list[float]] = {}
        for record in self.folds:
            if metric in record.scores:
                found.setdefault((record.fold, record.query), []).append(record.scores[metric])
        if not found:
            raise InputError(f"no metric {metric!r}; there are: {', '.join(self.metrics)}")
        return {key: float(np.mean(values)) for key, values in found.items()}

    def pooled(self) -> dict[str, Predictions]:
        """Return, by predicate, the predictions of all folds and seeds put together."""
        found = {}
        for name in self.query:
            parts = [fold.predictions for fold in self.folds if fold.query == name]
            kept = [part for part in parts if part is not None]
            if len(kept) < len(parts):
                raise InputError("the predictions were not kept", hint="keep_predictions=True")
            found[name] = pooled(kept)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON has them; of several predicates, also each one's means."""
        several = len(self.query) > 1
        parts = {"by_query": {name: self.of(name)._summary() for name in self.query}}
        return {
            "learner": self.learner,
            "query": list(self.query) if several else self.query[0],
            "folds": [fold.to_dict() for fold in self.folds],
            **self._summary(),
            **(parts if several else {}),
        }

    def _summary(self) -> dict[str, dict[str, float | None]]:
        return {
            "mean": {name: _plain(value) for name, value in self.mean.items()},
            "sd": {name: _plain(value) for name, value in self.sd.items()},
        }

    def __str__(self) -> str:
        return results_table([self])


def results_table(results: Sequence[Results]) -> str:
    """Return learners side by side as text: mean ± standard deviation of every metric and cost.

    Examples
    --------
    >>> one = FoldResult(1, "a", 0, "smokes", {"ap": 0.5}, 1.0, 0.5, 80.0, 3, 9)
    >>> print(results_table([Results("BaseRate", ("smokes",), (one,))]))
                       BaseRate
    ap                    0.500
    train_cpu_seconds     1.000
    test_cpu_seconds      0.500
    peak_megabytes       80.000
    """
    names = list(dict.fromkeys(name for found in results for name in (*found.metrics, *COSTS)))
    table = [["", *(found.learner for found in results)]]
    for name in names:
        table.append([name, *(found.shown_mean(name) for found in results)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for first, *rest in table:
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    return "\n".join(lines)


def mean_and_sd(mean: float, sd: float) -> str:
    """Return a mean with its standard deviation as tables show it.

    Examples
    --------
    >>> mean_and_sd(0.5, 0.25), mean_and_sd(0.5, math.nan), mean_and_sd(math.nan, math.nan)
    ('0.500 ± 0.250', '0.500', '–')
    """
    if math.isnan(mean):
        return "–"
    return f"{mean:.3f}" if math.isnan(sd) else f"{mean:.3f} ± {sd:.3f}"


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _sd(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else math.nan


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
