"""Tables from CSV and Parquet files."""

from __future__ import annotations

from collections import abc
from collections.abc import Iterable
from pathlib import Path

from mlnlearn.data.load.build import Loaded, build_database
from mlnlearn.data.load.cells import read_cells
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.cutoff import CutOff
from mlnlearn.data.load.define import define_tables
from mlnlearn.data.load.edits import MappingLike
from mlnlearn.data.load.sql import duckdb_columns
from mlnlearn.data.load.tables import KeysLike, Table
from mlnlearn.errors import InputError, InputErrors, Location, collected, raise_all
from mlnlearn.late import late

duckdb = late("duckdb")
Source = str | Path | abc.Mapping[str, str | Path]
NULLS = ("", "\\N", "NULL", "null", "NA", "N/A", "n/a", "NaN", "nan", "#N/A", "?")
"""Cells of CSV files that stand for NULL; the words only in columns where some cell repeats."""
_TASK = "task_"
_WILDCARDS = frozenset("*?[")


def from_csv(
    source: Source,
    *,
    ddl: str | Path | None = None,
    keys: KeysLike | None = None,
    mapping: MappingLike | None = None,
    cut_off: CutOff | None = None,
    missing: Iterable[str] = NULLS,
    delimiter: str = ",",
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
        What stands between the cells of a line.
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
    >>> import tempfile
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
    kinds = [suffix for suffix in (".csv", ".parquet") if any(place.glob(f"*{suffix}"))]
    if len(kinds) == 2:
        raise InputError("the folder has both CSV and Parquet files", Location(str(place)))
    read = read_parquet if kinds == [".parquet"] else read_csv
    return define_tables(_read_all(place, kinds[0] if kinds else ".csv", read), ddl, None)


def _label(source: Source) -> str:
    return "" if isinstance(source, abc.Mapping) else Path(source).resolve().name


def _read_all(source: Source, suffix: str, read: abc.Callable[[str, Path], Table]) -> list[Table]:
    """Read every file, collecting the problems of all of them."""
    if isinstance(source, abc.Mapping):
        files = {name: Path(path) for name, path in source.items()}
    else:
        folder = Path(source)
        if not folder.is_dir():
            raise InputErrors([InputError("no such folder", Location(str(source)))])
        # labels to predict are no part of the data
        files = {
            path.stem: path
            for path in sorted(folder.glob(f"*{suffix}"))
            if not path.stem.startswith(_TASK)
        }
    if not files:
        raise InputErrors([InputError(f"no {suffix} files found", Location(str(source)))])
    tables: list[Table] = []
    problems: list[InputError] = []
    for name, path in files.items():
        with collected(problems):
            tables.append(read(name, path))
    raise_all(problems)
    return tables


def read_csv(
    name: str, path: Path, missing: tuple[str, ...] = NULLS, delimiter: str = ","
) -> Table:
    """Read one CSV file (UTF-8, header line) as a table without keys; blank lines are skipped."""
    cells = read_cells(path, delimiter)
    header = [title.strip() for title in cells.first]
    problems = _check_header(header, str(path), cells.first_line) + cells.problems
    raise_all(problems)
    columns = {
        title: _without(column, missing)
        for title, column in zip(header, cells.columns, strict=True)
    }
    return Table(name, columns, source=str(path), lines=cells.lines)


def _check_header(header: list[str], source: str, line: int) -> list[InputError]:
    problems: list[InputError] = []
    seen: set[str] = set()
    for place, title in enumerate(header):
        where = Location(source, line)
        if not title:
            problems.append(InputError(f"column {place + 1} has no name", where))
        elif title.lower() in seen:
            problems.append(InputError(f"column {title!r} is named twice", where))
        seen.add(title.lower())
    return problems


def _without(column: Column, missing: tuple[str, ...]) -> Column:
    if not set(missing) & set(column.names):
        return column
    if missing is NULLS and len(column.names) == len(column) and "" not in column.names:
        return column  # a key may well be called NA
    return column.recoded([None if name in missing else name for name in column.names])


def read_parquet(name: str, path: Path) -> Table:
    """Read one Parquet file as a table without keys."""
    if not path.is_file():
        raise InputError("cannot read the file: No such file or directory", Location(str(path)))
    relation = f"read_parquet({_literal(path)}, hive_partitioning=false)"
    try:
        with duckdb.connect() as connection:
            columns = duckdb_columns(connection, relation)
    except (duckdb.Error, TypeError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"not a Parquet file: {first}", Location(str(path))) from None
    return Table(name, columns, source=str(path))


def _literal(path: Path) -> str:
    """Return an SQL string that DuckDB reads as this file's name, not as a pattern of names."""
    # absolute, so that no name looks like an address ("s3:...") or a home folder ("~")
    signs = str(path.absolute())
    name = "".join(f"[{sign}]" if sign in _WILDCARDS else sign for sign in signs)
    return "'" + name.replace("'", "''") + "'"
