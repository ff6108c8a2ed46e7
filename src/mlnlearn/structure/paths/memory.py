"""What learning path rules takes beside the triples, told before it begins."""

from __future__ import annotations

import numpy as np

from mlnlearn.data.graph import Graph
from mlnlearn.errors import MemoryLimitError
from mlnlearn.resources import in_use

_LINKS, _ENTITIES = 16, 40  # bytes of a triple read both ways; of where an entity's links are
_MINING = 16  # bytes of a triple, its links in the order of their ends
_FACTS = 64  # of a triple read both ways, at most, as facts that entities share, sorted
_PAIRS = 24  # of a pair of facts about an entity, and of the counts of pairs
_OWN, _ROOM = 8, 104  # of a triple's links, each once; of an entity while queries are asked
_ROW = 200  # of a use of a rule, or a candidate, with its features, twice while they are joined


def refuse_above(
    graph: Graph, *, least_support: int, most_pairs: int, most_rows: int, workers: int
) -> None:
    """Refuse a graph whose rules would take more memory than is given, with an estimate.

    Parameters
    ----------
    graph
        The triples.
    least_support
        Of how many entities a shared fact holds at least.
    most_pairs
        How many pairs of facts are looked at.
    most_rows
        How many rows the weights of a link are learned from.
    workers
        How many links are learned at once.
    """
    triples, entities = graph.size, len(graph.entities)
    degrees = np.bincount(graph.triples[0], minlength=entities)
    degrees += np.bincount(graph.triples[2], minlength=entities)
    pairs = min(most_pairs, 4 * float(np.dot(degrees.astype(np.float64), degrees)))
    rows = min(most_rows, triples * entities)
    steps = {
        "finding paths": _MINING * triples,
        "rules with constants": _FACTS * triples // least_support + _PAIRS * pairs,
        "learning weights": _OWN * triples + workers * (_ROOM * entities + _ROW * rows),
    }
    largest = max(steps, key=steps.__getitem__)
    needed = _LINKS * triples + _ENTITIES * entities + steps[largest]
    if needed > in_use().nbytes:
        raise MemoryLimitError(
            f"path rules of {triples:,} triples take about {needed / 2**20:,.0f} MB, most of them "
            f"for {largest}; the limit is {in_use().nbytes / 2**20:,.0f} MB",
            hint="raise the limit (--memory), or lower max_pairs or max_rows",
        )
