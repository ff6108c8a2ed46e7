"""GSLP and MSL on all predicates, beside the paper's figures: ``python -m studies.gslp_tables``.

Each fold is held out in turn. On it, every predicate in turn is the query: all its ground atoms are
unknown, the other predicates are evidence. Beside that, each atom is predicted given all others.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.evaluate.ask import Conditionals
from mlnlearn.evaluate.metrics import mean_of
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.logic.clauses import as_clause
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.structure.beam.learn import MSL
from mlnlearn.structure.predicate_graph.learn import GSLP
from studies.common import Options, Study, markdown_table, run, run_tasks
from studies.gslp_about import ABOUT, ABOUT_CELLS
from studies.gslp_answers import predict_together
from studies.gslp_ceiling import ceiling
from studies.gslp_cells import Scores, predict_cells, shares, value_clauses
from studies.gslp_data import Dealt, Sample, deal_cells, plain_folds
from studies.published import NOTHING, figure, tables

MEANS, SINGLE = tables()["dinh2011", "3"], tables()["dinh2011", "4"]
FOLDED = ("imdb", "uwcse", "cora")
FOLDS = 5
# about as many constants as the paper's samples have: 234, 634, 696 and 1,122
SAMPLES = {
    "movielens 1": Sample("movielens", {"user": 85, "item": 140}),
    "movielens 2": Sample("movielens", {"user": 230, "item": 390}),
    "mutagenesis 1": Sample("mutagenesis", {"mole": 26}, ("atom",)),
    "mutagenesis 2": Sample("mutagenesis", {"mole": 42}, ("atom",)),
}
DEFAULT, NOT_JOINT = "GSLP", "GSLP, not joint"
LEARNERS: dict[str, GSLP | MSL] = {
    DEFAULT: GSLP(),
    NOT_JOINT: GSLP(joint=False),
    "GSLP, preset paper": GSLP.preset("paper", max_clauses=20_000),
    "MSL": MSL(),
    "MSL, held out": MSL(held_out=True, joint=True, min_gain=0.001),
}
# what is left out, for it takes too long to be part of this study
OTHERS = tuple(label for label in LEARNERS if label not in (DEFAULT, NOT_JOINT))
LEFT_OUT: dict[str, tuple[str, ...]] = {
    "uwcse": ("MSL, held out",),
    "cora": OTHERS,
    "movielens 2": ("MSL, held out",),
    **dict.fromkeys(("mutagenesis 1", "mutagenesis 2"), OTHERS),
}
# samples that are drawn with one seed only: their answers take longest
ONE_SEED = ("movielens 2", "mutagenesis 1", "mutagenesis 2")
# many chains: one may stay in one of several worlds that are alike
SAMPLING = Sampling(samples=200, burn_in=100, chains=10)
# how often ground clauses may be looked at for one predicate of one fold
VISITS = 1e8
PROTOCOLS = ("all unknown", "one unknown")
METRICS = ("auc_pr", "cll")
STUDY = Study(
    name="gslp_tables",
    title="GSLP and MSL: structure learning by pseudo-likelihood",
    about=ABOUT,
    settings={
        **asdict(LEARNERS[DEFAULT]),
        "inference": f"{SAMPLING}, exact where possible; fewer samples, or mean field, where "
        f"ground clauses would be looked at more than {VISITS:,.0f} times",
    },
    seeds=5,
    minutes=30,
)


@dataclass(frozen=True)
class Task:
    """One learner on one data set, with one fold held out or one third of the cells."""

    data: str
    fold: int
    learner: GSLP | MSL
    sampling: Sampling


def learners_of(data: str) -> Iterator[tuple[str, GSLP | MSL]]:
    """Yield the learners that are run on a data set, with their labels."""
    for label, learner in LEARNERS.items():
        if label not in LEFT_OUT.get(data, ()):
            yield label, learner


def not_run() -> str:
    """Say what is missing from the tables, all of which takes too long."""
    parts = [f"{data}: {'; '.join(labels)}" for data, labels in LEFT_OUT.items()]
    return f"Not run, for lack of time: {'. '.join(parts)}."


def folds_of(data: str, fold: int) -> tuple[list[Database], Database]:
    """Return the folds to learn from and the one to predict."""
    folds = plain_folds(data)
    return [database for place, database in enumerate(folds) if place != fold], folds[fold]


def cells_of(data: str, seed: int) -> Dealt:
    """Draw a sample of a database, and the third of its cells that is to be predicted."""
    rng = np.random.default_rng(seed)
    return deal_cells(SAMPLES[data].draw(rng), rng)


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


def run_cells(task: Task) -> dict[str, Any]:
    """Learn from two thirds of the cells of a sample, and predict the others."""
    dealt = cells_of(task.data, task.fold)
    learner = replace(task.learner, initial=value_clauses(dealt.whole.schema))
    started = time.process_time()
    learned = learner.fit(dealt.known)
    seconds = time.process_time() - started
    scores = predict_cells(learned.model, dealt, task.sampling)
    return result_of(learned.model, scores, started, seconds)


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


def best_possible(data: str) -> list[Scores]:
    """Return, for each fold, what no network without constants exceeds, by predicate."""
    tests = [folds_of(data, fold)[1] for fold in range(FOLDS)]
    return [{p.name: ceiling(t, p.name, METRICS) for p in t.schema.predicates} for t in tests]


def spread(by_fold: Sequence[Scores]) -> list[str]:
    """Return AUC-PR and CLL: means over predicates, then over folds, with their spread."""
    means = [mean_of(list(fold.values())) for fold in by_fold]
    cells = []
    for metric in METRICS:
        values = np.array([fold[metric] for fold in means])
        sd = f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else ""
        cells.append(f"{values.mean():.3f}{sd}")
    return cells


def published_rows(data: str) -> Iterator[list[str]]:
    """Yield the figures of the paper."""
    for learner in ("GSLP", "LSM"):
        auc, cll, hours = (MEANS.cell(data, f"{m}, {learner}") for m in ("AUC-PR", "CLL", "hours"))
        if auc != NOTHING:
            seconds = f"{figure(hours) * 3600:.0f}"
            yield [f"{data}: {learner}, published", auc, cll, "–", "–", "–", seconds, "–"]


def summary_row(
    label: str, found: Sequence[dict[str, Any]], only: Container[str] | None = None
) -> list[str]:
    """Return a learner's figures on a data set: over all predicates, or some only."""
    row = [label]
    for protocol in PROTOCOLS:
        by_fold = [fold["scores"][protocol] for fold in found]
        row += spread([{p: s for p, s in f.items() if only is None or p in only} for f in by_fold])
    if only is not None:
        return [*row, *["–"] * 3]
    row.append(f"{np.mean([fold['clauses'] for fold in found]):.1f}")
    for what in ("learning", "answering"):
        row.append(f"{np.mean([fold[what] for fold in found]):.1f}")
    return row


