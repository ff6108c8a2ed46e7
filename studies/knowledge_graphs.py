"""Ranking the answers of knowledge graphs by path rules: ``python -m studies.knowledge_graphs``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench.graphs import ENTITIES, planted
from mlnlearn.data.catalog import data_folder
from mlnlearn.data.load.triples import from_triples, read_graph
from mlnlearn.errors import DataWarning
from mlnlearn.evaluate.measure import measured
from mlnlearn.model.paths.scoring import Aggregation
from mlnlearn.model.triple_answers import rank_triples
from mlnlearn.structure.paths.learner import Paths
from studies.common import Options, Study, markdown_table, run, run_tasks
from studies.graph_kinds import KINDS, Frequency, parts

STUDY = Study(
    name="knowledge_graphs",
    title="Knowledge graphs: filtered ranking by path rules",
    about=(
        "The learner `paths` with its default settings, which were chosen on the validation "
        "triples of the first two graphs; the test triples were read for this page alone. Weights "
        "are learned from training triples, and validation triples choose between them and simpler "
        "ways to put rules together. Heads and "
        "tails of all test triples are asked for; the rank of an answer is that among all entities "
        "that are no other known answer, the mean of best and worst place where scores are equal. "
        "Answers that occur in no training triple rank last. ± is the standard error over queries."
    ),
    settings={"learner": "Paths()"},
    seeds=3,
    minutes=10,
)
GRAPHS = {"umls_kg": "UMLS", "wn18rr": "WN18RR"}
# MRR, Hits@1, Hits@10, and a word on where it is from
OTHERS: dict[str, Sequence[tuple[str, str, str, str, str]]] = {
    "umls_kg": [
        ("AnyBURL, 166 CPU s, run on these files", ".951", ".926", ".989", "measured"),
        ("RDN-B, one literal a node, 62 CPU s", ".945", "", "", "measured"),
    ],
    "wn18rr": [
        (
            "AnyBURL, 201 CPU s and 47 s of scoring, run on these files",
            ".486",
            ".451",
            ".558",
            "measured",
        ),
        (
            "AnyBURL's rules, best known aggregation, 1,000 s on 22 cores",
            ".502",
            ".459",
            ".578",
            "published",
        ),
        ("RotatE", ".477", ".428", ".571", "published"),
        ("NBFNet (graph network)", ".551", ".497", ".666", "published"),
    ],
}
SIMPLE: tuple[Aggregation, ...] = ("maximum", "noisy-or")
PLANTED = (
    "Twelve random relations, and ten that follow from two of them each, with a tenth of what "
    "follows left out and a twentieth of it added at random. The learner has its default settings."
)
KINDS_ABOUT = (
    "Made-up graphs, three of each kind, with eight tenths of the triples to learn from and one "
    "each to choose by and to test on. MRR by default, and of ways that need no learning: the "
    "surest rule, the noisy-or of rules, and how often an entity has the relation already. The "
    "last column is the default less the best of these three on the test triples, with the "
    "standard error of that difference over questions."
)
METRICS = ("mrr", "hits_at_1", "hits_at_3", "hits_at_10")


@dataclass(frozen=True)
class Task:
    """A graph to learn from and to be asked about."""

    graph: str


def ranked(task: Task) -> dict[str, Any]:
    """Learn, and rank the validation and test triples, by default and by ways without weights."""
    folder = data_folder() / task.graph
    split = read_graph(*(folder / f"{part}.tsv" for part in ("train", "valid", "test")))
    with measured() as learning:
        fitted = Paths().fit(split)
    found: dict[str, Any] = {
        "learning": learning.cpu_seconds,
        "closed": len(fitted.model.closed),
        "constants": len(fitted.model.constants),
        "length": fitted.notes.length,
    }
    ways = {how: replace(fitted.model, aggregation=how) for how in SIMPLE}
    for how, model in (("default", fitted.model), *ways.items()):
        valid = model.rank(split.valid, filtered=split.all)
        with measured() as scoring:
            ranking = model.rank(split.test, filtered=split.all)
        found[how] = {"test": ranking.to_dict(), "valid": valid.mrr}
        found.setdefault("scoring", scoring.cpu_seconds)
        found.setdefault("megabytes", max(learning.peak_bytes, scoring.peak_bytes) / 1e6)
    return found


@dataclass(frozen=True)
class PlantedTask:
    """A graph with planted rules, of so many entities."""

    entities: int


def measured_planted(task: PlantedTask) -> dict[str, Any]:
    """Learn the rules of a planted graph, and ask it."""
    figures = planted(task.entities)
    return {"figures": [(one.name, one.value, one.unit, one.target) for one in figures]}


@dataclass(frozen=True)
class KindTask:
    """A made-up graph of a kind."""

    kind: str
    seed: int


def compared(task: KindTask) -> dict[str, Any]:
    """Learn by default, and rank by it and by simple ways."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # entities that training lacks: in all kinds
        split = from_triples(*parts(task.kind, task.seed))
    with measured() as learning:
        model = Paths().fit(split).model
    rankings = {"default": model.rank(split.test, filtered=split.all)}
    for how in SIMPLE:
        simple = replace(model, aggregation=how)
        rankings[how] = simple.rank(split.test, filtered=split.all)
    often = Frequency(split.train)
    rankings["frequency"] = rank_triples(often, split.train, split.test, split.all)
    return {
        "triples": split.train.size,
        "learning": learning.cpu_seconds,
        "shares": {name: (1.0 / ranking.ranks).tolist() for name, ranking in rankings.items()},
    }


