"""Questions about triples, asked of any model that scores the ends of links.

A question names a link (a relation in one of its two directions) and an entity that it starts from.
Here the scores of a model become ranks of known answers and lists of the best ones; how a model
comes by its scores is its own matter (`ScoresLinks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.arrays import Index
from mlnlearn.data.graph import Codes, Graph, Longs, encoded
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError, nearest
from mlnlearn.model.ranking import Ranking

Sides = Literal["both", "head", "tail"]
Triples = Codes | Iterable[Sequence[str]]
Floats = NDArray[np.float64]

NOTHING = -1e9
"""The score of an entity of which nothing is known: it ranks last."""
_BATCH = 256  # questions at once,
_BATCH_SCORES = 1 << 22  # and no more than so many scores
_ROUND_OFF = 1e-9


class LinkScores(NamedTuple):
    """The scores of all entities as answers of some questions about one link.

    Attributes
    ----------
    starts, candidates, scores
        Where the candidates of each question begin, their entities, and their scores.
    base
        The scores of all other entities, whatever the question.
    """

    starts: Longs
    candidates: Codes
    scores: Floats
    base: Floats


class ScoresLinks(Protocol):
    """What scores entities as answers of questions about links of a graph."""

    def link_scores(self, link: int, sources: Longs) -> LinkScores:
        """Score all entities as ends of a link from each source, or from the first ones.

        Where candidates are many, fewer sources may be answered at once, but never none.
        """
        ...


class RankedEntity(NamedTuple):
    """An answer: an entity, its score, and whether the triple is known."""

    entity: str
    score: float
    known: bool


def name_code(what: str, name: str | None, names: Vocabulary) -> int:
    """Return the code of a name; an error says which names there are."""
    code = names.code(name or "")
    if code < 0:
        shown = list(names)[:5] + ["…"] * (len(names) > 5)
        near = nearest(name or "", names)
        question = f"; did you mean {near!r}?" if near else ""
        raise InputError(f"no {what} {name!r}", hint=f"there are: {', '.join(shown)}{question}")
    return code


def triple_codes(triples: Triples, graph: Graph) -> Codes:
    """Return triples of names, or of codes, as codes; -1 for names that the graph lacks."""
    if isinstance(triples, np.ndarray) and triples.dtype.kind in "iu":
        if triples.ndim != 2 or triples.shape[0] != 3:
            raise InputError(f"codes of triples have shape (3, triples), not {triples.shape}")
        return triples.astype(np.int32)
    columns = [list(column) for column in zip(*triples, strict=True)] or [[], [], []]
    if len(columns) != 3:
        raise InputError(f"a triple has 3 names, not {len(columns)}")
    return encoded(columns, graph.entities, graph.relations)


def rank_triples(
    scorer: ScoresLinks,
    graph: Graph,
    triples: Triples,
    filtered: Triples | None = None,
    sides: Sides = "both",
) -> Ranking:
    """Rank the answers of the questions that triples make; see `PathModel.rank`."""
    codes = triple_codes(triples, graph)
    known = triple_codes(filtered, graph) if filtered is not None else codes
    known = np.concatenate([graph.triples, known], axis=1)
    relations, entities = len(graph.relations), len(graph.entities)
    heads, kinds, tails = codes.astype(np.int64)
    parts = []
    if sides != "head":
        parts.append((heads, kinds, tails))
    if sides != "tail":
        parts.append((tails, kinds + relations * (kinds >= 0), heads))
    sources, links, answers = (np.concatenate(column) for column in zip(*parts, strict=True))
    asks_head = np.repeat([sides == "head", True], len(heads))[: len(sources)]
    ranks = np.full(len(sources), float(entities))
    candidates = np.full(len(sources), entities, np.int64)
    usable = (sources >= 0) & (links >= 0) & (answers >= 0)
    index = _KnownAnswers(known, entities, relations)
    loops = _has_loops(graph)
    batch = max(1, min(_BATCH, _BATCH_SCORES // max(entities, 1)))
    for link in np.unique(links[usable]).tolist():
        rows = np.flatnonzero(usable & (links == link))
        start = 0
        while start < len(rows):
            some = rows[start : start + batch]
            found = scorer.link_scores(link, sources[some])
            some = some[: len(found.starts) - 1]
            start += len(some)
            self_answers = np.where(loops[link % relations], -1, sources[some])
            ranks[some], candidates[some] = _ranks(
                *found,
                self_answers,
                answers[some],
                *index.of(link, sources[some]),
                _ROUND_OFF,
            )
    nothing = ~usable
    nothing[usable] = graph.edges.degrees[answers[usable]] == 0
    names = (*graph.relations, "(unknown)")
    kind = np.where(links >= 0, links % max(relations, 1), relations)
    return Ranking(ranks, candidates, kind, asks_head, names, int(nothing.sum()))


def top_answers(
    scorer: ScoresLinks,
    graph: Graph,
    relation: str,
    *,
    head: str | None,
    tail: str | None,
    k: int,
    new: bool,
) -> list[RankedEntity]:
    """Return the best tails of a head, or heads of a tail; see `PathModel.top`."""
    if (head is None) == (tail is None):
        raise InputError("top: give either head or tail")
    code = name_code("relation", relation, graph.relations)
    link = code if tail is None else code + len(graph.relations)
    entity = name_code("entity", head if tail is None else tail, graph.entities)
    found = scorer.link_scores(link, np.array([entity]))
    scores = found.base.copy()
    scores[found.candidates] = found.scores
    heads, _, tails = graph.triples[:, slice(*np.searchsorted(graph.triples[1], [code, code + 1]))]
    if not np.any(heads == tails):
        scores[entity] = NOTHING
    known = graph.neighbours(entity, link)
    if new:
        scores[known] = -np.inf
    there = set(known.tolist())
    return [
        RankedEntity(graph.entities[place], float(scores[place]), place in there)
        for place in top_of(scores, k).tolist()
        if scores[place] > NOTHING / 2
    ]


def _has_loops(graph: Graph) -> NDArray[np.bool_]:
    """Whether a relation has a triple from an entity to itself; else none is expected."""
    heads, kinds, tails = graph.triples
    found = np.zeros(len(graph.relations), np.bool_)
    found[kinds[heads == tails]] = True
    return found


class _KnownAnswers:
    """The known answers of questions, found by link and source."""

    def __init__(self, triples: Codes, entities: int, relations: int) -> None:
        heads, kinds, tails = triples[:, np.all(triples >= 0, axis=0)].astype(np.int64)
        keys = np.concatenate([kinds * entities + heads, (kinds + relations) * entities + tails])
        answers = np.concatenate([tails, heads])
        order = np.lexsort((answers, keys))
        self._index, self._answers, self._entities = Index(keys[order]), answers[order], entities

    def of(self, link: int, sources: Longs) -> tuple[Longs, Longs]:
        """Return where the answers of each source begin, and the answers."""
        first, counts = self._index.ranges(link * self._entities + sources)
        starts = np.concatenate([[0], np.cumsum(counts)])
        return starts, _distinct(self._answers[self._index.rows(first, counts)], starts)


def _distinct(answers: Longs, starts: Longs) -> Longs:
    """Mark repeated answers of a question with -1."""
    found = answers.copy()
    same = np.zeros(len(found), np.bool_)
    same[1:] = found[1:] == found[:-1]
    same[starts[:-1][starts[:-1] < len(found)]] = False
    found[same] = -1
    return found


@njit(cache=True, nogil=True)
def _ranks(  # type: ignore[no-untyped-def]
    candidate_starts, candidates, scores, base, sources, answers, known_starts, known, slack
):
    """Return for each question the place of its answer among all entities, ties at their mean.

    Entities that are `known` answers of a question are left out, the answer apart. The second array
    says how many entities were left. A source that is not -1 ranks last among its own answers.
    """
    ranks = np.empty(len(answers))
    lefts = np.empty(len(answers), np.int64)
    full = np.empty(len(base))
    for query in range(len(answers)):
        full[:] = base
        for k in range(candidate_starts[query], candidate_starts[query + 1]):
            full[candidates[k]] = scores[k]
        if sources[query] >= 0:
            full[sources[query]] = NOTHING
        answer = answers[query]
        score = full[answer]
        left = len(base)
        for k in range(known_starts[query], known_starts[query + 1]):
            if known[k] >= 0 and known[k] != answer:
                full[known[k]] = np.nan
                left -= 1
        above = 0
        equal = 0
        near = slack * max(1.0, abs(score))
        for y in range(len(base)):
            if full[y] > score + near:
                above += 1
            elif full[y] >= score - near:
                equal += 1
        ranks[query] = above + 0.5 * (equal + 1)
        lefts[query] = left
    return ranks, lefts


def top_of(scores: Floats, k: int) -> NDArray[np.intp]:
    """Return the places of the highest scores, highest first, of equals the first.

    Examples
    --------
    >>> top_of(np.array([0.5, 2.0, 0.5, 1.0]), 3).tolist()
    [1, 3, 0]
    """
    if 0 < k < len(scores):
        bound = np.partition(scores, len(scores) - k)[len(scores) - k]
        places = np.flatnonzero(scores >= bound)
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")][:k]
