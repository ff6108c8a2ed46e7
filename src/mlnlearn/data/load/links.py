"""Foreign keys of any shape become links to objects; rows that nothing names become numbered."""

from __future__ import annotations

import warnings
from collections import abc
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.cutoff import without_dangling
from mlnlearn.data.load.edits import Edits, key_columns
from mlnlearn.data.load.spelling import moment_spelling
from mlnlearn.data.load.tables import (
    ROW,
    ForeignKey,
    Table,
    dangling,
    resolve_reference,
    row_ids,
    rows_referred_to,
)
from mlnlearn.errors import DataWarning


def with_single_links(tables: Sequence[Table]) -> list[Table]:
    """Return tables in which every foreign key leads to something that can be linked to.

    A foreign key to columns that are not the primary key leads to the row with these cells; one of
    several columns to a row of events becomes a column of its own, of row numbers. One that leads
    to several rows is dropped, with a remark.

    Examples
    --------
    >>> town = {"id": Column.of([1, 2]), "name": Column.of(["Brno", "Linz"])}
    >>> person = {"id": Column.of(["Anna"]), "from": Column.of(["Linz"])}
    >>> by_name = ForeignKey(("from",), "town", ("name",))
    >>> found = with_single_links(
    ...     [Table("town", town, ("id",)), Table("person", person, ("id",), (by_name,))]
    ... )
    >>> found[1].columns["from"].names
    ('2',)
    """
    known = {table.name: table for table in tables}
    return [_with_single_links(table, known) for table in tables]


def _with_single_links(table: Table, known: abc.Mapping[str, Table]) -> Table:
    found = table
    for key in table.foreign_keys:
        target = known.get(key.table)
        referenced = () if target is None else key.references or target.primary_key
        if target is None or len(referenced) != len(key.columns):
            continue  # a fault that `check_tables` reports
        if not set(key.columns) <= set(table.columns) or not set(referenced) <= set(target.columns):
            continue
        if all(resolve_reference(known, table.name, column) for column in key.columns):
            continue
        foreign = tuple(other for other in found.foreign_keys if other != key)
        made = _made_link(table, key, target)
        if made is None:
            _remark(table, f"{', '.join(key.columns)} leads to no single row of {key.table!r}")
            found = replace(found, foreign_keys=foreign)
            continue
        name = ", ".join(key.columns)
        link = ForeignKey((name,), key.table, target.primary_key)
        if is_event(target, {"columns": {}}):
            link = ForeignKey((name,), key.table, (ROW,))
        found = replace(
            found,
            columns={**found.columns, name: made},
            foreign_keys=(*foreign, link),
            parts=found.parts | (set(key.columns) - {name}),
        )
    return found


def _made_link(table: Table, key: ForeignKey, target: Table) -> Column | None:
    """Return the names of the objects that a foreign key leads to, if each is one."""
    referenced = [target.columns[name] for name in key.references or target.primary_key]
    filled = ~np.logical_or.reduce([column.missing for column in referenced])
    ids = row_ids([column.codes[filled] for column in referenced])
    if len(np.unique(ids)) < len(ids):
        return None
    rows = rows_referred_to(table, key, target)
    if is_event(target, {"columns": {}}):
        return Column.of(rows + 1, missing=rows < 0)
    if len(target.primary_key) != 1:
        return None
    names = target.columns[target.primary_key[0]]
    found = names.at(np.maximum(rows, 0)) if target.rows else Column((), np.full(table.rows, -1))
    return found.without(rows < 0)


def is_event(table: Table, edit: abc.Mapping[str, Any]) -> bool:
    """Tell whether the rows of a table are objects that nothing names.

    So it is without any key, where several rows have the same foreign keys, and where a composite
    key has parts that refer to nothing. A mapping can say otherwise, by keys or by ``kind``.

    Examples
    --------
    >>> who = {"who": Column.of(["Anna", "Anna"])}
    >>> visit = Table("visit", who, foreign_keys=(ForeignKey(("who",), "person"),))
    >>> is_event(visit, {"columns": {}})
    True
    """
    if edit.get("kind"):
        return bool(edit["kind"] == "event")
    if any(settings.get("as") == "key" for settings in edit["columns"].values()):
        return False
    keys = key_columns(table, edit["columns"])
    referring = [name for name in keys if table.foreign_key_of(name)]
    if table.primary_key:
        return len(keys) > 1 and len(referring) < len(keys)
    if not keys:
        return True
    columns = [table.columns[name] for name in keys]
    if any(column.has_missing for column in columns):
        return True
    ids = row_ids([column.codes for column in columns])
    if len(np.unique(ids)) < len(ids):
        return True
    others = [column for name, column in table.columns.items() if name not in keys]
    return any(moment_spelling(column.names) is not None for column in others)


def with_row_numbers(tables: Sequence[Table], edits: Edits) -> list[Table]:
    """Return the tables, those of events with a column that numbers their rows, as their key."""
    found = []
    for table in tables:
        if is_event(table, edits.get(table.name, {"columns": {}})):
            numbers = Column(
                tuple(map(str, range(1, table.rows + 1))), np.arange(table.rows, dtype=np.int32)
            )
            found.append(
                replace(table, columns={**table.columns, ROW: numbers}, primary_key=(ROW,))
            )
        else:
            found.append(table)
    return found


def without_lost_links(tables: Sequence[Table], edits: Edits) -> list[Table]:
    """Return tables without references to rows that are not there, with a remark on each.

    A link that leads nowhere is taken as none; a row of a relationship with such a key is left out.
    """
    known = {table.name: table for table in tables}
    for table in tables:
        needed = key_columns(table, edits.get(table.name, {"columns": {}})["columns"])
        current = table
        for key in table.foreign_keys:
            lost = int(dangling(current, key, known[key.table]).sum())
            if not lost:
                continue
            before = current.rows
            current = without_dangling(current, key, known[key.table], needed)
            what = "left out" if current.rows < before else "taken as empty"
            label = ", ".join(key.columns)
            _remark(
                table, f"{lost:,} cells of {label!r} are no key of {key.table!r}: they are {what}"
            )
        known[table.name] = current
    return list(known.values())


def _remark(table: Table, text: str) -> None:
    warnings.warn(f"{table.place()}: {text}", DataWarning, stacklevel=6)
