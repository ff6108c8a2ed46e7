"""Gradients at a node, and what sums over its examples are taken of.

An example's terms are computed where they are added: nothing is held for each of them but its
gradient and its weight. Examples that candidates cannot tell apart are added up first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.example_views import ExampleView
from mlnlearn.counting.pattern import Body
from mlnlearn.model.boosted.rules import Leaf
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.units import Part, Unit
from mlnlearn.threads import in_slices

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Columns of what is summed, and of the sums. They are not the fields of records, since all of them
# are added, subtracted and gathered at once, which records cannot be.
SLOPE, MASS, EXAMPLES, PATH_SLOPE, PATH_MASS = range(5)
WITHOUT_PATH, WITH_PATH = 3, 5
"""How many columns there are: without those of the path's own groundings, and with them."""

_AT_A_TIME = 1 << 10  # examples that are listed at once
_NO_FACTORS = np.empty(0, np.int32)
_ONCE = np.empty(0, np.uint8)  # counts of 1; of one type, so that kernels are compiled for it alone


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
        Per example, what the node's value is multiplied by; None for 1.
    existential
        Whether an example has a conjunction at most once.
    grid
        What to add to ``v·Δ`` and ``v``, and take away again, to round them.
    settled
        Whether the node's conjunction holds for all inside, and `path` has its groundings.
    known
        The moments, where they were computed before.
    """

    gradient: Floats
    weight: Floats
    inside: Mask
    path: NDArray[np.integer] | None
    existential: bool
    grid: tuple[float, float] | None = None
    settled: bool = False
    known: tuple[float, float, float] | None = None

    @cached_property
    def moments(self) -> tuple[float, float, float]:
        """``Σ v·m·Δ``, ``Σ v·m²`` and ``Σ v·Δ²`` over the node."""
        if self.known is not None:
            return self.known
        rounding, factors = self.rounding, self.factors

        def of(part: slice) -> tuple[float, float, float]:
            found: tuple[float, float, float] = _moments(*self._of(part), factors[part], *rounding)
            return found

        moment, square, total = map(sum, zip(*in_slices(of, len(self.inside)), strict=True))
        return moment, square, total

    def _of(self, part: slice) -> tuple[Floats, Floats, Mask]:
        """Return what is known of some examples."""
        return self.gradient[part], self.weight[part], self.inside[part]

    @property
    def total(self) -> float:
        """The squared error without any value."""
        return self.moments[2]

    @property
    def explained(self) -> float:
        """By how much the best single value lowers the squared error."""
        moment, square, _ = self.moments
        return gain(moment, square)

    @property
    def error(self) -> float:
        """The squared error that remains with the best single value."""
        return self.total - self.explained

    @property
    def value(self) -> float:
        """The best single value: eq. 11 with the path's groundings."""
        moment, square, _ = self.moments
        return moment / square if square > 0 else 0.0

    @property
    def leaf(self) -> Leaf:
        """The leaf that has that value."""
        return Leaf(self.value)

    @property
    def factors(self) -> NDArray[np.integer]:
        """What each example's value is multiplied by; empty for 1."""
        return _NO_FACTORS if self.path is None or self.existential else self.path

    @property
    def columns(self) -> int:
        """How many columns an example's terms have."""
        return WITHOUT_PATH if self.existential else WITH_PATH

    @cached_property
    def rounding(self) -> tuple[float, float]:
        """The grid; that of this node where none is given, as for the root of a tree.

        Both are rounded so far that sums over examples are exact: they do not depend on the order
        of the terms, and so neither on what was summed first nor on who sums. Of 53 digits,
        a million examples leave 33 to each.
        """
        if self.grid is not None:
            return self.grid
        found = in_slices(lambda part: _sizes(*self._of(part)), len(self.inside))
        slopes, masses = map(sum, zip(*found, strict=True))
        return _rounder(slopes), _rounder(masses)

    def of(
        self,
        inside: Mask,
        path: NDArray[np.integer] | None,
        known: tuple[float, float, float] | None = None,
    ) -> Regression:
        """Return the same for other examples, on the same grid."""
        return replace(self, inside=inside, path=path, grid=self.rounding, known=known)

    def rooted(self, path: NDArray[np.integer] | None) -> Regression:
        """Return the same for the root of a tree, whose conjunction has these groundings."""
        return replace(self, path=path, settled=True)


