"""Tables that stay where they lie, in Parquet, DuckDB or PostgreSQL, read by a mapping.

What the mapping says of cells is written in SQL; facts in codes are made by the server, as those of
`mlnlearn.counting.in_place`. Whatever would need all cells here is refused, with the reason.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.dialect import DUCKDB, POSTGRESQL, Dialect
from mlnlearn.counting.in_place import (
    declarations_of,
    duckdb_relations,
    facts_in_place,
    postgres_relations,
)
from mlnlearn.counting.placed import SqlPlace, placed_database
from mlnlearn.counting.relational import Relational
from mlnlearn.counting.sample_sources import others_than_parquet
from mlnlearn.counting.sql_engine import StoringServer
from mlnlearn.counting.table_sample import derived_mapping
from mlnlearn.data.bands import bands_of
from mlnlearn.data.database import Database
from mlnlearn.data.load.build import Loaded
from mlnlearn.data.load.columns import NO, YES, sorted_names
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.ddl import read_ddl
from mlnlearn.data.load.discretize import band_names, cut_numbers
from mlnlearn.data.load.edits import MappingLike, plain_mapping
from mlnlearn.data.load.files import TASK
from mlnlearn.data.load.mapping import ATTRIBUTES, ColumnMapping, TableMapping
from mlnlearn.data.load.mapping import Mapping as TablesMapping
from mlnlearn.data.load.reading import OTHER
from mlnlearn.data.load.tables import ROW
from mlnlearn.data.load.urls import ServerAddress, is_url, read_url
from mlnlearn.errors import DataWarning, InputError, Location, raise_all
from mlnlearn.files import open_input
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema
from mlnlearn.resources import in_use

MOST_VALUES = 10_000
"""Values of a column that are names; where there are more it is hardly one of few values each."""
BYTES_OF_CELL = 80
"""What a cell of tables takes in memory, names and all, while they are read and learned from."""
_NAMES = re.compile(
    "CHAR|TEXT|STRING|INT|BOOL|ENUM|UUID|DATE|DOUBLE|FLOAT|REAL|DECIMAL|NUMERIC", re.IGNORECASE
)
_TEXTS = re.compile("CHAR|TEXT|STRING|CLOB", re.IGNORECASE)
_NUMBERS = re.compile(r"INT(?!ERVAL)|DOUBLE|FLOAT|REAL|DECIMAL|NUMERIC", re.IGNORECASE)
_FRACTIONS = re.compile("DOUBLE|FLOAT|REAL|DECIMAL|NUMERIC", re.IGNORECASE)
_WHOLE = re.compile(r"INT(?!ERVAL)", re.IGNORECASE)
_MOMENTS = re.compile("DATE|TIMESTAMP", re.IGNORECASE)
_ZERO = r"'\.0$', ''"
MOST_NUMBER = 1.7976931348623157e308
"""Numbers beyond this are infinite."""
_WHY = "; without --engine the tables are loaded, and it can be"


def tables_in_place(
    source: str | Path, mapping: MappingLike | None = None, *, ddl: str | Path | None = None
) -> Loaded:
    r"""Return a database whose facts stay in tables, as a mapping reads them.

    A mapping that says nothing of some table or column is taken for changes to the one that a
    loader would derive, which a sample of the rows tells: see `derived_mapping`.

    Parameters
    ----------
    source
        A folder of Parquet files, a DuckDB file, or the address of a PostgreSQL database.
    mapping
        How all tables become predicates, as ``str(mapping)`` of a loader gives it, or changes to
        how they would. Numbers have their ``cuts`` in it.
    ddl
        For a folder, ``CREATE TABLE`` statements; by default its ``schema.sql``. Tables and columns
        are taken in their order.

    Examples
    --------
    >>> import duckdb, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> rows = "SELECT * FROM (VALUES ('A', 'f'), ('B', 'm')) t(id, sex)"
    >>> _ = duckdb.connect().execute(f"COPY ({rows}) TO '{folder}/person.parquet'")
    >>> text = '''
    ... [person]
    ... kind = "entity"
    ... type = "person"
    ... columns.id = { as = "key" }
    ... columns.sex = { as = "value", predicate = "sex", type = "sex_value", functional = true }
    ... '''
    >>> database, _ = tables_in_place(folder, text)
    >>> database.count("sex"), list(database.domains["sex_value"].names)
    (2, ['f', 'm'])
    """
    whole = _whole(source, mapping)
    if whole is None:
        whole = derived_mapping(source, mapping, ddl=ddl)
    names = [table.name for table in whole if table.kind != "skip"]
    if is_url(str(source)) and isinstance(place := read_url(str(source)), ServerAddress):
        server, relations, columns = postgres_relations(str(source), names)
        label, blanks = place.name, False
    else:
        path = Path(source)
        if not path.exists():
            raise InputError("no such file or folder", Location(str(source)))
        server, relations, columns = duckdb_relations(path, names)
        label, blanks = path.name, path.is_dir()
        if ddl is None and (path / "schema.sql").is_file():
            ddl = path / "schema.sql"
    kinds = {name: dict(rows) for name, rows in columns.items()}
    whole = _ordered(whole, _defined(ddl, kinds, str(source)))
    raise_all(list(_faults(whole, kinds, str(source), server.dialect)))
    found = TablePlace(server, whole, relations, kinds, blanks=blanks)
    found.check(str(source))
    return Loaded(placed_database(found, label), whole)


def left_in_place(
    source: str | Path, schema: str | Path | None = None, mapping: MappingLike | None = None
) -> Data | None:
    """Return tables to be counted where they lie, by the engine in use; None if to be loaded.

    Engines of SQL leave tables in Parquet, DuckDB and PostgreSQL there; ``auto`` does where they
    would not fit in memory.

    Parameters
    ----------
    source
        A folder, a file or an address.
    schema
        Declarations of facts, an ``.mln`` file; by default ``schema.mln`` beside the tables.
    mapping
        How tables become predicates: all of them, or changes to how they would.

    Examples
    --------
    >>> left_in_place("shop.sqlite") is None
    True
    """
    resources = in_use()
    server = is_url(str(source)) and isinstance(read_url(str(source)), ServerAddress)
    if not _can_stay(source, resources.engine, server=server):
        return None
    declared = declarations_of(source, schema)
    if declared is not None and mapping is None:
        return Data((facts_in_place(source, declared),), declarations=declared)
    if resources.engine != "auto":
        database, whole = tables_in_place(source, mapping, ddl=schema)
        return Data((database,), whole)
    path = Path(source)
    if _bytes_of(path) <= resources.nbytes or (path.is_dir() and others_than_parquet(path)):
        return None
    try:
        database, whole = tables_in_place(source, mapping, ddl=schema)
    except InputError:
        return None  # who asked for nothing has them loaded, which can more, or says what is wrong
    return Data((database,), whole)


def _can_stay(source: str | Path, engine: str, *, server: bool) -> bool:
    if server:
        return engine == "postgresql"
    if engine not in ("auto", "duckdb") or is_url(str(source)):
        return False
    path = Path(source)
    if path.is_dir():
        return any(path.glob("*.parquet"))
    if not path.is_file():
        return False
    with open_input(path) as file:
        return file.read(12)[8:] == b"DUCK"


def _whole(source: str | Path, mapping: MappingLike | None) -> TablesMapping | None:
    """Return a mapping that says something of all columns of all tables; None of any other."""
    if mapping is None:
        return None
    try:
        whole = TablesMapping.from_dict(plain_mapping(mapping))
    except InputError:
        return None
    names = [table.name for table in whole]
    if is_url(str(source)) and isinstance(read_url(str(source)), ServerAddress):
        server, _, columns = postgres_relations(str(source), names)
    elif Path(source).exists():
        server, _, columns = duckdb_relations(Path(source), names)
    else:
        raise InputError("no such file or folder", Location(str(source)))
    kinds = {name: dict(rows) for name, rows in columns.items()}
    said = _says_all(whole, _tables_of(source, server), kinds)
    server.close()
    return whole if said else None


def _tables_of(source: str | Path, server: StoringServer) -> list[str]:
    """Return the tables that a loader would read."""
    if server.dialect is POSTGRESQL:
        found = server.fetch(
            "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND "
            "table_schema = ANY (current_schemas(false)::text[])"
        )["table_name"]
    elif Path(source).is_dir():
        names = [file.stem for file in Path(source).glob("*.parquet")]
        return sorted(name for name in names if not name.startswith(TASK))
    else:
        listed = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'source'"
        found = server.fetch(listed)["table_name"]
    return [str(name) for name in found.tolist()]


def _says_all(
    mapping: TablesMapping, tables: Iterable[str], kinds: Mapping[str, Mapping[str, str]]
) -> bool:
    """Tell whether a mapping says something of all tables, and of all columns of those it reads."""
    said = {table.name.lower() for table in mapping}
    return all(name.lower() in said for name in tables) and all(
        set(kinds.get(table.name, ())) <= {column.name for column in table.columns}
        for table in mapping
        if table.kind != "skip"
    )


def _bytes_of(path: Path) -> int:
    """Return about what tables take in memory."""
    server, relations, _ = duckdb_relations(path, ())
    cells = 0
    for relation in relations.values():
        rows = server.fetch(f"SELECT count(*) AS n FROM {relation}")["n"][0]
        titles = server.fetch(f"SELECT * FROM {relation} LIMIT 0")
        cells += int(rows) * len(titles)
    server.close()
    return BYTES_OF_CELL * cells


class TablePlace(SqlPlace):
    """Tables at a server of SQL, and what their cells are read as.

    Parameters
    ----------
    server
        What executes statements; it can see the tables.
    mapping
        How all tables become predicates.
    relations
        What the tables are called in SQL, by name.
    kinds
        Of each table, the types of its columns.
    blanks
        Whether texts without a letter are empty cells in keys and links, as they are elsewhere.
    """

    def __init__(
        self,
        server: StoringServer,
        mapping: TablesMapping,
        relations: Mapping[str, str],
        kinds: Mapping[str, Mapping[str, str]],
        *,
        blanks: bool,
    ) -> None:
        self.mapping, self.kinds, self.blanks = mapping, kinds, blanks
        self.relations, self._given = dict(relations), relations
        schema = _schema(mapping)
        super().__init__(server, schema, {})
        self._events = {table.type: table.name for table in mapping if table.kind == "event"}
        for name in self._events.values():
            self.relations[name] = _with_row_numbers(relations[name])
        self._numbered = {
            column.type: (table, column)
            for table in mapping
            for column in (table.columns if table.kind != "skip" else ())
            if is_number(column)
        }
        for name, table, column in mapping.predicates():
            self.selects[name] = self._facts(table, column)

    @cached_property
    def _view(self) -> Relational:
        from mlnlearn.counting.placed_view import PlacedReader  # noqa: PLC0415 - reads this place

        return PlacedReader(self).view()

    def view(self) -> Relational:
        """Return the tables as row sets: links, names and numbers as arrays."""
        return self._view

    def digests(self) -> dict[str, str]:
        """Return a digest of each table as it is read."""
        from mlnlearn.counting.placed_view import digests_of  # noqa: PLC0415 - reads this place

        return digests_of(self.view())

    def banded(self, database: Database) -> tuple[tuple[Database], TablesMapping]:
        """Return a database of these tables with all numbers cut into bands, and its mapping."""
        if not self._numbered:
            return (database,), self.mapping
        numbers: dict[str, list[NDArray[np.float64]]] = {}
        moments = set()
        for table in self.mapping:
            for column in table.columns if table.kind != "skip" else ():
                if is_number(column):
                    rows = self.relations[table.name]
                    cell = self.number(table, column)
                    select = f"SELECT {cell} AS n FROM {rows}"
                    found = self.asked(f"SELECT n FROM ({select}) s WHERE n IS NOT NULL")
                    numbers.setdefault(column.type, []).append(found["n"])
                    moments |= {column.type} if is_moment(column) else set()
        cuts = {
            kind: bands_of(np.concatenate(parts), is_time=kind in moments)
            for kind, parts in numbers.items()
        }
        mapping = self.mapping.with_cuts(cuts)
        place = TablePlace(self.server, mapping, self._given, self.kinds, blanks=self.blanks)
        place._dictionaries |= self._dictionaries
        return (placed_database(place, database.name),), mapping

    def size(self, kind: str) -> int:
        """Return the number of constants of a type; of events, that of rows."""
        if kind in self._events:
            relation = self.relations[self._events[kind]]
            return self._number(("size", kind), f"SELECT count(*) AS n FROM {relation}")
        if kind not in self._numbered:
            return super().size(kind)
        table, column = self._numbered[kind]
        cell = self.number(table, column)
        select = f"SELECT count(DISTINCT {cell}) AS n FROM {self.relations[table.name]}"
        return self._number(("size", kind), select)

    def names(self, kind: str, start: int, stop: int) -> list[str]:
        """Load the constants of a type whose codes are in a range; those of events count rows."""
        if kind in self._events:
            return [str(code + 1) for code in range(start, stop)]
        return super().names(kind, start, stop)

    def count(self, name: str) -> int:
        """Return the number of true atoms of a predicate; of numbers, that of cells."""
        of_numbers = self.schema[name].arity and self.schema[name].types[-1] in self._numbered
        return self.listed(name) if of_numbers else super().count(name)

    def keys(self, table: TableMapping) -> list[str]:
        """Return the names in a table's key columns, in SQL."""
        return [self.cell(table, column) for column in table.keys]

    def cell(self, table: TableMapping, column: ColumnMapping) -> str:
        """Return the name that a cell holds, in SQL; NULL where it is empty."""
        dialect = self.server.dialect
        raw = dialect.quoted(column.name)
        if column.name == ROW:
            return f"CAST({raw} AS {dialect.text})"
        kind = self.kinds[table.name][column.name]
        if column.cuts:
            number = self.number(table, column)
            bands = [dialect.literal(name) for name in band_names(column.cuts)]
            ways = [
                f"WHEN {number} < CAST('{cut!r}' AS {dialect.real}) THEN {band}"
                for cut, band in zip(cut_numbers(column.cuts).tolist(), bands, strict=False)
            ]
            return f"CASE WHEN {number} IS NULL THEN NULL {' '.join(ways)} ELSE {bands[-1]} END"
        text = f"CAST({raw} AS {dialect.text})"
        if _FRACTIONS.search(kind):  # whole numbers lose their .0, as constants do
            text = f"regexp_replace(CAST(CAST({raw} AS {dialect.real}) AS {dialect.text}), {_ZERO})"
        if _TEXTS.search(kind) and (self.blanks or column.role not in ("key", "link")):
            text = f"CASE WHEN trim({text}) = '' THEN NULL ELSE {text} END"
        if column.values:
            wanted = ", ".join(map(dialect.literal, column.values))
            other = dialect.literal(OTHER)
            text = f"CASE WHEN {text} IS NULL OR {text} IN ({wanted}) THEN {text} ELSE {other} END"
        return text

    def number(self, table: TableMapping, column: ColumnMapping) -> str:
        """Return the number that a cell holds, or the seconds since 1970 of its moment, in SQL."""
        dialect, kind = self.server.dialect, self.kinds[table.name][column.name]
        raw = dialect.quoted(column.name)
        if is_moment(column):
            if _TEXTS.search(kind):
                raw = f"TRY_CAST(trim({raw}) AS TIMESTAMP)"
            return f"CAST(EXTRACT(EPOCH FROM {raw}) AS {dialect.real})"
        if _TEXTS.search(kind):
            return f"TRY_CAST(trim({raw}) AS {dialect.real})"
        number = f"CAST({raw} AS {dialect.real})"
        nan = f"CAST('NaN' AS {dialect.real})"
        return f"nullif({number}, {nan})" if _FRACTIONS.search(kind) else number

    def says_yes(self, table: TableMapping, column: ColumnMapping) -> str:
        """Return whether the cell of a flag says yes, in SQL."""
        cell = self.cell(table, column)
        if column.true:
            return f"coalesce({cell} = {self.server.dialect.literal(column.true)}, FALSE)"
        return f"coalesce(lower(trim({cell})) IN ({self._words(YES)}), FALSE)"

    def _words(self, words: frozenset[str]) -> str:
        return ", ".join(self.server.dialect.literal(word) for word in sorted(words))

    def _facts(self, table: TableMapping, column: ColumnMapping | None) -> str:
        cells, where = self.keys(table), ""
        if column is not None and column.role == "flag":
            where = f" WHERE {self.says_yes(table, column)}"
        elif column is not None:
            cells.append(self.cell(table, column))
            where = f" WHERE {cells[-1]} IS NOT NULL"
        listed = ", ".join(f"{cell} AS a{place}" for place, cell in enumerate(cells))
        return f"SELECT {listed} FROM {self.relations[table.name]}{where}"

    def _mentions(self, kind: str) -> list[str]:
        """Return statements for a type's constants: keys of its table, or values in order."""
        own = [table for table in self.mapping if table.has_objects and table.type == kind]
        if own:
            (cell,) = self.keys(own[0])
            order = self._order_of_keys(own[0])
            return [f"SELECT {order} AS p, {cell} AS name FROM {self.relations[own[0].name]}"]
        if kind in self._numbered:
            table, column = self._numbered[kind]
            raise InputError(
                f"column {table.name}.{column.name} holds numbers, which are no constants in place",
                hint="give cuts in the mapping; boost reads numbers as they are",
            )
        columns = [
            (table, column)
            for table in self.mapping
            for column in (table.columns if table.kind != "skip" else ())
            if column.type == kind
        ]
        parts = [
            f"SELECT DISTINCT {cell} AS name FROM {self.relations[table.name]} "
            f"WHERE {cell} IS NOT NULL"
            for table, column in columns
            for cell in [self.cell(table, column)]
        ]
        if all(column.role == "key" for _, column in columns):
            return [f"SELECT 0 AS p, name FROM ({part}) s" for part in parts]
        listed = self.asked(f"{' UNION '.join(parts)} LIMIT {MOST_VALUES + 1}")["name"]
        found = {str(name) for name in listed.tolist()}
        if len(found) > MOST_VALUES:
            title = f"{columns[0][0].name}.{columns[0][1].name}"
            raise InputError(
                f"column {title} has more than {MOST_VALUES:,} different values",
                hint="skip it in the mapping, or cut numbers into bands there",
            )
        bands = [band for _, column in columns if column.cuts for band in band_names(column.cuts)]
        names = dict.fromkeys([*bands, *sorted_names(found - set(bands))])
        dialect = self.server.dialect
        return [
            " UNION ALL ".join(
                f"SELECT {place} AS p, CAST({dialect.literal(name)} AS {dialect.text}) AS name"
                for place, name in enumerate(names)
            )
            or f"SELECT 0 AS p, CAST('' AS {dialect.text}) AS name WHERE 1 = 0"
        ]

    def _order_of_keys(self, table: TableMapping) -> str:
        """Return what keys are sorted by before their names: numbers, where all of them are some.

        A loader sorts them so; ties between rows are broken by their order.
        """
        (key,), (cell,) = table.keys, self.keys(table)
        if key.name == ROW or _WHOLE.search(self.kinds[table.name][key.name]):
            return self.server.dialect.quoted(key.name)
        if self.server.dialect is not DUCKDB:
            return "0"
        plain = f"regexp_full_match({cell}, '[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?')"
        other = f"SELECT {cell} FROM {self.relations[table.name]} WHERE NOT {plain} LIMIT 1"
        (names,) = self.asked(other).values()
        return "0" if len(names) else f"TRY_CAST({cell} AS DOUBLE)"

    def check(self, source: str) -> None:
        """Refuse keys that are empty or repeat, and cells that mean nothing."""
        problems: list[InputError] = []
        for table in self.mapping:
            if table.kind == "skip":
                continue
            where = Location(f"{source}, table {table.name}")
            problems += [InputError(text, where) for text in self._bad_cells(table)]
        raise_all(problems)

    def _bad_cells(self, table: TableMapping) -> Iterator[str]:
        relation, keys = self.relations[table.name], self.keys(table)
        empty = {c.name: f"{cell} IS NULL" for c, cell in zip(table.keys, keys, strict=True)}
        strange, odd = {}, {}
        for column in table.columns:
            if is_number(column) or column.cuts:
                number = self.number(table, column)
                worst = f"{number} NOT BETWEEN {-MOST_NUMBER!r} AND {MOST_NUMBER!r}"
                if _TEXTS.search(self.kinds[table.name][column.name]):
                    text = self.server.dialect.quoted(column.name)
                    worst = f"{number} IS NULL AND trim({text}) <> '' OR {worst}"
                odd[column.name] = worst
            if column.role == "flag" and not column.true:
                cell = f"lower(trim({self.cell(table, column)}))"
                strange[column.name] = f"{cell} NOT IN ({self._words(YES | NO)})"
        asked = [*empty.values(), *strange.values(), *odd.values()]
        counts = [f"count(CASE WHEN {test} THEN 1 END) AS n{k}" for k, test in enumerate(asked)]
        found = [int(n[0]) for n in self.asked(
            f"SELECT {', '.join(counts)} FROM {relation}"
        ).values()]  # fmt: skip
        for name, cells in zip([*empty, *strange, *odd], found, strict=True):
            if cells and name in odd:
                what = "moments" if is_moment(table[name]) else "numbers"
                yield f"column {name!r}: {cells:,} cells are no {what}"
            elif cells and name in strange:
                yield f"column {name!r}: {cells:,} cells say neither yes nor no; set true"
            elif cells:
                yield f"column {name!r}: {cells:,} cells of a key are empty"
        if table.kind == "event":
            return
        listed = ", ".join(f"{cell} AS a{place}" for place, cell in enumerate(keys))
        groups = ", ".join(f"a{place}" for place in range(len(keys)))
        repeated = (
            f"SELECT {groups} FROM (SELECT {listed} FROM {relation}) s "
            f"GROUP BY {groups} HAVING count(*) > 1 LIMIT 1"
        )
        if not any(found) and len(self.asked(repeated)["a0"]):
            yield "rows repeat the key of others"


