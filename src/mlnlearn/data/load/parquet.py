"""Tables from Parquet files: one file, or a folder of files that are parts of one table."""

from __future__ import annotations

from pathlib import Path

from mlnlearn.data.load.sql import duckdb_columns
from mlnlearn.data.load.tables import Table
from mlnlearn.errors import InputError, Location
from mlnlearn.files import open_input
from mlnlearn.late import late

duckdb = late("duckdb")
_WILDCARDS = frozenset("*?[")
_ROWS_OF_A_FILE = 1 << 40


def read_parquet(name: str, path: Path) -> Table:
    """Read one Parquet file as a table without keys, or a folder of files, which are its parts."""
    check_regular(path)
    if path.is_dir():
        check_parts(path)
    relation = parquet_relation(path)
    try:
        with duckdb.connect() as connection:
            columns = duckdb_columns(connection, relation)
    except (duckdb.Error, TypeError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"not a Parquet file: {first}", Location(str(path))) from None
    filled = {title: column.without_blanks() for title, column in columns.items()}
    return Table(name, filled, source=str(path))


def check_regular(path: Path) -> None:
    """Refuse a pipe or device, also as a part of a folder: DuckDB would wait for it for ever."""
    for file in path.rglob("*.parquet") if path.is_dir() else (path,):
        if not file.is_dir():
            with open_input(file):
                pass


def check_parts(folder: Path) -> None:
    """Refuse a folder whose files have other columns each: they are tables, not parts of one."""
    if is_partitioned(folder):
        return
    titles = set()
    with duckdb.connect() as connection:
        for path in sorted(folder.glob("*.parquet")):
            found = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({_literal(path)})")
            titles.add(frozenset(row[0] for row in found.fetchall()))
    if len(titles) > 1:
        message = "the files of the folder have different columns: they are no parts of one table"
        raise InputError(message, Location(str(folder)), "name that folder, to read them as tables")


def parquet_relation(path: Path) -> str:
    """Return what DuckDB reads a Parquet file by, or a folder of files that are its parts.

    Examples
    --------
    >>> parquet_relation(Path("/data/[a].parquet"))
    "read_parquet('/data/[[]a].parquet', hive_partitioning=false)"
    """
    if path.is_dir():
        return f"read_parquet({_parts(path)}, hive_partitioning=true, union_by_name=true)"
    return f"read_parquet({_literal(path)}, hive_partitioning=false)"


def numbered_relation(path: Path) -> tuple[str, str]:
    """Return what DuckDB reads files by such that rows have numbers, and the SQL of these.

    The numbers, from 0, are in the order in which rows are read; of a folder, those of its second
    file begin far behind those of the first.

    Examples
    --------
    >>> numbered_relation(Path("/data/a.parquet"))[1]
    'file_row_number'
    """
    relation = parquet_relation(path)[:-1] + ", file_row_number=true"
    if not path.is_dir():
        return relation + ")", "file_row_number"
    files = f"(SELECT list(file ORDER BY file) FROM glob({_parts(path)}))"
    place = f"(list_position({files}, filename) - 1)"
    return f"{relation}, filename=true)", f"{place} * {_ROWS_OF_A_FILE} + file_row_number"


def _parts(folder: Path) -> str:
    return _literal(folder)[:-1] + "/**/*.parquet'"


def _literal(path: Path) -> str:
    """Return an SQL string that DuckDB reads as this file's name, not as a pattern of names."""
    # absolute, so that no name looks like an address ("s3:...") or a home folder ("~")
    signs = str(path.absolute())
    name = "".join(f"[{sign}]" if sign in _WILDCARDS else sign for sign in signs)
    return "'" + name.replace("'", "''") + "'"


def is_partitioned(folder: Path) -> bool:
    """Tell whether a folder is one table, cut into folders such as ``year=2020``."""
    return any(path.is_dir() and any(path.rglob("*.parquet")) for path in folder.glob("*=*"))


def has_parts(path: Path) -> bool:
    """Tell whether a folder is one table: Parquet files that are its parts."""
    return path.is_dir() and (any(path.glob("*.parquet")) or is_partitioned(path))
