"""scikit-learn's own checks of estimators, on a learner that knows no database."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.sklearn import MLNClassifier


@dataclass(frozen=True)
class FirstColumn:
    """Predicts by how often atoms with the same first constant were true."""

    strength: float = 1.0
    target: str = "target"

    def fit(self, databases):
        [database] = databases
        examples = positives_and_negatives(databases, self.target)
        kind = database.schema[self.target].types[0]
        names = [database.domains[kind][code] for code in examples.columns[0].tolist()]
        rate = examples.labels.mean()
        table = {}
        for name, label in zip(names, examples.labels.tolist(), strict=True):
            hits, count = table.get(name, (rate * self.strength, self.strength))
            table[name] = hits + label, count + 1
        return FirstColumnModel({n: hits / count for n, (hits, count) in table.items()}, rate)


@dataclass(frozen=True)
class FirstColumnModel:
    table: dict
    rate: float

    def predict(self, database, predicate, columns):
        kind = database.schema[predicate].types[0]
        names = [database.domains[kind][code] for code in columns[0].tolist()]
        return np.array([self.table.get(name, self.rate) for name in names])


@parametrize_with_checks([MLNClassifier(FirstColumn())])
def test_estimator_checks(estimator, check):
    """Every check that scikit-learn finds applicable passes; docs/evaluation.md names the rest."""
    check(estimator)
