"""Benchmark data sets by name, from a folder that the user has."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from mlnlearn.data.database import Database
from mlnlearn.data.load.alchemy import read_db
from mlnlearn.data.load.build import Loaded
from mlnlearn.data.load.edits import MappingLike
from mlnlearn.errors import InputError
from mlnlearn.syntax.mln import read_mln

VARIABLE = "MLNLEARN_DATA"
"""The environment variable that names the folder with one folder a data set."""
_SCHEMA = "schema.mln"


def benchmark_names() -> list[str]:
    """Return the names of all data sets there are.

    Examples
    --------
    >>> benchmark_names()  # doctest: +SKIP
    ['citeseer', 'cora', 'imdb', 'uwcse']
    """
    root = data_folder()
    return sorted(
        path.name
        for path in root.iterdir()
        if (path / _SCHEMA).is_file() or (path / "schema.sql").is_file()
    )


def benchmark_path(name: str) -> Path:
    """Return the folder of a data set.

    Parameters
    ----------
    name
        One of `benchmark_names`.

    Examples
    --------
    >>> benchmark_path("uwcse") / "fold1.db"  # doctest: +SKIP
    PosixPath('data/uwcse/fold1.db')
    """
    names = benchmark_names()
    if name not in names:
        raise InputError(f"no data set {name!r} in {data_folder()}; there are: {', '.join(names)}")
    return data_folder() / name


def benchmark(name: str, *, schema: str = _SCHEMA) -> list[Database]:
    """Return the databases of a data set: its folds in order, or the one database there is.

    Another `schema` of the data set, such as ``"schema_khot.mln"``, restricts the databases to the
    predicates it declares; their domains stay those of the full data.

    Parameters
    ----------
    name
        One of `benchmark_names`.
    schema
        The file with the declarations.

    Examples
    --------
    >>> [len(fold.domains["person"]) for fold in benchmark("uwcse")]  # doctest: +SKIP
    [68, 61, 28, 72, 49]
    """
    folder = benchmark_path(name)
    files = sorted(folder.glob("*.db"))
    if not files:
        raise InputError(
            f"data set {name!r} has no .db files",
            hint=f"load its tables: benchmark_tables({name!r})",
        )
    if not (folder / schema).is_file():
        there = ", ".join(sorted(path.name for path in folder.glob("*.mln")))
        raise InputError(f"data set {name!r} has no schema {schema!r}; there are: {there}")
    full = read_mln(folder / _SCHEMA).schema
    databases = [read_db(file, schema=full, name=f"{name}/{file.stem}") for file in files]
    if schema == _SCHEMA:
        return databases
    part = read_mln(folder / schema).schema
    chosen = [predicate.name for predicate in part.predicates]
    return [replace(database.restricted(chosen), schema=part) for database in databases]


def benchmark_tables(name: str, *, mapping: MappingLike | None = None) -> Loaded:
    """Return the database made from the tables of a data set, and the mapping that made it.

    Parameters
    ----------
    name
        One of `benchmark_names` that has tables.
    mapping
        Changes to the derived mapping: TOML text, a TOML file, or a `Mapping`.

    Examples
    --------
    >>> database, mapping = benchmark_tables("university")  # doctest: +SKIP
    >>> database.count("registration")  # doctest: +SKIP
    92
    """
    folder = benchmark_path(name)
    if not (folder / "tables").is_dir():
        raise InputError(f"data set {name!r} has no tables", hint=f"read benchmark({name!r})")
    from mlnlearn.data.load.files import from_csv  # noqa: PLC0415 - loads DuckDB

    return from_csv(folder / "tables", ddl=folder / "schema.sql", mapping=mapping, name=name)


def data_folder() -> Path:
    """Return the folder that holds one folder for each data set."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        raise InputError(
            f"the environment variable {VARIABLE} is not set",
            hint="set it to the folder that holds one folder for each data set",
        )
    root = Path(given)
    if not root.is_dir():
        raise InputError(f"{VARIABLE} names {given!r}, which is no folder")
    return root
