"""BDeu and the search over patterns: against formulas, exhaustive search and pyAgrum."""

import math
from itertools import product

import numpy as np
import pytest

from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.structure.join_bayes.counts import Counts
from mlnlearn.structure.join_bayes.ges import greedy_equivalence_search
from mlnlearn.structure.join_bayes.graphs import (
    EdgeConstraints,
    bits,
    extension,
    has_circle,
    mask,
    obeys,
    pattern_of,
)
from mlnlearn.structure.join_bayes.score import bdeu


def random_dag(rng, size, density=0.4):
    order = rng.permutation(size)
    dag = [0] * size
    for late in range(size):
        for early in range(late):
            if rng.random() < density:
                dag[order[late]] |= 1 << int(order[early])
    return tuple(dag)


def sampled_table(seed, size=6, rows=400, values=(2, 4)):
    """Rows of values drawn from a random net."""
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, size)
    sizes = rng.integers(*values, size)
    columns = np.zeros((size, rows), np.int64)
    done = 0
    while done != (1 << size) - 1:
        for node in range(size):
            if done >> node & 1 or dag[node] & ~done:
                continue
            above = list(bits(dag[node]))
            shape = [sizes[p] for p in above]
            tables = rng.dirichlet(np.full(sizes[node], 0.5), size=shape or None)
            chances = tables[tuple(columns[p] for p in above)] if above else tables[None, :]
            columns[node] = (rng.random((rows, 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
            done |= 1 << node
    return columns, sizes


def scorer(columns, sizes, sample_size=10.0):
    nodes = [
        NetNode(Predicate(f"n{k}"), (), tuple(map(str, range(s)))) for k, s in enumerate(sizes)
    ]

    def score(child, parents):
        family = [child, *parents]
        rows, counts = np.unique(columns[family], axis=1, return_counts=True)
        table = Counts(tuple(nodes[k] for k in family), tuple(rows.astype(np.int32)), counts)
        return bdeu(table, sample_size)

    return score


def total(score, dag):
    return sum(score(node, tuple(bits(parents))) for node, parents in enumerate(dag))


def agrum_learner(columns, sizes):
    gum = pytest.importorskip("pyagrum", reason="pyAgrum is not installed")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({f"n{k}": column.astype(str) for k, column in enumerate(columns)})
    template = gum.BayesNet()
    for k, size in enumerate(sizes):
        template.add(gum.LabelizedVariable(f"n{k}", "", [str(v) for v in range(size)]))
    # the BD score under a prior of equal cells is BDeu, with the prior's weight as sample size
    learner = gum.BNLearner(frame, template)
    learner.useScoreBD()
    learner.useBDeuPrior(10)
    return learner


def test_bdeu_is_the_closed_form():
    columns, sizes = sampled_table(0, 3, 50)
    expected = 0.0
    rows, cells = 10 / sizes[1] / sizes[2], 10 / sizes[0] / sizes[1] / sizes[2]
    for b, c in product(range(sizes[1]), range(sizes[2])):
        chosen = columns[:, (columns[1] == b) & (columns[2] == c)]
        expected += math.lgamma(rows) - math.lgamma(rows + chosen.shape[1])
        for a in range(sizes[0]):
            expected += math.lgamma(cells + (chosen[0] == a).sum()) - math.lgamma(cells)
    assert scorer(columns, sizes)(0, (1, 2)) == pytest.approx(expected, abs=1e-9)


def test_bdeu_is_that_of_pyagrum():
    # pyAgrum looks log-gamma up in steps of 0.01, to six digits: so only priors on its grid
    # (10 over 2, 4 and 8 cells) can agree, and only relative to the score
    for seed in range(5):
        columns, sizes = sampled_table(seed, values=(2, 3))
        learner, score = agrum_learner(columns, sizes), scorer(columns, sizes)
        for child, parents in ((0, ()), (1, (0,)), (2, (0, 1)), (3, (0, 5)), (4, (1, 2))):
            theirs = learner.score(f"n{child}", [f"n{p}" for p in parents]) * math.log(2)
            assert score(child, parents) == pytest.approx(theirs, rel=1e-6)


def test_dags_of_one_pattern_have_one_score():
    columns, sizes = sampled_table(3)
    score = scorer(columns, sizes)
    for seed in range(20):
        dag = random_dag(np.random.default_rng(seed), len(sizes))
        other = extension(pattern_of(dag))
        assert total(score, other) == pytest.approx(total(score, dag), abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_search_is_as_good_as_pyagrum(seed):
    columns, sizes = sampled_table(100 + seed, size=7, rows=300)
    score = scorer(columns, sizes)
    ours = total(score, greedy_equivalence_search(len(sizes), score))
    best = -math.inf
    for method in ("useGreedyHillClimbing", "useLocalSearchWithTabuList"):
        learner = agrum_learner(columns, sizes)
        getattr(learner, method)()
        dag = [0] * len(sizes)
        found = learner.learnDAG()
        for parent, child in found.arcs():
            dag[child] |= 1 << parent
        best = max(best, total(score, dag))
    assert ours >= best - 1e-6


def all_dags(size):
    pairs = [(a, b) for a in range(size) for b in range(a + 1, size)]
    for choice in product(range(3), repeat=len(pairs)):
        dag = [0] * size
        for (a, b), way in zip(pairs, choice, strict=True):
            if way:
                dag[b if way == 1 else a] |= 1 << (a if way == 1 else b)
        if not has_circle(dag):
            yield tuple(dag)


def random_constraints(rng, size):
    order = rng.permutation(size).tolist()
    required, forbidden = set(), set()
    for late in range(size):
        for early in range(late):
            if rng.random() < 0.15:
                required.add((order[early], order[late]))
    for a, b in product(range(size), repeat=2):
        if a != b and (a, b) not in required and rng.random() < 0.25:
            forbidden.add((a, b))
    return EdgeConstraints(frozenset(required), frozenset(forbidden))


def test_search_finds_the_best_of_all_small_nets():
    dags = list(all_dags(4))
    assert len(dags) == 543
    for seed in range(3):
        columns, sizes = sampled_table(seed, 4, 500)
        score = scorer(columns, sizes)
        known = {
            (k, p): score(k, tuple(bits(p))) for k in range(4) for p in range(16) if not p >> k & 1
        }
        best = max(sum(known[item] for item in enumerate(dag)) for dag in dags)
        found = total(score, greedy_equivalence_search(4, score))
        assert found == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(25))
def test_constraints_are_always_respected(seed):
    columns, sizes = sampled_table(seed, 6, 300)
    rules = random_constraints(np.random.default_rng(seed), 6)
    score = scorer(columns, sizes)
    dag = greedy_equivalence_search(6, score, rules)
    assert obeys(dag, rules)
    assert not has_circle(dag)
    start = [0] * 6
    for parent, child in rules.required:
        start[child] |= 1 << parent
    assert total(score, dag) >= total(score, start) - 1e-9


def test_no_more_parents_than_allowed():
    columns, sizes = sampled_table(5, 7, 2000)
    dag = greedy_equivalence_search(7, scorer(columns, sizes), max_parents=1)
    assert max(parents.bit_count() for parents in dag) == 1


def test_patterns_keep_skeleton_and_v_structures():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        dag = random_dag(rng, 6)
        pattern = pattern_of(dag)
        again = extension(pattern)
        assert v_structures(again) == v_structures(dag)
        assert skeleton(again) == skeleton(dag)
        for child in range(6):
            assert pattern.parents[child] & ~dag[child] == 0


def test_directed_edges_of_a_pattern_are_those_all_dags_share():
    """The meaning of a pattern, by enumeration of all DAGs with four nodes."""
    classes = {}
    for dag in all_dags(4):
        classes.setdefault((skeleton(dag), v_structures(dag)), []).append(dag)
    for members in classes.values():
        pattern = pattern_of(members[0])
        for child in range(4):
            shared = members[0][child]
            for dag in members:
                shared &= dag[child]
            assert pattern.parents[child] == shared


def skeleton(dag):
    return frozenset(frozenset((p, c)) for c, above in enumerate(dag) for p in bits(above))


def v_structures(dag):
    edges = skeleton(dag)
    return frozenset(
        (min(a, b), c, max(a, b))
        for c, above in enumerate(dag)
        for a in bits(above)
        for b in bits(above)
        if a != b and frozenset((a, b)) not in edges
    )


def test_contradicting_constraints_are_refused():
    circle = EdgeConstraints(frozenset({(0, 1), (1, 0)}))
    both = EdgeConstraints(frozenset({(0, 1)}), frozenset({(0, 1)}))
    for rules in (circle, both):
        with pytest.raises(InputError):
            greedy_equivalence_search(2, lambda node, parents: 0.0, rules)


def test_sets_of_nodes():
    assert list(bits(mask([4, 1, 2]))) == [1, 2, 4]
