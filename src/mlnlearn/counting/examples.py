"""What is to be predicted, one row an example: a column of a row set, or whether rows exist."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.relational import (
    FLAGS,
    NAME,
    NAMES_ROWS,
    Column,
    Floats,
    Link,
    Nominal,
    Number,
    Place,
    Relational,
    RowSet,
)
from mlnlearn.data.load.reading import OTHER
from mlnlearn.data.load.task import NAME as TASK
from mlnlearn.data.sampling import keys_of, number_of_keys, unpack
from mlnlearn.errors import DataWarning, InputError

MOST_CLASSES = 100
"""Of a column with more different values than this, the frequent ones are classes, and others."""
_FREQUENT = 30


@dataclass(frozen=True, eq=False)
class RowExamples:
    """Rows with what is to be predicted of them.

    Attributes
    ----------
    base
        One row an example, with what is known of it: its columns, links and times.
    label
        The place of the class, or a number; NaN where it is not known.
    classes
        The names of the classes; none where the label is a number.
    weight
        How many rows each example stands for, where only a sample was drawn.
    home
        The row set and column of the labels, or only the row set whose rows may exist.
    """

    base: RowSet
    label: Floats
    classes: Sequence[str]
    weight: Floats
    home: Place

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which examples have a label."""
        return ~np.isnan(self.label)


def find_place(view: Relational, target: str) -> Place:
    """Return the place that a target names: ``TABLE.COLUMN``, a column of one table, a predicate.

    Examples
    --------
    >>> from mlnlearn.counting.relational import relational
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("age(person,years!)", "friends(person,person)")
    >>> view = relational([Database.from_facts(schema, {"age": [("Anna", "30")]})])
    >>> find_place(view, "person.age").column, find_place(view, "friends").row_set
    ('age', 'friends')
    """
    for row_set in view:
        column = target.removeprefix(f"{row_set.name}.")
        if column != target and column and column in row_set.columns:
            return Place(row_set.name, column)
    if target in view.places:
        return view.places[target]
    having = [row_set.name for row_set in view if target and target in row_set.columns]
    if len(having) == 1:
        return Place(having[0], target)
    if having:
        raise InputError(
            f"{len(having)} tables have a column {target!r}: {', '.join(having)}",
            hint=f"write {having[0]}.{target}",
        )
    alike = _other_case(view, target)
    if len(alike) == 1:
        return alike[0]
    left = [name for name in view.left_out if target in (name, name.partition(".")[2])]
    if left:
        why = view.left_out[left[0]]
        if why == NAMES_ROWS:
            raise InputError(f"{left[0]} names the rows: there is nothing to predict")
        raise InputError(
            f"{left[0]} was left out" + (f": {why}" if why else ""),
            hint="there is nothing to learn of a column that is always the same"
            if why.startswith("always")
            else "a mapping can say how it is to be read",
        )
    known = [f"{r.name}.{c}" for r in view for c in r.columns if c] + [
        name for name, place in view.places.items() if place.column is None
    ]
    close = get_close_matches(target, known, 3, 0.5)
    raise InputError(
        f"no table, column or predicate {target!r}",
        hint=f"did you mean {' or '.join(close) or ', '.join(known[:12])}?",
    )


def _other_case(view: Relational, target: str) -> list[Place]:
    """Return the places that a target names but for small and capital letters."""
    wanted = target.casefold()
    columns = [(row_set.name, name) for row_set in view for name in row_set.columns if name]
    for forms in (
        {Place(table, name): f"{table}.{name}" for table, name in columns},
        {Place(table, name): name for table, name in columns},
    ):
        found = [place for place, form in forms.items() if form.casefold() == wanted]
        if found:
            return found
    return []


