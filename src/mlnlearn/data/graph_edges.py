"""Compiled loops over the links of a graph: what they make is all the memory they take."""

from __future__ import annotations

import numpy as np

from mlnlearn.compiled import njit


@njit(cache=True, nogil=True)
def edges_of(heads, kinds, tails, entities, relations):  # type: ignore[no-untyped-def]
    """Return where the links from each entity begin, the links, and the entities they lead to.

    Triples come in the order of relation, head and tail. So those of a head come in the order of
    its links and their ends, those of a tail likewise, and nothing has to be sorted.
    """
    starts = np.zeros(entities + 1, np.int64)
    forward = np.zeros(entities, np.int64)
    for k in range(len(heads)):
        forward[heads[k]] += 1
        starts[tails[k] + 1] += 1
    for x in range(entities):
        starts[x + 1] += starts[x] + forward[x]
        forward[x] += starts[x]  # where the backward links begin
    links = np.empty(2 * len(heads), np.int32)
    ends = np.empty(2 * len(heads), np.int32)
    for k in range(len(tails)):
        place = forward[tails[k]]
        links[place], ends[place] = kinds[k] + relations, heads[k]
        forward[tails[k]] += 1
    forward[:] = starts[:-1]
    for k in range(len(heads)):
        place = forward[heads[k]]
        links[place], ends[place] = kinds[k], tails[k]
        forward[heads[k]] += 1
    return starts, links, ends


@njit(cache=True, nogil=True)
def masks_of(starts, links):  # type: ignore[no-untyped-def]
    """Return for each entity a set of 64 bits: which links, modulo 64, leave it."""
    masks = np.zeros(len(starts) - 1, np.uint64)
    for x in range(len(masks)):
        for k in range(starts[x], starts[x + 1]):
            masks[x] |= np.uint64(1) << np.uint64(links[k] & 63)
    return masks


@njit(cache=True, nogil=True)
def own_links(starts, links):  # type: ignore[no-untyped-def]
    """Return where the distinct links of each entity begin, and these links."""
    firsts = np.zeros(len(starts), np.int64)
    for x in range(len(starts) - 1):
        firsts[x + 1] = firsts[x]
        for k in range(starts[x], starts[x + 1]):
            if k == starts[x] or links[k] != links[k - 1]:
                firsts[x + 1] += 1
    found = np.empty(firsts[-1], np.int32)
    count = 0
    for x in range(len(starts) - 1):
        for k in range(starts[x], starts[x + 1]):
            if k == starts[x] or links[k] != links[k - 1]:
                found[count] = links[k]
                count += 1
    return firsts, found
