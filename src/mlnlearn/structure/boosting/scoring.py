"""Squared errors of all splits of a node, in one pass over the counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.pattern import Body
from mlnlearn.structure.boosting.candidates import FeatureBlock
from mlnlearn.structure.boosting.features import Features

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over the examples of a node, for each candidate: what its squared errors are made of.

    For the examples with groundings, ``n`` of them: ``moment = Σ v·n·Δ`` and ``square = Σ v·n²``;
    for the others, with the path's own groundings ``m``: ``rest_moment = Σ v·m·Δ`` and
    ``rest_square = Σ v·m²``. Under existential semantics ``n = m = 1``. `examples` counts the
    former, regardless of weight.
    """

    moment: Floats
    square: Floats
    rest_moment: Floats
    rest_square: Floats
    examples: Floats


@dataclass(frozen=True, eq=False)
class Regression:
    """Gradients to be fitted at a node.

    Attributes
    ----------
    gradient
        Per example of the pool, what to fit.
    weight
        Per example, its weight; zero for examples outside of the node.
    inside
        Which examples are in the node and take part.
    path
        Per example, the groundings of the node's own conjunction (1 under existential semantics).
    existential
        Whether an example has a conjunction at most once.
    """

    gradient: Floats
    weight: Floats
    inside: Mask
    path: Floats
    existential: bool

    @cached_property
    def moments(self) -> tuple[float, float, float]:
        """``Σ v·m·Δ``, ``Σ v·m²`` and ``Σ v·Δ²`` over the node."""
        moments: tuple[float, float, float] = _moments(self.gradient, self.weight, self.path)
        return moments

    @property
    def error(self) -> float:
        """The squared error that remains with the best single value."""
        moment, square, total = self.moments
        return total - gain(moment, square)

    @property
    def value(self) -> float:
        """The best single value: eq. 11 with the path's groundings."""
        moment, square, _ = self.moments
        return moment / square if square > 0 else 0.0

    @property
    def columns(self) -> Floats:
        """What the sums are taken of, an example's numbers side by side; made anew, not kept."""
        columns = np.empty((len(self.gradient), 3 if self.existential else 5))
        columns[:, 0] = self.weight * self.gradient
        columns[:, 1] = self.weight
        columns[:, 2] = self.inside
        if not self.existential:
            columns[:, 3] = columns[:, 0] * self.path
            columns[:, 4] = columns[:, 1] * self.path**2
        return columns


def gain(moment: float, square: float) -> float:
    """Return by how much the best value lowers a squared error.

    Examples
    --------
    >>> gain(2.0, 4.0)
    1.0
    """
    return moment * moment / square if square > 0 else 0.0


def node_sums(
    features: Features, body: Body, regression: Regression, *, pairs: bool, rest: bool
) -> Iterator[tuple[FeatureBlock, Sums]]:
    """Sum over a node's examples, for every candidate to extend its conjunction.

    Parameters
    ----------
    features, body
        The candidates, and the node's conjunction.
    regression
        What is summed.
    pairs
        Whether pairs of literals are candidates too.
    rest
        Whether sums over the examples without groundings are wanted, as a split needs them.
    """
    found: dict[object, tuple[FeatureBlock, Floats]] = {}
    columns = regression.columns

    def added(blocks: Iterable[FeatureBlock]) -> list[tuple[FeatureBlock, Sums]]:
        """Add blocks to their sums, and return those that are complete."""
        complete = []
        for block in blocks:
            if block.whole:
                complete.append((block, sums_of(block, regression, rest, columns)))
                continue
            key = block.prefix, block.templates
            if key not in found:
                # the counts of a piece are not needed again
                found[key] = block.without_counts(), _no_sums(block, regression, rest)
            _add(block, regression, rest, found[key][1], columns)
        return complete

    for complete in features.each(body, pairs, regression.inside, added):
        yield from complete
    for first, sums in sorted(found.values(), key=lambda item: item[0].place):
        yield first, _sums(sums, regression, rest)


