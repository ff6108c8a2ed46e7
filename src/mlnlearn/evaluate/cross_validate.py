"""Cross-validation: train on some databases, predict another, score, for all folds and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples, positives_and_negatives
from mlnlearn.errors import InputError
from mlnlearn.evaluate.ask import MARGINALS, Given, with_seed
from mlnlearn.evaluate.attributes import attribute_examples
from mlnlearn.evaluate.folds import Fold, leave_one_out
from mlnlearn.evaluate.measure import Cost, measured
from mlnlearn.evaluate.metrics import METRICS, mean_of
from mlnlearn.evaluate.parallel import Progress, run_all
from mlnlearn.evaluate.predictions import ATTRIBUTE_METRICS, predict_examples
from mlnlearn.evaluate.results import FoldResult, Results
from mlnlearn.run import model_of

Negatives: TypeAlias = Literal["all"] | float
"""All false atoms, or so many sampled ones for each true atom."""


class Fits(Protocol):
    """Anything that learns a model from databases: settings, and `fit`."""

    def fit(self, databases: Sequence[Database]) -> object:
        """Return a model that predicts atoms (by `predict`) or is, or holds, a network.

        Or a `Fitted` with such a model.
        """
        ...


@dataclass(frozen=True, eq=False)
class _Task:
    """One fold with one seed: all that a worker needs."""

    learner: Fits
    number: int
    fold: Fold
    seed: int
    query: tuple[str, ...]
    negatives: Negatives
    reweight: bool
    repeats: int
    metrics: tuple[str, ...] | None
    given: Given
    attributes: frozenset[str]
    keep: bool


def cross_validate(
    learner: Fits,
    databases: Sequence[Database] | Sequence[Fold],
    query: str | Sequence[str],
    *,
    negatives: Negatives = "all",
    reweight: bool = False,
    repeats: int = 20,
    seeds: int | Sequence[int] = 1,
    jobs: int = 1,
    metrics: Iterable[str] | None = None,
    given: Given = MARGINALS,
    attributes: Iterable[str] = (),
    keep_predictions: bool = False,
    name: str = "",
    progress: Progress | None = None,
) -> Results:
    """Train and test a learner on every fold, with every seed.

    Numbers do not depend on how many processes work: every fold and seed draws from a generator of
    its own, and linear algebra runs on one thread.

    Parameters
    ----------
    learner
        Settings with a method ``fit(databases)``. Where it is a dataclass with a field ``seed``,
        that is set to each of the seeds.
    databases
        Databases to leave out one by one, or folds made otherwise (`entity_folds`, `time_folds`).
    query
        The predicate to predict, or several.
    negatives
        "all" false atoms of the test data, or a number: so many sampled ones for each true atom.
        With 2, the "twice the negatives" of the published tables.
    reweight
        Let sampled negatives stand for all: scores then estimate those over all false atoms, for
        predicates with too many to predict them all.
    repeats
        How often negatives are sampled; scores are means over the samples.
    seeds
        The seeds, or how many: 0, 1, ….
    jobs
        Number of processes.
    metrics
        Which metrics; by default all that are defined: those of `scores`, and of predicates with
        one value each (``!``, or `attributes`) also ``accuracy`` and ``attribute_cll``.
    given
        What the model may know when it predicts an atom: `Marginals` or `Conditionals`.
    attributes
        Predicates that hold one value, in their last argument, of those tuples that have one: the
        columns of tables. Only atoms of such tuples are asked for. Values of places that the schema
        marks ``!`` need no mention.
    keep_predictions
        Keep the predictions (of the first sample), for plots and pooled scores.
    name
        Of the learner, for tables; by default that of its class.
    progress
        Called after each fold and seed.

    Examples
    --------
    >>> from mlnlearn.data.synthetic import smokers
    >>> from mlnlearn.model.mln import MLN
    >>> class Known:
    ...     def fit(self, databases):
    ...         return MLN(databases[0].schema, smokers(10, rng=0).rules)
    >>> folds = [smokers(300, rng=seed).databases[0] for seed in (0, 1, 2)]
    >>> results = cross_validate(Known(), folds, "cancer", metrics=["auc_roc"])
    >>> [round(fold.scores["auc_roc"], 2) for fold in results.folds]
    [0.82, 0.78, 0.73]
    """
    predicates = (query,) if isinstance(query, str) else tuple(query)
    folds = _as_folds(databases)
    numbers = range(seeds) if isinstance(seeds, int) else seeds
    wanted = None if metrics is None else tuple(metrics)
    columns = frozenset(attributes)
    _check(folds, predicates, wanted or (), repeats, len(numbers))
    _check_negatives(negatives, wanted or (), columns.intersection(predicates))
    tasks = [
        _Task(
            learner,
            number,
            fold,
            seed,
            predicates,
            negatives,
            reweight,
            1 if negatives == "all" else repeats,
            wanted,
            given,
            columns,
            keep_predictions,
        )
        for number, fold in enumerate(folds, start=1)
        for seed in numbers
    ]
    found = run_all(_run, tasks, jobs=jobs, progress=progress)
    label = name or type(learner).__name__
    return Results(label, predicates, tuple(record for records in found for record in records))


def _as_folds(databases: Sequence[Database] | Sequence[Fold]) -> list[Fold]:
    if databases and all(isinstance(item, Fold) for item in databases):
        return list(cast(Sequence[Fold], databases))
    return leave_one_out(cast(Sequence[Database], databases))


def _check(
    folds: Sequence[Fold],
    query: tuple[str, ...],
    metrics: tuple[str, ...],
    repeats: int,
    seeds: int,
) -> None:
    if not query:
        raise InputError("name a predicate to predict")
    if seeds < 1 or repeats < 1:
        raise InputError(f"at least one seed and one repeat are needed, not {seeds} and {repeats}")
    for fold in folds:
        for database in (*fold.train, *fold.test):
            for predicate in query:
                database.schema[predicate]
    known = (*METRICS, *ATTRIBUTE_METRICS)
    for metric in metrics:
        if metric not in known:
            raise InputError(f"no metric {metric!r}; there are: {', '.join(known)}")


def _check_negatives(
    negatives: str | float, metrics: Iterable[str], attributes: Iterable[str]
) -> None:
    if negatives == "all":
        return
    if isinstance(negatives, str) or not negatives > 0:
        raise InputError(f"negatives are 'all' or a number above 0, not {negatives!r}")
    if set(metrics) & set(ATTRIBUTE_METRICS):
        raise InputError("accuracy of an attribute needs all its values: negatives='all'")
    for name in sorted(attributes):
        raise InputError(f"all values of the attribute {name} are asked for: negatives='all'")


def seeded(learner: Fits, seed: int) -> Fits:
    """Return the learner with its field ``seed`` set, if it has one.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Guess:
    ...     seed: int = 0
    ...     def fit(self, databases): ...
    >>> seeded(Guess(), 7)
    Guess(seed=7)
    """
    if "seed" in getattr(learner, "__dataclass_fields__", {}):
        return cast(Fits, replace(cast(Any, learner), seed=seed))
    return learner


def _run(task: _Task) -> list[FoldResult]:
    """Train on a fold and score each predicate."""
    with threadpool_limits(limits=1):
        with measured() as training:
            found = seeded(task.learner, task.seed).fit(task.fold.train)
        model = model_of(found)
        return [
            _score(task, model, predicate, place, training)
            for place, predicate in enumerate(task.query)
        ]


def _score(task: _Task, model: object, predicate: str, place: int, training: Cost) -> FoldResult:
    test = task.fold.test
    rng = np.random.default_rng([task.seed, task.number, place])
    examples, samples = _test_examples(task, predicate, rng)
    with measured() as testing:
        found = predict_examples(model, test, examples, with_seed(task.given, task.seed))
    metrics, values = _metrics(task, predicate)
    scores = mean_of([found.take(rows).scores(metrics, values) for rows in samples])
    first = found.take(samples[0])
    positives = int(np.count_nonzero(first.label))
    return FoldResult(
        task.number,
        task.fold.name,
        task.seed,
        predicate,
        scores,
        training.cpu_seconds,
        testing.cpu_seconds,
        (training + testing).megabytes,
        positives,
        len(first) - positives,
        first if task.keep else None,
    )


def _metrics(task: _Task, predicate: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the metrics of a predicate, and the places of its values where it is an attribute."""
    schema = task.fold.test[0].schema
    values = schema.functional.get(predicate, ())
    if predicate in task.attributes:
        values = (schema[predicate].arity - 1,)
    if task.metrics is not None:
        return task.metrics, values
    return (*METRICS, *ATTRIBUTE_METRICS) if values and task.negatives == "all" else METRICS, values


