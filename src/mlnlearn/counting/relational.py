"""Databases as linked tables: row sets with columns of names, numbers and links.

Learners that follow links from an example read this view. Every entity type is a row set, its rows
the constants of all databases one after the other, so that rows of different databases never meet;
its functional predicates are columns. Every other predicate is a row set of its true facts, with a
link for each argument. Data that came from tables keep the names of tables and columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, rows_of
from mlnlearn.counting.date_parts import DatePart, parts_of, spans_of
from mlnlearn.counting.facts import Facts
from mlnlearn.data.common import common_schema
from mlnlearn.data.database import Database
from mlnlearn.data.load.declared import declared_mapping
from mlnlearn.data.load.mapping import ColumnMapping, TableMapping
from mlnlearn.data.load.mapping import Mapping as TablesMapping
from mlnlearn.logic.schema import Schema

Floats: TypeAlias = NDArray[np.float64]
Item = TypeVar("Item", bound=np.generic)

NAME = ""
"""The column of an entity's row set that holds the names of the constants."""
NAMES_ROWS = "it names the rows"
"""Why a key is no column."""
FLAGS = ("false", "true")
"""The values of a column that says yes or no."""


@dataclass(frozen=True, eq=False)
class Nominal:
    """Names by code, -1 where a row has none or it is not known."""

    codes: Codes
    names: Sequence[str]


@dataclass(frozen=True, eq=False)
class Number:
    """Numbers, NaN where a row has none or it is not known; times are seconds since 1970."""

    values: Floats
    is_time: bool = False


@dataclass(frozen=True, eq=False)
class Link:
    """Rows of another row set, -1 where a row has none or it is not known."""

    codes: Codes
    to: str


Column: TypeAlias = Nominal | Number | Link


@dataclass(frozen=True, eq=False)
class RowSet:
    """Rows with named columns.

    Attributes
    ----------
    times
        When each row is from, NaN where that is not known; None where rows have no time.
    part
        The number of the database that each row is of.
    unknown
        Rows that may exist, of a relation: their databases, then what their columns would hold.
    dated
        Columns that are made of moments: their parts, and how long they lie apart.
    """

    name: str
    rows: int
    columns: Mapping[str, Column]
    times: Floats | None
    part: Codes
    unknown: Codes | None = None
    dated: Mapping[str, DatePart] = field(default_factory=dict)

    @property
    def links(self) -> dict[str, Link]:
        """The columns that are links, by name."""
        return {name: c for name, c in self.columns.items() if isinstance(c, Link)}

    def taken(self, rows: NDArray[np.integer]) -> RowSet:
        """Return some of the rows."""
        columns: dict[str, Column] = {
            name: replace(column, values=column.values[rows])
            if isinstance(column, Number)
            else replace(column, codes=column.codes[rows])
            for name, column in self.columns.items()
        }
        times = None if self.times is None else self.times[rows]
        dated = {n: replace(d, values=d.values[rows]) for n, d in self.dated.items()}
        return RowSet(self.name, len(rows), columns, times, self.part[rows], self.unknown, dated)

    def without(self, column: str) -> RowSet:
        """Return the row set without one of its columns, and what is made of it."""
        kept = {n: c for n, c in self.columns.items() if n != column}
        return replace(self.without_parts(column), columns=kept)

    def without_parts(self, column: str) -> RowSet:
        """Return the row set without what is made of the moments of a column."""
        return replace(self, dated={n: d for n, d in self.dated.items() if column not in d.of})


@dataclass(frozen=True)
class Place:
    """Where a predicate stands: a row set, and one of its columns or (None) its rows."""

    row_set: str
    column: str | None


@dataclass(frozen=True, eq=False)
class Relational:
    """All row sets of some databases, by name.

    Attributes
    ----------
    row_sets
        By table, type or relation.
    types
        The row set of each entity type.
    places
        Where each predicate stands.
    left_out
        Columns that are not read, or name the rows, as ``TABLE.COLUMN``, and why.
    """

    row_sets: Mapping[str, RowSet]
    types: Mapping[str, str]
    places: Mapping[str, Place]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> RowSet:
        return self.row_sets[name]

    def __iter__(self) -> Iterator[RowSet]:
        return iter(self.row_sets.values())

    def with_row_set(self, row_set: RowSet) -> Relational:
        """Return the view with one row set more, or another in place of the one of that name."""
        return replace(self, row_sets={**self.row_sets, row_set.name: row_set})

    @cached_property
    def pointing(self) -> dict[str, list[tuple[str, str]]]:
        """Which links point at each row set: (row set, column) pairs."""
        found: dict[str, list[tuple[str, str]]] = {name: [] for name in self.row_sets}
        for row_set in self:
            for name, link in row_set.links.items():
                found[link.to].append((row_set.name, name))
        return found


