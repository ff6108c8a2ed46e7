"""A user's changes to a derived mapping: read from TOML, checked, all faults listed at once."""

from __future__ import annotations

import re
from collections import abc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

from mlnlearn.data.load.cutoff import CutOff, TimeLimit, time_text
from mlnlearn.data.load.discretize import METHODS, are_rising, cut_of
from mlnlearn.data.load.mapping import ATTRIBUTES, KINDS, NULLS, ROLES, Mapping
from mlnlearn.data.load.names import is_name
from mlnlearn.data.load.reading import moments_of, row_time
from mlnlearn.data.load.tables import ROW, ForeignKey, Table, resolve_reference
from mlnlearn.errors import InputError, InputErrors, Location, raise_all
from mlnlearn.files import read_text
from mlnlearn.toml import Toml

MappingLike: TypeAlias = "Mapping | abc.Mapping[str, Any] | str | Path"

_NAME = "mapping"


class Edits(dict[str, dict[str, Any]]):
    """Per table its settings; ``columns`` holds the settings of the columns.

    Where they were read from TOML, their lines are known.
    """

    def __init__(self, settings: abc.Mapping[str, Any] = {}, toml: Toml | None = None) -> None:
        super().__init__({name: dict(values) for name, values in settings.items()})
        self.toml = toml

    def sets(self, path: Sequence[str]) -> bool:
        """Whether a setting is among them."""
        inner: Any = self
        for name in path:
            if not isinstance(inner, abc.Mapping) or name not in inner:
                return False
            inner = inner[name]
        return True

    def problem(self, path: Sequence[str], message: str) -> InputError:
        """Return what is wrong with a setting, with its place."""
        return _problem(self.toml, path, message)


def read_edits(mapping: MappingLike | None, tables: Sequence[Table]) -> Edits:
    """Read a mapping given as such, as plain values, as TOML text or as a TOML file.

    A string that holds a ``=`` or a ``[`` is TOML text, any other a file name.

    Raises
    ------
    InputErrors
        Listing every table, column, setting or value that is not understood.

    Examples
    --------
    >>> read_edits('people.type = "person"', [Table("people", {})])
    {'people': {'columns': {}, 'type': 'person'}}
    """
    if mapping is None:
        return Edits()
    data, toml = _plain(mapping)
    known = {table.name: table for table in tables}
    problems = [_problem(toml, path, message) for path, message in _check(data, known)]
    raise_all(problems)
    return Edits({name: {"columns": {}} | dict(values) for name, values in data.items()}, toml)


def plain_mapping(mapping: MappingLike) -> abc.Mapping[str, Any]:
    """Return what a mapping says as plain values, in whatever form it is given.

    Examples
    --------
    >>> plain_mapping('people.kind = "skip"')
    {'people': {'kind': 'skip'}}
    """
    return _plain(mapping)[0]


def _plain(mapping: MappingLike) -> tuple[abc.Mapping[str, Any], Toml | None]:
    if isinstance(mapping, Mapping):
        return mapping.as_dict(), None
    if isinstance(mapping, abc.Mapping):
        return mapping, mapping.toml if isinstance(mapping, Edits) else None
    is_file = isinstance(mapping, Path) or not re.search(r"[=\[]", mapping)
    text = read_text(mapping) if is_file else str(mapping)
    toml = Toml.of(text, str(mapping) if is_file else _NAME)
    return toml.values, toml


def _problem(toml: Toml | None, path: Sequence[str], message: str) -> InputError:
    """Return what is wrong with a setting: of a table, perhaps of a column."""
    inner = f" {'.'.join(path[1:])}" if path[1:] else ""
    place = Location(_NAME) if toml is None else toml.place(*path)
    return InputError(f"[{path[0]}]{inner}: {message}", place)


Fault: TypeAlias = tuple[tuple[str, ...], str]
"""The path to a setting, and what is wrong with it."""


def _check(data: abc.Mapping[str, Any], tables: abc.Mapping[str, Table]) -> Iterator[Fault]:
    for name, settings in data.items():
        if name not in tables:
            yield (name,), f"no such table; {_meant(name, tables)}"
        elif not isinstance(settings, abc.Mapping):
            yield (name,), f"expected settings of a table, found {settings!r}"
        else:
            yield from _check_table(name, settings, tables)


