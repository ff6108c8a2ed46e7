"""GSLP, LSM, HGSM and MBN on the samples of Dinh et al. (2011), table 3.

``python -m studies.sample_systems``. A third of the cells of a sample is unknown and predicted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlnlearn.data.catalog import benchmark_tables
from mlnlearn.data.database import Database
from mlnlearn.data.load.data import Data
from mlnlearn.evaluate.metrics import mean_of, scores
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.structure.bottom_up.hgsm import HGSM
from mlnlearn.structure.join_bayes.features import AttributePrediction
from mlnlearn.structure.join_bayes.learners import MBN
from mlnlearn.structure.motifs.learn import LSM
from mlnlearn.structure.predicate_graph.learn import GSLP
from mlnlearn.structure.search.settings import SearchSettings
from studies.common import (
    Options,
    Study,
    bold_best,
    data_of,
    markdown_table,
    run,
    run_tasks,
    settings_of,
)
from studies.gslp_about import ABOUT_CELLS
from studies.gslp_cells import predict_cells, shares, value_clauses
from studies.gslp_data import Dealt, Sample, deal_cells
from studies.gslp_runs import PROTOCOLS, SAMPLING
from studies.published import NOTHING, figure, tables

# about as many constants as the paper's samples have: 234, 634, 696 and 1,122
SAMPLES = {
    "movielens 1": Sample("movielens", {"user": 85, "item": 140}),
    "movielens 2": Sample("movielens", {"user": 230, "item": 390}),
    "mutagenesis 1": Sample("mutagenesis", {"mole": 26}, ("atom",)),
    "mutagenesis 2": Sample("mutagenesis", {"mole": 42}, ("atom",)),
}
NOT_JOINT = "GSLP, not joint"
LEARNERS: Mapping[str, SearchSettings[Any]] = {
    "GSLP": GSLP(),
    NOT_JOINT: GSLP(joint=False),
    "LSM": LSM(),
    "HGSM": HGSM(),
}
# on one sample only, since these take longest
ONCE = (("movielens 1", NOT_JOINT), ("movielens 1", "LSM"), ("movielens 2", "LSM"))
TOO_LONG = ("movielens 2", "mutagenesis 1", "mutagenesis 2")
# GSLP's networks take longest to ask
FEWER = {"GSLP": Sampling(samples=100, burn_in=50, chains=4)}
NET = MBN()
METRICS = {"auc_pr": "AUC-PR", "cll": "CLL", "accuracy": "accuracy"}
# the same samples by the types of the tables
TABLE_SAMPLES = {
    "movielens 1": Sample("movielens", {"users": 85, "item2": 140}),
    "movielens 2": Sample("movielens", {"users": 230, "item2": 390}),
    "mutagenesis 1": Sample("mutagenesis", {"mole": 26}, ("atom",)),
    "mutagenesis 2": Sample("mutagenesis", {"mole": 42}, ("atom",)),
}
# where the paper has no figures: there, its systems did not end
LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    "LSM": ("mutagenesis 2",),
    "HGSM": ("movielens 2", "mutagenesis 2"),
}
STUDY = Study(
    name="sample_systems",
    title="Samples of MovieLens and Mutagenesis: GSLP and others",
    about=(
        "Table 3 of Dinh, Exbrayat and Vrain (2011), the rows of MovieLens and Mutagenesis. "
        f"{ABOUT_CELLS}\n\n"
        "MBN learns from tables, in which unknown cells are empty, and has the attributes of links "
        "(ratings, kinds of bonds) beside those of objects, but no links: these are given, and not "
        "predicted. Genres and the two indicators of molecules are attributes of two values in the "
        "tables, and predicates that are true or false for the others. The paper took MBN's "
        "figures from other work, on other samples."
    ),
    settings={
        **settings_of({**LEARNERS, "MBN": NET}),
        "inference": f"{SAMPLING}, exact where possible",
        "inference, GSLP": f"{FEWER['GSLP']}, exact where possible",
    },
    seeds=5,
    minutes=12,
    of_papers=True,
)


@dataclass(frozen=True)
class Task:
    """One learner on one sample."""

    data: str
    seed: int
    learner: SearchSettings[Any]


@dataclass(frozen=True)
class NetTask:
    """MBN on one sample."""

    data: str
    seed: int
    learner: MBN


def cells_of(data: str, seed: int) -> Dealt:
    """Draw a sample of a database, and the third of its cells that is to be predicted."""
    rng = np.random.default_rng(seed)
    return deal_cells(SAMPLES[data].draw(rng), rng)


def run_cells(task: Task) -> dict[str, Any]:
    """Learn clauses from two thirds of the cells of a sample, and predict the others."""
    dealt = cells_of(task.data, task.seed)
    learner = replace(task.learner, initial=value_clauses(dealt.whole.schema))
    started = time.process_time()
    model = learner.fit(dealt.known).model
    learned = time.process_time()
    sampling = FEWER.get(type(task.learner).__name__, SAMPLING)
    found = predict_cells(model, dealt, sampling)[PROTOCOLS[0]]
    attributes = {name: found[name] for name in dealt.whole.schema.functional}
    return {
        "scores": attributes,
        "rules": len(model.rules),
        "learning": learned - started,
        "answering": time.process_time() - learned,
    }


def run_net(task: NetTask) -> dict[str, Any]:
    """Learn a net from tables with empty cells, and predict these."""
    rng = np.random.default_rng(task.seed)
    loaded = benchmark_tables(TABLE_SAMPLES[task.data].data)
    whole = TABLE_SAMPLES[task.data].draw(rng, loaded.database)
    emptied = empty_cells(whole, rng)
    started = time.process_time()
    model = task.learner.fit(Data((emptied,), loaded.mapping)).model
    learned = time.process_time()
    given, truth = model.predict(emptied), model.predict(whole)
    return {
        "scores": {name: scored(given[name], truth[name]) for name in given},
        "rules": model.parameter_counts()["leaf_values"],
        "learning": learned - started,
        "answering": time.process_time() - learned,
    }


def empty_cells(whole: Database, rng: np.random.Generator) -> Database:
    """Empty a third of the cells of every attribute of objects and links."""
    links = {p.types for p in whole.schema.predicates}
    facts, cells = {}, {}
    for predicate in whole.schema.predicates:
        known = whole.facts(predicate.name)
        facts[predicate.name] = known
        of_link = predicate.types[:-1] in links and predicate.arity > 2
        if predicate.name in whole.schema.functional or of_link:
            places = rng.permutation(known.shape[1])
            third = known.shape[1] // 3
            cells[predicate.name] = known[:-1, np.sort(places[:third])]
            facts[predicate.name] = known[:, np.sort(places[third:])]
    return Database.from_codes(whole.schema, whole.domains, facts, cells=cells)


def scored(given: AttributePrediction, truth: AttributePrediction) -> dict[str, float]:
    """Score the cells that are unknown in one prediction, by what the other knows of them."""
    asked = given.truth == given.node.size
    logs, values = given.log_probabilities[asked], truth.truth[asked]
    labels = np.arange(given.node.size) == values[:, None]
    found = scores(labels.ravel(), np.exp(logs).ravel(), metrics=("auc_pr",))
    right = float((logs.argmax(axis=1) == values).mean())
    return {**found, "cll": float(logs[np.arange(len(values)), values].mean()), "accuracy": right}


def row_of(label: str, found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the figures of a learner: means over attributes, then over seeds."""
    means = [mean_of(list(one["scores"].values())) for one in found]
    row = [label, str(len(found))]
    for metric in METRICS:
        values = np.array([one[metric] for one in means])
        sd = f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else ""
        row.append(f"{values.mean():.3f}{sd}")
    row += [f"{np.mean([one[k] for one in found]):.1f}" for k in ("rules", "learning", "answering")]
    return row