def _with_row_numbers(relation: str) -> str:
    """Return a relation of DuckDB with a column that numbers its rows, from 1, as they lie."""
    title = DUCKDB.quoted(ROW)
    if relation.startswith("read_parquet("):
        rows = f"{relation[:-1]}, file_row_number=true)"
        return f"(SELECT * EXCLUDE file_row_number, file_row_number + 1 AS {title} FROM {rows})"
    return f"(SELECT *, row_number() OVER (ORDER BY rowid) AS {title} FROM {relation})"


def _ordered(mapping: TablesMapping, order: Mapping[str, Iterable[str]]) -> TablesMapping:
    """Return a mapping with tables and columns in a given order.

    A loader has them in that order, and ties are decided by it.
    """
    places = {name: place for place, name in enumerate(order)}
    found = []
    for table in sorted(mapping.tables, key=lambda table: places.get(table.name, len(places))):
        titles = {title: place for place, title in enumerate(order.get(table.name, ()))}
        columns = sorted(table.columns, key=lambda c, t=titles: t.get(c.name, len(t)))  # type: ignore[misc]
        found.append(replace(table, columns=tuple(columns)))
    return TablesMapping(tuple(found))


def _defined(
    ddl: str | Path | None, kinds: Mapping[str, Mapping[str, str]], source: str
) -> Mapping[str, Iterable[str]]:
    """Return tables and columns in the order of their definitions, if there are any.

    Types that ask for cells to be read otherwise than they stand are refused.
    """
    if ddl is None:
        return kinds
    found, problems = {}, []
    for definition in read_ddl(ddl):
        found[definition.name] = list(definition.columns)
        for title, declared in definition.columns.items():
            kind = kinds.get(definition.name, {}).get(title, "")
            if _TEXTS.search(kind) and not _TEXTS.search(declared):
                where = Location(f"{source}, table {definition.name}")
                fault = f"column {title!r}: texts are not read as {declared} in place{_WHY}"
                problems.append(InputError(fault, where))
    raise_all(problems)
    return found


