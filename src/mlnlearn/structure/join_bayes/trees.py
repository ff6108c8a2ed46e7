"""Decision trees on the counts of a family: C4.5's splits, for probabilities.

Quinlan (1993): a node is split on all values of the parent with the highest gain ratio among those
of at least average gain. Without pruning and with Laplace's correction at the leaves, such trees
estimate probabilities well (Provost & Domingos 2003).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.late import late
from mlnlearn.structure.join_bayes.counts import Counts

special = late("scipy.special")

Floats = NDArray[np.float64]
Path = tuple[tuple[int, int], ...]
PRUNING = ("none", "collapse", "bic")


@dataclass(frozen=True)
class TreeNode:
    """A leaf, or a split on one parent with a branch for each of its values that were seen.

    Attributes
    ----------
    counts
        How often each value of the child was seen here.
    split
        Place of the parent asked for, -1 at a leaf.
    branches
        A subtree for each value of that parent.
    """

    counts: tuple[float, ...]
    split: int = -1
    branches: tuple[tuple[int, TreeNode], ...] = ()

    def leaves(self, path: Path = ()) -> Iterator[tuple[Path, tuple[float, ...]]]:
        """Yield each leaf's counts, with the (parent, value) pairs on the way to it."""
        if self.split < 0:
            yield path, self.counts
        for value, branch in self.branches:
            yield from branch.leaves((*path, (self.split, value)))

    def unseen(
        self, sizes: Sequence[int], path: Path = ()
    ) -> Iterator[tuple[Path, tuple[float, ...]]]:
        """Yield the ways that no data went, with the counts of the last node on the way.

        `sizes` are the numbers of values of the parents.
        """
        if self.split < 0:
            return
        seen = dict(self.branches)
        for value in range(sizes[self.split]):
            way = (*path, (self.split, value))
            if value in seen:
                yield from seen[value].unseen(sizes, way)
            else:
                yield way, self.counts


def grow_tree(family: Counts, *, min_rows: float = 2.0, pruning: str = "none") -> TreeNode:
    """Grow a tree that predicts the first node of a family from the others.

    Parameters
    ----------
    family
        Counts of the child and its parents.
    min_rows
        At least two branches of a split must have this count.
    pruning
        ``none``; ``collapse``: undo splits that predict no more rows right, as C4.5 does before
        pruning; ``bic``: undo splits whose gain in likelihood is not worth their parameters.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.model.bayesnet_nodes import NetNode
    >>> wet, rain = (NetNode(Predicate(name), (), ("F", "T")) for name in ("wet", "rain"))
    >>> codes = np.array([[0, 1, 1], [0, 0, 1]], np.int32)
    >>> tree = grow_tree(Counts((wet, rain), tuple(codes), np.array([8, 1, 5])))
    >>> list(tree.leaves())
    [(((0, 0),), (8.0, 1.0)), (((0, 1),), (0.0, 5.0))]
    """
    if pruning not in PRUNING:
        raise ValueError(f"no pruning {pruning!r}; there are: {', '.join(PRUNING)}")
    child, *parents = family.columns
    grower = _Grower([node.size for node in family.nodes], min_rows)
    counts = family.mean
    tree = grower.grow(child, parents, counts, tuple(range(len(parents))))
    return tree if pruning == "none" else _pruned(tree, pruning, float(counts.sum()))


@dataclass(frozen=True)
class _Grower:
    sizes: list[int]
    min_rows: float

    def grow(
        self,
        child: NDArray[np.int32],
        parents: list[NDArray[np.int32]],
        counts: Floats,
        free: tuple[int, ...],
    ) -> TreeNode:
        values = self.sizes[0]
        here = weighted_bins(child, counts, values)
        leaf = TreeNode(tuple(here.tolist()))
        if here.max(initial=0.0) == here.sum() or here.sum() < 2 * self.min_rows:
            return leaf
        split = self._best(child, parents, counts, free)
        if split < 0:
            return leaf
        left = tuple(place for place in free if place != split)
        branches = []
        for value in np.unique(parents[split]).tolist():
            rows = parents[split] == value
            below = [column[rows] for column in parents]
            branches.append((value, self.grow(child[rows], below, counts[rows], left)))
        return TreeNode(leaf.counts, split, tuple(branches))

    def _best(
        self,
        child: NDArray[np.int32],
        parents: list[NDArray[np.int32]],
        counts: Floats,
        free: tuple[int, ...],
    ) -> int:
        """Return the parent with the best gain ratio among those of average gain or more."""
        found = []
        for place in free:
            size = self.sizes[place + 1]
            keys = parents[place] * self.sizes[0] + child
            table = weighted_bins(keys, counts, size * self.sizes[0]).reshape(size, -1)
            branches = table.sum(axis=1)
            if np.count_nonzero(branches >= self.min_rows) < 2:
                continue
            total = branches.sum()
            gain = (_entropy(table.sum(axis=0)) - sum(map(_entropy, table))) / total
            if gain > 1e-12:
                found.append((gain, gain / (_entropy(branches) / total), place))
        if not found:
            return -1
        average = sum(gain for gain, _, _ in found) / len(found)
        # C4.5 allows for rounding in the same way
        good = [(ratio, -place) for gain, ratio, place in found if gain >= average - 1e-3]
        return -max(good)[1]


def weighted_bins(keys: NDArray[np.integer], counts: Floats, size: int) -> Floats:
    """Return the sum of the counts of each key below `size`."""
    return np.bincount(keys, counts, size).astype(np.float64, copy=False)


def _entropy(counts: Floats) -> float:
    """Return the entropy of counts in nats, times their sum."""
    return float(special.xlogy(counts.sum(), counts.sum()) - special.xlogy(counts, counts).sum())


def _pruned(tree: TreeNode, pruning: str, total: float) -> TreeNode:
    """Prune from below: a subtree gives way to a leaf that serves as well."""
    if tree.split < 0:
        return tree
    branches = tuple((value, _pruned(branch, pruning, total)) for value, branch in tree.branches)
    smaller = TreeNode(tree.counts, tree.split, branches)
    leaf = TreeNode(tree.counts)
    leaves = [np.array(counts) for _, counts in smaller.leaves()]
    own = np.array(tree.counts)
    if pruning == "collapse":
        wrong = sum(float(counts.sum() - counts.max()) for counts in leaves)
        return leaf if own.sum() - own.max() <= wrong + 1e-3 else smaller
    gain = _entropy(own) - sum(map(_entropy, leaves))
    price = (len(leaves) - 1) * (np.count_nonzero(own) - 1) * np.log(total) / 2
    return leaf if gain <= price else smaller