def sections(options: Options) -> Iterator[str]:
    """Write a section a graph."""
    tasks = [Task(graph) for graph in GRAPHS]
    results = run_tasks(ranked, tasks, options, "graphs")
    for (graph, title), found in zip(GRAPHS.items(), results, strict=True):
        yield f"## {title}\n\n{_table(graph, found)}\n\n{_cost(found)}"
        yield f"### {title} by relation, by default\n\n{_relations(found)}"
    yield f"## Many kinds of graphs\n\n{KINDS_ABOUT}\n\n{_kinds(options)}"
    [found] = run_tasks(measured_planted, [PlantedTask(ENTITIES)], options, "planted")
    rows = [
        (name, f"{value:,.1f} {unit}".strip(), target)
        for name, value, unit, target in found["figures"]
    ]
    yield f"## A large graph\n\n{PLANTED}\n\n{markdown_table(('', 'measured', 'at most'), rows)}"


def _table(graph: str, found: dict[str, Any]) -> str:
    rows: list[Sequence[object]] = []
    for how in ("default", *SIMPLE):
        test, errors = found[how]["test"], found[how]["test"]["standard_errors"]
        cells = [f"{test[name]:.4f} ± {errors[name]:.4f}" for name in METRICS]
        rows.append((f"paths, {how}", *cells, f"{found[how]['valid']:.4f}"))
    rows += [
        (f"{name} ({source})", mrr, one, "", ten, "")
        for name, mrr, one, ten, source in OTHERS[graph]
    ]
    header = ("model", "MRR", "Hits@1", "Hits@3", "Hits@10", "MRR on validation")
    return markdown_table(header, rows)


def _cost(found: dict[str, Any]) -> str:
    test = found["default"]["test"]
    return (
        f"{found['closed']:,} closed rules of up to {found['length']} links and "
        f"{found['constants']:,} with constants. Learning took {found['learning']:.0f} CPU s, "
        f"ranking {test['queries']:,} queries {found['scoring']:.1f} CPU s, and "
        f"{found['megabytes']:,.0f} MB at most, the compilation of kernels counted in where they "
        f"were not compiled before. Mean rank {test['mean_rank']:.1f}, "
        f"{test['adjusted_mean_rank']:.4f} of what guessing has; {test['unknown']} answers occur "
        "in no training triple."
    )


def _kinds(options: Options) -> str:
    tasks = [KindTask(kind, seed) for kind in KINDS for seed in range(options.seeds)]
    results = run_tasks(compared, tasks, options, "kinds")
    rows: list[Sequence[object]] = []
    lost = []
    for number, (kind, (about, _)) in enumerate(KINDS.items()):
        here = results[number * options.seeds : (number + 1) * options.seeds]
        ways = ("default", *SIMPLE, "frequency")
        shares = {way: np.concatenate([one["shares"][way] for one in here]) for way in ways}
        best = max(ways[1:], key=lambda way: float(shares[way].mean()))
        gain = shares["default"] - shares[best]
        error = float(gain.std() / np.sqrt(len(gain)))
        if gain.mean() < -2.0 * error:
            lost.append(kind)
        rows.append(
            (
                f"{kind}: {about}",
                f"{np.mean([one['triples'] for one in here]):,.0f}",
                *(f"{shares[way].mean():.3f}" for way in ways),
                f"{gain.mean():+.4f} ± {error:.4f}",
                f"{np.mean([one['learning'] for one in here]):.1f}",
            )
        )
    header = ("kind", "triples", "default", "maximum", "noisy-or", "frequency", "gain", "CPU s")
    listed = ", ".join(lost) or "none"
    worse = f"Kinds on which the default lost by more than two standard errors: {listed}."
    return f"{markdown_table(header, rows)}\n\n{worse}"


def _relations(found: dict[str, Any]) -> str:
    parts = sorted(
        found["default"]["test"]["by_relation"].items(), key=lambda item: -item[1]["queries"]
    )
    rows = [
        (
            name,
            part["queries"],
            *(f"{part[metric]:.3f}" for metric in METRICS),
            *(f"{part[side]['mrr']:.3f}" for side in ("head", "tail")),
        )
        for name, part in parts
    ]
    header = ("relation", "queries", *METRICS, "MRR of heads", "MRR of tails")
    return markdown_table(header, rows)


if __name__ == "__main__":
    run(STUDY, sections)
