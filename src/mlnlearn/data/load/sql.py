"""Tables from SQLite, DuckDB and PostgreSQL, with the keys that their catalogs declare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mlnlearn.data.load.build import Loaded, build_database
from mlnlearn.data.load.columns import Column, OpaqueCellsError
from mlnlearn.data.load.cutoff import CutOff
from mlnlearn.data.load.ddl import TableDefinition, sqlite_definitions
from mlnlearn.data.load.define import define_tables
from mlnlearn.data.load.edits import MappingLike
from mlnlearn.data.load.postgres import is_postgres, read_address, read_postgres
from mlnlearn.data.load.tables import ForeignKey, KeysLike, Table
from mlnlearn.data.load.urls import ServerAddress, is_url, read_url
from mlnlearn.errors import InputError, InputErrors, Location, raise_all
from mlnlearn.files import open_input
from mlnlearn.late import late

if TYPE_CHECKING:
    import sqlite3

    import duckdb
    from psycopg import Connection  # an extra
else:
    duckdb, sqlite3 = late("duckdb"), late("sqlite3")

SqlSource: TypeAlias = (
    "str | Path | sqlite3.Connection | duckdb.DuckDBPyConnection | Connection[Any]"
)
_NUMERIC = ("INT", "FLOAT", "DOUBLE", "DECIMAL")


def from_sql(
    source: SqlSource,
    *,
    tables: Iterable[str] | None = None,
    keys: KeysLike | None = None,
    mapping: MappingLike | None = None,
    cut_off: CutOff | None = None,
    name: str = "",
) -> Loaded:
    """Load a database from SQLite, DuckDB or PostgreSQL.

    `source` is a file, an address (``sqlite:///shop.sqlite``, ``duckdb:///shop.duckdb``,
    ``postgresql://user@host/shop``), or an open connection to any of the three. PostgreSQL needs
    the extra ``mlnlearn[postgres]``; ``?schema=lab,public`` behind its address chooses schemas, by
    default those of the search path. Files are opened for reading only, servers asked in
    a read-only transaction. A table's keys come from the catalog, unless `keys` gives them;
    `tables` restricts what is read. Otherwise as for `from_csv`.

    Parameters
    ----------
    source
        A file, an address or an open connection.
    tables
        The tables to read; all by default.
    keys
        The keys by table, in place of those of the catalog: see `Keys`.
    mapping
        Changes to the derived mapping: TOML text, a TOML file, or a `Mapping`.
    cut_off
        Up to when rows are used, of tables with a time column: see `CutOff`.
    name
        What the database is called in messages and results.

    Examples
    --------
    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.executescript('''
    ...     CREATE TABLE person (id TEXT PRIMARY KEY, phase TEXT);
    ...     CREATE TABLE advised_by (
    ...         student TEXT REFERENCES person, professor TEXT REFERENCES person,
    ...         PRIMARY KEY (student, professor));
    ...     INSERT INTO person VALUES ('Anna', 'post'), ('Bob', NULL);
    ...     INSERT INTO advised_by VALUES ('Anna', 'Bob');''')
    >>> database, mapping = from_sql(connection)
    >>> print(database.schema)
    phase(person,phase_value!)
    advised_by(person,person)
    """
    found = define_tables(read_sql(source, tables), None, keys)
    return build_database(found, mapping, name or _name(source), cut_off)


def read_sql(source: SqlSource, tables: Iterable[str] | None = None) -> list[Table]:
    """Read tables with their keys, from wherever `from_sql` can.

    Examples
    --------
    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("CREATE TABLE person (id TEXT PRIMARY KEY, phase TEXT)")
    >>> [table.primary_key for table in read_sql(connection)]
    [('id',)]
    """
    wanted = None if tables is None else list(tables)
    if isinstance(source, sqlite3.Connection):
        return _read_sqlite(source, wanted)
    if isinstance(source, duckdb.DuckDBPyConnection):
        return _read_duckdb(source, wanted)
    if is_postgres(source):
        return read_postgres(source, wanted)
    place = read_url(source) if isinstance(source, str) and is_url(source) else source
    if isinstance(place, ServerAddress):
        return read_address(place, wanted)
    if not isinstance(place, str | Path):
        kind = type(source).__name__
        raise InputError(f"expected a file, an address or a connection, found {kind}")
    return _read_file(Path(place), wanted)


def _name(source: SqlSource) -> str:
    if isinstance(source, str) and is_url(source):
        place = read_url(source)
        return place.name if isinstance(place, ServerAddress) else place.stem
    return Path(source).stem if isinstance(source, str | Path) else ""


def _read_file(path: Path, wanted: list[str] | None) -> list[Table]:
    where = Location(str(path))
    with open_input(path) as file:
        magic = file.read(16)
    if magic.startswith(b"SQLite format 3"):
        uri = path.resolve().as_uri() + "?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            return _read_sqlite(connection, wanted, str(path))
    if magic[8:12] == b"DUCK":
        try:
            with duckdb.connect(str(path), read_only=True) as database:
                return _read_duckdb(database, wanted)
        except duckdb.Error as error:
            raise InputError(f"cannot read the file: {_first(error)}", where) from None
    raise InputError("neither an SQLite nor a DuckDB file", where)


def _first(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _chosen(definitions: list[TableDefinition], wanted: list[str] | None) -> list[TableDefinition]:
    known = {definition.name: definition for definition in definitions}
    if not known:
        raise InputErrors([InputError("the database has no tables", hint="views are not read")])
    listed = ", ".join(known)
    problems = [
        InputError(f"no such table {name!r}; there are: {listed}")
        for name in wanted or ()
        if name not in known
    ]
    raise_all(problems)
    return definitions if wanted is None else [known[name] for name in wanted]


def _read_sqlite(
    connection: sqlite3.Connection, wanted: list[str] | None, source: str = "database"
) -> list[Table]:
    try:
        chosen = _chosen(sqlite_definitions(connection, generated=True), wanted)
        return [item.table(_sqlite_columns(connection, item)) for item in chosen]
    except (sqlite3.Error, ValueError) as error:  # a name that is not UTF-8 is a ValueError
        raise InputError(f"SQLite cannot read it: {_first(error)}", Location(source)) from None


def _sqlite_columns(
    connection: sqlite3.Connection, definition: TableDefinition
) -> dict[str, Column]:
    titles = list(definition.columns)
    query = f"SELECT {', '.join(map(_quoted, titles))} FROM {_quoted(definition.name)}"
    cursor = connection.cursor()
    # Rows as plain tuples, whatever row factory the caller's connection has.
    cursor.row_factory = None
    rows = cursor.execute(query).fetchall()
    cells: Iterable[Any] = zip(*rows, strict=True) if rows else ((),) * len(titles)
    columns = {}
    for title, values in zip(titles, cells, strict=True):
        try:
            column = Column.of(values)
        except OpaqueCellsError:
            columns[title] = Column.unreadable(len(rows), "BLOB")
            continue
        typed, bad = column.typed(definition.columns[title])
        # SQLite stores any value in any column, so a cell that does not fit keeps its name.
        columns[title] = column if bad else typed
    return columns


def _read_duckdb(connection: duckdb.DuckDBPyConnection, wanted: list[str] | None) -> list[Table]:
    # A cursor of its own, so that a result the caller still reads stays untouched.
    with connection.cursor() as cursor:
        tables = []
        definitions, places = duckdb_definitions(cursor)
        for item in _chosen(definitions, wanted):
            try:
                columns = duckdb_columns(cursor, places[item.name])
            except (duckdb.Error, TypeError) as error:
                where = Location(f"table {item.name}")
                raise InputError(f"DuckDB cannot read it: {_first(error)}", where) from None
            tables.append(item.table(columns))
    return tables


def duckdb_definitions(
    connection: duckdb.DuckDBPyConnection, attached: str = ""
) -> tuple[list[TableDefinition], dict[str, str]]:
    """Return the tables of all schemas, and how SQL speaks of each.

    A table is called by its name alone; where two schemas have one of that name, by
    ``schema.name``.

    Parameters
    ----------
    connection
        To a database.
    attached
        The name of another one, if its tables are meant.

    Examples
    --------
    >>> with duckdb.connect() as connection:
    ...     _ = connection.execute("CREATE TABLE dog (id INTEGER PRIMARY KEY)")
    ...     [definition], places = duckdb_definitions(connection)
    >>> definition.primary_key, places
    (('id',), {'dog': '"memory"."main"."dog"'})
    """
    database = "'" + attached.replace("'", "''") + "'" if attached else "current_database()"
    here = f"database_name = {database}"
    rows = connection.execute(
        f"SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE {here} AND "
        "NOT internal ORDER BY schema_name <> current_schema(), schema_name, table_oid"
    ).fetchall()
    often = Counter(table for _, _, table in rows)
    names = {(s, t): f"{s}.{t}" if often[t] > 1 else t for _, s, t in rows}
    columns: dict[str, dict[str, str]] = {name: {} for name in names.values()}
    for schema, table, title, declared in connection.execute(
        "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
        f"WHERE {here} ORDER BY table_oid, column_index"
    ).fetchall():
        if (schema, table) in names:  # views have columns too
            columns[names[schema, table]][title] = declared
    found = {name: TableDefinition(name, columns[name]) for name in columns}
    constraints = connection.execute(
        "SELECT schema_name, table_name, constraint_type, constraint_column_names, "
        f"referenced_table, referenced_column_names FROM duckdb_constraints() WHERE {here} "
        "ORDER BY table_oid, constraint_index"
    ).fetchall()
    for schema, table, kind, own, target, referenced in constraints:
        definition = found[names[schema, table]]
        if kind == "PRIMARY KEY":
            found[definition.name] = replace(definition, primary_key=tuple(own))
        elif kind == "FOREIGN KEY":  # which DuckDB has within a schema only
            key = ForeignKey(tuple(own), names[schema, target], tuple(referenced))
            foreign = (*definition.foreign_keys, key)
            found[definition.name] = replace(definition, foreign_keys=foreign)
    # in full: a schema may be called as the database is
    places = {names[part[1:]]: ".".join(map(_quoted, part)) for part in rows}
    return list(found.values()), places


def duckdb_columns(
    connection: duckdb.DuckDBPyConnection, relation: str, order: str = ""
) -> dict[str, Column]:
    """Read all columns of a DuckDB relation (SQL text that can follow FROM) as arrays.

    Parameters
    ----------
    connection
        To a database.
    relation
        What to read.
    order
        SQL of the order of its rows, where it has to be a certain one.

    Examples
    --------
    >>> with duckdb.connect() as connection:
    ...     columns = duckdb_columns(connection, "range(2) AS numbers(n)")
    >>> columns["n"].names
    ('0', '1')
    """
    described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    parts, opaque = [], {}
    for title, declared, *_ in described:
        kind, cell = str(declared), _quoted(title)
        if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION", "BLOB")):
            opaque[title] = kind
            cell = f"NULL::BOOLEAN AS {cell}"
        elif kind.startswith(("HUGEINT", "UHUGEINT")) or not _is_plain(kind):
            cell = f"CAST({cell} AS VARCHAR) AS {cell}"
        elif kind.startswith("DECIMAL"):
            cell = f"CAST({cell} AS DOUBLE) AS {cell}"
        parts.append(cell)
    ordered = f" ORDER BY {order}" if order else ""
    select = f"SELECT {', '.join(parts)} FROM {relation}{ordered}"
    arrays = connection.execute(select).fetchnumpy()
    return {
        title: Column.unreadable(len(arrays[title]), opaque[title])
        if title in opaque
        else Column.of(arrays[title])
        for title, *_ in described
    }


def _is_plain(kind: str) -> bool:
    number = any(part in kind for part in _NUMERIC) and "INTERVAL" not in kind
    return kind == "BOOLEAN" or number
