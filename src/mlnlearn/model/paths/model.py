"""A model of path rules: it ranks the answers of queries, and says why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.walks import MOST_WALKS, Path, walks_of
from mlnlearn.data.database import Database
from mlnlearn.data.graph import BACK, Codes, Graph, Longs, encoded
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError
from mlnlearn.files import AnyPath, write_files
from mlnlearn.model.paths.evidence import Collector, ConstantRules, Evidence, LinkRules
from mlnlearn.model.paths.ranking import Ranking
from mlnlearn.model.paths.rules import PathRule, rules_table
from mlnlearn.model.paths.scoring import (
    NOTHING,
    Aggregation,
    LinkWeights,
    OwnLinks,
    Scorer,
    ranks_of,
    top_of,
)

Sides = Literal["both", "head", "tail"]
Triples = Codes | Iterable[Sequence[str]]

_BATCH = 256
_ROUND_OFF = 1e-9


class RankedEntity(NamedTuple):
    """An answer: an entity, its score, and whether the triple is known."""

    entity: str
    score: float
    known: bool


class Reason(NamedTuple):
    """A rule that speaks for a triple.

    Attributes
    ----------
    rule
        The rule.
    weight
        What it adds to the score by itself.
    paths
        Some of its groundings: the entities along the path.
    walks
        How many groundings there are.
    """

    rule: PathRule
    weight: float
    paths: tuple[tuple[str, ...], ...]
    walks: int


class ExplainedTriple(NamedTuple):
    """Why a triple is likely, or not: its score, the rank of its tail, and its reasons."""

    triple: tuple[str, str, str]
    known: bool
    score: float
    rank: float
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, eq=False)
class ClosedRules:
    """Rules ``relation(x,y) <= path(x,y)`` with their counts, of all relations."""

    heads: Longs
    paths: Sequence[Path]
    support: Longs
    body: Longs
    pca_body: Longs

    def __len__(self) -> int:
        return len(self.paths)

    def at(self, rows: NDArray[np.integer]) -> ClosedRules:
        """Return some of the rules."""
        return ClosedRules(
            self.heads[rows],
            [self.paths[row] for row in rows.tolist()],
            self.support[rows],
            self.body[rows],
            self.pca_body[rows],
        )


@dataclass(frozen=True, eq=False)
class PathModel:
    """Rules along the paths of a knowledge graph, weighted.

    Attributes
    ----------
    relations, entities
        The names that rules are coded by.
    facts
        How many triples each relation had.
    closed, constants
        The rules.
    weights
        The weights of each link that they were learned for.
    aggregation
        How the rules of a candidate make a score: by learned weights; as a noisy-or of their
        confidences; or by the largest, ties broken by the next.
    smoothing, least_support
        Of confidences, and of rules.
    graph
        What is known; rules are followed in it.
    """

    relations: Vocabulary
    entities: Vocabulary
    facts: Longs
    closed: ClosedRules
    constants: ConstantRules
    weights: Mapping[int, LinkWeights] = field(default_factory=dict)
    aggregation: Aggregation = "learned"
    smoothing: float = 5.0
    least_support: int = 2
    graph: Graph | None = None

    # -- asking -----------------------------------------------------------------------------------

    def with_graph(self, graph: Graph) -> PathModel:
        """Return the model with other facts to follow its rules in.

        Rules about relations or constants that the graph does not have are left out.
        """
        if graph.relations == self.relations and graph.entities == self.entities:
            return replace(self, graph=graph)
        return _recoded(self, graph)

    def top(
        self,
        relation: str,
        *,
        head: str | None = None,
        tail: str | None = None,
        k: int = 10,
        new: bool = True,
    ) -> list[RankedEntity]:
        """Return the best tails of a head, or heads of a tail.

        Parameters
        ----------
        relation, head, tail
            The question: the relation, and either of its two entities.
        k
            How many answers.
        new
            Whether to leave out known triples.
        """
        graph = self._graph
        if (head is None) == (tail is None):
            raise InputError("top: give either head or tail")
        link = self._code("relation", relation, graph.relations)
        if head is None:
            link += len(graph.relations)
        entity = self._code("entity", head if tail is None else tail, graph.entities)
        scores = self._full_scores(link, entity)
        known = graph.neighbours(entity, link)
        if new:
            scores[known] = -np.inf
        best = [place for place in top_of(scores, k).tolist() if scores[place] > NOTHING / 2]
        there = set(known.tolist())
        return [
            RankedEntity(graph.entities[place], float(scores[place]), place in there)
            for place in best
        ]

    def rank(
        self, triples: Triples, filtered: Triples | None = None, sides: Sides = "both"
    ) -> Ranking:
        """Rank the answers of the queries that triples make.

        Parameters
        ----------
        triples
            Rows of names; or codes of the graph's vocabularies, of shape ``(3, triples)``.
        filtered
            Triples known to be true, left out of the ranks of others; by default those of the graph
            and those that are ranked.
        sides
            Whether to ask for heads, tails, or both.
        """
        graph = self._graph
        codes = self._codes(triples)
        known = self._codes(filtered) if filtered is not None else codes
        known = np.concatenate([graph.triples, known], axis=1)
        relations = len(graph.relations)
        heads, kinds, tails = codes.astype(np.int64)
        parts = []
        if sides != "head":
            parts.append((heads, kinds, tails))
        if sides != "tail":
            parts.append((tails, kinds + relations * (kinds >= 0), heads))
        sources, links, answers = (np.concatenate(column) for column in zip(*parts, strict=True))
        asks_head = np.repeat([sides == "head", True], len(heads))[: len(sources)]
        ranks = np.full(len(sources), float(len(graph.entities)))
        candidates = np.full(len(sources), len(graph.entities), np.int64)
        usable = (sources >= 0) & (links >= 0) & (answers >= 0)
        index = _KnownAnswers(known, len(graph.entities), relations)
        for link in np.unique(links[usable]).tolist():
            rows = np.flatnonzero(usable & (links == link))
            ranks[rows], candidates[rows] = self._ranks(link, sources[rows], answers[rows], index)
        nothing = ~usable
        nothing[usable] = graph.edges.degrees[answers[usable]] == 0
        names = (*graph.relations, "(unknown)")
        kind = np.where(links >= 0, links % max(relations, 1), relations)
        return Ranking(ranks, candidates, kind, asks_head, names, int(nothing.sum()))

    def explain(self, head: str, relation: str, tail: str, most: int = 10) -> ExplainedTriple:
        """Say which rules speak for a triple, with the paths that they follow."""
        graph = self._graph
        link = self._code("relation", relation, graph.relations)
        x = self._code("entity", head, graph.entities)
        y = self._code("entity", tail, graph.entities)
        known = bool(np.isin(y, graph.neighbours(x, link)))
        scorer = self._scorer(link)
        given = np.array([y], np.int64) if known else None
        evidence = self._collector.collect(scorer.rules, np.array([x]), given, list_constants=True)
        reasons = self._reasons(link, scorer, evidence, x, y)
        ranking = self.rank(np.array([[x], [link], [y]], np.int32), sides="tail")
        scores = scorer.scores(evidence)
        place = np.flatnonzero(evidence.candidates == y)
        score = float(scores[place[0]]) if len(place) else float(scorer.base[y])
        best = tuple(sorted(reasons, key=lambda reason: -abs(reason.weight))[:most])
        return ExplainedTriple((head, relation, tail), known, score, float(ranking.ranks[0]), best)

    def predict(
        self, database: Database, predicate: str, columns: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Return the probability of ground atoms of a predicate, given the facts of a database.

        It is the noisy-or of the confidences of the rules that speak for an atom, and at least the
        share of true atoms in the training data.
        """
        from mlnlearn.model.paths.predict import atom_probabilities  # noqa: PLC0415 - which knows this class

        return atom_probabilities(self, database, predicate, columns)

    def rules(self, relation: str | None = None) -> Iterator[PathRule]:
        """Yield all rules, or those of a relation: the closed ones first, the surest first."""
        code = None if relation is None else self._code("relation", relation, self.relations)
        share = self.closed.support / (self.closed.body + self.smoothing)
        for row in np.lexsort((-self.closed.support, -share)).tolist():
            if code is None or self.closed.heads[row] == code:
                yield self.closed_rule(row)
        share = self.constants.support / (self.constants.body + self.smoothing)
        for row in np.lexsort((-self.constants.support, -share)).tolist():
            if code is None or self.constants.head_link[row] % len(self.relations) == code:
                yield self.constant_rule(row)

    def closed_rule(self, row: int) -> PathRule:
        """Return one of the closed rules."""
        closed, names = self.closed, self.link_names
        head = int(closed.heads[row])
        tail_weight, head_weight = (
            self._rule_weight(link, row) for link in (head, head + len(self.relations))
        )
        return PathRule(
            self.relations[head],
            tuple(names[link] for link in closed.paths[row]),
            int(closed.support[row]),
            int(closed.body[row]),
            int(self.facts[head]),
            int(closed.pca_body[row]),
            (),
            tail_weight,
            head_weight,
        )

    def constant_rule(self, row: int) -> PathRule:
        """Return one of the rules with constants."""
        rules, names = self.constants, self.link_names
        head, end = int(rules.head_link[row]), int(rules.body_end[row])
        return PathRule(
            names[head],
            (names[int(rules.body_link[row])],),
            int(rules.support[row]),
            int(rules.body[row]),
            int(self.facts[head % len(self.relations)]),
            None,
            (self.entities[int(rules.head_end[row])], self.entities[end] if end >= 0 else ""),
        )

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """The names of all links, forward ones first."""
        names = tuple(self.relations)
        return (*names, *(f"{name}{BACK}" for name in names))

    def save_rules(self, path: AnyPath, relation: str | None = None) -> None:
        """Write the rules as a table: support, body size, confidences, head coverage, rule."""
        write_files({path: rules_table(self.rules(relation))})

    def save(self, path: AnyPath) -> None:
        """Write the model: its surest rules as a table, and all of it as JSON beside."""
        from mlnlearn.model.paths.files import save_paths  # noqa: PLC0415 - which knows this class

        save_paths(self, path)

    def __str__(self) -> str:
        return (
            f"PathModel: {len(self.closed):,} closed rules and {len(self.constants):,} with "
            f"constants over {len(self.relations):,} relations"
        )

    __repr__ = __str__

    # -- inside -----------------------------------------------------------------------------------

    @property
    def _graph(self) -> Graph:
        if self.graph is None:
            raise InputError(
                "the model has no graph to follow its rules in",
                hint="give it one: model.with_graph(read_graph(…).train)",
            )
        return self.graph

    @staticmethod
    def _code(what: str, name: str | None, names: Vocabulary) -> int:
        code = names.code(name or "")
        if code < 0:
            shown = ", ".join(list(names)[:5])
            raise InputError(f"no {what} {name!r}", hint=f"there are: {shown}, …")
        return code

    def _codes(self, triples: Triples) -> Codes:
        graph = self._graph
        if isinstance(triples, np.ndarray) and triples.dtype.kind in "iu":
            if triples.ndim != 2 or triples.shape[0] != 3:
                raise InputError(f"codes of triples have shape (3, triples), not {triples.shape}")
            return triples.astype(np.int32)
        columns = [list(column) for column in zip(*triples, strict=True)] or [[], [], []]
        if len(columns) != 3:
            raise InputError(f"a triple has 3 names, not {len(columns)}")
        return encoded(columns, graph.entities, graph.relations)

    @cached_property
    def _collector(self) -> Collector:
        return Collector(
            self._graph, self.constants, self.smoothing, self.least_support, MOST_WALKS
        )

    @cached_property
    def _own(self) -> OwnLinks:
        return OwnLinks.of(self._graph)

    @cached_property
    def _has_loops(self) -> NDArray[np.bool_]:
        """Whether a relation has a triple from an entity to itself; else none is expected."""
        heads, kinds, tails = self._graph.triples
        found = np.zeros(len(self.relations), np.bool_)
        found[kinds[heads == tails]] = True
        return found

    @cached_property
    def _scorers(self) -> dict[int, Scorer]:
        return {}

    def rows_of(self, link: int) -> NDArray[np.intp]:
        """Return which closed rules belong to a link, of either direction."""
        return np.flatnonzero(self.closed.heads == link % len(self.relations))

    def link_rules(self, link: int) -> LinkRules:
        """Return the closed rules of a link, in its direction."""
        relations = len(self.relations)
        part = self.closed.at(self.rows_of(link))
        rules = LinkRules(link % relations, part.paths, part.support, part.body)
        return rules if link < relations else rules.backward(relations)

    def _scorer(self, link: int) -> Scorer:
        if link not in self._scorers:
            rules = self.link_rules(link)
            weights = self.weights.get(link)
            how = self.aggregation
            if how == "learned" and weights is None:
                how = "noisy-or"
            self._scorers[link] = Scorer.of(
                self._collector, self._own, rules, weights, how, self.constants
            )
        return self._scorers[link]

    def _full_scores(self, link: int, entity: int) -> NDArray[np.float64]:
        scorer = self._scorer(link)
        evidence = self._collect(scorer, np.array([entity]))
        found = scorer.base.copy()
        found[evidence.candidates] = scorer.scores(evidence)
        if not self._has_loops[link % len(self.relations)]:
            found[entity] = NOTHING
        return found

    def _collect(self, scorer: Scorer, sources: NDArray[np.integer]) -> Evidence:
        listed = scorer.how == "maximum"
        return self._collector.collect(scorer.rules, sources, list_constants=listed)

    def _ranks(
        self, link: int, sources: Longs, answers: Longs, index: _KnownAnswers
    ) -> tuple[NDArray[np.float64], Longs]:
        scorer = self._scorer(link)
        ranks, counts = [], []
        for start in range(0, len(sources), _BATCH):
            some = slice(start, start + _BATCH)
            evidence = self._collect(scorer, sources[some])
            starts, known = index.of(link, sources[some])
            found, left = ranks_of(
                evidence.candidate_starts,
                evidence.candidates,
                scorer.scores(evidence),
                scorer.base,
                np.where(self._has_loops[link % len(self.relations)], -1, sources[some]),
                answers[some],
                starts,
                known,
                _ROUND_OFF,
            )
            ranks.append(found)
            counts.append(left)
        return np.concatenate(ranks), np.concatenate(counts)

    def _rule_weight(self, link: int, row: int) -> float | None:
        """Return what a closed rule adds to a score where it speaks alone, with one walk."""
        weights = self.weights.get(link)
        if weights is None:
            return None
        place = int(np.searchsorted(self.rows_of(link), row))
        share = self.closed.support[row] / (self.closed.body[row] + self.smoothing)
        return weights.alone(place, share, kind=0)

    def _reasons(
        self, link: int, scorer: Scorer, evidence: Evidence, x: int, y: int
    ) -> Iterator[Reason]:
        graph, rows = self._graph, self.rows_of(link)
        place = np.flatnonzero(evidence.candidates == y)
        if not len(place):
            return
        names = graph.entities.names
        for row in np.flatnonzero(evidence.places == place[0]).tolist():
            number, walks = int(evidence.rules[row]), int(evidence.walks[row])
            if number < len(rows):
                rule = self.closed_rule(int(rows[number]))
                found = walks_of(graph, scorer.rules.paths[number], x, y)
                paths = tuple(tuple(names[entity] for entity in walk) for walk in found)
                kind = 0
            else:
                code = number - len(rows)
                rule = self.constant_rule(code)
                about_x = self.constants.head_link[code] == link
                kind = 2 if about_x else 4
                end = rule.constants[1] or "…"
                paths = ((names[x] if about_x else names[y], end),)
            share = rule.smoothed(self.smoothing)
            weight = share
            if scorer.how == "learned" and scorer.weights is not None:
                weight = scorer.weights.alone(number, share, kind=kind, walks=walks)
            yield Reason(rule, weight, paths, walks)