def gain(moment: float, square: float) -> float:
    """Return by how much the best value lowers a squared error.

    Examples
    --------
    >>> gain(2.0, 4.0)
    1.0
    """
    return moment * moment / square if square > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """What is added for the examples of a view, or for what of them is told apart.

    Attributes
    ----------
    regression
        The examples' gradients.
    rest
        Per example, the groundings of the literals that are not counted with the candidates; empty
        for 1.
    gathered
        What is added for each row of the view; None where each example has a row of its own.
    """

    regression: Regression
    rest: NDArray[np.integer]
    gathered: Floats | None

    @classmethod
    def of(
        cls, regression: Regression, rest: NDArray[np.integer], of: Codes | None, rows: int
    ) -> Terms:
        """Return what is added, where `of` tells the row of each example."""
        if of is None:
            return cls(regression, rest, None)
        gathered = np.zeros((rows, regression.columns))
        _gather(*cls(regression, rest, None)._arrays(), of, gathered, _room())
        return cls(regression, rest, gathered)

    def _arrays(self) -> tuple[Floats | Mask | NDArray[np.integer] | float, ...]:
        given = self.regression
        factors = given.factors, self.rest
        return given.gradient, given.weight, given.inside, *factors, *given.rounding

    def add(self, parts: Iterable[Part], sums: Floats) -> None:
        """Add the examples that candidates hold for to their sums, in order."""
        once, arrays = self.regression.existential, self._arrays()
        for start, counts in parts:
            many = _ONCE if once else counts.count
            entries = counts.candidate, counts.example, many, sums[start:]
            if self.gathered is not None:
                _add_gathered(*entries, self.gathered)
            else:
                _add_direct(*entries, *arrays)

    def members(self) -> Ints:
        """Return the rows that have examples of the node."""
        if self.gathered is not None:
            return np.flatnonzero(self.gathered[:, EXAMPLES])
        inside = self.regression.inside
        return np.flatnonzero(inside & (self.rest > 0) if len(self.rest) else inside)

    def columns(self, members: Ints) -> Floats:
        """Return what is added for some rows, side by side."""
        if self.gathered is not None:
            found: Floats = self.gathered[members]
            return found
        rows = np.full(len(self.regression.gradient), -1, np.int32)
        rows[members] = np.arange(len(members), dtype=np.int32)
        columns = np.zeros((len(members), self.regression.columns))
        _gather(*self._arrays(), rows, columns, _room())  # others are not inside
        return columns


class NodeTerms:
    """The terms of a node for each view of its examples; made on first use.

    Parameters
    ----------
    features, body
        The candidates, and the node's conjunction.
    regression
        What is summed.
    """

    def __init__(self, features: Features, body: Body, regression: Regression) -> None:
        self.features, self.body, self.regression = features, body, regression
        self._made: dict[tuple[int, Body], Terms] = {}
        self._making: dict[tuple[int, Body], Lock] = {}

    def of(self, unit: Unit) -> Terms:
        """Return the terms for the candidates of a unit."""
        rest = unit.rest
        if self.regression.existential and self.regression.settled:
            rest = ()  # which holds for all inside
        key = id(unit.view), rest
        found = self._made.get(key)
        if found is None:
            with self._making.setdefault(key, Lock()):  # once, whoever asks
                found = self._made.get(key)
                if found is None:
                    found = self._made[key] = self._terms(unit.view, rest)
        return found

    def _terms(self, view: ExampleView, rest: Body) -> Terms:
        return Terms.of(self.regression, self._groundings(rest), view.of, len(view))

    def _groundings(self, rest: Body) -> NDArray[np.integer]:
        if not rest:
            return _NO_FACTORS
        if self.regression.existential:
            return self.features.holds(rest).astype(np.int32)
        if self.regression.settled and rest == self.body:
            return self.regression.factors
        return self.features.groundings(rest)

    def members(self, unit: Unit) -> Ints:
        """Return which rows of a unit's view have examples of the node."""
        return self.of(unit).members()


def _room() -> Ints:
    """Return where a compiled loop lists examples, as many as fit in the processor's own memory."""
    return np.empty(_AT_A_TIME, np.int64)


def _rounder(size: float) -> float:
    """Return what to add to terms of such a sum, and take away again, so that the sum is exact."""
    return math.ldexp(1.5, math.frexp(size)[1] + 1)


@njit(cache=True, nogil=True)
def _sizes(gradient, weight, inside):  # type: ignore[no-untyped-def]
    slopes, masses = 0.0, 0.0
    for who in range(len(gradient)):
        if inside[who]:
            slopes += abs(weight[who] * gradient[who])
            masses += weight[who]
    return slopes, masses


