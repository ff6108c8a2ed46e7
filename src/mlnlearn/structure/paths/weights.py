"""Weights of path rules, by conditional likelihood: the answer of a query among its candidates.

Every known triple is a query whose answer is taken as unknown. Its likelihood is that of a choice
among the candidates, other known answers left out: the softmax of their scores. Weights are fitted
by stochastic gradient steps whose sizes adapt to each weight (Adagrad; Duchi et al. 2011) and go
to zero; a rule's own weight is drawn to zero, so that a rule with little data is judged by its
confidence alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.path_evidence import Collector, RuleEvidence
from mlnlearn.counting.path_rules import LinkRules
from mlnlearn.model.paths.scoring import LinkWeights, OwnLinks

Bools = NDArray[np.bool_]
_STRANGERS = 20  # entities drawn at random to be candidates of each query
_HAVING_SHRINKAGE = 1e-3


@dataclass(frozen=True, eq=False)
class Choices:
    """Queries to fit weights to.

    Attributes
    ----------
    link
        The link that is asked for.
    evidence
        What rules say for the candidates.
    answers
        The place of each query's answer among its candidates, -1 where it is none.
    left_out
        Candidates that are other known answers.
    crowds
        Log of the number of entities that a candidate stands for: 0 for one that a rule names, more
        for one that was drawn at random.
    """

    link: int
    evidence: RuleEvidence
    answers: NDArray[np.int64]
    left_out: Bools
    crowds: NDArray[np.float64]


def choices_of(
    collector: Collector,
    rules: LinkRules,
    *,
    most_queries: int,
    most_rows: int,
    rng: np.random.Generator,
) -> Choices:
    """Make queries of known triples of a link, at random, as many as the limits allow."""
    graph = collector.graph
    relations, entities = len(graph.relations), len(graph.entities)
    heads, kinds, tails = graph.triples
    first, last = np.searchsorted(kinds, [rules.link % relations, rules.link % relations + 1])
    here = rng.permutation(np.arange(first, last))[:most_queries]
    sources, answers = (heads, tails) if rules.link < relations else (tails, heads)
    sources, answers = sources[here], answers[here]
    seen = np.flatnonzero(graph.edges.degrees)
    others = seen[rng.integers(0, max(len(seen), 1), (len(here), _STRANGERS))]
    evidence = collector.collect(rules, sources, answers, others, most_rows)
    count = len(evidence.row_starts) - 1
    query = np.repeat(np.arange(count), np.diff(evidence.candidate_starts))
    is_answer = evidence.candidates == answers[:count][query]
    # an answer that no rule speaks for teaches nothing of rules; one without other links is as good
    # as unknown
    is_answer &= np.any(evidence.shared[:, :6] > 0.0, axis=1)
    is_answer &= graph.edges.degrees[evidence.candidates] > 1
    places = np.full(count, -1, np.int64)
    found = np.flatnonzero(is_answer)
    places[query[found]] = found - evidence.candidate_starts[query[found]]
    known = np.unique(_pairs(graph.triples[:, first:last], rules.link < relations, entities))
    pairs = sources[:count][query].astype(np.int64) * entities + evidence.candidates
    at = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
    drawn = ~np.any(evidence.shared[:, :6] > 0.0, axis=1)
    crowds = np.where(drawn, np.log(max(len(seen) / _STRANGERS, 1.0)), 0.0)
    return Choices(rules.link, evidence, places, (known[at] == pairs) & ~is_answer, crowds)


def _pairs(triples: NDArray[np.int32], forward: bool, entities: int) -> NDArray[np.int64]:
    heads, _, tails = triples.astype(np.int64)
    pairs: NDArray[np.int64] = heads * entities + tails if forward else tails * entities + heads
    return pairs


def fit_weights(
    choices: Choices,
    start: LinkWeights,
    own: OwnLinks,
    back: int,
    *,
    epochs: int,
    rate: float,
    shrinkage: float,
    rng: np.random.Generator,
) -> LinkWeights:
    """Fit the weights of a link to choices."""
    usable = np.flatnonzero(choices.answers >= 0)
    found = LinkWeights(start.rules.copy(), start.shared.copy(), start.having.copy())
    if len(usable):
        order = np.concatenate([rng.permutation(usable) for _ in range(epochs)])
        links = own.starts, own.links, back
        weights = found.rules, found.shared, found.having
        _fit(order, _arrays(choices), links, weights, rate, shrinkage, _HAVING_SHRINKAGE)
    return found


def _arrays(choices: Choices) -> tuple[NDArray[Any], ...]:
    """Return what compiled loops read of queries."""
    evidence = choices.evidence
    return (
        evidence.row_starts,
        evidence.rules,
        evidence.places,
        np.log2(1.0 + evidence.walks),
        evidence.candidate_starts,
        evidence.candidates,
        evidence.shared,
        choices.answers,
        choices.left_out,
        choices.crowds,
        evidence.shared[:, 6] == 0.0,
    )


@njit(cache=True, nogil=True)
def _chances(query, arrays, own, weights, chances):  # type: ignore[no-untyped-def]
    """Write the probability of each candidate of a query; returns the room, grown if need be."""
    row_starts, row_rules, row_places, row_values, candidate_starts = arrays[:5]
    candidates, features, answers, left_out, crowds, only_one = arrays[5:]
    own_starts, own_links, back = own
    rules, shared, having = weights
    first, last = candidate_starts[query], candidate_starts[query + 1]
    count = last - first
    if count > len(chances):
        chances = np.empty(2 * count)
    for place in range(count):
        k = first + place
        if left_out[k]:
            continue
        y = candidates[k]
        score = crowds[k]
        for f in range(features.shape[1]):
            score += features[k, f] * shared[f]
        for h in range(own_starts[y], own_starts[y + 1]):
            # the only link back of the answer is the one that is taken as unknown
            if not (place == answers[query] and own_links[h] == back and only_one[k]):
                score += having[own_links[h]]
        chances[place] = score
    for row in range(row_starts[query], row_starts[query + 1]):
        chances[row_places[row]] += rules[row_rules[row]] * row_values[row]
    highest = -np.inf
    for place in range(count):
        if not left_out[first + place]:
            highest = max(highest, chances[place])
    total = 0.0
    for place in range(count):
        chances[place] = 0.0 if left_out[first + place] else np.exp(chances[place] - highest)
        total += chances[place]
    for place in range(count):
        chances[place] /= total
    return chances


@njit(cache=True, nogil=True)
def _fit(order, arrays, own, weights, rate, shrinkage, having_shrinkage):  # type: ignore[no-untyped-def]
    """Fit weights, in place, to queries in an order."""
    row_starts, row_rules, row_places, row_values, candidate_starts = arrays[:5]
    candidates, features, answers, _, _, only_one = arrays[5:]
    own_starts, own_links, back = own
    rules, shared, having = weights
    rule_size = np.full(len(rules), 0.1)
    shared_size, shared_slope = np.full(len(shared), 0.1), np.empty(len(shared))
    having_size, having_slope = np.full(len(having), 0.1), np.empty(len(having))
    slopes = np.empty(1 << 10)
    for step in range(len(order)):
        now = rate * (1.0 - step / len(order))
        query = order[step]
        slopes = _chances(query, arrays, own, weights, slopes)
        first, last = candidate_starts[query], candidate_starts[query + 1]
        chosen = answers[query]
        slopes[chosen] -= 1.0
        shared_slope[:] = 0.0
        having_slope[:] = 0.0
        for place in range(last - first):
            slope = slopes[place]
            if abs(slope) < 1e-7:
                continue
            k = first + place
            y = candidates[k]
            for f in range(len(shared)):
                shared_slope[f] += slope * features[k, f]
            for h in range(own_starts[y], own_starts[y + 1]):
                if not (place == chosen and own_links[h] == back and only_one[k]):
                    having_slope[own_links[h]] += slope
        for f in range(len(shared)):
            _step(shared, shared_size, f, shared_slope[f], now)
        for h in range(len(having)):
            if having_slope[h] != 0.0:
                _step(having, having_size, h, having_slope[h] + having_shrinkage * having[h], now)
        for row in range(row_starts[query], row_starts[query + 1]):
            slope = slopes[row_places[row]] * row_values[row]
            if abs(slope) > 1e-6:
                rule = row_rules[row]
                _step(rules, rule_size, rule, slope + shrinkage * rules[rule], now)


@njit(cache=True, nogil=True)
def _step(weights, sizes, number, slope, rate):  # type: ignore[no-untyped-def]
    """Move a weight against its slope, the less the steeper its slopes have been."""
    sizes[number] += slope * slope
    weights[number] -= rate * slope / np.sqrt(sizes[number])
