"""What the studies of LSL run: published figures, settings, tasks, and what is done for each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mlnlearn.data.catalog import benchmark
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.errors import MemoryLimitError
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.structure.beam.learn import MSL
from mlnlearn.structure.bottom_up.busl import BUSL
from mlnlearn.structure.lifted_search.learn import LiftedStructureLearner
from mlnlearn.weights.generative import learn_pseudolikelihood
from mlnlearn.weights.likelihood import learn_likelihood, liftable_part, log_likelihood
from studies.gslp_answers import predict_together
from studies.published import figure, tables

KNOWN = tables()["vanhaaren2015", "1 and 2"]
FOLDS = {"imdb_lsl": 5, "uwcse_lsl": 5, "webkb": 4}
LEARNER = LiftedStructureLearner()
# the letter that stands for a system in the paper's tables; its learner with the limits of networks
# that can be lifted, and with its own
SYSTEMS = {"MSL": "M", "BUSL": "B"}
TRACTABLE = {kind.__name__: kind(max_literals=4, max_variables=3) for kind in (MSL, BUSL)}
UNRESTRICTED = {kind.__name__: kind(max_literals=5, max_variables=5) for kind in (MSL, BUSL)}
SIGMA = 100.0
SAMPLING = Sampling(samples=200, burn_in=100, chains=6)
# how often ground clauses may be looked at for one predicate of one fold
VISITS = 1e7
METRICS = ("auc_pr", "cll")
# settings that differ from the default
VARIANTS: dict[str, dict[str, Any]] = {
    "sigma 1": {"sigma": 1.0},
    "sigma 2": {"sigma": 2.0},
    "tested growth": {"tested_growth": 2.0},
    "half the price on risk": {"risk": 5.0},
    "twice the price on risk": {"risk": 20.0},
    "200 candidates refitted": {"refitted": 200},
    "four literals": {"max_literals": 4},
    "four literals, sigma 1": {"max_literals": 4, "sigma": 1.0},
}
DEFAULT = "sigma 2"
# what is chosen from on training folds, and what else was compared there
CHOICES: dict[str, tuple[str, ...]] = {
    "imdb_lsl": ("sigma 2", "tested growth"),
    "uwcse_lsl": (DEFAULT,),
    "webkb": ("sigma 1", "sigma 2"),
}
COMPARED: dict[str, tuple[str, ...]] = {
    "imdb_lsl": (),
    "webkb": tuple(name for name in VARIANTS if name not in ("tested growth", *CHOICES["webkb"])),
}


@dataclass(frozen=True)
class Fold:
    """A test fold."""

    data: str
    number: int


@dataclass(frozen=True)
class Chosen:
    """A test fold and the variant that its training folds chose."""

    data: str
    number: int
    variant: str


@dataclass(frozen=True)
class Inner:
    """Two folds to leave out, and a variant of the learner."""

    data: str
    left_out: tuple[int, int]
    variant: str


@dataclass(frozen=True)
class Opponent:
    """A test fold and a system that LSL is compared with."""

    data: str
    number: int
    system: str


@dataclass(frozen=True)
class Asked:
    """A test fold and the networks to ask."""

    data: str
    number: int
    networks: Mapping[str, str]


def folds_of(name: str) -> list[Database]:
    """Return the folds of a data set, the ``!`` of its schema stripped."""
    folds = benchmark(name, schema="schema_nosame.mln" if name == "webkb" else "schema.mln")
    schema = folds[0].schema.without_functional()
    return [replace(fold, schema=schema) for fold in folds]


def split(data: str, number: int) -> tuple[Database, list[Database]]:
    """Return a test fold and its training folds."""
    folds = folds_of(data)
    return folds[number], folds[:number] + folds[number + 1 :]


def published(data: str, number: int, column: str) -> int:
    """Return the likelihood that the paper prints for a fold, by our numbers of folds.

    Examples
    --------
    >>> published("imdb_lsl", 0, "LSL"), published("webkb", 3, "M+PLL")
    (-306, -1426)
    """
    return round(figure(KNOWN.cell(f"{data} {number + 1}", column)))


def lifted(task: Chosen) -> dict[str, Any]:
    """Run LSL without one fold: the network, the fold's log-likelihood, clauses, CPU seconds."""
    test, train = split(task.data, task.number)
    started = time.process_time()
    learned = replace(LEARNER, **VARIANTS[task.variant]).fit(train)
    return {
        "seconds": time.process_time() - started,
        "likelihood": log_likelihood(learned.model, test),
        "clauses": [str(step.clause) for step in learned.notes.steps],
        "network": str(learned.model),
    }


def opponents(task: Opponent) -> dict[str, Any]:
    """Run a system without one fold: the fold's log-likelihoods where there are any, networks."""
    test, train = split(task.data, task.number)
    started = time.process_time()
    tractable = liftable_part(TRACTABLE[task.system].fit(train).model, train)
    seconds = time.process_time() - started
    letter = SYSTEMS[task.system]
    networks = {
        "units": learn_likelihood(MLN(test.schema), train, sigma=SIGMA).mln,
        f"{letter}+PLL": learn_pseudolikelihood(tractable, train, sigma=SIGMA).mln,
        f"{letter}+LWL": learn_likelihood(tractable, train, sigma=SIGMA, units=False).mln,
    }
    likelihood = {name: log_likelihood(mln, test) for name, mln in networks.items()}
    networks[task.system] = UNRESTRICTED[task.system].fit(train).model
    return {
        "seconds": seconds,
        "likelihood": likelihood,
        "networks": {name: str(mln) for name, mln in networks.items()},
    }


def predictions(task: Asked) -> dict[str, Any]:
    """Score each network's predictions of every predicate of the test fold.

    Beside the scores, whether they are by mean field; None where grounding takes too much memory.
    """
    test, _ = split(task.data, task.number)
    networks = {name: MLN.parse(text) for name, text in task.networks.items()}
    scores: dict[str, Any] = {}
    for predicate in test.schema.predicates:
        examples = positives_and_negatives([test], predicate.name)
        found: dict[str, dict[str, float] | None] = {}
        scores[predicate.name] = found
        for name, mln in networks.items():
            try:
                answers, by_mean_field = predict_together(mln, test, examples, SAMPLING, VISITS)
            except MemoryLimitError:
                found[name] = None
            else:
                found[name] = {**answers.scores(METRICS), "mean field": by_mean_field}
    return scores


def left_out(task: Inner) -> dict[str, Any]:
    """Learn without two folds; their log-likelihoods."""
    folds = folds_of(task.data)
    train = [fold for number, fold in enumerate(folds) if number not in task.left_out]
    learned = replace(LEARNER, **VARIANTS[task.variant]).fit(train)
    return {"likelihood": [log_likelihood(learned.model, folds[n]) for n in task.left_out]}
