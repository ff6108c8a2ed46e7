"""Squared errors of all splits of a node, in one pass over the counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.arrays import Ints
from mlnlearn.counting.example_sums import AskedCandidates, ExampleSums
from mlnlearn.counting.pattern import Body
from mlnlearn.structure.boosting.candidates import CandidateList, FeatureBlock
from mlnlearn.structure.boosting.features import Features, Unit
from mlnlearn.structure.boosting.tables import literals_of

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
        Per example, its weight.
    inside
        Which examples are in the node and take part.
    path
        Per example, the groundings of the node's own conjunction; None where that holds or not, and
        holds for all inside.
    existential
        Whether an example has a conjunction at most once.
    grid
        What to add to ``v·Δ`` and ``v``, and take away again, to round them.
    """

    gradient: Floats
    weight: Floats
    inside: Mask
    path: Floats | None
    existential: bool
    grid: tuple[float, float] | None = None

    @cached_property
    def moments(self) -> tuple[float, float, float]:
        """``Σ v·m·Δ``, ``Σ v·m²`` and ``Σ v·Δ²`` over the node."""
        moments: tuple[float, float, float] = _moments(
            self.gradient, self.weight, self.inside, self._path, *self.rounding
        )
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
    def _path(self) -> Floats:
        return np.empty(0) if self.path is None or self.existential else self.path

    @cached_property
    def rounding(self) -> tuple[float, float]:
        """The grid; that of this node where none is given, as for the root of a tree.

        Both are rounded so far that sums over examples are exact: they do not depend on the order
        of the terms, and so neither on what was summed first nor on who sums. Of 53 digits,
        a million examples leave 33 to each.
        """
        if self.grid is not None:
            return self.grid
        slopes, masses = _sizes(self.gradient, self.weight, self.inside)
        return _rounder(slopes), _rounder(masses)

    def among(self, inside: Mask) -> Regression:
        """Return the same of those examples that are also among others, on the same grid."""
        return replace(self, inside=self.inside & inside, grid=self.rounding)

    def columns(self, groundings: Ints | None = None) -> Floats:
        """Return what the sums are taken of, an example's numbers side by side; not kept.

        Parameters
        ----------
        groundings
            Of the literals of the path that are not counted with the candidates, for each example.
        """
        columns = np.empty((len(self.gradient), 3 if self.existential else 5))
        rest = np.empty(0, np.int64) if groundings is None else groundings
        _fill(self.gradient, self.weight, self.inside, self._path, rest, columns, *self.rounding)
        return columns


def gain(moment: float, square: float) -> float:
    """Return by how much the best value lowers a squared error.

    Examples
    --------
    >>> gain(2.0, 4.0)
    1.0
    """
    return moment * moment / square if square > 0 else 0.0


class _NodeColumns:
    """What sums over a node are taken of, for each view of its examples; made on first use."""

    def __init__(self, features: Features, regression: Regression) -> None:
        self.features, self.regression = features, regression
        self._made: dict[tuple[int, Body], Floats] = {}
        self._making = Lock()

    def of(self, unit: Unit) -> Floats:
        key = id(unit.view), unit.rest
        found = self._made.get(key)
        if found is None:
            with self._making:  # once, whoever asks
                found = self._made.get(key)
                if found is None:
                    found = self._made[key] = unit.view.gathered(self._apart(unit.rest))
        return found

    def _apart(self, rest: Body) -> Floats:
        if self.regression.existential and self.regression.path is None:
            rest = ()  # which holds for all inside
        key = id(self.features.views.everyone), rest
        if key in self._made:
            return self._made[key]
        columns = self.regression.columns(self.features.groundings(rest) if rest else None)
        if not rest:
            self._made[key] = columns
        return columns

    def members(self, unit: Unit) -> Ints:
        """Return which examples of a unit's view are of the node."""
        return np.flatnonzero(self.of(unit)[:, 2])


