"""Predictions: atoms with their probability and truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.examples import Examples
from mlnlearn.errors import InputError
from mlnlearn.evaluate.ask import MARGINALS, Given, atom_probabilities
from mlnlearn.evaluate.attributes import accuracy, attribute_cll, blocks_of
from mlnlearn.evaluate.metrics import METRICS, scores
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.logic.atoms import Predicate

ATTRIBUTE_METRICS = ("accuracy", "attribute_cll")
"""Metrics of predicates with exactly one true value for each choice of the other arguments."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Atoms of one predicate with predicted probability, truth and weight.

    Attributes
    ----------
    predicate
        The query predicate.
    database
        Index of each atom's database.
    columns
        The constants' codes in that database, shape ``(arity, atoms)``.
    probability
        Predicted probability that the atom is true.
    label
        Whether it is true.
    weight
        How many atoms it stands for.

    Examples
    --------
    >>> smokes = Predicate("smokes", ("person",))
    >>> found = Predictions(smokes, np.zeros(2, np.int32), np.array([[0, 1]], np.int32),
    ...                     np.array([0.8, 0.2]), np.array([True, False]), np.ones(2))
    >>> len(found), found.scores(["auc_roc"])
    (2, {'auc_roc': 1.0})
    """

    predicate: Predicate
    database: NDArray[np.int32]
    columns: Columns
    probability: Floats
    label: NDArray[np.bool_]
    weight: Floats

    def __len__(self) -> int:
        return len(self.label)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Predictions:
        """Return some of the atoms, by place or mask."""
        return Predictions(
            self.predicate,
            self.database[rows],
            np.ascontiguousarray(self.columns[:, rows]),
            self.probability[rows],
            self.label[rows],
            self.weight[rows],
        )

    def scores(
        self, metrics: Iterable[str] = METRICS, values: Sequence[int] = ()
    ) -> dict[str, float]:
        """Return metrics by name; ``accuracy`` and ``attribute_cll`` need the places of values."""
        wanted = list(metrics)
        found = scores(
            self.label,
            self.probability,
            self.weight,
            metrics=[name for name in wanted if name not in ATTRIBUTE_METRICS],
        )
        if set(wanted) & set(ATTRIBUTE_METRICS):
            if not values:
                raise InputError(
                    f"{self.predicate} is no attribute with one value, so it has no accuracy",
                    hint="mark the argument that holds the value with '!' in the schema",
                )
            blocks = blocks_of(self.columns, values, self.database)
            found["accuracy"] = accuracy(self.label, self.probability, blocks)
            found["attribute_cll"] = attribute_cll(self.label, self.probability, blocks)
        return {name: found[name] for name in wanted}


def pooled(parts: Sequence[Predictions]) -> Predictions:
    """Put the predictions of several folds together; databases are numbered on.

    Examples
    --------
    >>> smokes = Predicate("smokes", ("person",))
    >>> one = Predictions(smokes, np.zeros(1, np.int32), np.zeros((1, 1), np.int32),
    ...                   np.array([0.8]), np.array([True]), np.ones(1))
    >>> pooled([one, one]).database
    array([0, 1], dtype=int32)
    """
    if not parts:
        raise InputError("no predictions to pool")
    counts = [int(part.database.max()) + 1 if len(part) else 0 for part in parts]
    starts = np.cumsum([0, *counts[:-1]])
    return Predictions(
        parts[0].predicate,
        np.concatenate([p.database + start for p, start in zip(parts, starts, strict=True)]).astype(
            np.int32
        ),
        np.concatenate([part.columns for part in parts], axis=1),
        np.concatenate([part.probability for part in parts]),
        np.concatenate([part.label for part in parts]),
        np.concatenate([part.weight for part in parts]),
    )


def predict_examples(
    model: object,
    databases: Sequence[Database],
    examples: Examples,
    given: Given = MARGINALS,
) -> Predictions:
    """Ask a model for the probabilities of examples.

    Parameters
    ----------
    model
        A model of any kind.
    databases
        The data that examples are of.
    examples
        The atoms.
    given
        What is taken as known.

    Examples
    --------
    >>> from mlnlearn.data.examples import positives_and_negatives
    >>> from mlnlearn.model.mln import MLN
    >>> mln = MLN.parse("smokes(person)" + chr(10) + "0.0 smokes(x)")
    >>> db = Database.from_facts(mln.schema, {"smokes": [("Anna",)]}, domains={"person": ["Bob"]})
    >>> found = predict_examples(mln, [db], positives_and_negatives([db], "smokes"))
    >>> found.probability, found.label
    (array([0.5, 0.5]), array([ True, False]))
    """
    name = examples.predicate.name
    probability = np.empty(len(examples))
    for number, database in enumerate(databases):
        rows = np.flatnonzero(examples.database == number)
        if len(rows):
            columns = np.ascontiguousarray(examples.columns[:, rows])
            probability[rows] = atom_probabilities(model, database, name, columns, given)
    return Predictions(
        examples.predicate,
        examples.database,
        examples.columns,
        probability,
        examples.labels,
        examples.weights,
    )
