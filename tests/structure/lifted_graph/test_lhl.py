"""LHL: scores of clusterings against their definition, planted groups, planted clauses."""

import math
from itertools import product

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.logic.schema import Schema
from mlnlearn.structure.lifted_graph.clusters import STRENGTH, Clustering
from mlnlearn.structure.lifted_graph.learn import LHL
from mlnlearn.structure.templates.atoms import NOTHING, AtomGraph
from studies.planted_clauses import SHAPES, planted, recovered

SCHEMA = Schema.of("p(t)", "q(t,u)", "r(t,t)")


def random_graph(seed, constants=4):
    rng = np.random.default_rng(seed)
    names = {"t": [f"T{i}" for i in range(constants)], "u": ["U0", "U1", "U2"]}
    facts = {
        predicate.name: [
            atom for atom in product(*(names[k] for k in predicate.types)) if rng.random() < 0.4
        ]
        for predicate in SCHEMA.predicates
    }
    return AtomGraph.of([Database.from_facts(SCHEMA, facts, domains=names)])


def score(graph, cluster_of, cost):
    """The score by its definition, atom by atom."""
    total = 0.0
    for label, predicate in enumerate(graph.predicates):
        own = [tuple(n for n in row if n != NOTHING) for row in graph.nodes[graph.label == label]]
        if not own:
            continue
        nodes = [np.flatnonzero(graph.kind == SCHEMA.types.index(k)) for k in predicate.types]
        counts = {}
        for atom in product(*nodes):
            key = tuple(cluster_of[n] for n in atom)
            true, atoms = counts.get(key, (0, 0))
            counts[key] = true + (atom in own), atoms + 1
        share = len(own) / sum(atoms for _, atoms in counts.values())
        alpha, beta = STRENGTH * share, STRENGTH * (1 - share)
        empty = sum(atoms for true, atoms in counts.values() if not true)
        counts = [pair for pair in counts.values() if pair[0]] + [(0, empty)]
        for true, atoms in counts:
            false, both = atoms - true, atoms + STRENGTH
            total += true * math.log((true + alpha) / both) if true else 0.0
            total += false * math.log((false + beta) / both) if false else 0.0
            total -= cost if true else 0.0
    return total


@pytest.mark.parametrize("seed", range(4))
def test_gains_are_differences_of_scores(seed):
    graph, rng = random_graph(seed), np.random.default_rng(seed)
    clustering = Clustering(graph, 0.7, 3)
    for _ in range(3):
        before = clustering.score()
        assert before == pytest.approx(score(graph, clustering.cluster_of, 0.7))
        kinds = {c: graph.kind[c] for c in set(clustering.cluster_of.tolist())}
        pairs = [(a, b) for a in kinds for b in kinds if a < b and kinds[a] == kinds[b]]
        one, other = pairs[rng.integers(len(pairs))]
        gain = clustering.gain(one, other)
        clustering.merge(one, other)
        assert clustering.score() - before == pytest.approx(gain)


def test_planted_groups_are_the_clusters():
    rng = np.random.default_rng(1)
    people, things = [f"P{i:02}" for i in range(20)], [f"T{i:02}" for i in range(20)]
    likes = [
        (p, t)
        for i, p in enumerate(people)
        for j, t in enumerate(things)
        if (i < 10) == (j < 10) and rng.random() < 0.95
    ]
    graph = AtomGraph.of([Database.from_facts(Schema.of("likes(person,thing)"), {"likes": likes})])
    for found in (
        Clustering(graph, 3.0, 5).merged(),
        Clustering(graph, 3.0, None).merged_by_pairs(),
    ):
        groups = [set(found[start : start + 10].tolist()) for start in (0, 10, 20, 30)]
        assert [len(group) for group in groups] == [1, 1, 1, 1]
        assert len(set.union(*groups)) == 4


@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_merged_one_at_a_time_the_best_first(seed):
    """Against scores by their definition; clusters are merged where they share a neighbour."""
    graph = random_graph(seed, 6)
    clustering = Clustering(graph, 1.0, None)
    found = np.arange(len(graph.kind))
    now = score(graph, found, 1.0)
    while pairs := list(clustering.pairs()):
        merged = [np.where(found == other, one, found) for one, other in pairs]
        scores = [score(graph, clusters, 1.0) for clusters in merged]
        best = int(np.argmax(np.round(scores, 9)))
        if scores[best] <= now + 1e-9:
            break
        found, now = merged[best], scores[best]
        clustering.merge(*pairs[best])
    again = Clustering(graph, 1.0, None).merged_by_pairs()
    assert (np.equal.outer(again, again) == np.equal.outer(found, found)).all()
    assert len(set(found.tolist())) < len(found)


@pytest.mark.parametrize("shape", [2, 4])
def test_planted_clauses_are_found(shape):
    clause, databases = planted(np.random.default_rng(shape), SHAPES[shape], (40, 40))
    learner = LHL(max_literals=3, max_variables=3, flips=2, max_clauses=400, max_paths=300)
    assert recovered(learner.fit(databases).model, clause)
