"""Labels that are not known, answered together where features read labels of other rows.

Rows whose labels are not known are dealt into folds, as in learning. A sweep draws the labels of
one fold after another: each row's from the model's answer given what is known and what was drawn
last in the other folds, with its own fold hidden. Answers are the means of these chances over the
sweeps of several chains; they settle at the stationary distribution of a sweep. Only rows that are
asked about are drawn; other unknown labels say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.counting.arrays import Codes, rows_of
from mlnlearn.counting.relational import (
    NAME,
    Column,
    Link,
    Nominal,
    Number,
    Place,
    Relational,
    RowSet,
)
from mlnlearn.model.relational.evaluate import Evaluator, Values
from mlnlearn.model.relational.features import AnyFeature
from mlnlearn.model.relational.own import FOLDS, known_rows, reads_own
from mlnlearn.montecarlo.chains import run
from mlnlearn.run import check_time


@dataclass(frozen=True)
class Sweeps:
    """How long labels are drawn: so many chains, each with sweeps that do not count and others."""

    chains: int = 4
    burn_in: int = 10
    counted: int = 50


Answer = Callable[[Relational, Ints], Floats]
"""What says the chances of all classes for some rows of a base, by data."""
Swept = Callable[[Ints], Iterator[tuple[Ints, Floats]]]
"""A sweep over labels as they are, fold by fold."""


@dataclass(frozen=True, eq=False)
class JointChances:
    """Chances of classes, and the standard errors of those that were sampled.

    Attributes
    ----------
    values, error
        One row a row of the base, one column a class.
    sampled
        Which rows were drawn, the others being in closed form.
    """

    values: Floats
    error: Floats
    sampled: NDArray[np.bool_]


def unknown_rows(view: Relational, home: Place, base: RowSet) -> NDArray[np.bool_]:
    """Return which rows of a base have a label that the data do not tell."""
    if home.column is not None:
        return ~known_rows(view, home, base)
    listed = view[home.row_set].unknown
    if listed is None or not listed.shape[1]:
        return np.zeros(base.rows, np.bool_)
    asked = [base.part, *(c.codes for c in base.columns.values() if not isinstance(c, Number))]
    sizes = [
        int(max(a.max(initial=0), b.max(initial=0))) + 1 for a, b in zip(listed, asked, strict=True)
    ]
    return np.asarray(rows_of(list(listed), asked, sizes)) >= 0


def with_labels(
    view: Relational, home: Place, base: RowSet, rows: Ints, labels: Ints, classes: tuple[str, ...]
) -> Relational:
    """Return data that tell labels of some rows of a base, as places of classes.

    Parameters
    ----------
    view, home, base
        The data, where labels stand in them, and rows.
    rows, labels
        Those whose labels are told, and the labels.
    classes
        What labels stand for.
    """
    row_set = view[home.row_set]
    if home.column is None:
        more = base.taken(rows[labels == 1])
        columns: dict[str, Column] = {}
        for name, column in row_set.columns.items():
            added = more.columns[name]
            assert not isinstance(column, Number)
            assert not isinstance(added, Number)
            columns[name] = replace(column, codes=np.append(column.codes, added.codes))
        part = np.append(row_set.part, more.part)
        found = replace(row_set, rows=len(part), columns=columns, part=part)
        return view.with_row_set(found)
    column = row_set.columns[home.column]
    assert not isinstance(column, Number)
    if isinstance(column, Link):
        codes = column.codes.copy()
        named = _named_rows(view[column.to], classes, int(row_set.part.max(initial=0)))
        codes[rows] = named[row_set.part[rows], labels]
        linked = {**row_set.columns, home.column: replace(column, codes=codes)}
        return view.with_row_set(replace(row_set, columns=linked))
    names = tuple(dict.fromkeys((*column.names, *classes)))
    places = {name: place for place, name in enumerate(names)}
    codes = column.codes.copy()
    codes[rows] = np.array([places[name] for name in classes], codes.dtype)[labels]
    same = names == tuple(column.names)
    told = replace(column, codes=codes, names=column.names if same else names)
    return view.with_row_set(replace(row_set, columns={**row_set.columns, home.column: told}))


def _named_rows(row_set: RowSet, names: Sequence[str], last: int) -> Codes:
    """Return the row of each name in each database up to the last one, -1 where it has none."""
    own = row_set.columns[NAME]
    assert isinstance(own, Nominal)
    places = {name: place for place, name in enumerate(names)}
    place = np.array([places.get(name, -1) for name in own.names], np.int64)[own.codes]
    rows = np.flatnonzero((place >= 0) & (row_set.part <= last))
    found = np.full((last + 1, len(names)), -1, np.int32)
    found[row_set.part[rows], place[rows]] = rows
    return found


def answer_by(
    features: Sequence[AnyFeature],
    chances: Callable[[Mapping[AnyFeature, Values], int], Floats],
    view: Relational,
    home: Place,
    base: RowSet,
) -> Answer:
    """Return what answers for rows by data that tell other labels than a view does.

    Parameters
    ----------
    features
        What is read; those that read no label are read once.
    chances
        The chances of classes by values of features.
    view, home, base
        The data, where labels stand in them, and the rows that are asked about.
    """
    same = Evaluator(view, timed=False)
    kept = {f: same.values(f, base) for f in features if not reads_own(f, home)}

    def answer(seen: Relational, rows: Ints) -> Floats:
        own = Evaluator(seen, timed=False)
        columns = {
            f: Values(kept[f].values[rows], kept[f].names)
            if f in kept
            else own.values(f, base, rows)
            for f in features
        }
        return chances(columns, len(rows))

    return answer


def joint_chances(
    answer: Answer,
    alone: Floats,
    view: Relational,
    home: Place,
    base: RowSet,
    classes: tuple[str, ...],
    sweeps: Sweeps | None = None,
) -> JointChances:
    """Return the chances of classes, those of rows with unknown labels together.

    Parameters
    ----------
    answer
        The model.
    alone
        Its answers where unknown labels say nothing, which draws start from.
    view, home, base
        The data, where labels stand in them, and the rows that are asked about.
    classes
        Names of the classes.
    sweeps
        How long labels are drawn.
    """
    sweeps = sweeps or Sweeps()
    rows = np.flatnonzero(unknown_rows(view, home, base))
    sampled, error = np.zeros(base.rows, np.bool_), np.zeros_like(alone)
    if len(rows) < 2:
        return JointChances(alone, error, sampled)
    sampled[rows] = True
    swept = partial(sweep, answer, view, home, base, classes, rows)
    chains = [
        _LabelChain(swept, _drawn(alone[rows], rng), rng)
        for rng in np.random.default_rng(0).spawn(sweeps.chains)
    ]
    found = run(
        chains,
        np.ones(alone[rows].size, np.bool_),
        samples=sweeps.chains * sweeps.counted,
        burn_in=sweeps.burn_in,
    )
    values = alone.copy()
    values[rows] = found.marginals.reshape(len(rows), -1)
    error[rows] = found.standard_error.reshape(len(rows), -1)
    return JointChances(values, error, sampled)


class _LabelChain:
    """Labels of rows that are drawn fold by fold; what is estimated are the chances of classes."""

    steps_at_once = 1

    def __init__(self, swept: Swept, labels: Ints, rng: np.random.Generator) -> None:
        self._swept, self._labels, self._rng = swept, labels, rng

    def step(self, steps: int, sums: Floats, burn_in: bool) -> float:
        """Make sweeps, add the chances, and return the share of labels that changed."""
        totals = sums.reshape(len(self._labels), -1)
        changes = 0
        for _ in range(steps):
            check_time()
            for fold, chances in self._swept(self._labels):
                drawn = _drawn(chances, self._rng)
                changes += int(np.count_nonzero(drawn != self._labels[fold]))
                self._labels[fold] = drawn
                totals[fold] += chances
        return changes / (steps * len(self._labels))


def sweep(
    answer: Answer,
    view: Relational,
    home: Place,
    base: RowSet,
    classes: tuple[str, ...],
    rows: Ints,
    labels: Ints,
) -> Iterator[tuple[Ints, Floats]]:
    """Yield the places of one fold after another, and the chances of its rows given the others.

    Labels that are drawn in between are read by the folds that come later.
    """
    folds = np.arange(len(rows)) % FOLDS
    for fold in range(min(FOLDS, len(rows))):
        own, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        seen = with_labels(view, home, base, rows[others], labels[others], classes)
        yield own, answer(seen, rows[own])


def _drawn(chances: Floats, rng: np.random.Generator) -> Ints:
    """Draw a class of each row."""
    edges = np.cumsum(chances, axis=1)
    point = rng.random(len(chances)) * edges[:, -1]
    found: Ints = np.minimum((point[:, None] >= edges).sum(axis=1), chances.shape[1] - 1)
    return found
