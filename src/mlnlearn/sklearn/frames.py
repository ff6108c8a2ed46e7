"""Labels of rows as scikit-learn asks for them: a data frame, and the tables that it links to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.define import define_tables
from mlnlearn.data.load.edits import MappingLike
from mlnlearn.data.load.frames import read_frame
from mlnlearn.data.load.tables import Keys, Table
from mlnlearn.errors import InputError
from mlnlearn.evaluate.rows import predict_rows
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.run import Run
from mlnlearn.structure.relational_boosting.learner import RelationalBoost

ROWS, LABEL, IDENTITY = "row", "label", "row_id"
"""What the table of X, the column of y and the key of a row are called."""


@dataclass(frozen=True, eq=False)
class LinkedFrames:
    """Rows of a frame with labels, beside the tables that they link to.

    Attributes
    ----------
    tables, keys, links
        As for `MLNRegressor`.
    """

    tables: Mapping[str, Any] | None
    keys: Mapping[str, Any] | None
    links: Mapping[str, str] | None

    def learned(
        self, rows: Table, labels: list[Any], role: str, learner: RelationalBoost | None, run: Run
    ) -> RelationalModel:
        """Learn from rows and their labels, which are of a role: a number, or a value."""
        # an entity that nobody knows yet is an empty link, which does not say that there is none
        changes = [f'{ROWS}.columns.{LABEL} = {{ as = "{role}" }}'] + [
            f'{ROWS}.columns.{json.dumps(column)} = {{ null = "unknown" }}'
            for column in self.links or {}
        ]
        data = self._data(rows, labels, "\n".join(changes))
        target = f"{ROWS}.{LABEL}"
        learner = RelationalBoost(target=target) if learner is None else learner
        return replace(learner, target=target).fit(data, run).model

    def answers(self, model: RelationalModel, rows: Table) -> NDArray[np.float64]:
        """Return what a model says of rows, in their order: the number, or the chances."""
        count = _length(rows)
        answers = predict_rows(model, self._data(rows, [None] * count, model.mapping))
        found = np.empty(answers.values.shape)
        found[[int(name) for name in answers.names]] = answers.values
        return found

    def _data(self, rows: Table, labels: list[Any], mapping: MappingLike | None) -> Data:
        clash = {ROWS} & set(self.tables or ()) or {LABEL, IDENTITY} & set(rows.columns)
        if clash:
            raise InputError(f"the name {clash.pop()!r} is taken", hint="call it something else")
        own = {IDENTITY: Column.of(list(range(len(labels)))), LABEL: Column.of(labels)}
        tables = [
            Table(ROWS, {**rows.columns, **own}),
            *(read_frame(name, frame) for name, frame in (self.tables or {}).items()),
        ]
        keys = {**(self.keys or {}), ROWS: Keys(IDENTITY, dict(self.links or {}))}
        loaded = build_database(define_tables(tables, None, keys), mapping)
        return Data((loaded.database,), loaded.mapping)


class MLNRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predict a number of each row of a data frame, from it and from the tables it links to.

    Boosted trees over features along links (`RelationalBoost`). Rows of X, and what they link to,
    may be new when predictions are asked for: what is not known there counts as empty.

    Parameters
    ----------
    tables
        Data frames by name that rows of X, or each other, refer to.
    keys
        The keys of these tables: see `Keys`.
    links
        Which column of X refers to which table.
    learner
        Settings of the learner; its target is set here.
    random_state
        The learner's seed; a whole number, or None for that of the settings.
    n_jobs
        Processes, where the learner can share its work, -1 for one a core; the result is the same.

    Attributes
    ----------
    model_
        What was learned: ``model_.shown_rules()`` tells it in words.
    n_features_in_
        The number of columns of X.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": range(60)})
    >>> regressor = MLNRegressor(random_state=0).fit(X, [2.0 * size for size in X["size"]])
    >>> new = regressor.predict(pd.DataFrame({"size": [10, 50]}))
    >>> bool(new[0] < 40 < 80 < new[1])
    True
    """

    def __init__(
        self,
        tables: Mapping[str, Any] | None = None,
        keys: Mapping[str, Any] | None = None,
        links: Mapping[str, str] | None = None,
        learner: RelationalBoost | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.tables = tables
        self.keys = keys
        self.links = links
        self.learner = learner
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike) -> MLNRegressor:  # noqa: N803 - scikit-learn's name
        """Learn from rows and their numbers.

        Parameters
        ----------
        X
            A data frame, or anything like an array with two dimensions.
        y
            The numbers.
        """
        numbers = np.asarray(y, np.float64)
        if numbers.ndim != 1 or not np.isfinite(numbers).all():
            raise InputError("y must hold one number a row, and no gaps")
        rows = frame_table(X)
        self.n_features_in_ = len(rows.columns)
        self.feature_names_ = tuple(rows.columns)
        learner = seeded_boost(self.learner, self.random_state)
        run = Run(workers=effective_n_jobs(self.n_jobs))
        self.model_ = self._linked().learned(rows, numbers.tolist(), "number", learner, run)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the number of each row.

        Parameters
        ----------
        X
            Rows with the columns that were learned from.
        """
        check_is_fitted(self)
        rows = frame_table(X)
        check_columns(rows, self.feature_names_)
        return self._linked().answers(self.model_, rows)[:, 0]

    def _linked(self) -> LinkedFrames:
        return LinkedFrames(self.tables, self.keys, self.links)


def seeded_boost(learner: RelationalBoost | None, seed: int | None) -> RelationalBoost:
    """Return the learner of rows with the seed that was asked for."""
    found = RelationalBoost(target=LABEL) if learner is None else learner
    return found if seed is None else replace(found, seed=int(seed))


def check_columns(rows: Table, known: tuple[str, ...]) -> None:
    """Refuse rows that have not the columns that were learned from."""
    if tuple(rows.columns) != known:
        raise InputError(
            f"X has the columns {', '.join(rows.columns)}; learned from: {', '.join(known)}"
        )


def frame_table(X: Any) -> Table:  # noqa: N803
    """Return rows as a table without keys: a frame, or an array whose columns are numbered."""
    if hasattr(X, "columns"):
        return read_frame(ROWS, X)
    cells = np.asarray(X)
    if cells.ndim != 2:
        raise InputError("X must have two dimensions: rows and columns")
    columns = {f"x{place}": Column.of(cells[:, place].tolist()) for place in range(cells.shape[1])}
    return Table(ROWS, columns)


def _length(rows: Table) -> int:
    return len(next(iter(rows.columns.values())).codes) if rows.columns else 0
