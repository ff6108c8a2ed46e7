"""How tables were read: one line a column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import mlnlearn as ml
from mlnlearn.cli.show import console, print_table

if TYPE_CHECKING:  # loading NumPy can wait until the command runs
    from mlnlearn.data.load.mapping import ColumnMapping, TableMapping

_TITLES = ("table", "column", "read as", "why", "empty")
_SKIPPED = "left out"


def print_reading(mapping: ml.Mapping, database: ml.Database) -> None:
    """Print what became of each table and column, and why."""
    rows = [row for table in mapping for row in _table_rows(table, database)]
    print_table(console(), _TITLES, rows, words=(0, 1, 2, 3))


def reading_as_json(mapping: ml.Mapping) -> list[dict[str, object]]:
    """Return what became of each column as plain values."""
    return [
        {
            "table": table.name,
            "column": column.name,
            "read_as": column.role,
            "references": column.references,
            "why": column.note,
            "empty": column.empty,
        }
        for table in mapping
        for column in table.columns
    ]


def _table_rows(table: TableMapping, database: ml.Database) -> Iterator[tuple[str, ...]]:
    count = ""
    if table.has_objects and table.type in database.domains:
        count = f"{database.size(table.type):,} rows"
    elif table.kind == "relationship" and table.predicate:
        count = f"{database.count(table.predicate):,} links"
    kind = _SKIPPED if table.kind == "skip" else table.kind
    when = f"time: {table.time}" if table.time else ""
    yield table.name, "", kind, ", ".join(part for part in (count, when, table.note) if part), ""
    for column in table.columns:
        empty = f"{column.empty:,}" if column.empty else ""
        yield "", column.name, _read_as(column), column.note, empty


def _read_as(column: ColumnMapping) -> str:
    if column.role == "skip":
        return _SKIPPED
    if column.references:
        return f"{column.role} to {column.references}"
    if column.cuts:
        return f"{len(column.cuts) + 1} bands"
    return column.role
