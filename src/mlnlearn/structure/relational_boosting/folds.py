"""Which examples are held out to find the number of steps, and which stand for many."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.counting.examples import RowExamples

_SMALL, _LARGE = 3_000, 20_000
_HELD_OUT = 0.2
_FOLDS = 5
_KEPT = 2_000_000  # rows of samples that are kept for other runs


def held_out(examples: RowExamples, rows: Ints, seed: int) -> list[Ints]:
    """Return the examples held out in each of some folds.

    What comes later is predicted from what came before, so where examples have times, the last
    ones are held out; where there are several databases, whole databases; else a random part, by
    turns where examples are few.

    Parameters
    ----------
    examples
        All examples.
    rows
        Those with a label.
    seed
        Of the random choice.
    """
    times, part = examples.base.times, examples.base.part[rows]
    if times is not None and len(np.unique(times[rows])) > 1:
        edge = np.quantile(times[rows], 1 - _HELD_OUT)
        late = rows[times[rows] > edge]
        if len(late):
            return [late]
    parts = np.unique(part)
    if len(parts) > 2:
        sizes = np.bincount(part)
        order = parts[np.argsort(-sizes[parts], kind="stable")]
        fold = np.zeros(part.max() + 1, np.int64)
        fold[order] = np.arange(len(order)) % _FOLDS
        return [rows[fold[part] == number] for number in range(min(_FOLDS, len(parts)))]
    folds = dealt_folds(examples, rows, seed)[rows]
    number = _FOLDS if len(rows) <= _SMALL else 2 if len(rows) <= _LARGE else 1
    return [rows[folds == fold] for fold in range(number)]


def dealt_folds(examples: RowExamples, rows: Ints, seed: int) -> Ints:
    """Return the fold of every example by chance, alike from every class; -1 for other rows."""
    rng = np.random.default_rng([seed, 7])
    folds = np.full(examples.base.rows, -1)
    folds[rows] = _dealt(examples.label[rows], len(examples.classes) > 0, rng) % _FOLDS
    return folds


def _dealt(label: Floats, classes: bool, rng: np.random.Generator) -> Ints:
    """Deal out examples in random order, class by class: each fold gets its share of each."""
    order = rng.permutation(len(label))
    if classes:
        order = order[np.argsort(label[order], kind="stable")]
    dealt = np.empty(len(label), np.int64)
    dealt[order] = np.arange(len(label))
    return dealt


def stratified(
    rows: Ints, true: NDArray[np.bool_] | None, most: int, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Return a sample of rows that stands for all, and for how many each one does, see `Strata`."""
    places, factor = Strata.of(rows, true, most).drawn_by(rng)
    return rows[places], factor


@dataclass(frozen=True, eq=False)
class Strata:
    """Rows that samples are drawn of.

    Attributes
    ----------
    rows
        All rows.
    parts
        Places of rows that are drawn from one after the other, the smaller part first.
    most
        How many rows are drawn, if there are so many.
    """

    rows: Ints
    parts: tuple[Ints, ...]
    most: int
    _kept: dict[tuple[int, ...], tuple[Ints, Floats]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Ints, true: NDArray[np.bool_] | None, most: int) -> Strata:
        """Return the parts of rows.

        Parameters
        ----------
        rows
            All rows.
        true
            Which have one of two labels, of the rarer of which as many are drawn as of the other,
            if there are so many; None for a plain sample.
        most
            How many rows are drawn, if there are so many.
        """
        if len(rows) <= most:
            return cls(rows, (), most)
        if true is None:
            return cls(rows, (np.arange(len(rows)),), most)
        parts = sorted((np.flatnonzero(true), np.flatnonzero(~true)), key=len)
        return cls(rows, tuple(parts), most)

    def drawn(self, *seed: int) -> tuple[Ints, Floats]:
        """Return the sample of a seed, see `drawn_by`.

        It is asked for by several runs, and kept for them.
        """
        found = self._kept.get(seed)
        if found is None:
            found = self.drawn_by(np.random.default_rng(seed))
            if self.parts and len(self._kept) * self.most < _KEPT:
                self._kept[seed] = found
        return found

    def drawn_by(self, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Return places of a sample that stands for all rows, and for how many each one does."""
        if not self.parts:
            return np.arange(len(self.rows)), np.ones(len(self.rows))
        factors = np.zeros(len(self.rows))
        drawn = 0
        for left, part in zip(range(len(self.parts), 0, -1), self.parts, strict=True):
            wanted = min(len(part), (self.most - drawn) // left)
            if wanted:
                factors[rng.choice(part, wanted, replace=False)] = len(part) / wanted
                drawn += wanted
        chosen = np.flatnonzero(factors > 0)
        return chosen, factors[chosen]