Entry: TypeAlias = tuple[int, CandidateList, Floats]
"""The unit that some candidates are of, the candidates, and a row of sums for each."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeSums:
    """Sums over the examples of a node, for every candidate to extend its conjunction.

    Attributes
    ----------
    regression
        What was summed.
    rest
        Whether over the examples without groundings, too.
    entries
        Some candidates each: the unit they are of, the candidates, the sums.
    """

    regression: Regression
    rest: bool
    entries: list[Entry]

    def __iter__(self) -> Iterator[tuple[CandidateList, Sums]]:
        for _, listed, sums in self.entries:
            yield listed, _sums(sums, self.regression, self.rest)

    def without(self, other: NodeSums, regression: Regression) -> NodeSums:
        """Return the sums over the others, given those over some; exact where sums are."""
        known = {
            (unit, number): part
            for unit, listed, sums in other.entries
            for number, part in zip(listed.order, _by_template(listed, sums), strict=True)
        }
        entries = [
            (unit, listed, sums - np.concatenate([known[unit, n] for n in listed.order]))
            if listed.order
            else (unit, listed, sums)
            for unit, listed, sums in self.entries
        ]
        return NodeSums(regression, self.rest, entries)


def _by_template(listed: CandidateList, sums: Floats) -> list[Floats]:
    """Cut the sums of candidates into those of their templates."""
    return [sums[start:end] for start, end in pairwise((*listed.first, listed.size))]


def node_sums(
    features: Features, body: Body, regression: Regression, *, pairs: bool, rest: bool
) -> NodeSums:
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
    columns = _NodeColumns(features, regression)
    if features.elsewhere is not None:
        asked = features.units(body, pairs)
        return NodeSums(
            regression,
            rest,
            list(_from_elsewhere(features.elsewhere, features, asked, columns, rest)),
        )
    pieces: dict[tuple[int, tuple[int, ...]], Entry] = {}

    def added(unit: Unit, blocks: Iterable[FeatureBlock]) -> list[Entry]:
        """Add blocks to their sums, and return those that are complete."""
        complete = []
        for block in blocks:
            listed = block.listed
            found = None if block.whole else pieces.get((unit.key, listed.order))
            if found is None:
                found = unit.key, listed, _no_sums(listed, regression, rest)
                if block.whole:
                    complete.append(found)
                else:
                    pieces[unit.key, listed.order] = found
            _add(block, regression, rest, found[2], columns.of(unit))
        return complete

    whole = [
        entry for found in features.each(body, pairs, columns.members, added) for entry in found
    ]
    return NodeSums(regression, rest, [*whole, *pieces.values()])


def _from_elsewhere(
    elsewhere: ExampleSums,
    features: Features,
    units: Iterable[Unit],
    columns: _NodeColumns,
    rest: bool,
) -> Iterator[Entry]:
    """Yield the sums of units that a server of SQL makes: one table of examples a view."""
    alike: dict[tuple[int, Body], list[Unit]] = {}
    for unit in units:
        alike.setdefault((id(unit.view), unit.rest), []).append(unit)
    existential = columns.regression.existential
    names = ("g", "w", "n") if existential or not rest else ("g", "w", "n", "y", "z")
    for group in alike.values():
        members = columns.members(group[0])
        numbers = columns.of(group[0])[members].T
        asked = [
            AskedCandidates((*literals_of(u.path), *u.prefix, t.pattern), t.slot)
            for u in group
            for _, t in u.numbered
        ]
        examples = np.ascontiguousarray(group[0].view.examples[:, members])
        given = dict(zip(names, map(np.ascontiguousarray, numbers), strict=False))
        found = iter(elsewhere.sums(examples, given, asked, existential=existential))
        for unit in group:
            listed = features.counter.listed(unit.place, unit.prefix, unit.numbered)
            sums = np.zeros((listed.size, len(names)))
            for first in listed.first:
                for slot, row in next(found).items():
                    sums[first + slot] = row
            yield unit.key, listed, sums


def _no_sums(listed: CandidateList, regression: Regression, rest: bool) -> Floats:
    return np.zeros((listed.size, 5 if rest and not regression.existential else 3))


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


def _rounder(size: float) -> float:
    """Return what to add to terms of such a sum, and take away again, so that the sum is exact."""
    return math.ldexp(1.5, math.frexp(size)[1] + 1)


@njit(cache=True)
def _sizes(gradient, weight, inside):  # type: ignore[no-untyped-def]
    slopes, masses = 0.0, 0.0
    for who in range(len(gradient)):
        if inside[who]:
            slopes += abs(weight[who] * gradient[who])
            masses += weight[who]
    return slopes, masses


@njit(cache=True)
def _moments(gradient, weight, inside, path, slopes, masses):  # type: ignore[no-untyped-def]
    # a plain loop: the threads of a linear algebra library would only spin
    moment, square, total = 0.0, 0.0, 0.0
    for who in range(len(gradient)):
        if inside[who]:
            many = path[who] if len(path) else 1.0
            moment += many * ((weight[who] * gradient[who] + slopes) - slopes)
            square += many * many * ((weight[who] + masses) - masses)
            total += weight[who] * gradient[who] * gradient[who]
    return moment, square, total


@njit(cache=True)
def _fill(gradient, weight, inside, path, rest, columns, slopes, masses):  # type: ignore[no-untyped-def]
    """Fill in ``v·r·Δ``, ``v·r²``, whether it is inside; then ``v·m·Δ`` and ``v·m²``."""
    for who in range(len(gradient)):
        other = rest[who] if len(rest) else 1
        if not inside[who] or other == 0:
            columns[who] = 0.0
            continue
        slope = (weight[who] * gradient[who] + slopes) - slopes
        mass = (weight[who] + masses) - masses
        columns[who, 2] = 1.0
        if columns.shape[1] == 3:
            columns[who, 0], columns[who, 1] = slope, mass
            continue
        many = path[who] if len(path) else 1.0
        columns[who, 0], columns[who, 1] = other * slope, np.float64(other) * other * mass
        columns[who, 3], columns[who, 4] = many * slope, many * many * mass


@njit(cache=True, nogil=True)
def _add_existential(candidate, example, sums, columns):  # type: ignore[no-untyped-def]
    for entry in range(len(candidate)):
        who, what = example[entry], candidate[entry]
        if columns[who, 2] != 0.0:
            sums[what, 0] += columns[who, 0]
            sums[what, 1] += columns[who, 1]
            sums[what, 2] += columns[who, 2]


@njit(cache=True, nogil=True)
def _add_counting(candidate, example, count, sums, columns):  # type: ignore[no-untyped-def]
    for entry in range(len(candidate)):
        who, what = example[entry], candidate[entry]
        if columns[who, 2] != 0.0:
            many = np.float64(count[entry])
            sums[what, 0] += many * columns[who, 0]
            sums[what, 1] += many * many * columns[who, 1]
            sums[what, 2] += columns[who, 2]
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
            sums[what, 2] += columns[who, 2]


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
    rank: tuple[int, int]
