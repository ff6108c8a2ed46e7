"""Why a model says of rows of tables what it says: what each feature adds, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlnlearn.counting.examples import examples_of
from mlnlearn.counting.relational import Place, relational
from mlnlearn.data.load.data import Data
from mlnlearn.evaluate.rows import (
    SECONDS_OF_A_DAY,
    is_time,
    row_answers,
    row_names,
    rows_named,
    shown_answer,
)
from mlnlearn.model.explanation import Contribution, by_size
from mlnlearn.model.plots import plot_waterfall
from mlnlearn.model.relational.explain import contrast
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.notebook import Shown, ShownTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class RowReasons(Shown):
    """Why one row has its answer.

    Attributes
    ----------
    row
        What names the row.
    target
        What is predicted of it.
    answer
        The class or number that is predicted.
    probability
        Of that class; None of a number.
    against
        The class that the answer is held against; empty of yes or no, and of a number.
    contributions
        What each feature adds to the log-odds, or to the number; largest first.
    unit
        What they add.
    """

    row: str
    target: str
    answer: str
    probability: float | None
    against: str
    contributions: tuple[Contribution, ...]
    unit: str = "log-odds"

    def summary(self) -> str:
        """Say what is predicted of the row, and how probable it is."""
        sure = "" if self.probability is None else f", probability {self.probability:.4f}"
        versus = f" rather than {self.against}" if self.against else ""
        return f"row {self.row}, {self.target}: {self.answer}{versus}{sure}"

    def table(self) -> ShownTable:
        """Return what each feature adds, the largest first."""
        return ("because", self.unit), ((c.rule, f"{c.log_odds:+.4f}") for c in self.contributions)

    def __str__(self) -> str:
        lines = [f"{c.log_odds:+12.4f}  {c.rule}" for c in self.contributions]
        return "\n".join([self.summary(), f"{self.unit:>12}  because", *lines])

    def plot(self, most: int = 10, ax: Axes | None = None) -> Axes:
        """Draw how the contributions add up, as a waterfall; needs the extra ``mlnlearn[plot]``.

        Parameters
        ----------
        most
            How many features, those of largest effect; the others are one bar.
        ax
            Where to draw; a new figure by default.
        """
        parts = [(part.rule, part.log_odds) for part in self.contributions]
        return plot_waterfall(parts, self.summary(), most=most, unit=self.unit, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the reasons as plain values, for JSON."""
        unit = self.unit.replace("-", "_").replace(" ", "_")
        parts = [{"because": c.rule, unit: c.log_odds} for c in self.contributions]
        return {
            "row": self.row,
            "target": self.target,
            "answer": self.answer,
            "probability": self.probability,
            "against": self.against or None,
            "contributions": parts,
        }


def explain_rows(
    model: RelationalModel, data: Data, names: Sequence[str] | None = None, most: int = 20
) -> Iterator[RowReasons]:
    """Yield the reasons of rows.

    Parameters
    ----------
    model
        Of a column of a table, or of the label of a task.
    data
        Tables as those it was learned from.
    names
        What names the rows, such as their keys; by default the first rows.
    most
        How many, where no names are given.
    """
    view = relational(data.databases, data.mapping)
    home = Place(model.row_set, model.column)
    base = examples_of(view, home).base
    rows = np.arange(base.rows if names is not None else min(most, base.rows))
    called = row_names(view, base, rows)
    if names is not None:
        rows = np.array(rows_named(called, names, model.row_set), np.int64)
        called = list(names)
    used = model.used_for(view)
    columns = used.columns(view, base, rows)
    if model.collective:
        values = row_answers(model, view, base)[rows]
    else:
        scores = used.scores_of(columns, len(rows))
        values = used.chances(scores) if model.classes else scores
    moments = is_time(view, home)
    unit = "days added" if moments else "log-odds" if model.classes else "added"
    for row, name in enumerate(called):
        effects = used.effects(columns, row)
        total = sum(effects.values(), np.zeros(model.outputs))
        pick, against = contrast(model.kind, model.classes, total)
        pick = pick / SECONDS_OF_A_DAY if moments else pick
        parts = by_size(Contribution(said, None, float(pick @ e)) for said, e in effects.items())
        answer, chance = shown_answer(model.classes, values[row], moments)
        yield RowReasons(name, model.called, answer, chance, against, parts, unit)
