"""A model of path rules: it ranks the answers of queries, and says why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.path_evidence import Collector
from mlnlearn.counting.path_rules import ClosedRules, ConstantRules, LinkRules
from mlnlearn.counting.walks import MOST_WALKS
from mlnlearn.data.database import Database
from mlnlearn.data.graph import BACK, Graph, Longs
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.documents import SavedModel
from mlnlearn.errors import InputError
from mlnlearn.files import AnyPath, write_files
from mlnlearn.model.paths.rules import PathRule, rules_table
from mlnlearn.model.paths.scoring import Aggregation, LinkWeights, OwnLinks, Scorer
from mlnlearn.model.plots import Plots
from mlnlearn.model.ranking import Ranking
from mlnlearn.model.triple_answers import (
    LinkScores,
    RankedEntity,
    Sides,
    Triples,
    name_code,
    rank_triples,
    top_answers,
)
from mlnlearn.notebook import Shown, ShownTable

if TYPE_CHECKING:
    from mlnlearn.model.paths.explain import ExplainedTriple


_READABLE = 10_000  # rules in the table to read
_ROWS = 1 << 21  # uses of rules that are scored at once


@dataclass(frozen=True, eq=False, repr=False)
class PathModel(Shown, Plots, SavedModel):
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
        from mlnlearn.model.paths.recode import recoded  # noqa: PLC0415 - which knows this class

        return recoded(self, graph)

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
        graph = self.known_graph
        return top_answers(self, graph, relation, head=head, tail=tail, k=k, new=new)

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
        return rank_triples(self, self.known_graph, triples, filtered, sides)

    def explain(self, head: str, relation: str, tail: str, most: int = 10) -> ExplainedTriple:
        """Say which rules speak for a triple, with the paths that they follow."""
        from mlnlearn.model.paths.explain import explain_triple  # noqa: PLC0415 - which knows this class

        return explain_triple(self, head, relation, tail, most)

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
        code = None if relation is None else name_code("relation", relation, self.relations)
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

    def file_text(self) -> str:
        """Return the surest rules as a table to read; the JSON has all."""
        return rules_table(islice(self.rules(), _READABLE))

    def to_plain(self) -> dict[str, Any]:
        """Return the model as plain data, for JSON; of entities, those that rules name."""
        from mlnlearn.model.paths.files import to_plain  # noqa: PLC0415 - which knows this class

        return to_plain(self)

    @classmethod
    def from_plain(cls, plain: object, where: AnyPath = "the model") -> PathModel:
        """Undo `to_plain`; the model has no graph yet."""
        from mlnlearn.model.paths.files import from_plain  # noqa: PLC0415 - which knows this class

        return from_plain(plain, where)

    def summary(self) -> str:
        """Say how many rules there are."""
        return (
            f"{len(self.closed):,} closed rules and {len(self.constants):,} with "
            f"constants over {len(self.relations):,} relations"
        )

    def table(self) -> ShownTable:
        """Return the rules, the surest first."""
        rows = (
            (str(rule), f"{rule.support:,}", f"{rule.body:,}", f"{rule.confidence:.3f}")
            for rule in self.rules()
        )
        return ("rule", "support", "body", "confidence"), rows

    # -- inside -----------------------------------------------------------------------------------

    @property
    def known_graph(self) -> Graph:
        """The graph that rules are followed in; an error where there is none."""
        if self.graph is None:
            raise InputError(
                "the model has no graph to follow its rules in",
                hint="give it one: model.with_graph(read_graph(…).train)",
            )
        return self.graph

    @cached_property
    def collector(self) -> Collector:
        """What collects the evidence for queries."""
        return Collector(
            self.known_graph, self.constants, self.smoothing, self.least_support, MOST_WALKS
        )

    @cached_property
    def _own(self) -> OwnLinks:
        return OwnLinks.of(self.known_graph)

    @cached_property
    def _scorers(self) -> dict[int, Scorer]:
        return {}

    def rows_of(self, link: int) -> NDArray[np.intp]:
        """Return which closed rules belong to a link, of either direction."""
        return np.flatnonzero(self.closed.heads == link % len(self.relations))

    def link_rules(self, link: int) -> LinkRules:
        """Return the closed rules of a link, in its direction."""
        return self.closed.of_link(link, len(self.relations))

    def scorer(self, link: int) -> Scorer:
        """Return what scores the candidates of a link."""
        if link not in self._scorers:
            rules = self.link_rules(link)
            weights = self.weights.get(link)
            how = self.aggregation
            if how == "learned" and weights is None:
                how = "noisy-or"
            self._scorers[link] = Scorer.of(self.collector, self._own, rules, weights, how)
        return self._scorers[link]

    def link_scores(self, link: int, sources: Longs) -> LinkScores:
        """Score all entities as ends of a link from the first sources; see `ScoresLinks`."""
        scorer = self.scorer(link)
        listed = scorer.how == "maximum"
        evidence = self.collector.collect(
            scorer.rules, sources, most_rows=_ROWS, list_constants=listed
        )
        scores = scorer.scores(evidence)
        return LinkScores(evidence.candidate_starts, evidence.candidates, scores, scorer.base)

    def _rule_weight(self, link: int, row: int) -> float | None:
        """Return what a closed rule adds to a score where it speaks alone, with one walk."""
        weights = self.weights.get(link)
        if weights is None:
            return None
        place = int(np.searchsorted(self.rows_of(link), row))
        share = self.closed.support[row] / (self.closed.body[row] + self.smoothing)
        return weights.alone(place, share, kind=0)
