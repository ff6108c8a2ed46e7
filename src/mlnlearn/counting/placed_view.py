"""Tables in place, read as row sets: a server numbers names and follows keys, numbers come here.

A cell takes four bytes, or eight where it is a number; what would take more than a share of the
memory given is kept in a scratch file that the system reads in as far as there is room. Names stay
at the server, but for those of columns of a few.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mlnlearn.counting.arrays import rows_of
from mlnlearn.counting.examples import RowExamples, related
from mlnlearn.counting.placed import no_room
from mlnlearn.counting.relational import (
    FLAGS,
    NAME,
    Column,
    Link,
    Nominal,
    Number,
    Relational,
    RowSet,
    RowSetReader,
)
from mlnlearn.counting.sql_engine import FullServerError
from mlnlearn.counting.table_place import (
    MOST_VALUES,
    TablePlace,
    is_number,
    type_of,
    warn_of_lost,
    warn_of_lost_cells,
)
from mlnlearn.data.database import Database
from mlnlearn.data.identity import digest
from mlnlearn.data.load.mapping import ColumnMapping, TableMapping
from mlnlearn.data.load.mapping import Mapping as TablesMapping
from mlnlearn.data.load.tables import ROW
from mlnlearn.data.placed import PlacedFacts, PlacedNames
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.resources import in_use

_NONE, _LOST = -1, -2  # of a cell: there is nothing in it, or what it names is not there
_ROWS = 1 << 20  # fetched at once
_JOINS = 8  # of one statement
_PIECE = 1 << 20
_TABLES = count()


class ArrayRoom:
    """Makes arrays: in memory, and past a limit in scratch files that nobody can see.

    Parameters
    ----------
    nbytes
        What arrays in memory may take together.

    Examples
    --------
    >>> room = ArrayRoom(100)
    >>> small, large = room.array(10, np.int32), room.array(1000, np.int32)
    >>> room.left, large[:2].tolist()
    (60, [0, 0])
    """

    def __init__(self, nbytes: int) -> None:
        self.left = nbytes

    def array(self, length: int, kind: DTypeLike) -> NDArray[Any]:
        """Return an array of zeros."""
        nbytes = length * np.dtype(kind).itemsize
        if nbytes <= self.left:
            self.left -= nbytes
            return np.zeros(length, kind)
        try:
            with tempfile.TemporaryFile(prefix="mlnlearn-") as file:
                _reserve(file, nbytes)
                return np.frombuffer(mmap.mmap(file.fileno(), nbytes), kind)
        except OSError as error:
            raise MemoryLimitError(
                f"no room for {nbytes:,} bytes of a column on disk: {error.strerror}",
                hint="let TMPDIR name a folder on a larger disk, or give more --memory",
            ) from error


def _reserve(file: IO[bytes], nbytes: int) -> None:
    """Take room on the disk: a full one is known now, not when a page is written back."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, nbytes)
        return
    zeros = bytes(_PIECE)
    for start in range(0, nbytes, _PIECE):
        file.write(zeros[: nbytes - start])
    file.flush()


@dataclass(frozen=True)
class _Cells:
    """A column that is fetched: its SQL, what must be joined for it, and what it becomes."""

    select: str
    join: str
    kind: DTypeLike
    inner: str


