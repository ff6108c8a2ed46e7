"""Tables from PostgreSQL, with the keys that its catalog declares, in one read-only snapshot."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeGuard
from urllib.parse import parse_qsl, unquote, urlsplit

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.ddl import TableDefinition
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.load.urls import ServerAddress
from mlnlearn.errors import InputError, InputErrors, Location, raise_all

if TYPE_CHECKING:  # the client library is an extra, loaded where it is used
    from psycopg import Connection, Cursor

_SECONDS = 10
"""How long to wait for a server, unless the address says ``connect_timeout``."""
_AS_THEY_ARE = {16, 20, 21, 23, 700, 701, 1700}
"""Types that come as numbers and truth values: bool, int8, int2, int4, float4, float8, numeric."""
_BYTES = 17

_TABLES = """
SELECT c.oid, n.nspname, c.relname
FROM unnest(COALESCE(%s::text[], current_schemas(false)::text[]))
  WITH ORDINALITY AS asked(name, place)
  JOIN pg_catalog.pg_namespace n ON n.nspname = asked.name
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY asked.place, c.oid
"""
_COLUMNS = """
SELECT attrelid, attnum, attname, format_type(atttypid, atttypmod)
FROM pg_catalog.pg_attribute
WHERE attrelid = ANY (%s) AND attnum > 0 AND NOT attisdropped ORDER BY attrelid, attnum
"""
_KEYS = """
SELECT k.conrelid, k.contype::text, k.conkey, k.confrelid, k.confkey, n.nspname, c.relname
FROM pg_catalog.pg_constraint k
  LEFT JOIN pg_catalog.pg_class c ON c.oid = k.confrelid
  LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.conrelid = ANY (%s) AND k.contype IN ('p', 'f') AND k.conparentid = 0 ORDER BY k.oid
"""
_TYPES = """
SELECT oid, format_type(oid, NULL), typcategory::text FROM pg_catalog.pg_type WHERE oid = ANY (%s)
"""


def is_postgres(source: object) -> TypeGuard[Connection[Any]]:
    """Tell whether something is an open connection to PostgreSQL.

    Examples
    --------
    >>> is_postgres("postgresql://localhost/shop")
    False
    """
    psycopg = sys.modules.get("psycopg")  # nobody has a connection without having loaded it
    return psycopg is not None and isinstance(source, psycopg.Connection)


@contextmanager
def explained(address: ServerAddress) -> Iterator[None]:
    """Say in our own words, and without a password, what a server or its client refuses."""
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        raise InputError(
            "PostgreSQL needs the package psycopg",
            Location(address.shown),
            hint='install it: pip install "mlnlearn[postgres]"',
        ) from None
    try:
        yield
    except psycopg.Error as error:
        raise InputError(
            f"PostgreSQL: {_reason(error, address.url)}", Location(address.shown)
        ) from None


def connect(address: ServerAddress) -> Connection[Any]:
    """Open a connection to a server, each statement of which is a transaction."""
    with explained(address):
        import psycopg  # noqa: PLC0415 - an extra

        given = psycopg.conninfo.conninfo_to_dict(address.url)
        seconds = given.get("connect_timeout", _SECONDS)
        settings = psycopg.conninfo.make_conninfo(address.url, connect_timeout=seconds)
        return psycopg.connect(settings, autocommit=True)


def read_address(address: ServerAddress, wanted: Iterable[str] | None = None) -> list[Table]:
    """Read tables from a server, in a transaction that can change nothing."""
    with connect(address) as connection, explained(address):
        return read_postgres(connection, wanted, address.schemas, address.shown)


def _reason(error: Exception, url: str) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    parts = urlsplit(url)
    secrets = [parts.netloc.rpartition("@")[0].partition(":")[2]]
    secrets += [value for key, value in parse_qsl(parts.query) if "password" in key.lower()]
    for password in filter(None, {*secrets, *map(unquote, secrets)}):
        text = text.replace(password, "***")
    return text


def read_postgres(
    connection: Connection[Any],
    wanted: Iterable[str] | None = None,
    schemas: Iterable[str] = (),
    source: str = "database",
) -> list[Table]:
    """Read tables over an open connection, all as of the same moment.

    Tables of the schemas asked for are read, by default those of the search path. A table is called
    by its name alone; where two schemas have one of that name, by ``schema.name``, in any case
    a table can be asked for so. The connection is left as it was.
    """
    with _snapshot(connection) as cursor:
        chosen = tuple(schemas)
        known = _definitions(cursor, chosen)
        if not known:
            inside = f" in {', '.join(chosen)}" if chosen else ""
            raise InputErrors([InputError(f"the database has no tables{inside}", Location(source))])
        return [_table(cursor, found) for found in _wanted(known, wanted)]


def found_tables(connection: Connection[Any], schemas: Iterable[str] = ()) -> list[FoundTable]:
    """Return the tables of some schemas, by default those of the search path, with their keys."""
    with _snapshot(connection) as cursor:
        return _definitions(cursor, tuple(schemas))


def read_found(connection: Connection[Any], found: FoundTable) -> Table:
    """Read one table."""
    with _snapshot(connection) as cursor:
        return _table(cursor, found)


@contextmanager
def _snapshot(connection: Connection[Any]) -> Iterator[Cursor[tuple[Any, ...]]]:
    """Open a transaction that sees one moment and changes nothing; or go into the caller's own."""
    from psycopg import pq  # noqa: PLC0415 - an extra
    from psycopg.rows import tuple_row  # noqa: PLC0415

    idle = connection.info.transaction_status == pq.TransactionStatus.IDLE
    with (
        connection.transaction(force_rollback=True),
        connection.cursor(row_factory=tuple_row) as cursor,
    ):
        if idle:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        # the same names of days and moments whatever the server's customs are
        cursor.execute("SET LOCAL datestyle = ISO")
        cursor.execute("SET LOCAL timezone = UTC")
        yield cursor


