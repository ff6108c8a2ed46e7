"""A cut-off in time: only rows up to a moment are used, so that learning cannot see the future.

Rows that are left out take the links to them along: a relationship with such an entity is left out
too, and a foreign key to one becomes an empty cell.
"""

from __future__ import annotations

import math
import warnings
from collections import abc
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.reading import moments_spelled
from mlnlearn.data.load.spelling import read_moments
from mlnlearn.data.load.tables import ForeignKey, Table, dangling
from mlnlearn.data.vocabulary import seconds_of
from mlnlearn.errors import DataWarning, InputError, raise_all

Mask = NDArray[np.bool_]
_DAY = 86400.0


@dataclass(frozen=True)
class CutOff:
    """Up to when rows are used, and which columns say when a row is from.

    Attributes
    ----------
    until
        A day (which counts whole), a moment, or a number such as a year.
    columns
        The time column by table; the mapping can name them too (``time = "day"``).

    Examples
    --------
    >>> CutOff("2020-12-31", {"visit": "day"}).until
    '2020-12-31'
    """

    until: str | float | date
    columns: abc.Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TimeLimit:
    """The time column of one table, and the last moment that is used.

    Examples
    --------
    >>> days = Column.of(["2020-12-31 18:00", "2021-01-01", "soon"])
    >>> TimeLimit("day", "2020-12-31").allowed(days)
    [True, False, None]
    >>> TimeLimit("year", "1999").allowed(Column.of(["2000"]))
    [False]
    """

    column: str
    until: str

    @property
    def expected(self) -> str:
        """What cells should be, in words."""
        return "a date such as 2020-12-31" if _number(self.until) is None else "a number"

    def allowed(self, column: Column) -> list[bool | None]:
        """Tell which cells are not later than the limit; None of those that say nothing of time."""
        limit = _number(self.until)
        if limit is not None:
            numbers = [_number(name) for name in column.names]
            return [None if number is None else number <= limit for number in numbers]
        # one fault must not hide how the other cells are written
        spelled = moments_spelled(self.column, column) or ""
        moments = read_moments(column.names, spelled).tolist()
        end = seconds_of(self.until)
        if len(self.until.strip()) <= len("2020-12-31"):  # a day counts whole
            return [None if math.isnan(moment) else moment < end + _DAY for moment in moments]
        return [None if math.isnan(moment) else moment <= end for moment in moments]


def time_text(value: object) -> str | None:
    """Return a limit as the text that a mapping holds; None where it is no moment and no number.

    Examples
    --------
    >>> time_text(date(2020, 12, 31)), time_text(1999), time_text("31.12.2020")
    ('2020-12-31', '1999', None)
    """
    if isinstance(value, bool):
        return None
    text = str(value)  # of a date or moment, its ISO form
    return text if _number(text) is not None or not math.isnan(seconds_of(text)) else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def cut_tables(
    tables: Sequence[Table],
    limits: abc.Mapping[str, TimeLimit],
    keys: abc.Mapping[str, Sequence[str]],
) -> list[Table]:
    """Leave out rows later than the limits of their tables, and the links to them.

    Rows without a time are left out, with a warning; cells that are no time are faults.

    Parameters
    ----------
    tables
        Tables whose keys are sound.
    limits
        By table; others have none.
    keys
        By table, the columns without which a row is nothing: a row whose key refers to something
        left out is left out, while other references to it become empty.

    Examples
    --------
    >>> columns = {"id": Column.of(["A", "B"]), "born": Column.of(["1990", "2005"])}
    >>> people, limit = Table("person", columns, ("id",)), TimeLimit("born", "1999")
    >>> [cut] = cut_tables([people], {"person": limit}, {"person": ["id"]})
    >>> cut.columns["id"].names
    ('A',)
    """
    problems: list[InputError] = []
    found = {table.name: table for table in tables}
    changed = []
    for name, limit in limits.items():
        used, faults = _in_time(found[name], limit)
        problems += faults
        if not faults and not used.all():
            found[name] = _rows(found[name], used)
            changed.append(name)
    raise_all(problems)
    while changed:
        target = changed.pop()
        pointing = [(t.name, key) for t in tables for key in t.foreign_keys if key.table == target]
        for name, key in pointing:
            table = found[name]
            found[name] = without_dangling(table, key, found[target], keys[name])
            if found[name].rows < table.rows:
                changed.append(name)
    return list(found.values())


def _in_time(table: Table, limit: TimeLimit) -> tuple[Mask, list[InputError]]:
    column = table.columns[limit.column]
    allowed = limit.allowed(column)
    strange = np.array([*(answer is None for answer in allowed), False], np.bool_)[column.codes]
    problems = list(
        table.problems_at(
            np.flatnonzero(strange),
            limit.column,
            lambda row: f"expected {limit.expected}, found {column.names[column.codes[row]]!r}",
        )
    )
    empty = int(column.missing.sum())
    if empty and not problems:
        warnings.warn(
            f"{table.place()}: {empty:,} rows have no {limit.column!r}, so they may be later than "
            f"{limit.until}; they are left out",
            DataWarning,
            stacklevel=6,
        )
    used = np.array([*(answer is True for answer in allowed), False], np.bool_)
    return used[column.codes], problems


def _rows(table: Table, used: Mask) -> Table:
    columns = {name: column.where(used) for name, column in table.columns.items()}
    lines = np.flatnonzero(used) + 1 if table.lines is None else table.lines[used]
    return replace(table, columns=columns, lines=lines)


def without_dangling(table: Table, key: ForeignKey, target: Table, needed: Sequence[str]) -> Table:
    """Return a table without references to rows that another table does not have.

    Such cells are emptied; rows that are nothing without them, by a `needed` column, left out.
    """
    lost = dangling(table, key, target)
    if not lost.any():
        return table
    if set(key.columns) & set(needed):
        return _rows(table, ~lost)
    emptied: dict[str, Column] = {name: table.columns[name].without(lost) for name in key.columns}
    return replace(table, columns={**table.columns, **emptied})
