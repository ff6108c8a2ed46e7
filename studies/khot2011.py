"""The protocol of Khot, Natarajan, Kersting and Shavlik (2011), for the studies of its tables.

Each database is a fold: learn one target from the others, hide it in the test database, and predict
all its atoms. Settings stand here, and are the paper's where it names them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit

from mlnlearn.data.catalog import benchmark, benchmark_path
from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples, given, positives_and_negatives
from mlnlearn.data.load.alchemy import read_db
from mlnlearn.evaluate.choose import choose
from mlnlearn.evaluate.metrics import sampled_scores, scores
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN
from studies.common import Options, run_tasks

LEARNERS: dict[str, BoostedMLN | BoostedRDN] = {  # the paper's have no vectors of values
    "MLN-BT": BoostedMLN(target="", steps=20, max_leaves=8, axis="off"),
    "MLN-BC": BoostedMLN(
        target="",
        representation="clauses",
        steps=20,
        max_literals=4,
        beam=10,
        clauses_per_step=3,
        axis="off",
    ),
    "RDN-B": BoostedRDN(target="", steps=20, max_leaves=8, axis="off"),
}
VARIANTS = {
    "calibrated": "",
    "chosen": ", chosen",
    "paper": ", the paper's negatives",
}
GRID = {"balance": (2.0, 20.0), "shrinkage": (1.0, 0.5)}
CHOSEN_BY = "cll"
RATIO = 2.0
REPEATS = 20
METRICS = ("auc_pr", "ap", "cll")
SETTINGS: dict[str, object] = {
    "steps": 20,
    "max_leaves": 8,
    "literals_per_node": 2,
    "min_examples": "6 (the paper's negatives: of a node, as in the paper, not of each side)",
    "max_literals, beam, clauses_per_step": "4, 10, 3",
    "negatives in training": "calibrated (trees: balance 20, clauses: balance 2); paper",
    "`chosen`": f"from {GRID} by {CHOSEN_BY} of folds left out of the training folds",
    "negatives in tests": f"all; {RATIO:g} for each positive, {REPEATS} samples",
}
TEST_SETS = ("all", "2x", "2x shifted")

Scores: TypeAlias = dict[str, dict[str, float]]
"""By test set and metric."""


@dataclass(frozen=True)
class Question:
    """What is predicted.

    Attributes
    ----------
    data, schema
        A benchmark and which of its schemas.
    target
        The predicate.
    listed
        Whether the examples are those the data set lists, not all ground atoms.
    """

    data: str
    schema: str
    target: str
    listed: bool = False


@dataclass(frozen=True)
class Task:
    """One training run and its test.

    Attributes
    ----------
    question
        What is predicted.
    learner
        A name in `LEARNERS`.
    variant
        A name in `VARIANTS`: calibrated negatives with the default settings, or with settings
        chosen on the training folds; or the paper's negatives.
    test
        The fold to predict.
    seeds
        Of samples of the test's negatives; the first also is the learner's.
    cuts
        The numbers of steps after which the model is tested.
    """

    question: Question
    learner: str
    variant: str = "calibrated"
    test: int = 0
    seeds: tuple[int, ...] = (0,)
    cuts: tuple[int, ...] = (20,)


def folds_of(question: Question) -> list[Database]:
    """Return the databases of a question."""
    return benchmark(question.data, schema=question.schema)


def examples_of(question: Question, folds: Sequence[Database], numbers: Sequence[int]) -> Examples:
    """Return the examples in some of the folds.

    An atom that is listed both as true and as false counts as true: it is a fact of the database.
    """
    chosen = [folds[number] for number in numbers]
    if not question.listed:
        return positives_and_negatives(chosen, question.target)
    folder = benchmark_path(question.data) / "examples"
    rows: dict[str, list[set[tuple[str, ...]]]] = {"pos": [], "neg": []}
    for kind, found in rows.items():
        for number, database in zip(numbers, chosen, strict=True):
            listed = read_db(folder / f"fold{number + 1}_{kind}.txt", schema=database.schema)
            found.append(set(listed.rows(question.target)))
    negatives = [no - yes for yes, no in zip(rows["pos"], rows["neg"], strict=True)]
    return given(chosen, question.target, [*map(sorted, rows["pos"])], [*map(sorted, negatives)])


def run_task(task: Task) -> dict[str, Any]:
    """Learn and test.

    Returns
    -------
    The scores by seed and number of steps, settings that were chosen, and CPU seconds of the
    training that followed the choice.
    """
    question, folds = task.question, folds_of(task.question)
    numbers = [number for number in range(len(folds)) if number != task.test]
    train = [folds[number] for number in numbers]
    learner = replace(LEARNERS[task.learner], target=question.target, seed=task.seeds[0])
    settings: dict[str, Any] = {}
    if task.variant == "paper":
        # the examples of a node, not of each side, are counted, as the paper does
        learner = replace(learner, negatives="paper", min_examples_of="node")
    elif task.variant == "chosen":
        choice = choose(learner, GRID, train, question.target, metric=CHOSEN_BY)
        learner, settings = choice.learner, choice.settings
    examples = examples_of(question, folds, numbers)
    start = time.process_time()
    model = learner.fit(train, examples=examples if question.listed else None).model
    seconds = time.process_time() - start
    tested = examples_of(question, folds, [task.test])
    hidden = folds[task.test].without_facts([question.target])
    shift = 0.0
    if task.variant != "paper":
        false = len(examples) - examples.positives
        shift = math.log(false / (RATIO * examples.positives))
    log_odds = {cut: model.truncated(cut).log_odds(hidden, tested) for cut in task.cuts}
    found = [
        {
            str(cut): scores_of(tested.labels, values, shift, [seed, task.test])
            for cut, values in log_odds.items()
        }
        for seed in task.seeds
    ]
    return {"scores": found, "settings": settings, "train_cpu_seconds": seconds}


def scores_of(
    labels: np.ndarray[Any, np.dtype[np.bool_]],
    log_odds: np.ndarray[Any, np.dtype[np.float64]],
    shift: float,
    seed: Sequence[int],
) -> Scores:
    """Score predictions on all atoms and on all positives with twice as many negatives.

    The shift turns log-odds of the full population into those of a world with two negatives for
    each positive. It follows from the share of positives in the training data, so that nothing of
    the test data goes into it.

    Examples
    --------
    >>> found = scores_of(np.array([True, False, False]), np.array([2.0, -2.0, -2.0]), 0.0, [0])
    >>> found["all"]["auc_pr"], round(found["2x shifted"]["cll"], 3)
    (1.0, -0.127)
    """

    def sampled(by: float) -> dict[str, float]:
        return sampled_scores(
            labels,
            expit(log_odds + by),
            ratio=RATIO,
            repeats=REPEATS,
            rng=np.random.default_rng(seed),
            metrics=METRICS,
        )

    found = scores(labels, expit(log_odds), metrics=METRICS)
    return {"all": found, "2x": sampled(0.0), "2x shifted": sampled(shift)}


Key: TypeAlias = tuple[str, str]
"""Learner and variant."""


def evaluate(question: Question, options: Options, cuts: tuple[int, ...] = (20,)) -> dict[Key, Any]:
    """Run all learners in all variants on all folds.

    Calibrated learning of one target draws nothing at random, so that it is done once; only the
    negatives of the test are then drawn with every seed.

    Returns
    -------
    By learner and variant, the results by number of the fold, then by seed.
    """
    number = len(folds_of(question))
    variants = [name for name in VARIANTS if name != "chosen" or not question.listed]
    keys = [(learner, variant) for variant in variants for learner in LEARNERS]
    seeds = range(options.seeds)
    tasks = [
        Task(question, learner, variant, test, drawn, cuts)
        for learner, variant in keys
        for test in range(number)
        for drawn in ([(seed,) for seed in seeds] if variant == "paper" else [tuple(seeds)])
    ]
    results = run_tasks(run_task, tasks, options, f"{question.data} {question.target}")
    found: dict[Key, Any] = {key: [[] for _ in range(number)] for key in keys}
    for task, result in zip(tasks, results, strict=True):
        runs = [{**result, "scores": scored} for scored in result["scores"]]
        found[task.learner, task.variant][task.test] += runs
    return found
