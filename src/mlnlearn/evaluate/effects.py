"""What a model of rows says as one number changes, all else as it is: a curve for each feature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mlnlearn.counting.examples import examples_of
from mlnlearn.counting.relational import FLAGS, Place, relational
from mlnlearn.data.load.data import Data
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.model.plots import plot_curve
from mlnlearn.model.relational.evaluate import Values
from mlnlearn.model.relational.features import AnyFeature
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.model.relational.trees import features_of, tree_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS = 500
_SEEN = 50_000  # rows by which is told what values there are
_POINTS = 21


@dataclass(frozen=True, eq=False)
class NumberEffect:
    """How answers follow one number.

    Attributes
    ----------
    feature
        The number, in words.
    values
        Some of the values that it has in the data, from low to high.
    answers
        The mean answer if all rows had that value: a probability, or the predicted number.
    of
        What the answer is: a number, or a probability, ``P(…)``.
    """

    feature: str
    values: Floats
    answers: Floats
    of: str

    @property
    def spread(self) -> float:
        """How far the answers go."""
        return float(np.ptp(self.answers))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; it needs the extra ``mlnlearn[plot]``.

        Parameters
        ----------
        ax
            Where to draw; a new figure by default.
        """
        return plot_curve(self.values.tolist(), self.answers.tolist(), (self.feature, self.of), ax)


def number_effects(model: RelationalModel, data: Data, most: int = 6) -> list[NumberEffect]:
    """Return the curves of the numbers that matter most (partial dependence, Friedman 2001, 8.2).

    A value is put into all rows (at most 500 of them), and the answers are averaged: what the
    other features say is averaged over, as it is found in the data.

    Parameters
    ----------
    model
        Of a column of a table, or of the label of a task.
    data
        Tables as those it was learned from.
    most
        How many curves, those that go furthest.

    Examples
    --------
    >>> import polars as pl
    >>> import mlnlearn as ml
    >>> ages = [20 + k % 50 for k in range(200)]
    >>> people = {"id": range(200), "age": ages, "old": [str(age > 50) for age in ages]}
    >>> data = ml.as_data({"person": pl.DataFrame(people)})
    >>> model = ml.RelationalBoost(target="person.old").fit(data).model
    >>> curve = ml.number_effects(model, data)[0]
    >>> curve.feature, curve.of, bool(curve.answers[0] < 0.1 < 0.9 < curve.answers[-1])
    ('age', 'P(old)', True)
    """
    view = relational(data.databases, data.mapping)
    base = examples_of(view, Place(model.row_set, model.column)).base
    used = model.used_for(view)
    seen = np.linspace(0, base.rows - 1, min(_SEEN, base.rows)).astype(np.int64)
    columns = used.columns(view, base, seen)
    chosen = np.linspace(0, len(seen) - 1, min(_ROWS, len(seen))).astype(np.int64)
    rows = {f: Values(v.values[chosen], v.names) for f, v in columns.items()}
    scores = used.scores_of(rows, len(chosen))
    found = [
        effect
        for feature, values in columns.items()
        if values.names is None
        and (effect := _effect(used, rows, scores, feature, values.values)) is not None
    ]
    moving = [effect for effect in found if effect.spread > 0]
    return sorted(moving, key=lambda effect: -effect.spread)[:most]


def _effect(
    model: RelationalModel,
    rows: Mapping[AnyFeature, Values],
    scores: Floats,
    feature: AnyFeature,
    seen: Floats,
) -> NumberEffect | None:
    known = seen[np.isfinite(seen)]
    if len(known) < 2:
        return None
    grid = np.unique(np.quantile(known, np.linspace(0.01, 0.99, _POINTS)))
    if len(grid) < 2:
        return None
    count, points = len(scores), len(grid)
    # trees that do not ask for the number say the same, whatever it is
    trees = [tree for tree in model.trees if feature in features_of([tree])]
    asked = {f: Values(np.tile(rows[f].values, points), rows[f].names) for f in features_of(trees)}
    asked[feature] = Values(np.repeat(grid, count))
    moved_scores = np.tile(scores, (points, 1))
    for tree in trees:
        moved_scores -= np.tile(tree_scores(tree, rows, count, model.outputs), (points, 1))
        moved_scores += tree_scores(tree, asked, points * count, model.outputs)
    table = np.stack([_mean(model, part) for part in np.split(moved_scores, points)])
    moved = int(np.argmax(np.ptp(table, axis=0)))
    return NumberEffect(str(feature), grid, table[:, moved], _answered(model, moved))


def _answered(model: RelationalModel, place: int) -> str:
    """Say what an answer is."""
    if model.kind == "squares":
        return model.called
    if tuple(model.classes) == FLAGS:
        return f"P({model.called})"
    return f"P({model.called} = {model.classes[place if model.kind == 'classes' else 1]})"


def _mean(model: RelationalModel, scores: Floats) -> Floats:
    """Return the mean answer: of each class, of the second one, or the number."""
    if model.kind == "squares":
        return np.asarray(scores.mean(axis=0))
    chances = model.chances(scores)
    shown = chances if model.kind == "classes" else chances[:, 1:]
    return np.asarray(shown.mean(axis=0))
