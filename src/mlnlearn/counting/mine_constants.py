"""Rules with constants: which pairs of facts about an entity come together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.path_rules import ConstantRules
from mlnlearn.counting.walks import lower_bound
from mlnlearn.data.graph import Edges, Graph, Longs


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
    width = entities + 1
    facts, sizes = _shared_facts(edges, len(graph.relations), width, least_support)
    link_starts = np.searchsorted(facts, np.arange(2 * len(graph.relations) + 1) * width)
    arrays = edges.starts, edges.links, edges.ends
    counts = _fact_counts(*arrays, facts, link_starts)
    counts[counts > _bound(counts, most_pairs)] = 0
    pairs = _pairs(*arrays, facts, link_starts, counts)
    pairs.sort()
    if not len(pairs):
        return ConstantRules.none()
    first = np.flatnonzero(np.append(True, pairs[1:] != pairs[:-1]))
    support = np.diff(np.append(first, len(pairs)))
    often = support >= least_support
    first, support = first[often], support[often]
    heads, bodies = np.divmod(pairs[first], len(facts))
    good = support >= least_confidence * (sizes[bodies] + smoothing)
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


def _shared_facts(edges: Edges, relations: int, width: int, least: int) -> tuple[Longs, Longs]:
    """Return the facts that hold of enough entities, in order, and of how many they hold.

    A fact about an entity is a number: ``link * width``, and one more than the entity that the link
    leads to, or 0 for any. It holds of as many as the same link, read from its end, leads to.
    """
    links = 2 * relations
    keys, sizes, any_sizes = _linked_facts(edges.starts, edges.links, relations, width, least)
    often = np.flatnonzero(any_sizes >= least)
    keys = np.concatenate([keys, np.arange(links, dtype=np.int64)[often] * width])
    sizes = np.concatenate([sizes, any_sizes[often]])
    order = np.argsort(keys)
    return keys[order], sizes[order]


@njit(cache=True, nogil=True)
def _linked_facts(starts, links, relations, width, least):  # type: ignore[no-untyped-def]
    """Return facts of a link and its end, of how many they hold, and how many have each link."""
    any_sizes = np.zeros(2 * relations, np.int64)
    keys, sizes = np.empty(1 << 10, np.int64), np.empty(1 << 10, np.int64)
    count = 0
    for e in range(len(starts) - 1):
        k = starts[e]
        while k < starts[e + 1]:
            stop = k
            while stop < starts[e + 1] and links[stop] == links[k]:
                stop += 1
            any_sizes[links[k]] += 1
            if stop - k >= least:
                if count == len(keys):
                    keys = np.concatenate((keys, np.empty_like(keys)))
                    sizes = np.concatenate((sizes, np.empty_like(sizes)))
                turned = np.int64(links[k] + relations) % (2 * relations)
                keys[count], sizes[count] = turned * width + e + 1, stop - k
                count += 1
            k = stop
    return keys[:count], sizes[:count], any_sizes


@njit(cache=True, nogil=True)
def _place(facts, link_starts, link, end, width):  # type: ignore[no-untyped-def]
    """Return the place of a fact among those that are shared, -1 where it is none of them."""
    wanted = np.int64(link) * width + end + 1
    place = lower_bound(facts, link_starts[link], link_starts[link + 1], wanted)
    return place if place < link_starts[link + 1] and facts[place] == wanted else -1


@njit(cache=True, nogil=True)
def _facts_about(x, starts, links, ends, facts, link_starts, room):  # type: ignore[no-untyped-def]
    """Write the places of the shared facts about an entity, in order; returns how many."""
    width = np.int64(len(starts))
    count = 0
    for k in range(starts[x], starts[x + 1]):
        if k == starts[x] or links[k] != links[k - 1]:
            place = _place(facts, link_starts, links[k], -1, width)
            if place >= 0:
                room[count] = place
                count += 1
        place = _place(facts, link_starts, links[k], ends[k], width)
        if place >= 0:
            room[count] = place
            count += 1
    return count


@njit(cache=True, nogil=True)
def _fact_counts(starts, links, ends, facts, link_starts):  # type: ignore[no-untyped-def]
    """Return how many shared facts there are about each entity."""
    counts = np.zeros(len(starts) - 1, np.int64)
    room = np.empty(2 * np.max(np.diff(starts)), np.int64)
    for x in range(len(counts)):
        counts[x] = _facts_about(x, starts, links, ends, facts, link_starts, room)
    return counts


@njit(cache=True, nogil=True)
def _pairs(starts, links, ends, facts, link_starts, counts):  # type: ignore[no-untyped-def]
    """Return a number for each pair of facts about an entity, of which the first has a constant.

    Entities of which the count of facts is 0 are passed over.
    """
    width, base = np.int64(len(starts)), np.int64(len(facts))
    found = np.empty(np.sum(counts**2), np.int64)
    items = np.empty(2 * np.max(np.diff(starts)), np.int64)
    count = 0
    for x in range(len(counts)):
        if counts[x] == 0:
            continue
        _facts_about(x, starts, links, ends, facts, link_starts, items)
        for i in range(counts[x]):
            head_end = facts[items[i]] % width
            if head_end == 0:
                continue
            head_link = facts[items[i]] // width
            for j in range(counts[x]):
                body_end = facts[items[j]] % width
                same_link = facts[items[j]] // width == head_link
                if body_end == head_end or (body_end == 0 and same_link):
                    continue
                found[count] = items[i] * base + items[j]
                count += 1
    return found[:count]
