"""Growing one relational regression tree, best node first (algorithm 1 of Khot et al. 2011)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.pattern import Body
from mlnlearn.model.boosted.rules import Leaf, Node, Split, Tree
from mlnlearn.structure.boosting.class_regression import AnyRegression
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.regression import Floats, Mask, Regression
from mlnlearn.structure.boosting.scoring import (
    BestTest,
    CandidateScores,
    NodeSums,
    node_sums,
)
from mlnlearn.threads import in_slices

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
    """A node while the tree grows.

    Attributes
    ----------
    number
        Which examples reach it, in `_GrowingTree.of`, until it is split.
    body
        The tests that held on the way.
    leaf, error, moments
        The best leaf, the squared error that remains with it, and what a single value was made of.
    before
        The branch that the others of its parent went to, and sums over all of these; the parent has
        the same conjunction.
    """

    number: int
    body: Body
    leaf: Leaf
    error: float
    moments: tuple[float, float, float] | None = None
    before: tuple[_Branch, NodeSums] | None = None
    test: Body = ()
    yes: _Branch | None = None
    no: _Branch | None = None

    def node(self) -> Node:
        if self.yes is None or self.no is None:
            return self.leaf
        return Split(self.test, self.yes.node(), self.no.node())

    def leaves(self) -> list[_Branch]:
        """Return the branches below that are not split, in the order of the tree's paths."""
        if self.yes is None or self.no is None:
            return [self]
        return self.yes.leaves() + self.no.leaves()


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
    counts: NDArray[np.integer] | None

    def values(self, tree: Tree) -> Floats:
        """Return each example's value under a tree of the same shape."""
        leaves = np.array([path.value for path in tree.paths])
        found = np.empty(len(self.leaf))

        def fill(part: slice) -> None:
            np.take(leaves, self.leaf[part], out=found[part], mode="clip")
            if self.counts is not None:
                found[part] *= self.counts[part]

        in_slices(fill, len(found))
        return found


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
    regression = Regression(gradient, weight, chosen, None, settings.existential)
    return grow(features, regression, settings)


def grow(features: Features, regression: AnyRegression, settings: TreeSettings) -> Grown:
    """Fit a tree to what is to be fitted at its root; see `grow_tree`."""
    growing = _GrowingTree(features, regression, settings)
    start = growing.branch((), 0)
    waiting, leaves = [start], 1
    while waiting and leaves < settings.leaves:
        # the node with the worst squared error goes first; among equals the oldest
        branch = waiting.pop(int(np.argmax([branch.error for branch in waiting])))
        children = growing.split(branch)
        if children is not None:
            waiting += children
            leaves += 1
    order = np.empty(growing.numbers, np.int16)
    for place, leaf in enumerate(start.leaves()):
        order[leaf.number] = place
    return Grown(Tree(start.node()), order[growing.of], growing.groundings)