def published_row(data: str, learner: str) -> list[str] | None:
    """Return the paper's figures of a learner; None where it has none."""
    known = tables()["dinh2011", "3"]
    auc, cll = known.cell(data, f"AUC-PR, {learner}"), known.cell(data, f"CLL, {learner}")
    if auc == NOTHING:
        return None
    seconds = NOTHING
    if f"hours, {learner}" in known.columns:
        seconds = f"{3600 * figure(known.cell(data, f'hours, {learner}')):.0f}"
    return [f"{data}: {learner}, published", "1", auc, cll, NOTHING, NOTHING, seconds, NOTHING]


def by_shares(data: str, seeds: int) -> list[str]:
    """Return the figures of a prediction by the shares of values among the known cells."""
    found = []
    for seed in range(seeds):
        dealt = cells_of(data, seed)
        attributes = dealt.whole.schema.functional
        scored = {name: one for name, one in shares(dealt).items() if name in attributes}
        found.append({"scores": scored, "rules": 0, "learning": 0, "answering": 0})
    return row_of(f"{data}: by shares", found)


def cell_counts(data: str) -> list[str]:
    """Return what is unknown in the first sample: cells of attributes, atoms, and true ones."""
    dealt = cells_of(data, 0)
    schema = dealt.whole.schema
    attributes = [p.name for p in schema.predicates if p.name in schema.functional]
    others = [p.name for p in schema.predicates if p.name not in schema.functional]
    counts = [
        sum(len(known) for known in dealt.whole.domains.values()),
        sum(dealt.whole.count(p.name) for p in schema.predicates),
        sum(int(dealt.labels(name).sum()) for name in attributes),  # one true value a cell
        sum(dealt.unknown[name].shape[1] for name in others),
        sum(int(dealt.labels(name).sum()) for name in others),
    ]
    return [data, *(f"{count:,}" for count in counts)]


