"""Databases from Alchemy's ``.db`` files."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.data.load.columns import sorted_names
from mlnlearn.data.load.ground_atoms import AtomBuilder
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError, InputErrors, Location, raise_all
from mlnlearn.files import read_text
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.db import DbText, scan_databases, scan_db
from mlnlearn.syntax.mln import MlnFile, read_mln

_LOG = logging.getLogger(__name__)


def read_db(
    *paths: str | PathLike[str],
    schema: Schema | MlnFile | str | PathLike[str],
    name: str | None = None,
) -> Database:
    """Read one database from one or more ``.db`` files, plain or gzip.

    Plain lists of atoms (example files) have the same form and are read the same way.

    Parameters
    ----------
    paths
        The files; together they make one database.
    schema
        The declarations, or an ``.mln`` file that holds them.
    name
        The database's name in messages; the paths unless given.

    Raises
    ------
    InputErrors
        With every problem of all files: syntax, undeclared predicates, wrong numbers of arguments,
        constants outside a closed type, atoms with two truth values.

    Warns
    -----
    DataWarning
        Where an atom is listed twice, or an argument marked ``!`` has not exactly one value.

    Examples
    --------
    >>> read_db("missing.db", schema=Schema.of("smokes(person)"))
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputError: missing.db: cannot read the file: No such file or directory
    """
    declared = _schema(schema)
    scanned = []
    for path in paths:
        parts = scan_databases(read_text(path), declared, str(path))
        if len(parts) > 1:
            raise InputError(
                f"the file holds {len(parts)} databases, with '---' between them",
                Location(str(path)),
                hint="one file each, split at '---'; in Python, read_databases reads them all",
            )
        scanned += parts
    return database_of(scanned, declared, name or ", ".join(map(str, paths)))


def read_databases(
    path: str | PathLike[str], schema: Schema | MlnFile | str | PathLike[str]
) -> tuple[Database, ...]:
    """Read the databases of one ``.db`` file: one, or as many as lines ``---`` set apart.

    Parameters
    ----------
    path
        The file, plain or gzip.
    schema
        The declarations, or an ``.mln`` file that holds them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "people.db"
    >>> _ = path.write_text("smokes(anna)" + chr(10) + "---" + chr(10) + "smokes(bob)")
    >>> [list(db.rows("smokes")) for db in read_databases(path, Schema.of("smokes(person)"))]
    [[('anna',)], [('bob',)]]
    """
    declared = _schema(schema)
    parts = scan_databases(read_text(path), declared, str(path))
    names = [str(path)] if len(parts) == 1 else [f"{path}#{i + 1}" for i in range(len(parts))]
    problems: list[InputError] = []
    databases = []
    for part, name in zip(parts, names, strict=True):
        try:
            databases.append(database_of([part], declared, name))
        except InputErrors as errors:
            problems += errors.problems
    raise_all(problems)
    return tuple(databases)


def parse_db(
    text: str, schema: Schema | MlnFile, file: str = "<text>", name: str | None = None
) -> Database:
    r"""Read a database from the text of a ``.db`` file; see `read_db`.

    Constants get their codes in order of first occurrence, predicate by predicate; those of a
    closed type keep the order of its declaration.

    Parameters
    ----------
    text
        The text.
    schema
        The predicates, or the file that declares them.
    file
        What the text is called in errors.
    name
        What the database is called in messages and results.

    Examples
    --------
    >>> schema = Schema.of("smokes(person)", "friends(person,person)")
    >>> print(parse_db("smokes(Anna)\nfriends(Anna,Bob)\n?smokes(Bob)", schema, name="tiny"))
    tiny: 2 true atoms over 2 person
    """
    declared = _schema(schema)
    return database_of([scan_db(text, declared, file)], declared, name or file)


def _schema(given: Schema | MlnFile | str | PathLike[str]) -> Schema:
    if isinstance(given, Schema):
        return given
    return given.schema if isinstance(given, MlnFile) else read_mln(given).schema


def database_of(scanned: Sequence[DbText], schema: Schema, name: str) -> Database:
    """Make one database of scanned texts, or complain about all that is wrong with them."""
    builder = AtomBuilder(schema, scanned)
    tables = builder.tables()
    builder.find_contradictions(tables)
    if builder.problems:
        raise InputErrors(builder.all_problems())
    tables = builder.without_duplicates(tables)
    builder.warn_functional(tables)
    # constants in an order of their own, so that the order of lines changes no result
    domains = {
        kind: Vocabulary(codes if kind in schema.declared else sorted_names(codes))
        for kind, codes in builder.codes.items()
    }
    renumbered = {
        kind: np.fromiter(map(domains[kind].code, codes), np.int32, len(codes))
        for kind, codes in builder.codes.items()
    }
    facts: dict[str, dict[str, NDArray[np.int32]]] = {"true": {}, "false": {}, "unknown": {}}
    for (truth, predicate), table in tables.items():
        columns = zip(schema[predicate].types, table.codes, strict=True)
        coded = [renumbered[kind][codes] for kind, codes in columns]
        facts[truth][predicate] = np.array(coded, np.int32).reshape(table.codes.shape)
    database = Database.from_codes(
        schema, domains, facts["true"], facts["false"], facts["unknown"], name=name
    )
    _LOG.info("read %s", database)
    return database
