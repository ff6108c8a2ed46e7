"""Decision trees on counts: splits by gain ratio, leaves that add up, pruning."""

import math

import numpy as np
import pytest

from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.bayesnet_nodes import NetNode
from mlnlearn.structure.join_bayes.counts import Counts
from mlnlearn.structure.join_bayes.trees import grow_tree


def family(columns, sizes, counts=None):
    nodes = tuple(
        NetNode(Predicate(f"n{k}"), (), tuple(map(str, range(s)))) for k, s in enumerate(sizes)
    )
    rows, weights = np.unique(np.asarray(columns), axis=1, return_counts=True)
    if counts is not None:
        rows, weights = np.asarray(columns), np.asarray(counts)
    return Counts(nodes, tuple(rows.astype(np.int32)), weights.astype(np.int64))


def entropy(counts):
    shares = np.array([c for c in counts if c]) / sum(counts)
    return -sum(p * math.log(p) for p in shares)


def gain_ratio(columns, place, size):
    child, parent = columns[0], columns[place + 1]
    parts = [np.bincount(child[parent == v], minlength=3) for v in range(size)]
    total = len(child)
    gain = entropy(np.bincount(child)) - sum(p.sum() / total * entropy(p) for p in parts if p.sum())
    return gain, gain / entropy([p.sum() for p in parts])


def test_the_first_split_has_the_best_gain_ratio():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sizes = [3, 2, 3, 4]
        columns = np.stack([rng.integers(s, size=60) for s in sizes])
        columns[0] = np.where(rng.random(60) < 0.5, columns[2], columns[0])
        found = [gain_ratio(columns, place, sizes[place + 1]) for place in range(3)]
        average = sum(gain for gain, _ in found) / 3
        allowed = [ratio if gain >= average - 1e-3 else -1.0 for gain, ratio in found]
        assert grow_tree(family(columns, sizes)).split == int(np.argmax(allowed))


def test_leaves_partition_the_rows():
    rng = np.random.default_rng(1)
    sizes = [3, 2, 3, 4]
    columns = np.stack([rng.integers(s, size=500) for s in sizes])
    for pruning in ("none", "collapse", "bic"):
        leaves = list(grow_tree(family(columns, sizes), pruning=pruning).leaves())
        covered = np.zeros(500, int)
        for path, counts in leaves:
            rows = np.ones(500, bool)
            for place, value in path:
                rows &= columns[place + 1] == value
            covered += rows
            assert np.bincount(columns[0][rows], minlength=3).tolist() == list(counts)
        assert (covered == 1).all()


def test_exclusive_or_needs_both_parents():
    columns = np.array([[0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]])
    # a small bias, or no first split would gain anything
    tree = grow_tree(family(columns, [2, 2, 2], [30, 31, 30, 30]))
    assert [max(c) / sum(c) for _, c in tree.leaves()] == [1.0] * 4


def test_context_specific_independence_saves_leaves():
    """Where the first parent is 0, the second says nothing: three leaves, not four."""
    columns = np.array([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 1, 0, 1, 0]])
    tree = grow_tree(family(columns, [2, 2, 2], [40, 40, 30, 50, 10]))
    assert len(list(tree.leaves())) == 3


def test_a_split_needs_two_branches_with_enough_rows():
    columns = np.array([[0, 1], [0, 1]])
    assert grow_tree(family(columns, [2, 2], [50, 1])).split == -1
    assert grow_tree(family(columns, [2, 2], [50, 2])).split == 0


def test_pruning_undoes_what_does_not_pay():
    columns = np.array([[0, 1, 0, 1], [0, 0, 1, 1]])
    counts = [60, 40, 62, 38]  # no difference to speak of, and the same value is best in both
    assert grow_tree(family(columns, [2, 2], counts)).split == 0
    assert grow_tree(family(columns, [2, 2], counts), pruning="bic").split == -1
    assert grow_tree(family(columns, [2, 2], counts), pruning="collapse").split == -1
    sure = grow_tree(family(columns, [2, 2], [95, 5, 60, 40]), pruning="bic")
    assert sure.split == 0
    with pytest.raises(ValueError, match="pruning"):
        grow_tree(family(columns, [2, 2], counts), pruning="all")
