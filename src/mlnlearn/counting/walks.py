"""Walks along the links of a knowledge graph that meet no entity twice.

A *path* is a sequence of links. It connects x and y where there is a walk from x to y along it on
which all entities differ, as in object identity. So a path never uses a triple between its two ends
(unless it is that one link), and what paths tell of a known triple is what they would tell if it
were not known.

Paths are kept in a *trie*, so that common beginnings are walked once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.data.graph import Codes, Edges, Graph, Longs

Path = tuple[int, ...]

PATH, END, WALKS = range(3)
"""Columns of what is found: a path (or a rule), where it ends, and how many walks lead there."""

_TICK, _ROW = range(2)  # columns of stamps: when an entity was met last, and in which row

MOST_WALKS = 1 << 20
"""Walks along one path from one entity that are followed; where there are more, none is."""


def reversed_path(path: Path, relations: int) -> Path:
    """Return a path read from its end.

    Examples
    --------
    >>> reversed_path((0, 4), 3)
    (1, 3)
    """
    return tuple((link + relations) % (2 * relations) for link in reversed(path))


@dataclass(frozen=True, eq=False)
class Trie:
    """Paths by their beginnings.

    Attributes
    ----------
    first, following
        For each node its first child, and the next child of its parent; -1 for none.
    link
        The link that leads to a node.
    path
        The number of the path that ends at a node, -1 for none.
    depth
        Links of the longest path.
    """

    first: Codes
    following: Codes
    link: Codes
    path: Codes
    depth: int

    @classmethod
    def of(cls, paths: Sequence[Path]) -> Trie:
        """Put paths in a trie, each under its place in the sequence."""
        first, following, link, ends, last = [-1], [-1], [-1], [-1], [-1]
        nodes: dict[Path, int] = {(): 0}
        for number in sorted(range(len(paths)), key=lambda number: paths[number]):
            path, here = paths[number], 0
            for length in range(1, len(path) + 1):
                node = nodes.setdefault(path[:length], len(first))
                if node == len(first):
                    for column in (first, following, ends, last):
                        column.append(-1)
                    link.append(path[length - 1])
                    if last[here] < 0:
                        first[here] = node
                    else:
                        following[last[here]] = node
                    last[here] = node
                here = node
            ends[here] = number
        depth = max(map(len, paths), default=0)
        columns = [np.array(column, np.int32) for column in (first, following, link, ends)]
        return cls(columns[0], columns[1], columns[2], columns[3], depth)

    @property
    def arrays(self) -> tuple[Codes, Codes, Codes, Codes]:
        """What compiled loops read."""
        return self.first, self.following, self.link, self.path


def edge_arrays(edges: Edges) -> tuple[Longs, Codes, Codes, NDArray[np.uint64]]:
    """Return what compiled loops read of a graph."""
    return edges.starts, edges.links, edges.ends, edges.masks


@njit(cache=True, nogil=True)
def lower_bound(values, low, high, wanted):  # type: ignore[no-untyped-def]
    """Return the first place of sorted values that is not below what is wanted."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def expand(x, edges, trie, depth, stamps, tick, walks, out, most):  # type: ignore[no-untyped-def]  # noqa: PLR0915 - one loop, compiled
    """Follow all paths of a trie from an entity.

    Writes (path, end, walks) to `out`, the ends of a path one after another. `stamps` and `tick`
    say which ends the present path has met; `walks` is room for the walks of all nodes between the
    root and the present one. Returns how many rows were written, and what was grown or counted on.
    """
    starts, links, ends, masks = edges
    first, following, link, path = trie
    count = 0
    child = np.empty(depth + 1, np.int64)
    low = np.empty(depth + 1, np.int64)
    high = np.empty(depth + 1, np.int64)
    level = 0
    walks[0, 0] = x
    low[0], high[0], child[0] = 0, 1, first[0]
    while level >= 0:
        node = child[level]
        if node < 0:
            level -= 1
            continue
        child[level] = following[node]
        step = link[node]
        bit = np.uint64(1) << np.uint64(step & 63)
        begin = high[level]
        stop = begin
        for row in range(low[level], high[level]):
            here = walks[row, level]
            if masks[here] & bit == 0:
                continue
            place = lower_bound(links, starts[here], starts[here + 1], step)
            while place < starts[here + 1] and links[place] == step:
                there = ends[place]
                place += 1
                again = False
                for earlier in range(level + 1):
                    again = again or walks[row, earlier] == there
                if again:
                    continue
                if stop == len(walks):
                    walks = np.concatenate((walks, np.empty_like(walks)))
                for earlier in range(level + 1):
                    walks[stop, earlier] = walks[row, earlier]
                walks[stop, level + 1] = there
                stop += 1
            if stop - begin > most:
                break
        if stop == begin or stop - begin > most:
            continue
        if path[node] >= 0:
            tick += 1
            for row in range(begin, stop):
                there = walks[row, level + 1]
                if stamps[there, _TICK] == tick:
                    out[stamps[there, _ROW], WALKS] += 1
                    continue
                if count == len(out):
                    out = np.concatenate((out, np.empty_like(out)))
                stamps[there, _TICK], stamps[there, _ROW] = tick, count
                out[count, PATH], out[count, END], out[count, WALKS] = path[node], there, 1
                count += 1
        if first[node] >= 0:
            level += 1
            child[level], low[level], high[level] = first[node], begin, stop
    return count, tick, walks, out


def walks_of(graph: Graph, path: Path, x: int, y: int, most: int = 3) -> list[tuple[int, ...]]:
    """Return some walks along a path between two entities, as the entities they pass."""
    found: list[tuple[int, ...]] = [(x,)]
    for number, link in enumerate(path):
        last = number == len(path) - 1
        longer: list[tuple[int, ...]] = []
        for walk in found:
            for end in graph.neighbours(walk[-1], link).tolist():
                if end not in walk and (end == y) == last:
                    longer.append((*walk, end))
        found = longer
    return found[:most]


def walk_counts(edges: Edges, length: int) -> NDArray[np.float64]:
    """Return how many walks of each length up to one there are in all, returns counted in."""
    ways, found = np.ones(len(edges.starts) - 1), []
    for _ in range(length):
        ways = _one_more(edges.starts, edges.ends, ways)
        found.append(float(ways.sum()))
    return np.array(found)


@njit(cache=True, nogil=True)
def _one_more(starts, ends, ways):  # type: ignore[no-untyped-def]
    """Return how many walks from each entity there are that are longer by one link."""
    found = np.zeros(len(ways))
    for x in range(len(found)):
        for k in range(starts[x], starts[x + 1]):
            found[x] += ways[ends[k]]
    return found
