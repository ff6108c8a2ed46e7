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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import bounds_of
from mlnlearn.counting.evidence_kernels import (
    KINDS,
    SCALE,
    ConstantLookup,
    ConstantLookups,
    EvidenceRoom,
    RuleCounts,
    collect,
)
from mlnlearn.counting.path_rules import ConstantRules, LinkRules
from mlnlearn.counting.walks import edge_arrays
from mlnlearn.data.graph import Codes, Graph, Longs
from mlnlearn.run import check_time

_AT_ONCE = 1 << 14  # rows or candidates that are collected at once

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


@dataclass(frozen=True, eq=False)
class RuleEvidence:
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

    @classmethod
    def joined(cls, parts: Sequence[RuleEvidence]) -> RuleEvidence:
        """Return the evidence for several lots of queries, one after the other."""

        def starts(each: Sequence[Longs]) -> Longs:
            return bounds_of(np.concatenate([np.diff(one) for one in each]))

        return cls(
            starts([part.row_starts for part in parts]),
            np.concatenate([part.rules for part in parts]),
            np.concatenate([part.places for part in parts]),
            np.concatenate([part.walks for part in parts]),
            starts([part.candidate_starts for part in parts]),
            np.concatenate([part.candidates for part in parts]),
            np.concatenate([part.shared for part in parts]),
        )

    def open_shares(self) -> Floats:
        """Return of each candidate 1 - p for the noisy-or p of all its rules."""
        left = np.expm1(self.shared[:, [0, 2, 4]]) / SCALE
        found: Floats = np.prod(np.maximum(1.0 - left, 1e-12), axis=1)
        return found


class _Room:
    """Arrays as long as there are entities, kept between calls; `tick` tells calls apart."""

    def __init__(self, entities: int) -> None:
        self.arrays = EvidenceRoom(
            walk_stamps=np.full((entities, 2), -1, np.int64),
            sums=np.zeros((entities, 2 * KINDS)),
            stamps=np.full(entities, -1, np.int64),
            touched=np.full(entities, -1, np.int64),
            place_of=np.full(entities, -1, np.int64),
        )
        self.tick = 0


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

    Attributes
    ----------
    constant_shares
        The confidences of the rules with constants.
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
        bodies, by_body = constants.by_body(len(graph.entities))
        heads, by_head = constants.by_head(len(graph.entities))
        heads_of = constants.head_link[by_body], constants.head_end[by_body]
        bodies_of = constants.body_link[by_head], constants.body_end[by_head]
        self._constants = ConstantLookups(
            ConstantLookup(bodies, by_body, *heads_of),
            ConstantLookup(heads, by_head, *bodies_of),
            RuleCounts(constants.support, constants.body),
        )
        self.constant_shares: Floats = constants.support / (constants.body + smoothing)
        self._rooms: list[_Room] = []

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
    ) -> RuleEvidence:
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
            Stop after the query that reaches so many rows or candidates, or eight times as many
            uses of rules, with constants or without; the answer then has fewer queries.
        list_constants
            Whether there are rows for rules with constants, too: their numbers follow those of the
            closed rules.
        """
        count = len(sources)
        given = np.full(count, -1, np.int64) if answers is None else answers.astype(np.int64)
        more = np.empty((count, 0), np.int64) if strangers is None else strangers.astype(np.int64)
        queries = sources.astype(np.int64), given, more
        listed = len(rules.paths) if list_constants else -1
        room = self._room()
        parts: list[RuleEvidence] = []
        done, before = 0, (0, 0, 0)
        while True:
            check_time()  # compiled loops cannot be stopped: they get no more than takes a moment
            left = [column[done:] for column in queries]
            part, seen = self._part(room, rules, left, (most_rows, _AT_ONCE), before, listed)
            parts.append(part)
            rows, candidates = len(part.rules), len(part.candidates)
            before = before[0] + rows, before[1] + candidates, before[2] + seen
            done += len(part.row_starts) - 1
            if done == count or len(part.row_starts) == 1:
                break
        self._rooms.append(room)
        return parts[0] if len(parts) == 1 else RuleEvidence.joined(parts)

    def _part(
        self,
        room: _Room,
        rules: LinkRules,
        queries: Sequence[Longs],
        limits: tuple[int, int],
        before: tuple[int, int, int],
        listed: int,
    ) -> tuple[RuleEvidence, int]:
        """Collect the evidence for the first of some queries, and count the uses of rules."""
        relations, trie = len(self.graph.relations), rules.trie
        *found, seen, room.tick = collect(
            *queries,
            (rules.link, (rules.link + relations) % (2 * relations), relations),
            edge_arrays(self.graph.edges),
            trie.arrays,
            trie.depth,
            RuleCounts(rules.support.astype(np.int64), rules.body.astype(np.int64)),
            self._constants,
            (self.smoothing, self.least_support),
            (self.most_walks, *limits),
            before,
            listed,
            room.arrays,
            room.tick,
        )
        row_starts, rows, *others = found
        return RuleEvidence(row_starts, *rows.T.copy(), *others), seen

    def _room(self) -> _Room:
        """Return arrays that no other thread uses."""
        try:
            return self._rooms.pop()
        except IndexError:
            return _Room(len(self.graph.entities))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rooms": []}