class _KnownAnswers:
    """The known answers of queries, found by link and source."""

    def __init__(self, triples: Codes, entities: int, relations: int) -> None:
        heads, kinds, tails = triples[:, np.all(triples >= 0, axis=0)].astype(np.int64)
        keys = np.concatenate([kinds * entities + heads, (kinds + relations) * entities + tails])
        answers = np.concatenate([tails, heads])
        order = np.lexsort((answers, keys))
        self._keys, self._answers, self._entities = keys[order], answers[order], entities

    def of(self, link: int, sources: Longs) -> tuple[Longs, Longs]:
        """Return where the answers of each source begin, and the answers."""
        keys = link * self._entities + sources
        first = np.searchsorted(self._keys, keys)
        counts = np.searchsorted(self._keys, keys, side="right") - first
        starts = np.zeros(len(sources) + 1, np.int64)
        np.cumsum(counts, out=starts[1:])
        places = np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)
        return starts, _distinct(self._answers[places], starts)


def _distinct(answers: Longs, starts: Longs) -> Longs:
    """Mark repeated answers of a query with -1."""
    found = answers.copy()
    same = np.zeros(len(found), np.bool_)
    same[1:] = found[1:] == found[:-1]
    same[starts[:-1][starts[:-1] < len(found)]] = False
    found[same] = -1
    return found