def _schema(mapping: TablesMapping) -> Schema:
    predicates, functional = [], {}
    for name, table, column in mapping.predicates():
        types = [type_of(mapping, table, key) for key in table.keys]
        if column is not None and column.role != "flag":
            types.append(type_of(mapping, table, column))
        predicates.append(Predicate(name, tuple(types)))
        if column is not None and column.functional:
            functional[name] = (len(types) - 1,)
    return Schema(tuple(predicates), {}, functional)


def type_of(mapping: TablesMapping, table: TableMapping, column: ColumnMapping) -> str:
    """Return the type of the argument that a column fills."""
    if column.references:
        return mapping[column.references].type
    return column.type or table.type


def _faults(
    mapping: TablesMapping, kinds: Mapping[str, Mapping[str, str]], source: str, dialect: Dialect
) -> Iterator[InputError]:
    """Yield what a mapping asks for that the tables do not have, or that is not done in place."""
    for table in mapping:
        if table.kind == "skip":
            continue
        where = Location(f"{source}, table {table.name}")
        if table.name not in kinds:
            yield InputError("there is no such table", where)
            continue
        if table.kind == "event" and dialect is not DUCKDB:
            yield InputError(f"rows that nothing names are numbered by DuckDB only{_WHY}", where)
        if table.until:
            yield InputError(f"rows are not cut off in time in place{_WHY}", where)
        if table.kind == "entity" and len(table.keys) != 1:
            yield InputError("one key column is expected", where)
        for column in table.columns:
            if column.role != "skip":
                title = f"column {column.name!r}"
                for fault in _column_faults(column, kinds[table.name], dialect):
                    yield InputError(f"{title}: {fault}", where)


