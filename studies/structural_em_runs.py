"""Runs of structural EM: what is generated or hidden, learned, and tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.catalog import benchmark
from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples, positives_and_negatives
from mlnlearn.data.synthetic import disjunctive, hide, smokers
from mlnlearn.data.synthetic.truth import Synthetic
from mlnlearn.evaluate.ask import Conditionals, Marginals
from mlnlearn.evaluate.metrics import scores
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN
from mlnlearn.structure.structural_em import Mode, StructuralEM
from mlnlearn.weights.em import learn_em

Floats = NDArray[np.float64]

MODES: dict[str, Mode] = {"SEM": "soft", "H-SEM": "hard", "CWA": "closed"}
COPIES = 10
DISJUNCTIVE = {"objects": 100, "q": 0.5, "r_given_q": 0.25, "r_otherwise": 0.05}
CANCER = {
    "people": 100,
    "stress": 0.5,
    "mean_degree": 3.0,
    "smokes": (0.0, 2.0, 0.3),
    "cancer": (-6.0, 4.0, 2.0),
}
RDN = BoostedRDN(target="s", max_constants=0, line_search=True)
BC = BoostedMLN(target="cancer", representation="clauses", line_search=True, recursive=("smokes",))
UWCSE = BoostedRDN(target="advisedBy")
UWCSE_HIDDEN = ("student", "professor", "advisedBy")
UWCSE_WORLDS = 4
SAMPLING = Sampling(samples=2000, burn_in=200)  # where hidden atoms of tests are too many to sum


@dataclass(frozen=True)
class Task:
    """One training set: of which data, with how much hidden; its number, or the fold tested."""

    data: str
    share: float
    number: int
    values: int = 0
    collection: int = 0


def generated(task: Task) -> tuple[Synthetic, str, str, dict[str, StructuralEM]]:
    """Return the data, the target, the predicate to hide, and the learners."""
    if task.data == "cancer":
        base: BoostedMLN | BoostedRDN = BC
        made = smokers(**CANCER, rng=task.collection, copies=COPIES)  # type: ignore[arg-type]
        target, hidden = "cancer", "smokes"
    else:
        base = RDN
        settings = DISJUNCTIVE | {"values": task.values}
        made = disjunctive(**settings, rng=task.collection, copies=COPIES)  # type: ignore[arg-type]
        target, hidden = "s", "r"
    learners = {name: StructuralEM(base=base, mode=mode) for name, mode in MODES.items()}
    return made, target, hidden, learners


def measure(task: Task) -> dict[str, list[list[float]]]:
    """Learn from one data set and test on the others, with every learner."""
    made, target, name, learners = generated(task)
    whole = list(made.databases)
    hidden = [hide(db, name, task.share, rng=place) for place, db in enumerate(whole)]
    train = hidden.pop(task.number)
    del whole[task.number]
    examples = [positives_and_negatives([db], target) for db in whole]
    found: dict[str, list[list[float]]] = {}
    for label, learner in learners.items():
        model = learner.fit(train).model
        complete = [model.probabilities(db, e) for db, e in zip(whole, examples, strict=True)]
        given = [db.closed() for db in hidden] if learner.mode == "closed" else hidden
        sums = _summed_out(model, given, examples)
        found[label] = [scored(complete, examples), scored(sums, examples)]
    if task.data == "cancer":
        rules = MLN(train.schema, tuple(replace(rule, weight=None) for rule in made.rules))
        mln = learn_em(rules, [train], mode="hard").mln
        pairs = list(zip(whole, hidden, examples, strict=True))
        complete = [predict_examples(mln, [w], e, Conditionals()).probability for w, _, e in pairs]
        sums = [predict_examples(mln, [h], e, Marginals()).probability for _, h, e in pairs]
        found["Alch"] = [scored(complete, examples), scored(sums, examples)]
    return found


def _summed_out(
    model: BoostedModel, databases: Sequence[Database], examples: Sequence[Examples]
) -> list[Floats]:
    """Ask for all atoms of a target at once, summing over what is unknown."""
    name = examples[0].predicate.name
    targets = [rules.predicate.name for rules in model.targets]
    answers = []
    for database, wanted in zip(databases, examples, strict=True):
        (table,) = model.query(database, name, closed=targets, sampling=SAMPLING).tables
        # targets have one argument here, and their atoms come in order
        answers.append(table.probability[wanted.columns[0]])
    return answers


def scored(probabilities: Sequence[Floats], examples: Sequence[Examples]) -> list[float]:
    """Return the mean CLL and AUC-PR over test sets."""
    each = [
        scores(e.labels, p, metrics=["cll", "auc_pr"])
        for e, p in zip(examples, probabilities, strict=True)
    ]
    return [float(np.mean([one[metric] for one in each])) for metric in ("cll", "auc_pr")]


def uwcse_fold(task: Task) -> dict[str, list[float]]:
    """Learn from four folds with hidden atoms, and predict advisedBy in the fifth, complete."""
    folds = benchmark("uwcse", schema="schema_khot.mln")
    train = [
        hide(fold, UWCSE_HIDDEN, task.share, rng=place)
        for place, fold in enumerate(folds)
        if place != task.number
    ]
    test = folds[task.number]
    examples = positives_and_negatives([test], "advisedBy")
    found = {}
    for name, mode in MODES.items():
        model = StructuralEM(base=UWCSE, mode=mode, worlds=UWCSE_WORLDS).fit(train).model
        found[name] = scored([model.probabilities(test, examples)], [examples])
    return found