def accuracy_row(label: str, found: Sequence[dict[str, Any]], only: Iterable[str]) -> list[str]:
    """Return how often the most probable value is the true one, in the columns of AUC-PR."""
    cells = []
    for protocol in PROTOCOLS:
        values = [one["scores"][protocol][name]["accuracy"] for one in found for name in only]
        cells += [f"{np.mean(values):.3f}", "–"]
    return [label, *cells, *["–"] * 3]


def base_10(data: str, found: Sequence[dict[str, Any]]) -> list[str]:
    """Return the CLL of a learner in logarithms to base 10, beside the published one."""
    means = [mean_of(list(fold["scores"][PROTOCOLS[0]].values()))["cll"] for fold in found]
    return [data, f"{np.mean(means) / np.log(10.0):.3f}", MEANS.cell(data, "CLL, GSLP")]


def cell_counts(data: str, seed: int) -> list[str]:
    """Return what is unknown in a sample: cells of attributes, atoms, and true ones among them."""
    dealt = cells_of(data, seed)
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


def predicate_rows(
    data: str, found: Sequence[dict[str, Any]], best: Sequence[Scores]
) -> Iterator[list[str]]:
    """Yield, for each predicate, the means over folds beside the published figures."""
    for predicate in found[0]["scores"][PROTOCOLS[0]]:
        row = [f"{data} {predicate}"]
        parts = [[fold["scores"][p][predicate] for fold in found] for p in PROTOCOLS]
        for part in (*parts, [fold[predicate] for fold in best]):
            means = mean_of(part)
            row += [f"{means[metric]:.3f}" for metric in METRICS]
        name = row[0]
        known = [SINGLE.cell(name, f"{m}, GSLP") for m in ("AUC-PR", "CLL") if name in SINGLE.rows]
        row.append(" / ".join(known) or "–")
        yield row


