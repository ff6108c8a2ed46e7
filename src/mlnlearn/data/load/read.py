"""Tables from wherever they are: a folder, a file or a server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from mlnlearn.data.load.ddl import check_ddl
from mlnlearn.data.load.define import define_tables
from mlnlearn.data.load.folder import SUFFIXES, read_folder, read_table
from mlnlearn.data.load.frames import read_frames
from mlnlearn.data.load.sql import SqlSource, read_sql
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.urls import is_url, shown_source
from mlnlearn.errors import InputError, Location
from mlnlearn.files import near_file
from mlnlearn.registry import READERS

TablesSource: TypeAlias = "str | Path | SqlSource | Mapping[str, Any]"
"""Where tables are: a folder, file or address, an open connection, or data frames by name."""


def read_tables(source: TablesSource, *, ddl: str | Path | None = None) -> list[Table]:
    r"""Read tables with their keys; `build_database` makes a database of them.

    Parameters
    ----------
    source
        A folder of CSV or Parquet files, one such file, an SQLite or DuckDB file, or an address
        such as ``postgresql://user@host/shop``; or what a reader of another package knows by its
        scheme or the ending of its name; or an open connection; or data frames by table.
    ddl
        For a folder or frames, ``CREATE TABLE`` statements with the keys; by default the folder's
        ``schema.sql``.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "dog.csv").write_text("id,big\nRex,yes\n")
    >>> [dog] = read_tables(folder, ddl="CREATE TABLE dog (id TEXT PRIMARY KEY, big BOOLEAN)")
    >>> dog.columns["big"].names
    ('true',)
    >>> import pandas as pd
    >>> [dog] = read_tables({"dog": pd.DataFrame({"id": ["Rex"], "big": [True]})})
    >>> dog.primary_key
    ('id',)
    """
    if isinstance(source, Mapping):
        return define_tables(read_frames(source), ddl, None)
    if not isinstance(source, str | Path):
        return define_tables(read_sql(source), None, None)
    text = str(source)
    if not is_url(text) and not Path(source).exists():
        raise InputError("no such file or folder", Location(text), hint=near_file(text))
    if ddl is not None:
        check_ddl(ddl)
    name = text.partition("://")[0].lower() if is_url(text) else Path(source).suffix[1:].lower()
    if name in READERS and READERS[name].home != READERS["sqlite"].home:
        found: list[Table] = READERS[name].load()(source)
        return found
    if not is_url(text) and Path(source).is_dir():
        return read_folder(source, ddl)
    if not is_url(text) and Path(source).suffix.lower() in SUFFIXES:
        return define_tables([read_table(Path(source).stem, Path(source))], ddl, None)
    if ddl is not None:
        raise needless_definitions(text)
    return define_tables(read_sql(source), None, None)


def needless_definitions(source: str) -> InputError:
    """Return the complaint that a database was given with definitions of its tables.

    Examples
    --------
    >>> print(needless_definitions("shop.duckdb").message)
    SQL definitions are for folders of CSV or Parquet files
    """
    return InputError(
        "SQL definitions are for folders of CSV or Parquet files",
        Location(shown_source(source)),
        hint="a database declares the keys of its tables itself",
    )
