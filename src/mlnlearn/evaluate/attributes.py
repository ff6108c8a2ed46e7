"""Metrics of multi-valued attributes: one choice out of several values for every object.

The atoms of an attribute come in *blocks*, one for each object (or tuple of objects), and one atom
of a block is true. A block is predicted right where its most probable value is the true one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlnlearn.data.database import Columns, Database
from mlnlearn.data.examples import Examples
from mlnlearn.data.sampling import pack
from mlnlearn.errors import InputError
from mlnlearn.evaluate.probability import CLIP
from mlnlearn.evaluate.ranking import Floats, labelled

Blocks = NDArray[np.int64]

_TIE = 1e-9


def blocks_of(
    columns: Columns, values: Sequence[int], database: NDArray[np.integer] | None = None
) -> Blocks:
    """Return the block of each atom: blocks agree on all argument places but the values'.

    Parameters
    ----------
    columns
        Codes of the atoms, shape ``(arity, atoms)``.
    values
        The argument places that hold the attribute's value.
    database
        Index of each atom's database, where there are several.

    Examples
    --------
    >>> blocks_of(np.array([[3, 3, 5], [0, 1, 0]], np.int32), [1])
    array([0, 0, 1])
    """
    kept = [column for place, column in enumerate(columns) if place not in set(values)]
    if database is not None:
        kept.insert(0, np.asarray(database))
    if not kept or not columns.shape[1]:
        return np.zeros(columns.shape[1], np.int64)
    keys = pack(np.stack(kept), [int(column.max()) + 1 for column in kept])
    _, found = np.unique(keys, return_inverse=True)
    return found.astype(np.int64)


def attribute_examples(databases: Sequence[Database], predicate: str) -> Examples:
    """Return, of every tuple that has a value in the last argument, the atoms of all values.

    Nothing is asked of tuples without a value: of pairs that are not linked, or cells left empty.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> facts = {"rates": [("Anna", "Film", "Good"), ("Bob", "Film", "Bad")]}
    >>> db = Database.from_facts(Schema.of("rates(person,film,mark)"), facts)
    >>> examples = attribute_examples([db], "rates")
    >>> examples.columns.tolist(), examples.labels.tolist()
    ([[0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]], [True, False, False, True])
    """
    sizes = [db.size(db.schema[predicate].types[-1]) for db in databases]
    facts = [db.facts(predicate) for db in databases]
    parts = [np.repeat(table, size, axis=1) for table, size in zip(facts, sizes, strict=True)]
    values = [
        np.tile(np.arange(size, dtype=np.int32), table.shape[1])
        for table, size in zip(facts, sizes, strict=True)
    ]
    true = np.concatenate(parts, axis=1)
    asked = np.concatenate(values)
    number = np.repeat(np.arange(len(parts), dtype=np.int32), [part.shape[1] for part in parts])
    return Examples(
        databases[0].schema[predicate],
        number,
        np.concatenate([true[:-1], asked[None, :]]),
        true[-1] == asked,
        np.ones(len(asked)),
    )


def accuracy(labels: ArrayLike, probabilities: ArrayLike, blocks: ArrayLike) -> float:
    """Return the share of blocks whose most probable value is the true one.

    Where k values tie for the highest probability and the true one is among them, the block counts
    1/k: what choosing one of them at random would score in the mean. Blocks without a true value
    do not count.

    Examples
    --------
    >>> accuracy([True, False, False, True], [0.6, 0.4, 0.5, 0.5], [0, 0, 1, 1])
    0.75
    """
    truth, values, _ = labelled(labels, probabilities, None)
    place, count = _numbered(truth, blocks)
    highest = np.full(count, -np.inf)
    np.maximum.at(highest, place, values)
    # sums in another order differ in the last digits, and are still ties
    best = np.isclose(values, highest[place], rtol=_TIE, atol=0.0)
    tied = np.bincount(place[best], minlength=count)
    return float(np.where(best, 1.0 / tied[place], 0.0)[truth].mean()) if truth.any() else np.nan


def attribute_cll(labels: ArrayLike, probabilities: ArrayLike, blocks: ArrayLike) -> float:
    """Return the mean log-probability of the true values, each block's sum scaled to one.

    The scaled probability is kept away from 0 by `CLIP`.

    Examples
    --------
    >>> round(attribute_cll([True, False], [0.2, 0.6], [0, 0]), 6)  # log 1/4
    -1.386294
    """
    truth, values, _ = labelled(labels, probabilities, None)
    place, count = _numbered(truth, blocks)
    total = np.bincount(place, values, count)[place[truth]]
    alike = 1.0 / np.bincount(place, minlength=count)[place[truth]]
    shares: Floats = np.divide(values[truth], total, out=alike, where=total > 0)
    return float(np.log(np.maximum(shares, CLIP)).mean()) if len(shares) else np.nan


def _numbered(truth: NDArray[np.bool_], blocks: ArrayLike) -> tuple[Blocks, int]:
    """Return the place of each atom's block, and how many there are; at most one true atom each."""
    given = np.asarray(blocks)
    if given.shape != truth.shape:
        raise InputError(f"labels have shape {truth.shape}, but blocks {given.shape}")
    names, place = np.unique(given, return_inverse=True)
    place = place.reshape(-1).astype(np.int64)
    true = np.bincount(place[truth], minlength=len(names))
    if len(true) and true.max() > 1:
        raise InputError(
            f"{np.count_nonzero(true > 1)} blocks have more than one true value",
            hint="score a predicate with several true values by accuracy of its single atoms",
        )
    return place, len(names)
