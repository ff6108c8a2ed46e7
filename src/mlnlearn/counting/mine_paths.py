"""Which paths connect the two entities of known triples, and how often: supports of path rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.walks import END, PATH, Path, Trie, edge_arrays, expand, lower_bound
from mlnlearn.data.graph import Graph, Longs


@njit(cache=True, nogil=True)
def _is_marked(marks, entity):  # type: ignore[no-untyped-def]
    return marks[entity >> 6] >> np.uint64(entity & 63) & np.uint64(1) != 0


@njit(cache=True, nogil=True)
def _hits(x, edges, marks, length, base, hits):  # type: ignore[no-untyped-def]
    """Write ``path * entities + y`` for each walk from x that ends at a marked entity y.

    Returns the numbers, how many there are, and how many steps were taken. Most of the steps are
    the last ones of the longest walks, which only look whether an entity is marked.
    """
    starts, links, ends, _ = edges
    count = len(starts) - 1
    met = np.empty(length + 1, np.int64)
    place = np.empty(length + 1, np.int64)
    code = np.empty(length + 1, np.int64)
    hit_count, steps, level = 0, 0, 0
    met[0], place[0], code[0] = x, starts[x], 0
    while level >= 0:
        k, stop = place[level], starts[met[level] + 1]
        steps -= k
        if level == length - 1:
            while k < stop and not _is_marked(marks, ends[k]):
                k += 1
        steps += k + 1
        if k == stop:
            level -= 1
            continue
        place[level] = k + 1
        y = ends[k]
        again = False
        for earlier in range(level + 1):
            again = again or met[earlier] == y
        if again:
            continue
        longer = code[level] * base + links[k] + 1
        if _is_marked(marks, y):
            if hit_count == len(hits):
                hits = np.concatenate((hits, np.empty_like(hits)))
            hits[hit_count] = longer * count + y
            hit_count += 1
        if level < length - 1:
            level += 1
            met[level], place[level], code[level] = y, starts[y], longer
    return hits, hit_count, steps


@njit(cache=True, nogil=True)
def _supports(edges, by_end, relations, sources, length, base, whole, most):  # type: ignore[no-untyped-def]
    """Return a key ``relation * base**length + path`` for each triple and path that connects it."""
    starts = edges[0]
    end_sorted, link_sorted = by_end
    count = len(starts) - 1
    marks = np.zeros((count >> 6) + 1, np.uint64)  # the tails of the source
    hits = np.empty(1 << 12, np.int64)
    keys = np.empty(1 << 16, np.int64)
    key_count, steps, done = 0, 0, 0
    for x in sources:
        if steps >= most:
            break
        done += 1
        is_head = False
        for k in range(starts[x], starts[x + 1]):
            if link_sorted[k] < relations:
                y = end_sorted[k]
                marks[y >> 6] |= np.uint64(1) << np.uint64(y & 63)
                is_head = True
        if not is_head:
            continue
        hits, hit_count, taken = _hits(x, edges, marks, length, base, hits)
        steps += taken
        ordered = np.sort(hits[:hit_count])
        for i in range(hit_count):
            if i and ordered[i] == ordered[i - 1]:
                continue
            path, y = ordered[i] // count, ordered[i] % count
            k = lower_bound(end_sorted, starts[x], starts[x + 1], y)
            while k < starts[x + 1] and end_sorted[k] == y:
                if link_sorted[k] < relations and link_sorted[k] + 1 != path:
                    if key_count == len(keys):
                        keys = np.concatenate((keys, np.empty_like(keys)))
                    keys[key_count] = link_sorted[k] * whole + path
                    key_count += 1
                k += 1
        for k in range(starts[x], starts[x + 1]):
            marks[end_sorted[k] >> 6] = np.uint64(0)
    return keys[:key_count], steps, done


@njit(cache=True, nogil=True)
def _by_end(starts, links, ends, count):  # type: ignore[no-untyped-def]
    """Return ends and links of each entity, in the order of the ends, then of the links."""
    ordered_ends, ordered_links = np.empty_like(ends), np.empty_like(links)
    for x in range(len(starts) - 1):
        first, last = starts[x], starts[x + 1]
        keys = np.empty(last - first, np.int64)
        for k in range(first, last):
            keys[k - first] = np.int64(ends[k]) * count + links[k]
        keys.sort()
        for k in range(first, last):
            ordered_ends[k], ordered_links[k] = divmod(keys[k - first], count)
    return ordered_ends, ordered_links


class PathMiner:
    """Finds the paths that connect the ends of triples, source by source.

    A path and a relation make the closed rule ``relation(x,y) <= path(x,y)``. The support of a rule
    is the number of triples of the relation whose ends the path connects.

    Parameters
    ----------
    graph
        The triples.
    length
        Links of the longest path; shortened where a number of 64 bits cannot tell all paths apart.
    """

    def __init__(self, graph: Graph, length: int) -> None:
        self.graph = graph
        relations, entities = len(graph.relations), max(len(graph.entities), 1)
        self.base = 2 * relations + 1
        self.length = length
        while self.length > 1 and self.base**self.length * max(relations, entities) >= 2**62:
            self.length -= 1
        edges = graph.edges
        self._by_end = _by_end(edges.starts, edges.links, edges.ends, 2 * relations)
        self.keys = np.empty(0, np.int64)
        self.counts = np.empty(0, np.int64)

    def add(self, sources: Longs, most_steps: int) -> tuple[int, int]:
        """Count the rules of some sources; returns the steps walked, and sources done."""
        edges = edge_arrays(self.graph.edges)
        relations = len(self.graph.relations)
        keys, steps, done = _supports(
            edges,
            self._by_end,
            relations,
            sources,
            self.length,
            self.base,
            self.base**self.length,
            most_steps,
        )
        found, counts = np.unique(keys, return_counts=True)
        keys = np.concatenate([self.keys, found])
        self.keys, places = np.unique(keys, return_inverse=True)
        old = np.concatenate([self.counts, counts])
        self.counts = np.bincount(places, old, len(self.keys)).astype(np.int64)
        return int(steps), int(done)

    def rules(self, least: int) -> tuple[Longs, list[Path], Longs]:
        """Return relation, path and support of each rule whose support is at least so much."""
        often = self.counts >= least
        heads, codes = np.divmod(self.keys[often], self.base**self.length)
        return heads, [self._path(int(code)) for code in codes], self.counts[often]

    def _path(self, code: int) -> Path:
        links = []
        while code:
            code, digit = divmod(code, self.base)
            links.append(digit - 1)
        return tuple(reversed(links))


@njit(cache=True, nogil=True)
def _counts(sources, edges, trie, depth, rule_starts, rule_heads, most, most_rows):  # type: ignore[no-untyped-def]
    """Count support, body pairs and those from entities with a tail, of the rules of each path."""
    starts, links, ends, _ = edges
    stamps = np.full((len(starts) - 1, 2), -1, np.int64)
    tick = 0
    walks = np.empty((1 << 10, depth + 1), np.int32)
    out = np.empty((1 << 10, 3), np.int32)
    found = np.zeros((3, len(rule_heads)), np.int64)
    rows = 0
    done = 0
    for x in sources:
        if rows >= most_rows:
            break
        count, tick, walks, out = expand(x, edges, trie, depth, stamps, tick, walks, out, most)
        rows += count
        done += 1
        begin = 0
        while begin < count:
            path = out[begin, PATH]
            stop = begin
            while stop < count and out[stop, PATH] == path:
                stop += 1
            for rule in range(rule_starts[path], rule_starts[path + 1]):
                head = rule_heads[rule]
                found[1, rule] += stop - begin
                low = lower_bound(links, starts[x], starts[x + 1], head)
                high = lower_bound(links, low, starts[x + 1], head + 1)
                if low == high:
                    continue
                found[2, rule] += stop - begin
                for row in range(begin, stop):
                    place = lower_bound(ends, low, high, out[row, END])
                    if place < high and ends[place] == out[row, END]:
                        found[0, rule] += 1
            begin = stop
    return found, rows, done


def count_rules(
    graph: Graph,
    heads: Longs,
    paths: list[Path],
    sources: Longs,
    *,
    most_walks: int,
    most_rows: int,
) -> tuple[NDArray[np.int64], int]:
    """Count closed rules ``relation(x,y) <= path(x,y)`` over the pairs from some sources x.

    Returns
    -------
    counts
        Three numbers a rule: the support; the pairs that the path connects; of these, those whose
        x has any triple of the relation (the denominator of PCA confidence).
    done
        How many of the sources were taken, in their order, until `most_rows` pairs were seen.
    """
    distinct = sorted(set(paths))
    numbers = {path: number for number, path in enumerate(distinct)}
    of_path = np.array([numbers[path] for path in paths], np.int64)
    order = np.argsort(of_path, kind="stable")
    rule_starts = np.searchsorted(of_path[order], np.arange(len(distinct) + 1))
    trie = Trie.of(distinct)
    ordered, _, done = _counts(
        sources,
        edge_arrays(graph.edges),
        trie.arrays,
        trie.depth,
        rule_starts,
        heads[order].astype(np.int64),
        most_walks,
        most_rows,
    )
    found = np.empty_like(ordered)
    found[:, order] = ordered
    return found, int(done)
