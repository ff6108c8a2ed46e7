"""Growing one relational regression tree, best node first (algorithm 1 of Khot et al. 2011)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.pattern import Body
from mlnlearn.model.boosted.rules import Leaf, Node, Split, Tree
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.scoring import (
    BestTest,
    Floats,
    Mask,
    NodeSums,
    Regression,
    node_sums,
    split_gains,
)

_SMALLEST_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """Limits of a tree.

    Attributes
    ----------
    leaves
        Most leaves.
    min_examples, min_examples_of
        Fewest training examples on each side of a split; or, of a node, in all.
    existential
        Whether a leaf's value counts once, not once a grounding.
    """

    leaves: int = 8
    min_examples: int = 6
    min_examples_of: str = "side"
    existential: bool = False

    @property
    def fewest(self) -> tuple[int, int]:
        """The fewest examples of a node that is split, and of each of its sides."""
        if self.min_examples_of == "node":
            return max(self.min_examples, 2), 1
        return 2 * self.min_examples, self.min_examples


@dataclass(eq=False)
class _Branch:
    """A node while the tree grows; `reached` tells it of all examples, trained on or not."""

    body: Body
    reached: Mask
    regression: Regression
    test: Body = ()
    yes: _Branch | None = None
    no: _Branch | None = None
    value: float = 0.0
    # sums over the branch with the same conjunction that it is of, and who went elsewhere there
    before: tuple[NodeSums, Mask] | None = None

    def node(self) -> Node:
        if self.yes is None or self.no is None:
            return Leaf(self.value)
        return Split(self.test, self.yes.node(), self.no.node())


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """A tree, and what it gives to each example of the pool.

    Attributes
    ----------
    tree
        The tree.
    leaf
        Per example, the number of its leaf, in the order of the tree's paths.
    counts
        Per example, what the leaf's value is multiplied by; None for 1.
    """

    tree: Tree
    leaf: NDArray[np.int16]
    counts: Floats | None

    def values(self, tree: Tree) -> Floats:
        """Return each example's value under a tree of the same shape."""
        leaves = np.array([path.value for path in tree.paths])
        found: Floats = leaves[self.leaf]
        return found if self.counts is None else found * self.counts


def grow_tree(
    features: Features, gradient: Floats, weight: Floats, chosen: Mask, settings: TreeSettings
) -> Grown:
    """Fit a tree to the gradients.

    Parameters
    ----------
    features
        Candidates and counts for the pool of examples.
    gradient, weight
        Per example of the pool.
    chosen
        The examples to fit; the others are only routed.
    settings
        Limits.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.counting.objects import Objects
    >>> from mlnlearn.structure.boosting.language import language_of
    >>> schema = Schema.of("happy(person)", "rich(person)")
    >>> people = [f"P{i}" for i in range(4)]
    >>> facts = {"rich": [("P0",), ("P1",)]}
    >>> world = Objects([Database.from_facts(schema, facts, domains={"person": people})])
    >>> examples = np.array([[0] * 4, range(4)], np.int32)
    >>> language = language_of(world, "happy", ["rich"], max_constants=0)
    >>> features = Features(world, examples, ("person",), language)
    >>> gradient = np.array([1.0, 0.5, -1.0, -1.0])
    >>> grown = grow_tree(features, gradient, np.ones(4), np.ones(4, bool),
    ...                   TreeSettings(min_examples=1))
    >>> [path.value for path in grown.tree.paths]
    [0.75, -1.0]
    """
    size = len(features)
    everyone = np.ones(size, np.bool_)
    once = None if settings.existential else np.ones(size)
    inside = Regression(gradient, weight, chosen.copy(), once, settings.existential)
    start = _Branch((), everyone, inside, value=inside.value)
    waiting, leaves = [start], 1
    while waiting and leaves < settings.leaves:
        # the node with the worst squared error goes first; among equals the oldest
        errors = [branch.regression.error for branch in waiting]
        branch = waiting.pop(int(np.argmax(errors)))
        children = _split(features, branch, settings)
        if children is not None:
            waiting += children
            leaves += 1
    return _finished(start, size)


def _split(
    features: Features, branch: _Branch, settings: TreeSettings
) -> tuple[_Branch, _Branch] | None:
    """Split a branch by the best test there is, if any lowers its error."""
    number = int(np.count_nonzero(branch.regression.inside))
    if number < settings.fewest[0]:
        return None
    sums = _sums_of_branch(features, branch)
    best = best_split(sums, number, settings)
    if best is None:
        return None
    old, longer = branch.regression, branch.body + best.test
    counts = None if old.path is None else features.groundings(longer)
    holds = branch.reached & (features.holds(longer) if counts is None else counts > 0)

    def child(body: Body, reached: Mask, groundings: Floats | None) -> _Branch:
        regression = replace(old.among(reached), path=groundings)
        return _Branch(body, reached, regression, value=regression.value)

    branch.test = best.test
    branch.yes = child(longer, holds, None if counts is None else counts.astype(np.float64))
    branch.no = child(branch.body, branch.reached & ~holds, old.path)
    branch.no.before = sums, branch.yes.regression.inside
    branch.reached = np.empty(0, np.bool_)  # its children have what is needed
    branch.regression = replace(old, inside=branch.reached)
    return branch.yes, branch.no


def _sums_of_branch(features: Features, branch: _Branch) -> NodeSums:
    """Return sums over a branch: what is left of those before, where fewer examples went elsewhere.

    Sums are exact under existential semantics alone.
    """
    body, regression = branch.body, branch.regression
    if branch.before is not None and regression.existential:
        sums, elsewhere = branch.before
        if np.count_nonzero(elsewhere) < np.count_nonzero(regression.inside):
            others = replace(regression, inside=elsewhere)
            gone = node_sums(features, body, others, pairs=True, rest=True)
            return sums.without(gone, regression)
    return node_sums(features, body, regression, pairs=True, rest=True)


def best_split(sums: NodeSums, number: int, settings: TreeSettings) -> BestTest | None:
    """Return the test that lowers the squared error of so many examples most, if any does."""
    side = settings.fewest[1]
    regression = sums.regression
    total = regression.moments[2]
    least = total - regression.error + _SMALLEST_GAIN * total
    best = None
    for listed, sums_of_block in sums:
        few = np.minimum(sums_of_block.examples, number - sums_of_block.examples) < side
        gains = np.where(few, -np.inf, split_gains(sums_of_block))
        place = int(np.argmax(gains)) if len(gains) else 0
        if not len(gains):
            continue
        found = BestTest(float(gains[place]), listed.test(place), listed.rank(place))
        if _is_better(found, best, least):
            best = found
    return best


def _is_better(found: BestTest, best: BestTest | None, least: float) -> bool:
    """Tell whether a candidate is better than the best so far, or as good and comes before it."""
    if best is None:
        return found.gain > least
    return found.gain > best.gain or (found.gain == best.gain and found.rank < best.rank)


def _finished(start: _Branch, size: int) -> Grown:
    leaf = np.empty(size, np.int16)
    counts = None if start.regression.path is None else np.empty(size)
    number = 0

    def visit(branch: _Branch) -> None:
        nonlocal number
        if branch.yes is None or branch.no is None:
            leaf[branch.reached] = number
            if counts is not None and branch.regression.path is not None:
                counts[branch.reached] = branch.regression.path[branch.reached]
            number += 1
            return
        visit(branch.yes)
        visit(branch.no)

    visit(start)
    return Grown(Tree(start.node()), leaf, counts)
