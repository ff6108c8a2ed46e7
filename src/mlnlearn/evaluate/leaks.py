"""Columns that may be known only after what is to be predicted has happened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.examples import RowExamples, examples_of, find_place
from mlnlearn.counting.relational import (
    NAME,
    Column,
    Floats,
    Link,
    Nominal,
    Number,
    Relational,
    relational,
)
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.mapping import toml_key

_SURE = 0.995
_USUAL = 0.95  # a label that most rows share is told nearly perfectly by anything
_LATER = 0.05
_OFTEN = 0.5  # of the rows have a cell, of a column that is asked what it tells
_BINS, _MOST_BINS = 20, 500
_FEWEST = 50
_MOST_EXAMPLES = 200_000


@dataclass(frozen=True)
class FutureLeak:
    """A column, or (with none) a table, and why it looks as if it were known only later."""

    table: str
    column: str
    why: str

    def __str__(self) -> str:
        if not self.column:
            return (
                f"{self.table} {self.why}; if they come only afterwards, leave them out, "
                f'with a mapping: {toml_key(self.table)} = {{ kind = "skip" }}'
            )
        place = ".".join(map(toml_key, (self.table, "columns", self.column)))
        return (
            f"{self.table}.{self.column} {self.why}; if it is known only afterwards, leave it out, "
            f'with a mapping: {place} = {{ as = "skip" }}'
        )


def future_leaks(data: Data, target: str) -> list[FutureLeak]:
    """Return columns that look as if they were known only later.

    Columns of the examples' own rows, and of the entities that a task speaks of, are suspicious
    where they are filled for some labels and empty for the others, where they alone (or the time
    from the row's own moment to theirs) tell the label of nearly all rows, or where they hold
    moments after those that the task asks about. So are tables whose rows are there for some labels
    only; of a task, those whose rows have no time.

    Parameters
    ----------
    data
        Tables, with a task if there is one.
    target
        What is to be predicted, such as ``TABLE.COLUMN``.
    """
    view = relational(data.databases, data.mapping)
    examples = examples_of(view, find_place(view, target), max_examples=_MOST_EXAMPLES)
    found = []
    for table, name, column, asked in _columns(view, examples):
        said = _later(column, asked, examples) or _tells(column, examples)
        if said:
            found.append(FutureLeak(table, name, said))
    base, named = examples.base, {leak.column for leak in found}
    for name, part in base.dated.items():
        later = part.of[0]
        suspicious = part.is_span and later in base.columns and later not in named
        if suspicious and _tells(Number(part.values), examples, filled_too=False):
            said = f"tells the label of more than {_SURE:.1%} of the rows, by the {name}"
            found.append(FutureLeak(base.name, later, said))
    return [*found, *_telling_tables(view, examples)]


def _telling_tables(view: Relational, examples: RowExamples) -> Iterator[FutureLeak]:
    """Yield tables that have rows for some labels only."""
    base = examples.base
    known, label = examples.known, examples.label[examples.known]
    if len(label) < _FEWEST or not examples.classes:
        return
    asked = [(link.to, link.codes) for link in base.links.values() if base.times is not None]
    if base.name in view.row_sets and view[base.name].rows == base.rows and base.times is None:
        asked = [(base.name, np.arange(base.rows, dtype=np.int32))]
    for entity, rows in asked:
        for table, link in view.pointing[entity]:
            there = view[table]
            if table == base.name or (base.times is not None and there.times is not None):
                continue  # rows with a time count only where they are earlier
            counts = np.bincount(np.maximum(there.links[link].codes, -1) + 1, None, 1)[1:]
            has = np.append(counts, np.zeros(view[entity].rows + 1 - len(counts)))[rows] > 0
            said = _filled_for(has[known], label, examples)
            if said and _best_guess(np.zeros(len(label), np.int64), label, examples) <= _USUAL:
                yield FutureLeak(table, "", f"has rows {_of_rows(said)}")


def _columns(
    view: Relational, examples: RowExamples
) -> Iterator[tuple[str, str, Column, Floats | None]]:
    """Yield columns of the examples' rows and, of a task, of the entities that they link to."""
    base = examples.base
    for name, column in base.columns.items():
        if isinstance(column, Link) and base.times is not None:
            there = view[column.to]
            for other, cells in there.columns.items():
                if other != NAME and there.times is None:
                    yield there.name, other, _at(cells, column.codes), base.times
        elif name != NAME:
            yield base.name, name, column, None


def _at(column: Column, rows: NDArray[np.integer]) -> Column:
    """Return the cells of rows that are linked to; empty where there is no link."""
    if isinstance(column, Number):
        return Number(np.append(column.values, np.nan)[rows], column.is_time)
    codes = np.append(column.codes, np.int32(-1))[rows]
    return Nominal(codes, getattr(column, "names", ()))


def _later(column: Column, asked: Floats | None, examples: RowExamples) -> str:
    if asked is None or not isinstance(column, Number) or not column.is_time:
        return ""
    later = float((column.values[examples.known] > asked[examples.known]).mean())
    if later < _LATER:
        return ""
    return f"holds moments that are later than what is asked, in {later:.0%} of the examples"


def _tells(column: Column, examples: RowExamples, *, filled_too: bool = True) -> str:
    """Say that a column, or whether it is filled, tells the label."""
    known = examples.known
    label = examples.label[known]
    if (
        len(label) < _FEWEST
        or _best_guess(np.zeros(len(label), np.int64), label, examples) > _USUAL
    ):
        return ""
    values = (
        column.values
        if isinstance(column, Number)
        else np.where(column.codes < 0, np.nan, column.codes)
    )
    cells = values[known].astype(np.float64)
    filled = ~np.isnan(cells)
    if filled_too and (said := _filled_for(filled, label, examples)):
        return said
    label = label[filled]
    if (
        len(label) < _OFTEN * len(filled)
        or _best_guess(np.zeros(len(label), np.int64), label, examples) > _USUAL
    ):
        return ""
    groups = _grouped(cells[filled], isinstance(column, Number))
    if groups is not None and _best_guess(groups, label, examples) > _SURE:
        where = "the rows" if filled.all() else "the rows where it is filled"
        return f"alone tells the label of more than {_SURE:.1%} of {where}"
    return ""


def _of_rows(said: str) -> str:
    return said.removeprefix("is filled ").replace("and empty for", "and none for")


def _filled_for(filled: NDArray[np.bool_], label: Floats, examples: RowExamples) -> str:
    """Say that a column is filled for some labels only, if all or one of several are told so."""
    if _best_guess(filled.astype(np.int64), label, examples) > _SURE:
        return "is filled for some labels, and empty for the others"
    if not examples.classes:
        return ""
    sizes = np.bincount(label.astype(np.int64), minlength=len(examples.classes))
    having = np.bincount(label[filled].astype(np.int64), minlength=len(sizes))
    enough = np.flatnonzero((sizes >= _FEWEST / 2) & (sizes < len(label)))
    for place in enough.tolist():
        wrong = sizes[place] - having[place] + (having.sum() - having[place])
        if wrong <= (1 - _SURE) * sizes[place]:
            return f"is filled where the label is {examples.classes[place]!r}, and nowhere else"
    return ""


def _grouped(cells: Floats, number: bool) -> NDArray[np.int64] | None:
    """Return a small group for each row, by its cell; None where nearly every cell is another."""
    distinct, groups = np.unique(cells, return_inverse=True)
    if len(distinct) <= _BINS:
        return np.asarray(groups, np.int64)
    if not number:
        return np.asarray(groups, np.int64) if len(distinct) < len(cells) / _BINS else None
    bins = min(max(_BINS, len(cells) // 5), _MOST_BINS)
    edges = np.quantile(cells, np.linspace(0, 1, bins + 1)[1:-1])
    return np.searchsorted(edges, cells).astype(np.int64)


def _best_guess(groups: NDArray[np.int64], label: Floats, examples: RowExamples) -> float:
    """Return the share of labels (of numbers, of variance) that groups tell."""
    sizes = np.bincount(groups)
    if examples.classes:
        table = np.zeros((len(sizes), len(examples.classes)))
        np.add.at(table, (groups, label.astype(np.int64)), 1.0)
        return float(table.max(axis=1).sum() / len(label))
    sums = np.bincount(groups, label)
    means = np.divide(sums, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    spread = float(np.var(label))
    return 1.0 - float(((label - means[groups]) ** 2).mean()) / spread if spread else 1.0
