"""Fact tables in Parquet files: one a predicate, its arguments as columns."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path

import duckdb
import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError, Location
from mlnlearn.files import RULES_MARK, write_files
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.mln import MlnFile
from mlnlearn.syntax.writer import write_mln


def write_parquet(database: Database, folder: str | PathLike[str]) -> None:
    """Write the true facts of a database as Parquet files, with ``schema.mln`` beside them.

    `facts_in_place` counts them without loading them, and Spark reads them where they are.

    Parameters
    ----------
    database
        The database; one with unknown atoms is refused. Constants that no fact names are listed
        with the declarations.
    folder
        A new or empty folder.

    Examples
    --------
    >>> import tempfile
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)")
    >>> folder = tempfile.TemporaryDirectory()
    >>> write_parquet(Database.from_facts(schema, {"friends": [("Anna", "Bob")]}), folder.name)
    >>> sorted(path.name for path in Path(folder.name).iterdir())
    ['friends.parquet', 'schema.mln']
    """
    place = Path(folder)
    where = Location(str(place))
    if database.has_unknown:
        raise InputError("unknown atoms have no place in tables of facts", where)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise InputError("the folder is not empty", where)
    place.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        for number, kind in enumerate(database.schema.types):
            names = np.array(database.domains[kind].names, object)
            codes = np.arange(len(names), dtype=np.int32)
            connection.register("listed", {"code": codes, "name": names})
            connection.execute(
                f"CREATE TABLE k{number} AS SELECT code, CAST(name AS VARCHAR) AS name FROM listed"
            )
        for predicate in database.schema.predicates:
            _write(connection, database, predicate, place / f"{predicate.name}.parquet")
    text = f"{RULES_MARK}{write_mln(MlnFile(_with_lost(database), ()))}"
    write_files({place / "schema.mln": text})


def _write(
    connection: duckdb.DuckDBPyConnection, database: Database, predicate: Predicate, file: Path
) -> None:
    facts = database.facts(predicate.name)
    columns = {f"c{place}": column for place, column in enumerate(facts)}
    connection.register("facts", columns or {"c0": np.zeros(facts.shape[1], np.int32)})
    kinds = [database.schema.types.index(kind) for kind in predicate.types]
    chosen = [f'n{p}.name AS "{p + 1}_{kind}"' for p, kind in enumerate(predicate.types)]
    joins = [f" JOIN k{k} n{place} ON n{place}.code = c{place}" for place, k in enumerate(kinds)]
    order = f" ORDER BY {', '.join(columns)}" if columns else ""
    select = f"SELECT {', '.join(chosen) or 'c0'} FROM facts{''.join(joins)}{order}"
    target = str(file).replace("'", "''")
    connection.execute(f"COPY ({select}) TO '{target}' (FORMAT parquet)")


def _with_lost(database: Database) -> Schema:
    """Return the schema with the constants listed that no fact names: tables do not have them."""
    schema = database.schema
    listed = dict(schema.listed)
    for kind, names in database.domains.items():
        seen = np.zeros(len(names), np.bool_)
        seen[[names.code(name) for name in schema.constants.get(kind, ())]] = True
        for predicate in schema.predicates:
            for place, other in enumerate(predicate.types):
                if other == kind:
                    seen[database.facts(predicate.name)[place]] = True
        lost = [names[code] for code in np.flatnonzero(~seen).tolist()]
        if lost:
            listed[kind] = (*listed.get(kind, ()), *lost)
    return replace(schema, listed=listed)
