"""How tables become predicates: a value the user can read, edit as TOML, and hand back."""

from __future__ import annotations

import json
import re
import tomllib
from collections import abc
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias

from msgspec import Struct, structs
from msgspec import field as field_of

from mlnlearn.data.load.discretize import Cut, are_rising
from mlnlearn.data.load.tables import ROW
from mlnlearn.documents import Place, decode
from mlnlearn.errors import InputError

KINDS = ("entity", "event", "relationship", "skip")
ROLES = ("key", "link", "value", "number", "time", "flag", "skip")
ATTRIBUTES = ("value", "number", "time")
"""Roles of columns that become a predicate from the key to a constant."""
NULLS = ("unknown", "absent")

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")


@dataclass(frozen=True)
class ColumnMapping:
    """What becomes of one column.

    Attributes
    ----------
    name
        The column.
    role
        Written ``as`` in TOML. ``key``: an argument of every predicate of the table.
        ``link``: a predicate from the key to an entity of another table. ``value``: a predicate
        from the key to a constant. ``number`` and ``time``: such a predicate whose constants are
        numbers, or days and moments. ``flag``: a predicate on the key alone, true where the cell
        says yes. ``skip``: nothing.
    predicate
        Name of the predicate (link, value, number, time, flag).
    type
        Type of the argument that the column fills, where it holds plain values (key, value,
        number, time).
    references
        The table whose entities the column names (key, link).
    functional
        Whether every entity has exactly one value (``!`` in a schema).
    null
        What an empty cell means: every atom it could stand for is ``unknown``, or they are all
        false (``absent``); by default the latter for a link that not everything has.
    true
        The cell value that makes a flag true; without it, yes, true, t, y, 1, ja, oui and the like.
    values
        The values that are constants; any other cell becomes the constant ``other``. All where
        there are none.
    spelled
        How cells are written: an example for numbers (``1.234,5 kg``; ``h:m:s``), a format for
        days and moments (``%d.%m.%Y``). Empty for plain numbers and ISO dates.
    cuts
        Inner limits that cut numbers, or days and moments (texts), into bands; `bins` and `method`
        find them from the data.
    empty
        How many cells were empty, for the reader.
    note
        A remark for the reader, printed as a comment: why the column was read so.

    Examples
    --------
    >>> print(ColumnMapping("age", "value", "age", "age_value", cuts=(20.0, 65.0)))
    { as = "value", predicate = "age", type = "age_value", functional = false, cuts = [20.0, 65.0] }
    """

    name: str
    role: str
    predicate: str = ""
    type: str = ""
    references: str = ""
    functional: bool = False
    null: str = "unknown"
    true: str = ""
    values: tuple[str, ...] = ()
    spelled: str = ""
    cuts: tuple[Cut, ...] = ()
    bins: int = 0
    method: str = "quantile"
    empty: int = field(default=0, compare=False)
    note: str = field(default="", compare=False)

    def __str__(self) -> str:
        settings: dict[str, Any] = {"as": self.role}
        for item in fields(self)[2:-2]:
            value = getattr(self, item.name)
            # Derived from the data at hand, so it is always written: other data may differ.
            always = item.name == "functional" and self.role in ("link", *ATTRIBUTES)
            default = item.default
            if item.name == "null":
                default = default_null(self.role, self.functional)
            if always or value != default:
                settings[item.name] = value
        text = ", ".join(f"{key} = {_toml(value)}" for key, value in settings.items())
        cells = f"{self.empty:,} empty cell{'s' if self.empty > 1 else ''}" if self.empty else ""
        remark = "; ".join(part for part in (self.note, cells) if part)
        return f"{{ {text} }}{'  # ' if remark else ''}{remark}"


def default_null(role: str, functional: bool) -> str:
    """Return what an empty cell means unless a mapping says so.

    Examples
    --------
    >>> default_null("value", False), default_null("link", False), default_null("link", True)
    ('unknown', 'absent', 'unknown')
    """
    return "absent" if role == "link" and not functional else "unknown"