@runtime_checkable
class LinkedPlace(Protocol):
    """Where tables lie that are read as row sets, without predicates in between."""

    def view(self) -> Relational:
        """Return the tables."""
        ...


def relational(databases: Sequence[Database], mapping: TablesMapping | None = None) -> Relational:
    """Return databases of one schema as linked tables.

    Parameters
    ----------
    databases
        One or more.
    mapping
        How tables became their predicates; without it, declarations are read as tables.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("age(person,years!)", "smokes(person)", "friends(person,person)")
    >>> facts = {"age": [("Anna", "30"), ("Bob", "40")], "friends": [("Anna", "Bob")]}
    >>> view = relational([Database.from_facts(schema, facts)])
    >>> [(row_set.name, row_set.rows, list(row_set.columns)) for row_set in view]
    [('person', 2, ['', 'age', 'smokes']), ('friends', 1, ['person1', 'person2'])]
    >>> view["friends"].links["person2"].codes.tolist(), view.pointing["person"]
    ([1], [('friends', 'person1'), ('friends', 'person2')])
    """
    place = getattr(databases[0].true, "place", None)
    if len(databases) == 1 and isinstance(place, LinkedPlace):
        return place.view()
    return _FactReader(databases, mapping or declared_mapping(common_schema(databases))).view()


class RowSetReader(ABC):
    """Reads the row sets that a mapping speaks of, wherever their rows are.

    Parameters
    ----------
    schema
        Types and predicates.
    mapping
        How tables became them.
    """

    def __init__(self, schema: Schema, mapping: TablesMapping) -> None:
        self.schema = schema
        self.mapping = mapping
        self.types = {
            entry.type: entry.name for entry in mapping if entry.type in self.schema.types
        }
        self.places: dict[str, Place] = {}

    @abstractmethod
    def entities(self, entry: TableMapping) -> RowSet:
        """Return the rows of a table that are objects, without times."""

    @abstractmethod
    def relation(self, entry: TableMapping) -> RowSet:
        """Return the rows of a table that relates objects, without times."""

    def view(self) -> Relational:
        """Return all row sets."""
        found: dict[str, RowSet] = {}
        for entry in self.mapping:
            if entry.kind == "skip" or (entry.type and entry.type not in self.schema.types):
                continue  # of a table of which nothing is read, there are not even names
            found[entry.name] = self.entities(entry) if entry.type else self.relation(entry)
            if entry.predicate:
                self.places[entry.predicate] = Place(entry.name, None)
            for column in entry.columns:
                if column.role not in ("key", "skip"):
                    self.places[column.predicate] = Place(entry.name, column.name)
        timed = {name: self._times(row_set) for name, row_set in found.items()}
        left_out = {
            f"{entry.name}.{column.name}": NAMES_ROWS if column.role == "key" else column.note
            for entry in self.mapping
            for column in entry.columns
            if column.role == "skip" or (column.role == "key" and entry.has_objects)
        }
        row_sets = _with_times(timed, found)
        dated = {
            name: replace(row_set, dated=self._dated(row_set, row_sets))
            for name, row_set in row_sets.items()
        }
        return Relational(dated, self.types, self.places, left_out)

    def _dated(self, row_set: RowSet, row_sets: Mapping[str, RowSet]) -> dict[str, DatePart]:
        """Return what is made of the moments of a row, its own and those of rows it links to."""
        own = _moments(row_set)
        found = {name: part for column in own for name, part in parts_of(column, own[column])}
        time = self.mapping[row_set.name].time
        if time in own:
            others = {name: moments for name, moments in own.items() if name != time}
            linked = {
                (name, column): _at(moments, link.codes, np.nan)
                for name, link in row_set.links.items()
                for column, moments in _moments(row_sets[link.to]).items()
            }
            found |= spans_of(time, own[time], others, linked)
        return {name: part for name, part in found.items() if name not in row_set.columns}

    def _times(self, row_set: RowSet) -> Floats | None:
        column = row_set.columns.get(self.mapping[row_set.name].time)
        return column.values if isinstance(column, Number) else None


