"""Tables and a mapping become a database: integer gathers from table columns to facts."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.data.load.columns import NO, YES, Codes, sorted_names
from mlnlearn.data.load.cutoff import CutOff, cut_tables
from mlnlearn.data.load.derive import derive_mapping
from mlnlearn.data.load.discretize import (
    Cut,
    band_names,
    cut_numbers,
    find_cuts,
    find_moments,
)
from mlnlearn.data.load.edits import (
    MappingLike,
    apply_keys,
    key_columns,
    read_edits,
    time_limits,
    with_cut_off,
)
from mlnlearn.data.load.links import with_row_numbers, with_single_links, without_lost_links
from mlnlearn.data.load.mapping import ATTRIBUTES, ColumnMapping, Mapping, TableMapping
from mlnlearn.data.load.reading import OTHER, moments_spelled
from mlnlearn.data.load.spelling import read_moments, read_numbers
from mlnlearn.data.load.tables import Table, check_tables, row_ids, seen_before
from mlnlearn.data.vocabulary import Vocabulary, moment_name, number_name, seconds_of
from mlnlearn.errors import InputError, raise_all
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema


class Loaded(NamedTuple):
    """What a loader of tables returns: the database, and the mapping that made it."""

    database: Database
    mapping: Mapping


def build_database(
    tables: Sequence[Table],
    mapping: MappingLike | None = None,
    name: str = "",
    cut_off: CutOff | None = None,
) -> Loaded:
    """Check the tables, derive and edit the mapping, and turn the rows into facts.

    With a `cut_off`, only rows up to then are used, of tables that have a time column.

    Parameters
    ----------
    tables
        The tables with their keys.
    mapping
        Changes to the derived mapping: TOML text, a TOML file, or a `Mapping`.
    name
        What the database is called in messages and results.
    cut_off
        Up to when rows are used, of tables with a time column: see `CutOff`.

    Examples
    --------
    >>> from mlnlearn.data.load.columns import Column
    >>> people = {"id": Column.of(["Anna", "Bob"]), "sex": Column.of(["f", None])}
    >>> database, mapping = build_database([Table("person", people, ("id",))])
    >>> list(database.rows("sex")), database.unknown_facts("sex").tolist()
    ([('Anna', 'f')], [[1], [0]])
    """
    mapped = map_tables(tables, mapping, cut_off)
    builder = _DatabaseBuilder({table.name: table for table in mapped.tables}, mapped.mapping)
    return Loaded(builder.database(name), builder.mapping)


class MappedTables(NamedTuple):
    """Tables as they become facts, and how."""

    tables: list[Table]
    mapping: Mapping


def map_tables(
    tables: Sequence[Table], mapping: MappingLike | None = None, cut_off: CutOff | None = None
) -> MappedTables:
    """Check the tables, derive and edit the mapping: all that comes before the facts.

    Cuts of numbers are not found yet.

    Parameters
    ----------
    tables
        The tables with their keys.
    mapping
        Changes to the derived mapping.
    cut_off
        Up to when rows are used, of tables with a time column.

    Examples
    --------
    >>> from mlnlearn.data.load.columns import Column
    >>> people = {"id": Column.of(["Anna", "Bob"]), "sex": Column.of(["f", None])}
    >>> [found], mapping = map_tables([Table("person", people, ("id",))])
    >>> found.rows, mapping["person"]["sex"].role
    (2, 'value')
    """
    linked = with_single_links(tables)
    edits = with_cut_off(read_edits(mapping, linked), cut_off, linked)
    keyed = apply_keys(linked, edits)
    problems = check_tables(keyed)
    raise_all(problems)
    keyed = without_lost_links(with_row_numbers(keyed, edits), edits)
    limits = time_limits(edits)
    if limits:
        columns = {name: edit["columns"] for name, edit in edits.items()}
        needed = {table.name: key_columns(table, columns.get(table.name, {})) for table in keyed}
        before = {table.name: table.rows for table in keyed}
        keyed = cut_tables(keyed, limits, needed)
    final = derive_mapping(keyed, edits)
    for table in keyed:
        if table.name in limits:
            note = f"{table.rows:,} of {before[table.name]:,} rows are used"
            final = final.with_note(table.name, note)
    return MappedTables(keyed, final)


def says_yes(cell: str, true: str = "") -> bool:
    """Tell whether the cell of a flag says yes; `true` is the only cell that does, if given.

    Examples
    --------
    >>> says_yes("Yes"), says_yes("0"), says_yes("smoker", "smoker")
    (True, False, True)
    """
    return cell == true if true else cell.strip().lower() in YES


@dataclass
class _DatabaseBuilder:
    """The state of one build: tables with their numbers cut, types filled, facts gathered."""

    tables: dict[str, Table]
    mapping: Mapping
    problems: list[InputError] = field(default_factory=list)
    numeric: dict[str, bool] = field(default_factory=dict)
    """Types of numbers; whether they are moments."""

    def database(self, name: str) -> Database:
        for table in self.mapping:
            for column in table.columns:
                if column.values:
                    self._prepare_values(table, column)
                wanted = column.cuts or column.bins or column.role in ("number", "time")
                if wanted and column.role in ATTRIBUTES:
                    self._prepare_numbers(table, column)
        self._refuse_problems()
        domains = self._domains()
        facts = _Facts(self.mapping, domains)
        for entry in self.mapping:
            if entry.kind != "skip":
                self.problems += facts.add_table(entry, self.tables[entry.name])
        self._refuse_problems()
        return Database.from_codes(
            Schema(tuple(facts.predicates), {}, facts.functional),
            domains,
            facts.true,
            unknown=facts.unknown,
            name=name,
            cells=facts.cells,
        )

    def _refuse_problems(self) -> None:
        raise_all(self.problems)

    def _prepare_values(self, entry: TableMapping, settings: ColumnMapping) -> None:
        """Keep the values that are wanted, and make all others one."""
        table = self.tables[entry.name]
        column, kept = table.columns[settings.name], set(settings.values)
        names = [name if name in kept else OTHER for name in column.names]
        columns = {**table.columns, settings.name: column.recoded(names)}
        self.tables[entry.name] = replace(table, columns=columns)

    def _prepare_numbers(self, entry: TableMapping, settings: ColumnMapping) -> None:
        """Read the numbers or moments of a column, and cut them if that is wanted."""
        table = self.tables[entry.name]
        column = table.columns[settings.name]
        dated = isinstance(settings.cuts[0], str) if settings.cuts else settings.role == "time"
        if not settings.cuts and settings.bins and not dated:
            dated = moments_spelled(settings.name, column) is not None
        read = read_moments if dated else read_numbers
        numbers = read(column.names, settings.spelled)
        bad = np.isnan(numbers)
        if bad.any():
            rows = np.flatnonzero(np.append(bad, False)[column.codes])
            what = "a day or moment such as 2020-12-31" if dated else "a number"
            self.problems += table.problems_at(
                rows,
                settings.name,
                lambda row: f"expected {what}, found {column.names[column.codes[row]]!r}",
            )
            return
        if not settings.cuts and not settings.bins:
            spelled = moment_name if dated else number_name
            self.numeric[settings.type] = dated
            names = [spelled(number) for number in numbers.tolist()]
        else:
            cells = numbers[column.codes[~column.missing]]
            find: Callable[..., tuple[Cut, ...]] = find_moments if dated else find_cuts
            cuts = settings.cuts or find(cells, settings.bins, settings.method)
            bands = band_names(cuts)
            names = [bands[i] for i in np.searchsorted(cut_numbers(cuts), numbers, "right")]
            resolved = replace(settings, role="value", cuts=cuts, bins=0, method="quantile")
            self.mapping = self.mapping.with_column(entry.name, resolved)
        columns = {**table.columns, settings.name: column.recoded(names)}
        self.tables[entry.name] = replace(table, columns=columns)

    def _domains(self) -> dict[str, Vocabulary]:
        """Return the constants of each type, sorted: the order of rows carries no meaning."""
        domains = {}
        bands: dict[str, dict[str, None]] = {}
        names: dict[str, set[str]] = {}
        for entry in self.mapping:
            table = self.tables.get(entry.name)
            if table is None:
                continue
            if entry.has_objects:
                key = table.columns[entry.keys[0].name]
                domains[entry.type] = Vocabulary(sorted_names(key.names))
            for column in entry.columns:
                if column.type:
                    found = names.setdefault(column.type, set())
                    found.update(table.columns[column.name].names)
                    cut = band_names(column.cuts) if column.cuts else []
                    bands.setdefault(column.type, {}).update(dict.fromkeys(cut))
        for kind, found in names.items():
            if kind in self.numeric:
                read = seconds_of if self.numeric[kind] else float
                numbers = [read(name) for name in found]
                domains[kind] = Vocabulary.of_numbers(numbers, time=self.numeric[kind])
            else:
                rest = sorted_names(found - set(bands[kind]))
                domains[kind] = Vocabulary([*bands[kind], *rest])
        return domains


@dataclass
class _Facts:
    """Gathers predicates and their facts, table by table."""

    mapping: Mapping
    domains: abc.Mapping[str, Vocabulary]
    predicates: list[Predicate] = field(default_factory=list)
    functional: dict[str, tuple[int, ...]] = field(default_factory=dict)
    true: dict[str, NDArray[np.integer]] = field(default_factory=dict)
    unknown: dict[str, NDArray[np.integer]] = field(default_factory=dict)
    cells: dict[str, NDArray[np.integer]] = field(default_factory=dict)

    def type_of(self, entry: TableMapping, column: ColumnMapping) -> str:
        """Return the type of the argument that a key, link or value column fills."""
        if column.references:
            return self.mapping[column.references].type
        return column.type or entry.type

    def codes(self, entry: TableMapping, column: ColumnMapping, table: Table) -> Codes:
        vocabulary = self.domains[self.type_of(entry, column)]
        return table.columns[column.name].codes_in(vocabulary.codes)

    def add_table(self, entry: TableMapping, table: Table) -> Iterator[InputError]:
        for column in entry.keys:
            empty = np.flatnonzero(table.columns[column.name].missing)
            yield from table.problems_at(
                empty,
                column.name,
                lambda _: 'a key column is empty; set as = "link" if it need not be filled',
            )
            if len(empty):
                return
        keys = [self.codes(entry, column, table) for column in entry.keys]
        types = tuple(self.type_of(entry, column) for column in entry.keys)
        if entry.kind == "relationship" and entry.predicate:
            self.predicates.append(Predicate(entry.predicate, types))
            self.true[entry.predicate] = np.stack(keys)
        for column in entry.columns:
            if column.role == "flag":
                self.predicates.append(Predicate(column.predicate, types))
                yield from self._add_flag(column, table, np.stack(keys))
            elif column.role in ("link", *ATTRIBUTES):
                kind = self.type_of(entry, column)
                self.predicates.append(Predicate(column.predicate, (*types, kind)))
                values = self.codes(entry, column, table)
                yield from self._add_values(column, table, np.stack([*keys, values]))

    def _add_flag(
        self, column: ColumnMapping, table: Table, keys: NDArray[np.integer]
    ) -> Iterator[InputError]:
        cells = table.columns[column.name]
        spelled = [name.strip().lower() for name in cells.names]
        strange = [name not in YES | NO for name in spelled]
        if not column.true and any(strange):
            rows = np.flatnonzero(np.array([*strange, False])[cells.codes])
            yield from table.problems_at(
                rows,
                column.name,
                lambda row: (
                    f"expected yes or no, found {cells.names[cells.codes[row]]!r}; "
                    "set true to the value that means yes"
                ),
            )
            return
        chosen = [says_yes(name, column.true) for name in cells.names]
        yes = np.array([*chosen, False], np.bool_)[cells.codes]
        self.true[column.predicate] = keys[:, yes]
        if column.null == "unknown":
            self._add_unknown(column.predicate, keys[:, cells.missing])

    def _add_values(
        self, column: ColumnMapping, table: Table, atoms: NDArray[np.integer]
    ) -> Iterator[InputError]:
        missing = atoms[-1] < 0
        self.true[column.predicate] = atoms[:, ~missing]
        if column.functional:
            self.functional[column.predicate] = (len(atoms) - 1,)
        if not missing.any():
            return
        if column.null == "absent":
            if column.functional:
                yield from table.problems_at(
                    np.flatnonzero(missing),
                    column.name,
                    lambda _: 'an empty cell contradicts functional = true with null = "absent"',
                )
            return
        self.cells[column.predicate] = atoms[:-1, missing]

    def _add_unknown(self, name: str, atoms: NDArray[np.integer]) -> None:
        """List atoms as unknown, except those that another row of the table says are true."""
        if not atoms.shape[1]:
            return
        true = self.true[name]
        ids = row_ids(list(np.concatenate([true, atoms], axis=1)))
        self.unknown[name] = atoms[:, ~seen_before(ids, true.shape[1])]
