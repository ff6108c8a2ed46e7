"""GSLP and MSL on all predicates, beside the paper's figures: ``python -m studies.gslp_tables``.

Each fold is held out in turn. On it, every predicate in turn is the query: all its ground atoms are
unknown, the other predicates are evidence. Beside that, each atom is predicted given all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mlnlearn.evaluate.metrics import mean_of
from mlnlearn.structure.beam.learn import MSL
from mlnlearn.structure.predicate_graph.learn import GSLP
from studies.common import Options, Study, bold_best, data_of, markdown_table, run, run_tasks
from studies.gslp_about import ABOUT
from studies.gslp_ceiling import ceiling
from studies.gslp_cells import Scores
from studies.gslp_runs import (
    FOLDED,
    FOLDS,
    METRICS,
    PROTOCOLS,
    SAMPLING,
    VISITS,
    Task,
    folds_of,
    run_folds,
)
from studies.published import NOTHING, figure, tables

MEANS, SINGLE = tables()["dinh2011", "3"], tables()["dinh2011", "4"]
DEFAULT, NOT_JOINT, PAPER = "GSLP", "GSLP, not joint", "GSLP, preset paper"
HELD_OUT = "MSL, held out"
LEARNERS: dict[str, GSLP | MSL] = {
    DEFAULT: GSLP(),
    NOT_JOINT: GSLP(joint=False),
    PAPER: GSLP.preset("paper", max_clauses=20_000),
    "MSL": MSL(),
    HELD_OUT: MSL(held_out=True, joint=True, min_gain=0.001),
}
# how many folds, the first ones, are predicted; what is not here takes too long
RUN: Mapping[str, Mapping[str, int]] = {
    "imdb": {DEFAULT: FOLDS, NOT_JOINT: FOLDS, PAPER: 2, "MSL": FOLDS, HELD_OUT: FOLDS},
    "uwcse": {DEFAULT: FOLDS, NOT_JOINT: FOLDS},
    "cora": {DEFAULT: 2, NOT_JOINT: FOLDS},
}
STUDY = Study(
    name="gslp_tables",
    title="GSLP and MSL: structure learning by pseudo-likelihood",
    about=ABOUT,
    settings={
        **asdict(LEARNERS[DEFAULT]),
        "inference": f"{SAMPLING}, exact where possible; fewer samples, or mean field, where "
        f"ground clauses would be looked at more than {VISITS:,.0f} times",
    },
    seeds=1,
    minutes=11,
    of_papers=True,
)


def not_run() -> str:
    """Say what is missing from the tables, all of which takes too long."""
    left_out = {data: [label for label in LEARNERS if label not in RUN[data]] for data in RUN}
    parts = [f"{data}: {'; '.join(labels)}" for data, labels in left_out.items() if labels]
    return f"Not run, for lack of time: {'. '.join(parts)}."


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
            yield [f"{data}: {learner}, published", "–", auc, cll, "–", "–", "–", seconds, "–"]


def summary_row(label: str, found: Sequence[dict[str, Any]]) -> list[str]:
    """Return a learner's figures on a data set: means over predicates, then over folds."""
    row = [label, str(len(found))]
    for protocol in PROTOCOLS:
        row += spread([fold["scores"][protocol] for fold in found])
    row.append(f"{np.mean([fold['clauses'] for fold in found]):.1f}")
    for what in ("learning", "answering"):
        row.append(f"{np.mean([fold[what] for fold in found]):.1f}")
    return row


def base_10(data: str, label: str, found: Sequence[dict[str, Any]]) -> list[str]:
    """Return the CLL of a learner in logarithms to base 10, beside the published one."""
    means = [mean_of(list(fold["scores"][PROTOCOLS[0]].values()))["cll"] for fold in found]
    printed = f"{np.mean(means) / np.log(10.0):.3f}"
    return [f"{data}: {label}", str(len(found)), printed, MEANS.cell(data, "CLL, GSLP")]


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
    """Compute the page: a table over all predicates, and one for each predicate."""
    columns = [f"{m}, {p}" for p in PROTOCOLS for m in ("AUC-PR", "CLL")]
    effort = ["clauses", "learning, CPU s", "answering, CPU s"]
    header = ["data: learner", "folds", *columns, *effort]
    summary, single, in_base_10 = [], [], []
    ceilings: dict[str, list[str]] = {}
    approximate: dict[str, None] = {}
    for data in FOLDED:
        best = best_possible(data)
        summary += list(published_rows(data))
        ceilings[data] = spread(best)
        bounds = [f"≤ {bound}" for bound in ceilings[data]]
        summary.append([f"{data}: ceiling", str(FOLDS), *bounds, *["–"] * 5])
        for label, folds in RUN[data].items():
            tasks = [Task(data, fold, LEARNERS[label], SAMPLING) for fold in range(folds)]
            found = run_tasks(run_folds, tasks, options, f"{data}, {label}")
            summary.append(summary_row(f"{data}: {label}", found))
            approximate |= {f"{data} {p} ({label})": None for f in found for p in f["approximate"]}
            in_base_10.append(base_10(data, label, found))
            if label == DEFAULT:
                single += list(predicate_rows(data, found, best[:folds]))
    yield not_run()
    yield "## Table 3: means over predicates and folds"
    yield markdown_table(header, bold_best(summary, range(2, 6), data_of))
    yield (
        "Ground clauses would have had to be looked at too often, so that answers are by mean "
        f"field, in some fold for: {', '.join(approximate) or 'none'}."
    )
    yield from beyond(ceilings)
    yield "The published CLLs would fit logarithms to base 10, in which ours (all unknown) are:"
    yield markdown_table(["data: learner", "folds", "to base 10", "published"], in_base_10)
    yield f"## Table 4: single predicates, learner {DEFAULT}"
    beside = ["AUC-PR, ceiling", "CLL, ceiling", "published AUC-PR / CLL"]
    yield markdown_table(["predicate", *columns, *beside], single)


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


if __name__ == "__main__":
    run(STUDY, sections)
