"""Rules along paths of a knowledge graph: what they are sure of, by every way to ask."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

import mlnlearn as ml
from agreement.compare import Answer, Path
from agreement.graphs import RandomGraph, WrittenRule, random_graph
from agreement.problem import Problem, Skip
from agreement.program import files, said

_SMOOTHING = 2.0


class Learned:
    """Rules learned from a random graph; their counts are taken anew by the reference."""

    def __init__(self, problem: Problem) -> None:
        rng = np.random.default_rng([problem.case.seed, 18])
        self.graph: RandomGraph = random_graph(rng)
        self.length = int(rng.integers(1, 4))
        if not self.graph.asked:
            raise Skip

    @cached_property
    def model(self) -> ml.PathModel:
        learner = ml.Paths(
            max_length=self.length, aggregation="noisy-or", constants=False, min_support=1,
            min_confidence=0.0, smoothing=_SMOOTHING,
        )  # fmt: skip
        return learner.fit(ml.from_triples(list(self.graph.triples))).model

    @cached_property
    def rules(self) -> tuple[WrittenRule, ...]:
        """The rules that the model prints; how sure each is, by trying all pairs of entities."""
        known = set(self.graph.triples)
        names = sorted({name for one, _, other in known for name in (one, other)})
        pairs = [(one, other) for one in names for other in names if one != other]
        found = []
        for text in map(str, self.model.rules()):
            rule = WrittenRule(text, 0.0)
            body = [pair for pair in pairs if rule.holds(self.graph.triples, *pair)]
            support = sum((one, rule.relation, other) in known for one, other in body)
            found.append(WrittenRule(text, support / (len(body) + _SMOOTHING)))
        return tuple(found)


def learned(problem: Problem) -> Learned:
    if "graph" not in problem.__dict__:
        problem.__dict__["graph"] = Learned(problem)
    found: Learned = problem.__dict__["graph"]
    return found


def expected(problem: Problem) -> Answer:
    own = learned(problem)
    return {row: own.graph.odds_against(own.rules, row) for row in own.graph.asked}


def expected_reasons(problem: Problem) -> Answer:
    own = learned(problem)
    return {
        (row, rule.text): rule.confidence
        for row in own.graph.asked
        for rule in own.rules
        if rule.relation == row[1] and rule.holds(own.graph.triples, row[0], row[2])
    }


def by_top(problem: Problem) -> Answer:
    """Scores of tails, and of heads, which must say the same of a triple."""
    own = learned(problem)
    return _by_scores(own, own.model)


def by_loaded(problem: Problem) -> Answer:
    own = learned(problem)
    with files() as path:
        place = path["folder"] + "/rules.tsv"
        own.model.save(place)
        loaded = ml.load_model(place)
    assert isinstance(loaded, ml.PathModel)
    graph = ml.from_triples(list(own.graph.triples)).train
    return _by_scores(own, loaded.with_graph(graph))


def _by_scores(own: Learned, model: ml.PathModel) -> Answer:
    found = {}
    for head, relation, tail in own.graph.asked:
        tails = {a.entity: a.score for a in model.top(relation, head=head, k=100)}
        heads = {a.entity: a.score for a in model.top(relation, tail=tail, k=100)}
        assert math.isclose(tails[tail], heads[head], abs_tol=1e-4)
        found[head, relation, tail] = math.exp(-tails[tail])
    return found


def by_explanations(problem: Problem) -> Answer:
    own = learned(problem)
    return {
        (row, str(reason.rule)): reason.weight
        for row in own.graph.asked
        for reason in own.model.explain(*row, most=1000).reasons
    }


def by_program(problem: Problem) -> Answer:
    own = learned(problem)
    found = {}
    with files(graph_tsv=own.graph.text) as path:
        own.model.save(path["folder"] + "/rules.tsv")
        for head, relation, tail in own.graph.asked[:2]:
            answers = said(
                "infer", "--model", path["folder"] + "/rules.tsv", "--triples", path["graph_tsv"],
                "--relation", relation, "--head", head, "-k", "100",
            )["answers"]  # fmt: skip
            score = next(a["score"] for a in answers if a["entity"] == tail)
            found[head, relation, tail] = math.exp(-score)
    return found


def expected_of_program(problem: Problem) -> Answer:
    return dict(list(expected(problem).items())[:2])


# Equal scores are told apart by a part in a million of how frequent an entity is.
_TIES = 1e-4
PATHS = (
    Path("paths: top", expected, by_top, share=0.05, tolerance=_TIES),
    Path("paths: saved", expected, by_loaded, share=0.02, tolerance=_TIES),
    Path("paths: explain", expected_reasons, by_explanations, share=0.05),
    Path("paths: program", expected_of_program, by_program, share=0.01, tolerance=_TIES),
)
