"""Empty cells of tables, filled in: for each its probabilities and the most probable value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.mapping import ColumnMapping, Mapping, TableMapping
from mlnlearn.data.load.tables import Table
from mlnlearn.data.load.task import without_tasks
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError
from mlnlearn.model.answers import CLOSED_FORM, Answers, AnswerTable, ComponentSummary
from mlnlearn.model.filled import Mark, filled_column, marks_table, row_places
from mlnlearn.structure.join_bayes.features import AttributePrediction
from mlnlearn.structure.join_bayes.model import JoinBayesModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FilledColumn:
    """The empty cells of one column.

    Attributes
    ----------
    table, column
        Where they are.
    prediction
        Probabilities for every entity or link of the table.
    rows
        Rows of the table with an empty cell.
    groundings
        For each of them its row in the prediction.
    """

    table: str
    column: str
    prediction: AttributePrediction
    rows: Ints
    groundings: Ints

    @property
    def probabilities(self) -> Floats:
        """The probability of each value, one row for each empty cell."""
        return np.exp(self.prediction.log_probabilities[self.groundings])

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the values."""
        return self.prediction.node.values

    @property
    def best(self) -> list[str]:
        """The most probable value of each empty cell."""
        return [self.values[place] for place in self.probabilities.argmax(axis=1).tolist()]

    def most_probable(self, database: Database) -> Iterator[tuple[str, str, float]]:
        """Yield for each empty cell its atom without a value, the best value, and its chance."""
        names = zip(*self._keys(database), strict=True)
        chances = self.probabilities.max(axis=1).tolist()
        for key, value, chance in zip(names, self.best, chances, strict=True):
            yield f"{self.prediction.node.predicate.name}({','.join(key)})", value, chance

    def answers(self, database: Database) -> AnswerTable:
        """Return the probabilities in the form of all other answers: an atom for each value."""
        node = self.prediction.node
        first = int(node.relationship is not None)  # after N/A
        keys = self._keys(database)
        domains = [Vocabulary(dict.fromkeys(names)) for names in keys]
        codes = [[v.codes[name] for name in names] for v, names in zip(domains, keys, strict=True)]
        columns = np.array(codes, np.int32).reshape(len(keys), -1)
        chances = self.probabilities[:, -1]
        if not node.is_flag:
            values = node.values[first:]
            chances = self.probabilities[:, first:].reshape(-1)
            domains.append(Vocabulary(values))
            cycled = np.tile(np.arange(len(values), dtype=np.int32), len(self.rows))
            columns = np.vstack([np.repeat(columns, len(values), axis=1), cycled])
        method = np.full(len(chances), CLOSED_FORM, object)
        errors = np.zeros(len(chances))
        return AnswerTable(node.predicate, columns, tuple(domains), chances, errors, method)

    def _keys(self, database: Database) -> list[list[str]]:
        """Return the names of the entities of each empty cell, one list for each key."""
        node = self.prediction.node
        kinds = node.predicate.types[: len(node.variables)]
        codes = (
            [self.groundings]
            if node.relationship is None
            else [column[self.groundings] for column in database.facts(node.relationship.name)]
        )
        return [
            [database.domains[kind].names[code] for code in column.tolist()]
            for kind, column in zip(kinds, codes, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Filled:
    """Tables with their empty cells filled in.

    Attributes
    ----------
    tables
        All tables; cells that were filled hold their most probable value.
    columns
        The columns that had empty cells, with probabilities.
    database
        What the probabilities are given: the tables as they were.
    """

    tables: tuple[Table, ...]
    columns: tuple[FilledColumn, ...]
    database: Database

    def marks(self) -> Table:
        """Return which cells were filled, with what, and how probable that is."""
        by_name = {table.name: table for table in self.tables}
        return marks_table(
            [
                Mark(by_name[c.table], c.column, c.rows, c.probabilities.max(axis=1))
                for c in self.columns
            ]
        )

    def answers(self) -> Answers:
        """Return the probabilities of all values of the empty cells."""
        tables = tuple(column.answers(self.database) for column in self.columns)
        return Answers(tables, tuple(ComponentSummary(len(t), 0, CLOSED_FORM) for t in tables))


def fill_tables(
    model: JoinBayesModel,
    tables: Sequence[Table],
    columns: Sequence[str] = (),
) -> Filled:
    """Fill the empty cells of columns that a model knows.

    The tables become predicates as they did when the model was learned, with the same cuts of
    numbers, and without a cut-off in time. Each cell's probabilities are exact given all cells that
    are not empty; empty cells say nothing about each other. A column that was cut into bands gets
    the middle one of the numbers that it has in the most probable band.

    Parameters
    ----------
    model
        A model learned from such tables.
    tables
        The tables, as `read_tables` returns them.
    columns
        Predicates of the columns to fill; by default all that have empty cells.

    Examples
    --------
    >>> from mlnlearn.data.load.columns import Column
    >>> from mlnlearn.structure.join_bayes.learners import LAJDT
    >>> cells = {"sex": Column.of([*"ffffmmmm", "f"]), "fan": Column.of([*"xxxxyyyy", None])}
    >>> people = Table("person", {"id": Column.of([*"ABCDEFGHI"])} | cells, ("id",))
    >>> model = LAJDT().fit(build_database([people])).model
    >>> found = fill_tables(model, [people])
    >>> found.columns[0].values, found.columns[0].probabilities.round(2).tolist()
    (('x', 'y'), [[0.85, 0.15]])
    >>> found.tables[0].columns["fan"].names[found.tables[0].columns["fan"].codes[-1]]
    'x'
    """
    if model.mapping is None:
        raise InputError(
            "the model does not say how tables become predicates", hint="learn it from tables"
        )
    tables = without_tasks(tables)
    database, mapping = build_database(tables, model.mapping.without_limits())
    predictions = model.predict(database)
    wanted = _wanted(mapping, predictions, columns)
    found, filled = [], {table.name: table for table in tables}
    for entry, settings in wanted:
        table = filled[entry.name]
        cells = table.columns[settings.name]
        rows = np.flatnonzero(cells.missing)
        if not len(rows):
            continue
        prediction = predictions[settings.predicate]
        places = row_places(database, mapping, entry, table)[rows]
        part = FilledColumn(entry.name, settings.name, prediction, rows, places)
        found.append(part)
        column = filled_column(cells, settings, rows, part.best)
        filled[entry.name] = replace(table, columns={**table.columns, settings.name: column})
    return Filled(tuple(filled.values()), tuple(found), database)


def _wanted(
    mapping: Mapping, known: dict[str, AttributePrediction], asked: Sequence[str]
) -> Iterator[tuple[TableMapping, ColumnMapping]]:
    places = {
        name: (table, column)
        for name, table, column in mapping.predicates()
        if column is not None and name in known
    }
    for name in asked:
        if name not in places:
            raise InputError(
                f"the model has no attribute {name!r}", hint=f"there are: {', '.join(places)}"
            )
    for name, (table, column) in places.items():
        if name in asked if asked else column.null == "unknown":
            yield table, column
