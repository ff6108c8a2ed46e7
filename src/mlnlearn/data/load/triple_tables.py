"""Triples that lie in Parquet files or DuckDB tables: read as numbers, names once each.

DuckDB finds the distinct names, in a scratch file where they are many, and hands out triples as
codes. No triple is ever held as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mlnlearn.data.graph import Codes
from mlnlearn.data.load.parquet import check_regular, has_parts, parquet_relation
from mlnlearn.errors import InputError, Location, MemoryLimitError
from mlnlearn.files import open_input
from mlnlearn.late import late
from mlnlearn.resources import in_use
from mlnlearn.scratch import ScratchFolder

duckdb = late("duckdb")

PLACES = ("head", "relation", "tail")
TABLE = "triples"
"""The table of a DuckDB file that holds the triples, where there are several."""
_NAMES = ("CHAR", "INT", "BOOL", "ENUM", "UUID", "DATE")
_ROOM = "raise the limit (--memory), or make room on the disk of temporary files (TMPDIR)"
_BYTES_OF_TRIPLE = 36  # as DuckDB hands it out, as it is kept, and as a number to sort by
_BYTES_OF_NAME = 130  # a text of Python without its letters, and its place in a table

Header = Callable[[Sequence[str]], tuple[int, ...]]
"""From the titles of columns: which place of a triple each is; nothing where they do not say."""


def is_triple_table(path: Path) -> bool:
    """Tell whether triples lie in a table: a Parquet file, a folder of its parts, a DuckDB file."""
    if path.is_dir():
        return has_parts(path)
    start = _first(path)
    return start[:4] == b"PAR1" or start[8:] == b"DUCK"


class TripleTables:
    """Tables of triples, with one numbering of their names.

    Parameters
    ----------
    connection
        DuckDB.
    tables
        A statement for each, with the columns head, relation and tail of texts; "" for none.
    sources
        Where they are, for messages.
    """

    def __init__(self, connection: Any, tables: Sequence[str], sources: Sequence[str]) -> None:
        self._connection, self._tables = connection, tables
        for table, source in zip(tables, sources, strict=True):
            if table:
                self._check(table, source)
        self.entities = self._numbered("entity", ("head", "tail"))
        self.relations = self._numbered("relation", ("relation",))

    def _check(self, table: str, source: str) -> None:
        """Refuse empty cells, and what would not fit in memory."""
        empty = ", ".join(f"count(*) - count({place})" for place in PLACES)
        rows, *missing = self._one(f"SELECT count(*), {empty} FROM ({table})")
        if not rows:
            raise InputError("there is no triple in the table", Location(source))
        for place, count in zip(PLACES, missing, strict=True):
            if count:
                raise InputError(f"the {place} of {count:,} triples is empty", Location(source))
        _refuse_above(rows * _BYTES_OF_TRIPLE, f"{rows:,} triples as numbers", source)

    def _numbered(self, kind: str, places: Sequence[str]) -> list[str]:
        """Give names their numbers, in their order, and return them."""
        columns = [
            f"SELECT DISTINCT {place} AS name FROM ({table})"
            for table in self._tables
            if table
            for place in places
        ]
        self._connection.execute(f"CREATE TABLE {kind}_names AS {' UNION '.join(columns)}")
        count, letters = self._one(
            f"SELECT count(*), CAST(sum(strlen(name)) AS BIGINT) FROM {kind}_names"
        )
        _refuse_above(count * _BYTES_OF_NAME + 2 * letters, f"{count:,} names", kind)
        ordered = f"SELECT name FROM {kind}_names ORDER BY name"
        self._connection.execute(f"CREATE TYPE {kind} AS ENUM ({ordered})")
        names: list[str] = self._connection.execute(ordered).fetchnumpy()["name"].tolist()
        self._connection.execute(f"DROP TABLE {kind}_names")
        if any(not name.strip() for name in names):
            raise InputError(f"a name ({kind}) is empty, or of blanks only")
        return names

    def codes(self, number: int) -> Codes:
        """Return the triples of a table, in any order: heads, relations and tails."""
        cells = ", ".join(
            f"CAST(enum_code(CAST({place} AS {kind})) AS INTEGER) AS {place}"
            for place, kind in zip(PLACES, ("entity", "relation", "entity"), strict=True)
        )
        found = self._connection.execute(f"SELECT {cells} FROM ({self._tables[number]})")
        columns = found.fetchnumpy()
        codes = np.empty((3, len(columns["head"])), np.int32)
        for row, place in enumerate(PLACES):
            codes[row] = columns.pop(place)
        return codes

    def _one(self, statement: str) -> tuple[int, ...]:
        found: tuple[int, ...] = self._connection.execute(statement).fetchone()
        return found


@contextmanager
def triple_tables(
    paths: Sequence[Path | None], order: Sequence[int], header: Header
) -> Iterator[TripleTables]:
    """Open tables of triples for reading, within the memory that is in use.

    Parameters
    ----------
    paths
        Where they are; None where there is no table.
    order
        Which place of a triple each column is; empty where the titles are to say.
    header
        What reads the titles.
    """
    scratch = ScratchFolder()
    settings = {
        "memory_limit": f"{in_use().nbytes // 2}B",
        "temp_directory": str(scratch.path),
        "preserve_insertion_order": "false",
    }
    connection = duckdb.connect(str(scratch.path / "names.duckdb"), config=settings)
    try:
        connection.execute("SET enable_progress_bar = false")
        tables = [
            "" if path is None else _select(connection, path, f"source{number}", order, header)
            for number, path in enumerate(paths)
        ]
        yield TripleTables(connection, tables, [str(path) for path in paths])
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        is_full = "No space left" in reason or "write" in reason
        if isinstance(error, duckdb.OutOfMemoryException) or is_full:
            message = f"no room to number the names of triples: {reason}"
            raise MemoryLimitError(message, hint=_ROOM) from error
        where = ", ".join(str(path) for path in paths if path is not None)
        raise InputError(f"DuckDB cannot read it: {reason}", Location(where)) from error
    finally:
        connection.close()
        scratch.close()


def _select(connection: Any, path: Path, alias: str, order: Sequence[int], header: Header) -> str:
    """Return a statement for the triples of a file, with texts in the columns of their places."""
    check_regular(path)
    if path.is_dir() or _first(path)[:4] == b"PAR1":
        relation = parquet_relation(path)
    else:
        connection.execute(f"ATTACH {_literal(path.absolute())} AS {alias} (READ_ONLY)")
        relation = _table(connection, path, alias)
    rows = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    columns = [(row[0], row[1]) for row in rows]
    titles = [title for title, _ in columns]
    if len(columns) != 3:
        raise InputError(
            f"3 columns expected (head, relation, tail), found: {', '.join(titles)}",
            Location(str(path)),
        )
    strange = [f"{title} ({kind})" for title, kind in columns if not any(n in kind for n in _NAMES)]
    if strange:
        raise InputError(f"columns that hold no names: {', '.join(strange)}", Location(str(path)))
    places = order or header(titles) or range(3)
    cells = ", ".join(
        f"CAST({_quoted(title)} AS VARCHAR) AS {PLACES[place]}"
        for title, place in zip(titles, places, strict=True)
    )
    return f"SELECT {cells} FROM {relation}"


def _table(connection: Any, path: Path, alias: str) -> str:
    """Return the table of a DuckDB file that has the triples."""
    found = connection.execute(
        "SELECT schema_name, table_name, column_count FROM duckdb_tables() "
        f"WHERE database_name = '{alias}' ORDER BY ALL"
    ).fetchall()
    named = [row for row in found if row[1].lower() == TABLE]
    fitting = named or [row for row in found if row[2] == 3]
    if len(fitting) != 1:
        listed = ", ".join(row[1] for row in found) or "none"
        raise InputError(
            f"which table has the triples? There are: {listed}",
            Location(str(path)),
            hint=f"call it {TABLE}",
        )
    return f"{alias}.{_quoted(fitting[0][0])}.{_quoted(fitting[0][1])}"


def _first(path: Path) -> bytes:
    """Return the first bytes of a file, which say what it is."""
    with open_input(path) as file:
        return file.read(12)


def _refuse_above(nbytes: int, what: str, source: str) -> None:
    """Refuse what takes more memory than is given."""
    if nbytes > in_use().nbytes:
        raise MemoryLimitError(
            f"{what} take about {nbytes / 2**20:,.0f} MB; the limit is "
            f"{in_use().nbytes / 2**20:,.0f} MB",
            Location(source),
            hint="raise the limit (--memory)",
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
