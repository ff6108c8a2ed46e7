"""LSM: hitting times against exact ones, clusters, motifs, planted clauses."""

import os
from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from mlnlearn.data.catalog import VARIABLE
from mlnlearn.data.database import Database
from mlnlearn.logic.canonical import canonical
from mlnlearn.logic.clauses import as_clause
from mlnlearn.logic.schema import Schema
from mlnlearn.run import Course
from mlnlearn.structure.motifs.communities import Likeness, _divergences, clusters, community
from mlnlearn.structure.motifs.learn import LSM, shape_of
from mlnlearn.structure.motifs.walks import walk
from mlnlearn.structure.templates.atoms import NOTHING, AtomGraph
from studies.gslp_data import plain_folds
from studies.planted_clauses import SHAPES, planted, recovered

QUICK = LSM(max_literals=3, max_variables=3, walks=100, min_gain=0.01, flips=2, max_clauses=400)


def exact_time(graph, source, target, steps):
    """The truncated hitting time, by the probability of every place after every step."""
    starts, atoms = graph.incidence
    at, total = np.eye(len(graph.kind))[source], 0.0
    for _ in range(steps):
        total += at.sum()  # what has not met the target yet takes one step more
        following = np.zeros_like(at)
        for node in np.flatnonzero(at):
            own = atoms[starts[node] : starts[node + 1]]
            if not len(own):
                following[node] += at[node]
            for atom in own:
                others = [n for n in graph.nodes[atom] if n not in (node, NOTHING)]
                for other in others:
                    following[other] += at[node] / len(own) / len(others)
        at = following
        at[target] = 0.0
    return total


def random_graph(seed):
    rng = np.random.default_rng(seed)
    schema = Schema.of("p(t)", "q(t,t)", "r(t,u,t)")
    names = {"t": [f"T{i}" for i in range(5)], "u": [f"U{i}" for i in range(3)]}
    facts = {
        predicate.name: [
            atom for atom in product(*(names[k] for k in predicate.types)) if rng.random() < 0.15
        ]
        for predicate in schema.predicates
    }
    return AtomGraph.of([Database.from_facts(schema, facts, domains=names)])


@pytest.mark.parametrize("seed", range(3))
def test_hitting_times_are_those_of_the_chain(seed):
    graph, walks, steps = random_graph(seed), 20000, 4
    for source in range(len(graph.kind)):
        hits = walk(graph, source, walks, steps, np.random.default_rng(seed))
        times = dict(zip(hits.nodes.tolist(), hits.times.tolist(), strict=True))
        for target in set(range(len(graph.kind))) - {source}:
            exact = exact_time(graph, source, target, steps)
            error = 5 * steps / 2 / np.sqrt(walks)
            assert times.get(target, steps) == pytest.approx(exact, abs=error)
        assert source not in times


def test_divergence_is_that_of_jensen_and_shannon():
    rng = np.random.default_rng(0)
    one, *others = rng.dirichlet(np.ones(5), 4) * (rng.random((4, 5)) < 0.7)
    one, others = one / one.sum(), [other / other.sum() for other in others]
    expected = [jensenshannon(one, other, 2) ** 2 for other in others]
    assert _divergences(one, np.array(others)) == pytest.approx(expected)


def library():
    """Two readers of three books each, of which one book each is also praised by a critic."""
    schema = Schema.of("read(person,book)", "praised(critic,book)")
    read = [(person, f"{person}{book}") for person in ("A", "B") for book in "123"]
    return schema, {"read": read, "praised": [("C", "A1"), ("C", "B1")]}


def test_nodes_that_are_met_alike_are_one_cluster():
    schema, facts = library()
    graph = AtomGraph.of([Database.from_facts(schema, facts)])
    names = ["A", "B", "A1", "A2", "A3", "B1", "B2", "B3", "C"]  # by type, then by name
    hits = walk(graph, 8, 5000, 4, np.random.default_rng(0))
    near = Likeness(gap=0.2, divergence=1.0, top=3)
    found = {
        tuple(names[node] for node in sorted(part)) for part in clusters(hits, graph.kind, near)
    }
    assert found == {("A", "B"), ("A1", "B1"), ("A2", "A3", "B2", "B3")}
    motif, atoms = community(graph, 8, clusters(hits, graph.kind, near))
    assert atoms == 8
    # a critic praises a book, a person reads such books and others
    assert shape_of(motif) == shape_of(((1, 0, 1), (0, 2, 1), (0, 2, 3)))
    assert shape_of(motif) != shape_of(((1, 0, 1), (0, 2, 1), (0, 4, 3)))


def test_paths_tell_apart_what_is_as_near():
    schema = Schema.of("p(t,t)", "q(t,t)")
    facts = {"p": [("S", "X")], "q": [("S", "Y")]}
    graph = AtomGraph.of([Database.from_facts(schema, facts)])
    hits = walk(graph, 0, 5000, 4, np.random.default_rng(0))
    for divergence, sizes in ((0.9, [1, 1]), (1.0, [2])):
        near = Likeness(gap=0.2, divergence=divergence, top=1)
        assert [len(part) for part in clusters(hits, graph.kind, near)] == sizes
    within = walk(graph, 0, 5000, 4, np.random.default_rng(0), farthest=0.9)
    assert list(clusters(within, graph.kind, near)) == []


def test_communities_of_one_shape_are_one_motif():
    schema, facts = library()
    graph = AtomGraph.of([Database.from_facts(schema, facts)])
    learner = LSM(walks=2000, min_atoms=0, gap=0.3)
    motifs = learner.motifs(graph, Course())
    assert len(motifs) < len(graph.kind)  # A and B have the same, as have A1 and B1
    some = LSM(walks=2000, min_atoms=motifs[0][1] + 1, gap=0.3).motifs(graph, Course())
    assert motifs[0] not in some


@pytest.mark.parametrize("shape", [2, 3])
def test_planted_clauses_are_found(shape):
    clause, databases = planted(np.random.default_rng(shape), SHAPES[shape], (40, 40))
    assert recovered(QUICK.fit(databases).model, clause)


def test_settings_bound_the_search():
    _, databases = planted(np.random.default_rng(3), SHAPES[2], (15, 15))
    few = LSM(max_literals=3, walks=50, max_clauses=10).fit(databases)
    assert few.notes.scored <= 10
    longest = LSM(max_literals=2, walks=50, min_gain=1e-4, max_clauses=100).fit(databases).model
    assert max(len(canonical(as_clause(rule.formula))) for rule in longest.rules) == 2


@pytest.mark.skipif(VARIABLE not in os.environ, reason="needs the benchmark data")
def test_communities_of_imdb_are_of_the_size_of_others():
    """Another implementation has 21.56 near nodes and 6.29 clusters, the source with them."""
    graph = AtomGraph.of(plain_folds("imdb")[:1])
    near = Likeness(gap=0.1, divergence=1.0, top=3)
    nodes, parts = [], []
    for source in range(len(graph.kind)):
        hits = walk(graph, source, 10000, 5, np.random.default_rng((0, source)), 4.9)
        nodes.append(1 + len(hits.nodes))
        parts.append(1 + len(list(clusters(hits, graph.kind, near))))
    assert np.mean(nodes) == pytest.approx(21.56, abs=0.2)
    assert np.mean(parts) == pytest.approx(6.29, abs=0.2)
