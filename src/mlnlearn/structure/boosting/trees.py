"""Growing one relational regression tree, best node first (algorithm 1 of Khot et al. 2011)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import Ints
from mlnlearn.counting.pattern import Body
from mlnlearn.model.boosted.rules import Leaf, Node, Split, Tree
from mlnlearn.structure.boosting.candidates import FeatureBlock
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.scoring import (
    BestTest,
    Floats,
    Mask,
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
    counts: Floats
    regression: Regression
    test: Body = ()
    yes: _Branch | None = None
    no: _Branch | None = None
    value: float = 0.0

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
        Per example, what the leaf's value is multiplied by.
    """

    tree: Tree
    leaf: Ints
    counts: Floats

    def values(self, tree: Tree) -> Floats:
        """Return each example's value under a tree of the same shape."""
        leaves = np.array([path.value for path in tree.paths])
        result: Floats = leaves[self.leaf] * self.counts
        return result


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
    start = _branch((), np.ones(size, np.bool_), np.ones(size), gradient, weight, chosen, settings)
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


def _branch(
    body: Body,
    reached: Mask,
    counts: Floats,
    gradient: Floats,
    weight: Floats,
    chosen: Mask,
    settings: TreeSettings,
) -> _Branch:
    inside = reached & chosen
    path = np.ones(len(counts)) if settings.existential else counts
    regression = Regression(
        gradient, np.where(inside, weight, 0.0), inside, path, settings.existential
    )
    return _Branch(body, reached, path, regression, value=regression.value)


def _split(
    features: Features, branch: _Branch, settings: TreeSettings
) -> tuple[_Branch, _Branch] | None:
    """Split a branch by the best test there is, if any lowers its error."""
    best = best_split(features, branch.body, branch.regression, settings)
    if best is None:
        return None
    block = best.block
    kept = block.counts(best.number) if block.whole else None
    holders, many = kept or features.holders(branch.body + best.test)
    counts = np.zeros(len(features))
    counts[holders] = many
    holds = branch.reached & (counts > 0)
    old = branch.regression

    def child(body: Body, reached: Mask, groundings: Floats) -> _Branch:
        return _branch(body, reached, groundings, old.gradient, old.weight, old.inside, settings)

    branch.test = best.test
    branch.yes = child(branch.body + best.test, holds, counts)
    branch.no = child(branch.body, branch.reached & ~holds, branch.counts)
    return branch.yes, branch.no


def best_split(
    features: Features, body: Body, regression: Regression, settings: TreeSettings
) -> BestTest | None:
    """Return the test that lowers the squared error most, or None where none does."""
    number = np.count_nonzero(regression.inside)
    whole, side = settings.fewest
    if number < whole or features.is_too_large(body):
        return None
    total = regression.moments[2]
    least = total - regression.error + _SMALLEST_GAIN * total
    best = None
    for block, sums in node_sums(features, body, regression, pairs=True, rest=True):
        few = np.minimum(sums.examples, number - sums.examples) < side
        gains = np.where(few, -np.inf, split_gains(sums))
        place = int(np.argmax(gains)) if len(gains) else 0
        if len(gains) and _is_better(float(gains[place]), block, best, least):
            best = BestTest(float(gains[place]), block.test(place), block, place)
    return best


def _is_better(gain: float, block: FeatureBlock, best: BestTest | None, least: float) -> bool:
    """Tell whether a candidate is better than the best so far, or as good and comes before it."""
    if best is None:
        return gain > least
    return gain > best.gain or (gain == best.gain and block.place < best.block.place)


def _finished(start: _Branch, size: int) -> Grown:
    leaf, counts = np.empty(size, np.int64), np.empty(size)
    number = 0

    def visit(branch: _Branch) -> None:
        nonlocal number
        if branch.yes is None or branch.no is None:
            leaf[branch.reached] = number
            counts[branch.reached] = branch.counts[branch.reached]
            number += 1
            return
        visit(branch.yes)
        visit(branch.no)

    visit(start)
    return Grown(Tree(start.node()), leaf, counts)
