"""The tables of a folder: CSV and Parquet files, with or without definitions beside them."""

from __future__ import annotations

from pathlib import Path

from mlnlearn.data.load.define import define_tables
from mlnlearn.data.load.files import TASK, read_csv, read_files
from mlnlearn.data.load.parquet import has_parts, is_partitioned, read_parquet
from mlnlearn.data.load.tables import Table
from mlnlearn.errors import InputError, InputErrors, Location

SUFFIXES = (".csv", ".tsv", ".parquet")
"""Of files that are tables."""


def read_folder(folder: str | Path, ddl: str | Path | None = None) -> list[Table]:
    r"""Read a folder of CSV or Parquet files as tables with their keys.

    Without `ddl`, a file ``schema.sql`` in the folder declares the keys; the tables may lie beside
    it or in a folder ``tables`` there.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "schema.sql").write_text("CREATE TABLE dog (id TEXT PRIMARY KEY);")
    >>> _ = (folder / "dog.csv").write_text("id\nRex\n")
    >>> [(table.name, table.primary_key) for table in read_folder(folder)]
    [('dog', ('id',))]
    """
    place = Path(folder)
    if ddl is None and (place / "schema.sql").is_file():
        ddl = place / "schema.sql"
        place = place / "tables" if (place / "tables").is_dir() else place
    files = table_files(place)
    if not files:
        message = "no tables found: neither .csv, .tsv nor .parquet files"
        raise InputErrors([InputError(message, Location(str(place)))])
    return define_tables(read_files(files, read_table), ddl, None)


def table_files(folder: Path) -> dict[str, Path]:
    """Return the tables of a folder: its files by name, and its folders of Parquet files.

    A folder whose own parts are called ``year=2020`` is one table.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp(), "sales")
    >>> (folder / "year=2020").mkdir(parents=True)
    >>> _ = (folder / "year=2020" / "part-0.parquet").write_bytes(b"")
    >>> list(table_files(folder)), list(table_files(folder.parent))
    (['sales'], ['sales'])
    """
    if is_partitioned(folder):
        return {folder.resolve().name: folder}
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        is_table = path.suffix.lower() in SUFFIXES if path.is_file() else has_parts(path)
        if not is_table or path.stem.startswith(TASK):
            continue
        if path.stem in found:
            message = f"{found[path.stem].name!r} and {path.name!r} are both called {path.stem!r}"
            raise InputError(message, Location(str(folder)), "keep one of them in the folder")
        found[path.stem] = path
    return found


def read_table(name: str, path: Path) -> Table:
    """Read one file, or a folder of Parquet files, as a table without keys."""
    is_text = path.suffix.lower() in (".csv", ".tsv") and path.is_file()
    return read_csv(name, path) if is_text else read_parquet(name, path)