def examples_of(
    view: Relational,
    place: Place,
    *,
    max_examples: int | None = None,
    seed: int = 0,
    classes: Sequence[str] = (),
) -> RowExamples:
    """Return the examples of a target: all rows of a column's row set, or all possible rows.

    Only those of a task have times: of each is asked as of its own.

    Parameters
    ----------
    view
        The data.
    place
        What is to be predicted, see `find_place`.
    max_examples
        Above so many possible rows, those that do not exist are a sample, and weighted.
    seed
        For that sample.
    classes
        What values of a column are told apart, where a model says so; others are ``other`` if that
        is among them, else not known.

    Examples
    --------
    >>> from mlnlearn.counting.relational import relational
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("age(person,years!)", "friends(person,person)")
    >>> facts = {"age": [("Anna", "30"), ("Bob", "40")], "friends": [("Anna", "Bob")]}
    >>> view = relational([Database.from_facts(schema, facts)])
    >>> of_age = examples_of(view, find_place(view, "age"))
    >>> of_age.label.tolist(), of_age.classes, list(of_age.base.columns)
    ([0.0, 1.0], ('30', '40'), [''])
    >>> examples_of(view, find_place(view, "friends")).label.tolist()
    [0.0, 1.0, 0.0, 0.0]
    """
    row_set = view[place.row_set]
    if place.column is None:
        return _possible_rows(view, row_set, max_examples, seed)
    label, classes = _labels(view, row_set, place.column, classes)
    base = row_set.without(place.column)
    if row_set.name != TASK:  # what a column holds is asked now, whenever its row is from
        base = replace(base, times=None)
    return RowExamples(base, label, classes, np.ones(row_set.rows), place)


def _labels(
    view: Relational, row_set: RowSet, column: str, classes: Sequence[str]
) -> tuple[Floats, Sequence[str]]:
    found = row_set.columns[column]
    if isinstance(found, Number):
        return found.values, ()
    if isinstance(found, Link):
        named = view[found.to].columns[NAME]
        assert isinstance(named, Nominal)
        codes = np.append(named.codes, np.int32(-1))[found.codes]
        found = Nominal(codes, named.names)
    if classes:
        return _labels_among(found, classes), classes
    used = np.unique(found.codes[found.codes >= 0])
    names = found.names
    if len(names) > MOST_CLASSES or found.names is not FLAGS:
        names = tuple(names[code] for code in used)
    if len(names) > MOST_CLASSES:
        warnings.warn(
            f"{row_set.name}.{column} has more than {MOST_CLASSES} different values: the "
            f"{_FREQUENT} most frequent are told apart, all others are {OTHER!r}",
            DataWarning,
            stacklevel=4,
        )
        return _frequent_classes(found)
    codes = found.codes
    if names is not found.names:
        places = np.full(len(found.names) + 1, -1)
        places[used] = np.arange(len(used))
        codes = places[codes]
    return np.where(codes < 0, np.nan, codes), names


def _labels_among(found: Nominal, classes: Sequence[str]) -> Floats:
    """Return labels by the places of some classes."""
    places = {name: float(place) for place, name in enumerate(classes)}
    none = places.get(OTHER, np.nan)
    by_code = np.array([*(places.get(name, none) for name in found.names), np.nan])
    return by_code[found.codes]


def _frequent_classes(found: Nominal) -> tuple[Floats, Sequence[str]]:
    """Return labels of the most frequent names, of two as frequent the first; all others are one.

    Examples
    --------
    >>> codes = np.repeat(np.arange(200, dtype=np.int32), [3, *[2] * 29, *[1] * 170])
    >>> label, classes = _frequent_classes(Nominal(codes, tuple(map(str, range(200)))))
    >>> len(classes), classes[0], classes[-1], int((label == 30).sum())
    (31, '0', 'other', 170)
    """
    counts = np.bincount(found.codes[found.codes >= 0], minlength=len(found.names))
    order = np.argsort(-counts, kind="stable")
    chosen = np.sort([code for code in order.tolist() if found.names[code] != OTHER][:_FREQUENT])
    places = np.full(len(found.names) + 1, float(len(chosen)))
    places[chosen] = np.arange(len(chosen))
    places[-1] = np.nan
    return places[found.codes], (*(found.names[code] for code in chosen.tolist()), OTHER)


