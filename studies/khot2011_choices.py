"""How the defaults of boosting fare on folds left out of training: constants and negatives.

``python -m studies.khot2011_choices``. For every pair of folds, models of the other folds predict
both: the scores on one fold of the pair are inner scores of a study in which the other fold is the
test. So each test fold has a choice of its own, in which it took no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit

from mlnlearn.evaluate.metrics import scores
from studies.common import Options, Study, markdown_table, run, run_tasks
from studies.khot2011 import LEARNERS, Question, examples_of, folds_of

QUESTIONS = (
    Question("uwcse", "schema_khot.mln", "advisedBy"),
    Question("imdb_khot", "schema.mln", "workedUnder"),
    Question("imdb_khot", "schema.mln", "genre"),
    Question("imdb_khot", "schema.mln", "femaleGender"),
    Question("webkb", "schema_nosame.mln", "courseTA"),
    Question("webkb", "schema_nosame.mln", "courseProf"),
)
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "up to 20 constants": {"max_constants": 20},
    "no constants": {"max_constants": 0},
    "balance 2": {"balance": 2.0},
    "balance 5": {"balance": 5.0},
    "balance 20": {"balance": 20.0},
}
METRICS = {"auc_pr": "AUC-PR", "cll": "CLL"}
STUDY = Study(
    name="khot2011_choices",
    title="Boosting: choices made on training folds",
    about=(
        "Which constants may stand in rules, and how much negatives weigh, with 20 steps and 8 "
        "leaves. Every figure is a mean over folds that the model was not learned from, on all "
        "negatives. For each test fold of the tables of Khot et al. (2011) there is a choice among "
        "its training folds, each left out in turn; `best for` counts the test folds whose "
        "training folds put the setting first, ties going to the upper one. The defaults are a "
        "balance of 20 for trees and 2 for clauses, and constants of types with at most 20, one "
        "for every ten true atoms of the target."
    ),
    settings={name: values or "as they are" for name, values in SETTINGS.items()},
    seeds=1,
    minutes=3.5,
    of_papers=True,
)
GROUPS = {
    "Constants": ("defaults", "up to 20 constants", "no constants"),
    "Weight of negatives": ("balance 2", "balance 5", "balance 20"),
}


@dataclass(frozen=True)
class Task:
    """One training run without two folds, and its test on both."""

    question: Question
    learner: str
    setting: str
    pair: tuple[int, int]


def run_task(task: Task) -> dict[str, Any]:
    """Learn from all folds but the pair, and return the scores on each of the two."""
    question, folds = task.question, folds_of(task.question)
    train = [fold for number, fold in enumerate(folds) if number not in task.pair]
    settings = {"target": question.target, **SETTINGS[task.setting]}
    model = replace(LEARNERS[task.learner], **settings).fit(train).model
    found = []
    for number in task.pair:
        tested = examples_of(question, folds, [number])
        odds = model.log_odds(folds[number].without_facts([question.target]), tested)
        found.append(scores(tested.labels, expit(odds), metrics=METRICS))
    return {"scores": found}


def inner_scores(
    question: Question, options: Options
) -> dict[tuple[str, str], dict[str, np.ndarray[Any, np.dtype[np.float64]]]]:
    """Return, by learner and setting, each metric as a matrix: test fold by inner fold."""
    number = len(folds_of(question))
    tasks = [
        Task(question, learner, setting, pair)
        for learner in LEARNERS
        for setting in SETTINGS
        for pair in combinations(range(number), 2)
    ]
    results = run_tasks(run_task, tasks, options, f"{question.data} {question.target}")
    found = {
        (learner, setting): {metric: np.full((number, number), np.nan) for metric in METRICS}
        for learner in LEARNERS
        for setting in SETTINGS
    }
    for task, result in zip(tasks, results, strict=True):
        one, other = task.pair
        for metric, matrix in found[task.learner, task.setting].items():
            matrix[other, one] = result["scores"][0][metric]
            matrix[one, other] = result["scores"][1][metric]
    return found


def choice_rows(
    found: Mapping[tuple[str, str], Mapping[str, Any]], group: tuple[str, ...]
) -> Iterator[list[str]]:
    """Yield, for each learner and setting of a group, its means and how often it is the best."""
    for learner in LEARNERS:
        best = {
            metric: np.argmax(
                [np.nanmean(found[learner, setting][metric], axis=1) for setting in group], axis=0
            )
            for metric in METRICS
        }
        for place, setting in enumerate(group):
            row = [f"{learner}, {setting}"]
            for metric in METRICS:
                mean = np.nanmean(found[learner, setting][metric])
                row += [f"{mean:.4f}", str(np.count_nonzero(best[metric] == place))]
            yield row


def sections(options: Options) -> Iterator[str]:
    """Compute the page."""
    header = ["learner, setting", *(h for m in METRICS.values() for h in (m, "best for"))]
    for question in QUESTIONS:
        found = inner_scores(question, options)
        yield f"## {question.data}, {question.target}"
        for title, group in GROUPS.items():
            yield f"### {title}\n\n{markdown_table(header, choice_rows(found, group))}"


if __name__ == "__main__":
    run(STUDY, sections)