class _FactReader(RowSetReader):
    """Reads the facts of databases."""

    def __init__(self, databases: Sequence[Database], mapping: TablesMapping) -> None:
        self.facts = Facts.of(databases)
        super().__init__(self.facts.schema, mapping)

    def entities(self, entry: TableMapping) -> RowSet:
        part = self.facts.owners(entry.type)
        rows = np.arange(len(part), dtype=np.int32)[None]
        columns: dict[str, Column] = {NAME: self._names(entry.type)}
        columns |= self._columns(entry, rows)
        return RowSet(entry.name, len(part), columns, None, part)

    def relation(self, entry: TableMapping) -> RowSet:
        """Rows are the facts of the relation, or what its columns speak of where it has none."""
        predicates = [c.predicate for c in entry.columns if c.role not in ("key", "skip")]
        number = len(entry.keys)
        stacked = [
            self.facts.atoms(self.schema[name])[: number + 1]
            for name in ([entry.predicate] if entry.predicate else predicates)
        ]
        keys = np.unique(np.concatenate(stacked, axis=1), axis=1)
        part, rows = keys[0], keys[1:]
        columns: dict[str, Column] = {}
        name = entry.predicate or predicates[0]
        for kind, column, codes in zip(self.schema[name].types, entry.keys, rows, strict=False):
            columns[column.name] = self._argument(kind, codes)
        columns |= self._columns(entry, rows)
        unknown = None
        if entry.predicate:
            unknown = self.facts.atoms(self.schema[entry.predicate], "unknown")
        return RowSet(entry.name, len(part), columns, None, part, unknown)

    def _columns(self, entry: TableMapping, rows: Codes) -> dict[str, Column]:
        found = {}
        for column in entry.columns:
            if column.role in ("key", "skip"):
                continue
            found[column.name] = (
                self._flag(column, rows) if column.role == "flag" else self._value(column, rows)
            )
        return found

    def _argument(self, kind: str, objects: Codes) -> Column:
        """Return a column for constants of a type that stand at a place of a relation."""
        if kind in self.types:
            return Link(objects, self.types[kind])
        numbers = self.facts.numbers(kind)
        if numbers is not None:
            return Number(_at(numbers, objects, np.nan), self._is_time(kind))
        names = self._names(kind)
        return replace(names, codes=_at(names.codes, objects, -1))

    def _value(self, column: ColumnMapping, rows: Codes) -> Column:
        predicate = self.schema[column.predicate]
        _, *keys, values = self.facts.atoms(predicate)
        sizes = [self.facts.number(kind) for kind in predicate.types[:-1]]
        places = rows_of(keys, list(rows), sizes)
        return self._argument(predicate.types[-1], _at(values, places, -1))

    def _flag(self, column: ColumnMapping, rows: Codes) -> Nominal:
        predicate = self.schema[column.predicate]
        sizes = [self.facts.number(kind) for kind in predicate.types]
        codes = np.zeros(rows.shape[1], np.int32)
        if any(column.predicate in database.open for database in self.facts.databases):
            codes[:] = -1
        listed: tuple[tuple[Literal["true", "false", "unknown"], int], ...]
        listed = (("false", 0), ("unknown", -1), ("true", 1))
        for truth, value in listed:
            _, *keys = self.facts.atoms(predicate, truth)
            codes[rows_of(keys, list(rows), sizes) >= 0] = value
        return Nominal(codes, FLAGS)

    def _names(self, kind: str) -> Nominal:
        """Return the names of all constants of a type, each name with one code."""
        names, codes = self.facts.values(kind)
        return Nominal(codes, names.names)

    def _is_time(self, kind: str) -> bool:
        return bool(getattr(self.facts.databases[0].domains[kind], "time", False))


def _moments(row_set: RowSet) -> dict[str, Floats]:
    columns = row_set.columns.items()
    return {name: c.values for name, c in columns if isinstance(c, Number) and c.is_time}


def _at(values: NDArray[Item], places: NDArray[np.integer], none: float) -> NDArray[Item]:
    """Return values by place, and `none` at place -1."""
    found: NDArray[Item] = np.append(values, np.array([none], values.dtype))[places]
    return found


def _with_times(own: Mapping[str, Floats | None], found: Mapping[str, RowSet]) -> dict[str, RowSet]:
    """Give rows without a time the latest of those they link to."""
    times = dict(own)
    for _ in found:
        for name, row_set in found.items():
            linked = [
                _at(moments, link.codes, np.nan)
                for link in row_set.links.values()
                if link.to != name and (moments := times[link.to]) is not None
            ]
            if own[name] is None and linked and times[name] is None:
                times[name] = np.fmax.reduce(linked)
    return {name: replace(row_set, times=times[name]) for name, row_set in found.items()}
