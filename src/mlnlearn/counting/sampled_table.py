"""A sample of the rows of a table at a server, which grows by rows that show what others are like.

The sample is a table of the server's: scratch of DuckDB, a temporary one of PostgreSQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from mlnlearn.counting.dialect import POSTGRESQL
from mlnlearn.counting.sql_engine import StoringServer
from mlnlearn.data.load.ddl import TableDefinition
from mlnlearn.data.load.tables import Table

_OPAQUE = re.compile(r".*\]\Z|(?:STRUCT|MAP|UNION|BLOB|BYTEA)\b.*", re.IGNORECASE | re.DOTALL)
_TRUTH = re.compile(r"BOOL(?:EAN)?\Z", re.IGNORECASE)
_WHOLE = re.compile(r"U?(?:TINY|SMALL|BIG|U?HUGE)?INT(?:EGER)?\Z", re.IGNORECASE)
_REAL = re.compile(r"(?:FLOAT|DOUBLE|REAL|DECIMAL|NUMERIC)\b", re.IGNORECASE)
_PRIME = 2_147_483_647
_BLANKS = " \t\n\r\f\v"
_MOST_WHOLE = 10**15
"""Larger numbers are not written as whole ones."""


class SampledTable:
    """A table, and the rows of it that are looked at.

    It `has_changed` where there is more in the sample than was read last.

    Parameters
    ----------
    server
        What executes statements.
    definition
        The table's name, columns with types, and keys.
    relation
        What it is called in SQL.
    number
        SQL of a number that each of its rows has of its own, in the order of rows.
    place
        A number that no other table has.
    read
        Makes a table in memory of the sample, as a loader does.
    blank
        Whether texts without a letter are empty cells, also of keys.
    """

    def __init__(
        self,
        server: StoringServer,
        definition: TableDefinition,
        relation: str,
        number: str,
        place: int,
        read: Callable[[SampledTable], Table],
        *,
        blank: bool,
    ) -> None:
        self.server, self.definition, self._read = server, definition, read
        self.name = definition.name
        self.sample, self._wanted = f"mlnlearn_sample_{place}", f"mlnlearn_wanted_{place}"
        keys = {c for key in definition.foreign_keys for c in key.columns}
        self._as_they_are = frozenset() if blank else frozenset({*keys, *definition.primary_key})
        self.row = "mlnlearn_row"
        while self.row in definition.columns:
            self.row += "_"
        cells = [
            f"CAST(NULL AS {kind}) AS {self._quoted(title)}"
            if _OPAQUE.match(kind)
            else self._quoted(title)
            for title, kind in definition.columns.items()
        ]
        numbered = ", ".join([f"{number} AS {self.row}", *cells])
        self.every = f"(SELECT {numbered} FROM {relation} x{place}) t{place}"
        self.used = self.every
        self.rows = self.size = 0
        self.has_changed = True

    def _quoted(self, title: str) -> str:
        return self.server.dialect.quoted(title)

    @property
    def is_whole(self) -> bool:
        """Whether all rows are in the sample."""
        return self.rows == self.size

    @property
    def plain(self) -> list[str]:
        """The columns that hold names or numbers."""
        return [c for c, kind in self.definition.columns.items() if not _OPAQUE.match(kind)]

    def start(self, most: int) -> None:
        """Draw at most so many rows, the same ones each time, however many threads draw them."""
        self.size = self.number(f"SELECT count(*) AS n FROM {self.every}")
        chosen = f"SELECT * FROM {self.every}"
        if self.size > most:
            drawn = f"SELECT {self.row} FROM {self.every} ORDER BY {self._mixed()}, 1 LIMIT {most}"
            chosen += f" WHERE {self.row} IN ({drawn})"
        self.server.create(self.sample, chosen)
        self.server.create(self._wanted, f"SELECT {self.row} FROM {self.sample} WHERE 1 = 0")
        self.rows = min(most, self.size)

    def _mixed(self) -> str:
        """Return a number that looks random, but is the same for a row each time."""
        spread = f"({self.row} % {_PRIME} * 1327217885 + 1) % {_PRIME}"
        return f"(({spread}) * ({spread}) % {_PRIME} * 16807 + ({spread})) % {_PRIME}"

    def want(self, select: str) -> None:
        """Have the rows join the sample whose numbers a statement selects."""
        if not self.is_whole:
            self.server.fetch(f"INSERT INTO {self._wanted} {select}")

    def want_rows(self, rows: Iterable[int]) -> None:
        """Have rows join the sample."""
        numbers = ", ".join(f"({row})" for row in sorted(set(rows)))
        if numbers:
            self.want(f"VALUES {numbers}")

    def take(self) -> bool:
        """Take in the rows that are wanted; tell whether there were new ones."""
        if self.is_whole:
            return False
        new = f"{self.row} IN (SELECT {self.row} FROM {self._wanted})"
        new += f" AND {self.row} NOT IN (SELECT {self.row} FROM {self.sample})"
        wanted = f"SELECT count(DISTINCT {self.row}) AS n FROM {self._wanted} WHERE {new}"
        if not self.number(wanted):
            return False
        self.server.fetch(f"INSERT INTO {self.sample} SELECT * FROM {self.every} WHERE {new}")
        self.server.fetch(f"DELETE FROM {self._wanted}")
        self.rows = self.number(f"SELECT count(*) AS n FROM {self.sample}")
        self.has_changed = True
        return True

    def leave_out(self, rows: str) -> None:
        """Have rows not be counted among those that are used, whose numbers a statement selects."""
        self.used = f"(SELECT * FROM {self.used} WHERE {self.row} NOT IN ({rows})) u"

    def read(self) -> Table:
        """Return the sample as a table in memory, its rows in the order of the whole."""
        self.has_changed = False
        return self._read(self)

    def number(self, statement: str) -> int:
        """Return the number ``n`` that a statement answers."""
        return int(self.server.fetch(statement)["n"][0])

    def is_number(self, title: str) -> bool:
        """Tell whether a column's type is one of numbers."""
        kind = self.definition.columns[title]
        return bool(_WHOLE.match(kind) or _REAL.match(kind))

    def is_text(self, title: str) -> bool:
        """Tell whether cells are read as texts."""
        kind = self.definition.columns[title]
        return not (self.is_number(title) or _TRUTH.match(kind) or _OPAQUE.match(kind))

    def cell(self, title: str) -> str:
        """Return the SQL of a cell, NULL where it is empty to a loader."""
        kind, raw, dialect = (
            self.definition.columns[title],
            self._quoted(title),
            self.server.dialect,
        )
        if _REAL.match(kind):
            number = raw if dialect is POSTGRESQL else f"CAST({raw} AS {dialect.real})"
            return f"NULLIF({number}, 'NaN')"
        if not self.is_text(title):
            return raw
        text = f"CAST({raw} AS {dialect.text})"
        if title in self._as_they_are:
            return text
        return f"CASE WHEN trim({text}, {dialect.literal(_BLANKS)}) = '' THEN NULL ELSE {text} END"

    def name_of(self, title: str) -> str:
        """Return the SQL of the name of a cell, to compare columns of different types by."""
        cell, dialect = self.cell(title), self.server.dialect
        if self.is_text(title):
            return cell
        text = f"CAST({cell} AS {dialect.text})"
        if not _REAL.match(self.definition.columns[title]):
            return text
        whole = f"{cell} = floor({cell}) AND abs({cell}) < {_MOST_WHOLE}"
        return (
            f"CASE WHEN {whole} THEN CAST(CAST({cell} AS BIGINT) AS {dialect.text}) ELSE {text} END"
        )

    def filled(self, titles: Sequence[str]) -> str:
        """Return the condition that none of some cells is empty."""
        return " AND ".join(f"{self.cell(title)} IS NOT NULL" for title in titles)

    def repoint(self, title: str, keys: str, every_key: str) -> None:
        """Have links to rows outside a sample lead to one in it; those to no row stay as they are.

        Parameters
        ----------
        title
            The column of links.
        keys, every_key
            SQL of the keys ``k`` of the rows in the sample that they lead to, and of all rows.
        """
        name, raw = self.name_of(title), self._quoted(title)
        kind = self.definition.columns[title]
        outside = f"{name} NOT IN ({keys}) AND {name} IN ({every_key})"
        if self.number(f"SELECT count(*) AS n FROM {self.sample} WHERE {outside}"):
            inside = f"(SELECT CAST(min(k) AS {kind}) FROM ({keys}) a)"
            self.server.fetch(f"UPDATE {self.sample} SET {raw} = {inside} WHERE {outside}")
            self.has_changed = True
