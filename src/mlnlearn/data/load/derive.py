"""From keys to a mapping: which tables are entities, which relationships, and what names follow."""

from __future__ import annotations

from collections import Counter, abc
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from mlnlearn.data.load.discretize import cut_of
from mlnlearn.data.load.edits import Edits, key_columns
from mlnlearn.data.load.mapping import (
    ATTRIBUTES,
    ColumnMapping,
    Mapping,
    TableMapping,
    default_null,
)
from mlnlearn.data.load.names import clean_name, type_name, unused
from mlnlearn.data.load.reading import Reading, moments_spelled, read_column, row_time
from mlnlearn.data.load.tables import ROW, Table, resolve_reference
from mlnlearn.errors import InputError, collected, raise_all


def derive_mapping(tables: Sequence[Table], edits: Edits) -> Mapping:
    """Derive the mapping from the keys, then apply the user's edits.

    A table whose primary key is one column that refers to nothing holds entities. A table whose
    key refers to other tables holds relationships between them (of one entity: a subtype). Without
    a primary key, the foreign-key columns are the key. A table whose rows have numbers for a key
    holds events. Other columns are judged by their cells (`read_column`). Names that two columns
    share are qualified by their tables.

    Examples
    --------
    >>> from mlnlearn.data.load.columns import Column
    >>> people = Table("people", {"id": Column.of(["A"]), "by": Column.of(["f"])}, ("id",))
    >>> print(derive_mapping([people], Edits()))
    [people]
    kind = "entity"
    type = "people"
    columns.id = { as = "key" }
    columns.by = { as = "value", predicate = "by", type = "by_value", functional = true }  # 1 value
    """
    known = {table.name: table for table in tables}
    problems: list[InputError] = []
    entries = []
    for table in tables:
        edit = edits.get(table.name, {"columns": {}})
        with collected(problems):
            entries.append(_table_mapping(table, known, edit))
    raise_all(problems)
    skipped = [name for name, edit in edits.items() if edit.get("kind") == "skip"]
    entries += [TableMapping(name, "skip") for name in skipped]
    mapping = _with_value_types(_with_predicate_names(entries))
    problems = [edits.problem(path, message) for path, message in _check(mapping, edits)]
    raise_all(problems)
    return mapping


def _table_mapping(
    table: Table, known: abc.Mapping[str, Table], edit: dict[str, Any]
) -> TableMapping:
    keys = key_columns(table, edit["columns"])
    kind = "event" if ROW in table.columns else edit.get("kind") or _kind(table, keys)
    names_rows = len(keys) == 1 and table.primary_key == keys and not table.foreign_key_of(keys[0])
    if kind == "entity" and not names_rows:
        raise InputError(
            "an entity table needs one key column that refers to nothing",
            table.place(),
            'set as = "key" for the column that names the rows',
        )
    if kind == "relationship" and not keys:
        raise InputError(
            "a relationship needs key columns", table.place(), 'set as = "key" for them'
        )
    given = dict(edit["columns"])
    until = str(edit.get("until", ""))
    time = edit.get("time", "")
    if until and time not in keys:
        given[time] = {"as": "skip"} | dict(given.get(time, {}))
    columns = tuple(
        _column_mapping(table, known, kind, name, name in keys, given.get(name, {}))
        for name in table.columns
        if name != ROW
    )
    moments = {c.name: c.spelled for c in columns if c.role == "time" and not c.cuts}
    time = edit.get("time", row_time(table, moments))
    entry = TableMapping(table.name, kind, columns=columns, time=time, until=until)
    if entry.has_objects:
        return replace(entry, type=edit.get("type") or type_name(table.name))
    return replace(entry, predicate=edit.get("predicate", clean_name(table.name)))


def _kind(table: Table, keys: tuple[str, ...]) -> str:
    referring = [name for name in keys if table.foreign_key_of(name)]
    if referring:
        return "relationship"
    if len(keys) == 1:
        return "entity"
    raise InputError(
        f"no column of the key ({', '.join(keys)}) refers to another table",
        table.place(),
        'declare the foreign keys, or set kind = "relationship" to relate plain values',
    )


def _column_mapping(
    table: Table,
    known: abc.Mapping[str, Table],
    kind: str,
    name: str,
    is_key: bool,
    edit: dict[str, Any],
) -> ColumnMapping:
    column = table.columns[name]
    references = resolve_reference(known, table.name, name) if table.foreign_key_of(name) else ""
    role = edit.get("as") or ("key" if is_key else "link" if references else "")
    reading = Reading(role, table.notes.get(name, ""))
    if not role and name in table.parts:
        role, reading = "skip", Reading("skip", "part of a link of several columns")
    elif not role or (role in ATTRIBUTES and not edit.get("spelled")):
        reading = _reading(table, name, edit)
        role = role or reading.role
    # an empty cell of unknown value stands for one value; an absent one for none
    null = edit.get("null") or (
        "absent" if reading.true else default_null(role, edit.get("functional", False))
    )
    single = not column.has_missing or (null == "unknown" and bool(column.names))
    functional = kind in ("entity", "event") and role in ("link", *ATTRIBUTES) and single
    settings = {key: value for key, value in edit.items() if key != "as"}
    if "cuts" in settings:
        settings["cuts"] = tuple(cut_of(cut) for cut in settings["cuts"])
    if "values" in settings:
        settings["values"] = tuple(settings["values"])
    if role in ("key", "skip"):
        settings.pop("predicate", None)
    base = ColumnMapping(
        name,
        role,
        references=references if role in ("key", "link") else "",
        functional=functional,
        null=null,
        true=reading.true if role == "flag" else "",
        values=reading.values if role == "value" else (),
        spelled=reading.spelled if role in ATTRIBUTES else "",
    )
    empty = int(column.missing.sum()) if not column.opaque else 0
    return replace(base, **settings, empty=empty, note=reading.why)


