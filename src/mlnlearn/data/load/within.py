"""Examples made from the data: what happens to entities within some time from a moment on."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.reading import moments_of, row_time
from mlnlearn.data.load.spelling import read_moments
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.load.task import NAME, ROW, Task, label_role
from mlnlearn.data.vocabulary import moment_name
from mlnlearn.errors import InputError

_DAY = 86_400.0
_UNITS = {"h": _DAY / 24, "d": _DAY, "w": 7 * _DAY, "m": 30 * _DAY, "y": 365 * _DAY}
_MOST_MOMENTS = 200
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([hdwmy])[a-z]*\Z")

Floats = NDArray[np.float64]


def seconds_in(text: str) -> float:
    """Return a span of time such as ``30d`` in seconds.

    Hours, days, weeks, months of 30 days and years are known by their first letters.

    Examples
    --------
    >>> seconds_in("2 weeks") / seconds_in("1d")
    14.0
    """
    found = _SPAN.match(text.strip().lower())
    if found is None or float(found[1]) == 0.0:
        raise InputError(f"no span of time: {text!r}", hint="write 12h, 30d, 8w, 6m or 1y")
    return float(found[1]) * _UNITS[found[2]]


def task_within(tables: Sequence[Table], column: str, entity: str, within: str) -> Task:
    """Make a task: what a column will hold in the rows of an entity, within some time.

    From the first row to the last, moments are laid out one span apart. An example is an entity
    with a row in the span that follows a moment, and one before it; its label is the mean of the
    numbers in those rows, whether any of them says yes, or the first of the names.

    Parameters
    ----------
    tables
        With their keys.
    column
        ``TABLE.COLUMN``, of a table whose rows have a time and link to the entity.
    entity
        A table.
    within
        The span, see `seconds_in`.

    Examples
    --------
    >>> days = Column.of(["2001-01-01", "2001-01-20", "2001-02-20"])
    >>> columns = {"id": Column.of("abc"), "who": Column.of("XXX"), "day": days}
    >>> columns["late"] = Column.of(["0", "1", "0"])
    >>> visits = Table("visits", columns, ("id",), (ForeignKey(("who",), "people"),))
    >>> people = Table("people", {"id": Column.of("X")}, ("id",))
    >>> task = task_within([people, visits], "visits.late", "people", "30d")
    >>> task.table.columns["late"].names, task.table.rows
    (('0',), 1)
    """
    table, name = _found(tables, column)
    link = next((key for key in table.foreign_keys if key.table == entity), None)
    if link is None or len(link.columns) != 1:
        raise InputError(f"{table.name} has no link to {entity!r}")
    found = moments_of(table)
    when = row_time(table, found)
    if not when:
        raise InputError(f"{table.name} has no column with dates, so nothing is before or after")
    span = seconds_in(within)
    owner, cells = table.columns[link.columns[0]], table.columns[name]
    days = table.columns[when]
    moments = np.append(read_moments(days.names, found[when]), np.nan)[days.codes]
    used = ~np.isnan(moments) & (owner.codes >= 0)
    rows = _examples(owner.codes[used], moments[used], span)
    known = used & ~cells.missing
    chosen, label = _labels(rows, owner.codes[known], moments[known], cells, known, span)
    time = "as of" if "as of" not in table.columns else "as of this"
    made = {
        ROW: Column(
            tuple(map(str, range(1, len(label) + 1))), np.arange(len(label), dtype=np.int32)
        ),
        link.columns[0]: Column.of([owner.names[code] for code in chosen[0].astype(int)]),
        time: Column.of([moment_name(moment) for moment in chosen[1]]),
        name: label,
    }
    key = (ForeignKey(link.columns, entity, link.references),)
    return Task(Table(NAME, made, (ROW,), key), name, time)


def _found(tables: Sequence[Table], column: str) -> tuple[Table, str]:
    for table in tables:
        name = column.removeprefix(f"{table.name}.")
        if name != column and name in table.columns:
            return table, name
    known = [f"{table.name}.{name}" for table in tables for name in table.columns]
    raise InputError(f"no column {column!r}", hint=f"there are: {', '.join(known[:12])}")


class _Timeline:
    """Rows by owner and moment, in an order in which those of a span lie together."""

    def __init__(self, owner: NDArray[np.int32], moments: Floats) -> None:
        self.first, self.last = float(moments.min()), float(moments.max())
        # apart by more than twice all time, so that no span reaches another owner
        self.apart = 2.0 * (self.last - self.first) + 10 * _UNITS["y"]
        keys = owner * self.apart + (moments - self.first)
        self.order = np.argsort(keys, kind="stable")
        self.keys = keys[self.order]

    def place(self, owner: Floats, moments: Floats) -> NDArray[np.int64]:
        """Return how many rows lie before an owner's moment, or at it."""
        offset = np.clip(moments - self.first, -1.0, self.apart / 2)
        return np.searchsorted(self.keys, owner * self.apart + offset, "right")


def _examples(owner: NDArray[np.int32], moments: Floats, span: float) -> Floats:
    """Return entities and moments such that there is a row before and one within the span after."""
    line = _Timeline(owner, moments)
    number = min(int((line.last - line.first) // span), _MOST_MOMENTS)
    grid = line.last - span * np.arange(number, 0, -1.0)
    people = np.repeat(np.unique(owner).astype(np.float64), number)
    at = np.tile(grid, len(people) // max(number, 1))
    start = line.place(people, np.full(len(people), line.first - 1.0))
    before, after = line.place(people, at), line.place(people, at + span)
    good = (before > start) & (after > before)
    return np.stack([people[good], at[good]])


def _labels(
    examples: Floats,
    owner: NDArray[np.int32],
    moments: Floats,
    cells: Column,
    known: NDArray[np.bool_],
    span: float,
) -> tuple[Floats, Column]:
    """Return the examples that have a label, and the labels."""
    role = label_role(cells)
    numbers = cells.numbers() if role == "number" else np.arange(len(cells.names), dtype=np.float64)
    if role == "flag":
        numbers = np.array([float(n.lower() in ("1", "true", "yes")) for n in cells.names])
    line = _Timeline(owner, moments)
    values = numbers[cells.codes[known]][line.order]
    start, end = line.place(*examples), line.place(examples[0], examples[1] + span)
    there = end > start
    start, end = start[there], end[there]
    if role == "value":
        column = Column.of([cells.names[int(value)] for value in values[start]])
    else:
        sums = np.append(0.0, np.cumsum(values))
        total = sums[end] - sums[start]
        flags = np.where(total > 0.5, "1", "0")
        column = Column.of(total / (end - start) if role == "number" else flags)
    return examples[:, there], column
