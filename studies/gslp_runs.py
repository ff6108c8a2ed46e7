"""What the study of GSLP and MSL runs: a learner on the other folds, and answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.evaluate.ask import Conditionals
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.logic.clauses import as_clause
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.structure.beam.learn import MSL
from mlnlearn.structure.predicate_graph.learn import GSLP
from studies.gslp_answers import predict_together
from studies.gslp_cells import Scores
from studies.gslp_data import plain_folds

FOLDED = ("imdb", "uwcse", "cora")
FOLDS = 5
# many chains: one may stay in one of several worlds that are alike
SAMPLING = Sampling(samples=200, burn_in=100, chains=10)
# how often ground clauses may be looked at for one predicate of one fold
VISITS = 1e8
PROTOCOLS = ("all unknown", "one unknown")
METRICS = ("auc_pr", "cll")


@dataclass(frozen=True)
class Task:
    """One learner on one data set, with one fold held out."""

    data: str
    fold: int
    learner: GSLP | MSL
    sampling: Sampling


def folds_of(data: str, fold: int) -> tuple[list[Database], Database]:
    """Return the folds to learn from and the one to predict."""
    folds = plain_folds(data)
    return [database for place, database in enumerate(folds) if place != fold], folds[fold]


def run_folds(task: Task) -> dict[str, Any]:
    """Learn, and predict every predicate of the test fold."""
    train, test = folds_of(task.data, task.fold)
    started = time.process_time()
    learned = task.learner.fit(train)
    seconds = time.process_time() - started
    scores, approximate = predict_fold(learned.model, test, task.sampling, visits=VISITS)
    return {
        **result_of(learned.model, scores, started, seconds),
        "approximate": approximate,
    }


def predict_fold(
    model: MLN,
    test: Database,
    sampling: Sampling,
    names: Sequence[str] | None = None,
    visits: float | None = None,
) -> tuple[dict[str, Scores], list[str]]:
    """Predict every predicate of a test fold, or some; return scores, and what is by mean field."""
    together, single = PROTOCOLS
    scores: dict[str, Scores] = {together: {}, single: {}}
    approximate = []
    for name in names or [predicate.name for predicate in test.schema.predicates]:
        examples = positives_and_negatives([test], name)
        found = predict_examples(model, [test], examples, Conditionals())
        scores[single][name] = found.scores(METRICS)
        found, is_approximate = predict_together(model, test, examples, sampling, visits)
        approximate += [name] * is_approximate
        scores[together][name] = found.scores(METRICS)
    return scores, approximate


def result_of(
    mln: MLN, scores: dict[str, Scores], started: float, seconds: float
) -> dict[str, Any]:
    """Put down what a task found, and how long that took."""
    clauses = (as_clause(rule.formula) for rule in mln.rules)
    return {
        "scores": scores,
        "learning": seconds,
        "answering": time.process_time() - started - seconds,
        "clauses": sum(clause is None or len(clause) > 1 for clause in clauses),
    }
