"""Evaluate features on data: each path from its end, once for all rows of a set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.cache import Shelf
from mlnlearn.counting.aggregates import Aggregate, Floats, Groups, Ints, Spans, aggregate
from mlnlearn.counting.relational import Link, Nominal, Number, Relational, RowSet
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.model.relational.between import HopMatrices, paths_between
from mlnlearn.model.relational.features import (
    AnyFeature,
    Backward,
    Between,
    Both,
    Forward,
    Step,
    Where,
)
from mlnlearn.resources import in_use

MOST_PAIRS = 20_000_000
"""Most pairs of a question and a row that one step may look at."""


@dataclass(frozen=True, eq=False)
class Values:
    """A value for each row: numbers, or codes of names; NaN where it is unknown.

    Attributes
    ----------
    values
        Numbers or codes.
    names
        What codes stand for; None for numbers.
    """

    values: Floats
    names: Sequence[str] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the values; names are shared."""
        return self.values.nbytes

    def at(self, rows: NDArray[np.integer], known: NDArray[np.bool_]) -> Values:
        """Return the values of some rows, unknown where a row is not known."""
        if not len(self.values):
            return Values(np.full(len(rows), np.nan), self.names)
        found = np.where(known, self.values[np.where(known, rows, 0)], np.nan)
        return Values(found, self.names)


