"""The learner ``paths``: rules along the paths of a knowledge graph, and their weights."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from mlnlearn.counting.mine_constants import mine_constants
from mlnlearn.counting.mine_paths import PathMiner, count_rules
from mlnlearn.counting.path_evidence import Collector
from mlnlearn.counting.path_rules import ClosedRules, ConstantRules
from mlnlearn.counting.walks import MOST_WALKS, Path, walk_counts
from mlnlearn.data.graph import Graph, GraphSplit, Longs
from mlnlearn.data.identity import digest, settings_of
from mlnlearn.data.load.data import Data, DataLike, as_data
from mlnlearn.data.triple_view import graph_of
from mlnlearn.errors import InputError
from mlnlearn.journal import Identity, Journal
from mlnlearn.model.paths.model import PathModel
from mlnlearn.model.paths.scoring import Aggregation, LinkWeights, OwnLinks
from mlnlearn.run import Course, Fitted, Notes, Run, drive
from mlnlearn.settings import Above, AtLeast, Between
from mlnlearn.structure.learner import Learner
from mlnlearn.structure.paths.given import given_closed, given_constants
from mlnlearn.structure.paths.memory import refuse_above
from mlnlearn.structure.paths.weights import choices_of, fit_weights

_LONGEST = 4
_WALKS_OF_A_SOURCE = 25_000  # of which the longest paths may have so many, on average
_CHUNK = 20_000_000  # steps between two looks at the clock
_LEAST_VALID, _MOST_VALID = 50, 5000  # triples that a choice is made by
_LINKS = 25  # times `max_rows` is what all links share, each by its queries
_HOLDERS = 500  # part of `max_pairs` that the rules of one head with constants may speak for
_KEPT = (0.5, 0.0)  # shares of the rules' own weights, tried beside all of them
_COUNTINGS = 8  # parts in which rules are counted, between looks at the clock,
_FIRST_COUNTING = 8  # after a first one, so much smaller, that shows which are worth it
_MINING = 0.4  # the share of a limited time that is spent on finding rules


class _LinkWeightsFile(Struct, array_like=True, forbid_unknown_fields=True):
    """The weights of a link, as the journal has them."""

    rules: list[float]
    shared: list[float]
    having: list[float]


@dataclass(frozen=True, kw_only=True)
class PathNotes(Notes):
    """How the search for path rules went.

    Attributes
    ----------
    length
        Links of the longest paths that were tried.
    sources
        The share of entities from which paths were followed to find rules.
    counted
        The share of entities over which rules were counted; counts are exact where it is 1.
    """

    length: int
    sources: float
    counted: float


@dataclass(frozen=True, kw_only=True)
class Paths(Learner[PathModel, PathNotes]):
    """Learn rules along the paths of a knowledge graph, to rank answers by.

    Rules are closed paths, ``r(X,Y) <= s(X,A), t(A,Y)``, and pairs of facts about an entity,
    ``r(X,c) <= s(X,e)``. Their weights are those that make the known triples, each taken as unknown
    in turn, the likeliest among the candidates of the rules.

    Parameters
    ----------
    max_length
        Links of the longest paths; by default up to 4, as many as walks from an entity allow.
    min_support
        Known triples that a rule must find.
    min_confidence
        Least smoothed confidence of a closed rule.
    smoothing
        Wrong pairs that every rule is taken to have beforehand.
    constants
        Whether to learn rules with constants.
    min_constant_confidence
        Least smoothed confidence of a rule with constants.
    max_steps
        Steps of walks by which rules are searched for; where a graph has more, from as many of its
        entities, at random, as these allow.
    max_pairs
        Pairs, over all rules of a relation, that closed rules may connect; the surest rules are
        kept. Rules with constants for one answer may speak for a 500th of it.
    max_queries
        Known triples of a relation that its weights are learned from, for each direction.
    max_rows
        Uses of rules, and candidates, over the queries of a relation that its weights are learned
        from, for each direction; all relations together have 25 times as many, which they share
        by their queries.
    epochs
        How often each query is learned from.
    rate
        How far the weights move at first.
    shrinkage
        How strongly a rule's own weight is drawn to nothing.
    rules
        A file of rules, of AnyBURL or as `PathModel.save_rules` writes them, to count and weigh
        instead of searching for others.
    aggregation
        How rules are put together: by learned weights, as a noisy-or of their confidences, or by
        the largest confidence, equals by the next one.
    seed
        Same seed, same result.
    """

    max_length: Annotated[int, Between(1, 6)] | None = None
    min_support: Annotated[int, AtLeast(1)] = 2
    min_confidence: Annotated[float, Between(0, 1)] = 0.001
    smoothing: Annotated[float, AtLeast(0)] = 5.0
    constants: bool = True
    min_constant_confidence: Annotated[float, Between(0, 1)] = 0.01
    max_steps: Annotated[int, AtLeast(1)] = 1_000_000_000
    max_pairs: Annotated[int, AtLeast(1)] = 10_000_000
    max_queries: Annotated[int, AtLeast(1)] = 4_000
    max_rows: Annotated[int, AtLeast(1)] = 4_000_000
    epochs: Annotated[int, AtLeast(1)] = 15
    rate: Annotated[float, Above(0)] = 0.03
    shrinkage: Annotated[float, AtLeast(0)] = 0.01
    rules: str | None = None
    aggregation: Aggregation = "learned"
    seed: Annotated[int, AtLeast(0)] = 0

    def fit(
        self, data: DataLike | Graph | GraphSplit, run: Run | None = None
    ) -> Fitted[PathModel, PathNotes]:
        """Learn rules from a knowledge graph, or from databases taken as one.

        Parameters
        ----------
        data
            A graph; a split, of which the training part is learned from, and the validation part,
            where there is one, says which way to put rules together ranks best; or what other
            learners take, whose facts are then read as triples.
        run
            Its limits, and who is told of progress.
        """
        if isinstance(data, GraphSplit):
            split = data
            fitted = drive(run, lambda course: self.learn_graph(split.train, course))
            return Fitted(self._better(fitted.model, split), fitted.notes)
        if isinstance(data, Graph):
            graph = data
            return drive(run, lambda course: self.learn_graph(graph, course))
        given = as_data(data)
        return drive(run, lambda course: self.learn(given, course))

    def learn(self, data: Data, course: Course) -> Iterator[Fitted[PathModel, PathNotes]]:
        """Learn from databases; see `Learner.learn`."""
        yield from self.learn_graph(graph_of(data.databases), course)

    def learn_graph(self, graph: Graph, course: Course) -> Iterator[Fitted[PathModel, PathNotes]]:
        """Learn from a graph; yields the rules first, then weights link by link."""
        if not graph.size:
            raise InputError(f"{graph.name or 'the graph'} has no triples to learn from")
        facts = np.bincount(graph.triples[1], minlength=len(graph.relations))
        refuse_above(
            graph,
            least_support=self.min_support,
            most_pairs=2 * self.max_pairs if self.constants and self.rules is None else 0,
            most_rows=self._rows(facts, facts.argmax()) if self.aggregation == "learned" else 0,
            workers=course.run.workers,
        )
        journal = Journal()
        if course.run.checkpoint is not None:
            journal = Journal(course.run.checkpoint, self._identity(graph))
        closed, notes = self._closed(graph, course)
        model = PathModel(
            graph.relations,
            graph.entities,
            facts,
            closed,
            ConstantRules.none(),
            {},
            self.aggregation,
            self.smoothing,
            self.min_support,
            graph,
        )
        yield Fitted(model, notes)
        course.check()
        if self.constants:
            course.tell("looking for rules with constants")
            model = replace(model, constants=self._constants(graph))
            yield Fitted(model, notes)
        if self.aggregation != "learned":
            return
        found: dict[int, LinkWeights] = {}
        for link, weights in self._weights(model, course, journal):
            found[link] = weights
            yield Fitted(replace(model, weights=dict(found)), notes)

    def _better(self, model: PathModel, split: GraphSplit) -> PathModel:
        """Return the way to put rules together that ranks validation triples best.

        Beside the weights as learned there are those with less or nothing of the rules' own, which
        fit chance where rules are many and triples few; how often candidates have the relation, and
        no rules, for graphs in which one triple says nothing of another; and the two ways that need
        no weights.
        """
        count = split.valid.shape[1]
        if self.aggregation != "learned" or not model.weights or count < _LEAST_VALID:
            return model
        rng = np.random.default_rng([self.seed, 2])
        some = split.valid[:, np.sort(rng.permutation(count)[:_MOST_VALID])]
        unweighted: tuple[Aggregation, ...] = ("maximum", "noisy-or")
        ways = [model, *(_with_less(model, share) for share in _KEPT)]
        by_frequency = {
            link: LinkWeights.by_frequency(weights) for link, weights in model.weights.items()
        }
        ways.append(replace(model, weights=by_frequency))
        ways += [replace(model, aggregation=how) for how in unweighted]
        # of a copy, so that what a way keeps to rank by is let go
        return max(ways, key=lambda way: replace(way).rank(some, filtered=split.valid).mrr)

    def _identity(self, graph: Graph) -> Identity:
        parts = {
            "entities": digest(graph.entities.names),
            "relations": digest(graph.relations.names),
            "triples": digest([graph.triples.data.cast("B")]),
        }
        return Identity("paths", settings_of(self), parts)

    def _closed(self, graph: Graph, course: Course) -> tuple[ClosedRules, PathNotes]:
        """Find the closed rules and count them."""
        rng = np.random.default_rng([self.seed, 0])
        order = rng.permutation(len(graph.entities))
        if self.rules is not None:
            course.tell("reading rules")
            heads, paths = given_closed(self.rules, graph)
            return self._counted(graph, heads, paths, None, order, 1.0, course)
        heads, paths, supports, share = self._mined(graph, order, course)
        return self._counted(graph, heads, paths, supports, order, share, course)

    def _mined(
        self, graph: Graph, order: Longs, course: Course
    ) -> tuple[Longs, list[Path], Longs, float]:
        """Find closed rules with their supports, and from which share of the entities."""
        miner = PathMiner(graph, self.max_length or _length(graph))
        done, steps = 0, 0
        while done < len(order) and steps < self.max_steps:
            course.tell("looking for paths", done, len(order))
            course.check()
            limit = course.run.max_seconds
            if done and limit is not None and course.seconds > _MINING * limit:
                break
            taken, sources = miner.add(order[done:], min(_CHUNK, self.max_steps - steps))
            steps, done = steps + taken, done + sources
        found = miner.rules(self.min_support if done == len(order) else 2)
        return *found, done / max(len(order), 1)

    def _counted(
        self,
        graph: Graph,
        heads: Longs,
        paths: list[Path],
        supports: Longs | None,
        order: Longs,
        sources: float,
        course: Course,
    ) -> tuple[ClosedRules, PathNotes]:
        """Count rules, and keep those that are good enough.

        What is known of their supports, from a share of the sources, lets those that cannot be good
        enough go before most of the work is done.
        """
        nothing = np.zeros(len(paths), np.int64)
        rules, counted = ClosedRules(heads, paths, nothing, nothing, nothing), 0
        for part in range(_COUNTINGS + 1):
            limit = course.run.max_seconds
            if counted == len(order):
                break
            if counted and limit is not None and course.seconds > (1.0 - _MINING) * limit:
                break
            course.tell("counting rules", counted, len(order))
            rows = 4 * self.max_pairs // _COUNTINGS // (_FIRST_COUNTING if part == 0 else 1) + 1
            (support, body, pca_body), done = count_rules(
                graph,
                rules.heads,
                list(rules.paths),
                order[counted:],
                most_walks=MOST_WALKS,
                most_rows=rows,
            )
            rules = replace(
                rules,
                support=rules.support + support,
                body=rules.body + body,
                pca_body=rules.pca_body + pca_body,
            )
            counted += done
            if part == 0 and supports is not None and counted < len(order):
                hopeful = self._hopeful(rules, counted / len(order), supports / sources)
                rules = rules.at(np.flatnonzero(hopeful))
        share = counted / max(len(order), 1)
        longest = max(map(len, rules.paths), default=0)
        notes = PathNotes(length=longest, sources=sources, counted=share)
        return self._chosen(rules, share), notes

    def _hopeful(
        self, rules: ClosedRules, counted: float, supports: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Say which rules, of which a share was counted, can be sure enough in the end."""
        most_support = supports + 2.0 * np.sqrt(supports) + 2.0
        least_body = np.maximum(rules.body - 2.0 * np.sqrt(rules.body), 0.0) / counted
        hopeful: NDArray[np.bool_] = most_support >= self.min_confidence * least_body
        return hopeful

    def _chosen(self, rules: ClosedRules, counted: float) -> ClosedRules:
        """Keep of each relation the surest rules, as many as the limit on pairs allows."""
        confidence = rules.support / np.maximum(rules.body + self.smoothing, 1)
        good = (rules.support >= self.min_support) & (confidence >= self.min_confidence)
        kept = []
        for head in np.unique(rules.heads):
            here = np.flatnonzero(good & (rules.heads == head))
            here = here[np.lexsort((-rules.support[here], -confidence[here]))]
            pairs = np.cumsum(rules.body[here]) / max(counted, 1e-9)
            kept.append(here[pairs <= self.max_pairs])
        return rules.at(np.sort(np.concatenate(kept)) if kept else np.empty(0, np.int64))

    def _constants(self, graph: Graph) -> ConstantRules:
        if self.rules is not None:
            return given_constants(self.rules, graph, self.min_support)
        return mine_constants(
            graph,
            least_support=self.min_support,
            least_confidence=self.min_constant_confidence,
            smoothing=self.smoothing,
            most_pairs=2 * self.max_pairs,
            most_rules=self.max_pairs // 10,
            most_holders=self.max_pairs // _HOLDERS + 1,
        )

    def _weights(
        self, model: PathModel, course: Course, journal: Journal
    ) -> Iterator[tuple[int, LinkWeights]]:
        """Learn the weights of each link, the most frequent relations first."""
        assert model.graph is not None
        graph = model.graph
        relations = len(graph.relations)
        order = np.argsort(-model.facts, kind="stable")
        links = [int(code) + side for code in order for side in (0, relations)]
        links = [link for link in links if model.facts[link % relations]]
        collector = Collector(graph, model.constants, self.smoothing, self.min_support, MOST_WALKS)
        own = OwnLinks.of(graph)

        workers = course.run.workers

        def learned(link: int) -> LinkWeights:
            course.check()  # links that waited for a worker need not begin
            key = f"link {link}"
            if key in journal:
                with journal.reading(key, _LinkWeightsFile) as kept:
                    start = self._start(model, link)
                    return LinkWeights.read(kept.rules, kept.shared, kept.having, start)
            return self._fitted(model, collector, own, link, course)

        with ThreadPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
            results = map(learned, links) if pool is None else pool.map(learned, links)
            for number, link in enumerate(links):
                course.tell("learning weights", number, len(links))
                course.check()
                weights = next(results)
                if f"link {link}" not in journal:
                    parts = (weights.rules, weights.shared, weights.having)
                    journal.record(f"link {link}", [part.tolist() for part in parts])
                yield link, weights

    def _start(self, model: PathModel, link: int) -> LinkWeights:
        return LinkWeights.start(len(model.link_rules(link).paths), 2 * len(model.relations))

    def _rows(self, facts: Longs, link: np.integer | int) -> int:
        """Return how many rows a link may have: its share, by queries, of what all may have."""
        queries = np.minimum(facts, self.max_queries)
        share = int(queries[link % len(queries)]) / max(2 * int(queries.sum()), 1)
        return max(1, min(self.max_rows, int(_LINKS * self.max_rows * share)))

    def _fitted(
        self, model: PathModel, collector: Collector, own: OwnLinks, link: int, course: Course
    ) -> LinkWeights:
        rng = np.random.default_rng([self.seed, 1, link])
        choices = choices_of(
            collector,
            model.link_rules(link),
            most_queries=self.max_queries,
            most_rows=self._rows(model.facts, link),
            rng=rng,
        )
        course.check()
        relations = len(model.relations)
        return fit_weights(
            choices,
            self._start(model, link),
            own,
            (link + relations) % (2 * relations),
            epochs=self.epochs,
            rate=self.rate,
            shrinkage=self.shrinkage,
            rng=rng,
        )


def _with_less(model: PathModel, share: float) -> PathModel:
    """Return a model with a share of the rules' own weights."""
    weights = {
        link: replace(weights, rules=share * weights.rules)
        for link, weights in model.weights.items()
    }
    return replace(model, weights=weights)


def _length(graph: Graph) -> int:
    """Return the longest paths of which an entity has not too many, on average."""
    walks = walk_counts(graph.edges, _LONGEST) / max(len(graph.entities), 1)
    return max(2, int(np.sum(walks <= _WALKS_OF_A_SOURCE)))
