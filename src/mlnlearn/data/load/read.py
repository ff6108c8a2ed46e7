"""Tables from wherever they are: a folder, a file or a server."""

from __future__ import annotations

from pathlib import Path

from mlnlearn.data.load.ddl import check_ddl
from mlnlearn.data.load.define import define_tables
from mlnlearn.data.load.folder import SUFFIXES, read_folder, read_table
from mlnlearn.data.load.sql import read_sql
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.urls import is_url
from mlnlearn.errors import InputError, Location
from mlnlearn.registry import READERS


def read_tables(source: str | Path, *, ddl: str | Path | None = None) -> list[Table]:
    r"""Read tables with their keys; `build_database` makes a database of them.

    Parameters
    ----------
    source
        A folder of CSV or Parquet files, one such file, an SQLite or DuckDB file, or an address
        such as ``postgresql://user@host/shop``; or what a reader of another package knows by its
        scheme or the ending of its name.
    ddl
        For a folder, ``CREATE TABLE`` statements with the keys; by default its ``schema.sql``.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "dog.csv").write_text("id,big\nRex,yes\n")
    >>> [dog] = read_tables(folder, ddl="CREATE TABLE dog (id TEXT PRIMARY KEY, big BOOLEAN)")
    >>> dog.columns["big"].names
    ('true',)
    """
    text = str(source)
    if not is_url(text) and not Path(source).exists():
        raise InputError("no such file or folder", Location(text))
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
        raise InputError(
            "SQL definitions are for folders of CSV or Parquet files",
            Location(text),
            hint="a database declares the keys of its tables itself",
        )
    return define_tables(read_sql(source), None, None)