@dataclass(frozen=True)
class FoundTable:
    """A table of the catalog: its schema and name there, and what we call it.

    Attributes
    ----------
    schema, table
        Where its rows are.
    definition
        Its columns and keys.
    """

    schema: str
    table: str
    definition: TableDefinition

    @property
    def full(self) -> str:
        """The name with its schema."""
        return f"{self.schema}.{self.table}"


def _definitions(cursor: Cursor[tuple[Any, ...]], schemas: tuple[str, ...]) -> list[FoundTable]:
    rows = cursor.execute(_TABLES, [list(schemas) or None]).fetchall()
    number = [oid for oid, _, _ in rows]
    often = Counter(table for _, _, table in rows)
    names = {o: f"{schema}.{t}" if often[t] > 1 else t for o, schema, t in rows}
    columns: dict[int, dict[int, tuple[str, str]]] = {oid: {} for oid in number}
    for oid, place, title, declared in cursor.execute(_COLUMNS, [number]).fetchall():
        columns[oid][place] = title, declared
    found = {o: TableDefinition(names[o], dict(columns[o].values())) for o in number}
    keys = cursor.execute(_KEYS, [number]).fetchall()
    outside = [key[3] for key in keys if key[1] == "f" and key[3] not in columns]
    away: dict[int, dict[int, str]] = {oid: {} for oid in outside}
    for oid, place, title, _ in cursor.execute(_COLUMNS, [outside]).fetchall():
        away[oid][place] = title
    for oid, kind, own, target, other, schema, table in keys:
        mine = tuple(columns[oid][place][0] for place in own)
        if kind == "p":
            found[oid] = replace(found[oid], primary_key=mine)
            continue
        there = {p: t for p, (t, _) in columns[target].items()} if target in names else away[target]
        named = names.get(target, f"{schema}.{table}")
        key = ForeignKey(mine, named, tuple(there[place] for place in other))
        found[oid] = replace(found[oid], foreign_keys=(*found[oid].foreign_keys, key))
    return [FoundTable(schema, table, found[oid]) for oid, schema, table in rows]


def _wanted(known: list[FoundTable], wanted: Iterable[str] | None) -> list[FoundTable]:
    if wanted is None:
        return known
    by_name = {found.full: found for found in known}
    by_name |= {found.definition.name: found for found in known}
    listed = ", ".join(found.definition.name for found in known)
    asked = list(wanted)
    problems = [
        InputError(f"no such table {name!r}; there are: {listed}")
        for name in asked
        if name not in by_name
    ]
    raise_all(problems)
    return [by_name[name] for name in asked]


def _table(cursor: Cursor[tuple[Any, ...]], found: FoundTable) -> Table:
    from psycopg import Error, sql  # noqa: PLC0415 - an extra

    definition = found.definition
    where = Location(f"table {definition.name}")
    relation = sql.Identifier(found.schema, found.table)
    titles = list(definition.columns)
    cells = [sql.Identifier(title) for title in titles]
    select = sql.SQL("SELECT {} FROM {}")
    try:
        cursor.execute(select.format(sql.SQL(", ").join(cells), relation) + sql.SQL(" LIMIT 0"))
        kinds = [column.type_code for column in cursor.description or ()]
        opaque = _opaque(cursor, titles, kinds)
        parts = [
            sql.SQL("NULL")
            if title in opaque
            else cell
            if kind in _AS_THEY_ARE
            else sql.SQL("{}::text").format(cell)
            for title, cell, kind in zip(titles, cells, kinds, strict=True)
        ]
        rows = cursor.execute(select.format(sql.SQL(", ").join(parts), relation)).fetchall()
    except Error as error:
        reason = " ".join(str(error).split())
        raise InputError(f"PostgreSQL cannot read it: {reason}", where) from None
    every = zip(*rows, strict=True) if rows else ((),) * len(titles)
    columns = {
        title: Column.unreadable(len(rows), opaque[title]) if title in opaque else Column.of(values)
        for title, values in zip(titles, every, strict=True)
    }
    return definition.table(columns)


def _opaque(cursor: Cursor[tuple[Any, ...]], titles: list[str], kinds: list[int]) -> dict[str, str]:
    """Return the columns that hold neither names nor numbers, with what they hold instead."""
    known = {oid: (name, category) for oid, name, category in cursor.execute(_TYPES, [kinds])}
    return {
        title: known[kind][0]
        for title, kind in zip(titles, kinds, strict=True)
        if kind == _BYTES or known[kind][1] in "AC"  # bytes, arrays, rows
    }