def _recoded(model: PathModel, graph: Graph) -> PathModel:
    """Return a model in the codes of another graph, without what that does not know."""
    old, new = len(model.relations), len(graph.relations)
    relation = np.array([graph.relations.code(name) for name in model.relations], np.int64)
    link = np.concatenate([relation, np.where(relation >= 0, relation + new, -1)])
    entity = np.array([graph.entities.code(name) for name in model.entities] + [-1], np.int64)
    closed = model.closed
    good = np.array(
        [
            relation[head] >= 0 and all(link[step] >= 0 for step in path)
            for head, path in zip(closed.heads.tolist(), closed.paths, strict=True)
        ],
        np.bool_,
    )
    kept = closed.at(np.flatnonzero(good))
    moved = ClosedRules(
        relation[kept.heads],
        [tuple(int(link[step]) for step in path) for path in kept.paths],
        kept.support,
        kept.body,
        kept.pca_body,
    )
    rules = model.constants
    sound = (link[rules.head_link] >= 0) & (link[rules.body_link] >= 0)
    sound &= (entity[rules.head_end] >= 0) & ((entity[rules.body_end] >= 0) | (rules.body_end < 0))
    part = rules.at(sound)
    constants = ConstantRules(
        link[part.head_link].astype(np.int32),
        entity[part.head_end].astype(np.int32),
        link[part.body_link].astype(np.int32),
        entity[part.body_end].astype(np.int32),
        part.support,
        part.body,
    )
    weights = {}
    for place, found in model.weights.items():
        if link[place] >= 0:
            rows = good[closed.heads == place % old]
            having = np.zeros(2 * new)
            having[link[link >= 0]] = found.having[link >= 0]
            weights[int(link[place])] = replace(found, rules=found.rules[rows], having=having)
    facts = np.zeros(new, np.int64)
    facts[relation[relation >= 0]] = model.facts[relation >= 0]
    return replace(
        model,
        relations=graph.relations,
        entities=graph.entities,
        facts=facts,
        closed=moved,
        constants=constants,
        weights=weights,
        graph=graph,
    )
