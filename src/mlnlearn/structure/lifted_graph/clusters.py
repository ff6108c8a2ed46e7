"""Clusters of constants, all types at once, so that atoms among clusters are mostly true or false.

The score of a clustering is that of Kok & Domingos (2009): of each relation and combination of
clusters, true and false atoms are as probable as their shares, with a prior of `STRENGTH` atoms at
the relation's own share; each combination with a true atom has a cost, and those without any are
taken together. Clusters begin as single constants, and are merged while the score rises.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from mlnlearn.run import check_time
from mlnlearn.structure.templates.atoms import NOTHING, AtomGraph, Numbers

STRENGTH = 10.0

Combination = tuple[int, tuple[int, ...]]
"""A predicate's number, and the clusters at its places."""


class Clustering:
    """A clustering of the constants of one database.

    Parameters
    ----------
    graph
        The true atoms of the database.
    cost
        Of a combination of clusters with a true atom.
    partners
        With how many clusters, those that share most neighbours, a merger is tried; None for all.

    Attributes
    ----------
    cluster_of
        The cluster of each node: the number of one of its members.
    true
        How many true atoms each combination of clusters has, of those that have any.
    """

    def __init__(self, graph: AtomGraph, cost: float, partners: int | None) -> None:
        self.cost, self.partners = cost, partners
        self.cluster_of: Numbers = np.arange(len(graph.kind))
        self.size = dict.fromkeys(range(len(graph.kind)), 1)
        self.true: Counter[Combination] = Counter()
        self.touching: dict[int, set[Combination]] = defaultdict(set)
        for label, row in zip(graph.label.tolist(), graph.nodes.tolist(), strict=True):
            self._put((label, tuple(node for node in row if node != NOTHING)), 1)
        self.covered = Counter(label for label, _ in self.true)
        constants = np.bincount(graph.kind).tolist()
        self.cells = {
            label: math.prod(constants[graph.kind[node]] for node in members)
            for label, members in self.true
        }
        self.share = {label: self.covered[label] / self.cells[label] for label in self.cells}

    def merged(self) -> Numbers:
        """Merge clusters, the best pairs of a round first, until no merger raises the score."""
        while True:
            check_time()
            gains = {pair: self.gain(*pair) for pair in self.pairs()}
            changed: set[int] = set()
            for pair in sorted(gains, key=lambda pair: (-gains[pair], pair)):
                if gains[pair] <= 0.0:
                    break
                # what was merged before may have changed what this one gains
                if not changed.intersection(pair) and self.gain(*pair) > 0.0:
                    self.merge(*pair)
                    changed.update(pair)
            if not changed:
                return self.cluster_of

    def merged_by_pairs(self) -> Numbers:
        """Merge one pair at a time, the best of all, until no merger raises the score."""
        while gains := [(-self.gain(*pair), pair) for pair in self.pairs()]:
            check_time()
            loss, pair = min(gains)
            if loss >= 0.0:
                break
            self.merge(*pair)
        return self.cluster_of

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of clusters that share neighbours, for each those that share most."""
        alike: dict[object, set[int]] = defaultdict(set)
        for label, members in self.true:
            for column, cluster in enumerate(members):
                alike[label, column, members[:column] + members[column + 1 :]].add(cluster)
        shared: dict[int, Counter[int]] = defaultdict(Counter)
        for clusters in alike.values():
            for one, other in combinations(sorted(clusters), 2):
                shared[one][other] += 1
        for one in sorted(shared):
            ordered = sorted(shared[one], key=lambda other: (-shared[one][other], other))
            yield from ((one, other) for other in ordered[: self.partners])

    def gain(self, one: int, other: int) -> float:
        """Return what the score gains where two clusters are one."""
        size = {**self.size, one: self.size[one] + self.size[other]}
        before = self.touching[one] | self.touching[other]
        covered: Counter[int] = Counter()
        change = 0.0
        for label, members in before:
            atoms = math.prod(self.size[cluster] for cluster in members)
            change -= self._inside(label, self.true[label, members], atoms)
            covered[label] -= atoms
        for (label, members), true in self._renamed(before, one, other).items():
            atoms = math.prod(size[cluster] for cluster in members)
            change += self._inside(label, true, atoms)
            covered[label] += atoms
        return change + sum(
            self._outside(label, self.covered[label] + more)
            - self._outside(label, self.covered[label])
            for label, more in covered.items()
        )

    def score(self) -> float:
        """Return the score of the clustering."""
        inside = sum(
            self._inside(label, true, math.prod(self.size[cluster] for cluster in members))
            for (label, members), true in self.true.items()
        )
        return inside + sum(self._outside(label, self.covered[label]) for label in self.cells)

    def merge(self, one: int, other: int) -> None:
        """Make two clusters one, under the name of the first."""
        before = self.touching[one] | self.touching[other]
        after = self._renamed(before, one, other)
        for label, members in before:
            self.covered[label] -= math.prod(self.size[cluster] for cluster in members)
            del self.true[label, members]
            for cluster in members:
                self.touching[cluster].discard((label, members))
        self.size[one] += self.size.pop(other)
        for (label, members), true in after.items():
            self.covered[label] += math.prod(self.size[cluster] for cluster in members)
            self._put((label, members), true)
        self.cluster_of = np.where(self.cluster_of == other, one, self.cluster_of)

    def _put(self, combination: Combination, true: int) -> None:
        self.true[combination] += true
        for cluster in combination[1]:
            self.touching[cluster].add(combination)

    def _renamed(self, before: set[Combination], one: int, other: int) -> Counter[Combination]:
        after: Counter[Combination] = Counter()
        for label, members in before:
            names = tuple(one if cluster == other else cluster for cluster in members)
            after[label, names] += self.true[label, members]
        return after

    def _inside(self, label: int, true: float, atoms: float) -> float:
        """Return the score of a combination of clusters that has true atoms."""
        prior, total, false = STRENGTH * self.share[label], atoms + STRENGTH, atoms - true
        found = true * math.log((true + prior) / total) - self.cost
        return found + (false * math.log((false + STRENGTH - prior) / total) if false else 0.0)

    def _outside(self, label: int, covered: float) -> float:
        """Return the score of a predicate's atoms in combinations that have no true one."""
        false = self.cells[label] - covered
        prior = STRENGTH * (1.0 - self.share[label])
        return false * math.log((false + prior) / (false + STRENGTH)) if false else 0.0
