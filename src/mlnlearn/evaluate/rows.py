"""What a model says of rows of tables: of the examples of a task, or of a column's empty cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.examples import examples_of
from mlnlearn.counting.relational import FLAGS, NAME, Nominal, Place, Relational, RowSet, relational
from mlnlearn.data.load.data import Data
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.model.relational.atoms import without_place
from mlnlearn.model.relational.model import RelationalModel


def row_answers(model: RelationalModel, view: Relational, base: RowSet, home: Place) -> Floats:
    """Return what a model says of rows: the chance of each class, or the number."""
    seen = without_place(view, home)
    return model.probabilities(seen, base) if model.classes else model.scores(seen, base)


@dataclass(frozen=True, eq=False)
class RowAnswers:
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
    """

    rows: NDArray[np.int64]
    names: Sequence[str]
    classes: Sequence[str]
    values: Floats

    def __len__(self) -> int:
        return len(self.rows)

    def columns(self) -> dict[str, list[str]]:
        """Return the answers as columns of text: a probability, or a prediction, or both.

        Of yes or no, the probability is that of yes; of several classes, that of the best.
        """
        if not self.classes:
            return {"prediction": [_text(value) for value in self.values[:, 0].tolist()]}
        if tuple(self.classes) == FLAGS:
            return {"probability": [_text(value) for value in self.values[:, 1].tolist()]}
        best = np.argmax(self.values, axis=1)
        return {
            "prediction": [self.classes[place] for place in best.tolist()],
            "probability": [_text(value) for value in self.values.max(axis=1).tolist()],
        }

    def records(self) -> Iterator[dict[str, str]]:
        """Yield the answers one by one, with the name of the row."""
        columns = {"row": list(self.names), **self.columns()}
        for cells in zip(*columns.values(), strict=True):
            yield dict(zip(columns, cells, strict=True))


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
    home = Place(model.row_set, model.column)
    examples = examples_of(view, home)
    rows = np.flatnonzero(~examples.known) if only_empty else np.arange(examples.base.rows)
    names = examples.base.columns.get(NAME)
    shown = (
        [names.names[code] for code in names.codes[rows].tolist()]
        if isinstance(names, Nominal)
        else [str(row + 1) for row in rows.tolist()]
    )
    values = row_answers(model, view, examples.base, home)[rows]
    return RowAnswers(rows, shown, model.classes, values)


def _text(value: float) -> str:
    return f"{value:.6g}"
