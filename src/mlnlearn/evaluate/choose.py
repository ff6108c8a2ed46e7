"""Inner validation: settings are chosen on training data only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Generic, TypeVar, cast

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.evaluate.ask import MARGINALS, Given
from mlnlearn.evaluate.cross_validate import Fits, Negatives, cross_validate, seeded
from mlnlearn.evaluate.folds import Fold, entity_folds, leave_one_out
from mlnlearn.evaluate.metrics import METRICS, SMALLER_IS_BETTER
from mlnlearn.evaluate.parallel import Progress
from mlnlearn.evaluate.predictions import ATTRIBUTE_METRICS
from mlnlearn.evaluate.tables import WithMapping

AnyLearner = TypeVar("AnyLearner", bound=Fits)
Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class ChosenSettings(Generic[AnyLearner]):
    """The best settings of a grid, and how all of them scored.

    Attributes
    ----------
    learner
        The learner with the best settings.
    settings
        These settings.
    score
        Their mean score over the inner folds.
    table
        All settings that were tried with their scores, in the order of the grid.
    """

    learner: AnyLearner
    settings: dict[str, Any]
    score: float
    table: tuple[tuple[dict[str, Any], float], ...]


def choose(
    learner: AnyLearner,
    grid: Grid,
    databases: Sequence[Database] | Sequence[Fold],
    query: str | Sequence[str],
    *,
    metric: str = "auc_pr",
    negatives: Negatives = "all",
    seeds: int | Sequence[int] = 1,
    jobs: int = 1,
    given: Given = MARGINALS,
    attributes: Iterable[str] = (),
    progress: Progress | None = None,
) -> ChosenSettings[AnyLearner]:
    """Try all settings of a grid by cross-validation within the given data, and return the best.

    Of settings that score the same, the first in the grid wins.

    Parameters
    ----------
    learner
        A dataclass of settings with a method `fit`.
    grid
        For some of the settings, the values to try.
    databases
        Training databases to leave out one by one, or folds of the training data.
    query, negatives, seeds, jobs, given, attributes
        As for `cross_validate`.
    metric
        What to compare.
    progress
        Called after each combination of settings.

    Examples
    --------
    >>> from mlnlearn.data.synthetic import smokers
    >>> from mlnlearn.model.mln import MLN
    >>> @dataclass(frozen=True)
    ... class Constant:
    ...     weight: float = 0.0
    ...     def fit(self, databases):
    ...         text = f"{databases[0].schema}" + chr(10) + f"{self.weight} cancer(x)"
    ...         return MLN.parse(text)
    >>> folds = [smokers(30, rng=seed).databases[0] for seed in (0, 1)]
    >>> choose(Constant(), {"weight": [-9.0, -1.0, 9.0]}, folds, "cancer", metric="cll").settings
    {'weight': -1.0}
    """
    known = (*METRICS, *ATTRIBUTE_METRICS)
    if metric not in known:
        raise InputError(f"no metric {metric!r}; there are: {', '.join(known)}")
    combinations = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    if not combinations:
        raise InputError("the grid has no settings to try")
    table = []
    for settings in combinations:
        results = cross_validate(
            _with(learner, settings),
            databases,
            query,
            negatives=negatives,
            seeds=seeds,
            jobs=jobs,
            metrics=[metric],
            given=given,
            attributes=attributes,
        )
        table.append((settings, results.mean[metric]))
        if progress is not None:
            progress(len(table), len(combinations))
    sign = -1.0 if metric in SMALLER_IS_BETTER else 1.0
    ranked = np.array([sign * score for _, score in table])
    if np.isnan(ranked).all():
        raise InputError(f"{metric} is defined on none of the inner folds")
    settings, score = table[int(np.nanargmax(ranked))]
    return ChosenSettings(_with(learner, settings), settings, score, tuple(table))


def _with(learner: AnyLearner, settings: Mapping[str, Any]) -> AnyLearner:
    try:
        if isinstance(learner, WithMapping):
            return cast(AnyLearner, learner.with_settings(settings))
        return cast(AnyLearner, replace(cast(Any, learner), **settings))
    except TypeError as error:
        raise InputError(
            f"{type(learner).__name__} does not take the settings {', '.join(settings)}: {error}"
        ) from None


@dataclass(frozen=True)
class Tuned:
    """A learner that chooses its settings on the data it is given, then learns from all of them.

    In a cross-validation the test fold thus never takes part in the choice.

    Attributes
    ----------
    learner, grid, query, metric, negatives, given, attributes
        As for `choose`.
    entities
        Where there is only one database: the types to split it by (see `entity_folds`).
    parts
        Into how many parts.
    seed
        Of the splits and of the learner.
    jobs
        Number of processes for the inner folds.

    Examples
    --------
    >>> Tuned(learner=None, grid={"trees": [10, 20]}, query="advisedBy").metric
    'auc_pr'
    """

    learner: Fits
    grid: Grid
    query: str | Sequence[str]
    metric: str = "auc_pr"
    negatives: Negatives = "all"
    given: Given = MARGINALS
    attributes: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    parts: int = 3
    seed: int = 0
    jobs: int = 1

    def fit(self, databases: Sequence[Database]) -> object:
        """Choose the settings by inner validation, then fit them to all databases."""
        folds = (
            leave_one_out(databases)
            if len(databases) > 1
            else entity_folds(databases, self.entities, self.parts, self.seed)
        )
        choice = choose(
            self.learner,
            self.grid,
            folds,
            self.query,
            metric=self.metric,
            negatives=self.negatives,
            seeds=[self.seed],
            jobs=self.jobs,
            given=self.given,
            attributes=self.attributes,
        )
        return seeded(choice.learner, self.seed).fit(databases)
