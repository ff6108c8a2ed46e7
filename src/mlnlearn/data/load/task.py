"""A task: of which entities, as of when, what is to be predicted; a table with a label a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.files import read_csv
from mlnlearn.data.load.parquet import read_parquet
from mlnlearn.data.load.reading import moments_of
from mlnlearn.data.load.tables import FILLED, ForeignKey, Table
from mlnlearn.errors import InputError, Location

NAME = "task"
"""The table of a task; files in a folder of tables whose names begin so are no tables of it."""
ROW = "row"
"""The key of that table: the number of the row, from 1."""
FEW = 20
"""A label of no more different numbers than this, all whole, is a class."""
_COVERED = 0.5
_MISSING = ("", "NA", "NULL", "\\N", "nan", "NaN")


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be predicted of which entities, as of when.

    Attributes
    ----------
    table
        One row an example; its key is the number of the row.
    label
        The column with what is to be predicted; empty where the file has none.
    time
        The column that says as of when; empty where there is none: then all rows count.
    """

    table: Table
    label: str
    time: str

    @property
    def target(self) -> str:
        """What a learner is to predict."""
        return f"{self.table.name}.{self.label}"

    def cells(self) -> dict[str, list[str]]:
        """Return the columns of the file as text."""
        return {
            name: [column.names[code] if code >= 0 else "" for code in column.codes.tolist()]
            for name, column in self.table.columns.items()
            if name != ROW
        }

    def edits(self) -> dict[str, Any]:
        """Return how the columns are to be read, as settings of a mapping."""
        columns = {
            ROW: {"as": "key"},
            self.label: {"as": label_role(self.table.columns[self.label])},
        }
        found: dict[str, Any] = {"kind": "entity", "columns": columns}
        if self.time:
            columns[self.time] = {"as": "time"}
            found["time"] = self.time
        return found


def read_task(path: str | Path, tables: Sequence[Table], *, label: str = "") -> Task:
    r"""Read a task: a CSV or Parquet file with entities, moments and labels.

    Columns that bear the name of a table, of its key, or of columns that refer to it, are links to
    it; one that holds moments says as of when; of the others, the last is the label.

    Parameters
    ----------
    path
        The file.
    tables
        The tables that it speaks of.
    label
        The column with the labels, where the model knows it; a file without it asks for answers.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "train.csv")
    >>> _ = path.write_text("date,driverId,won\n2001-01-01,7,1\n2001-02-01,7,0\n")
    >>> drivers = Table("drivers", {"driverId": Column.of(["7"])}, ("driverId",))
    >>> task = read_task(path, [drivers])
    >>> task.target, task.time, task.table.foreign_keys[0].table
    ('task.won', 'date', 'drivers')
    """
    place = Path(path)
    where = Location(str(path))
    if place.suffix.lower() == ".parquet":
        table = read_parquet(NAME, place)
    else:
        table = read_csv(NAME, place, _MISSING)
    links = {name: key for name in table.columns if (key := _linked(table, name, tables))}
    if not links:
        keys = ", ".join(t.primary_key[0] for t in tables if len(t.primary_key) == 1)
        raise InputError(
            "no column names entities of a table",
            where,
            hint=f"name a column as the key it holds is named: {keys}",
        )
    others = [name for name in table.columns if name not in links]
    moments = moments_of(table)
    time = next((name for name in others if name in moments), "")
    labels = [name for name in others if name != time]
    if not label:
        if not labels:
            raise InputError("there is no column with labels", where)
        label = labels[-1]
    columns = {ROW: _numbered(table.rows), **table.columns}
    if label not in columns:
        columns[label] = Column((), np.full(table.rows, -1, np.int32))
    keyed = replace(table, columns=columns, primary_key=(ROW,), foreign_keys=tuple(links.values()))
    return Task(keyed, label, time)


def label_role(column: Column) -> str:
    """Return how labels are to be read: as a flag, as a number, or as names of classes.

    Examples
    --------
    >>> label_role(Column.of(["0", "1"])), label_role(Column.of([1.5, 2.5, 7.25]))
    ('flag', 'number')
    """
    numbers = column.numbers()
    if {name.lower() for name in column.names} <= {"0", "1", "true", "false", "yes", "no"}:
        return "flag"
    if not len(numbers) or np.isnan(numbers).any():
        return "value"
    whole = bool((numbers == np.round(numbers)).all())
    return "value" if whole and len(numbers) <= FEW else "number"


def without_tasks(tables: Sequence[Table]) -> list[Table]:
    """Return the tables without those that are tasks: labels there are not known beforehand.

    The table of cells that a model filled in, which speaks of the others, goes too.
    """
    return [t for t in tables if t.name not in (NAME, FILLED) and not t.name.startswith("task_")]


def _linked(table: Table, name: str, tables: Sequence[Table]) -> ForeignKey | None:
    """Return the key that a column of a task holds, by its name and its values.

    It may be named as the key is, as the table is, or as columns that refer to the table are.
    """
    column = table.columns[name]
    referring = {
        key.table
        for other in tables
        for key in other.foreign_keys
        if len(key.columns) == 1 and key.columns[0].lower() == name.lower()
    }
    for other in tables:
        if len(other.primary_key) != 1:
            continue
        names = {other.primary_key[0].lower(), other.name.lower()}
        if name.lower() not in names and other.name not in referring:
            continue
        known = set(other.columns[other.primary_key[0]].names)
        if sum(value in known for value in column.names) >= _COVERED * len(column.names):
            return ForeignKey((name,), other.name, other.primary_key)
    return None


def _numbered(rows: int) -> Column:
    return Column(tuple(map(str, range(1, rows + 1))), np.arange(rows, dtype=np.int32))
