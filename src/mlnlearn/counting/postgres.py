"""The engine on PostgreSQL: counts in SQL where the data are already."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.cache import ByteCache
from mlnlearn.counting.arrays import overflow
from mlnlearn.counting.budget import ByteBudget
from mlnlearn.counting.dialect import POSTGRESQL, Dialect
from mlnlearn.counting.placed import server_of
from mlnlearn.counting.sql_engine import Answer, FullServerError, SqlEngine
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.data.load.postgres import connect
from mlnlearn.data.load.urls import ServerAddress, is_url, read_url
from mlnlearn.errors import InputError
from mlnlearn.resources import DEFAULT_MEMORY, byte_size, in_use

if TYPE_CHECKING:  # an extra
    from psycopg import Connection

_COLUMNS = """
SELECT c.table_schema, c.table_name, c.column_name, c.data_type
FROM unnest(COALESCE(%s::text[], current_schemas(false)::text[]))
  WITH ORDINALITY AS asked(name, place)
  JOIN information_schema.columns c ON c.table_schema = asked.name
ORDER BY asked.place, c.table_name, c.ordinal_position
"""


class PostgresServer:
    """A connection to a PostgreSQL database; all that is made there are temporary tables.

    Parameters
    ----------
    address
        Such as ``postgresql://user@host/name``.
    """

    def __init__(self, address: str | None) -> None:
        place = read_url(address) if address and is_url(address) else None
        if not isinstance(place, ServerAddress):
            raise InputError(
                f"engine postgresql: {address!r} is no address of a server",
                hint="write it as --master postgresql://user@host/name",
            )
        self.connection: Connection[Any] = connect(place)
        self.address = place
        self._end = weakref.finalize(self, self.connection.close)

    @property
    def dialect(self) -> Dialect:
        """The SQL that it understands."""
        return POSTGRESQL

    def close(self) -> None:
        """Close the connection; temporary tables go with it."""
        self._end()

    def drop(self, table: str) -> None:
        """Let go of a table."""
        self.fetch(f"DROP TABLE {table}")

    def load(self, table: str, columns: Mapping[str, NDArray[Any]]) -> str:
        """Make a table from columns that are sent to the server; return its name."""
        types = {"i": "INTEGER", "f": "DOUBLE PRECISION"}
        kinds = ", ".join(f"{name} {types[values.dtype.kind]}" for name, values in columns.items())
        with self.connection.cursor() as cursor:
            cursor.execute(f"CREATE TEMP TABLE {table} ({kinds})")
            with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                for row in zip(*(column.tolist() for column in columns.values()), strict=True):
                    copy.write_row(row)
            cursor.execute(f"ANALYZE {table}")
        return table

    def create(self, table: str, select: str) -> str:
        """Make a table from the answer of a statement; return its name."""
        self.fetch(f"CREATE TEMP TABLE {table} AS {select}")
        self.fetch(f"ANALYZE {table}")
        return table

    def gather(self, table: str, selects: Sequence[str]) -> str:
        """Make a table from the answers of several statements; return its name."""
        return self.create(table, " UNION ALL ".join(selects))

    def fetch(self, statement: str) -> Answer:
        """Execute a statement, and return the columns of its answer."""
        from psycopg import errors  # noqa: PLC0415 - an extra

        try:
            with self.connection.cursor() as cursor:
                cursor.execute(statement)
                if cursor.description is None:
                    return {}
                names = [column.name for column in cursor.description]
                rows = cursor.fetchall()
        except errors.NumericValueOutOfRange as error:
            raise overflow(2.0**127) from error
        except (errors.InsufficientResources, errors.ProgramLimitExceeded) as error:
            raise FullServerError(str(error)) from error
        columns = zip(*rows, strict=True) if rows else ((),) * len(names)
        return {name: np.array(column) for name, column in zip(names, columns, strict=True)}

    def columns(self) -> dict[str, list[tuple[str, str, str]]]:
        """Return the tables of the schemas asked for: schema, column and type, in order."""
        with self.connection.cursor() as cursor:
            cursor.execute(_COLUMNS, [list(self.address.schemas) or None])
            found: dict[str, list[tuple[str, str, str]]] = {}
            for schema, table, column, kind in cursor.fetchall():
                found.setdefault(table, []).append((schema, column, kind))
        return {table: [c for c in found[table] if c[0] == found[table][0][0]] for table in found}


class PostgresEngine(SqlEngine):
    """Counts in SQL on a PostgreSQL server; the answers of several queries are one statement.

    Facts that lie there (see `facts_in_place`) are counted there; others are sent.

    Parameters
    ----------
    databases
        Databases of one schema (or a stack of them), each with its own domains.
    memory_limit
        Bytes, or text such as ``"2GB"``, that answers may take here, kept or being fetched.
    cache
        Keeps answers for later queries; what it may hold is part of the limit. By default one of
        its own, of at most a quarter of it.
    master
        The address of the server; by default that of the facts, or the one in use (see
        `mlnlearn.counting_with`).

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> PostgresEngine([Database.from_facts(Schema.of("smokes(person)"), {})], master="nowhere")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: engine postgresql: 'nowhere' is no address of a server
      hint: write it as --master postgresql://user@host/name
    """

    def __init__(
        self,
        databases: Sequence[Database] | Stack,
        *,
        memory_limit: int | str = DEFAULT_MEMORY,
        cache: ByteCache | None = None,
        master: str | None = None,
    ) -> None:
        limit = byte_size(memory_limit)
        cache = cache or ByteCache.within(limit)
        budget = ByteBudget(limit, min(cache.limit, limit // 2))
        stack = databases if isinstance(databases, Stack) else Stack(databases)
        server = server_of(stack, PostgresServer) if master is None else None
        owned = server is None
        server = server or PostgresServer(in_use().master if master is None else master)
        super().__init__(stack, server, budget, cache, owned=owned)
