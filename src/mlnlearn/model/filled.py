"""Empty cells that a model fills in: whose they are, how values are written, a mark for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import rows_of
from mlnlearn.counting.relational import FLAGS
from mlnlearn.data.database import Database
from mlnlearn.data.load.build import says_yes
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.discretize import Cut, band_names, cut_numbers
from mlnlearn.data.load.mapping import ColumnMapping, Mapping, TableMapping
from mlnlearn.data.load.reading import OTHER
from mlnlearn.data.load.spelling import read_moments, read_numbers
from mlnlearn.data.load.tables import FILLED, ROW, Table
from mlnlearn.data.vocabulary import moment_name, number_name
from mlnlearn.model.bayesnet_nodes import FALSE_TRUE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Mark:
    """Cells of one column that were filled in.

    Attributes
    ----------
    table, column
        The table as it is now, and the column.
    rows
        Rows that were empty, from 0.
    probabilities
        How probable each value is; NaN where it is a number.
    """

    table: Table
    column: str
    rows: Ints
    probabilities: Floats


def marks_table(marks: Sequence[Mark]) -> Table:
    """Return a table with a row for each cell that was filled in.

    Examples
    --------
    >>> town = Table("town", {"id": Column.of("ab"), "big": Column.of(["no", "no"])}, ("id",))
    >>> found = marks_table([Mark(town, "big", np.array([1]), np.array([0.75]))])
    >>> {name: column.names for name, column in found.columns.items()}
    {'table': ('town',), 'row': ('2',), 'key': ('b',), 'column': ('big',), 'value': ('no',), \
'probability': ('0.75',)}
    """
    cells: list[tuple[str | None, ...]] = []
    for mark in marks:
        filled = mark.table.columns[mark.column]
        keys = [mark.table.columns[name] for name in mark.table.primary_key if name != ROW]
        for row, chance in zip(mark.rows.tolist(), mark.probabilities.tolist(), strict=True):
            value = _cell(filled, row)
            key = ", ".join(_cell(column, row) or "" for column in keys) or None
            shown = None if value is None or np.isnan(chance) else f"{chance:.6g}"
            cells.append((mark.table.name, str(row + 1), key, mark.column, value, shown))
    titles = ("table", "row", "key", "column", "value", "probability")
    columns = zip(*cells, strict=True) if cells else [()] * len(titles)
    return Table(FILLED, {t: Column.of(list(c)) for t, c in zip(titles, columns, strict=True)})


def _cell(column: Column, row: int) -> str | None:
    code = int(column.codes[row])
    return column.names[code] if code >= 0 else None


def number_words(numbers: Floats, cells: Column, settings: ColumnMapping) -> list[str]:
    """Return predicted numbers or moments as a column writes its own.

    Plain numbers have as many decimals as the column's; of numbers written in some other way, and
    of moments, the nearest one that the column has.
    """
    known = settings.role == "time", bool(settings.spelled)
    if any(known):
        read = read_moments if settings.role == "time" else read_numbers
        own = read(cells.names, settings.spelled)
        if not len(own):
            return [(moment_name if known[0] else number_name)(n) for n in numbers.tolist()]
        return [cells.names[int(np.argmin(np.abs(own - number)))] for number in numbers.tolist()]
    places = max(
        (len(name.partition(".")[2]) for name in cells.names if "e" not in name), default=6
    )
    return [number_name(round(number, places)) for number in numbers.tolist()]


def row_places(database: Database, mapping: Mapping, entry: TableMapping, table: Table) -> Ints:
    """Return for each row of a table its entity, or the place of its link among the facts."""
    kinds = [
        mapping[column.references].type if column.references else column.type or entry.type
        for column in entry.keys
    ]
    if entry.kind == "event":
        return np.arange(table.rows, dtype=np.int64)
    keys = [
        table.columns[column.name].codes_in(database.domains[kind].codes)
        for column, kind in zip(entry.keys, kinds, strict=True)
    ]
    if entry.kind == "entity":
        return keys[0].astype(np.int64)
    sizes = [database.size(kind) for kind in kinds]
    return rows_of(list(database.facts(entry.predicate)), keys, sizes)


def filled_column(cells: Column, settings: ColumnMapping, rows: Ints, best: list[str]) -> Column:
    """Return a column with its empty cells filled, in the column's own words."""
    if settings.cuts:
        words = _typical(cells, settings.cuts, settings.spelled)
    elif settings.role == "flag":
        words = _yes_and_no(cells, settings)
    else:
        # what is none of a column's names is no name to write down
        none = OTHER if settings.values or settings.role == "link" else None
        words = {name: name for name in best if name != none}
    return replaced_cells(cells, rows, [words.get(value) for value in best])


def replaced_cells(cells: Column, rows: Ints, words: Sequence[str | None]) -> Column:
    """Return a column with other cells in some rows.

    Examples
    --------
    >>> found = replaced_cells(Column.of(["x", None, "y"]), np.array([1]), ["z"])
    >>> [found.names[code] for code in found.codes]
    ['x', 'z', 'y']
    """
    values = [None if code < 0 else cells.names[code] for code in cells.codes.tolist()]
    for row, word in zip(rows.tolist(), words, strict=True):
        values[row] = word
    return Column.of(values)


def _typical(cells: Column, cuts: Sequence[Cut], spelled: str) -> dict[str, str]:
    """Return the middle one of the cells in each band; bands without any stay empty."""
    read = read_moments if isinstance(cuts[0], str) else read_numbers
    numbers = read(cells.names, spelled)
    rising = np.sort(numbers[cells.codes[~cells.missing]])
    names = dict(zip(numbers.tolist(), cells.names, strict=True))
    ends = np.searchsorted(rising, [*cut_numbers(cuts), np.inf]).tolist()
    starts = [0, *ends[:-1]]
    return {
        name: names[float(rising[(start + end - 1) // 2])]
        for name, start, end in zip(band_names(cuts), starts, ends, strict=True)
        if start < end
    }


def _yes_and_no(cells: Column, settings: ColumnMapping) -> dict[str, str]:
    """Return what the column writes for false and true, whatever a model calls them."""
    answers = {name: says_yes(name, settings.true) for name in cells.names}
    counts = np.bincount(cells.codes[~cells.missing], minlength=len(cells.names))
    words: dict[str, str] = {}
    for place in np.argsort(counts, kind="stable").tolist():
        yes = answers[cells.names[place]]
        words[FLAGS[yes]] = words[FALSE_TRUE[yes]] = cells.names[place]
    return words
