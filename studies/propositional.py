"""A propositional peer: relational aggregates of one and two hops, and a flat learner.

What a data scientist would do with linked tables: for every example, the columns of its rows, the
columns of the rows they link to, counts, shares, means, least and greatest values over the rows
that point at them, one and two links away, and for pairs how often they meet; then gradient
boosting, by LightGBM or scikit-learn, or logistic regression on that table. Nothing of the
library's learners is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mlnlearn.counting.examples import RowExamples
from mlnlearn.counting.relational import NAME, Link, Nominal, Number, Relational, RowSet

VALUES = 30
"""So many of the most frequent values of a column get a feature of their own."""
FEATURES = 3000
"""No more features than this of a thing, and of a table: those that go with the label most."""
FOLDS = 5
"""Labels of neighbours are those of other folds."""

Floats = NDArray[np.float64]


def own_columns(
    view: Relational, row_set: RowSet, *, skip: str = ""
) -> Iterator[tuple[str, Floats]]:
    """Yield the features of rows by themselves: numbers, and indicators of frequent values."""
    for name, column in row_set.columns.items():
        if name == skip:
            continue
        if isinstance(column, Number):
            yield name, column.values
        elif isinstance(column, Nominal):
            yield from _indicators(name, column)
        elif len(view[column.to].columns) == 1:  # a thing of which only the name is known
            named = view[column.to].columns[NAME]
            assert isinstance(named, Nominal)
            codes = np.append(named.codes, np.int32(-1))[column.codes]
            yield from _indicators(name, Nominal(codes, named.names))


def _indicators(name: str, column: Nominal) -> Iterator[tuple[str, Floats]]:
    present = column.codes[column.codes >= 0]
    counts = np.bincount(present, minlength=len(column.names))
    repeated = np.flatnonzero(counts >= 3)
    for code in repeated[np.argsort(-counts[repeated], kind="stable")][:VALUES]:
        cells = (column.codes == code).astype(np.float64)
        cells[column.codes < 0] = np.nan
        yield f"{name}={column.names[code]}", cells


def entity_features(
    view: Relational, name: str, hops: int, *, skip: tuple[str, str] = ("", ""), came: str = ""
) -> Iterator[tuple[str, Floats]]:
    """Yield the features of all rows of a row set, from so many hops around it."""
    row_set = view[name]
    yield from own_columns(view, row_set, skip=skip[1] if skip[0] == name else "")
    if not hops:
        return
    for column, link in row_set.links.items():
        if (name, column) == skip or column == came:
            continue
        for feature, values in entity_features(view, link.to, hops - 1, skip=skip):
            yield f"{column}.{feature}", np.append(values, np.nan)[link.codes]
    for other, column in view.pointing[name]:
        if (other, column) == skip:
            continue
        link = view[other].links[column]
        yield from _aggregates(view, other, column, link, row_set.rows, hops, skip)


def _aggregates(
    view: Relational,
    other: str,
    column: str,
    link: Link,
    rows: int,
    hops: int,
    skip: tuple[str, str],
) -> Iterator[tuple[str, Floats]]:
    owner = link.codes
    used = owner >= 0
    number = np.bincount(owner[used], minlength=rows).astype(np.float64)
    yield f"count({other}.{column})", number
    inner = entity_features(view, other, hops - 1, skip=skip, came=column)
    for feature, values in inner:
        known = used & ~np.isnan(values)
        count = np.bincount(owner[known], minlength=rows)
        total = np.bincount(owner[known], values[known], rows).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            yield f"mean({other}.{column}: {feature})", total / count
        if "=" in feature:
            yield f"sum({other}.{column}: {feature})", total
        else:
            for word, ufunc, start in (("min", np.minimum, np.inf), ("max", np.maximum, -np.inf)):
                found = np.full(rows, start)
                ufunc.at(found, owner[known], values[known])
                found[count == 0] = np.nan
                yield f"{word}({other}.{column}: {feature})", found


def meetings(view: Relational, base: RowSet, skip: str) -> Iterator[tuple[str, Floats]]:
    """Yield, for pairs, how often their things meet: in one row, or by way of a third thing."""
    links = list(base.links.items())
    for place, (first, one) in enumerate(links):
        for second, two in links[place + 1 :]:
            for words, matrix in _ways(view, one.to, two.to, skip):
                found = np.asarray(matrix[one.codes, two.codes]).ravel().astype(np.float64)
                yield f"{first} meets {second} by {words}", found


def _ways(
    view: Relational, one: str, two: str, skip: str
) -> Iterator[tuple[str, sparse.csr_array]]:
    steps: dict[tuple[str, str], list[tuple[str, sparse.csr_array]]] = {}
    for row_set in view:
        if row_set.name == skip:
            continue
        for first, a in row_set.links.items():
            for second, b in row_set.links.items():
                if first != second:
                    both = (a.codes >= 0) & (b.codes >= 0)
                    shape = view[a.to].rows, view[b.to].rows
                    ones = np.ones(int(both.sum()))
                    pairs = (a.codes[both], b.codes[both])
                    matrix = sparse.csr_array((ones, pairs), shape)
                    steps.setdefault((a.to, b.to), []).append(
                        (f"{row_set.name}.{first}-{second}", matrix)
                    )
    yield from steps.get((one, two), ())
    for (start, middle), firsts in steps.items():
        if start != one:
            continue
        for words, left in firsts:
            for more, right in steps.get((middle, two), ()):
                product = left @ right
                if product.nnz < 5_000_000:
                    yield f"{words}, {more}", product


def features(
    view: Relational, examples: RowExamples, test: NDArray[np.bool_], seed: int = 0, hops: int = 2
) -> tuple[Floats, list[str]]:
    """Return the table of features of all examples, those to be tested among them."""
    home, base = examples.home, examples.base
    skip = (home.row_set, home.column or "")
    found: dict[str, Floats] = {}
    if home.column is not None:
        found |= dict(_first(entity_features(view, home.row_set, hops, skip=skip)))
    else:
        without = Relational(
            {n: r for n, r in view.row_sets.items() if n != home.row_set}, view.types, view.places
        )
        for column, link in base.links.items():
            for name, values in _first(entity_features(without, link.to, hops)):
                found[f"{column}.{name}"] = np.append(values, np.nan)[link.codes]
        for name, values in _first(meetings(without, base, home.row_set)):
            found[name] = values
    if len(view[home.row_set].part) and base.part.max() == 0 and base.times is None:
        found |= dict(known_labels(view, examples, test, seed))
    table = np.column_stack(list(found.values())) if found else np.zeros((base.rows, 1))
    return table, list(found) or ["nothing"]


def known_labels(
    view: Relational, examples: RowExamples, test: NDArray[np.bool_], seed: int
) -> Iterator[tuple[str, Floats]]:
    """Yield what is known of the labels of neighbours, each example's own fold left out."""
    base, rows = examples.base, examples.base.rows
    if not examples.classes or not test.any():
        return
    folds = np.random.default_rng(seed).integers(0, FOLDS, rows)
    folds[test] = -1
    usable = examples.known & ~test
    truth = [usable & (examples.label == code) for code in range(len(examples.classes))]
    if examples.home.column is None:
        for name, link in base.links.items():
            size = view[link.to].rows
            yield f"known by {name}", _out_of_fold(truth[1], folds, link.codes, size)
        return
    for name, near in _neighbours(view, view[examples.home.row_set]):
        near.setdiag(0)
        total = _near(near, usable, folds)
        for code, true in list(enumerate(truth))[:VALUES]:
            with np.errstate(invalid="ignore", divide="ignore"):
                yield f"share of {code} by {name}", _near(near, true, folds) / total