def _reading(table: Table, name: str, edit: abc.Mapping[str, Any]) -> Reading:
    """Judge a column's cells, bound by what the user said of it."""
    column, role = table.columns[name], edit.get("as", "")
    judged = read_column(name, column, table.declared.get(name, ""), table.tally(name))
    numbers, moments = column.number_spelling, moments_spelled(name, column)
    if role == "time" and moments is not None:
        return Reading(role, judged.why, moments)
    if role == "number" and numbers is not None:
        return Reading(role, judged.why, numbers)
    if not role and not edit:
        return judged
    if edit.get("cuts") or edit.get("bins"):
        return Reading(role or "value", judged.why, numbers or moments or "")
    if role == "value" or judged.role == "skip":
        return Reading("value", judged.why)  # whoever speaks of it wants it, as it is
    return judged


def _with_predicate_names(entries: Sequence[TableMapping]) -> Mapping:
    """Name the predicates after their columns, qualified by the table where names would clash."""
    mapping = Mapping(tuple(entries))
    named = {entry.predicate for entry in entries if entry.kind == "relationship"}
    named |= {name for name, _, column in mapping.predicates() if column and name}
    open_columns = [(table, c) for name, table, c in mapping.predicates() if c and not name]
    wanted = Counter(clean_name(column.name) for _, column in open_columns)
    for table, column in open_columns:
        name = clean_name(column.name)
        if wanted[name] > 1 or name in named:
            name = unused(f"{clean_name(table.name)}_{name}", named)
        named.add(name)
        mapping = mapping.with_column(table.name, replace(column, predicate=name))
    return mapping


def _with_value_types(mapping: Mapping) -> Mapping:
    """Give every column of plain values a type of its own, unless the user named one."""
    taken = {table.type for table in mapping}
    taken |= {column.type for table in mapping for column in table.columns if column.type}
    for table in mapping:
        for column in table.columns:
            values = column.role in ATTRIBUTES or (
                column.role == "key" and not column.references and table.kind == "relationship"
            )
            if values and not column.type:
                kind = unused(type_name(column.predicate or column.name) + "_value", taken)
                taken.add(kind)
                mapping = mapping.with_column(table.name, replace(column, type=kind))
    return mapping


def _check(mapping: Mapping, edits: Edits) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what contradicts itself in a complete mapping, with the path to the setting."""
    made: dict[str, list[tuple[str, ...]]] = {}
    for name, table, column in mapping.predicates():
        inner = () if column is None else ("columns", column.name)
        made.setdefault(name, []).append((table.name, *inner, "predicate"))
    for name, paths in made.items():
        if len(paths) > 1:
            others = f"{len(paths)} columns or tables; names must differ"
            yield (
                next(filter(edits.sets, paths), paths[-1]),
                f"predicate {name!r} is made by {others}",
            )
    owners: dict[str, list[str]] = {}
    for table in mapping:
        if table.has_objects:
            owners.setdefault(table.type, []).append(table.name)
    for name, tables in owners.items():
        if len(tables) > 1:
            others = f"{len(tables)} tables; types must differ"
            paths = [(table, "type") for table in tables]
            yield next(filter(edits.sets, paths), paths[-1]), f"type {name!r} belongs to {others}"
    for table in mapping:
        for column in table.columns:
            for key, fault in _column_faults(mapping, table, column, owners):
                yield (table.name, "columns", column.name, *key), fault


def _column_faults(
    mapping: Mapping, table: TableMapping, column: ColumnMapping, types: Collection[str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the settings of a column that contradict others."""
    if column.type in types and column.role in ("key", *ATTRIBUTES):
        yield ("type",), f'{column.type!r} is the type of a table; use as = "link" and references'
    if column.role == "link" and not column.references:
        yield (), 'as = "link" needs references'
    if column.references and not mapping[column.references].has_objects:
        yield ("references",), f"{column.references!r} is no entity table"
    single = table.has_objects and column.role in ("link", *ATTRIBUTES)
    if column.functional and not single:
        yield ("functional",), "only entities have exactly one value or link"
    if column.true and column.role != "flag":
        yield ("true",), 'needs as = "flag"'
    if column.values and column.role != "value":
        yield ("values",), 'needs as = "value"'
    if (column.cuts or column.bins) and column.role not in ATTRIBUTES:
        yield (), 'cuts and bins need as = "value", "number" or "time"'
