"""Samples of all tables of a source, as the loader's steps see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlnlearn.counting.sample_sources import SampledSource
from mlnlearn.counting.sampled_table import SampledTable
from mlnlearn.data.load.define import define_tables
from mlnlearn.data.load.edits import Edits, MappingLike, apply_keys, key_columns, read_edits
from mlnlearn.data.load.guess import PossibleLink, possible_links
from mlnlearn.data.load.links import with_single_links
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.tally import Whole

Titles = tuple[str, ...]
"""Columns, as they are called where the table is."""


class Samples:
    """Samples that grow, and the tables in memory that are made of them.

    Parameters
    ----------
    source
        The tables.
    edits
        Changes to the derived mapping.
    ddl
        ``CREATE TABLE`` statements, if there are any.
    """

    def __init__(
        self, source: SampledSource, edits: MappingLike | None, ddl: str | Path | None
    ) -> None:
        self.source, self._edits, self._ddl = source, edits, ddl
        self.read = {table.name: table.read() for table in source.tables}
        self._distinct: dict[str, dict[str, int]] = {table.name: {} for table in source.tables}
        self._exactly = {table.name: table for table in source.tables}
        self._nearly = {table.name.lower(): table for table in source.tables}
        self._forget()

    def _forget(self) -> None:
        self._defined: list[Table] | None = None
        self._keyed: list[Table] | None = None
        self.edits = Edits()

    def take(self) -> bool:
        """Take in the rows that are wanted; tell whether there were any."""
        for table in self.source.tables:
            table.take()
        changed = [table for table in self.source.tables if table.has_changed]
        self.read.update((table.name, table.read()) for table in changed)
        if changed:
            self._forget()
        return bool(changed)

    def know_distinct(self, table: str, title: str, number: int) -> None:
        """Note how many names a column has in all rows."""
        if self._distinct[table].get(title) != number:
            self._distinct[table][title] = number
            self._forget()

    def defined(self) -> list[Table]:
        """Return the tables with the keys that are declared or guessed."""
        if self._defined is None:
            found = [
                replace(self.read[table.name], whole=Whole(table.size, self._distinct[table.name]))
                for table in self.source.tables
            ]
            self._defined = define_tables(found, self._ddl, None)
        return self._defined

    def keyed(self) -> list[Table]:
        """Return the tables with the keys that the edits want."""
        if self._keyed is None:
            linked = with_single_links(self.defined())
            self.edits = read_edits(self._edits, linked)
            self._keyed = apply_keys(linked, self.edits)
        return self._keyed

    def key_columns(self, table: Table) -> Titles:
        """Return the key columns of one of the keyed tables."""
        edit: Mapping[str, Mapping[str, Any]] = self.edits.get(table.name, {}).get("columns", {})
        return key_columns(table, edit)

    def possible_links(self) -> list[PossibleLink]:
        """Return the columns whose cells decide whether they are guessed to refer to a table."""
        return [] if self._ddl is not None else possible_links(list(self.read.values()))

    def sampled(self, name: str) -> SampledTable | None:
        """Return a table by a name that definitions may write in another case."""
        return self._exactly.get(name) or self._nearly.get(name.lower())

    def titles(self, table: SampledTable, columns: Sequence[str]) -> Titles:
        """Return columns as they are called in a table; none where one of them was made here."""
        exactly, nearly = set(table.plain), {title.lower(): title for title in table.plain}
        found = [name if name in exactly else nearly.get(name.lower(), "") for name in columns]
        return tuple(found) if all(found) else ()