def _out_of_fold(
    true: NDArray[np.bool_], folds: NDArray[np.int64], codes: NDArray[np.int32], size: int
) -> Floats:
    found = np.zeros(len(codes))
    for fold in range(-1, FOLDS):
        counts = np.bincount(codes[true & (folds != fold)], minlength=size)
        found[folds == fold] = counts[codes[folds == fold]]
    return found


def _near(near: sparse.csr_array, true: NDArray[np.bool_], folds: NDArray[np.int64]) -> Floats:
    found = np.zeros(len(true))
    for fold in range(-1, FOLDS):
        rows = np.flatnonzero(folds == fold)
        found[rows] = near[rows] @ (true & (folds != fold)).astype(np.float64)
    return found


def _neighbours(view: Relational, home: RowSet) -> Iterator[tuple[str, sparse.csr_array]]:
    """Yield which rows of a row set are near which: they share a link, or a row links both."""
    matrices = []
    for name, link in home.links.items():
        used = np.flatnonzero(link.codes >= 0)
        shape = (home.rows, view[link.to].rows)
        entries = (np.ones(len(used)), (used, link.codes[used]))
        matrices.append((name, sparse.csr_array(entries, shape=shape)))
    for other, name in view.pointing[home.name]:
        rows = view[other]
        for second, to in rows.links.items():
            if second == name:
                continue
            both = (rows.links[name].codes >= 0) & (to.codes >= 0)
            pairs = (rows.links[name].codes[both], to.codes[both])
            shape = (home.rows, view[to.to].rows)
            matrix = sparse.csr_array((np.ones(int(both.sum())), pairs), shape=shape)
            if to.to == home.name:
                yield f"{other}.{second}", matrix.tolil().tocsr()
            matrices.append((f"{other}.{second}", matrix))
    for name, matrix in matrices:
        near = sparse.csr_array(matrix @ matrix.T)
        if near.nnz < 5_000_000:
            yield f"shared {name}", near


