"""Tables written out: as a folder of CSV files with their definitions, or as an SQLite file."""

from __future__ import annotations

import csv
import os
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from mlnlearn.data.load.columns import Column, constant_name
from mlnlearn.data.load.tables import Table
from mlnlearn.errors import DataWarning, InputError
from mlnlearn.files import check_new, located

SQLITE = (".sqlite", ".sqlite3", ".db")
"""Endings that mean an SQLite file; anything else is a folder."""

_WHOLE = range(-(2**63), 2**63)


def save_tables(tables: Sequence[Table], path: str | Path) -> None:
    r"""Write tables with their keys, in full or not at all; nothing is ever overwritten.

    A `path` that ends in ``.sqlite``, ``.sqlite3`` or ``.db`` becomes an SQLite file; any other
    a folder with a CSV file for each table and their definitions in ``schema.sql``. Both can be
    read again by `read_tables`. In CSV an empty cell is NULL.

    Parameters
    ----------
    tables
        The tables with their keys.
    path
        A folder, or a file that ends as an SQLite file does.

    Examples
    --------
    >>> import tempfile
    >>> people = {"id": Column.of(["Anna", "Bob"]), "age": Column.of([30, None])}
    >>> target = Path(tempfile.mkdtemp()) / "people"
    >>> save_tables([Table("person", people, ("id",))], target)
    >>> print((target / "schema.sql").read_text().rstrip())
    CREATE TABLE "person" (
      "id" TEXT,
      "age" INTEGER,
      PRIMARY KEY ("id")
    );
    >>> (target / "person.csv").read_text()
    'id,age\nAnna,30\nBob,\n'
    """
    target = Path(path)
    check_new(target)
    for table in tables:
        for name, column in table.columns.items():
            if column.opaque:
                warnings.warn(
                    f"{table.place()}: column {name!r} holds {column.opaque}, which is not copied: "
                    "its cells are empty",
                    DataWarning,
                    stacklevel=2,
                )
    write = _write_sqlite if target.suffix.lower() in SQLITE else _write_folder
    with located(target, "write"):
        hidden = Path(tempfile.mkdtemp(dir=target.parent, prefix=".mlnlearn-"))
        try:
            made = hidden / target.name
            write(tables, made)
            os.rename(made, target)
        except sqlite3.Error as error:
            raise OSError(str(error)) from None
        finally:
            shutil.rmtree(hidden, ignore_errors=True)


def definitions(tables: Sequence[Table]) -> str:
    """Return ``CREATE TABLE`` statements for tables, as SQLite reads them.

    Examples
    --------
    >>> print(definitions([Table("dog", {"id": Column.of(["Rex"])})]))
    CREATE TABLE "dog" (
      "id" TEXT
    );
    """
    texts = []
    for table in tables:
        lines = [f"{_quoted(name)} {_type(table, name)[0]}" for name in table.columns]
        if table.primary_key:
            lines.append(f"PRIMARY KEY ({_names(table.primary_key)})")
        for key in table.foreign_keys:
            there = f" ({_names(key.references)})" if key.references else ""
            own = _names(key.columns)
            lines.append(f"FOREIGN KEY ({own}) REFERENCES {_quoted(key.table)}{there}")
        body = ",\n  ".join(lines)
        texts.append(f"CREATE TABLE {_quoted(table.name)} (\n  {body}\n);")
    return "\n\n".join(texts)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(_quoted, columns))


Cell = str | int | float | None


def _type(table: Table, name: str) -> tuple[str, Callable[[str], Cell]]:
    """Return a type that holds all cells of a column as they are, and how cells become such."""
    declared = table.declared.get(name, "").upper()
    kind = cell_type(table.columns[name], declared)
    read: dict[str, Callable[[str], Cell]] = {
        "BOOLEAN": lambda cell: int(cell == "true"),
        "INTEGER": int,
        "REAL": float,
    }
    return kind, read.get(kind, str)


def cell_type(column: Column, declared: str = "") -> str:
    """Return an SQL type that holds all cells of a column as they are.

    Examples
    --------
    >>> cell_type(Column.of(["7", "12"])), cell_type(Column.of(["007"])), cell_type(Column.of("x"))
    ('INTEGER', 'TEXT', 'TEXT')
    """
    if "BOOL" in declared and set(column.names) <= {"true", "false"}:
        return "BOOLEAN"
    text = declared and not any(
        part in declared for part in ("INT", "REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL")
    )
    if not text and column.names:
        if all(_is_whole(cell) for cell in column.names):
            return "INTEGER"
        if all(_is_number(cell) for cell in column.names):
            return "REAL"
    return "TEXT"


def _is_whole(cell: str) -> bool:
    digits = cell.removeprefix("-")
    return (
        digits.isdecimal() and len(digits) < 20 and str(int(cell)) == cell and (int(cell) in _WHOLE)
    )


def _is_number(cell: str) -> bool:
    try:
        return constant_name(float(cell)) == cell
    except ValueError:
        return False


def _cells(column: Column, read: Callable[[str], Cell]) -> list[Cell]:
    values: list[Cell] = [*map(read, column.names), None]
    return [values[code] for code in column.codes.tolist()]


def _write_folder(tables: Sequence[Table], folder: Path) -> None:
    folder.mkdir()
    (folder / "schema.sql").write_text(definitions(tables) + "\n", encoding="utf-8")
    for table in tables:
        if "/" in table.name or table.name.startswith("."):
            raise InputError(f"the table {table.name!r} cannot be a file", hint="write .sqlite")
        with (folder / f"{table.name}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(table.columns)
            columns = [_cells(column, str) for column in table.columns.values()]
            writer.writerows(zip(*columns, strict=True))


def _write_sqlite(tables: Sequence[Table], file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(definitions(tables))
        for table in tables:
            columns = [_cells(c, _type(table, n)[1]) for n, c in table.columns.items()]
            places = ", ".join("?" * len(columns))
            connection.executemany(
                f"INSERT INTO {_quoted(table.name)} VALUES ({places})", zip(*columns, strict=True)
            )
        connection.commit()
