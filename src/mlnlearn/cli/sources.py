"""Files named on the command line become databases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mlnlearn as ml
from mlnlearn.cli.show import complain
from mlnlearn.errors import InputError, InputErrors, Location, without_secrets
from mlnlearn.files import MAPPING_MARK, open_input, write_files

if TYPE_CHECKING:  # loading the readers can wait until a command runs
    from mlnlearn.data.database import Database
    from mlnlearn.data.load.boostsrl import BoostSRLData
    from mlnlearn.data.load.build import Loaded
    from mlnlearn.data.load.cutoff import CutOff
    from mlnlearn.data.load.edits import MappingLike
    from mlnlearn.data.load.mapping import Mapping
    from mlnlearn.data.load.tables import Table
    from mlnlearn.data.load.task import Task
    from mlnlearn.data.load.task_data import Within

_SCHEMA = "schema.mln"
_TABLES = (".csv", ".parquet")


@dataclass
class Sources:
    """The databases of a command, each with the file that it came from.

    Attributes
    ----------
    files
        The files, as the user named them.
    databases
        One database a file; table files (CSV, Parquet) given together make one database.
    mappings
        How tables were read, for each source of tables.
    backgrounds
        What folders of BoostSRL say beside their facts.
    task
        The examples that were added to the tables, if any.
    """

    files: list[str] = field(default_factory=list)
    databases: list[Database] = field(default_factory=list)
    mappings: list[Mapping] = field(default_factory=list)
    backgrounds: list[BoostSRLData] = field(default_factory=list)
    task: Task | None = None


def load(paths: Sequence[Path], schema: Path | None, mapping: Path | None = None) -> Sources:
    """Read all files, collecting what is wrong with any of them.

    Alchemy's ``.db`` text needs a schema: the one given, else `schema.mln` beside the file. SQLite
    and DuckDB files, CSV and Parquet files, and folders of those bring their own; for CSV and
    Parquet a `schema` ending in ``.sql`` declares the keys.
    """
    loader = _Loader(schema, mapping)
    for suffix in _TABLES:
        files = [path for path in paths if path.suffix.lower() == suffix and path.is_file()]
        if files:
            loader.attempt(lambda files=files: loader.tables(files))  # type: ignore[misc]
            paths = [path for path in paths if path not in files]
    for path in paths:
        loader.attempt(lambda path=path: loader.one(path))  # type: ignore[misc]
    if loader.problems:
        raise InputErrors(loader.problems)
    return loader.found


def load_tables(
    tables: str,
    schema: Path | None,
    mapping: MappingLike | None = None,
    cut_off: CutOff | None = None,
    task: Path | None = None,
    label: str = "",
    within: Within | None = None,
) -> Sources:
    """Read one source of tables: a folder, an SQLite or DuckDB file, or an SQL address.

    A `schema.sql` in the folder declares the keys; the files may be in a folder `tables` beside it.
    A `task` is a file of examples; `label` is the column with what is to be predicted of them;
    `within` says in words which examples to make.
    """
    from mlnlearn.data.load.task_data import tables_data  # noqa: PLC0415 - loads NumPy

    name = shown(tables)
    found = tables_data(
        read_source(tables, schema),
        mapping=mapping,
        task=task,
        label=label,
        within=within,
        cut_off=cut_off,
        name=name,
    )
    assert found.data.mapping is not None
    return Sources([name], list(found.data.databases), [found.data.mapping], task=found.task)


def banded(sources: Sources) -> Sources:
    """Return sources with their numbers cut into bands, for what knows constants only."""
    data = ml.Data(tuple(sources.databases), next(iter(sources.mappings), None)).banded()
    mappings = [] if data.mapping is None else [data.mapping]
    return replace(sources, databases=list(data.databases), mappings=mappings)


def mapping_beside(model: Path) -> Path:
    """Return the file beside a model that says how tables are read, where the model cannot."""
    return model.with_suffix(".toml")


def keep_mapping(path: Path, model: Any, sources: Sources) -> None:
    """Write beside a model how its tables were read, unless the model says so itself."""
    if sources.mappings and getattr(model, "mapping", None) is None:
        text = f"{MAPPING_MARK}{sources.mappings[0].without_limits()}\n"
        write_files({mapping_beside(path): text})


def tables_for(
    path: Path, model: Any, tables: str, schema: Path | None, mapping: Path | None = None
) -> Database:
    """Read tables as those were read that a model was learned from, where that is known.

    It is where the model says so, or a mapping beside it does; or where one is given.
    """
    from mlnlearn.data.load.build import build_database  # noqa: PLC0415 - loads NumPy

    own: Mapping | None = getattr(model, "mapping", None)
    beside = mapping_beside(path)
    known = beside if own is None and beside.is_file() else own and own.without_limits()
    return build_database(read_source(tables, schema), mapping or known, shown(tables)).database


def shown(tables: str) -> str:
    """Return what ``--tables`` names as it may be shown: an address without its password.

    Examples
    --------
    >>> shown("postgresql://anna:secret@localhost/shop"), shown("shop.sqlite")
    ('postgresql://anna@localhost/shop', 'shop.sqlite')
    """
    from mlnlearn.data.load.urls import is_url, shown_address  # noqa: PLC0415 - with the reader

    return shown_address(tables) if is_url(tables) else without_secrets(tables)


def read_source(tables: str, schema: Path | None) -> list[Table]:
    """Read the tables that ``--tables`` names, as they are, but for those that are tasks."""
    from mlnlearn.data.load.read import read_tables  # noqa: PLC0415 - loads NumPy
    from mlnlearn.data.load.task import without_tasks  # noqa: PLC0415
    from mlnlearn.data.load.urls import is_url  # noqa: PLC0415

    if not is_url(tables) and not Path(tables).exists():
        raise InputError("no such file or folder", Location(tables))
    found = read_tables(tables, ddl=None if schema is None else _definitions(schema))
    return without_tasks(found)


def _definitions(schema: Path) -> Path:
    if schema.suffix.lower() == ".sql":
        return schema
    raise InputError(
        f"{schema} is no schema for tables",
        hint="give CREATE TABLE statements in a file that ends in .sql",
    )


def background_of(folders: Sequence[Path]) -> BoostSRLData | None:
    """Return what the first of the folders of BoostSRL says beside its facts."""
    from mlnlearn.data.load.boostsrl import read_boostsrl  # noqa: PLC0415 - loads NumPy

    return read_boostsrl(folders[0]) if folders else None


def with_background(learner: Any, background: BoostSRLData | None, chosen: Sequence[str]) -> Any:
    """Return a learner with the modes and settings of a background, but for those chosen."""
    if background is None:
        return learner
    taken = {text.partition("=")[0].strip() for text in chosen}
    given = {"modes": background.modes, **background.settings}
    fields = {item.name for item in dataclass_fields(learner)}
    return replace(learner, **{k: v for k, v in given.items() if k in fields and k not in taken})


class _Loader:
    def __init__(self, schema: Path | None, mapping: Path | None) -> None:
        self.schema = schema
        self.mapping = mapping
        self.found = Sources()
        self.problems: list[InputError] = []
        self._schemas: dict[Path, ml.Schema] = {}

    def attempt(self, read: Callable[[], None]) -> None:
        try:
            read()
        except InputErrors as errors:
            self.problems += errors.problems
        except InputError as error:
            self.problems.append(error)

    def one(self, path: Path) -> None:
        from mlnlearn.data.load.boostsrl import is_boostsrl, read_boostsrl  # noqa: PLC0415

        if is_boostsrl(path):
            found = read_boostsrl(path)
            self.found.files.append(str(path))
            self.found.databases.append(found.database)
            self.found.backgrounds.append(found)
        elif path.is_dir():
            self.tables(path)
        elif _is_sql(path):
            self._add(str(path), ml.from_sql(path, mapping=self.mapping, name=str(path)))
        else:
            schema = self._schema_for(path)
            for database in ml.read_databases(path, schema):
                self.found.files.append(database.name)
                self.found.databases.append(database)

    def tables(self, source: Path | list[Path]) -> None:
        """Read a folder of table files, or the given ones, as one database."""
        files = source if isinstance(source, list) else sorted(source.iterdir())
        label = ", ".join(map(str, files)) if isinstance(source, list) else str(source)
        kinds = [s for s in _TABLES if any(f.suffix.lower() == s for f in files)]
        if len(kinds) != 1:
            what = "both CSV and Parquet files" if kinds else "no CSV or Parquet files"
            raise InputError(f"the folder has {what}", Location(label))
        read = ml.from_csv if kinds == [".csv"] else ml.from_parquet
        named = {file.stem: file for file in files if file.suffix.lower() == kinds[0]}
        self._add(label, read(named, ddl=self._ddl(), mapping=self.mapping, name=label))

    def _add(self, label: str, loaded: Loaded) -> None:
        self.found.files.append(label)
        self.found.databases.append(loaded.database)
        self.found.mappings.append(loaded.mapping)

    def _ddl(self) -> Path | None:
        return None if self.schema is None else _definitions(self.schema)

    def _schema_for(self, path: Path) -> ml.Schema:
        chosen = self.schema
        if chosen is None:
            if not path.is_file():
                raise InputError("no such file", Location(str(path)))
            chosen = path.parent / _SCHEMA
            if not chosen.is_file():
                raise InputError(
                    f"which predicates are declared? There is no {_SCHEMA} beside the file",
                    Location(str(path)),
                    hint="name the file with the declarations: --schema FILE.mln",
                )
            if chosen not in self._schemas:
                complain("note", f"declarations from {chosen}")
        if chosen not in self._schemas:
            self._schemas[chosen] = ml.read_mln(chosen).schema
        return self._schemas[chosen]


def _is_sql(path: Path) -> bool:
    """Tell SQLite and DuckDB files, which also like to end in ``.db``, by their first bytes."""
    try:
        with open_input(path) as file:
            magic = file.read(16)
    except InputError:
        return False
    return magic.startswith(b"SQLite format 3") or magic[8:12] == b"DUCK"