def sections(options: Options) -> Iterator[str]:
    """Compute the page: a table over all predicates, one for each predicate, one of the samples."""
    columns = [f"{m}, {p}" for p in PROTOCOLS for m in ("AUC-PR", "CLL")]
    header = ["data: learner", *columns, "clauses", "learning, CPU s", "answering, CPU s"]
    summary, single, in_base_10 = [], [], []
    ceilings: dict[str, list[str]] = {}
    approximate: dict[str, None] = {}
    for data in FOLDED:
        best = best_possible(data)
        summary += list(published_rows(data))
        ceilings[data] = spread(best)
        summary.append([f"{data}: ceiling", *ceilings[data], *["–"] * 5])
        for label, learner in learners_of(data):
            tasks = [Task(data, fold, learner, SAMPLING) for fold in range(FOLDS)]
            found = run_tasks(run_folds, tasks, options, f"{data}, {label}")
            summary.append(summary_row(f"{data}: {label}", found))
            approximate |= {f"{data} {p} ({label})": None for f in found for p in f["approximate"]}
            if label == DEFAULT:
                single += list(predicate_rows(data, found, best))
                in_base_10.append(base_10(data, found))
    yield not_run()
    yield "## Table 3: means over predicates and folds"
    yield markdown_table(header, summary)
    yield (
        "Ground clauses would have had to be looked at too often, so that answers are by mean "
        f"field, in some fold for: {', '.join(approximate) or 'none'}."
    )
    yield from beyond(ceilings)
    yield "The published CLLs would fit logarithms to base 10, in which ours (all unknown) are:"
    yield markdown_table(["data", f"{DEFAULT}, to base 10", "published"], in_base_10)
    yield f"## Table 4: single predicates, learner {DEFAULT}"
    beside = ["AUC-PR, ceiling", "CLL, ceiling", "published AUC-PR / CLL"]
    yield markdown_table(["predicate", *columns, *beside], single)
    yield "## Table 3: a third of the cells"
    yield ABOUT_CELLS
    asked = [
        "constants",
        "true atoms",
        "attribute cells asked",
        "other atoms asked",
        "of these true",
    ]
    yield "What the first seed's samples hold, and what of it is asked:"
    yield markdown_table(["data", *asked], [cell_counts(data, 0) for data in SAMPLES])
    yield markdown_table(header, [row for data in SAMPLES for row in sample_rows(data, options)])


def beyond(ceilings: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Say which published figures no network without constants can reach by correct inference."""
    found = [
        f"{metric} of {learner} on {data} ({printed}; ceiling {best})"
        for data, bests in ceilings.items()
        for learner in ("GSLP", "LSM", "HGSM")
        for metric, best in zip(("AUC-PR", "CLL"), bests, strict=True)
        if figure(printed := MEANS.cell(data, f"{metric}, {learner}")) > figure(best)
    ]
    yield f"Published figures beyond the ceiling: {'; '.join(found) or 'none'}."


def sample_rows(data: str, options: Options) -> Iterator[list[str]]:
    """Yield the figures of a sample of which a third of the cells is predicted."""
    yield from published_rows(data)
    seeds = range(1 if data in ONE_SEED else options.seeds)
    dealt = [cells_of(data, seed) for seed in seeds]
    attributes = set(dealt[0].whole.schema.functional)
    by_shares = [shares(one) for one in dealt]
    some = [{p: s for p, s in found.items() if p in attributes} for found in by_shares]
    yield [f"{data}: by shares", *spread(by_shares), *["–"] * 5]
    yield [f"{data}: by shares, attributes", *spread(some), *["–"] * 5]
    right = np.mean([one["accuracy"] for found in some for one in found.values()])
    yield [f"{data}: by shares, accuracy of attributes", f"{right:.3f}", *["–"] * 6]
    for label, learner in learners_of(data):
        tasks = [Task(data, seed, learner, SAMPLING) for seed in seeds]
        found = run_tasks(run_cells, tasks, options, f"{data}, {label}")
        yield summary_row(f"{data}: {label}", found)
        yield summary_row(f"{data}: {label}, attributes", found, attributes)
        yield accuracy_row(f"{data}: {label}, accuracy of attributes", found, attributes)


if __name__ == "__main__":
    run(STUDY, sections)
