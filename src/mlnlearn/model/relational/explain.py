"""Why a row has its score: what each feature adds along the trees' paths, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mlnlearn.counting.aggregates import Floats
from mlnlearn.counting.relational import FLAGS
from mlnlearn.model.relational.evaluate import Values
from mlnlearn.model.relational.features import AnyFeature, Feature, said_number
from mlnlearn.model.relational.trees import FeatureNode


def feature_effects(
    trees: Sequence[FeatureNode], columns: Mapping[AnyFeature, Values], row: int, outputs: int
) -> tuple[Floats, dict[AnyFeature, Floats]]:
    """Return what trees add for one row without any test, and what each feature adds to that.

    Going down a tree, the value changes from node to node; each change is due to the feature that
    was tested. The changes add up to the values of the leaves. Where nodes have values by name, the
    name is read first.
    """
    always = np.zeros(outputs)
    effects: dict[AnyFeature, Floats] = {}
    here = slice(row, row + 1)

    def change(feature: AnyFeature, by: Floats) -> None:
        effects[feature] = effects.get(feature, 0.0) + by

    for tree in trees:
        always += tree.values
        node = tree
        if tree.by_name is not None:
            change(tree.by_name.axis.feature, tree.added(columns, here)[0] - tree.values)
        while node.test is not None and node.yes is not None and node.no is not None:
            values = columns[node.test.feature]
            own = Values(values.values[row : row + 1], values.names)
            below = node.yes if node.test.holds(own)[0] else node.no
            added = below.added(columns, here) - node.added(columns, here)
            change(node.test.feature, added[0])
            node = below
    return always, effects


def said_value(feature: AnyFeature, values: Values, row: int) -> str:
    """Say what a feature is for a row."""
    value = values.values[row]
    if np.isnan(value):
        return f"{feature} is not known"
    if values.names is not None:
        return f"{feature} is {values.names[int(value)]}"
    shown = feature.shown(value) if isinstance(feature, Feature) else said_number(value)
    return f"{feature} is {shown}"


def contrast(
    kind: str, classes: Sequence[str], scores: Floats, value: str | None = None
) -> tuple[Floats, str]:
    """Return the weights of scores in what is explained, and the class it is held against.

    Parameters
    ----------
    kind, classes
        Those of the model.
    scores
        Of one row.
    value
        The class that is explained; by default the likeliest. It is held against the likeliest of
        the others; truth and numbers are held against nothing.

    Examples
    --------
    >>> contrast("classes", ["red", "green", "blue"], np.array([0.0, 2.0, 1.0]))
    (array([ 0.,  1., -1.]), 'blue')
    """
    if kind == "squares" or tuple(classes) == FLAGS:
        return np.ones(1), ""
    if kind == "logistic":
        sign = 1.0 if (scores[0] > 0 if value is None else value == classes[1]) else -1.0
        return np.array([sign]), classes[0 if sign > 0 else 1]
    own = int(np.argmax(scores)) if value is None else classes.index(value)
    best = int(np.argmax(np.where(np.arange(len(scores)) == own, -np.inf, scores)))
    pick = np.zeros(len(scores))
    pick[own], pick[best] = 1.0, -1.0
    return pick, classes[best]
