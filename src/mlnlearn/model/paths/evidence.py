"""What the rules of a link say for each candidate of a query.

A query asks where a link leads from an entity x. Its candidates are the ends of the closed rules'
paths, the constants of rules about x, and the entities that rules about "links to x" hold of. For
each candidate there are

- the closed rules that lead to it, with their walks, and
- a few sums over rules (`SHARED`), which share their weights over all rules of a kind.

When a query is made of a known triple, its answer is taken as unknown: every count that the triple
is part of is lowered by it, so that a rule is not judged by what it was made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.walks import Path, Trie, edge_arrays, expand, lower_bound, reversed_path
from mlnlearn.data.graph import Codes, Graph, Longs

Floats = NDArray[np.float64]

SHARED = (
    "closed rules together",
    "best closed rule",
    "rules about the given entity together",
    "best rule about the given entity",
    "rules about the candidate together",
    "best rule about the candidate",
    "how often the candidate has the link",
    "how many links the candidate has",
)
"""What is summed up for a candidate: the noisy-or p of the rules of a kind, or their largest
confidence, as log(1 + 1000 p), which tells something from nothing; log(1 + count) of links."""
_CERTAIN = 0.999
SCALE = 1000.0


@dataclass(frozen=True, eq=False)
class ConstantRules:
    """Rules ``head(x,c) <= body(x,e)`` with constants c and e, or with any entity for e.

    Attributes
    ----------
    head_link, head_end, body_link, body_end
        Links and constants; a `body_end` of -1 is any entity.
    support, body
        How many x both hold of, and the body.
    """

    head_link: Codes
    head_end: Codes
    body_link: Codes
    body_end: Codes
    support: Longs
    body: Longs

    def __len__(self) -> int:
        return len(self.support)

    @classmethod
    def none(cls) -> ConstantRules:
        """Return no rules."""
        codes, counts = np.empty(0, np.int32), np.empty(0, np.int64)
        return cls(codes, codes, codes, codes, counts, counts)

    def at(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> ConstantRules:
        """Return some of the rules."""
        columns = (self.head_link, self.head_end, self.body_link, self.body_end)
        codes = [column[rows] for column in columns]
        return ConstantRules(
            codes[0], codes[1], codes[2], codes[3], self.support[rows], self.body[rows]
        )

    def order(self, entities: int, *, by_body: bool) -> tuple[Longs, NDArray[np.intp]]:
        """Return keys of bodies (or heads) in order, and the rules' places in that order."""
        if by_body:
            keys = self.body_link.astype(np.int64) * (entities + 1) + self.body_end + 1
            order = np.lexsort((self.head_end, self.head_link, keys))
        else:
            keys = self.head_link.astype(np.int64) * (entities + 1) + self.head_end + 1
            order = np.lexsort((self.body_end, self.body_link, keys))
        return keys[order], order

    @property
    def arrays(self) -> tuple[Codes, Codes, Codes, Codes, Longs, Longs]:
        """What compiled loops read."""
        return (
            self.head_link,
            self.head_end,
            self.body_link,
            self.body_end,
            self.support,
            self.body,
        )