def _check_table(
    name: str, settings: abc.Mapping[str, Any], tables: abc.Mapping[str, Table]
) -> Iterator[Fault]:
    checks = {
        "kind": lambda value: _one_of(value, KINDS),
        "type": _a_name,
        "predicate": lambda value: "" if value == "" else _a_name(value),
        "time": lambda value: "" if value == "" else _one_of(value, tuple(tables[name].columns)),
        "until": lambda value: "" if time_text(value) else _expected("a date or a number", value),
    }
    columns = settings.get("columns", {})
    rest = {key: value for key, value in settings.items() if key != "columns"}
    for key, fault in _faults(rest, checks, ("columns",)):
        yield (name, key), fault
    if not isinstance(columns, abc.Mapping):
        yield (name, "columns"), f"expected settings by column, found {columns!r}"
        return
    for column, entry in columns.items():
        path = (name, "columns", column)
        if column not in tables[name].columns:
            yield path, f"no such column; {_meant(column, tables[name].columns)}"
        elif not isinstance(entry, abc.Mapping):
            yield path, f"expected settings, found {entry!r}"
        else:
            for key, fault in _faults(entry, _column_checks(tables)):
                yield (*path, key), fault


def _column_checks(tables: abc.Mapping[str, Table]) -> dict[str, abc.Callable[[Any], str]]:
    return {
        "as": lambda value: _one_of(value, ROLES),
        "predicate": _a_name,
        "type": _a_name,
        "references": lambda value: _one_of(value, tuple(tables)),
        "functional": lambda value: "" if isinstance(value, bool) else _expected("a truth", value),
        "null": lambda value: _one_of(value, NULLS),
        "true": lambda value: "" if isinstance(value, str) else _expected("a text", value),
        "values": _texts,
        "spelled": lambda value: "" if isinstance(value, str) else _expected("a text", value),
        "cuts": _rising_numbers,
        "bins": _two_or_more,
        "method": lambda value: _one_of(value, METHODS),
    }


def _faults(
    settings: abc.Mapping[str, Any],
    checks: abc.Mapping[str, abc.Callable[[Any], str]],
    also: Iterable[str] = (),
) -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if key not in checks:
            yield key, f"no such setting; {_meant(key, [*checks, *also])}"
        elif fault := checks[key](value):
            yield key, fault


def _meant(name: str, known: Iterable[str]) -> str:
    """Return what a name that is not there may have meant, else what there is."""
    spelled = {other.lower(): other for other in known}
    near = get_close_matches(name.lower(), spelled, n=1)
    return f"did you mean {spelled[near[0]]!r}?" if near else f"there are: {', '.join(known)}"


def _expected(what: str, value: Any) -> str:
    return f"expected {what}, found {value!r}"


def _one_of(value: Any, choices: Sequence[str]) -> str:
    if value in choices:
        return ""
    near = isinstance(value, str) and get_close_matches(value, choices, n=1)
    found = _expected(f"one of {', '.join(choices)}", value)
    return f"{found}; did you mean {near[0]!r}?" if near else found


def _a_name(value: Any) -> str:
    fine = isinstance(value, str) and is_name(value)
    return "" if fine else _expected("a name of letters, digits and _", value)


def _texts(value: Any) -> str:
    fine = isinstance(value, abc.Sequence) and not isinstance(value, str)
    fine = fine and all(isinstance(item, str) for item in value)
    return "" if fine else _expected("texts", value)


def _rising_numbers(value: Any) -> str:
    fine = isinstance(value, abc.Sequence) and not isinstance(value, str) and len(value)
    known = (int, float, str, date)
    fine = fine and all(isinstance(c, known) and not isinstance(c, bool) for c in value)
    rising = fine and are_rising([cut_of(cut) for cut in value])
    return "" if rising else _expected("rising numbers, or days", value)


def _two_or_more(value: Any) -> str:
    fine = isinstance(value, int) and not isinstance(value, bool) and value >= 2
    return "" if fine else _expected("a number of at least 2", value)


