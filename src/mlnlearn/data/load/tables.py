"""Tables as every loader hands them on: factorised columns, keys, and checks of the keys."""

from __future__ import annotations

from collections import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tally import NameTally, Whole
from mlnlearn.errors import InputError, Location

ROW = "(row)"
"""The column that numbers the rows of a table of events."""
FILLED = "filled_cells"
"""The table that says which cells of the others were filled in by a model."""
SHOWN_ROWS = 20
"""How many rows with the same fault in the same column are listed one by one."""


@dataclass(frozen=True)
class ForeignKey:
    """Columns whose values are keys of another table; no `references` means its primary key."""

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Keys:
    """The keys of one table, where neither SQL nor a database catalog gives them.

    Attributes
    ----------
    primary
        The primary key: a column or several.
    foreign
        For a column, the table whose primary key it holds.

    Examples
    --------
    >>> Keys(("course", "student"), {"course": "courses", "student": "students"}).columns
    ('course', 'student')
    """

    primary: str | tuple[str, ...] = ()
    foreign: abc.Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the primary key."""
        return (self.primary,) if isinstance(self.primary, str) else tuple(self.primary)

    @property
    def foreign_keys(self) -> tuple[ForeignKey, ...]:
        """The foreign keys, one a column."""
        return tuple(ForeignKey((column,), table) for column, table in self.foreign.items())


KeysLike: TypeAlias = "abc.Mapping[str, Keys | str | Sequence[str]]"


@dataclass(frozen=True, eq=False)
class Table:
    """A named table with its keys.

    Attributes
    ----------
    columns
        Factorised columns by name, all of the same length.
    source
        The file the rows come from, if any; `lines` then gives the line of each row.
    declared
        SQL types by column, where something declares them.
    notes
        Remarks on how columns were read, by column.
    parts
        Columns that a link was made of, which says all that they say.
    whole
        What is known of all rows, where these are a sample of them.
    """

    name: str
    columns: abc.Mapping[str, Column]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    source: str = ""
    lines: NDArray[np.int64] | None = None
    declared: abc.Mapping[str, str] = field(default_factory=dict)
    notes: abc.Mapping[str, str] = field(default_factory=dict)
    parts: abc.Set[str] = frozenset()
    whole: Whole | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()))) if self.columns else 0

    @property
    def size(self) -> int:
        """Number of rows, also where those here are a sample of them."""
        return self.rows if self.whole is None else self.whole.rows

    def distinct(self, column: str) -> int:
        """Return how many names a column has, in all rows where that is known."""
        here = len(self.columns[column].names)
        return here if self.whole is None else self.whole.distinct.get(column, here)

    def tally(self, column: str) -> NameTally | None:
        """Return how often names occur in all rows, where these are a sample and that is known."""
        return None if self.whole is None else self.whole.tallies.get(column)

    def place(self, row: int | None = None) -> Location:
        """Return the place of a row (counted from 0), or of the whole table."""
        where = self.source or f"table {self.name}"
        if row is None:
            return Location(where)
        return Location(where, row + 1 if self.lines is None else int(self.lines[row]))

    def problems_at(
        self, rows: NDArray[np.integer], column: str, what: abc.Callable[[int], str]
    ) -> Iterator[InputError]:
        """Yield one problem a row, summing up after the first few."""
        for row in rows[:SHOWN_ROWS].tolist():
            yield InputError(f"column {column!r}: {what(row)}", self.place(row))
        if len(rows) > SHOWN_ROWS:
            more = len(rows) - SHOWN_ROWS
            yield InputError(f"column {column!r}: {more} more rows like these", self.place())

    def foreign_key_of(self, column: str) -> tuple[str, str] | None:
        """Return the table and (if named) the column that a column refers to."""
        for key in self.foreign_keys:
            if column in key.columns:
                place = key.columns.index(column)
                return key.table, key.references[place] if key.references else ""
        return None


def resolve_reference(tables: abc.Mapping[str, Table], name: str, column: str) -> str:
    """Return the table whose single-column primary key a foreign-key column finally holds.

    A reference to a column that is itself a foreign key is followed: so a subtype table
    (``professor(person_id)`` referring to ``person``) and the parts of a composite key stand for
    the entities behind them. Returns nothing where the way ends elsewhere or runs in a circle.

    Examples
    --------
    >>> person = Table("person", {}, ("id",))
    >>> professor = Table("professor", {}, ("id",), (ForeignKey(("id",), "person"),))
    >>> course = Table("course", {}, ("id",), (ForeignKey(("by",), "professor"),))
    >>> resolve_reference({t.name: t for t in (person, professor, course)}, "course", "by")
    'person'
    """
    seen: set[tuple[str, str]] = set()
    while (name, column) not in seen:
        seen.add((name, column))
        if name not in tables:
            return ""
        found = tables[name].foreign_key_of(column)
        if found is None:
            return name if tables[name].primary_key == (column,) else ""
        target, referenced = found
        primary = tables[target].primary_key if target in tables else ()
        name, column = target, referenced or (primary[0] if len(primary) == 1 else "")
    return ""


def check_tables(tables: Sequence[Table]) -> list[InputError]:
    """Return every fault of the keys: unknown names, NULL or repeated keys."""
    known = {table.name: table for table in tables}
    problems: list[InputError] = []
    for table in tables:
        declared = _check_declared(table, known)
        problems += declared
        if not declared:
            problems += _check_primary_key(table)
    return problems


def _check_declared(table: Table, known: abc.Mapping[str, Table]) -> list[InputError]:
    where, problems = table.place(), []
    for column in table.primary_key:
        if column not in table.columns:
            problems.append(InputError(f"the primary key names no column {column!r}", where))
    for key in table.foreign_keys:
        for column in key.columns:
            if column not in table.columns:
                problems.append(InputError(f"a foreign key names no column {column!r}", where))
        problems += _check_target(table, key, known)
    return problems


def _check_target(
    table: Table, key: ForeignKey, known: abc.Mapping[str, Table]
) -> Iterator[InputError]:
    where, label = table.place(), ", ".join(key.columns)
    if key.references == (ROW,):
        return  # made to fit
    target = known.get(key.table)
    if target is None:
        hint = f"load table {key.table!r} as well; loaded are: {', '.join(known)}"
        yield InputError(f"{label} refers to table {key.table!r}, which is missing", where, hint)
        return
    referenced = key.references or target.primary_key
    for column in referenced:
        if column not in target.columns:
            yield InputError(f"{label} refers to {key.table}.{column}, which is missing", where)
            return
    if not referenced:
        yield InputError(
            f"{label} refers to table {key.table!r}, which has no primary key",
            where,
            f"declare the primary key of {key.table!r}",
        )
        return
    if len(referenced) != len(key.columns):
        yield InputError(
            f"{label} refers to the key of {key.table!r}, which has {len(referenced)} columns, "
            f"not {len(key.columns)}",
            where,
        )
        return
    for column in key.columns:
        if column in table.columns and not resolve_reference(known, table.name, column):
            yield InputError(
                f"column {column!r} does not lead to the single-column primary key of a table",
                where,
                f"make the column that it refers to in {key.table!r} the primary key, or a "
                "foreign key itself",
            )


def _check_primary_key(table: Table) -> Iterator[InputError]:
    if not table.primary_key or not table.rows:
        return
    columns = [table.columns[name] for name in table.primary_key]
    for name, column in zip(table.primary_key, columns, strict=True):
        if column.opaque:
            message = f"column {name!r} holds {column.opaque}, not names or numbers"
            yield InputError(message, table.place(), "a primary key names the rows")
            return
        yield from table.problems_at(
            np.flatnonzero(column.missing), name, lambda _: "the primary key is empty"
        )
    if any(column.has_missing for column in columns):
        return
    ids = row_ids([column.codes for column in columns])
    rows = np.arange(len(ids))
    first = np.empty(len(ids), np.int64)
    # Written from the last row to the first, so that the first row of each id stays.
    first[ids[::-1]] = rows[::-1]
    earlier = first[ids]
    repeats = np.flatnonzero(earlier != rows)

    def what(row: int) -> str:
        value = ", ".join(column.names[column.codes[row]] for column in columns)
        before = table.place(int(earlier[row]))
        return f"the primary key {value!r} repeats that of {before}"

    yield from table.problems_at(repeats, ", ".join(table.primary_key), what)


def dangling(table: Table, key: ForeignKey, target: Table) -> NDArray[np.bool_]:
    """Tell which rows of a table refer by a foreign key to rows that its target does not have.

    Examples
    --------
    >>> dog = Table("dog", {"id": Column.of(["Rex"])}, ("id",))
    >>> walk = Table("walk", {"who": Column.of(["Rex", "Fido", None])})
    >>> dangling(walk, ForeignKey(("who",), "dog"), dog).tolist()
    [False, True, False]
    """
    rows = rows_referred_to(table, key, target)
    lost = rows < 0
    for name in key.columns:
        lost &= ~table.columns[name].missing
    return lost


def rows_referred_to(table: Table, key: ForeignKey, target: Table) -> NDArray[np.int64]:
    """Return for each row of a table the row of the target that a foreign key leads to, or -1.

    Examples
    --------
    >>> dog = Table("dog", {"id": Column.of(["Rex", "Ava"])}, ("id",))
    >>> walk = Table("walk", {"who": Column.of(["Ava", "Fido", None])})
    >>> rows_referred_to(walk, ForeignKey(("who",), "dog"), dog).tolist()
    [1, -1, -1]
    """
    pairs = []
    missing = np.zeros(table.rows, np.bool_)
    for name, referenced in zip(key.columns, key.references or target.primary_key, strict=True):
        column, other = table.columns[name], target.columns[referenced]
        places = {found: place for place, found in enumerate(other.names)}
        here = column.codes_in(places)
        # A name the target lacks gets a code of its own, so that it can equal no target row.
        here[here < 0] = len(places)
        missing |= column.missing
        pairs.append(np.concatenate([other.codes, here]))
    ids = row_ids(pairs)
    row_of = np.full(int(ids.max(initial=0)) + 1, -1, np.int64)
    row_of[ids[: target.rows]] = np.arange(target.rows)
    return np.where(missing, -1, row_of[ids[target.rows :]])


def row_ids(columns: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
    """Return one id a row, equal for equal tuples of codes, numbered from 0 without gaps.

    Examples
    --------
    >>> row_ids([np.array([5, 5, 7]), np.array([1, 1, 1])]).tolist()
    [0, 0, 1]
    """
    ids = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        # Renumbering after each column keeps the product below rows², far from 64 bits.
        width = int(column.max(initial=0)) + 2
        keys = ids * width + column + 1
        highest = int(keys.max(initial=0))
        if highest > 4 * len(keys) + 1024:
            ids = np.unique(keys, return_inverse=True)[1]
        else:
            present = np.zeros(highest + 1, np.int64)
            present[keys] = 1
            ids = (np.cumsum(present) - 1)[keys]
    return ids


def seen_before(ids: NDArray[np.int64], start: int) -> NDArray[np.bool_]:
    """Tell for each id from `start` on whether it occurs before `start`.

    Examples
    --------
    >>> seen_before(np.array([0, 2, 2, 1, 0]), 2).tolist()
    [True, False, True]
    """
    known = np.zeros(int(ids.max(initial=0)) + 1, np.bool_)
    known[ids[:start]] = True
    return known[ids[start:]]
