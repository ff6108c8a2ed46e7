"""Ground atoms of a target as rows that features are read of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mlnlearn.counting.aggregates import Floats
from mlnlearn.counting.arrays import rows_of
from mlnlearn.counting.relational import (
    Column,
    Link,
    Nominal,
    Number,
    Place,
    Relational,
    RowSet,
)
from mlnlearn.data.database import Columns, Database
from mlnlearn.data.population import all_atoms
from mlnlearn.errors import InputError

MOST_ATOMS = 20_000_000
"""Most atoms of one question."""


def without_place(view: Relational, home: Place) -> Relational:
    """Return the data without what stands at a place: a column, or all rows of a relation."""
    if home.column is not None:
        return view.with_row_set(view[home.row_set].without(home.column))
    rest = {name: rows for name, rows in view.row_sets.items() if name != home.row_set}
    return replace(view, row_sets=rest)


@dataclass(frozen=True, eq=False)
class AtomRows:
    """The rows that atoms of a target speak of.

    Attributes
    ----------
    base
        The rows, each once.
    row
        The row of each atom.
    value
        The code of each atom's value, where the target is a column of values.
    """

    base: RowSet
    row: np.ndarray[tuple[int], np.dtype[np.int64]]
    value: Columns | None


def atom_rows(view: Relational, home: Place, columns: Columns, valued: bool) -> AtomRows:
    """Return the rows of atoms, given as codes of the only database of a view."""
    row_set = view[home.row_set]
    value = columns[-1] if valued else None
    keys = columns[:-1] if valued else columns
    if home.column is not None and row_set.name in view.types.values():
        return AtomRows(row_set.without(home.column), keys[0].astype(np.int64), value)
    distinct, row = np.unique(keys, axis=1, return_inverse=True)
    row = np.asarray(row).reshape(-1)
    names = list(row_set.columns)[: len(distinct)]
    found: dict[str, Column] = {}
    for name, codes in zip(names, distinct, strict=True):
        column = row_set.columns[name]
        if isinstance(column, Number):
            raise InputError(f"{row_set.name}.{name} is a number, so its rows cannot be asked for")
        found[name] = replace(column, codes=codes)
    part = np.zeros(distinct.shape[1], np.int32)
    if home.column is not None:
        found |= _others(row_set.without(home.column), names, found)
    times = None
    if row_set.times is not None and home.column is not None:
        times = _times(row_set, names, found)
    return AtomRows(RowSet(row_set.name, len(part), found, times, part), row, value)


def places_of(row_set: RowSet, base: RowSet) -> Columns:
    """Return which row of a relation each row of a base is, -1 where it does not exist."""
    names = [name for name, c in base.columns.items() if not isinstance(c, Number)]
    return _places(row_set, names, dict(base.columns))


def _places(row_set: RowSet, names: list[str], found: dict[str, Column]) -> Columns:
    """Return the rows of a relation by what its links point to, -1 for none."""
    own = [_codes(row_set.columns[name]) for name in names]
    asked = [_codes(found[name]) for name in names]
    sizes = [
        int(max(a.max(initial=0), b.max(initial=0))) + 1 for a, b in zip(own, asked, strict=True)
    ]
    return np.asarray(rows_of(own, asked, sizes), np.int32)


def _others(row_set: RowSet, names: list[str], found: dict[str, Column]) -> dict[str, Column]:
    """Return the columns of a relation that are no arguments."""
    places = _places(row_set, names, found)
    rest: dict[str, Column] = {}
    for name, column in row_set.columns.items():
        if name in names:
            continue
        if isinstance(column, Number):
            rest[name] = replace(column, values=np.append(column.values, np.nan)[places])
        else:
            rest[name] = replace(column, codes=np.append(column.codes, np.int32(-1))[places])
    return rest


def _times(
    row_set: RowSet, names: list[str], found: dict[str, Column]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    assert row_set.times is not None
    return np.append(row_set.times, np.nan)[_places(row_set, names, found)]


def _codes(column: Column) -> Columns:
    assert isinstance(column, Link | Nominal)
    return column.codes


def possible_atoms(database: Database, predicate: str) -> Columns:
    """Return all ground atoms of a predicate, as many as one question may have."""
    hint = "mark the atoms that are asked for as unknown in the database"
    return all_atoms(database, predicate, MOST_ATOMS, hint)


def shares_in_blocks(blocks: Columns, log_odds: Floats) -> Floats:
    """Return the chances of atoms of which exactly one of a block is true: they add up to one.

    Examples
    --------
    >>> shares_in_blocks(np.array([[0, 0, 1]], np.int32), np.log([3.0, 1.0, 7.0])).round(3).tolist()
    [0.75, 0.25, 1.0]
    """
    _, block = np.unique(blocks, axis=1, return_inverse=True)
    block = np.asarray(block).reshape(-1)
    top = np.full(block.max(initial=0) + 1, -np.inf)
    np.maximum.at(top, block, log_odds)
    weight = np.exp(log_odds - top[block])
    shares: Floats = weight / np.bincount(block, weight)[block]
    return shares