@dataclass(frozen=True, eq=False)
class LinkRules:
    """The closed rules of one link, in its direction: paths, and their counts."""

    link: int
    paths: Sequence[Path]
    support: Longs
    body: Longs

    @cached_property
    def trie(self) -> Trie:
        """The paths by their beginnings."""
        return Trie.of(list(self.paths))

    def backward(self, relations: int) -> LinkRules:
        """Return the same rules for the link read the other way."""
        link = (self.link + relations) % (2 * relations)
        paths = [reversed_path(path, relations) for path in self.paths]
        return LinkRules(link, paths, self.support, self.body)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the rules of a link say for all candidates of some queries.

    Attributes
    ----------
    row_starts
        Where the rows of each query begin.
    rules, places, walks
        A row for each closed rule and candidate: the rule's number, the candidate's place among
        those of its query, and the number of walks.
    candidate_starts, candidates
        Where the candidates of each query begin, and their entities.
    shared
        The sums over rules for each candidate, in the order of `SHARED`.
    """

    row_starts: Longs
    rules: Codes
    places: Codes
    walks: Codes
    candidate_starts: Longs
    candidates: Codes
    shared: Floats


class Collector:
    """Collects the evidence for queries of any link of a graph.

    Parameters
    ----------
    graph
        What is known.
    constants
        The rules with constants, of all links.
    smoothing
        Added to the denominator of confidences.
    least_support
        The support that every rule has.
    most_walks
        Walks along one path from one entity that are followed; where there are more, none is.
    """

    def __init__(
        self,
        graph: Graph,
        constants: ConstantRules,
        smoothing: float,
        least_support: int,
        most_walks: int,
    ) -> None:
        self.graph, self.smoothing, self.most_walks = graph, smoothing, most_walks
        self.least_support = least_support
        entities = len(graph.entities)
        body_keys, body_order = constants.order(entities, by_body=True)
        head_keys, head_order = constants.order(entities, by_body=False)
        self._constants = (
            body_keys,
            constants.at(body_order).arrays,
            head_keys,
            constants.at(head_order).arrays,
            body_order,
            head_order,
        )

    def frequency(self, link: int) -> Longs:
        """Return how often a link leads to each entity."""
        relations = len(self.graph.relations)
        heads, kinds, tails = self.graph.triples
        first, last = np.searchsorted(kinds, [link % relations, link % relations + 1])
        ends = (tails if link < relations else heads)[first:last]
        return np.bincount(ends, minlength=len(self.graph.entities))

    def collect(
        self,
        rules: LinkRules,
        sources: NDArray[np.integer],
        answers: NDArray[np.integer] | None = None,
        strangers: NDArray[np.integer] | None = None,
        most_rows: int = 1 << 62,
        list_constants: bool = False,
    ) -> Evidence:
        """Collect the evidence for queries of a link.

        Parameters
        ----------
        rules
            The closed rules of the link.
        sources
            The entity that each query starts from.
        answers
            Of queries made of known triples, the answer, to be taken as unknown.
        strangers
            Entities that are candidates of a query even without a rule, a row a query.
        most_rows
            Stop after the query that reaches so many rows; the answer then has fewer queries.
        list_constants
            Whether there are rows for rules with constants, too: their numbers follow those of the
            closed rules.
        """
        count, relations = len(sources), len(self.graph.relations)
        given = np.full(count, -1, np.int64) if answers is None else answers.astype(np.int64)
        more = np.empty((count, 0), np.int64) if strangers is None else strangers.astype(np.int64)
        trie = rules.trie
        found = _collect(
            sources.astype(np.int64),
            given,
            more,
            rules.link,
            relations,
            edge_arrays(self.graph.edges),
            trie.arrays,
            trie.depth,
            rules.support.astype(np.int64),
            rules.body.astype(np.int64),
            self._constants,
            self.frequency(rules.link),
            self.graph.edges.degrees,
            self.smoothing,
            self.least_support,
            self.most_walks,
            most_rows,
            len(rules.paths) if list_constants else -1,
        )
        return Evidence(*found)


@njit(cache=True, nogil=True)
def _confidence(support, body, smoothing, least, is_training, is_answer):  # type: ignore[no-untyped-def]
    """Return the confidence of a rule, without the pair at hand where that is a known one.

    A rule that without the pair had too little support to be there says nothing.
    """
    if is_training:
        body -= 1
        support -= is_answer
    return min(support / (body + smoothing), _CERTAIN) if support >= least else 0.0


@njit(cache=True, nogil=True)
def _about_source(  # type: ignore[no-untyped-def]
    x,
    answer,
    link,
    edges,
    constants,
    smoothing,
    least,
    sums,
    touched,
    touched_count,
    stamps,
    query,
    listed,
    listed_count,
    first_constant,
):
    """Add what rules ``link(x,c) <= body(x,e)`` say for each c."""
    starts, links, ends, _ = edges
    keys, (head_link, head_end, _, _, support, body) = constants[0], constants[1]
    entities = len(starts) - 1
    for place in range(starts[x], starts[x + 1]):
        same = place > starts[x] and links[place] == links[place - 1]
        for any_end in range(2):
            if any_end and (same or links[place] == link):
                continue
            end = -1 if any_end else ends[place]
            key = np.int64(links[place]) * (entities + 1) + end + 1
            first = lower_bound(keys, 0, len(keys), key)
            last = lower_bound(keys, first, len(keys), key + 1)
            first = lower_bound(head_link, first, last, link)
            while first < last and head_link[first] == link:
                y = head_end[first]
                known = not any_end and end == answer and links[place] == link
                if y != x and not known:
                    share = _confidence(
                        support[first], body[first], smoothing, least, answer >= 0, y == answer
                    )
                    if stamps[y] != query:
                        stamps[y] = query
                        touched[touched_count] = y
                        touched_count += 1
                        sums[y, :] = 0.0
                    if first_constant >= 0:
                        if listed_count == len(listed):
                            listed = np.concatenate((listed, np.empty_like(listed)))
                        listed[listed_count, 0] = first_constant + constants[4][first]
                        listed[listed_count, 1] = y
                        listed_count += 1
                    sums[y, 2] -= np.log1p(-share)
                    sums[y, 3] = max(sums[y, 3], share)
                first += 1
    return touched_count, listed, listed_count


@njit(cache=True, nogil=True)
def _about_candidates(  # type: ignore[no-untyped-def]
    x,
    answer,
    back,
    edges,
    constants,
    smoothing,
    least,
    sums,
    touched,
    touched_count,
    stamps,
    query,
    listed,
    listed_count,
    first_constant,
):
    """Add what rules ``back(y,x) <= body(y,e)`` say for each y."""
    starts, links, ends, _ = edges
    keys, (_, _, body_link, body_end, support, body) = constants[2], constants[3]
    entities = len(starts) - 1
    relations = constants[6]
    key = np.int64(back) * (entities + 1) + x + 1
    rule = lower_bound(keys, 0, len(keys), key)
    while rule < len(keys) and keys[rule] == key:
        e = body_end[rule]
        if e >= 0:
            turned = (body_link[rule] + relations) % (2 * relations)
            first = lower_bound(links, starts[e], starts[e + 1], turned)
            while first < starts[e + 1] and links[first] == turned:
                y = ends[first]
                first += 1
                if y == x:
                    continue
                share = _confidence(
                    support[rule], body[rule], smoothing, least, answer >= 0, y == answer
                )
                if stamps[y] != query:
                    stamps[y] = query
                    touched[touched_count] = y
                    touched_count += 1
                    sums[y, :] = 0.0
                if first_constant >= 0:
                    if listed_count == len(listed):
                        listed = np.concatenate((listed, np.empty_like(listed)))
                    listed[listed_count, 0] = first_constant + constants[5][rule]
                    listed[listed_count, 1] = y
                    listed_count += 1
                sums[y, 4] -= np.log1p(-share)
                sums[y, 5] = max(sums[y, 5], share)
        rule += 1
    return touched_count, listed, listed_count


@njit(cache=True, nogil=True)
def _collect(  # type: ignore[no-untyped-def]  # noqa: PLR0915 - one loop, compiled
    sources,
    answers,
    strangers,
    link,
    relations,
    edges,
    trie,
    depth,
    support,
    body,
    constants,
    frequency,
    degrees,
    smoothing,
    least,
    most_walks,
    most_rows,
    first_constant,
):
    starts = edges[0]
    entities = len(starts) - 1
    met = np.full((entities, 2), -1, np.int64)
    tick = 0
    walks = np.empty((1 << 10, depth + 1), np.int32)
    out = np.empty((1 << 10, 3), np.int32)
    sums = np.zeros((entities, 8))
    stamps = np.full(entities, -1, np.int64)
    place_of = np.empty(entities, np.int64)
    touched = np.empty(entities, np.int64)
    rows = np.empty((1 << 12, 3), np.int32)
    row_count = 0
    candidates = np.empty(1 << 12, np.int32)
    shared = np.empty((1 << 12, 8))
    total = 0
    row_starts = np.zeros(len(sources) + 1, np.int64)
    candidate_starts = np.zeros(len(sources) + 1, np.int64)
    back = (link + relations) % (2 * relations)
    with_relations = (
        constants[0],
        constants[1],
        constants[2],
        constants[3],
        constants[4],
        constants[5],
        relations,
    )
    listed = np.empty((64, 2), np.int64)
    done = 0
    for query in range(len(sources)):
        if row_count >= most_rows:
            break
        done += 1
        x, answer = sources[query], answers[query]
        count, tick, walks, out = expand(x, edges, trie, depth, met, tick, walks, out, most_walks)
        number = 0
        for row in range(count):
            rule, y = out[row, 0], out[row, 1]
            if stamps[y] != query:
                stamps[y] = query
                touched[number] = y
                number += 1
                sums[y, :] = 0.0
            share = _confidence(
                support[rule], body[rule], smoothing, least, answer >= 0, y == answer
            )
            sums[y, 0] -= np.log1p(-share)
            sums[y, 1] = max(sums[y, 1], share)
        number, listed, more = _about_source(
            x,
            answer,
            link,
            edges,
            with_relations,
            smoothing,
            least,
            sums,
            touched,
            number,
            stamps,
            query,
            listed,
            0,
            first_constant,
        )
        number, listed, more = _about_candidates(
            x,
            answer,
            back,
            edges,
            with_relations,
            smoothing,
            least,
            sums,
            touched,
            number,
            stamps,
            query,
            listed,
            more,
            first_constant,
        )
        for k in range(strangers.shape[1]):
            y = strangers[query, k]
            if y != x and stamps[y] != query:
                stamps[y] = query
                touched[number] = y
                number += 1
                sums[y, :] = 0.0
        while row_count + count + more > len(rows):
            rows = np.concatenate((rows, np.empty_like(rows)))
        while total + number > len(candidates):
            candidates = np.concatenate((candidates, np.empty_like(candidates)))
            shared = np.concatenate((shared, np.empty_like(shared)))
        for k in range(number):
            y = touched[k]
            place_of[y] = k
            less = 1 if y == answer else 0
            sums[y, 6] = np.log1p(frequency[y] - less)
            sums[y, 7] = np.log1p(degrees[y] - less)
            candidates[total + k] = y
            for kind in range(0, 6, 2):
                shared[total + k, kind] = np.log1p(-SCALE * np.expm1(-sums[y, kind]))
                shared[total + k, kind + 1] = np.log1p(SCALE * sums[y, kind + 1])
            shared[total + k, 6:] = sums[y, 6:]
        for row in range(count):
            rows[row_count + row, 0] = out[row, 0]
            rows[row_count + row, 1] = place_of[out[row, 1]]
            rows[row_count + row, 2] = out[row, 2]
        row_count += count
        for row in range(more):
            rows[row_count + row, 0] = listed[row, 0]
            rows[row_count + row, 1] = place_of[listed[row, 1]]
            rows[row_count + row, 2] = 1
        row_count += more
        total += number
        row_starts[query + 1] = row_count
        candidate_starts[query + 1] = total
    kept = rows[:row_count]
    return (
        row_starts[: done + 1],
        kept[:, 0].copy(),
        kept[:, 1].copy(),
        kept[:, 2].copy(),
        candidate_starts[: done + 1],
        candidates[:total].copy(),
        shared[:total].copy(),
    )
