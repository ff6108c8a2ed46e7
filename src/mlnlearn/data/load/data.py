"""What learners learn from, in whatever form it is given."""

from __future__ import annotations

from collections import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from mlnlearn.data.bands import banded, find_bands
from mlnlearn.data.database import Database
from mlnlearn.data.graph import Graph, GraphSplit
from mlnlearn.data.load.alchemy import read_databases
from mlnlearn.data.load.boostsrl import is_boostsrl, read_boostsrl
from mlnlearn.data.load.build import Loaded, build_database
from mlnlearn.data.load.declared import declared_mapping
from mlnlearn.data.load.edits import MappingLike
from mlnlearn.data.load.files import from_csv, from_parquet
from mlnlearn.data.load.frames import from_frames
from mlnlearn.data.load.mapping import Mapping
from mlnlearn.data.load.read import read_tables
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.urls import is_url, shown_source
from mlnlearn.data.triple_view import graph_database
from mlnlearn.errors import InputError, Location, collected, raise_all
from mlnlearn.files import open_input

_SCHEMA = "schema.mln"
_TABLE_FILES = {".csv": from_csv, ".parquet": from_parquet}


@dataclass(frozen=True, eq=False)
class Data:
    """Databases of one schema; of those made from tables, also how the tables became predicates.

    Attributes
    ----------
    databases
        One or more, each with its own constants.
    mapping
        How tables became predicates; None where there were no tables.
    declarations
        The file of declarations beside the data that was read with them, if any was.
    """

    databases: tuple[Database, ...]
    mapping: Mapping | None = None
    declarations: Path | None = None

    @property
    def tables(self) -> Mapping:
        """The tables that the facts came from, or could have come from."""
        return self.mapping or declared_mapping(self.databases[0].schema)

    def banded(self) -> Data:
        """Return the data with all numbers cut into bands, for what knows constants only.

        Data without numbers are returned as they are.
        """
        place = getattr(self.databases[0].true, "place", None)
        if isinstance(place, NumberPlace):
            return Data(*place.banded(self.databases[0]))
        cuts = find_bands(self.databases)
        if not cuts:
            return self
        databases = tuple(banded(database, cuts) for database in self.databases)
        mapping = None if self.mapping is None else self.mapping.with_cuts(cuts)
        return replace(self, databases=databases, mapping=mapping)


@runtime_checkable
class NumberPlace(Protocol):
    """Where tables with numbers lie, which are cut into bands there."""

    def banded(self, database: Database) -> tuple[tuple[Database], Mapping]:
        """Return the database with all numbers cut into bands, and its mapping."""
        ...


DataLike: TypeAlias = (
    Data
    | Database
    | Graph
    | GraphSplit
    | Loaded
    | str
    | Path
    | abc.Mapping[str, Any]
    | Sequence[Any]
)
"""A database, tables (as a loader returns them, as read, or as data frames by name), a file, folder
or address of them; or several of these."""


def as_data(given: DataLike) -> Data:
    """Return the databases in whatever form they are given.

    Parameters
    ----------
    given
        A database; what a loader of tables returned; tables, or data frames by name; a ``.db`` file
        with its ``schema.mln`` beside it; a folder of CSV or Parquet files, or of BoostSRL, an
        SQLite or DuckDB file, an address; or several of any of these.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> one = Database.from_facts(Schema.of("smokes(person)"), {"smokes": [("Anna",)]})
    >>> len(as_data(one).databases), len(as_data([one, one]).databases)
    (1, 2)
    """
    if isinstance(given, Data):
        return given
    if isinstance(given, Database):
        return Data((given,))
    if isinstance(given, Graph | GraphSplit):
        return Data((graph_database(given.train if isinstance(given, GraphSplit) else given),))
    if isinstance(given, Loaded):
        return Data((given.database,), given.mapping)
    if isinstance(given, str | Path):
        return _read(given, None, None)
    if isinstance(given, abc.Mapping):
        return as_data(from_frames(given))
    if not isinstance(given, Sequence) or not given:
        raise InputError(
            f"no data in {given!r:.80}",
            hint="give databases, tables, data frames, a path or an address",
        )
    parts: Sequence[Any] = given
    if all(isinstance(part, Table) for part in parts):
        return as_data(build_database(parts))
    return _together([as_data(part) for part in parts])


def _together(parts: Sequence[Data]) -> Data:
    databases = tuple(database for part in parts for database in part.databases)
    first = databases[0]
    for number, database in enumerate(databases, start=1):
        if database.schema != first.schema:
            name = database.name or f"database {number}"
            raise InputError(
                f"{name} does not declare the same predicates as {first.name or 'the first one'}",
                hint="give databases of one schema",
            )
    return Data(databases, parts[0].mapping)


def read_data(
    sources: Sequence[str | Path],
    schema: str | Path | None = None,
    mapping: MappingLike | None = None,
) -> list[Data]:
    r"""Read files, folders and addresses, collecting what is wrong with any of them.

    Parameters
    ----------
    sources
        What `as_data` takes the names of; CSV files given together make one database, as do Parquet
        files.
    schema
        Declarations: of text in Alchemy's language an ``.mln`` file, by default ``schema.mln``
        beside it; of CSV and Parquet files an ``.sql`` file with their keys.
    mapping
        Changes to how tables become predicates.

    Returns
    -------
    list of Data
        One for each source; those of one schema may be given to `as_data` together.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "schema.mln").write_text("smokes(person)\n")
    >>> _ = (folder / "people.db").write_text("smokes(Anna)\n")
    >>> [data] = read_data([folder / "people.db"])
    >>> data.databases[0].count("smokes"), data.declarations.name
    (1, 'schema.mln')
    """
    found: list[Data] = []
    problems: list[InputError] = []
    rest = [Path(source) if not is_url(str(source)) else source for source in sources]
    for suffix, read in _TABLE_FILES.items():
        files = [path for path in rest if isinstance(path, Path) and _is_file(path, suffix)]
        rest = [source for source in rest if source not in files]
        named = {path.stem: path for path in files}
        for name in [", ".join(map(str, files))] if files else ():
            with collected(problems):
                loaded = read(named, ddl=schema, mapping=mapping, name=name)
                found.append(Data((loaded.database,), loaded.mapping))
    for source in rest:
        with collected(problems):
            found.append(_read(source, schema, mapping))
    raise_all(problems)
    return found


def _is_file(path: Path, suffix: str) -> bool:
    return path.suffix.lower() == suffix and path.is_file()


def _read(source: str | Path, schema: str | Path | None, mapping: MappingLike | None) -> Data:
    path, address = Path(source), is_url(str(source))
    if not address and is_boostsrl(path):
        return Data((read_boostsrl(path).database,))
    # what is there and no folder is opened, which refuses pipes and devices
    if address or path.is_dir() or not path.exists() or not _is_text(path):
        tables = read_tables(source, ddl=schema)
        return as_data(build_database(tables, mapping, shown_source(source)))
    if schema is not None:
        return Data(read_databases(path, schema))
    beside = path.parent / _SCHEMA
    if not beside.is_file():
        raise InputError(
            f"which predicates are declared? There is no {_SCHEMA} beside the file",
            Location(str(path)),
            hint="name the file with the declarations: --schema FILE.mln; in Python, "
            "read_data(…, schema)",
        )
    return Data(read_databases(path, beside), declarations=beside)


def _is_text(path: Path) -> bool:
    """Tell Alchemy's text from SQLite and DuckDB files, which also like to end in ``.db``."""
    with open_input(path) as file:
        start = file.read(16)
    return not (start.startswith(b"SQLite format 3") or start[8:12] == b"DUCK")
