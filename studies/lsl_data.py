"""What the study of LSL runs: the published figures, settings, tasks, and what is done for each."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mlnlearn.data.catalog import benchmark
from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples, positives_and_negatives
from mlnlearn.errors import MemoryLimitError
from mlnlearn.evaluate.ask import Marginals
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.structure.beam.learn import MSL
from mlnlearn.structure.lifted_search.learn import LiftedStructureLearner
from mlnlearn.weights.generative import learn_pseudolikelihood
from mlnlearn.weights.likelihood import learn_likelihood, liftable_part, log_likelihood
from studies.published import figure, tables

KNOWN = tables()["vanhaaren2015", "1 and 2"]
# Van Haaren et al. 2015, tables 1 and 2, in the order of our folds: LSL; MSL with weights by
# pseudo-likelihood and by likelihood.
PUBLISHED = {
    name: tuple(
        tuple(round(figure(KNOWN.cell(f"{name} {fold + 1}", column))) for fold in range(folds))
        for column in ("LSL", "M+PLL", "M+LWL")
    )
    for name, folds in (("imdb_lsl", 5), ("uwcse_lsl", 5), ("webkb", 4))
}
LEARNER = LiftedStructureLearner()
TRACTABLE = MSL(max_literals=4, max_variables=3)
UNRESTRICTED = MSL(max_literals=5, max_variables=5)
SIGMA = 100.0
ASKED = Marginals(sampling=Sampling(samples=300, burn_in=60, chains=2, max_seconds=2.0))
# CPU seconds for all queries of a predicate to a network; grounding long clauses takes minutes.
MOST_SECONDS = 5.0
METRICS = ("auc_pr", "cll")
# Standard deviations of the prior to choose from; the second is the default.
SIGMAS = (1.0, 2.0)
PRIORS: dict[str, dict[str, Any]] = {f"sigma {sigma:g}": {"sigma": sigma} for sigma in SIGMAS}
# What else was compared: settings that differ from the default, and on which data.
COMPARED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "sigma 4": ({"sigma": 4.0}, ("imdb_lsl", "webkb")),
    "no price on risk": ({"risk": 0.0}, ("webkb",)),
    "clauses of all kinds": ({"size_neutral": False}, ("imdb_lsl", "webkb")),
    "the paper's criterion": (
        {"size_neutral": False, "held_out": False},
        ("imdb_lsl", "webkb"),
    ),
}
SMALLER = ("imdb_lsl", "webkb")


@dataclass(frozen=True)
class Fold:
    """A test fold."""

    data: str
    number: int


@dataclass(frozen=True)
class Chosen:
    """A test fold and the prior that its training folds chose."""

    data: str
    number: int
    sigma: float


@dataclass(frozen=True)
class Inner:
    """Two folds to leave out, and a variant of the learner."""

    data: str
    left_out: tuple[int, int]
    variant: str


def folds_of(name: str) -> list[Database]:
    """Return the folds of a data set, the ``!`` of its schema stripped."""
    folds = benchmark(name, schema="schema_nosame.mln" if name == "webkb" else "schema.mln")
    schema = folds[0].schema.without_functional()
    return [replace(fold, schema=schema) for fold in folds]


def split(data: str, number: int) -> tuple[Database, list[Database]]:
    """Return a test fold and its training folds."""
    folds = folds_of(data)
    return folds[number], folds[:number] + folds[number + 1 :]


def lifted(task: Chosen) -> dict[str, Any]:
    """Run LSL without one fold: the network, the fold's log-likelihood, clauses, CPU seconds."""
    test, train = split(task.data, task.number)
    started = time.process_time()
    learned = replace(LEARNER, sigma=task.sigma).fit(train)
    return {
        "seconds": time.process_time() - started,
        "likelihood": log_likelihood(learned.model, test),
        "clauses": [str(step.clause) for step in learned.notes.steps],
        "network": str(learned.model),
    }


def beams(task: Fold) -> dict[str, Any]:
    """Run MSL without one fold: the fold's log-likelihoods where there are any, and networks."""
    test, train = split(task.data, task.number)
    tractable = liftable_part(TRACTABLE.fit(train).model, train)
    networks = {
        "units": learn_likelihood(MLN(test.schema), train, sigma=SIGMA).mln,
        "M+PLL": learn_pseudolikelihood(tractable, train, sigma=SIGMA).mln,
        "M+LWL": learn_likelihood(tractable, train, sigma=SIGMA, units=False).mln,
    }
    likelihood = {name: log_likelihood(mln, test) for name, mln in networks.items()}
    networks["MSL"] = UNRESTRICTED.fit(train).model
    return {
        "likelihood": likelihood,
        "networks": {name: str(mln) for name, mln in networks.items()},
    }


@dataclass(frozen=True)
class Asked:
    """A test fold and the networks to ask."""

    data: str
    number: int
    networks: Mapping[str, str]


def predictions(task: Asked) -> dict[str, Any]:
    """Score each network's predictions of every predicate of the test fold."""
    test, _ = split(task.data, task.number)
    networks = {name: MLN.parse(text) for name, text in task.networks.items()}
    scores: dict[str, Any] = {}
    for predicate in test.schema.predicates:
        examples = positives_and_negatives([test], predicate.name)
        scores[predicate.name] = {
            name: answered(mln, test, examples) for name, mln in networks.items()
        }
    return scores


def answered(mln: MLN, test: Database, examples: Examples) -> dict[str, float] | None:
    """Score a network's predictions; None where they take too much, as long clauses may."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        return predict_examples(mln, [test], examples, ASKED).scores(METRICS)
    except (TimeoutError, MemoryLimitError):
        return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def left_out(task: Inner) -> dict[str, Any]:
    """Learn without two folds; their log-likelihoods."""
    folds = folds_of(task.data)
    train = [fold for number, fold in enumerate(folds) if number not in task.left_out]
    changed = PRIORS.get(task.variant) or COMPARED[task.variant][0]
    learned = replace(LEARNER, **changed).fit(train)
    return {"likelihood": [log_likelihood(learned.model, folds[n]) for n in task.left_out]}
