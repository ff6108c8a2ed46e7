"""What `bench.scale` measures on knowledge graphs: path rules of triples in a Parquet file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np

import mlnlearn as ml
from mlnlearn.data.synthetic import planted_graph

TRIPLES_PER_ENTITY = 10.6


def write_graph(size: float, path: Path) -> None:
    """Write a graph with planted rules, of some 10^size triples as names."""
    graph = planted_graph(round(10**size / TRIPLES_PER_ENTITY), rng=0).graph
    codes = dict(zip("hrt", map(np.ascontiguousarray, graph.triples), strict=True))
    path.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.register("codes", codes)
        cases = " ".join(f"WHEN {code} THEN '{name}'" for code, name in enumerate(graph.relations))
        names = f"'e' || h AS head, CASE r {cases} END AS relation, 'e' || t AS tail"
        connection.execute(f"COPY (SELECT {names} FROM codes) TO '{path}' (FORMAT parquet)")


def path_rules(path: Path) -> tuple[int, str]:
    """Read triples and learn their path rules; returns how many triples, and what was found."""
    split = ml.read_graph(path)
    fitted = ml.Paths().fit(split)
    planted = {str(rule) for rule in fitted.model.rules() if rule.relation.startswith("planted")}
    wanted = planted_graph(100, rng=0).rules
    found = sum(rule in planted for rule in wanted)
    rules = f"{len(fitted.model.closed):,} closed rules, {len(fitted.model.constants):,} others"
    share = f"walks from {fitted.notes.sources:.0%} of the entities"
    return split.train.size, f"{rules}, {found} of {len(wanted)} planted; {share}"


ON_GRAPHS: dict[str, Callable[[Path], tuple[int, str]]] = {"`paths` of Parquet": path_rules}
"""Tasks on triples in a Parquet file."""
