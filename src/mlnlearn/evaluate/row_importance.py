"""What a model of rows rests on: how much is lost when the values of one feature are dealt anew."""

from __future__ import annotations

import numpy as np

from mlnlearn.counting.examples import examples_of
from mlnlearn.counting.relational import Place, relational
from mlnlearn.data.load.data import Data
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.model.relational.evaluate import Values
from mlnlearn.model.relational.model import RelationalModel

_ROWS = 2000
_TINY = 1e-12


def row_importances(model: RelationalModel, data: Data, most: int = 10) -> dict[str, float]:
    """Return what the mean log-likelihood of a row loses by feature, the largest first.

    The values of a feature are given to other rows at random (at most 2,000 of them), so that they
    say nothing any more about the row that they are given to; all other features stay (permutation
    importance, Breiman 2001). Of a number, the likelihood is that of the normal distribution
    around the prediction.

    Parameters
    ----------
    model
        Of a column of a table, or of the label of a task.
    data
        Tables as those it was learned from, labels with them.
    most
        How many features.

    Examples
    --------
    >>> import polars as pl
    >>> import mlnlearn as ml
    >>> ages = [20 + k % 50 for k in range(200)]
    >>> people = {"id": range(200), "age": ages, "old": [str(age > 50) for age in ages]}
    >>> data = ml.as_data({"person": pl.DataFrame(people)})
    >>> model = ml.RelationalBoost(target="person.old").fit(data).model
    >>> lost = ml.row_importances(model, data)
    >>> list(lost), lost["age"] > 0.5
    (['age'], True)
    """
    view = relational(data.databases, data.mapping)
    place = Place(model.row_set, model.column)
    examples = examples_of(view, place, max_examples=_ROWS, classes=model.classes)
    known = np.flatnonzero(examples.known)
    if not len(known):
        return {}
    chosen = known[np.linspace(0, len(known) - 1, min(_ROWS, len(known))).astype(np.int64)]
    used = model.used_for(view)
    rows = used.columns(view, examples.base, chosen)
    label, weight = examples.label[chosen], examples.weight[chosen]
    scores = used.scores_of(rows, len(chosen))
    spread = max(float(np.average((scores[:, 0] - label) ** 2, weights=weight)), _TINY)

    def likelihood(found: Floats) -> float:
        if used.kind == "squares":
            return -float(np.average((found[:, 0] - label) ** 2, weights=weight)) / (2 * spread)
        chances = used.chances(found)[np.arange(len(label)), label.astype(np.int64)]
        return float(np.average(np.log(np.maximum(chances, _TINY)), weights=weight))

    whole = likelihood(scores)
    rng = np.random.default_rng(0)
    lost: dict[str, float] = {}
    for feature, values in rows.items():
        dealt = Values(values.values[rng.permutation(len(chosen))], values.names)
        moved = likelihood(used.scores_of({**rows, feature: dealt}, len(chosen)))
        lost[str(feature)] = lost.get(str(feature), 0.0) + whole - moved
    ranked = sorted(lost.items(), key=lambda item: -item[1])
    return {name: value for name, value in ranked[:most] if value > 0}