def sections(options: Options) -> Iterator[str]:
    """Compute the page."""
    asked = ["constants", "true atoms", "attribute cells asked", "other atoms asked"]
    yield "## What is asked\n\nThe samples of the first seed, and what of them is unknown:"
    yield markdown_table(["data", *asked, "of these true"], [cell_counts(d) for d in SAMPLES])
    rows: list[list[str]] = []
    for data in SAMPLES:
        rows.append(by_shares(data, options.seeds))
        for label in (*LEARNERS, "MBN"):
            known = None if label == NOT_JOINT else published_row(data, label)
            rows += [] if known is None else [known]
            if data in LEFT_OUT.get(label, ()) or (label == "GSLP" and data in TOO_LONG):
                continue
            if label == "MBN":
                nets = [NetTask(data, seed, NET) for seed in range(options.seeds)]
                found = run_tasks(run_net, nets, options, f"{data}, {label}")
            else:
                seeds = range(1 if (data, label) in ONCE else options.seeds)
                tasks = [Task(data, seed, LEARNERS[label]) for seed in seeds]
                found = run_tasks(run_cells, tasks, options, f"{data}, {label}")
            rows.append(row_of(f"{data}: {label}", found))
    header = ["data: learner", "seeds", *(f"{title}, all unknown" for title in METRICS.values())]
    header += ["rules", "learning, CPU s", "answering, CPU s"]
    table = markdown_table(header, bold_best(rows, (2, 3, 4), data_of))
    yield f"## A third of the cells\n\n{table}"
    once = [f"{label} on {data}" for data, label in ONCE]
    missing = [f"{label} on {', '.join(names)}" for label, names in LEFT_OUT.items()]
    yield (
        f"Not run, as the paper has no figures there: {'; '.join(missing)}. GSLP with a condition "
        f"on atoms predicted together takes too long on {', '.join(TOO_LONG)}; `{NOT_JOINT}` is "
        f"without it. On one sample only, since these take longest: {', '.join(once)}. The largest "
        "figure of each data set is bold, whoever's it is."
    )


if __name__ == "__main__":
    run(STUDY, sections)
