"""Keys and column types from ``CREATE TABLE`` statements.

SQLite itself reads the statements, in memory: there is no SQL parser here to be wrong. Statements
other than definitions are skipped. An authorizer keeps definitions from touching any file and from
asking for anything: a table is declared, never computed; and all of it takes little time and room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.errors import InputError, InputErrors, Location, raise_all
from mlnlearn.files import read_text
from mlnlearn.late import late

if TYPE_CHECKING:
    import sqlite3
else:
    sqlite3 = late("sqlite3")

_SKIPPED = {"begin", "commit", "end", "insert", "pragma", "set", "use", "lock", "unlock"}
# The parts of SQL text that may hold a semicolon of their own, each to its end or that of the text.
_PART = re.compile(
    r"""
      (?P<blank>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    | '(?:[^']|'')*+'?|"[^"]*+"?|`[^`]*+`?|\[[^\]]*+\]?
    | (?P<word>\w+)
    | (?P<end>;)
    | .
    """,
    re.DOTALL | re.VERBOSE,
)
_MOST_PROBLEMS = 20
_MOST_STEPS = 100  # of a thousand instructions: declarations need a few
_LONGEST_VALUE = 1_000_000
_GENERATED = (2, 3)  # as SQLite marks columns that are calculated: on reading, on writing
_NEAR = re.compile(r'near "(.*)": ', re.DOTALL)
_HINT = "SQL definitions are read by SQLite: CREATE TABLE with PRIMARY KEY and FOREIGN KEY clauses"


@dataclass(frozen=True)
class TableDefinition:
    """What a ``CREATE TABLE`` statement says: columns with their declared types, and keys."""

    name: str
    columns: dict[str, str]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()

    def table(self, columns: Mapping[str, Column]) -> Table:
        """Return the table of columns that a database holds; a blank text is an empty cell there.

        Examples
        --------
        >>> course = TableDefinition("course", {"id": "TEXT", "level": "TEXT"}, ("id",))
        >>> table = course.table({"id": Column.of(["", "B"]), "level": Column.of(["", "low"])})
        >>> [column.names for column in table.columns.values()]
        [('', 'B'), ('low',)]
        """
        keys = {*self.primary_key, *(name for key in self.foreign_keys for name in key.columns)}
        filled = {n: c if n in keys else c.without_blanks() for n, c in columns.items()}
        return Table(self.name, filled, self.primary_key, self.foreign_keys, declared=self.columns)


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
    check_ddl(ddl)
    return _definitions(read_text(ddl), str(ddl))


def check_ddl(ddl: str | Path) -> None:
    """Refuse a file that is no SQL, such as declarations in Alchemy's language."""
    if isinstance(ddl, Path) and ddl.suffix.lower() != ".sql":
        raise InputError(
            f"{ddl} is no schema for tables",
            hint="give CREATE TABLE statements in a file that ends in .sql",
        )


def _definitions(text: str, source: str) -> list[TableDefinition]:
    problems: list[InputError] = []
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.set_authorizer(_authorize)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        for start, statement in _statements(text):
            try:
                _execute(connection, statement)
            except (sqlite3.Error, ValueError) as error:
                place = start + _fault(statement, str(error))
                problems.append(InputError(str(error), _location(text, place, source), _HINT))
            if len(problems) == _MOST_PROBLEMS:
                break
        connection.set_authorizer(None)
        found = [] if problems else sqlite_definitions(connection)
    raise_all(problems)
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
    steps = count()
    connection.set_progress_handler(lambda: next(steps) >= _MOST_STEPS, 1000)
    connection.execute(statement)


def _authorize(action: int, *_: Any) -> int:
    forbidden = {
        sqlite3.SQLITE_ATTACH,
        sqlite3.SQLITE_DETACH,
        sqlite3.SQLITE_CREATE_VTABLE,
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_RECURSIVE,
    }
    return sqlite3.SQLITE_DENY if action in forbidden else sqlite3.SQLITE_OK


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each statement with the place where it starts."""
    start, words = -1, [""]
    for part in _PART.finditer(text):
        if part["blank"] or (part["end"] and start < 0):
            continue
        start = part.start() if start < 0 else start
        if not part["end"]:
            words.append(part["word"] or "")
        elif "trigger" not in map(str.lower, words[:4]) or words[-1].lower() == "end":
            yield start, text[start : part.end()]
            start, words = -1, [""]
    if start >= 0:
        yield start, text[start:]


def _fault(statement: str, message: str) -> int:
    """Return where in a statement the word stands that SQLite complains about."""
    near = _NEAR.match(message)
    return max(statement.find(near.group(1)), 0) if near else 0


def _location(text: str, place: int, source: str) -> Location:
    line_start = text.rfind("\n", 0, place) + 1
    line = text[line_start:].split("\n", 1)[0].rstrip("\r")
    return Location(source, text.count("\n", 0, place) + 1, place - line_start + 1, line)


def sqlite_definitions(
    connection: sqlite3.Connection, *, generated: bool = False
) -> list[TableDefinition]:
    """Read all table definitions from the catalog of an SQLite connection.

    Parameters
    ----------
    connection
        The connection.
    generated
        Whether columns count that are calculated from others: files of cells have none.
    """
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' ORDER BY rowid"
    )
    names = [row[0] for row in connection.execute(query)]
    return [_sqlite_definition(connection, name, names, generated) for name in names]


def _sqlite_definition(
    connection: sqlite3.Connection, name: str, names: list[str], generated: bool
) -> TableDefinition:
    query = "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden IN (0, ?, ?)"
    columns = connection.execute(query, (name, *(_GENERATED if generated else (0, 0))))
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