def with_cut_off(edits: Edits, cut_off: CutOff | None, tables: Sequence[Table]) -> Edits:
    """Return the edits with a cut-off for every table that has a time column.

    Where nobody names one, these are the columns that seem to say when a row is from.

    Examples
    --------
    >>> with_cut_off(Edits(), CutOff(1999, {"people": "born"}), [Table("people", {"born": None})])
    {'people': {'columns': {}, 'time': 'born', 'until': '1999'}}
    """
    if cut_off is None:
        return edits
    until = time_text(cut_off.until)
    if until is None:
        raise InputError(f"cut-off: {_expected('a date such as 2020-12-31', cut_off.until)}")
    settings = {name: {"time": column} for name, column in cut_off.columns.items()}
    faults = list(_check(settings, {table.name: table for table in tables}))
    if faults:
        cut = Location("cut-off")
        raise InputErrors([InputError(_problem(None, *f).message, cut) for f in faults])
    found = Edits(edits, edits.toml)
    for name, setting in settings.items():
        found.setdefault(name, {"columns": {}}).update(setting)
    if not any(edit.get("time") for edit in found.values()):
        for table in tables:
            time = row_time(table, moments_of(table))
            if time and "time" not in found.get(table.name, {}):
                found.setdefault(table.name, {"columns": {}})["time"] = time
    timed = [edit for edit in found.values() if edit.get("time")]
    if not timed:
        raise InputError(
            "cut-off: no table has a time column",
            hint='name one as TABLE.COLUMN, or set time = "column" for tables in the mapping',
        )
    for edit in timed:
        edit["until"] = until
    return found


def time_limits(edits: Edits) -> dict[str, TimeLimit]:
    """Return the limits in time, by table.

    Examples
    --------
    >>> time_limits(Edits({"people": {"columns": {}, "time": "born", "until": "1999"}}))
    {'people': TimeLimit(column='born', until='1999')}
    """
    given = {n: e for n, e in edits.items() if e.get("until") and e.get("kind") != "skip"}
    for name, edit in given.items():
        if not edit.get("time"):
            raise edits.problem([name, "until"], "which column says when a row is from? Set time")
    return {n: TimeLimit(e["time"], str(time_text(e["until"]))) for n, e in given.items()}


def key_columns(table: Table, columns: abc.Mapping[str, abc.Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the key columns in the order of the table, with the roles that edits give columns."""
    keys = set(table.primary_key)
    if not keys:
        keys = {column for key in table.foreign_keys for column in key.columns}
    for name, settings in columns.items():
        role = settings.get("as", "")
        if role:
            keys = keys | {name} if role == "key" else keys - {name}
    return tuple(name for name in table.columns if name in keys)


def apply_keys(tables: Sequence[Table], edits: Edits) -> list[Table]:
    """Return the tables with their keys as the edits want them.

    ``references`` adds a foreign key; giving a key column another role takes it out of the key; a
    single ``as = "key"`` that refers to nothing is a primary key.
    """
    known = {table.name: table for table in tables}
    return [
        _keyed(table, edits[table.name], known) if table.name in edits else table
        for table in tables
        if edits.get(table.name, {}).get("kind") != "skip"
    ]


def _keyed(table: Table, edit: dict[str, Any], known: abc.Mapping[str, Table]) -> Table:
    columns = edit["columns"]
    plain = {c for c, e in columns.items() if e.get("as") in (*ATTRIBUTES, "flag", "skip")}
    wanted = {c: e["references"] for c, e in columns.items() if "references" in e}
    made = [key for key in table.foreign_keys if key.references == (ROW,)]
    new = {
        c: t
        for c, t in wanted.items()
        if resolve_reference(known, table.name, c) != t
        and not any(key.columns == (c,) and key.table == t for key in made)
    }
    changed = plain | set(new)
    foreign = [key for key in table.foreign_keys if not changed & set(key.columns)]
    foreign += [ForeignKey((column,), target) for column, target in new.items()]
    primary = table.primary_key
    if any(columns.get(column, {}).get("as", "key") != "key" for column in primary):
        primary = ()
    if not primary:
        referring = {column for key in foreign for column in key.columns}
        keys = [c for c, e in columns.items() if e.get("as") == "key"]
        alone = len(keys) == 1 and keys[0] not in referring
        primary = tuple(keys) if alone and edit.get("kind") != "relationship" else ()
    return replace(table, primary_key=primary, foreign_keys=tuple(foreign))