def _column_faults(
    column: ColumnMapping, kinds: Mapping[str, str], dialect: Dialect
) -> Iterator[str]:
    if column.name not in kinds:
        yield "there is none"
        return
    kind = kinds[column.name]
    if column.bins:
        yield f"cuts of numbers and days are not found in place; give cuts{_WHY}"
    elif column.spelled:
        yield f"cells that are spelled as {column.spelled} are not read in place{_WHY}"
    elif is_number(column) or column.cuts:
        fitting = _MOMENTS if is_moment(column) else _NUMBERS
        scalar = fitting.search(kind) and not kind.endswith("]")
        if not scalar and not (_TEXTS.search(kind) and dialect is DUCKDB):
            yield f"{kind} holds no {'moments' if is_moment(column) else 'numbers'}"
    elif kind.endswith("]") or not _NAMES.search(kind):
        yield f"{kind} holds no names"
    if column.role in ("flag", "link", *ATTRIBUTES) and not column.predicate:
        yield "the mapping names no predicate; a whole mapping is needed in place"
    if column.role in ATTRIBUTES and not column.type:
        yield "the mapping names no type; a whole mapping is needed in place"


def is_number(column: ColumnMapping) -> bool:
    """Tell whether cells of a column are read as numbers or moments, not as names of bands."""
    return column.role in ("number", "time") and not column.cuts


def is_moment(column: ColumnMapping) -> bool:
    """Tell whether numbers of a column, cut into bands or not, are moments."""
    return column.role == "time" or any(isinstance(cut, str) for cut in column.cuts)


def warn_of_lost_cells(table: str, column: str, cells: int) -> None:
    """Say that cells are taken as empty, since they refer to what is not there."""
    warnings.warn(
        f"table {table}: {cells:,} cells of {column!r} refer to rows that are not there, and are "
        "taken as empty",
        DataWarning,
        stacklevel=3,
    )


def warn_of_lost(table: str, rows: int) -> None:
    """Say that rows were left out, since they refer to what is not there."""
    warnings.warn(
        f"table {table}: {rows:,} rows refer to rows that are not there, and are left out",
        DataWarning,
        stacklevel=3,
    )
