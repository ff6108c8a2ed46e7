"""Why a triple is likely: the rules that speak for it, with the paths that they follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mlnlearn.counting.path_evidence import RuleEvidence
from mlnlearn.counting.walks import walks_of
from mlnlearn.model.paths.model import PathModel
from mlnlearn.model.paths.rules import PathRule
from mlnlearn.model.paths.scoring import Scorer
from mlnlearn.model.triple_answers import name_code


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


def explain_triple(
    model: PathModel, head: str, relation: str, tail: str, most: int
) -> ExplainedTriple:
    """Say which rules speak for a triple; see `PathModel.explain`."""
    graph = model.known_graph
    link = name_code("relation", relation, graph.relations)
    x = name_code("entity", head, graph.entities)
    y = name_code("entity", tail, graph.entities)
    known = bool(np.isin(y, graph.neighbours(x, link)))
    scorer = model.scorer(link)
    given = np.array([y], np.int64) if known else None
    evidence = model.collector.collect(scorer.rules, np.array([x]), given, list_constants=True)
    reasons = _reasons(model, link, scorer, evidence, x, y)
    ranking = model.rank(np.array([[x], [link], [y]], np.int32), sides="tail")
    scores = scorer.scores(evidence)
    place = np.flatnonzero(evidence.candidates == y)
    score = float(scores[place[0]]) if len(place) else float(scorer.base[y])
    best = tuple(sorted(reasons, key=lambda reason: -abs(reason.weight))[:most])
    return ExplainedTriple((head, relation, tail), known, score, float(ranking.ranks[0]), best)


def _reasons(
    model: PathModel, link: int, scorer: Scorer, evidence: RuleEvidence, x: int, y: int
) -> Iterator[Reason]:
    place = np.flatnonzero(evidence.candidates == y)
    if not len(place):
        return
    graph, closed_rows = model.known_graph, model.rows_of(link)
    names = graph.entities.names
    for row in np.flatnonzero(evidence.places == place[0]).tolist():
        number, walks = int(evidence.rules[row]), int(evidence.walks[row])
        if number < len(closed_rows):
            rule, kind = model.closed_rule(int(closed_rows[number])), 0
            found = walks_of(graph, scorer.rules.paths[number], x, y)
            paths = tuple(tuple(names[entity] for entity in walk) for walk in found)
        else:
            code = number - len(closed_rows)
            rule = model.constant_rule(code)
            about_x = model.constants.head_link[code] == link
            kind = 2 if about_x else 4
            paths = ((names[x] if about_x else names[y], rule.constants[1] or "…"),)
        weight = share = rule.smoothed(model.smoothing)
        if scorer.how == "learned" and scorer.weights is not None:
            weight = scorer.weights.alone(number, share, kind=kind, walks=walks)
        yield Reason(rule, weight, paths, walks)
