"""Tables as read meet their definitions: keys, column order and types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.ddl import TableDefinition, read_ddl
from mlnlearn.data.load.guess import guess_keys
from mlnlearn.data.load.tables import Keys, KeysLike, Table
from mlnlearn.errors import InputError, raise_all


def define_tables(
    tables: Sequence[Table], ddl: str | Path | None, keys: KeysLike | None
) -> list[Table]:
    """Return the tables with keys and typed cells.

    Definitions in SQL (a file, or text) give the keys, the order of the columns and their types;
    a cell that does not fit a numeric or truth type is an error. Keys given as `keys` come on top.
    Where neither they nor the tables say anything of keys, these are guessed.

    Examples
    --------
    >>> raw = Table("course", {"id": Column.of(["07", "8"])})
    >>> course, = define_tables([raw], "CREATE TABLE course (id INTEGER PRIMARY KEY)", None)
    >>> course.primary_key, course.columns["id"].names
    (('id',), ('7', '8'))
    """
    problems: list[InputError] = []
    defined = list(tables)
    if ddl is not None:
        found = {table.name.lower(): table for table in tables}
        defined = []
        for definition in read_ddl(ddl):
            table = found.pop(definition.name.lower(), None)
            if table is None:
                problems.append(InputError(f"table {definition.name!r} has no data"))
            else:
                result = _defined(table, definition)
                problems += result[1]
                defined.append(result[0])
        for table in found.values():
            problems.append(InputError("the SQL definitions have no such table", table.place()))
    names = {table.name for table in defined}
    for name in keys or {}:
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            problems.append(InputError(f"keys: no such table {name!r}; loaded are: {known}"))
    raise_all(problems)
    if ddl is None and not keys:
        return guess_keys(defined)
    return [_with_keys(table, keys) for table in defined]


def _with_keys(table: Table, keys: KeysLike | None) -> Table:
    if not keys or table.name not in keys:
        return table
    given = keys[table.name]
    if not isinstance(given, Keys):
        given = Keys(given if isinstance(given, str) else tuple(given))
    return replace(table, primary_key=given.columns, foreign_keys=given.foreign_keys)


def _defined(table: Table, definition: TableDefinition) -> tuple[Table, list[InputError]]:
    present = {name.lower(): name for name in table.columns}
    problems, columns = [], {}
    for name, declared in definition.columns.items():
        header = present.pop(name.lower(), None)
        if header is None:
            problems.append(InputError(f"column {name!r} is missing", table.place()))
            continue
        columns[name], bad = _typed(table, header, declared)
        problems += bad
    for header in present.values():
        known = ", ".join(definition.columns)
        problems.append(
            InputError(f"column {header!r} is not defined; defined are: {known}", table.place())
        )
    result = replace(
        table,
        name=definition.name,
        columns=columns,
        primary_key=definition.primary_key,
        foreign_keys=definition.foreign_keys,
        declared=definition.columns,
    )
    return result, problems


def _typed(table: Table, name: str, declared: str) -> tuple[Column, list[InputError]]:
    column = table.columns[name]
    typed, bad = column.typed(declared)
    return typed, list(_bad_cells(table, name, bad))


def _bad_cells(table: Table, name: str, bad: dict[int, str]) -> Iterator[InputError]:
    if not bad:
        return
    column = table.columns[name]
    faulty = np.zeros(len(column.names) + 1, np.bool_)
    faulty[list(bad)] = True
    rows = np.flatnonzero(faulty[column.codes])

    def what(row: int) -> str:
        place = int(column.codes[row])
        return f"expected {bad[place]}, found {column.names[place]!r}"

    yield from table.problems_at(rows, name, what)
