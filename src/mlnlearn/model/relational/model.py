"""The model of boosted features: trees along links for one target, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, softmax

from mlnlearn.counting.aggregates import Floats
from mlnlearn.counting.relational import Relational, RowSet
from mlnlearn.model.relational.evaluate import Evaluator, Values
from mlnlearn.model.relational.features import AnyFeature
from mlnlearn.model.relational.trees import Node, features_of, tree_scores

Kind = Literal["logistic", "classes", "squares"]


@dataclass(frozen=True)
class RelationalModel:
    """Trees of tests on features along links, whose values add up to scores. Immutable.

    Attributes
    ----------
    target
        What is predicted: a predicate, or a column of a table.
    kind
        What scores are: ``"logistic"``, the log-odds of true; ``"classes"``, log-weights of the
        classes; ``"squares"``, the number itself.
    classes
        The names of the classes; none of a number.
    start
        The scores before all trees.
    trees
        The trees.
    timed, until
        Whether examples have times, so that only rows before them count; and whether rows at the
        very time of an example count.
    """

    target: str
    kind: Kind
    classes: tuple[str, ...]
    start: tuple[float, ...]
    trees: tuple[Node, ...]
    timed: bool = False
    until: bool = False

    @property
    def outputs(self) -> int:
        """Number of scores."""
        return len(self.start)

    def features(self) -> list[AnyFeature]:
        """Return the features that trees test."""
        return features_of(self.trees)

    def columns(self, view: Relational, base: RowSet) -> dict[AnyFeature, Values]:
        """Return the values of all features for the rows of a set."""
        evaluator = Evaluator(view, self.timed, self.until)
        return {feature: evaluator.any_values(feature, base) for feature in self.features()}

    def scores(self, view: Relational, base: RowSet) -> Floats:
        """Return the scores of rows, shape (rows, outputs).

        Parameters
        ----------
        view
            The data; what is to be predicted is not read.
        base
            The rows.
        """
        return self.scores_of(self.columns(view, base), base.rows)

    def scores_of(self, columns: Mapping[AnyFeature, Values], rows: int) -> Floats:
        """Return the scores of rows by the values of their features."""
        total = np.repeat(np.array([self.start]), rows, axis=0)
        for tree in self.trees:
            total += tree_scores(tree, columns, rows, self.outputs)
        return total

    def probabilities(self, view: Relational, base: RowSet) -> Floats:
        """Return the probabilities of the classes, shape (rows, classes)."""
        scores = self.scores(view, base)
        if self.kind == "logistic":
            return np.stack([expit(-scores[:, 0]), expit(scores[:, 0])], axis=1)
        return np.asarray(softmax(scores, axis=1))
