"""Tables from CSV and Parquet files."""

from __future__ import annotations

import warnings
from collections import abc
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mlnlearn.data.load.build import Loaded, build_database
from mlnlearn.data.load.cells import read_cells
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.cutoff import CutOff
from mlnlearn.data.load.define import define_tables
from mlnlearn.data.load.edits import MappingLike
from mlnlearn.data.load.parquet import read_parquet
from mlnlearn.data.load.tables import KeysLike, Table
from mlnlearn.data.load.text_dialect import WESTERN, find_dialect
from mlnlearn.errors import DataWarning, InputError, InputErrors, Location, collected, raise_all

Source = str | Path | abc.Mapping[str, str | Path]
NULLS = ("", "\\N", "NULL", "null", "NA", "N/A", "n/a", "NaN", "nan", "#N/A", "?")
"""Cells of CSV files that stand for NULL; the words only in columns where some cell repeats."""
TASK = "task_"
"""How the names of files begin that hold labels to predict, which are no part of the data."""


def from_csv(
    source: Source,
    *,
    ddl: str | Path | None = None,
    keys: KeysLike | None = None,
    mapping: MappingLike | None = None,
    cut_off: CutOff | None = None,
    missing: Iterable[str] = NULLS,
    delimiter: str = "",
    name: str = "",
) -> Loaded:
    r"""Load a database from CSV files, one a table, each with a header line.

    Parameters
    ----------
    source
        A folder (every ``.csv`` file is the table of that name), or files by table.
    ddl
        ``CREATE TABLE`` statements with primary and foreign keys: an SQL file, or the text.
    keys
        The keys by table, in place of `ddl`: see `Keys`.
    mapping
        Changes to the derived mapping: TOML text, a TOML file, or a `Mapping`.
    cut_off
        Up to when rows are used, of tables with a time column: see `CutOff`.
    missing
        Cells that stand for NULL.
    delimiter
        What stands between the cells of a line; found by looking, unless given.
    name
        What the database is called in messages and results.

    Returns
    -------
    Loaded
        The database and the mapping that made it; unpack them.

    Raises
    ------
    InputErrors
        Listing every problem with its file, line and column. Nothing is loaded then.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mlnlearn.data.load.tables import Keys
    >>> folder = tempfile.TemporaryDirectory()
    >>> text = "id,phase,advisor\nAnna,post,Bob\nBob,,\n"
    >>> _ = pathlib.Path(folder.name, "person.csv").write_text(text)
    >>> database, mapping = from_csv(
    ...     folder.name,
    ...     keys={"person": Keys("id", {"advisor": "person"})},
    ...     mapping='person.columns.advisor = { null = "absent" }',
    ... )
    >>> print(database.schema)
    phase(person,phase_value!)
    advisor(person,person)
    >>> list(database.rows("advisor")), database.unknown_facts("phase").tolist()
    ([('Anna', 'Bob')], [[1], [0]])
    """
    nulls = tuple(missing)
    tables = _read_all(source, ".csv", lambda table, path: read_csv(table, path, nulls, delimiter))
    return build_database(
        define_tables(tables, ddl, keys), mapping, name or _label(source), cut_off
    )


def from_parquet(
    source: Source,
    *,
    ddl: str | Path | None = None,
    keys: KeysLike | None = None,
    mapping: MappingLike | None = None,
    cut_off: CutOff | None = None,
    name: str = "",
) -> Loaded:
    """Load a database from Parquet files, one a table; everything else as for `from_csv`.

    Parameters
    ----------
    source
        A folder (every ``.parquet`` file is the table of that name), or files by table.
    ddl
        ``CREATE TABLE`` statements with keys: an SQL file, or the text.
    keys
        The keys by table, in place of `ddl`: see `Keys`.
    mapping
        Changes to the derived mapping: TOML text, a TOML file, or a `Mapping`.
    cut_off
        Up to when rows are used, of tables with a time column: see `CutOff`.
    name
        What the database is called in messages and results.

    Examples
    --------
    >>> import duckdb, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> sql = f"COPY (SELECT 7 AS id, 'pre' AS phase) TO '{folder.name}/person.parquet'"
    >>> _ = duckdb.connect().execute(sql)
    >>> database, _ = from_parquet(folder.name, keys={"person": "id"})
    >>> list(database.rows("phase"))
    [('7', 'pre')]
    """
    tables = _read_all(source, ".parquet", read_parquet)
    return build_database(
        define_tables(tables, ddl, keys), mapping, name or _label(source), cut_off
    )


def _label(source: Source) -> str:
    return "" if isinstance(source, abc.Mapping) else Path(source).resolve().name


def _read_all(source: Source, suffix: str, read: abc.Callable[[str, Path], Table]) -> list[Table]:
    if isinstance(source, abc.Mapping):
        files = {name: Path(path) for name, path in source.items()}
    else:
        folder = Path(source)
        if not folder.is_dir():
            raise InputErrors([InputError("no such folder", Location(str(source)))])
        files = {
            path.stem: path
            for path in sorted(folder.glob(f"*{suffix}"))
            if not path.stem.startswith(TASK)
        }
    if not files:
        raise InputErrors([InputError(f"no {suffix} files found", Location(str(source)))])
    return read_files(files, read)


def read_files(
    files: abc.Mapping[str, Path], read: abc.Callable[[str, Path], Table]
) -> list[Table]:
    """Read every file, collecting the problems of all of them."""
    tables: list[Table] = []
    problems: list[InputError] = []
    for name, path in files.items():
        with collected(problems):
            tables.append(read(name, path))
    raise_all(problems)
    return tables


def read_csv(name: str, path: Path, missing: tuple[str, ...] = NULLS, delimiter: str = "") -> Table:
    r"""Read one file of delimited text (with a header line) as a table without keys.

    Lines without a cell are skipped, and columns with neither a name nor a cell. A column without
    a name is called by its place.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "towns.csv")
    >>> _ = path.write_text("name;area;\nBrno;230,2;\n;;\nLinz;96,0;\n")
    >>> {title: cells.names for title, cells in read_csv("towns", path).columns.items()}
    {'name': ('Brno', 'Linz'), 'area': ('230,2', '96,0')}
    """
    dialect = find_dialect(path)
    if dialect.encoding == WESTERN:
        _remark(path, "it is not UTF-8, and read as Western European text (Windows-1252)")
    cells = read_cells(path, replace(dialect, delimiter=delimiter or dialect.delimiter))
    titled = [
        (title.strip() or f"column {place}", column)
        for place, (title, column) in enumerate(zip(cells.first, cells.columns, strict=True), 1)
        if title.strip() or set(column.names) - {""}
    ]
    problems = _check_header([title for title, _ in titled], str(path), cells.first_line)
    raise_all(problems + cells.problems)
    columns = {title: _without(column, missing) for title, column in titled}
    return Table(name, columns, source=str(path), lines=cells.lines)


def _remark(path: Path, text: str) -> None:
    warnings.warn(f"{path}: {text}", DataWarning, stacklevel=4)


def _check_header(header: list[str], source: str, line: int) -> list[InputError]:
    problems: list[InputError] = []
    seen: set[str] = set()
    for title in header:
        if title.lower() in seen:
            problems.append(InputError(f"column {title!r} is named twice", Location(source, line)))
        seen.add(title.lower())
    return problems


def _without(column: Column, missing: tuple[str, ...]) -> Column:
    if not set(missing) & set(column.names):
        return column
    if missing is NULLS and len(column.names) == len(column) and "" not in column.names:
        return column  # a key may well be called NA
    return column.recoded([None if name in missing else name for name in column.names])
