"""The target's own facts in features: labels of other rows, never that of the row itself.

"Tracks of the same album share a genre" reads the genres of other tracks. Such a feature is
evaluated on data in which the label of the row that is asked about is hidden: rows whose label is
known are dealt into a few folds, and each is asked with the labels of its whole fold hidden, in
learning and in answering alike. Labels that are not known say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.aggregates import Ints
from mlnlearn.counting.relational import FLAGS, Column, Nominal, Number, Place, Relational, RowSet
from mlnlearn.model.relational.atoms import places_of
from mlnlearn.model.relational.between import HopMatrices
from mlnlearn.model.relational.evaluate import Evaluator, Values
from mlnlearn.model.relational.features import AnyFeature, Backward, Between, Both, Forward

FOLDS = 5
"""Into how many folds rows with known labels are dealt."""


def has_own_facts(view: Relational, home: Place) -> bool:
    """Whether the labels of other rows could be read: of a column of entities, or of a relation."""
    return home.column is None or home.row_set in view.types.values()


def reads_own(feature: AnyFeature, home: Place) -> bool:
    """Whether a feature may read what stands at a place.

    Examples
    --------
    >>> from mlnlearn.model.relational.features import Feature
    >>> path = (Forward("album"), Backward("track", "album", "mean"))
    >>> genre = Place("track", "genre")
    >>> reads_own(Feature(path, "genre", "Rock"), genre), reads_own(Feature(path, "price"), genre)
    (True, False)
    """
    if isinstance(feature, Both):
        return reads_own(feature.first, home) or reads_own(feature.second, home)
    if isinstance(feature, Between):
        rows = [hop for hop in feature.hops if hop.rows == home.row_set]
        if home.column is None:
            return bool(rows)
        return any(home.column in (*hop.enter, *hop.leave) for hop in rows)
    if home.column is None:
        return any(isinstance(s, Backward) and s.rows == home.row_set for s in feature.steps)
    return (
        feature.column == home.column
        or any(
            step.link == home.column and (isinstance(step, Forward) or step.rows == home.row_set)
            for step in feature.steps
        )
        or any(
            isinstance(step, Backward)
            and step.where is not None
            and home.column in (*step.where.links, step.where.column)
            for step in feature.steps
        )
    )


def holds(view: Relational, home: Place) -> bool:
    """Whether data have a place for labels."""
    rows = view.row_sets.get(home.row_set)
    return rows is not None and (home.column is None or home.column in rows.columns)


def has_labels(view: Relational, home: Place) -> bool:
    """Whether data tell any label; where all that is not listed is false, a true one."""
    if not holds(view, home):
        return False
    rows = view[home.row_set]
    column = None if home.column is None else rows.columns[home.column]
    if column is None:
        return rows.rows > 0
    if isinstance(column, Number):
        return bool((~np.isnan(column.values)).any())
    flags = isinstance(column, Nominal) and tuple(column.names) == FLAGS
    return bool((column.codes >= (1 if flags else 0)).any())


def known_rows(view: Relational, home: Place, base: RowSet) -> NDArray[np.bool_]:
    """Return which rows of a base have a label that the data tell; of a relation, a true one."""
    rows = view[home.row_set]
    if home.column is None:
        return places_of(rows, base) >= 0
    column = rows.columns.get(home.column)
    if column is None:
        return np.zeros(base.rows, np.bool_)
    return ~np.isnan(column.values) if isinstance(column, Number) else column.codes >= 0


def without_labels(
    view: Relational, home: Place, base: RowSet, hidden: NDArray[np.bool_]
) -> Relational:
    """Return data in which the labels of some rows of a base are not known."""
    rows = view[home.row_set]
    if home.column is not None:
        column = rows.columns[home.column]
        blank: Column
        if isinstance(column, Number):
            blank = replace(column, values=np.where(hidden, np.nan, column.values))
        else:
            blank = replace(column, codes=np.where(hidden, -1, column.codes).astype(np.int32))
        return view.with_row_set(replace(rows, columns={**rows.columns, home.column: blank}))
    places = places_of(rows, base)[hidden]
    kept = np.ones(rows.rows, np.bool_)
    kept[places[places >= 0]] = False
    return view.with_row_set(rows.taken(np.flatnonzero(kept)))


def asked_folds(view: Relational, home: Place, base: RowSet) -> Ints:
    """Return the folds of rows that are asked about: -1 for those with nothing to hide."""
    known = known_rows(view, home, base)
    dealt = np.arange(base.rows) % FOLDS
    if home.column is None:
        # a false atom is asked as a true one is, or it would see more facts than that
        return dealt if known.any() else np.full(base.rows, -1)
    return np.where(known, dealt, -1)


@dataclass(eq=False)
class OwnEvaluator(Evaluator):
    """Evaluates features on data that hold labels, hiding from each row those of its fold.

    Attributes
    ----------
    home
        Where labels stand.
    folds
        The fold of each row of the base; of fold -1, nothing is hidden.
    hidden
        Rows of the base whose labels are hidden from all rows.
    """

    home: Place = field(kw_only=True)
    folds: Ints = field(kw_only=True)
    hidden: Ints | None = field(kw_only=True, default=None)
    _by_fold: dict[int, Evaluator] = field(default_factory=dict)

    def reads_own(self, feature: AnyFeature) -> bool:
        """Whether a feature reads labels of other rows."""
        return reads_own(feature, self.home)

    def hiding(self, rows: Ints) -> OwnEvaluator:
        """Return what evaluates with the labels of some rows hidden from all."""
        found = OwnEvaluator(
            self.data, self.timed, self.until, self, home=self.home, folds=self.folds, hidden=rows
        )
        found.hops = self.hops
        return found

    def values(
        self, feature: AnyFeature, base: RowSet, rows: NDArray[np.integer] | None = None
    ) -> Values:
        """Return the values of a feature for rows of the base, as of their times."""
        if not self.reads_own(feature):
            return super().values(feature, base, rows)
        asked = np.arange(base.rows) if rows is None else rows
        folds = self.folds[asked]
        found, names = np.full(len(asked), np.nan), None
        for fold in (np.flatnonzero(np.bincount(folds + 1)) - 1).tolist():
            here = np.flatnonzero(folds == fold)
            part = self._of_fold(fold, base).values(feature, base, asked[here])
            found[here], names = part.values, part.names
        return Values(found, names)

    def _of_fold(self, fold: int, base: RowSet) -> Evaluator:
        if fold not in self._by_fold:
            seen, hidden = self.data, (self.folds == fold) & (fold >= 0)
            if self.hidden is not None:
                hidden[self.hidden] = True
            if hidden.any():
                seen = without_labels(seen, self.home, base, hidden)
            found = Evaluator(seen, self.timed, self.until, self)
            found.hops = HopMatrices(seen, self.hops, self.home.row_set)
            self._by_fold[fold] = found
        return self._by_fold[fold]