@dataclass(frozen=True)
class TableMapping:
    """What becomes of one table.

    Attributes
    ----------
    kind
        ``entity``: each row is an object of type `type`, and its key column names it. ``event``:
        each row is an object, too, but nothing names it; rows are numbered.
        ``relationship``: each row relates the objects its key columns name, a fact of `predicate`
        (no such facts where that is empty). ``skip``: nothing.
    columns
        All columns of the table.
    time
        The column that says when a row is from; by default it becomes no predicate.
    until
        The last day, moment or number in that column that is used; all where it is empty.
    note
        A remark for the reader, printed as a comment.
    """

    name: str
    kind: str
    type: str = ""
    predicate: str = ""
    columns: tuple[ColumnMapping, ...] = ()
    time: str = ""
    until: str = ""
    note: str = field(default="", compare=False)

    @property
    def has_objects(self) -> bool:
        """Whether each row is an object: of an entity or of an event."""
        return self.kind in ("entity", "event")

    @property
    def keys(self) -> tuple[ColumnMapping, ...]:
        """The key columns, in the order of the table; of events, the number of the row."""
        if self.kind == "event":
            return (ColumnMapping(ROW, "key"),)
        return tuple(column for column in self.columns if column.role == "key")

    def __getitem__(self, column: str) -> ColumnMapping:
        return next(entry for entry in self.columns if entry.name == column)

    def __str__(self) -> str:
        lines = [f"[{toml_key(self.name)}]", f"kind = {_toml(self.kind)}"]
        if self.has_objects:
            lines.append(f"type = {_toml(self.type)}")
        if self.kind == "relationship":
            lines.append(f"predicate = {_toml(self.predicate)}")
        if self.time:
            lines.append(f"time = {_toml(self.time)}")
        if self.until:
            remark = f"  # {self.note}" if self.note else ""
            lines.append(f"until = {_toml(self.until)}{remark}")
        if self.kind != "skip":
            lines += [f"columns.{toml_key(entry.name)} = {entry}" for entry in self.columns]
        return "\n".join(lines)


