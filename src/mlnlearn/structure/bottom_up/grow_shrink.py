"""Which columns of a truth table depend on each other: Markov blankets by grow and shrink.

Margaritis & Thrun (1999). A column depends on another given some more where a χ² test over the
strata of these says so. Rows share constants, so that p-values are a heuristic and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.late import late
from mlnlearn.structure.bottom_up.truth_table import TruthTable

stats = late("scipy.stats")

_BITS = 62  # columns that a whole number tells apart


def dependence(
    table: TruthTable, one: int, other: int, given: Sequence[int]
) -> tuple[float, float]:
    """Return p-value and statistic of the χ² test that two columns are independent given others.

    Examples
    --------
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], bool)
    >>> even, uneven = np.full(4, 10.0), np.array([30.0, 10.0, 10.0, 30.0])
    >>> dependence(TruthTable(((),), rows, even), 0, 1, ())
    (1.0, 0.0)
    >>> dependence(TruthTable(((),), rows, uneven), 0, 1, ())[1]
    20.0
    """
    rows = table.rows
    stratum = strata(rows[:, list(given)])
    cell = 4 * stratum + 2 * rows[:, one] + rows[:, other]
    counts = np.bincount(cell, table.weight, 4 * (stratum.max() + 1)).reshape(-1, 2, 2)
    first, second = counts.sum(axis=2), counts.sum(axis=1)
    total = first.sum(axis=1)
    # a stratum in which either column has one value only tells nothing
    told = (first.min(axis=1) > 0.0) & (second.min(axis=1) > 0.0)
    if not told.any():
        return 1.0, 0.0
    expected = first[told][:, :, None] * second[told][:, None, :] / total[told][:, None, None]
    statistic = float(((counts[told] - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(statistic, int(told.sum()))), statistic


def strata(rows: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return, for each row, which of the different rows it is.

    Examples
    --------
    >>> strata(np.array([[0, 1], [1, 0], [0, 1]], bool))
    array([1, 0, 1])
    """
    if rows.shape[1] <= _BITS:
        codes = rows @ (1 << np.arange(rows.shape[1]))
        return np.unique(codes, return_inverse=True)[1].reshape(-1)
    packed = np.packbits(rows, axis=1)
    return np.unique(packed, axis=0, return_inverse=True)[1].reshape(-1)


def blanket(table: TruthTable, column: int, alpha: float, most: int | None) -> frozenset[int]:
    """Return the Markov blanket of a column: what it depends on given all the rest of it.

    Parameters
    ----------
    table
        The table.
    column
        Its number; 0 is the head.
    alpha
        Columns depend on each other where the p-value is below this.
    most
        Most columns of a blanket; None for any number.
    """
    others = [other for other in range(table.rows.shape[1]) if other != column]
    found: list[int] = []
    for other in by_strength(table, column, others):
        if most is not None and len(found) == most:
            break
        if dependence(table, column, other, found)[0] < alpha:
            found.append(other)
    for other in list(found):
        rest = [one for one in found if one != other]
        if dependence(table, column, other, rest)[0] >= alpha:
            found = rest
    return frozenset(found)


def markov_network(table: TruthTable, alpha: float, most: int | None) -> list[frozenset[int]]:
    """Return the neighbours of each column: either is in the blanket of the other."""
    columns = range(table.rows.shape[1])
    blankets = [blanket(table, column, alpha, most) for column in columns]
    return [
        blankets[one] | {other for other in columns if one in blankets[other]} for one in columns
    ]


def by_strength(table: TruthTable, column: int, others: Iterable[int]) -> list[int]:
    """Sort columns by how much a column depends on each, where nothing else is given."""
    strength = {other: dependence(table, column, other, ()) for other in others}
    # very small p-values are all zero; the statistic still tells them apart
    return sorted(strength, key=lambda other: (strength[other][0], -strength[other][1], other))


def strongest(table: TruthTable, most: int | None) -> TruthTable:
    """Return a table with those columns that depend most on the head; with all where None."""
    return table.only(by_strength(table, 0, range(1, table.rows.shape[1]))[:most])
