"""Probabilities of ground atoms by path rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.path_evidence import Collector
from mlnlearn.counting.walks import MOST_WALKS
from mlnlearn.data.database import Database
from mlnlearn.data.triple_view import entity_names, graph_of
from mlnlearn.errors import InputError
from mlnlearn.model.paths.model import PathModel

_BATCH = 1024


def atom_probabilities(
    model: PathModel, database: Database, predicate: str, columns: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the probability of ground atoms; see `PathModel.predict`."""
    declared = database.schema[predicate]
    if declared.arity not in (1, 2):
        raise InputError(f"{declared}: path rules predict predicates of one or two arguments")
    graph = graph_of(database)
    names = entity_names([database])[0]
    ends = [
        np.array([graph.entities.code(name) for name in names[kind]], np.int64)[codes]
        for kind, codes in zip(declared.types, columns, strict=True)
    ]
    if declared.arity == 1:
        ends.append(np.full(len(ends[0]), graph.entities.code(predicate)))
    here = model.with_graph(graph)
    link = here.relations.code(predicate)
    atoms = max(database.ground_atoms(predicate), 1)
    base = min(max(float(here.facts[link]) / atoms, 1e-6), 0.5) if link >= 0 else 1e-6
    found = np.full(len(ends[0]), base)
    if link < 0 or not len(found):
        return found
    rules = here.link_rules(link)
    collector = Collector(graph, here.constants, here.smoothing, here.least_support, MOST_WALKS)
    sources, asked = np.unique(ends[0], return_inverse=True)
    entities = len(graph.entities)
    for start in range(0, len(sources), _BATCH):
        evidence = collector.collect(rules, sources[start : start + _BATCH])
        counts = np.diff(evidence.candidate_starts)
        query = np.repeat(np.arange(start, start + len(counts)), counts)
        keys = query * entities + evidence.candidates
        open_share = evidence.open_shares()
        order = np.argsort(keys)
        mine = np.flatnonzero((asked >= start) & (asked < start + len(counts)))
        wanted = asked[mine] * entities + ends[1][mine]
        place = np.minimum(np.searchsorted(keys[order], wanted), max(len(keys) - 1, 0))
        if len(keys):
            hit = keys[order][place] == wanted
            rows = mine[hit]
            found[rows] = np.maximum(found[rows], 1.0 - open_share[order][place[hit]])
    return found
