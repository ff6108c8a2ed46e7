"""Triples ranked by models of ground atoms: the same questions that path rules are asked.

Each entity that can stand at the end of a link is a candidate; its score is the log odds of the
atom, given all known triples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import logit

from mlnlearn.data.database import Columns
from mlnlearn.data.graph import Graph, GraphSplit, Longs, relation_predicates
from mlnlearn.data.triple_view import graph_database
from mlnlearn.errors import InputError
from mlnlearn.evaluate.ask import Conditionals, atom_probabilities
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.model.ranking import Ranking
from mlnlearn.model.triple_answers import (
    NOTHING,
    LinkScores,
    RankedEntity,
    Sides,
    Triples,
    name_code,
    rank_triples,
    top_answers,
    triple_codes,
)
from mlnlearn.run import Run

_ATOMS = 1 << 18  # asked for at once
MOST_ATOMS = 2_000_000_000
"""Questions that would take more atoms than these are refused."""


class TripleRanker:
    """Ranks triples by models that give ground atoms a probability.

    Parameters
    ----------
    models
        A model of all relations; or one for each relation, by its name.
    graph
        What is known, and asked about.
    views
        For relations whose models read more than these: graphs with the same entities, and further
        relations behind those of the graph; see `path_views`.

    Examples
    --------
    >>> from mlnlearn.model.mln import MLN
    >>> rows = [("Anna", "knows", "Bob"), ("Bob", "likes", "Carl"), ("Bob", "knows", "Anna")]
    >>> graph = Graph.of(rows)
    >>> schema = "knows(entity,entity)" + chr(10) + "likes(entity,entity)" + chr(10)
    >>> mln = MLN.parse(schema + "-1 likes(x,y)" + chr(10) + "2 knows(x,y) => likes(x,y)")
    >>> [answer.entity for answer in TripleRanker(mln, graph).top("likes", head="Anna", k=1)]
    ['Bob']
    """

    def __init__(
        self, models: Any, graph: Graph | GraphSplit, views: Mapping[str, Graph] | None = None
    ) -> None:
        self.graph = graph.train if isinstance(graph, GraphSplit) else graph
        self._models = models
        self._database = graph_database(self.graph, schema=getattr(models, "schema", None))
        self._predicates = relation_predicates(self.graph.relations)
        self._members = {
            kind: np.array([self.graph.entities.code(name) for name in names], np.int64)
            for kind, names in self._database.domains.items()
        }
        self._views = {
            relation: TripleRanker(models, view) for relation, view in (views or {}).items()
        }

    def rank(
        self, triples: Triples, filtered: Triples | None = None, sides: Sides = "both"
    ) -> Ranking:
        """Rank the answers of the questions that triples make; see `PathModel.rank`."""
        codes = triple_codes(triples, self.graph)
        questions = codes.shape[1] * (2 if sides == "both" else 1)
        atoms = questions * len(self.graph.entities)
        if atoms > MOST_ATOMS:
            raise InputError(
                f"{questions:,} questions about {len(self.graph.entities):,} entities ask for "
                f"{atoms:,} atoms, each of which this model scores by itself",
                hint="rank fewer triples, or by the learner paths, which scores those that its "
                "rules lead to",
            )
        return rank_triples(self, self.graph, codes, filtered, sides)

    def top(
        self,
        relation: str,
        *,
        head: str | None = None,
        tail: str | None = None,
        k: int = 10,
        new: bool = True,
    ) -> list[RankedEntity]:
        """Return the best tails of a head, or heads of a tail; see `PathModel.top`."""
        return top_answers(self, self.graph, relation, head=head, tail=tail, k=k, new=new)

    def link_scores(self, link: int, sources: Longs) -> LinkScores:
        """Score all entities as ends of a link from each source; see `ScoresLinks`."""
        relations = len(self.graph.relations)
        name = self.graph.relations[link % relations]
        if name in self._views:
            more = len(self._views[name].graph.relations) - relations
            return self._views[name].link_scores(link + more * (link >= relations), sources)
        one, other = self._database.schema[self._predicates[name]].types
        if link >= relations:
            one, other = other, one
        ends = self._members[other]
        base = np.full(len(self.graph.entities), NOTHING)
        places = np.full(len(self.graph.entities), -1, np.int64)
        places[self._members[one]] = np.arange(len(self._members[one]))
        fits = places[sources] >= 0
        starts = np.concatenate([[0], np.cumsum(np.where(fits, len(ends), 0))])
        given = np.repeat(places[sources[fits]], len(ends))
        asked = np.tile(np.arange(len(ends)), int(fits.sum()))
        columns = np.stack([given, asked] if link < relations else [asked, given])
        scores = self._scores(name, columns.astype(np.int32))
        candidates = np.tile(ends, int(fits.sum())).astype(np.int32)
        return LinkScores(starts, candidates, scores, base)

    def _scores(self, relation: str, columns: Columns) -> Floats:
        """Return the log odds of atoms, so many at once."""
        model = self._models
        if isinstance(model, Mapping):
            if relation not in model:
                raise InputError(f"there is no model of the relation {relation!r}")
            model = model[relation]
        found = np.empty(columns.shape[1])
        for start in range(0, columns.shape[1], _ATOMS):
            some = np.ascontiguousarray(columns[:, start : start + _ATOMS])
            name = self._predicates[relation]
            chance = atom_probabilities(model, self._database, name, some, Conditionals())
            found[start : start + _ATOMS] = chance
        odds: Floats = logit(np.clip(found, 1e-300, 1.0 - 1e-16))
        return odds


def learn_relations(
    learners: Mapping[str, Any],
    graph: Graph,
    run: Run,
    views: Mapping[str, Graph] | None = None,
) -> dict[str, Any]:
    """Learn a model for each relation, by the learner that is given for it.

    Parameters
    ----------
    graph
        The triples to learn from.
    learners
        A learner for each relation, by its name.
    run
        Limits of each run.
    views
        Graphs to learn from instead, for some relations; see `TripleRanker`.
    """
    database = graph_database(graph)
    found = {}
    for relation, learner in learners.items():
        name_code("relation", relation, graph.relations)
        viewed = (views or {}).get(relation)
        found[relation] = learner.fit(graph_database(viewed) if viewed else database, run).model
    return found
