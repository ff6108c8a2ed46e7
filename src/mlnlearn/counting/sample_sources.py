"""Where tables are sampled: folders of Parquet files, DuckDB files, PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.in_place import duckdb_relations
from mlnlearn.counting.placed import no_room
from mlnlearn.counting.sampled_table import SampledTable
from mlnlearn.counting.sql_engine import FullServerError, StoringServer
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.ddl import TableDefinition
from mlnlearn.data.load.folder import table_files
from mlnlearn.data.load.parquet import check_parts, numbered_relation, parquet_relation
from mlnlearn.data.load.postgres import FoundTable, explained, found_tables, read_found
from mlnlearn.data.load.sql import duckdb_columns, duckdb_definitions
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.urls import ServerAddress, is_url, read_url
from mlnlearn.errors import InputError, InputErrors, Location

if TYPE_CHECKING:
    import duckdb

    from mlnlearn.counting.postgres import PostgresServer  # an extra

_HINT = "load the tables, with --engine memory"
# a row's place as one number: of partitions, which number their rows apart, it holds the table, too
_PLACE = (
    "((tableoid::bigint % 262144) << 44) + ((ctid::text::point)[0]::bigint << 12) "
    "+ (ctid::text::point)[1]::bigint"
)


@dataclass(frozen=True)
class SampledSource:
    """Tables of which samples are drawn.

    Attributes
    ----------
    tables
        In the order of a loader.
    declared
        Whether the server keeps to the keys that are declared there.
    """

    tables: list[SampledTable]
    declared: bool


@contextmanager
def open_source(source: str | Path) -> Iterator[SampledSource]:
    """Open the tables of a folder, a file or an address; samples go away again at the end."""
    if is_url(str(source)):
        place = read_url(str(source))
        if isinstance(place, ServerAddress):
            from mlnlearn.counting.postgres import PostgresServer  # noqa: PLC0415 - an extra

            server = PostgresServer(str(source))
            try:
                with explained(place), _explained(place.shown):
                    yield _postgres(server)
            finally:
                server.close()
            return
        source = place
    path = Path(source)
    if not path.exists():
        raise InputError("no such file or folder", Location(str(source)))
    files, _, _ = duckdb_relations(path, ())
    try:
        with _explained(str(path)):
            yield _folder(files, path) if path.is_dir() else _file(files, path)
    finally:
        files.close()


@contextmanager
def _explained(source: str) -> Iterator[None]:
    import duckdb  # noqa: PLC0415 - takes a while to load

    try:
        yield
    except FullServerError as error:
        raise no_room("to look at the tables", error) from error
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"DuckDB cannot read it: {reason}", Location(source)) from None


def _folder(server: StoringServer, folder: Path) -> SampledSource:
    others = others_than_parquet(folder)
    if others:
        raise InputError(
            f"only Parquet files stay in place, one a table; there is also {others[0]!r}",
            Location(str(folder)),
            hint=_HINT,
        )
    files = table_files(folder)
    if not files:
        raise InputErrors([InputError("no .parquet files found", Location(str(folder)))])
    connection = _connection(server)
    tables = []
    for place, (name, file) in enumerate(files.items()):
        if file.is_dir():
            check_parts(file)
        described = connection.execute(f"DESCRIBE SELECT * FROM {parquet_relation(file)}")
        definition = TableDefinition(name, {row[0]: str(row[1]) for row in described.fetchall()})
        relation, number = numbered_relation(file)

        def read(table: SampledTable, file: Path = file) -> Table:
            columns, lines = _columns(server, table)
            filled = {title: column.without_blanks() for title, column in columns.items()}
            return Table(table.name, filled, source=str(file), lines=lines)

        tables.append(SampledTable(server, definition, relation, number, place, read, blank=True))
    return SampledSource(tables, declared=False)


def _file(server: StoringServer, path: Path) -> SampledSource:
    def read(table: SampledTable) -> Table:
        columns, lines = _columns(server, table)
        return replace(table.definition.table(columns), lines=lines)

    definitions, places = duckdb_definitions(_connection(server), "source")
    if not definitions:
        hint = "views are not read"
        raise InputErrors([InputError("the database has no tables", Location(str(path)), hint)])
    tables = [
        SampledTable(server, found, places[found.name], "rowid", place, read, blank=False)
        for place, found in enumerate(definitions)
    ]
    return SampledSource(tables, declared=True)


def _connection(server: StoringServer) -> duckdb.DuckDBPyConnection:
    connection: duckdb.DuckDBPyConnection = server.connection  # type: ignore[attr-defined]
    return connection


def _columns(
    server: StoringServer, table: SampledTable
) -> tuple[dict[str, Column], NDArray[np.int64]]:
    """Return the cells of a sample as a loader reads them, and the lines of its rows."""
    columns = duckdb_columns(_connection(server), table.sample, order=table.row)
    rows = columns.pop(table.row)
    return columns, np.array([int(name) + 1 for name in rows.names], np.int64)[rows.codes]


def _postgres(server: PostgresServer) -> SampledSource:
    found = found_tables(server.connection, server.address.schemas)
    if not found:
        where = Location(server.address.shown)
        raise InputErrors([InputError("the database has no tables", where)])
    tables = []
    for place, item in enumerate(found):

        def read(table: SampledTable, item: FoundTable = item) -> Table:
            here = replace(item, schema="pg_temp", table=table.sample)
            return read_found(server.connection, here)

        relation = ".".join(map(server.dialect.quoted, (item.schema, item.table)))
        definition = item.definition
        tables.append(SampledTable(server, definition, relation, _PLACE, place, read, blank=False))
    return SampledSource(tables, declared=True)


def others_than_parquet(folder: Path) -> list[str]:
    """Return what a loader reads in a folder beside Parquet files that each are a table."""
    if (folder / "schema.sql").is_file() and (folder / "tables").is_dir():
        return ["tables"]
    files = table_files(folder).values()
    alone = set(folder.glob("*.parquet"))
    return [path.name for path in files if path not in alone]