def sums_of(block: FeatureBlock, regression: Regression, rest: bool, columns: Floats) -> Sums:
    """Sum over a node's examples, for every candidate of a block; `columns`: the regression's."""
    sums = _no_sums(block, regression, rest)
    _add(block, regression, rest, sums, columns)
    return _sums(sums, regression, rest)


def _no_sums(block: FeatureBlock, regression: Regression, rest: bool) -> Floats:
    return np.zeros((block.size, 5 if rest and not regression.existential else 3))


def _add(
    block: FeatureBlock, regression: Regression, rest: bool, sums: Floats, columns: Floats
) -> None:
    """Add the examples of a block to its sums, in their order."""
    entries = block.candidate, block.example
    if regression.existential:
        _add_existential(*entries, sums, columns)
    elif rest:
        _add_counting(*entries, block.count, sums, columns)
    else:
        _add_clause(*entries, block.count, sums, columns)


def _sums(sums: Floats, regression: Regression, rest: bool) -> Sums:
    moment, square, examples = sums.T[:3]
    total, mass, _ = regression.moments
    if regression.existential:
        return Sums(moment, square, total - moment, mass - square, examples)
    if not rest:
        nothing = np.zeros(len(moment))
        return Sums(moment, square, nothing, nothing, examples)
    return Sums(moment, square, total - sums.T[3], mass - sums.T[4], examples)


@njit(cache=True)
def _moments(gradient, weight, path):  # type: ignore[no-untyped-def]
    # a plain loop: the threads of a linear algebra library would only spin
    moment, square, total = 0.0, 0.0, 0.0
    for who in range(len(gradient)):
        scaled = weight[who] * path[who]
        moment += scaled * gradient[who]
        square += scaled * path[who]
        total += weight[who] * gradient[who] * gradient[who]
    return moment, square, total


@njit(cache=True, nogil=True)
def _add_existential(candidate, example, sums, columns):  # type: ignore[no-untyped-def]
    for entry in range(len(candidate)):
        who, what = example[entry], candidate[entry]
        if columns[who, 2] != 0.0:
            sums[what, 0] += columns[who, 0]
            sums[what, 1] += columns[who, 1]
            sums[what, 2] += 1.0


@njit(cache=True, nogil=True)
def _add_counting(candidate, example, count, sums, columns):  # type: ignore[no-untyped-def]
    for entry in range(len(candidate)):
        who, what = example[entry], candidate[entry]
        if columns[who, 2] != 0.0:
            many = np.float64(count[entry])
            sums[what, 0] += many * columns[who, 0]
            sums[what, 1] += many * many * columns[who, 1]
            sums[what, 2] += 1.0
            sums[what, 3] += columns[who, 3]
            sums[what, 4] += columns[who, 4]


@njit(cache=True, nogil=True)
def _add_clause(candidate, example, count, sums, columns):  # type: ignore[no-untyped-def]
    for entry in range(len(candidate)):
        who, what = example[entry], candidate[entry]
        if columns[who, 2] != 0.0:
            many = np.float64(count[entry])
            sums[what, 0] += many * columns[who, 0]
            sums[what, 1] += many * many * columns[who, 1]
            sums[what, 2] += 1.0


def split_gains(sums: Sums) -> Floats:
    """Return ``Σ v·Δ²`` minus the squared error of each split: the larger, the better."""
    return _gains(sums.moment, sums.square) + _gains(sums.rest_moment, sums.rest_square)


def clause_gains(sums: Sums) -> Floats:
    """Return by how much each clause alone lowers the squared error."""
    return _gains(sums.moment, sums.square)


def _gains(moment: Floats, square: Floats) -> Floats:
    found: Floats = np.divide(moment * moment, square, np.zeros(len(moment)), where=square > 0)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class BestTest:
    """The best candidate found so far."""

    gain: float
    test: Body
    block: FeatureBlock
    number: int