class _GrowingTree:
    """Where the examples of the pool are while a tree grows: each in one branch.

    Attributes
    ----------
    of
        Per example, trained on or not, the number of its branch.
    groundings
        Per example, how many its branch's conjunction has; None where that holds or not.
    numbers
        How many branches there were.
    """

    def __init__(
        self, features: Features, regression: AnyRegression, settings: TreeSettings
    ) -> None:
        self.features, self.chosen, self.settings = features, regression.inside, settings
        size = len(features)
        self.of = np.zeros(size, np.int16)
        self.groundings = None if settings.existential else features.groundings(())
        self.numbers = 1
        self._whole = regression.rooted(self.groundings)

    def regression(self, branch: _Branch) -> AnyRegression:
        """Return the gradients of the examples that reached a branch."""
        inside = self._reached(branch)
        if isinstance(self._whole, Regression):
            return self._whole.of(inside, self.groundings, branch.moments)
        return self._whole.of(inside, self.groundings)

    def _reached(self, branch: _Branch, *others: _Branch) -> Mask:
        reached = np.empty(len(self.of), np.bool_)

        def fill(part: slice) -> None:
            # compared with one number after the other, which is faster than to look up each
            np.equal(self.of[part], branch.number, out=reached[part])
            for other in others:
                reached[part] |= self.of[part] == other.number
            reached[part] &= self.chosen[part]

        in_slices(fill, len(reached))
        return reached

    def branch(self, body: Body, number: int) -> _Branch:
        """Return a branch of the examples that have its number."""
        found = _Branch(number, body, Leaf(0.0), 0.0)
        regression = self.regression(found)
        found.leaf, found.error = regression.leaf, regression.error
        if isinstance(regression, Regression):
            found.moments = regression.moments
        return found

    def split(self, branch: _Branch) -> tuple[_Branch, _Branch] | None:
        """Split a branch by the best test there is, if any lowers its error."""
        regression = self.regression(branch)
        number = int(np.count_nonzero(regression.inside))
        if number < self.settings.fewest[0]:
            return None
        sums = None
        if isinstance(regression, Regression):
            sums = self._sums(branch, regression)
            best = best_split(sums.scores(splits=True), regression, number, self.settings)
        else:
            scores = regression.scores(self.features, branch.body, pairs=True, splits=True)
            chance = regression.gain_by_chance(sum(len(block.gains) for block in scores))
            best = best_split(scores, regression, number, self.settings, chance)
        if best is None:
            return None
        longer = branch.body + best.test
        yes, no = self.numbers, self.numbers + 1
        self._send(branch, longer, yes, no)
        branch.test = best.test
        branch.yes, branch.no = self.branch(longer, yes), self.branch(branch.body, no)
        branch.no.before = None if sums is None else (branch.yes, sums)
        return branch.yes, branch.no

    def _send(self, branch: _Branch, longer: Body, yes: int, no: int) -> None:
        """Send on the examples of a branch: those with a longer conjunction, and the others."""
        self.numbers += 2
        counts = None
        if self.groundings is None:
            holds = self.features.holds(longer)
        else:
            counts = self.features.groundings(longer)
            holds = counts > 0
            if counts.itemsize > self.groundings.itemsize:
                self.groundings = self.groundings.astype(counts.dtype)

        def send(part: slice) -> None:
            of, inside = self.of[part], self.of[part] == branch.number
            there = inside & holds[part]
            of[inside] = no
            of[there] = yes
            if counts is not None and self.groundings is not None:
                np.copyto(self.groundings[part], counts[part], where=there)

        in_slices(send, len(self.of))

    def _sums(self, branch: _Branch, regression: Regression) -> NodeSums:
        """Return sums over a branch: what is left of those before, where fewer went elsewhere.

        Sums are exact under existential semantics alone.
        """
        before, branch.before = branch.before, None
        if before is not None and regression.existential:
            elsewhere, sums = before
            others = regression.of(self._reached(*elsewhere.leaves()), self.groundings)
            if np.count_nonzero(others.inside) < np.count_nonzero(regression.inside):
                gone = node_sums(self.features, branch.body, others, pairs=True, rest=True)
                return sums.without(gone, regression)
        return node_sums(self.features, branch.body, regression, pairs=True, rest=True)


def best_split(
    scores: Iterable[CandidateScores],
    regression: AnyRegression,
    number: int,
    settings: TreeSettings,
    more: float = 0.0,
) -> BestTest | None:
    """Return the test that lowers the squared error of so many examples most, if any does.

    It must lower it by `more` than a leaf does.
    """
    side = settings.fewest[1]
    total = regression.total
    least = total - regression.error + _SMALLEST_GAIN * total + more
    best = None
    for block in scores:
        few = np.minimum(block.examples, number - block.examples) < side
        gains = np.where(few, -np.inf, block.gains)
        if not len(gains):
            continue
        place = int(np.argmax(gains))
        listed = block.listed
        found = BestTest(float(gains[place]), listed.test(place), listed.rank(place))
        if _is_better(found, best, least):
            best = found
    return best


def _is_better(found: BestTest, best: BestTest | None, least: float) -> bool:
    """Tell whether a candidate is better than the best so far, or as good and comes before it."""
    if best is None:
        return found.gain > least
    return found.gain > best.gain or (found.gain == best.gain and found.rank < best.rank)
