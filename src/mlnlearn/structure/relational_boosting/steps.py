"""Boosting steps over a table of features: grow a tree, add it to the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.model.relational.axis import ByName
from mlnlearn.model.relational.trees import LARGEST, FeatureNode, Test
from mlnlearn.structure.relational_boosting.feature_table import FeatureTable
from mlnlearn.structure.relational_boosting.folds import Strata
from mlnlearn.structure.relational_boosting.grow import GrowingNode, GrowSettings
from mlnlearn.structure.relational_boosting.losses import Loss
from mlnlearn.structure.relational_boosting.name_axis import NamedExamples
from mlnlearn.structure.relational_boosting.name_grow import grow_by_name, leaf_values
from mlnlearn.structure.relational_boosting.splits import grow
from mlnlearn.structure.relational_boosting.step_kernels import add_values, leaves, summed

_OF_RARER, _FEWEST_ROWS = 12, 3000  # most rows of a tree, by how many have the rarer label
_SKETCH = 8  # gradients of more classes are looked at through so many random mixtures of them

NOTHING = np.zeros(256, np.bool_)
"""The bins that pass of a sparse column, which has none."""
BinTest: TypeAlias = tuple[int, NDArray[np.bool_]]
"""A test by the number of its feature, and by which bins pass; who has a sparse column passes."""
_AnyNode = TypeVar("_AnyNode", FeatureNode, GrowingNode)
_STEPS_TO_DOUBLE, _MOST_RATES = 40, 4.0  # by how much later steps go further


@dataclass(frozen=True)
class TreeStepSettings:
    """How a step is made.

    Attributes
    ----------
    rate
        How far a step goes.
    share
        Share of the features that a tree may use.
    max_rows
        Most examples that a tree is grown on.
    size
        How trees are grown.
    seed
        Of the choice of features.
    longer
        Whether later steps, which have less left to say, go further: relations have many examples
        and features, and each step takes long.
    """

    rate: float
    share: float
    max_rows: int
    size: GrowSettings
    seed: int
    longer: bool = False

    def with_caution(self, caution: float) -> TreeStepSettings:
        """Return settings that doubt gains of chance more or less."""
        return replace(self, size=replace(self.size, caution=caution))


@dataclass(eq=False)
class BoostingRun:
    """A run over some of the examples, under way.

    Attributes
    ----------
    strata
        The examples that it learns from, which each tree has a sample of.
    usable
        Which features of the table it may use.
    scores
        Of all examples, those that do not take part among them.
    trees
        So far.
    named
        The names of examples on an axis: leaves of its trees have a value for each.
    """

    table: FeatureTable
    loss: Loss
    label: Floats
    weight: Floats
    strata: Strata
    settings: TreeStepSettings
    usable: NDArray[np.bool_]
    named: NamedExamples | None = None

    def __post_init__(self) -> None:
        self._own = self.label[self.rows], self.weight[self.rows]
        self.start = self.loss.start(*self._own)
        self.scores = np.repeat(self.start[None], len(self.label), axis=0)
        self.trees: list[FeatureNode] = []
        self.mark()

    @property
    def rows(self) -> Ints:
        """The examples that it learns from."""
        return self.strata.rows

    def step(self) -> FeatureNode:
        """Grow a tree and add it.

        Its tests are chosen by the examples drawn, the values of its leaves are those of all: what
        a few examples, each of which stands for many, add up to is far from certain.
        """
        number = len(self.trees)
        gradients, curvatures = self._slopes()
        nodes = _by_level(self._grown(number, *self._drawn_of(number, gradients, curvatures)))
        places = self._places([None if node.cut is None else node.cut.bins for node in nodes])
        sums = self._sums(places, len(nodes), gradients, curvatures)
        tree = self._finished(nodes, sums, self._rate(number))
        self._add(tree, places)
        return tree

    def _grown(self, number: int, rows: Ints, gradients: Floats, curvatures: Floats) -> GrowingNode:
        binned, size, use = self.table.binned, self.settings.size, self._chosen(number)
        if self.named is not None:
            return grow_by_name(binned, rows, (gradients, curvatures), self.named, use, size)
        seen, curved = _sketch(gradients, curvatures, self.settings.seed + number)
        return grow(binned, rows, seen, curved, use, size)

    def _sums(self, nodes: Ints, number: int, gradients: Floats, curvatures: Floats) -> Floats:
        """Return the sums of slopes of its examples by their nodes, a row each; and by names.

        Nodes are told of all examples, slopes of those that it learns from.
        """
        names = 1
        if self.named is not None:
            names = self.named.number
            nodes = names * nodes + self.named.places
        sums: Floats = summed(nodes, self.rows, gradients, curvatures, names * number)
        if names == 1:
            return sums
        return sums.T.reshape(2, number, names).swapaxes(0, 1).reshape(number, -1)

    def add(self, tree: FeatureNode) -> None:
        """Add a tree to the scores of all examples."""
        nodes = _by_level(tree)
        tests = [None if node.test is None else self.bins_of(node.test) for node in nodes]
        self._add(tree, self._places(tests))

    def _add(self, tree: FeatureNode, places: Ints) -> None:
        """Add a tree, by the leaf of each example."""
        nodes = _by_level(tree)
        if self.named is not None and tree.by_name is not None:
            table = np.array([node.by_name.values for node in nodes if node.by_name])
            self.scores[:, 0] += table[places, self.named.places]
        else:
            add_values(self.scores, np.array([node.values for node in nodes]), places)
        self.trees.append(tree)

    def _places(self, tests: Sequence[BinTest | None]) -> Ints:
        """Return the leaf that each example comes to; a tree's tests are given level by level."""
        binned, number = self.table.binned, len(tests)
        features, below = np.full(number, -1), np.zeros(number, np.int64)
        passing = np.zeros((number, 256), np.bool_)
        columns: list[NDArray[np.bool_]] = []
        fresh = 1
        for at, test in enumerate(tests):
            if test is None:
                continue
            features[at], passing[at] = test
            below[at], fresh = fresh, fresh + 2
            if test[0] >= binned.dense:
                features[at] = binned.dense + len(columns)
                columns.append(binned.has(test[0] - binned.dense))
        has = np.array(columns, np.bool_).reshape(len(columns), len(self.scores))
        found: Ints = leaves(len(self.scores), (binned.bins, has), (features, passing, below))
        return found

    def mark(self) -> None:
        """Remember where the run is: it may be taken back to here."""
        self.marked = len(self.trees), self.scores.copy()

    def afresh(self) -> BoostingRun:
        """Return the run before its first step."""
        return replace(self)

    def taken_back(self) -> BoostingRun:
        """Return the run as it was when it was marked."""
        found = self.afresh()
        steps, scores = self.marked
        found.trees, found.scores = self.trees[:steps], scores.copy()
        return found

    def blended(self, by: float, start: Floats) -> BoostingRun:
        """Return the run with the values of all trees multiplied.

        Parameters
        ----------
        by
            What the trees that there are count.
        start
            The scores before all trees.
        """
        found = self.afresh()
        found.start = start
        found.trees = [tree.scaled(by) for tree in self.trees] if by else []
        found.scores = start + by * (self.scores - self.start)
        return found

    def deviance(self, rows: Ints) -> float:
        """Return the mean deviance of some examples."""
        return self.loss.deviance(self.scores[rows], self.label[rows], self.weight[rows])

    def drawn_slopes(self, number: int) -> tuple[Ints, Floats, Floats]:
        """Return examples that stand for all, with their gradients and curvatures."""
        return self._drawn_of(number, *self._slopes())

    def _drawn_of(
        self, number: int, gradients: Floats, curvatures: Floats
    ) -> tuple[Ints, Floats, Floats]:
        """Return the examples of a tree, with their slopes, of those of all examples."""
        places, factor = self._drawn_places(number)
        by = factor[:, None]
        return self.rows[places], by * gradients[places], by * curvatures[places]

    def _slopes(self) -> tuple[Floats, Floats]:
        """Return the gradients and curvatures of the examples that it learns from."""
        return self.loss.slopes(self.scores[self.rows], *self._own)

    def drawn(self, number: int) -> tuple[Ints, Floats]:
        """Return the examples that a tree is grown on, where there are many a sample of them.

        Of the rarer of two labels as many are drawn as of the other, if there are so many. Those
        drawn stand for all, each for so many.
        """
        places, factor = self._drawn_places(number)
        return self.rows[places], factor

    def _drawn_places(self, number: int) -> tuple[Ints, Floats]:
        return self.strata.drawn(self.settings.seed, number, 2)

    def _chosen(self, number: int) -> NDArray[np.bool_]:
        total = self.table.binned.dense + len(self.table.columns)
        rng = np.random.default_rng([self.settings.seed, number])
        use = (rng.random(total) < self.settings.share) & self.usable
        return use if use.any() else self.usable

    def _rate(self, number: int) -> float:
        """Return how far a step goes."""
        by = min(1.0 + number / _STEPS_TO_DOUBLE, _MOST_RATES) if self.settings.longer else 1.0
        return self.settings.rate * by

    def _finished(self, nodes: Sequence[GrowingNode], sums: Floats, rate: float) -> FeatureNode:
        """Return a grown tree with tests in words and values.

        Parameters
        ----------
        nodes
            Its nodes, level by level.
        sums
            Of both slopes at each leaf, a row a node; those of other nodes are added up here.
        rate
            How far the step goes.
        """
        places = [*_places_below(nodes)]
        for at, below in reversed(places):
            sums[at] = sums[below] + sums[below + 1]
        found = self._leaves_of(nodes, sums, rate)
        for at, below in reversed(places):
            cut = nodes[at].cut
            assert cut is not None
            test = self._test(cut.feature, cut.passing)
            found[at] = replace(found[at], test=test, yes=found[below], no=found[below + 1])
        return found[0]

    def _leaves_of(
        self, nodes: Sequence[GrowingNode], sums: Floats, rate: float
    ) -> list[FeatureNode]:
        """Return each node as if it were a leaf: what it adds to the scores of its examples."""
        ridge = self.settings.size.ridge
        if self.named is None:
            gradients, curvatures = np.split(sums, 2, axis=1)
            values = rate * gradients / (curvatures + ridge)
            return [FeatureNode(tuple(row)) for row in values.tolist()]
        leaves = np.array([node.cut is None for node in nodes])
        means, names = leaf_values(sums, leaves, ridge)
        return [
            FeatureNode((mean,), by_name=ByName(self.named.axis, tuple(row)))
            for mean, row in zip((rate * means).tolist(), (rate * names).tolist(), strict=True)
        ]

    def _test(self, feature: int, passing: NDArray[np.bool_]) -> Test:
        table = self.table
        if feature >= table.binned.dense:
            return Test(table.columns[feature - table.binned.dense], 0.5)
        opened = table.opened[feature]
        missing = bool(passing[255])
        if opened.binning.names is not None:
            names = tuple(name for at, name in enumerate(opened.binning.names) if passing[at])
            return Test(opened.feature, None, names, missing)
        bins = np.flatnonzero(passing[: opened.binning.size])
        edge = float(opened.binning.edges[bins[0] - 1]) if len(bins) else LARGEST
        return Test(opened.feature, edge, (), missing)

    def passes(self, test: Test, rows: Ints) -> NDArray[np.bool_]:
        """Return which examples pass a test."""
        if self.named is not None and test.feature == self.named.axis.feature:
            wanted = np.isin(self.named.axis.names, test.names)  # rare names have no bins
            return np.asarray(wanted[self.named.places[rows]])
        return self.table.binned.passes(self.bins_of(test), rows)

    def bins_of(self, test: Test) -> BinTest:
        """Return the number of the feature of a test, and which of its bins pass."""
        table = self.table
        place = table.place(test.feature)
        if place >= table.binned.dense:
            return place, NOTHING
        return place, table.opened[place].binning.passing(test)