def _together(feature: Both, first: Values, second: Values) -> Values:
    """Return the names of pairs; unknown where one of them is."""
    if first.names is None or second.names is None:
        raise InputError(f"{feature}: only names go together")
    known = ~(np.isnan(first.values) | np.isnan(second.values))
    number = max(len(second.names), 1)
    found = np.full(len(known), np.nan)
    pairs = first.values[known].astype(np.int64) * number + second.values[known].astype(np.int64)
    present, codes = np.unique(pairs, return_inverse=True)
    found[known] = codes.reshape(-1)
    names = [
        feature.name(first.names[pair // number], second.names[pair % number])
        for pair in present.tolist()
    ]
    return Values(found, names)


@dataclass(eq=False)
class Evaluator:
    """Evaluates features on one set of data, and keeps what paths share, as far as there is room.

    A question is a row and, where the examples have times, a moment: only rows before the moment
    count. A row that an aggregate looks at is seen as of its own time, so that what lies deeper in
    a path was known by then.

    Attributes
    ----------
    data
        The row sets.
    timed
        Whether questions have moments.
    until
        Whether rows at the very moment of an example count.
    lender
        One of nearly the same data, whose groups of rows are used where the rows are the same.
    """

    data: Relational
    timed: bool
    until: bool = False
    lender: Evaluator | None = None
    _groups: dict[tuple[str, str], Groups] = field(default_factory=dict)
    _columns: Shelf[Values] = field(init=False)

    def __post_init__(self) -> None:
        self._columns = in_use().cache.shelf(self)

    @cached_property
    def hops(self) -> HopMatrices:
        """The matrices of hops of the data."""
        return HopMatrices(self.data)

    def values(
        self, feature: AnyFeature, base: RowSet, rows: NDArray[np.integer] | None = None
    ) -> Values:
        """Return the values of a feature for rows of a set (by default all), as of their times."""
        if isinstance(feature, Between):
            return Values(paths_between(self.hops, base, feature, rows))
        if isinstance(feature, Both):
            parts = [self.values(part, base, rows) for part in (feature.first, feature.second)]
            return _together(feature, *parts)
        rows = np.arange(base.rows) if rows is None else rows
        moments = base.times[rows] if self.timed and base.times is not None else None
        return self._asked(
            base, feature.steps, feature.column, feature.value, rows, moments, self.until
        )

    def reads_own(self, feature: AnyFeature) -> bool:
        """Whether a feature reads labels of other rows, of data that hold them."""
        return False

    def groups(self, name: str, link: str) -> Groups:
        """Return the rows of a set by what their link points to."""
        key = (name, link)
        if key not in self._groups:
            rows = self.row_set(name)
            column = link_of(rows, link)
            if self.lender is not None:
                others = self.lender.row_set(name)
                if others.columns[link] is column and others.times is rows.times:
                    return self.lender.groups(name, link)
            entities = self.row_set(column.to).rows
            self._groups[key] = Groups.of(column.codes, entities, rows.times)
        return self._groups[key]

    def row_set(self, name: str) -> RowSet:
        """Return a row set by name."""
        if name not in self.data.row_sets:
            raise InputError(
                f"the data have no rows of {name!r}", hint="give data of the model's schema"
            )
        return self.data.row_sets[name]

    def _asked(
        self,
        here: RowSet,
        steps: tuple[Step, ...],
        column: str | None,
        value: str | None,
        rows: NDArray[np.integer],
        moments: Floats | None,
        until: bool,
    ) -> Values:
        """Return the values of a path for questions: rows, and moments."""
        if not steps:
            return _end(here, column, value, rows, moments)
        step, rest = steps[0], steps[1:]
        if isinstance(step, Forward):
            link = link_of(here, step.link)
            there = self.row_set(link.to)
            to = link.codes[rows]
            known = to >= 0
            if moments is not None and there.times is not None and len(there.times):
                known = known & (there.times[np.where(known, to, 0)] <= moments)
            if not self.depends_on_time(there, rest, column):
                return self._all(there, rest, column, value).at(to, known)
            found = (
                self._asked(there, rest, column, value, np.where(known, to, 0), moments, until)
                if there.rows
                else Values(np.full(len(rows), np.nan))
            )
            return Values(np.where(known, found.values, np.nan), found.names)
        if link_of(self.row_set(step.rows), step.link).to != here.name:
            raise InputError(
                f"{step.link} of {step.rows} does not lead to {here.name}",
                hint="give data of the model's schema",
            )
        return self._backward(step, rest, column, value, rows, moments, until)

    def _backward(
        self,
        step: Backward,
        rest: tuple[Step, ...],
        column: str | None,
        value: str | None,
        rows: NDArray[np.integer],
        moments: Floats | None,
        until: bool,
    ) -> Values:
        there = self.row_set(step.rows)
        groups = self.groups(step.rows, step.link)
        timed = moments is not None and groups.times is not None
        spans = groups.spans(rows, moments if timed else None, until)
        if moments is None or timed or not self.depends_on_time(there, rest, column):
            inner = None
            names = None
            if column is not None or rest:
                found = self._all(there, rest, column, value)
                inner, names = found.values, found.names
                if step.where is not None:
                    inner = np.where(self._has(there, step.where), inner, np.nan)
                inner = inner[groups.order]
            return _windowed(inner, names, groups.starts, spans, step)
        if int(spans.lengths.sum()) > MOST_PAIRS:
            raise MemoryLimitError(
                f"{step.rows} by {step.link}: {int(spans.lengths.sum()):,} rows to look at, each "
                f"at its own moment; the limit is {MOST_PAIRS:,}"
            )
        question, place = spans.pairs()
        found = self._asked(
            there, rest, column, value, groups.order[place], moments[question], until
        )
        inner = found.values
        if step.where is not None:
            inner = np.where(self._has(there, step.where)[groups.order[place]], inner, np.nan)
        stop = np.cumsum(spans.lengths)
        own = Spans(stop - spans.lengths, stop)
        starts = np.append(own.start, len(question))
        return _windowed(inner, found.names, starts, own, step)

    def _has(self, here: RowSet, where: Where) -> NDArray[np.bool_]:
        """Return which rows of a set have a name, each as of its own time."""
        links = tuple(Forward(link) for link in where.links)
        return np.asarray(self._all(here, links, where.column, where.name).values == 1.0)

    def _all(
        self, here: RowSet, steps: tuple[Step, ...], column: str | None, value: str | None
    ) -> Values:
        """Return the values of a path for all rows of a set, each as of its own time."""
        key = (here.name, steps, column, value)
        found = self._columns.get(key)
        if found is None:
            moments = here.times if self.timed else None
            rows = np.arange(here.rows)
            found = self._asked(here, steps, column, value, rows, moments, False)
            self._columns.put(key, found)
        return found

    def depends_on_time(self, here: RowSet, steps: Sequence[Step], column: str | None) -> bool:
        """Whether the value of a path at a row depends on the moment of the question."""
        if not self.timed:
            return False
        for step in steps:
            if isinstance(step, Forward):
                here = self.row_set(link_of(here, step.link).to)
                if here.times is not None:
                    return True
            else:
                here = self.row_set(step.rows)
                if here.times is not None:
                    return True
        end = here.columns.get(column) if column is not None else None
        return isinstance(end, Number) and end.is_time

    def pairs(self, steps: Sequence[Step], base: RowSet, most: int) -> tuple[Ints, Ints] | None:
        """Return the rows that a path leads to, with the example of each; None if above `most`.

        What aggregates of backward steps say is not asked; a row is seen as the steps see it.
        """
        moments = base.times if self.timed else None
        question, rows = np.arange(base.rows), np.arange(base.rows)
        here, until = base, self.until
        for step in steps:
            if isinstance(step, Forward):
                link = link_of(here, step.link)
                here = self.row_set(link.to)
                to = link.codes[rows].astype(np.int64)
                known = to >= 0
                if moments is not None and here.times is not None and here.rows:
                    known &= here.times[np.where(known, to, 0)] <= moments
                question, rows = question[known], to[known]
                moments = None if moments is None else moments[known]
                continue
            groups = self.groups(step.rows, step.link)
            timed = moments is not None and groups.times is not None
            spans = groups.spans(rows, moments if timed else None, until)
            if int(spans.lengths.sum()) > most:
                return None
            asked, place = spans.pairs()
            question, rows = question[asked], groups.order[place]
            here = self.row_set(step.rows)
            if moments is not None:
                moments = moments[asked] if here.times is None else here.times[rows]
                until = until and here.times is None
        return question, rows


def _windowed(
    values: Floats | None,
    names: Sequence[str] | None,
    starts: Ints,
    spans: Spans,
    step: Backward,
) -> Values:
    """Aggregate over the window of a step."""
    if step.within is not None:
        spans = spans.within(step.within)
    if step.last is not None:
        spans = spans.last(step.last)
    kind: Aggregate = step.aggregate
    kept = names if kind in ("latest", "mode") else None
    return Values(aggregate(values, starts, spans, kind), kept)


def link_of(rows: RowSet, name: str) -> Link:
    """Return a link column of a row set."""
    column = rows.columns.get(name)
    if not isinstance(column, Link):
        raise InputError(
            f"{rows.name!r} has no link {name!r}", hint="give data of the model's schema"
        )
    return column


def _end(
    here: RowSet,
    column: str | None,
    value: str | None,
    rows: NDArray[np.integer],
    moments: Floats | None,
) -> Values:
    """Read a column; times are told as ages at the moment of the question."""
    if column is None:
        return Values(np.ones(len(rows)))
    found = here.columns.get(column)
    if isinstance(found, Number):
        numbers = found.values[rows]
        return Values(moments - numbers if found.is_time and moments is not None else numbers)
    if isinstance(found, Nominal):
        codes = found.codes[rows]
        known = codes >= 0
        if value is None:
            return Values(np.where(known, codes, np.nan), found.names)
        names = np.asarray(found.names, object)
        wanted = np.flatnonzero(names == value)
        same = codes == (wanted[0] if len(wanted) else -2)
        return Values(np.where(known, same.astype(np.float64), np.nan))
    if column in here.dated:
        return Values(here.dated[column].values[rows], here.dated[column].names)
    raise InputError(
        f"{here.name!r} has no values {column!r}", hint="give data of the model's schema"
    )
