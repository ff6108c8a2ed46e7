"""Keys and column types from ``CREATE TABLE`` statements.

SQLite itself reads the statements, in memory: there is no SQL parser here to be wrong. Statements
other than definitions are skipped, and an authorizer keeps definitions from touching any file.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlnlearn.data.load.tables import ForeignKey
from mlnlearn.errors import InputError, InputErrors, Location

_SKIPPED = {"begin", "commit", "end", "insert", "pragma", "set", "use", "lock", "unlock"}
_LEADING = re.compile(r"(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)+", re.DOTALL)
_NEAR = re.compile(r'near "(.*)": ', re.DOTALL)
_HINT = "SQL definitions are read by SQLite: CREATE TABLE with PRIMARY KEY and FOREIGN KEY clauses"


@dataclass(frozen=True)
class TableDefinition:
    """What a ``CREATE TABLE`` statement says: columns with their declared types, and keys."""

    name: str
    columns: dict[str, str]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()


def read_ddl(ddl: str | Path) -> list[TableDefinition]:
    """Read table definitions from an SQL file, or from SQL text (a string that holds a ``(``).

    Examples
    --------
    >>> course, = read_ddl("CREATE TABLE course (id INTEGER PRIMARY KEY, level TEXT)")
    >>> course.name, course.columns, course.primary_key
    ('course', {'id': 'INTEGER', 'level': 'TEXT'}, ('id',))
    """
    if isinstance(ddl, str) and "(" in ddl:
        return _definitions(ddl, "ddl")
    try:
        text = Path(ddl).read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InputError(f"cannot read the SQL definitions: {reason}", Location(str(ddl))) from None
    except UnicodeDecodeError as error:
        message = f"byte {error.start + 1} is not UTF-8"
        raise InputError(message, Location(str(ddl))) from None
    return _definitions(text, str(ddl))


def _definitions(text: str, source: str) -> list[TableDefinition]:
    problems: list[InputError] = []
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.set_authorizer(_authorize)
        for start, statement in _statements(text):
            try:
                _execute(connection, statement)
            except sqlite3.Error as error:
                place = start + _fault(statement, str(error))
                problems.append(InputError(str(error), _location(text, place, source), _HINT))
        connection.set_authorizer(None)
        found = [] if problems else sqlite_definitions(connection)
    if problems:
        raise InputErrors(problems)
    if not found:
        raise InputErrors([InputError("no CREATE TABLE statement found", Location(source), _HINT)])
    return found


def _execute(connection: sqlite3.Connection, statement: str) -> None:
    keyword = re.match(r"\w*", statement)
    word = keyword.group().lower() if keyword else ""
    if word in _SKIPPED:
        return
    if word not in {"create", "drop", "alter"}:
        raise sqlite3.OperationalError(f'near "{word}": expected a table definition')
    connection.execute(statement)


def _authorize(action: int, *_: Any) -> int:
    forbidden = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_CREATE_VTABLE}
    return sqlite3.SQLITE_DENY if action in forbidden else sqlite3.SQLITE_OK


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each statement with the place where it starts."""
    start = 0
    while start < len(text):
        skipped = _LEADING.match(text, start)
        start = skipped.end() if skipped else start
        stop = text.find(";", start)
        while stop >= 0 and not sqlite3.complete_statement(text[start : stop + 1]):
            stop = text.find(";", stop + 1)
        stop = len(text) if stop < 0 else stop + 1
        if text[start:stop].strip(" \n\t\r;"):
            yield start, text[start:stop]
        start = stop


def _fault(statement: str, message: str) -> int:
    """Return where in a statement the word stands that SQLite complains about."""
    near = _NEAR.match(message)
    return max(statement.find(near.group(1)), 0) if near else 0


def _location(text: str, place: int, source: str) -> Location:
    line_start = text.rfind("\n", 0, place) + 1
    line = text[line_start:].split("\n", 1)[0].rstrip("\r")
    return Location(source, text.count("\n", 0, place) + 1, place - line_start + 1, line)


def sqlite_definitions(connection: sqlite3.Connection) -> list[TableDefinition]:
    """Read all table definitions from the catalog of an SQLite connection."""
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' ORDER BY rowid"
    )
    names = [row[0] for row in connection.execute(query)]
    return [_sqlite_definition(connection, name, names) for name in names]


def _sqlite_definition(
    connection: sqlite3.Connection, name: str, names: list[str]
) -> TableDefinition:
    columns = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (name,))
    rows = columns.fetchall()
    primary = sorted((place, column) for column, _, place in rows if place)
    spelled = {other.lower(): other for other in names}
    here = {column.lower(): column for column, _, _ in rows}
    parts: dict[int, tuple[str, list[str], list[str]]] = {}
    query = 'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq'
    for number, target, column, referenced in connection.execute(query, (name,)):
        key = parts.setdefault(number, (spelled.get(target.lower(), target), [], []))
        key[1].append(here.get(column.lower(), column))
        if referenced is not None:
            key[2].append(_column_as_spelled(connection, key[0], referenced))
    # SQLite numbers foreign keys from the last to the first.
    foreign = [
        ForeignKey(tuple(own), target, tuple(other))
        for _, (target, own, other) in sorted(parts.items(), reverse=True)
    ]
    return TableDefinition(
        name,
        {column: declared for column, declared, _ in rows},
        tuple(column for _, column in primary),
        tuple(foreign),
    )


def _column_as_spelled(connection: sqlite3.Connection, table: str, column: str) -> str:
    query = "SELECT name FROM pragma_table_info(?) WHERE lower(name) = lower(?)"
    found = connection.execute(query, (table, column)).fetchone()
    return str(found[0]) if found else column
