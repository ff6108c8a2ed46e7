"""Fact tables that are counted where they lie: in Parquet, DuckDB or PostgreSQL."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from mlnlearn.counting.dialect import DUCKDB, POSTGRESQL, SPARK, Dialect
from mlnlearn.counting.placed import SqlPlace, placed_database
from mlnlearn.counting.sql_engine import StoringServer
from mlnlearn.data.database import Database
from mlnlearn.data.load.urls import ServerAddress, is_url, read_url
from mlnlearn.errors import DataWarning, InputError, Location, raise_all
from mlnlearn.files import open_input
from mlnlearn.logic.schema import Schema
from mlnlearn.resources import in_use
from mlnlearn.syntax.mln import read_mln

SCHEMA = "schema.mln"
_NAMES = re.compile("CHAR|TEXT|STRING|INT|BOOL|ENUM|UUID|DATE", re.IGNORECASE)

Columns = Mapping[str, Sequence[tuple[str, str]]]
"""Of each table, its columns with their types."""


def declarations_of(source: str | Path, schema: str | Path | None = None) -> Path | None:
    """Return the file that declares the fact tables of a source, None where they are other tables.

    It is the ``.mln`` file that is given; or ``schema.mln`` in a folder of Parquet files, or beside
    a DuckDB file.

    Parameters
    ----------
    source
        A folder, a file or an address.
    schema
        A file that is given for the source.

    Examples
    --------
    >>> declarations_of("shop.duckdb", "shop.sql") is None
    True
    """
    if schema is not None:
        return Path(schema) if Path(schema).suffix == ".mln" else None
    if is_url(str(source)):
        return None
    place = Path(source)
    beside = (place if place.is_dir() else place.parent) / SCHEMA
    if not beside.is_file():
        return None
    if place.is_dir():
        return beside if any(place.glob("*.parquet")) else None
    with open_input(place) as file:
        return beside if file.read(12)[8:] == b"DUCK" else None


def facts_in_place(source: str | Path, declarations: str | Path | Schema | None = None) -> Database:
    """Return a database whose facts stay in tables; engines of SQL count them there.

    Each table is named as a predicate, and its columns are the arguments, in order. Constants are
    numbered once by DuckDB, in a scratch file, within the memory that is in use; or by the server.
    Whoever asks for the facts themselves, as learners do that do not count in SQL, has them loaded.

    Parameters
    ----------
    source
        A folder of Parquet files, a DuckDB file, or the address of a PostgreSQL database. Nothing
        is written there, but for temporary tables of a server.
    declarations
        The predicates with their types, or the ``.mln`` file that has them; by default
        ``schema.mln`` in the folder or beside the file.

    Examples
    --------
    >>> import tempfile
    >>> import mlnlearn as ml
    >>> schema = ml.Schema.of("friends(person,person)", "smokes(person)")
    >>> facts = {"friends": [("Anna", "Bob"), ("Carl", "Bob")], "smokes": [("Bob",)]}
    >>> folder = tempfile.TemporaryDirectory()
    >>> ml.write_parquet(ml.Database.from_facts(schema, facts), folder.name)
    >>> database = facts_in_place(folder.name)
    >>> rule = ml.parse_formula("friends(x,y) ^ smokes(y)", database.schema).formula
    >>> with ml.counting_with("duckdb"):
    ...     ml.true_groundings(ml.open_engine([database]), rule)
    [2]
    """
    if isinstance(declarations, Schema):
        schema = declarations
    else:
        found = declarations_of(source, declarations)
        if found is None:
            raise InputError(
                f"which predicates are declared? There is no {SCHEMA} beside the tables",
                Location(str(source)),
                hint="name the file with the declarations: --schema FILE.mln",
            )
        schema = read_mln(found).schema
    if is_url(str(source)):
        place = read_url(str(source))
        if isinstance(place, ServerAddress):
            return _in_postgres(str(source), place, schema)
        source = place
    path = Path(source)
    if not path.exists():
        raise InputError("no such file or folder", Location(str(source)))
    if in_use().engine == "spark":
        return _in_spark(path, schema)
    return _in_duckdb(path, schema)


def _in_postgres(url: str, address: ServerAddress, schema: Schema) -> Database:
    names = [predicate.name for predicate in schema.predicates]
    server, relations, columns = postgres_relations(url, names)
    selects = fact_selects(POSTGRESQL, schema, relations, columns, address.shown)
    return placed_database(SqlPlace(server, schema, selects), address.name)


def postgres_relations(
    url: str, wanted: Iterable[str]
) -> tuple[StoringServer, dict[str, str], Columns]:
    """Return a PostgreSQL server, and what it has of some tables: relations and columns."""
    from mlnlearn.counting.postgres import PostgresServer  # noqa: PLC0415 - an extra

    server = PostgresServer(url)
    tables = server.columns()
    relations, columns = {}, {}
    for wanted_name in wanted:
        # who writes names without quotes there gets lower case
        name = wanted_name if wanted_name in tables else wanted_name.lower()
        if name in tables:
            quoted = map(POSTGRESQL.quoted, (tables[name][0][0], name))
            relations[wanted_name] = ".".join(quoted)
            columns[wanted_name] = [(column, kind) for _, column, kind in tables[name]]
    return server, relations, columns


def _in_spark(path: Path, schema: Schema) -> Database:
    from mlnlearn.counting.spark import SparkServer, spark_session  # noqa: PLC0415 - an extra

    resources = in_use()
    server = SparkServer(spark_session(resources.master, resources.config), resources)
    if not path.is_dir():
        raise InputError("Spark counts facts in place in Parquet files only", Location(str(path)))
    files = {file.stem: file for file in sorted(path.glob("*.parquet")) if file.stem in schema}
    relations = {name: f"parquet.{SPARK.quoted(str(f.absolute()))}" for name, f in files.items()}
    columns = {
        name: [(field.name, field.dataType.simpleString()) for field in server.fields(relation)]
        for name, relation in relations.items()
    }
    selects = fact_selects(SPARK, schema, relations, columns, str(path))
    return placed_database(SqlPlace(server, schema, selects), path.name)


def _in_duckdb(path: Path, schema: Schema) -> Database:
    server, relations, kinds = duckdb_relations(path, [p.name for p in schema.predicates])
    selects = fact_selects(DUCKDB, schema, relations, kinds, str(path))
    return placed_database(SqlPlace(server, schema, selects), path.name)


def duckdb_relations(
    path: Path, wanted: Collection[str]
) -> tuple[StoringServer, dict[str, str], Columns]:
    """Return DuckDB with all tables of a folder or file, and the columns of those that are wanted.

    Parameters
    ----------
    path
        A folder of Parquet files, or a DuckDB file.
    wanted
        The tables whose columns are looked at.
    """
    import duckdb  # noqa: PLC0415 - takes a while to load

    from mlnlearn.counting.duck import DuckServer  # noqa: PLC0415

    server = DuckServer(in_use().nbytes // 2, on_disk=True)
    try:
        if path.is_dir():
            files = {file.stem: file for file in sorted(path.glob("*.parquet"))}
            relations = {name: _parquet(file) for name, file in files.items()}
        else:
            server.connection.execute(f"ATTACH {DUCKDB.literal(str(path))} AS source (READ_ONLY)")
            # a view of the file must not read others
            server.connection.execute("SET enable_external_access = false")
            listed = server.fetch(
                "SELECT table_name, table_oid AS place FROM duckdb_tables() "
                "WHERE database_name = 'source' UNION ALL "
                "SELECT view_name, view_oid FROM duckdb_views() WHERE database_name = 'source' "
                "AND NOT internal ORDER BY place"
            )
            names = listed["table_name"].tolist()
            relations = {name: f"source.{DUCKDB.quoted(name)}" for name in names}
        columns = {
            name: server.connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
            for name, relation in relations.items()
            if name in wanted
        }
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"DuckDB cannot read it: {reason}", Location(str(path))) from None
    kinds = {name: [(row[0], row[1]) for row in rows] for name, rows in columns.items()}
    return server, relations, kinds


def _parquet(file: Path) -> str:
    from mlnlearn.data.load.parquet import check_regular, parquet_relation  # noqa: PLC0415 - loads DuckDB

    check_regular(file)
    return parquet_relation(file)


def fact_selects(
    dialect: Dialect, schema: Schema, relations: Mapping[str, str], columns: Columns, source: str
) -> dict[str, str]:
    """Return a statement for each predicate that has a table: its arguments as texts.

    Parameters
    ----------
    dialect
        The SQL of the server.
    schema
        The predicates.
    relations
        What the tables are called in SQL, by name.
    columns
        The columns of the tables that are predicates.
    source
        Where they are, for messages.
    """
    missing = [p.name for p in schema.predicates if p.name not in relations]
    if len(missing) == len(schema.predicates):
        raise InputError(
            f"no table is named as a predicate; there are: {', '.join(relations) or 'none'}",
            Location(source),
        )
    if missing:
        warnings.warn(
            f"{source}: no table for {', '.join(missing)}: no such facts", DataWarning, stacklevel=4
        )
    problems, selects = [], {}
    for predicate in schema.predicates:
        if predicate.name in missing:
            continue
        where = Location(f"{source}, table {predicate.name}")
        found = columns[predicate.name]
        strange = [f"{title} ({kind})" for title, kind in found if not _NAMES.search(kind)]
        if predicate.arity and len(found) != predicate.arity:
            problems.append(
                InputError(f"{predicate.arity} columns expected, {len(found)} found", where)
            )
        elif predicate.arity and strange:
            problems.append(InputError(f"columns that hold no names: {', '.join(strange)}", where))
        cells = [
            f"CAST({dialect.quoted(title)} AS {dialect.text}) AS a{place}"
            for place, (title, _) in enumerate(found[: predicate.arity])
        ]
        chosen = ", ".join(cells) or "1 AS one"
        selects[predicate.name] = f"SELECT {chosen} FROM {relations[predicate.name]}"
    raise_all(problems)
    return selects
