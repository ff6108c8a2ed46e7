"""What a model says of rows of tables: of the examples of a task, or of a column's empty cells."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.examples import RowExamples, examples_of
from mlnlearn.counting.relational import (
    FLAGS,
    NAME,
    Link,
    Nominal,
    Number,
    Place,
    Relational,
    RowSet,
    relational,
)
from mlnlearn.counting.staleness import fact_times, longest_pause, overdue
from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.save import cell_type
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.task import NAME as TASK
from mlnlearn.data.load.task import Task, without_tasks
from mlnlearn.data.vocabulary import moment_name
from mlnlearn.errors import DataWarning, InputError, near_names
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.files import AnyPath
from mlnlearn.model.answer_files import write_table
from mlnlearn.model.filled import (
    Mark,
    filled_column,
    marks_table,
    number_words,
    replaced_cells,
    row_places,
)
from mlnlearn.model.relational.features import duration
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.notebook import Shown, ShownTable

_SQL = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "TEXT": "VARCHAR", "BOOLEAN": "BOOLEAN"}
SECONDS_OF_A_DAY = 86_400.0
"""The unit of errors and effects of moments."""


def row_answers(model: RelationalModel, view: Relational, base: RowSet) -> Floats:
    """Return what a model says of rows: the chance of each class, or the number."""
    return model.probabilities(view, base) if model.classes else model.scores(view, base)


@dataclass(frozen=True, eq=False, repr=False)
class RowAnswers(Shown):
    """Predictions for rows of a table.

    Attributes
    ----------
    rows
        The number of each row, from 0.
    names
        What names the row: its key, or what its links name.
    classes
        The classes; none where a number is predicted.
    values
        The chance of each class, or the number: one row an answer.
    moments
        Whether numbers are moments.
    target
        What is predicted.
    """

    rows: NDArray[np.int64]
    names: Sequence[str]
    classes: Sequence[str]
    values: Floats
    moments: bool = False
    target: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def in_order_of(self, names: Sequence[str]) -> RowAnswers:
        """Return the answers in the order of names of rows, such as that of a file.

        Rows that are not among the names come last, in the order that they have.

        Parameters
        ----------
        names
            The names.
        """
        places = {name: place for place, name in enumerate(names)}
        found = [places.get(name, len(places)) for name in self.names]
        order = np.argsort(np.array(found, np.int64), kind="stable")
        return replace(
            self,
            rows=self.rows[order],
            names=[self.names[place] for place in order.tolist()],
            values=self.values[order],
        )

    def summary(self) -> str:
        """Say how many rows there are, and what is said of them."""
        what = f"one of {', '.join(self.classes)}" if self.classes else "a number"
        return f"{len(self):,} rows, for each {what}"

    def table(self) -> ShownTable:
        """Return the answers in the order of the rows."""
        columns = {"row": list(self.names), **self.columns()}
        return tuple(columns), zip(*columns.values(), strict=True)

    def columns(self) -> dict[str, list[str]]:
        """Return the answers as columns of text: a probability, or a prediction, or both.

        Of yes or no, the probability is that of yes; of several classes, that of the best.
        """
        if not self.classes:
            return {"prediction": [shown_answer((), v, self.moments)[0] for v in self.values]}
        if tuple(self.classes) == FLAGS:
            return {"probability": [_text(value) for value in self.values[:, 1].tolist()]}
        best = np.argmax(self.values, axis=1)
        return {
            "prediction": [self.classes[place] for place in best.tolist()],
            "probability": [_text(value) for value in self.values.max(axis=1).tolist()],
        }

    def records(self) -> Iterator[dict[str, str]]:
        """Yield the answers one by one, with the name of the row."""
        titles, rows = self.table()
        for cells in rows:
            yield dict(zip(titles, cells, strict=True))

    def save(self, path: AnyPath, task: Task | None = None) -> None:
        """Write the rows of a task, or the names of rows, with the answers beside them.

        As CSV, or as Parquet where the name ends so.
        """
        columns = {"row": list(self.names)} if task is None else task.cells()
        said = self.columns()
        if set(said) & set(columns):  # a task may have a column of that name itself
            said = {f"{name} of {self.target}": cells for name, cells in said.items()}
        columns = {**columns, **said}
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        types = {
            name: _SQL[cell_type(Column.of([cell or None for cell in cells]))]
            for name, cells in columns.items()
        }
        write_table(path, text.getvalue(), types)


def predict_rows(model: RelationalModel, data: Data, *, only_empty: bool = False) -> RowAnswers:
    """Return what a model says of all rows of the table that it is of, or of those without a label.

    Parameters
    ----------
    model
        Of a column of a table.
    data
        Tables as those it was learned from.
    only_empty
        Whether to answer only for rows whose label is not known.
    """
    view = relational(data.databases, data.mapping)
    examples = examples_of(view, Place(model.row_set, model.column))
    if model.timed and not model.lagged:
        _warn_of_old_facts(view, examples.base)
    asked = asked_rows(examples, only_empty)
    values = row_answers(model, view, examples.base)[asked]
    return named_answers(view, examples, asked, values, model.classes, model.target)


def asked_rows(examples: RowExamples, only_empty: bool) -> NDArray[np.bool_]:
    """Return which rows are asked for: all, or only those whose label is not known."""
    return ~examples.known if only_empty else np.ones(len(examples.known), np.bool_)


def named_answers(
    view: Relational,
    examples: RowExamples,
    asked: NDArray[np.bool_],
    values: Floats,
    classes: Sequence[str],
    target: str,
) -> RowAnswers:
    """Return answers for the rows that are asked for, with what names them.

    Parameters
    ----------
    view, examples
        The data, and all of its rows.
    asked
        Which of them are asked for.
    values, classes
        The answers for these, and what classes they are of; none of numbers.
    target
        What is predicted.
    """
    rows = np.flatnonzero(asked)
    names = row_names(view, examples.base, rows)
    moments = is_time(view, examples.home)
    return RowAnswers(rows, names, classes, values, moments, target)


def _warn_of_old_facts(view: Relational, base: RowSet) -> None:
    """Say so where questions are asked about moments that the facts do not reach."""
    late = overdue(view, base)
    pause = longest_pause(view)
    if late.max(initial=0.0) > max(pause, 1.0):
        warnings.warn(
            f"the last fact known is of {moment_name(fact_times(view)[-1])}, and "
            f"{int((late > pause).sum()):,} rows ask about moments up to {duration(late.max())} "
            "later; a model for such questions is learned with the setting lag, such as "
            "--learner boost --set lag=4y",
            DataWarning,
            stacklevel=3,
        )


def is_time(view: Relational, home: Place) -> bool:
    """Tell whether what is predicted are moments."""
    column = view[home.row_set].columns.get(home.column or "")
    return isinstance(column, Number) and column.is_time


def row_names(view: Relational, base: RowSet, rows: NDArray[np.integer] | None = None) -> list[str]:
    """Return what names rows: their own names, or the names of what they relate.

    Parameters
    ----------
    view, base
        The data, and the row set.
    rows
        The numbers of those that are asked for; by default all.
    """
    rows = np.arange(base.rows) if rows is None else rows
    own = base.columns.get(NAME)
    if isinstance(own, Nominal):
        return [own.names[code] for code in own.codes[rows].tolist()]
    parts = [
        _named(view, column, rows) for column in base.columns.values() if isinstance(column, Link)
    ]
    if not parts:
        return [str(row + 1) for row in rows.tolist()]
    return [", ".join(names) for names in zip(*parts, strict=True)]


def rows_named(known: Sequence[str], names: Sequence[str], table: str) -> list[int]:
    """Return the places of some rows among all of a table.

    Parameters
    ----------
    known
        What names each row.
    names
        Those wanted.
    table
        Of which they are, for those who misspell one.

    Examples
    --------
    >>> rows_named(["c1", "c2"], ["c2"], "customer")
    [1]
    """
    places = {name: row for row, name in enumerate(known)}
    for name in names:
        if name not in places:
            near = near_names(name, known)
            hint = f"close to it: {', '.join(near)}" if near else f"there are: {_some(known)}"
            raise InputError(f"{table} has no row {name!r}", hint=hint)
    return [places[name] for name in names]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")


def _named(view: Relational, link: Link, rows: NDArray[np.integer]) -> list[str]:
    there = view[link.to].columns[NAME]
    assert isinstance(there, Nominal)
    codes = np.append(there.codes, np.int32(-1))[link.codes[rows]]
    return [there.names[code] if code >= 0 else "" for code in codes.tolist()]


@dataclass(frozen=True, eq=False)
class FilledRows:
    """Tables in which the empty cells of one column are filled in.

    Attributes
    ----------
    tables
        All tables.
    marks
        A table that says which cells were filled, with what, and how probable that is.
    """

    tables: tuple[Table, ...]
    marks: Table


def fill_rows(model: RelationalModel, tables: Sequence[Table]) -> FilledRows:
    """Fill the empty cells of the column that a model is of; all else stays as it is.

    Parameters
    ----------
    model
        Of a column of a table.
    tables
        As `read_tables` returns them.
    """
    if model.mapping is None or model.column is None or model.row_set == TASK:
        raise InputError("only models of a column of tables fill in cells")
    tables = without_tasks(tables)
    database, mapping = build_database(tables, model.mapping.without_limits())
    table = next(table for table in tables if table.name == model.row_set)
    settings = next(c for c in mapping[table.name].columns if c.name == model.column)
    cells = table.columns[model.column]
    rows = np.flatnonzero(cells.missing)
    answers = predict_rows(model, Data((database,), mapping))
    places = row_places(database, mapping, mapping[table.name], table)[rows]
    values = answers.values[places]
    if model.classes:
        best = [model.classes[place] for place in np.argmax(values, axis=1).tolist()]
        chances = values.max(axis=1)
        column = filled_column(cells, settings, rows, best)
    else:
        words = number_words(values[:, 0], cells, settings)
        chances = np.full(len(rows), np.nan)
        column = replaced_cells(cells, rows, words)
    filled = replace(table, columns={**table.columns, model.column: column})
    every = tuple(filled if other is table else other for other in tables)
    return FilledRows(every, marks_table([Mark(filled, model.column, rows, chances)]))


def shown_answer(
    classes: Sequence[str], values: Floats, moments: bool = False
) -> tuple[str, float | None]:
    """Return the class or number that is predicted of a row, and how probable the class is.

    Examples
    --------
    >>> shown_answer(("red", "green"), np.array([0.25, 0.75])), shown_answer((), np.array([2.5]))
    (('green', 0.75), ('2.5', None))
    """
    if not len(classes):
        return moment_name(float(round(values[0]))) if moments else _text(values[0]), None
    best = int(np.argmax(values))
    return classes[best], float(values[best])


def _text(value: float) -> str:
    return f"{value:.6g}"