def _test_examples(
    task: _Task, predicate: str, rng: np.random.Generator
) -> tuple[Examples, list[NDArray[np.int64]]]:
    """Return all atoms to predict, and the rows of each sample of them.

    The positives, which all samples share, are predicted once.
    """
    test = task.fold.test
    if task.negatives == "all":
        examples = (
            attribute_examples(test, predicate)
            if predicate in task.attributes
            else positives_and_negatives(test, predicate)
        )
        return examples, [np.arange(len(examples))]
    drawn = [
        positives_and_negatives(test, predicate, ratio=task.negatives, rng=rng)
        for _ in range(task.repeats)
    ]
    parts = [drawn[0], *(sample.take(~sample.labels) for sample in drawn[1:])]
    starts = np.cumsum([0] + [len(part) for part in parts])
    positives = np.flatnonzero(drawn[0].labels)
    samples = [np.arange(starts[1])]
    for start, end in pairwise(starts[1:]):
        samples.append(np.concatenate([positives, np.arange(start, end)]))
    weights = np.concatenate([part.weights for part in parts])
    merged = Examples(
        drawn[0].predicate,
        np.concatenate([part.database for part in parts]),
        np.concatenate([part.columns for part in parts], axis=1),
        np.concatenate([part.labels for part in parts]),
        weights if task.reweight else np.ones(len(weights)),
    )
    return merged, samples
