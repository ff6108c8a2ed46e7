"""The scikit-learn classifier over ground atoms."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.evaluate.cross_validate import Fits
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.run import Run, model_of
from mlnlearn.sklearn.tables import coded, database_of, training_databases
from mlnlearn.structure.learner import Learner

_PREFIX = "learner__"
_ANY_TARGET = "target"
_FIELDS = "__dataclass_fields__"


class MLNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any learner of this library as a scikit-learn classifier.

    Each row of X is a ground atom of the target predicate, given by the names of its constants,
    one column an argument; with several databases, a last column says in which one (by name or
    place). y is the truth of the atoms, with any two labels; the second in order means true.

    To learn, the classifier sees all facts of the databases except those of the target; of these,
    only the rows of X. To predict, it sees none of the target's facts. So cross-validation does
    not leak, although every split holds the same databases.

    Parameters
    ----------
    learner
        Settings with a method ``fit(databases)``. The fields of a dataclass are parameters:
        ``learner__trees`` sets the field ``trees``.
    target
        Name of the predicate; by default the learner's own field ``target``.
    databases
        The data, shared by all clones, never copied. By default nothing is known but X itself.
    random_state
        The learner's seed, for learners that have one; None for that of the learner.
    n_jobs
        Processes, for learners that can share their work, -1: one a core; the result is the same.

    Attributes
    ----------
    classes_
        The two labels, in order.
    model_
        What the learner made.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.model.mln import MLN
    >>> @dataclass(frozen=True)
    ... class Fixed:
    ...     weight: float = 1.0
    ...     def fit(self, databases):
    ...         return MLN.parse(f'''{databases[0].schema}
    ...                              {self.weight} friends(x,Anna) => smokes(x)''')
    >>> schema = Schema.of("smokes(person)", "friends(person,person)")
    >>> db = Database.from_facts(schema, {"friends": [("Bob", "Anna")], "smokes": [("Bob",)]})
    >>> classifier = MLNClassifier(Fixed(), "smokes", db)
    >>> classifier.fit([["Anna"], ["Bob"]], ["no", "yes"]).predict([["Bob"]]).tolist()
    ['yes']
    >>> classifier.set_params(learner__weight=-1.0).learner
    Fixed(weight=-1.0)
    """

    def __init__(
        self,
        learner: Fits | None = None,
        target: str | None = None,
        databases: Database | Sequence[Database] | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.learner = learner
        self.target = target
        self.databases = databases
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike) -> MLNClassifier:  # noqa: N803 - scikit-learn's name
        """Learn from labelled atoms.

        Parameters
        ----------
        X
            The atoms, shape (atoms, arguments), a data frame or anything like an array.
        y
            Their truth.
        """
        if self.learner is None:
            raise InputError("the classifier has no learner", hint="MLNClassifier(learner, target)")
        table, labels = validate_data(self, X, y, dtype=None)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) != 2:
            kind = "multiclass" if len(self.classes_) > 2 else "one class"
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{kind}: an atom is true or false, and y must hold both classes."
            )
        databases = self._databases(table)
        examples = coded(table, databases, self._target())
        known = training_databases(databases, examples, codes == 1)
        self.model_ = model_of(self._fitted(known))
        return self

    def _fitted(self, databases: list[Database]) -> Any:
        """Run the learner, with the seed and the processes that were asked for."""
        learner: Any = self.learner
        if self.random_state is not None and "seed" in getattr(learner, _FIELDS, {}):
            learner = replace(learner, seed=int(self.random_state))
        if self.n_jobs is None or not isinstance(learner, Learner):
            return learner.fit(databases)
        return learner.fit(databases, Run(workers=effective_n_jobs(self.n_jobs)))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """Return the probabilities of both classes, shape (atoms, 2)."""
        check_is_fitted(self)
        table = validate_data(self, X, dtype=None, reset=False)
        databases = self._databases(table)
        examples = coded(table, databases, self._target())
        true = predict_examples(self.model_, databases, examples).probability
        return np.column_stack([1.0 - true, true])

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """Return the more probable class of each atom."""
        true = self.predict_proba(X)[:, 1] > 0.5
        chosen: NDArray[Any] = self.classes_[true.astype(np.int64)]
        return chosen

    def _target(self) -> str:
        if self.target is not None:
            return self.target
        own = getattr(self.learner, "target", None)
        if isinstance(own, str):
            return own
        if self.databases is not None:
            raise InputError("the classifier has no target", hint="name the predicate to predict")
        return _ANY_TARGET

    def _databases(self, table: NDArray[Any]) -> list[Database]:
        if self.databases is None:
            return [database_of(table, self._target())]
        if isinstance(self.databases, Database):
            return [self.databases]
        return list(self.databases)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; deep ones are the fields of the learner."""
        found: dict[str, Any] = super().get_params(deep=False)
        if deep:
            for name in getattr(self.learner, _FIELDS, {}):
                found[_PREFIX + name] = getattr(self.learner, name)
        return found

    def set_params(self, **params: Any) -> MLNClassifier:
        """Set parameters; ``learner__name`` replaces the learner by one with that setting."""
        inner = {
            name.removeprefix(_PREFIX): value
            for name, value in params.items()
            if name.startswith(_PREFIX)
        }
        super().set_params(**{n: v for n, v in params.items() if not n.startswith(_PREFIX)})
        if inner:
            known = self.get_params()
            for name in inner:
                if _PREFIX + name not in known:
                    raise ValueError(f"Invalid parameter {name!r} for learner {self.learner!r}.")
            learner: Any = self.learner
            self.learner = replace(learner, **inner)
        return self

    def __sklearn_clone__(self) -> MLNClassifier:
        # Learners and databases never change, so that clones may share them.
        clone = type(self)(**self.get_params(deep=False))
        for name in ("_metadata_request", "_sklearn_output_config"):
            if name in self.__dict__:
                setattr(clone, name, deepcopy(self.__dict__[name]))
        return clone

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.classifier_tags.multi_class = False
        return tags
