"""How tables become predicates, found out from a sample of their rows and by asking the server.

The loader's own steps are taken, on a sample. What they conclude from all rows of it being alike
may be chance; so the server is asked for rows that differ, which join the sample, until it has no
more to say. What depends on how many rows there are, or how many of a kind, it is asked as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mlnlearn.counting.sample_links import WITNESSES, SampledLink
from mlnlearn.counting.sample_sources import SampledSource, open_source
from mlnlearn.counting.sample_witnesses import (
    count_names,
    tally_of,
    want_extremes,
    want_repeat,
    want_spellings,
    want_values,
)
from mlnlearn.counting.samples import Samples, Titles
from mlnlearn.data.load.build import map_tables
from mlnlearn.data.load.edits import MappingLike
from mlnlearn.data.load.links import with_row_numbers
from mlnlearn.data.load.mapping import Mapping as TablesMapping
from mlnlearn.data.load.read import needless_definitions
from mlnlearn.data.load.reading import (
    ENOUGH_ROWS,
    MANY_NAMES,
    MANY_NUMBERS,
    judge_alone,
    moments_spelled,
)
from mlnlearn.data.load.tables import ForeignKey, Table, row_ids
from mlnlearn.data.load.tally import NameTally
from mlnlearn.errors import DataWarning

_ROUNDS = 100
_MOMENTS = 10_000
"""Different days and moments whose mean is that of all rows; of more, that of the sample."""
_GROWTH = 4
"""Times its first size that a sample grows to before links into it are no longer followed."""
_STEPS = 20
"""Links that lead to others are followed so far: a long chain of them could end in all rows."""


def derived_mapping(
    source: str | Path,
    mapping: MappingLike | None = None,
    *,
    ddl: str | Path | None = None,
    rows: int = 100_000,
) -> TablesMapping:
    r"""Return how tables become predicates, as a loader derives it from all rows, by a sample.

    Keys that nothing declares are guessed as a loader guesses them, which the server is asked to
    confirm: that no value of a key repeats, that links lead to rows.

    Parameters
    ----------
    source
        A folder of Parquet files, a DuckDB file, or the address of a PostgreSQL database.
    mapping
        Changes to the derived mapping: TOML text, a TOML file, or a `Mapping`.
    ddl
        For a folder, ``CREATE TABLE`` statements; by default its ``schema.sql``.
    rows
        About how many rows of a table are looked at; smaller tables are read as a whole.

    Examples
    --------
    >>> import duckdb, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> rows = "SELECT range AS id, range % 2 AS vip FROM range(100000)"
    >>> _ = duckdb.connect().execute(f"COPY ({rows}) TO '{folder}/person.parquet'")
    >>> print(derived_mapping(folder, rows=1000))
    [person]
    kind = "entity"
    type = "person"
    columns.id = { as = "key" }  # a guess: no value repeats
    columns.vip = { as = "flag", predicate = "vip" }  # yes or no
    """
    path = Path(source)
    if ddl is None and (path / "schema.sql").is_file():
        ddl = path / "schema.sql"
    elif ddl is not None and not path.is_dir():
        raise needless_definitions(str(source))
    with open_source(source) as opened, warnings.catch_warnings():
        # they would say of how many rows of a sample something is so
        warnings.simplefilter("ignore", DataWarning)
        return _Derivation(opened, mapping, ddl, max(rows, ENOUGH_ROWS)).mapping()


class _Derivation:
    """What is asked of a server, and what it has said."""

    def __init__(
        self,
        source: SampledSource,
        edits: MappingLike | None,
        ddl: str | Path | None,
        most: int,
    ) -> None:
        self.tables, self.declared, self.most = source.tables, source.declared, most
        self.empty: dict[str, dict[str, int]] = {}
        for table in self.tables:
            table.start(most)
            self.empty[table.name] = want_extremes(table)
            table.take()
        self.samples, self.edits = Samples(source, edits, ddl), edits
        self.asked: set[tuple[str, ...]] = set()
        self.unique: dict[tuple[str, Titles], bool] = {}
        self.lost: dict[SampledLink, int | None] = {}
        self.of_keys: dict[tuple[str, tuple[str, ...], str], SampledLink] = {}

    def mapping(self) -> TablesMapping:
        """Return how tables become predicates."""
        for _ in range(_ROUNDS):
            if not self._grows():
                break
        self._leave_out()
        tables = [self._tallied(table) for table in self.samples.defined()]
        return self._with_empty_cells(map_tables(tables, self.edits).mapping)

    def _grows(self) -> bool:
        """Ask the first thing that matters and is not known yet; False if all is."""
        for ask in (self._ask_columns, self._ask_keys, self._close, self._show_lost):
            news = ask()
            if self.samples.take() or news:
                return True
        return False

    def _is_new(self, *question: str) -> bool:
        """Note that a question is asked, and tell whether it is for the first time."""
        known = question in self.asked
        self.asked.add(question)
        return not known

    def _ask_columns(self) -> None:
        """Have rows with other values than the few of a column, and with otherwise written ones."""
        for table in self.tables:
            for title in table.plain if not table.is_whole else ():
                column = self.samples.read[table.name].columns[title]
                if len(column.names) <= MANY_NAMES and self._is_new(table.name, title, "values"):
                    want_values(table, title)
                if table.is_text(title) and self._is_new(table.name, title, "spelling"):
                    numbers = column.number_spelling is not None
                    if numbers or moments_spelled(title, column) is not None:
                        want_spellings(table, title)

    def _ask_keys(self) -> None:
        """Have rows that repeat what should name one row each, if there are such."""
        defined, keyed = self.samples.defined(), self.samples.keyed()
        known = {table.name: table for table in defined}
        for table in (*defined, *keyed):
            self._ask_unique(table, table.primary_key)
            for key in table.foreign_keys:
                target = known.get(key.table)
                if target is not None:
                    self._ask_unique(target, key.references or target.primary_key)
        for table in keyed:
            if not table.primary_key:  # whether its rows are events
                self._ask_unique(table, self.samples.key_columns(table))

    def _ask_unique(self, table: Table, columns: Sequence[str]) -> None:
        sampled = self.samples.sampled(table.name)
        titles = () if sampled is None else self.samples.titles(sampled, columns)
        if sampled is None or not titles or (sampled.name, titles) in self.unique:
            return
        found = [table.columns[name] for name in columns]
        filled = ~np.logical_or.reduce([column.missing for column in found])
        ids = row_ids([column.codes[filled] for column in found])
        unique = len(np.unique(ids)) == len(ids)
        if unique and not sampled.is_whole:
            kept = self.declared and titles == sampled.definition.primary_key
            unique = kept or want_repeat(sampled, titles)
        self.unique[sampled.name, titles] = unique
        if unique and len(titles) == 1 and filled.all():
            self.samples.know_distinct(sampled.name, titles[0], sampled.size)

    def _links(self) -> list[tuple[SampledLink, bool]]:
        """Return what links there are, or may be, and whether they may be parts of keys."""
        keyed = self.samples.keyed()
        keys = {table.name: {*self.samples.key_columns(table)} for table in keyed}
        named = {table.name for table in (*self.samples.defined(), *keyed) if table.primary_key}
        found = {}
        for possible in self.samples.possible_links():
            key = ForeignKey((possible.column,), possible.target, (possible.key,))
            link = self._link(possible.table, key, guessed=True, strict=possible.strict)
            found[possible.table, key.columns, key.table] = link
        for table in (*self.samples.defined(), *keyed):
            for key in table.foreign_keys:
                place = table.name, key.columns, key.table
                if place not in found:
                    found[place] = self._link(table.name, key)
        self.of_keys = {place: link for place, link in found.items() if link is not None}
        return [
            (link, name not in named or not keys.get(name, set()).isdisjoint(columns))
            for (name, columns, _), link in self.of_keys.items()
        ]

    def _link(
        self, name: str, key: ForeignKey, *, guessed: bool = False, strict: bool = False
    ) -> SampledLink | None:
        table, target = self.samples.sampled(name), self.samples.sampled(key.table)
        if table is None or target is None:
            return None
        columns = self.samples.titles(table, key.columns)
        primary = [t.primary_key for t in self.samples.keyed() if t.name == key.table]
        keys = self.samples.titles(target, key.references or sum(primary[:1], ()))
        if len(columns) != len(keys) or not self.unique.get((target.name, keys)):
            return None
        link = SampledLink(table, columns, target, keys, guessed=guessed, strict=strict)
        if link not in self.lost:
            kept = self.declared and any(
                (given.columns, given.table) == (columns, target.name)
                for given in table.definition.foreign_keys
            )
            self.lost[link] = 0 if kept else link.lost()
        return link

    def _close(self) -> bool:
        """Have the rows that links lead to; tell whether there are news of how many names refer."""
        links = [(link, is_key) for link, is_key in self._links() if self.lost[link] is not None]
        for step in range(_STEPS):
            for link, is_key in links:
                is_long = link.target.rows > _GROWTH * (self.most + WITNESSES)
                if is_key or not (is_long or step == _STEPS - 1) or not link.cut_short():
                    link.close()
            grown = [table.take() for table in self.tables]
            if not any(grown):
                break
        news = False
        for link, _ in links:
            table, title = link.table, link.columns[0]
            if link.strict and not table.is_whole and self._is_new(table.name, title, "names"):
                self.samples.know_distinct(table.name, title, count_names(table, title))
                news = True
        return news

    def _show_lost(self) -> None:
        """Have rows whose links lead nowhere, as many as it takes to tell what all rows say."""
        for link, _ in self._links():
            if not link.is_known:
                link.show(self.lost[link])

    def _leave_out(self) -> None:
        """Have rows left out that a loader leaves out, since they are nothing without a link."""
        numbered = with_row_numbers(self.samples.keyed(), self.samples.edits)
        keys = {table.name: set(self.samples.key_columns(table)) for table in numbered}
        foreign = {
            (table.name, key.columns, key.table) for table in numbered for key in table.foreign_keys
        }
        for place, link in self.of_keys.items():
            name, columns, _ = place
            if place in foreign and self.lost[link] and keys[name] & set(columns):
                link.table.leave_out(link.rows_lost())

    def _tallied(self, table: Table) -> Table:
        """Return a table with how often names occur, where it matters for how they are read."""
        sampled = self.samples.sampled(table.name)
        if sampled is None or sampled.is_whole or table.whole is None:
            return table
        keys = {*table.primary_key, *(c for key in table.foreign_keys for c in key.columns)}
        tallies: dict[str, NameTally] = {}
        for name, column in table.columns.items():
            titles = self.samples.titles(sampled, (name,))
            if name in keys or not titles or len(column.names) <= MANY_NUMBERS:
                continue
            if column.names != self.samples.read[sampled.name].columns[titles[0]].names:
                continue  # definitions have cells read otherwise than they stand
            judged = judge_alone(name, column, table.declared.get(name, ""))
            if judged is None or judged.role == "time":
                # the mean of moments tells which come first, where there are not too many
                most = MANY_NAMES if judged is None else max(self.most, _MOMENTS)
                tallies[name] = tally_of(sampled, titles[0], column, most)
        return replace(table, whole=replace(table.whole, tallies=tallies))

    def _with_empty_cells(self, mapping: TablesMapping) -> TablesMapping:
        """Return a mapping that says how many cells of a column are empty in all rows."""
        for table in mapping:
            sampled = self.samples.sampled(table.name)
            if sampled is None or sampled.is_whole:
                continue
            for column in table.columns:
                titles = self.samples.titles(sampled, (column.name,))
                empty = self.empty[sampled.name][titles[0]] if titles else 0
                mapping = mapping.with_column(table.name, replace(column, empty=empty))
        return mapping
