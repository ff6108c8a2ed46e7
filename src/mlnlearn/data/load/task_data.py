"""Tables together with what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.cutoff import CutOff
from mlnlearn.data.load.data import Data, as_data
from mlnlearn.data.load.edits import MappingLike, read_edits
from mlnlearn.data.load.links import with_single_links
from mlnlearn.data.load.mapping import Mapping
from mlnlearn.data.load.read import TablesSource, read_tables
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.task import Task, read_task, without_tasks
from mlnlearn.data.load.urls import shown_source
from mlnlearn.data.load.within import task_within


@dataclass(frozen=True)
class Within:
    """What is asked in words: a column, of an entity's rows, within a span of time.

    Parameters
    ----------
    column
        What is asked for: ``TABLE.COLUMN``.
    entity
        The table of the entities that it is asked of.
    span
        How far ahead: ``30d``, ``8w``, ``6m``.
    """

    column: str
    entity: str
    span: str


@dataclass(frozen=True, eq=False)
class TaskData:
    """Data made from tables, with the task that was added to them, if any.

    Attributes
    ----------
    data
        What became of the tables.
    task
        The task.
    tables
        The tables as they were read, with that of the task.
    """

    data: Data
    task: Task | None
    tables: tuple[Table, ...] = ()

    def keys_of(self, name: str) -> list[str]:
        """Return the keys of the rows of a table, in its order; nothing where it has no single one.

        Parameters
        ----------
        name
            The table.
        """
        table = next((table for table in self.tables if table.name == name), None)
        if table is None or len(table.primary_key) != 1:
            return []
        key = table.columns[table.primary_key[0]]
        return [key.names[code] for code in key.codes.tolist() if code >= 0]


def tables_data(
    tables: TablesSource | Sequence[Table],
    *,
    ddl: str | Path | None = None,
    mapping: MappingLike | None = None,
    task: str | Path | None = None,
    label: str = "",
    within: Within | None = None,
    cut_off: CutOff | None = None,
    target: str = "",
) -> TaskData:
    """Make data of tables, and of the task that is asked of them.

    Parameters
    ----------
    tables
        As they were read, or where they are, see `read_tables`; those that are tasks themselves are
        left out.
    ddl
        For a folder, ``CREATE TABLE`` statements with the keys.
    mapping
        Changes to how columns are read.
    task
        A file with the examples, see `read_task`.
    label
        The column of that file with what is to be predicted, where that is known.
    within
        Examples to be made from the tables themselves, in place of a file.
    cut_off
        Up to when rows are used.
    target
        What is to be predicted. Where it is part of the key of a relationship, the rows of that
        table are read as events, so that the column is one of theirs like any other.
    """
    name = shown_source(tables) if isinstance(tables, str | Path) else ""
    if isinstance(tables, Sequence) and not isinstance(tables, str):
        given = tables
    else:
        given = read_tables(tables, ddl=ddl)
    found = without_tasks(given)
    read = None if task is None else read_task(task, found, label=label)
    if within is not None:
        read = task_within(found, within.column, within.entity, within.span)
    if read is not None:
        found = [*found, read.table]
    found = with_single_links(found)  # a mapping may speak of links of several columns
    edits = read_edits(mapping, found)
    if read is not None:
        asked = edits.get(read.table.name) or read.edits()
        for key in read.table.foreign_keys:  # one may ask about what the tables do not know
            settings = asked["columns"].get(key.columns[0], {})
            asked["columns"][key.columns[0]] = {**settings, "null": "unknown"}
        edits[read.table.name] = asked
    loaded = build_database(found, edits, name, cut_off)
    related = relationship_of(loaded.mapping, target)
    if related and not edits.sets((related, "kind")):
        edits[related] = {"columns": {}, **edits.get(related, {}), "kind": "event"}
        loaded = build_database(found, edits, name, cut_off)
    return TaskData(as_data(loaded), read, tuple(found))


def relationship_of(mapping: Mapping, target: str) -> str:
    """Return the relationship that has a column in its key; nothing of other columns."""
    if target in {name for name, _, _ in mapping.predicates()}:
        return ""
    named = [
        (entry, column)
        for entry in mapping
        for column in entry.columns
        if column.role != "skip"
        and not (entry.has_objects and column.role == "key")
        and target in (column.name, f"{entry.name}.{column.name}")
    ]
    if len(named) != 1:
        return ""
    entry, column = named[0]
    return entry.name if entry.kind == "relationship" and column.role == "key" else ""