def _possible_rows(
    view: Relational, row_set: RowSet, max_examples: int | None, seed: int
) -> RowExamples:
    """Return all tuples that a relation could hold, or its rows and a sample of the others."""
    rng = np.random.default_rng(seed)
    keys = {name: c for name, c in related(row_set).items() if not isinstance(c, Number)}
    parts = np.unique(np.concatenate([r.part for r in view]))
    domains = [{name: _values(view, c, part) for name, c in keys.items()} for part in parts]
    totals = [number_of_keys([len(values) for values in d.values()]) for d in domains]
    budget = None if max_examples is None or sum(totals) <= max_examples else max_examples
    drawn, labels, weights, owner = [], [], [], []
    for part, domain, total in zip(parts.tolist(), domains, totals, strict=True):
        sizes = [len(values) for values in domain.values()]
        here = row_set.part == part
        true = _keys(domain.values(), [c.codes[here] for c in keys.values()], sizes)
        open_ = np.empty(0, np.int64)
        if row_set.unknown is not None:
            atoms = row_set.unknown[1:, row_set.unknown[0] == part]
            named = zip(related(row_set), atoms, strict=True)
            open_ = _keys(domain.values(), [rows for name, rows in named if name in keys], sizes)
        listed = np.union1d(true, open_)
        false, weight = _negatives(listed, total, budget, sum(totals), rng)
        chosen = np.sort(np.concatenate([listed, false]))
        exists = np.isin(chosen, true, assume_unique=True)
        codes = unpack(chosen, sizes)
        drawn.append([v[c] for v, c in zip(domain.values(), codes, strict=True)])
        labels.append(np.where(np.isin(chosen, open_), np.nan, exists))
        weights.append(np.where(np.isin(chosen, listed), 1.0, weight))
        owner.append(np.full(len(chosen), part, np.int32))
    columns: dict[str, Column] = {
        name: replace(c, codes=np.concatenate([d[i] for d in drawn]))
        for i, (name, c) in enumerate(keys.items())
    }
    label = np.concatenate(labels)
    base = RowSet(row_set.name, len(label), columns, None, np.concatenate(owner))
    return RowExamples(base, label, FLAGS, np.concatenate(weights), Place(row_set.name, None))


def related(row_set: RowSet) -> dict[str, Column]:
    """Return the columns of a relation that say what it relates; what else it says is left out."""
    arity = len(row_set.columns) if row_set.unknown is None else len(row_set.unknown) - 1
    return dict(islice(row_set.columns.items(), arity))


def _keys(
    domain: Iterable[Codes], rows: Sequence[Codes], sizes: Sequence[int]
) -> NDArray[np.int64]:
    places = [np.searchsorted(values, codes) for values, codes in zip(domain, rows, strict=True)]
    return np.unique(keys_of(places, sizes))


def _values(view: Relational, column: Nominal | Link, part: int) -> Codes:
    """Return what a column could hold in the rows of one database, sorted."""
    if isinstance(column, Link):
        return np.flatnonzero(view[column.to].part == part).astype(np.int32)
    return np.arange(len(column.names), dtype=np.int32)


def _negatives(
    true: NDArray[np.int64],
    total: int,
    budget: int | None,
    everywhere: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], float]:
    """Return the keys of rows that do not exist, all or a sample, and what each stands for."""
    number = total - len(true)
    if budget is None:
        return np.setdiff1d(np.arange(total), true, assume_unique=True), 1.0
    wanted = min(max(round(budget * total / everywhere), 1), number)
    found = np.empty(0, np.int64)
    while len(found) < wanted:
        more = rng.integers(0, total, 2 * (wanted - len(found)) + 16)
        found = np.setdiff1d(np.union1d(found, more), true, assume_unique=True)
    if len(found) > wanted:
        found = np.sort(rng.choice(found, wanted, replace=False))
    return found, number / max(wanted, 1)
