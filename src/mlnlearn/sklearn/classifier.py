"""The scikit-learn classifier: of ground atoms, or of rows of a data frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from mlnlearn.evaluate.auto import Auto
from mlnlearn.evaluate.cross_validate import Fits
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.run import Run, model_of
from mlnlearn.sklearn.frames import LinkedFrames, check_columns, frame_table, seeded_boost
from mlnlearn.sklearn.tables import coded, database_of, training_databases
from mlnlearn.structure.learner import Learner
from mlnlearn.structure.relational_boosting.learner import RelationalBoost

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

    Without databases and without a learner of its own, each row of X is a row of a table, whose
    columns say what is known of it, and y holds classes, two or more: boosted trees over features
    along links (`RelationalBoost`) learn from it and from the `tables` that it links to. Rows of X,
    and what they link to, may be new when predictions are asked for.

    Parameters
    ----------
    learner
        Settings with a method ``fit(databases)``. The fields of a dataclass are parameters:
        ``learner__trees`` sets the field ``trees``. By default `Auto`, which chooses among
        learners; of rows of a table, `RelationalBoost`.
    target
        Name of the predicate; by default the learner's own field ``target``.
    databases
        The data, shared by all clones, never copied. By default nothing is known but X itself.
    random_state
        The learner's seed, for learners that have one; None for that of the learner.
    n_jobs
        Processes, for learners that can share their work, -1: one a core; the result is the same.
    tables, keys, links
        Of rows of a table: data frames by name that rows of X, or each other, refer to; their keys
        (see `Keys`); and which column of X refers to which.

    Attributes
    ----------
    classes_
        The labels, in order.
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

    A data frame, and nothing else:

    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": range(90)})
    >>> y = ["small" if size < 30 else "large" for size in X["size"]]
    >>> MLNClassifier().fit(X, y).predict(pd.DataFrame({"size": [3, 70]})).tolist()
    ['small', 'large']
    """

    def __init__(
        self,
        learner: Fits | None = None,
        target: str | None = None,
        databases: Database | Sequence[Database] | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
        tables: Mapping[str, Any] | None = None,
        keys: Mapping[str, Any] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> None:
        self.learner = learner
        self.target = target
        self.databases = databases
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.tables = tables
        self.keys = keys
        self.links = links

    def fit(self, X: ArrayLike, y: ArrayLike) -> MLNClassifier:  # noqa: N803 - scikit-learn's name
        """Learn from labelled atoms.

        Parameters
        ----------
        X
            The atoms, shape (atoms, arguments), or rows; a data frame or anything like an array.
        y
            Their truth, or their classes.
        """
        if self._of_rows:
            return self._fit_rows(X, y)
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

    @property
    def _of_rows(self) -> bool:
        """Whether rows of X are rows of a table, not atoms."""
        return self.databases is None and isinstance(self.learner, RelationalBoost | None)

    def _fit_rows(self, X: Any, y: ArrayLike) -> MLNClassifier:  # noqa: N803
        labels = np.asarray(y)
        rows = frame_table(X)
        if labels.ndim != 1:
            raise InputError("y must hold one class a row")
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError("y must hold more than one class; found one class")
        self.n_features_in_ = len(rows.columns)
        self.feature_names_ = tuple(rows.columns)
        names = [str(label) for label in labels.tolist()]
        learner = seeded_boost(self.learner, self.random_state)  # type: ignore[arg-type]
        run = Run(workers=effective_n_jobs(self.n_jobs))
        self.model_ = self._linked().learned(rows, names, "value", learner, run)
        return self

    def _row_chances(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        rows = frame_table(X)
        check_columns(rows, self.feature_names_)
        found = self._linked().answers(self.model_, rows)
        places = {name: place for place, name in enumerate(self.model_.classes)}
        return found[:, [places[str(label)] for label in self.classes_.tolist()]]

    def _linked(self) -> LinkedFrames:
        return LinkedFrames(self.tables, self.keys, self.links)

    def _fitted(self, databases: list[Database]) -> Any:
        """Run the learner, with the seed and the processes that were asked for."""
        learner: Any = Auto(target=self._target()) if self.learner is None else self.learner
        if self.random_state is not None and "seed" in getattr(learner, _FIELDS, {}):
            learner = replace(learner, seed=int(self.random_state))
        if self.n_jobs is None or not isinstance(learner, Learner):
            return learner.fit(databases)
        return learner.fit(databases, Run(workers=effective_n_jobs(self.n_jobs)))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
        """Return the probabilities of the classes, one row an atom or row."""
        check_is_fitted(self)
        if self._of_rows:
            return self._row_chances(X)
        table = validate_data(self, X, dtype=None, reset=False)
        databases = self._databases(table)
        examples = coded(table, databases, self._target())
        true = predict_examples(self.model_, databases, examples).probability
        return np.column_stack([1.0 - true, true])

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """Return the most probable class of each atom or row."""
        chances = self.predict_proba(X)
        chosen: NDArray[Any] = self.classes_[np.argmax(chances, axis=1)]
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
        tags.classifier_tags.multi_class = self._of_rows
        return tags
