"""Learners as scikit-learn classifiers: the rows of X are ground atoms, y is their truth.

from sklearn.model_selection import GroupKFold, cross_val_score
from mlnlearn.sklearn import MLNClassifier, target_table

X, y = target_table(databases, "advisedBy")
classifier = MLNClassifier(learner, "advisedBy", databases)
cross_val_score(classifier, X, y, groups=X[:, -1], cv=GroupKFold(5), scoring="roc_auc")
"""

from mlnlearn.sklearn.classifier import MLNClassifier
from mlnlearn.sklearn.frames import MLNRegressor
from mlnlearn.sklearn.tables import TableError, target_table

__all__ = ["MLNClassifier", "MLNRegressor", "TableError", "target_table"]