@dataclass(frozen=True)
class Mapping:
    """Which tables and columns become which types and predicates.

    ``str(mapping)`` is TOML text: print it, edit it, and pass it (or a file that holds it, or only
    the lines that differ) as `mapping` to any loader of tables.

    Parameters
    ----------
    tables
        How each table is read, by its name.

    Examples
    --------
    >>> key = ColumnMapping("id", "key")
    >>> age = ColumnMapping("age", "value", "age", "years", functional=True)
    >>> mapping = Mapping((TableMapping("people", "entity", "person", columns=(key, age)),))
    >>> print(mapping)
    [people]
    kind = "entity"
    type = "person"
    columns.id = { as = "key" }
    columns.age = { as = "value", predicate = "age", type = "years", functional = true }
    """

    tables: tuple[TableMapping, ...]

    def __getitem__(self, table: str) -> TableMapping:
        return next(entry for entry in self.tables if entry.name == table)

    def __iter__(self) -> Iterator[TableMapping]:
        return iter(self.tables)

    def predicates(self) -> Iterator[tuple[str, TableMapping, ColumnMapping | None]]:
        """Yield every predicate with its table, and its column unless it stands for the rows."""
        for table in self.tables:
            if table.kind == "skip":
                continue
            if table.kind == "relationship" and table.predicate:
                yield table.predicate, table, None
            for column in table.columns:
                if column.role in ("link", *ATTRIBUTES, "flag"):
                    yield column.predicate, table, column

    def with_role(self, *roles: str) -> tuple[str, ...]:
        """Return the predicates of columns that are read so, such as ``"value"`` or ``"flag"``."""
        found = {name: column.role for name, _, column in self.predicates() if column is not None}
        return tuple(name for role in roles for name in found if found[name] == role)

    def with_column(self, table: str, column: ColumnMapping) -> Mapping:
        """Return the mapping with one column's entry replaced."""
        old = self[table]
        columns = tuple(column if c.name == column.name else c for c in old.columns)
        new = replace(old, columns=columns)
        return Mapping(tuple(new if entry is old else entry for entry in self.tables))

    def with_cuts(self, cuts: abc.Mapping[str, tuple[Cut, ...]]) -> Mapping:
        """Return the mapping of data in which the numbers of some types are cut into bands.

        Examples
        --------
        >>> age = ColumnMapping("age", "number", "age", "years", functional=True)
        >>> mapping = Mapping((TableMapping("people", "entity", "person", columns=(age,)),))
        >>> mapping.with_cuts({"years": (20.0,)})["people"]["age"].role
        'value'
        """
        found = self
        for table in self.tables:
            for column in table.columns:
                if column.role in ("number", "time") and cuts.get(column.type):
                    entry = replace(column, role="value", cuts=cuts[column.type])
                    found = found.with_column(table.name, entry)
        return found

    def with_note(self, table: str, note: str) -> Mapping:
        """Return the mapping with a remark on one table."""
        return Mapping(
            tuple(replace(entry, note=note) if entry.name == table else entry for entry in self)
        )

    def without_limits(self) -> Mapping:
        """Return the mapping without limits in time: for data that a model is to predict."""
        return Mapping(tuple(replace(table, until="", note="") for table in self.tables))

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping as the plain values that its TOML text holds."""
        return tomllib.loads(str(self))

    @classmethod
    def from_dict(cls, data: abc.Mapping[str, Any]) -> Mapping:
        r"""Undo `as_dict`.

        Examples
        --------
        >>> text = '[people]\nkind = "entity"\ntype = "person"\ncolumns.id = { as = "key" }'
        >>> str(Mapping.from_dict(tomllib.loads(text))) == text
        True
        """
        return cls.from_file(decode(dict(data), MappingFile))

    @classmethod
    def from_file(cls, file: MappingFile) -> Mapping:
        """Return the mapping that a file holds."""
        return cls(tuple(_table(name, table) for name, table in file.items()))

    def __str__(self) -> str:
        return "\n\n".join(str(table) for table in self.tables)


class ColumnFile(Struct, forbid_unknown_fields=True):
    """A column of a mapping in a file."""

    role: Literal["key", "link", "value", "number", "time", "flag", "skip"] = field_of(name="as")
    predicate: str = ""
    type: str = ""
    references: str = ""
    functional: bool = False
    null: Literal["", "unknown", "absent"] = ""
    true: str = ""
    values: list[str] = []
    spelled: str = ""
    cuts: list[float | str] = []
    bins: Place = 0
    method: Literal["quantile", "width"] = "quantile"


class TableFile(Struct, forbid_unknown_fields=True):
    """A table of a mapping in a file."""

    kind: Literal["entity", "event", "relationship", "skip"]
    type: str = ""
    predicate: str = ""
    columns: dict[str, ColumnFile] = {}
    time: str = ""
    until: str = ""


MappingFile: TypeAlias = dict[str, TableFile]
"""A mapping in a file: tables by name."""


def _table(name: str, file: TableFile) -> TableMapping:
    columns = []
    for title, entry in file.columns.items():
        if not are_rising(entry.cuts):
            raise InputError(f"{name}.columns.{title}.cuts: expected rising numbers, or days")
        null = entry.null or default_null(entry.role, entry.functional)
        lists = {"cuts": tuple(entry.cuts), "values": tuple(entry.values)}
        settings = structs.asdict(entry) | lists | {"null": null}
        columns.append(ColumnMapping(title, **settings))
    settings = structs.asdict(file) | {"columns": tuple(columns)}
    return TableMapping(name, **settings)


def toml_key(name: str) -> str:
    """Return a name as a key of TOML, in quotes where it needs them."""
    return name if _BARE_KEY.match(name) else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON escapes are TOML escapes, except that TOML also escapes the delete character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, abc.Sequence):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return repr(value)