class PlacedReader(RowSetReader):
    """Reads the row sets of tables in place.

    Parameters
    ----------
    place
        The tables.
    """

    def __init__(self, place: TablePlace) -> None:
        super().__init__(place.schema, place.mapping)
        self.place, self.server = place, place.server
        self.room = ArrayRoom(in_use().nbytes // 4)

    def entities(self, entry: TableMapping) -> RowSet:
        """Return the rows of a table that are objects, in the order of their codes."""
        key = "CAST(s.k0 AS INTEGER)" if entry.kind == "event" else "k0.code"
        found, rows = self._fetched(entry, [entry.type], key, "")
        names: Column = Nominal(np.arange(rows, dtype=np.int32), self._names(entry.type))
        return RowSet(entry.name, rows, {NAME: names, **found}, None, self._zeros(rows))

    def relation(self, entry: TableMapping) -> RowSet:
        """Return the rows of a relation, sorted by their keys."""
        kinds = [type_of(self.mapping, entry, column) for column in entry.keys]
        codes = [f"k{place}.code" for place in range(len(kinds))]
        key = f"CAST(row_number() OVER (ORDER BY {', '.join(codes)}) - 1 AS INTEGER)"
        said = [] if entry.predicate else [self._says(entry, c) for c in _attributes(entry)]
        found, rows = self._fetched(entry, kinds, key, " OR ".join(said))
        unknown = np.empty((1 + len(kinds), 0), np.int32) if entry.predicate else None
        return RowSet(entry.name, rows, found, None, self._zeros(rows), unknown)

    def _zeros(self, rows: int) -> NDArray[np.int32]:
        # no bytes of its own: all rows are of the one database
        return np.broadcast_to(np.zeros(1, np.int32), rows)

    def _names(self, kind: str) -> Sequence[str]:
        names = PlacedNames(self.place, kind)
        return names if self._is_object(kind) else tuple(names)

    def _is_object(self, kind: str) -> bool:
        return any(entry.type == kind for entry in self.mapping)

    def _says(self, entry: TableMapping, column: ColumnMapping) -> str:
        """Return whether a row has a fact of a column, in SQL."""
        if column.role == "flag":
            return self.place.says_yes(entry, column)
        return f"{self.place.cell(entry, column)} IS NOT NULL"

    def _fetched(
        self, entry: TableMapping, kinds: Sequence[str], code: str, where: str
    ) -> tuple[dict[str, Column], int]:
        """Return the columns of a table by name, with the number of its rows.

        Parameters
        ----------
        entry
            The table.
        kinds
            The types of its keys.
        code
            The number of a row, in SQL.
        where
            Which rows are there; empty for all.
        """
        place = self.place
        inner = [f"{cell} AS k{number}" for number, cell in enumerate(place.keys(entry))]
        joins = [
            f" JOIN {place.dictionary(kind)} k{number} ON k{number}.name = s.k{number}"
            for number, kind in enumerate(kinds)
        ]
        if entry.kind == "event":
            inner, joins = [f"{place.server.dialect.quoted(ROW)} - 1 AS k0"], []
        relation = place.relations[entry.name]
        rows = f"FROM {relation}{f' WHERE {where}' if where else ''}"
        cells = dict(self._all_cells(entry))
        found: dict[str, Column] = {}
        number = 0
        for part in _parts_of(list(cells)) or [[]]:
            chosen = [cells[name] for name in part]
            outer = [f"{each.select} AS c{place}" for place, each in enumerate(chosen)]
            of_part = ", ".join([*inner, *(each.inner for each in chosen if each.inner)])
            source = f"(SELECT {of_part} {rows}) s{''.join([*joins, *(c.join for c in chosen)])}"
            select = f"SELECT {', '.join([f'{code} AS code', *outer])} FROM {source}"
            arrays, number = self._read(entry.name, select, [each.kind for each in chosen])
            for name, array in zip(part, arrays, strict=True):
                found[name] = self._column(entry, name, array)
        whole = int(self.server.fetch(f"SELECT count(*) AS n {rows}")["n"][0])
        if whole > number:
            warn_of_lost(entry.name, whole - number)
        return found, number

    def _all_cells(self, entry: TableMapping) -> Iterator[tuple[str, _Cells]]:
        """Yield the columns of a table: keys that relate objects, then attributes."""
        if not entry.has_objects:
            for number, column in enumerate(entry.keys):
                yield column.name, _Cells(f"k{number}.code", "", np.int32, "")
        for number, column in enumerate(_attributes(entry)):
            yield column.name, self._cells(entry, column, number)

    def _cells(self, entry: TableMapping, column: ColumnMapping, number: int) -> _Cells:
        """Return how an attribute's cells become numbers."""
        place, real = self.place, self.server.dialect.real
        if column.role == "flag":
            yes = f"WHEN {place.says_yes(entry, column)} THEN 1"
            if column.null == "unknown":
                yes = f"WHEN {place.cell(entry, column)} IS NULL THEN {_NONE} {yes}"
            return _Cells(f"s.a{number}", "", np.int32, f"CASE {yes} ELSE 0 END AS a{number}")
        if is_number(column):
            inner = f"{place.number(entry, column)} AS a{number}"
            nan = f"CAST('NaN' AS {real})"
            return _Cells(f"coalesce(s.a{number}, {nan})", "", np.float64, inner)
        dictionary = place.dictionary(type_of(self.mapping, entry, column))
        join = f" LEFT JOIN {dictionary} d{number} ON d{number}.name = s.a{number}"
        none = f"CASE WHEN s.a{number} IS NULL THEN {_NONE} ELSE {_LOST} END"
        inner = f"{place.cell(entry, column)} AS a{number}"
        return _Cells(f"coalesce(d{number}.code, {none})", join, np.int32, inner)

    def _read(
        self, what: str, select: str, kinds: Sequence[DTypeLike]
    ) -> tuple[list[NDArray[Any]], int]:
        """Return the columns of an answer in the order of its column ``code``, a part at a time."""
        try:
            table = self.server.create(f"rows{next(_TABLES)}", select)
            number = int(self.server.fetch(f"SELECT count(*) AS n FROM {table}")["n"][0])
            arrays = [self.room.array(number, kind) for kind in kinds]
            for start in range(0, number if arrays else 0, _ROWS):
                part = self.server.fetch(
                    f"SELECT * FROM {table} WHERE code >= {start} AND code < {start + _ROWS}"
                )
                code = part.pop("code")
                for array, values in zip(arrays, part.values(), strict=True):
                    array[code] = values
            self.server.drop(table)
        except FullServerError as error:
            raise no_room(f"to follow the keys of {what}", error) from error
        return arrays, number

    def _column(self, entry: TableMapping, name: str, cells: NDArray[Any]) -> Column:
        column = entry[name]
        if is_number(column):
            return Number(cells, column.role == "time")
        if column.role == "flag":
            return Nominal(cells, FLAGS)
        lost = cells == _LOST
        if lost.any():
            cells[lost] = _NONE
            warn_of_lost_cells(entry.name, name, int(lost.sum()))
        kind = type_of(self.mapping, entry, column)
        if self._is_object(kind):
            return Link(cells, self.types[kind])
        return Nominal(cells, self._names(kind))


@dataclass(frozen=True)
class HiddenLabels:
    """Tables in place of which some labels are not known: only their row sets can be read.

    Attributes
    ----------
    place
        The tables with all labels.
    hidden
        The row sets without the labels.
    """

    place: TablePlace
    hidden: Relational

    def view(self) -> Relational:
        """Return the tables without the labels."""
        return self.hidden

    def digests(self) -> dict[str, str]:
        """Return a digest of each table as it is read."""
        return digests_of(self.hidden)

    def size(self, kind: str) -> int:
        """Return the number of constants of a type."""
        return self.place.size(kind)

    def code(self, kind: str, name: str) -> int:
        """Return the code of a constant, -1 where there is none of that name."""
        return self.place.code(kind, name)

    def names(self, kind: str, start: int, stop: int) -> list[str]:
        """Load the constants of a type whose codes are in a range, in their order."""
        return self.place.names(kind, start, stop)

    def count(self, name: str) -> int:
        """Refuse: the server knows nothing of what is hidden."""
        raise _unknown(name)

    def different(self, name: str, place: int) -> int:
        """Refuse: the server knows nothing of what is hidden."""
        raise _unknown(name)

    def facts(self, name: str) -> NDArray[np.int32]:
        """Refuse: the server knows nothing of what is hidden."""
        raise _unknown(name)

    def table(self, name: str) -> str:
        """Refuse: the server knows nothing of what is hidden."""
        raise _unknown(name)


def digests_of(view: Relational) -> dict[str, str]:
    """Return a digest of each row set: its numbers and links, and names where they are few."""
    found = {}
    for row_set in view:
        parts: list[bytes | memoryview | str] = [str(row_set.rows)]
        for name, column in row_set.columns.items():
            array = column.values if isinstance(column, Number) else column.codes
            parts += [name, np.ascontiguousarray(array).view(np.uint8).data]
            if isinstance(column, Nominal) and len(column.names) <= MOST_VALUES:
                parts += column.names
        found[f"rows of {row_set.name}"] = digest(parts)
    return found


def without_labels(
    database: Database, mapping: TablesMapping, examples: RowExamples, rows: NDArray[np.bool_]
) -> Database:
    """Return tables in place with the labels of some examples not known.

    Parameters
    ----------
    database
        The tables.
    mapping
        How they are read.
    examples
        What is to be predicted.
    rows
        Of which of them the labels are hidden.
    """
    facts, home = database.true, examples.home
    assert isinstance(facts, PlacedFacts)
    place = facts.place
    assert isinstance(place, TablePlace)
    view = place.view()
    row_set = view[home.row_set]
    if home.column is None:
        hidden = _without_rows(view, row_set, examples.base, rows)
    else:
        if home.column == mapping[home.row_set].time:
            raise InputError(
                f"{home.row_set}.{home.column} says when rows are from, and cannot be hidden in "
                "place",
                hint="use --engine memory, which loads the tables",
            )
        hidden = _with_empty(row_set, home.column, rows)
    return replace(
        database, true=PlacedFacts(HiddenLabels(place, view.with_row_set(hidden)), facts)
    )


def _with_empty(row_set: RowSet, name: str, rows: NDArray[np.bool_]) -> RowSet:
    """Return a row set in which some cells of a column are empty."""
    column, found = row_set.columns[name], row_set
    if isinstance(column, Number):
        column = replace(column, values=np.where(rows, np.nan, column.values))
        found = row_set.without_parts(name)  # which tell the moment
    else:
        column = replace(column, codes=np.where(rows, np.int32(_NONE), column.codes))
    return replace(found, columns={**row_set.columns, name: column})


def _without_rows(
    view: Relational, row_set: RowSet, base: RowSet, rows: NDArray[np.bool_]
) -> RowSet:
    """Return a relation of which some possible rows are not known."""
    keys = related(row_set)
    asked = [_codes(base.columns[name])[rows] for name in keys]
    own = [_codes(column) for column in keys.values()]
    sizes = [_number(view, column) for column in keys.values()]
    kept = row_set.taken(np.flatnonzero(rows_of(asked, own, sizes) < 0))
    unknown = np.vstack([np.zeros(len(asked[0]), np.int32), *asked])
    return replace(kept, unknown=unknown)


def _codes(column: Column) -> NDArray[np.int32]:
    assert not isinstance(column, Number)
    return column.codes


def _number(view: Relational, column: Column) -> int:
    return view[column.to].rows if isinstance(column, Link) else len(getattr(column, "names", ()))


def _parts_of(names: list[str]) -> list[list[str]]:
    """Return names a few at a time: each may take a join of its own, and memory for it."""
    return [names[start : start + _JOINS] for start in range(0, len(names), _JOINS)]


def _attributes(entry: TableMapping) -> list[ColumnMapping]:
    return [column for column in entry.columns if column.role not in ("key", "skip")]


def _unknown(name: str) -> InputError:
    return InputError(
        f"{name}: labels of tables in place are hidden from learners of rows only, such as boost",
        hint="use --engine memory, which loads the tables",
    )
