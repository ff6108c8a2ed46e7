"""Rules with constants: which pairs of facts about an entity come together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.path_rules import ConstantRules
from mlnlearn.data.graph import Graph, Longs


def mine_constants(
    graph: Graph,
    *,
    least_support: int,
    least_confidence: float,
    smoothing: float,
    most_pairs: int,
    most_rules: int,
    most_holders: int,
) -> ConstantRules:
    """Find the rules ``head(x,c) <= body(x,e)``, and those with any entity for e.

    Entities with the most facts, whose pairs would be more than `most_pairs` in all, are passed
    over: what is common to them is common to others. Of the rules of one head, the surest are kept,
    as many as have bodies with a constant that hold of `most_holders` entities together.
    """
    edges, entities = graph.edges, len(graph.entities)
    if not len(edges.links):
        return ConstantRules.none()
    sources = np.repeat(np.arange(entities), edges.degrees)
    any_new = np.ones(len(sources), np.bool_)
    any_new[1:] = (sources[1:] != sources[:-1]) | (edges.links[1:] != edges.links[:-1])
    # a fact about an entity: a link with its end, or (0 in its place) with any end
    width = entities + 1
    keys = np.concatenate(
        [
            edges.links.astype(np.int64) * width + edges.ends + 1,
            edges.links[any_new].astype(np.int64) * width,
        ]
    )
    facts, items, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    owners = np.concatenate([sources, sources[any_new]])
    shared = sizes[items] >= least_support
    owners, items = owners[shared], items[shared]
    order = np.lexsort((items, owners))
    owners, items = owners[order], items[order]
    counts = np.bincount(owners, minlength=entities)
    counts[counts > _bound(counts, most_pairs)] = 0
    starts = np.zeros(entities + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    items = items[counts[owners] > 0]
    pairs = np.sort(_pairs(starts, items, facts, width, len(facts)))
    if not len(pairs):
        return ConstantRules.none()
    first = np.flatnonzero(np.append(True, pairs[1:] != pairs[:-1]))
    support = np.diff(np.append(first, len(pairs)))
    heads, bodies = np.divmod(pairs[first], len(facts))
    good = (support >= least_support) & (support >= least_confidence * (sizes[bodies] + smoothing))
    heads, bodies, support = heads[good], bodies[good], support[good]
    share = support / (sizes[bodies] + smoothing)
    best = np.lexsort((-support, -share))
    # candidates are never looked for by a body with any entity
    holders = np.where(facts[bodies] % width > 0, sizes[bodies], 0)
    best = np.sort(best[_within(heads[best], holders[best], most_holders)][:most_rules])
    heads, bodies, support = facts[heads[best]], bodies[best], support[best]
    body_keys = facts[bodies]
    return ConstantRules(
        (heads // width).astype(np.int32),
        (heads % width - 1).astype(np.int32),
        (body_keys // width).astype(np.int32),
        (body_keys % width - 1).astype(np.int32),
        support.astype(np.int64),
        sizes[bodies].astype(np.int64),
    )


def count_constants(
    graph: Graph, rules: Iterable[tuple[int, int, int, int]], least_support: int
) -> ConstantRules:
    """Count rules given by head link, its constant, body link, and its constant or -1 for any."""
    counted = []
    back = len(graph.relations)
    for head, end, body, other in rules:
        holds = _holders(graph, body, other)
        both = np.intersect1d(holds, graph.neighbours(end, (head + back) % (2 * back)))
        if len(both) >= least_support:
            counted.append((head, end, body, other, len(both), len(holds)))
    columns = np.array(counted, np.int64).reshape(-1, 6).T
    codes = columns[:4].astype(np.int32)
    return ConstantRules(codes[0], codes[1], codes[2], codes[3], columns[4], columns[5])


def _holders(graph: Graph, link: int, end: int) -> Longs:
    """Return the entities that a link leads from: to an end, or to anything."""
    back = len(graph.relations)
    if end >= 0:
        return graph.neighbours(end, (link + back) % (2 * back)).astype(np.int64)
    heads, kinds, tails = graph.triples
    return np.unique((heads if link < back else tails)[kinds == link % back]).astype(np.int64)


def _within(heads: Longs, holders: Longs, most: int) -> NDArray[np.bool_]:
    """Say which rules, the surest first, have bodies of so many entities with those before."""
    order = np.argsort(heads, kind="stable")
    grouped, sums = heads[order], np.cumsum(holders[order])
    first = np.searchsorted(grouped, grouped)
    kept = np.empty(len(heads), np.bool_)
    kept[order] = sums - sums[first] + holders[order][first] <= most
    return kept


def _bound(counts: Longs, most: int) -> int:
    """Return the most facts that an entity may have, so that all pairs are within a limit."""
    ordered = np.sort(counts)
    within = np.cumsum(ordered.astype(np.int64) ** 2) <= most
    return int(ordered[within][-1]) if within.any() else 0


@njit(cache=True, nogil=True)
def _pairs(starts, items, facts, width, base):  # type: ignore[no-untyped-def]
    """Return a number for each pair of facts of an entity, of which the first has a constant."""
    total = 0
    for x in range(len(starts) - 1):
        total += (starts[x + 1] - starts[x]) ** 2
    found = np.empty(total, np.int64)
    count = 0
    for x in range(len(starts) - 1):
        for i in range(starts[x], starts[x + 1]):
            head_end = facts[items[i]] % width
            if head_end == 0:
                continue
            head_link = facts[items[i]] // width
            for j in range(starts[x], starts[x + 1]):
                body_end = facts[items[j]] % width
                same_link = facts[items[j]] // width == head_link
                if body_end == head_end or (body_end == 0 and same_link):
                    continue
                found[count] = np.int64(items[i]) * base + items[j]
                count += 1
    return found[:count]
