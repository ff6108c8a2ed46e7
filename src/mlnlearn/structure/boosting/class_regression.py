"""Gradients of several classes at a node: one structure for all, a vector of values at its end.

A target's argument of few constants, a class or a genre, is an *axis*: an example is what the other
arguments say, and has a gradient for every constant. A test is as good as the squared errors that
it saves are together. A leaf's values are shrunk towards their mean by what they differ beyond
chance (empirical Bayes): few examples of many classes say little of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.pattern import Body
from mlnlearn.model.boosted.rules import ByConstant, Leaf
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.regression import Floats, Mask, Regression
from mlnlearn.structure.boosting.scoring import CandidateScores, node_sums

_CHANCE = 0.5


@dataclass(frozen=True, slots=True)
class ClassAxis:
    """The argument of a target that vectors run along.

    Attributes
    ----------
    place, kind
        Which argument, and its type.
    names
        Its constants, in the order of the vectors.
    exclusive
        Whether exactly one of them is true of each example.
    """

    place: int
    kind: str
    names: tuple[str, ...]
    exclusive: bool

    def leaf(self, mean: float, values: Floats) -> Leaf:
        """Return the leaf that gives each constant its value, and others the mean.

        Of exclusive constants only differences count; what is the same for all is left out.

        Examples
        --------
        >>> leaf = ClassAxis(1, "genre", ("Jazz", "Rock"), False).leaf(0.5, np.array([0.75, 0.25]))
        >>> leaf.value, leaf.by.added
        (0.5, {'Jazz': 0.25, 'Rock': -0.25})
        """
        added = dict(zip(self.names, (values - mean).tolist(), strict=True))
        return Leaf(0.0 if self.exclusive else mean, ByConstant.of(self.place, self.kind, added))

    def values(self, leaf: Leaf) -> Floats:
        """Return what a leaf gives to each constant."""
        added = {} if leaf.by is None else leaf.by.added
        return np.array([leaf.value + added.get(name, 0.0) for name in self.names])


@dataclass(frozen=True, eq=False)
class ClassRegression:
    """Gradients of all constants of an axis at a node.

    Attributes
    ----------
    axis
        The constants.
    each
        What is to be fitted for each of them; all have the same examples.
    spread
        By constant and example, the variance of its gradient under the model.
    """

    axis: ClassAxis
    each: tuple[Regression, ...]
    spread: Floats

    @property
    def inside(self) -> Mask:
        """Which examples are in the node and take part."""
        return self.each[0].inside

    @cached_property
    def total(self) -> float:
        """The squared error without any value."""
        return sum(regression.total for regression in self.each)

    @cached_property
    def explained(self) -> float:
        """By how much the best vector lowers the squared error."""
        return sum(regression.explained for regression in self.each)

    @property
    def error(self) -> float:
        """The squared error that remains with the best vector."""
        return self.total - self.explained

    @property
    def leaf(self) -> Leaf:
        """The leaf with the best values, shrunk."""
        first = self.each[0]
        rows = np.flatnonzero(first.inside)
        times = first.factors[rows].astype(np.float64) if len(first.factors) else 1.0
        found, variances = np.zeros(len(self.each)), np.full(len(self.each), np.inf)
        for number, regression in enumerate(self.each):
            weight = regression.weight[rows] * times
            mass = float((weight * times).sum())
            if mass > 0:
                found[number] = regression.value
                noise = float((weight**2 * self.spread[number, rows]).sum())
                variances[number] = max(noise / mass**2, 1e-12)
        return self.axis.leaf(*shrunken(found, variances))

    def of(self, inside: Mask, path: NDArray[np.integer] | None) -> ClassRegression:
        """Return the same for other examples."""
        return replace(self, each=tuple(each.of(inside, path) for each in self.each))

    def rooted(self, path: NDArray[np.integer] | None) -> ClassRegression:
        """Return the same for the root of a tree, whose conjunction has these groundings."""
        return replace(self, each=tuple(each.rooted(path) for each in self.each))

    def gain_by_chance(self, tests: int) -> float:
        """Return what the best of so many tests may gain where classes depend on none of them.

        Each gains the sum over classes of a variance times a square of a standard normal; with the
        variances as weights, the best of independent tests rarely gains more than twice what is
        returned (Laurent & Massart, *Adaptive estimation of a quadratic functional by model
        selection*, 2000, lemma 1). Tests of a node say much the same, and half of it predicted best
        on training folds.
        """
        variances = np.array(
            [
                float((each.weight * spread)[each.inside].sum())
                / max(float(each.weight[each.inside].sum()), 1e-300)
                for each, spread in zip(self.each, self.spread, strict=True)
            ]
        )
        many = math.log(max(tests, 1))
        square = math.sqrt(float((variances**2).sum()) * many)
        return _CHANCE * (float(variances.sum()) + 2 * square + 2 * float(variances.max()) * many)

    def scores(
        self, features: Features, body: Body, *, pairs: bool, splits: bool
    ) -> list[CandidateScores]:
        """Return what candidates gain for all constants together."""
        found: list[CandidateScores] = []
        for regression in self.each:
            sums = node_sums(features, body, regression, pairs=pairs, rest=splits)
            scores = list(sums.scores(splits=splits))
            if not found:
                found = [replace(block, sums=None) for block in scores]
            else:
                for block, more in zip(found, scores, strict=True):
                    np.add(block.gains, more.gains, out=block.gains)
        return found


AnyRegression: TypeAlias = Regression | ClassRegression


def shrunken(found: Floats, variances: Floats) -> tuple[float, Floats]:
    """Return the mean of some values, and the values shrunk towards it.

    Values are taken as normal around true ones with known variances, and these as normal around
    their mean with a variance that the values tell (DerSimonian & Laird, *Meta-analysis in clinical
    trials*, 1986, eq. 8). What nothing is known of, whose variance is infinite, has the mean.

    Examples
    --------
    >>> mean, values = shrunken(np.array([1.0, -1.0, 9.0]), np.array([0.5, 0.5, np.inf]))
    >>> mean, values.tolist()
    (0.0, [0.75, -0.75, 0.0])
    """
    precision = 1.0 / variances
    total = float(precision.sum())
    if not total:
        return 0.0, np.zeros(len(found))
    known = np.isfinite(variances)
    values = np.where(known, found, 0.0)
    mean = float((precision * values).sum()) / total
    apart = np.where(known, values - mean, 0.0)
    excess = float((precision * apart**2).sum()) - (np.count_nonzero(known) - 1)
    room = total - float((precision**2).sum()) / total
    between = max(excess / room, 0.0) if room > 0 else 0.0
    share = np.zeros(len(found))
    share[known] = between / (between + variances[known])
    return mean, mean + apart * share