@njit(cache=True, nogil=True)
def _moments(gradient, weight, inside, path, slopes, masses):  # type: ignore[no-untyped-def]
    # a plain loop: the threads of a linear algebra library would only spin
    moment, square, total = 0.0, 0.0, 0.0
    for who in range(len(gradient)):
        if inside[who]:
            many = np.float64(path[who]) if len(path) else 1.0
            moment += many * ((weight[who] * gradient[who] + slopes) - slopes)
            square += many * many * ((weight[who] + masses) - masses)
            total += weight[who] * gradient[who] * gradient[who]
    return moment, square, total


# The loops below say the same thing several times over: what they share, called as a function for
# each example, takes ten times as long.


@njit(cache=True, nogil=True)
def _gather(  # type: ignore[no-untyped-def]
    gradient, weight, inside, path, rest, slopes, masses, of, gathered, taking_part
):
    """Add ``v·r·Δ``, ``v·r²``, whether it is inside, ``v·m·Δ`` and ``v·m²`` of each example.

    Which examples take part is hard to guess: so they are listed first, some at a time, without a
    branch, and the processor waits for the rows of many of them at once.
    """
    alone, plain, full = len(rest) == 0, len(path) == 0, gathered.shape[1] == WITH_PATH
    for start in range(0, len(of), len(taking_part)):
        end, number = min(start + len(taking_part), len(of)), 0
        if alone:
            for at in range(start, end):
                taking_part[np.uint64(number)] = at
                number += inside[at]
        else:
            for at in range(start, end):
                taking_part[np.uint64(number)] = at
                number += inside[at] & (rest[at] != 0)
        for at in range(number):
            who = np.uint64(taking_part[at])
            row = np.uint64(of[who])
            slope = (weight[who] * gradient[who] + slopes) - slopes
            mass = (weight[who] + masses) - masses
            times = 1.0 if alone else np.float64(rest[who])
            gathered[row, SLOPE] += times * slope
            gathered[row, MASS] += times * times * mass
            gathered[row, EXAMPLES] += 1.0
            if full:
                many = 1.0 if plain else np.float64(path[who])
                gathered[row, PATH_SLOPE] += many * slope
                gathered[row, PATH_MASS] += many * many * mass


@njit(cache=True, nogil=True)
def _add_gathered(candidate, example, count, sums, gathered):  # type: ignore[no-untyped-def]
    # rows without examples of the node add 0: to ask for them is slower, as they are hard to guess
    single, full = len(candidate) == 0, sums.shape[1] == WITH_PATH
    once = len(count) == 0
    if single and once and not full:  # most often: the sums stay in registers
        slope, mass, examples = sums[0, SLOPE], sums[0, MASS], sums[0, EXAMPLES]
        for entry in range(len(example)):
            who = np.uint64(example[entry])
            slope += gathered[who, SLOPE]
            mass += gathered[who, MASS]
            examples += gathered[who, EXAMPLES]
        sums[0, SLOPE], sums[0, MASS], sums[0, EXAMPLES] = slope, mass, examples
        return
    for entry in range(len(example)):
        who = np.uint64(example[entry])
        what = np.uint64(0 if single else candidate[entry])
        many = 1.0 if once else np.float64(count[entry])
        sums[what, SLOPE] += many * gathered[who, SLOPE]
        sums[what, MASS] += many * many * gathered[who, MASS]
        sums[what, EXAMPLES] += gathered[who, EXAMPLES]
        if full:
            sums[what, PATH_SLOPE] += gathered[who, PATH_SLOPE]
            sums[what, PATH_MASS] += gathered[who, PATH_MASS]


@njit(cache=True, nogil=True)
def _add_direct(  # type: ignore[no-untyped-def]
    candidate, example, count, sums, gradient, weight, inside, path, rest, slopes, masses
):
    single, full = len(candidate) == 0, sums.shape[1] == WITH_PATH
    once = len(count) == 0
    alone, plain = len(rest) == 0, len(path) == 0
    for entry in range(len(example)):
        who = example[entry]
        if not inside[who] or not (alone or rest[who]):
            continue
        slope = (weight[who] * gradient[who] + slopes) - slopes
        mass = (weight[who] + masses) - masses
        times = 1.0 if alone else np.float64(rest[who])
        many = times if once else times * np.float64(count[entry])
        what = 0 if single else np.int64(candidate[entry])
        sums[what, SLOPE] += many * slope
        sums[what, MASS] += many * many * mass
        sums[what, EXAMPLES] += 1.0
        if full:
            own = 1.0 if plain else np.float64(path[who])
            sums[what, PATH_SLOPE] += own * slope
            sums[what, PATH_MASS] += own * own * mass
