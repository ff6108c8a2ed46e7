"""The default learner on many relations of the same entities: CPU seconds for each, and for all."""

from __future__ import annotations

import numpy as np

from bench.result import Result, clock, peak_megabytes, run_cases, run_one
from mlnlearn.data.catalog import data_folder
from mlnlearn.data.database import Database
from mlnlearn.data.graph import Graph, relation_predicates, sorted_triples
from mlnlearn.data.load.triples import from_triples, read_graph
from mlnlearn.data.triple_view import graph_database
from mlnlearn.structure.relational_boosting.learner import RelationalBoost

RELATIONS, ENTITIES, _GROUPS = 55, 14, 3
FOR_EACH, FOR_ALL = 2.0, 60.0


def small() -> list[Result]:
    """Learn each of many relations of a few entities, whose groups say who is related."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, _GROUPS, ENTITIES)
    rows = []
    for relation in range(RELATIONS):
        rates = rng.beta(0.3, 1.0, (_GROUPS, _GROUPS))
        related = rng.random((ENTITIES, ENTITIES)) < rates[group[:, None], group]
        rows += [(f"e{one}", f"r{relation}", f"e{other}") for one, other in np.argwhere(related)]
    seconds = _learned(from_triples(rows).train)
    return _told(f"{RELATIONS} relations of {ENTITIES} entities", seconds, None)


def umls() -> list[Result]:
    """Learn each relation of UMLS from all of its triples."""
    folder = data_folder() / "umls_kg"
    split = read_graph(*(folder / f"{part}.tsv" for part in ("train", "valid", "test")))
    entities, relations = split.train.entities, split.train.relations
    graph = Graph.coded(entities, relations, sorted_triples(split.all), "UMLS")
    return _told("UMLS", _learned(graph), FOR_ALL)


def _learned(graph: Graph) -> list[float]:
    """Return the CPU seconds of each relation, with kernels compiled before."""
    data: Database = graph_database(graph)
    targets = list(relation_predicates(graph.relations).values())
    RelationalBoost(target=targets[0]).fit(data)
    seconds = []
    for target in targets:
        with clock() as learning:
            RelationalBoost(target=target).fit(data)
        seconds.append(learning.cpu)
    return seconds


def _told(title: str, seconds: list[float], for_all: float | None) -> list[Result]:
    return [
        Result(f"{title}: slowest relation", max(seconds), "CPU s", FOR_EACH),
        Result(f"{title}: half of the relations take at most", float(np.median(seconds)), "CPU s"),
        Result(f"{title}: all {len(seconds)} relations", sum(seconds), "CPU s", for_all),
        Result(f"{title}: peak memory", peak_megabytes(), "MB"),
    ]


CASES = {"small": small, "umls": umls}


def main() -> list[Result]:
    """Run all cases."""
    return run_cases("bench.relations", CASES)


if __name__ == "__main__":
    run_one(CASES)
