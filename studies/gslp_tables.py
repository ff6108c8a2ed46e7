"""GSLP and MSL on all predicates, beside the paper's figures: ``python -m studies.gslp_tables``.

Each fold is held out in turn. On it, every predicate in turn is the query: all its ground atoms are
unknown, the other predicates are evidence. Beside that, each atom is predicted given all others.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Sequence
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
from mlnlearn.run import Run
from mlnlearn.structure.beam.learn import MSL
from mlnlearn.structure.predicate_graph.learn import GSLP
from studies.common import Options, Study, markdown_table, run, run_tasks
from studies.gslp_about import ABOUT, ABOUT_CELLS
from studies.gslp_answers import MOST_GROUND_CLAUSES, predict_together
from studies.gslp_ceiling import ceiling
from studies.gslp_cells import Scores, predict_cells, shares, value_clauses
from studies.gslp_data import Dealt, Sample, deal_cells, plain_folds

# Dinh, Exbrayat and Vrain 2011, table 3: AUC-PR, CLL and hours of GSLP; AUC-PR and CLL of LSM.
PUBLISHED = {
    "imdb": ((0.790, -0.099, 0.43), (0.714, -0.191)),
    "uwcse": ((0.459, -0.052, 3.05), (0.426, -0.068)),
    "cora": ((0.887, -0.054, 6.72), (0.803, -0.065)),
    "movielens 1": ((0.701, -0.764, 0.44), (0.683, -0.933)),
    "movielens 2": ((0.677, -0.915, 3.18), (0.658, -0.985)),
    "mutagenesis 1": ((0.766, -1.689, 1.13), (0.713, -1.855)),
    "mutagenesis 2": ((0.743, -1.754, 8.28), None),
}
# Table 4: AUC-PR and CLL of GSLP for single predicates.
PUBLISHED_SINGLE = {
    ("imdb", "workedUnder"): (0.394, -0.023),
    ("uwcse", "advisedBy"): (0.356, -0.016),
    ("cora", "sameBib"): (0.669, -0.139),
    ("cora", "sameTitle"): (0.764, -0.090),
    ("cora", "sameAuthor"): (0.995, -0.132),
    ("cora", "sameVenue"): (0.572, -0.107),
}
FOLDED = ("imdb", "uwcse", "cora")
FOLDS = 5
# about as many constants as the paper's samples have: 234, 634, 696 and 1,122
SAMPLES = {
    "movielens 1": Sample("movielens", {"user": 85, "item": 140}),
    "movielens 2": Sample("movielens", {"user": 230, "item": 390}),
    "mutagenesis 1": Sample("mutagenesis", {"mole": 26}, ("atom",)),
    "mutagenesis 2": Sample("mutagenesis", {"mole": 42}, ("atom",)),
}
# learners that take long on large data look for clauses no longer than this
SECONDS = 120.0
DEFAULT = "GSLP"
LEARNERS: dict[str, GSLP | MSL] = {
    DEFAULT: GSLP(),
    "GSLP, the paper's short cuts": GSLP(
        held_out=False,
        joint=False,
        drop_subclauses=True,
        drop_same_predicates=True,
        max_loop=1,
    ),
    "MSL": MSL(),
    "MSL, held out": MSL(held_out=True, joint=True, min_gain=0.001),
}
# what is left out, for it takes too long to be part of this study
OTHERS = tuple(label for label in LEARNERS if label != DEFAULT)
LEFT_OUT: dict[str, tuple[str, ...]] = {
    "uwcse": tuple(label for label in OTHERS if label.startswith("MSL")),
    **dict.fromkeys(("cora", "movielens 2", "mutagenesis 1", "mutagenesis 2"), OTHERS),
}
# many chains: one may stay in one of several worlds that are alike
SAMPLING = Sampling(samples=200, burn_in=100, chains=10, max_seconds=2.0)
PROTOCOLS = ("all unknown", "one unknown")
METRICS = ("auc_pr", "cll")
STUDY = Study(
    name="gslp_tables",
    title="GSLP and MSL: structure learning by pseudo-likelihood",
    about=ABOUT,
    settings={**asdict(LEARNERS[DEFAULT]), "inference": f"{SAMPLING}, exact where possible"},
    seeds=1,
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


def limits(task: Task) -> Run:
    """Return the time that a learner has: all but the default one may take too long."""
    return Run(max_seconds=None if task.learner == LEARNERS[DEFAULT] else SECONDS)


def run_folds(task: Task) -> dict[str, Any]:
    """Learn, and predict every predicate of the test fold."""
    train, test = folds_of(task.data, task.fold)
    started = time.process_time()
    learned = task.learner.fit(train, limits(task))
    seconds = time.process_time() - started
    scores, approximate = predict_fold(learned.model, test, task.sampling)
    return {
        **result_of(learned.model, scores, started, seconds),
        "approximate": approximate,
    }


def predict_fold(
    model: MLN, test: Database, sampling: Sampling, names: Sequence[str] | None = None
) -> tuple[dict[str, Scores], list[str]]:
    """Predict every predicate of a test fold, or some; return scores, and what is by mean field."""
    together, single = PROTOCOLS
    scores: dict[str, Scores] = {together: {}, single: {}}
    approximate = []
    for name in names or [predicate.name for predicate in test.schema.predicates]:
        examples = positives_and_negatives([test], name)
        found = predict_examples(model, [test], examples, Conditionals())
        scores[single][name] = found.scores(METRICS)
        found, is_approximate = predict_together(model, test, examples, sampling)
        approximate += [name] * is_approximate
        scores[together][name] = found.scores(METRICS)
    return scores, approximate


def run_cells(task: Task) -> dict[str, Any]:
    """Learn from two thirds of the cells of a sample, and predict the others."""
    dealt = cells_of(task.data, task.fold)
    learner = replace(task.learner, initial=value_clauses(dealt.whole.schema))
    started = time.process_time()
    learned = learner.fit(dealt.known, limits(task))
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
    (auc, cll, hours), lsm = PUBLISHED[data]
    seconds = f"{hours * 3600:.0f}"
    yield [f"{data}: GSLP, published", f"{auc:.3f}", f"{cll:.3f}", "–", "–", "–", seconds, "–"]
    if lsm is not None:
        yield [f"{data}: LSM, published", f"{lsm[0]:.3f}", f"{lsm[1]:.3f}", *["–"] * 5]


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


def base_10(data: str, found: Sequence[dict[str, Any]]) -> list[str]:
    """Return the CLL of a learner in logarithms to base 10, beside the published one."""
    means = [mean_of(list(fold["scores"][PROTOCOLS[0]].values()))["cll"] for fold in found]
    return [data, f"{np.mean(means) / np.log(10.0):.3f}", f"{PUBLISHED[data][0][1]:.3f}"]


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
        published = PUBLISHED_SINGLE.get((data, predicate))
        row.append("–" if published is None else f"{published[0]:.3f} / {published[1]:.3f}")
        yield row


def sections(options: Options) -> Iterator[str]:
    """Compute the page: a table over all predicates, one for each predicate, one of the samples."""
    columns = [f"{m}, {p}" for p in PROTOCOLS for m in ("AUC-PR", "CLL")]
    header = ["data: learner", *columns, "clauses", "learning, CPU s", "answering, CPU s"]
    summary, single, in_base_10 = [], [], []
    approximate: dict[str, None] = {}
    for data in FOLDED:
        best = best_possible(data)
        summary += list(published_rows(data))
        summary.append([f"{data}: ceiling", *spread(best), *["–"] * 5])
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
        f"More than {MOST_GROUND_CLAUSES:,} ground clauses would have been needed, so that answers "
        f"are by mean field, in some fold for: {', '.join(approximate) or 'none'}."
    )
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


def sample_rows(data: str, options: Options) -> Iterator[list[str]]:
    """Yield the figures of a sample of which a third of the cells is predicted."""
    yield from published_rows(data)
    dealt = [cells_of(data, seed) for seed in range(options.seeds)]
    attributes = set(dealt[0].whole.schema.functional)
    by_shares = [shares(one) for one in dealt]
    some = [{p: s for p, s in found.items() if p in attributes} for found in by_shares]
    yield [f"{data}: by shares", *spread(by_shares), *["–"] * 5]
    yield [f"{data}: by shares, attributes", *spread(some), *["–"] * 5]
    for label, learner in learners_of(data):
        tasks = [Task(data, seed, learner, SAMPLING) for seed in range(options.seeds)]
        found = run_tasks(run_cells, tasks, options, f"{data}, {label}")
        yield summary_row(f"{data}: {label}", found)
        yield summary_row(f"{data}: {label}, attributes", found, attributes)


if __name__ == "__main__":
    run(STUDY, sections)