def _first(items: Iterator[tuple[str, Floats]]) -> Iterator[tuple[str, Floats]]:
    for place, item in enumerate(items):
        if place >= FEATURES:
            return
        yield item


def _strongest(table: Floats, label: Floats, train: NDArray[np.bool_]) -> Floats:
    """Return the columns that go with the label most, where there are too many."""
    if table.shape[1] <= FEATURES:
        return table
    x, y = np.nan_to_num(table[train]), label[train]
    x = x - x.mean(axis=0)
    strength = np.abs((y - y.mean()) @ x) / np.sqrt((x**2).sum(axis=0) + 1e-12)
    return table[:, np.sort(np.argsort(-strength, kind="stable")[:FEATURES])]


def fit_predict(
    kind: str, table: Floats, examples: RowExamples, train: NDArray[np.bool_], seed: int = 0
) -> Floats:
    """Return, for all examples, the class probabilities (or numbers) of a learner on `train`."""
    low, high = np.nanmin(table[train], axis=0), np.nanmax(table[train], axis=0)
    table = table[:, low < high] if np.any(low < high) else np.zeros((len(table), 1))
    table = _strongest(table, examples.label, train)
    x, y, w = table[train], examples.label[train], examples.weight[train]
    if not examples.classes:
        usual = HistGradientBoostingRegressor(random_state=seed)
        number = LGBMRegressor(**_lightgbm(seed)) if kind == "lightgbm" else usual
        fitted: Any = number.fit(x, y, sample_weight=w)
        numbers: Floats = fitted.predict(table)[:, None]
        return numbers
    found = np.zeros((len(table), len(examples.classes)))
    present = np.unique(y).astype(int)
    if len(present) == 1:
        found[:, present[0]] = 1.0
        return found
    if kind == "lightgbm":
        model = LGBMClassifier(**_lightgbm(seed)).fit(x, y, sample_weight=w)
    elif kind == "boosting":
        model = HistGradientBoostingClassifier(random_state=seed, early_stopping=True)
        if len(y) < 200 or min(np.bincount(y.astype(int))[present]) < 5:
            model = HistGradientBoostingClassifier(random_state=seed, max_iter=50)
        model.fit(x, y, w)
    else:
        x, table = np.nan_to_num(x), np.nan_to_num(table)
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300))
        model.fit(x, y, logisticregression__sample_weight=w)
    found[:, present] = model.predict_proba(table)
    return found


def _lightgbm(seed: int) -> dict[str, Any]:
    """Return LightGBM's settings: all as they are by default, on one thread, without a word."""
    return {"random_state": seed, "n_jobs": 1, "verbose": -1}
