"""Scores of candidates: how what rules say for them is put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mlnlearn.counting.evidence_kernels import SCALE
from mlnlearn.counting.path_evidence import Collector, Floats, RuleEvidence
from mlnlearn.counting.path_rules import LinkRules
from mlnlearn.data.graph import Codes, Graph, Longs
from mlnlearn.errors import InputError
from mlnlearn.model.triple_answers import NOTHING

Aggregation = Literal["learned", "noisy-or", "maximum"]

_OFTEN = 6  # the place of "how often the candidate has the link" in `SHARED`
_TIE = 1e-6  # between equals, the more frequent one
_COMPARED = 8  # rules of a candidate that are compared before it counts as equal to another


@dataclass(frozen=True, eq=False)
class LinkWeights:
    """The weights of one link.

    Attributes
    ----------
    rules
        What each closed rule adds for a doubling of its walks, beside its part in the sums.
    shared
        The weights of the sums over rules, in the order of `SHARED`.
    having
        What it adds that the candidate has a link of its own, for each link.
    """

    rules: Floats
    shared: Floats
    having: Floats

    @classmethod
    def start(cls, rules: int, links: int) -> LinkWeights:
        """Return where learning starts: all sums count, no rule has a weight of its own."""
        shared = np.array([0.5, 0.5, 0.3, 0.3, 0.3, 0.3, 0.1, 0.0])
        return cls(np.zeros(rules), shared, np.zeros(links))

    @classmethod
    def by_frequency(cls, like: LinkWeights) -> LinkWeights:
        """Return weights by which nothing counts but how often candidates have the link."""
        shared = np.zeros_like(like.shared)
        shared[_OFTEN] = 1.0
        return cls(np.zeros_like(like.rules), shared, np.zeros_like(like.having))

    @classmethod
    def read(
        cls, rules: list[float], shared: list[float], having: list[float], like: LinkWeights
    ) -> LinkWeights:
        """Return weights that a file holds, which must be as many as others of the same link."""
        found = cls(*(np.array(part, np.float64) for part in (rules, shared, having)))
        for part in ("rules", "shared", "having"):
            here, there = len(getattr(found, part)), len(getattr(like, part))
            if here != there:
                raise InputError(f"{part}: {here} weights, and not {there}")
        return found

    def alone(self, rule: int, confidence: float, *, kind: int, walks: int = 1) -> float:
        """Return what a rule adds to the score of a candidate that no other rule speaks for."""
        part = (self.shared[kind] + self.shared[kind + 1]) * np.log1p(SCALE * confidence)
        own = self.rules[rule] * np.log2(1.0 + walks) if kind == 0 else 0.0
        return float(part + own)


@dataclass(frozen=True, eq=False)
class OwnLinks:
    """The distinct links that leave each entity."""

    starts: Longs
    links: Codes

    @classmethod
    def of(cls, graph: Graph) -> OwnLinks:
        """Find them."""
        return cls(*graph.edges.own())


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores the candidates of a link.

    Attributes
    ----------
    rules
        Its closed rules.
    weights
        Its weights, where they were learned.
    how
        How rules are put together.
    base
        The score of an entity that no rule speaks for.
    shares
        The confidences of its closed rules.
    constant_shares
        Those of all rules with constants, which all links share.
    """

    rules: LinkRules
    weights: LinkWeights | None
    how: Aggregation
    base: Floats
    shares: Floats
    constant_shares: Floats

    @classmethod
    def of(
        cls,
        collector: Collector,
        own: OwnLinks,
        rules: LinkRules,
        weights: LinkWeights | None,
        how: Aggregation,
    ) -> Scorer:
        """Make the scorer of a link."""
        shares = rules.support / (rules.body + collector.smoothing)
        base = _base(collector, own, rules.link, weights if how == "learned" else None)
        return cls(rules, weights, how, base, shares, collector.constant_shares)

    def scores(self, evidence: RuleEvidence) -> Floats:
        """Return the scores of all candidates."""
        base = self.base[evidence.candidates]
        if self.how == "maximum":
            found = base + self._by_maximum(evidence)
        elif self.how == "noisy-or" or self.weights is None:
            found = base - np.log(evidence.open_shares())
        else:
            found = base + evidence.shared[:, :6] @ self.weights.shared[:6]
            closed = evidence.rules < len(self.weights.rules)
            own = self.weights.rules[evidence.rules[closed]]
            gains = own * np.log2(1.0 + evidence.walks[closed])
            found += np.bincount(_places(evidence)[closed], gains, len(found))
        found[base <= NOTHING / 2] = NOTHING
        return found

    def _by_maximum(self, evidence: RuleEvidence) -> Floats:
        """Order candidates by their surest rule, equals by the next one, and so on."""
        place, share = _places(evidence), np.empty(len(evidence.rules))
        closed = evidence.rules < len(self.shares)
        share[closed] = self.shares[evidence.rules[closed]]
        share[~closed] = self.constant_shares[evidence.rules[~closed] - len(self.shares)]
        order = np.lexsort((-share, place))
        place, share = place[order], share[order]
        first = np.searchsorted(place, np.arange(len(evidence.candidates)))
        number = np.arange(len(place)) - first[place]
        best = np.zeros((len(evidence.candidates), _COMPARED))
        compared = number < _COMPARED
        best[place[compared], number[compared]] = share[compared]
        ordered = np.lexsort(best.T[::-1])
        new = np.ones(len(ordered))
        new[1:] = np.any(best[ordered][1:] != best[ordered][:-1], axis=1)
        level = np.empty(len(ordered))
        level[ordered] = np.cumsum(new)
        found: Floats = np.where(best[:, 0] > 0.0, level, 0.0)
        return found


def _places(evidence: RuleEvidence) -> Longs:
    """Return the place of each row's candidate among those of all queries."""
    queries = len(evidence.row_starts) - 1
    query = np.repeat(np.arange(queries), np.diff(evidence.row_starts))
    found: Longs = evidence.candidate_starts[query] + evidence.places
    return found


def _base(collector: Collector, own: OwnLinks, link: int, weights: LinkWeights | None) -> Floats:
    """Return the score that every entity has as a candidate of a link, whatever the query."""
    graph = collector.graph
    degrees, count = graph.edges.degrees, len(graph.entities)
    often = np.log1p(collector.frequency(link))
    if weights is None:
        found: Floats = _TIE * often
    else:
        entity = np.repeat(np.arange(count), np.diff(own.starts))
        found = np.bincount(entity, weights.having[own.links], count).astype(np.float64)
        found += weights.shared[_OFTEN] * often + weights.shared[7] * np.log1p(degrees)
    found[degrees == 0] = NOTHING
    return found