def _by_level(root: _AnyNode) -> list[_AnyNode]:
    """Return the nodes of a tree; the two below a node stand together, in the order of nodes."""
    nodes = [root]
    for node in nodes:  # which grows
        if node.yes is not None and node.no is not None:
            nodes += [node.yes, node.no]
    return nodes


def _places_below(nodes: Sequence[GrowingNode]) -> Iterator[tuple[int, int]]:
    """Yield the places of inner nodes, level by level, each with that of the first node below."""
    below = 1
    for at, node in enumerate(nodes):
        if node.cut is not None:
            yield at, below
            below += 2


def strata_of(loss: Loss, label: Floats, rows: Ints, most: int) -> Strata:
    """Return what the examples of trees are drawn of, at most so many.

    Parameters
    ----------
    loss, label
        What is lowered, and the labels of all examples.
    rows
        Those of a run.
    most
        Most examples that a tree is grown on.
    """
    if loss.kind != "logistic":
        return Strata.of(rows, None, most)
    true = label[rows] > 0
    rarer = int(min(true.sum(), (~true).sum()))
    return Strata.of(rows, true, min(most, max(_OF_RARER * rarer, _FEWEST_ROWS)))


def mean_deviance(runs: Sequence[BoostingRun], folds: Sequence[Ints]) -> float:
    """Return the mean deviance of examples, each by the run that did not see its fold."""
    sizes = [float(run.weight[fold].sum()) for run, fold in zip(runs, folds, strict=True)]
    found = [run.deviance(fold) for run, fold in zip(runs, folds, strict=True)]
    return float(np.average(found, weights=sizes))


def _sketch(gradients: Floats, curvatures: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return gradients of many classes as a few random mixtures, which trees are grown by."""
    outputs = gradients.shape[1]
    if outputs <= _SKETCH:
        return gradients, curvatures
    mix = np.random.default_rng([seed, 1]).standard_normal((outputs, _SKETCH)) / np.sqrt(_SKETCH)
    spread = curvatures.sum(axis=1, keepdims=True) / outputs
    return gradients @ mix, np.repeat(spread, _SKETCH, axis=1)
