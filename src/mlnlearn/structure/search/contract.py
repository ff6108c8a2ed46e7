"""Sums over products of arrays whose axes are variables: dense counting for small domains."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.errors import MemoryLimitError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Factor:
    """An array with one axis for the databases, then one for each of its (distinct) variables."""

    variables: tuple[int, ...]
    values: Floats


def contract(factors: Sequence[Factor], keep: Sequence[int], most_cells: int) -> Floats:
    """Sum the product of factors over all variables but `keep`, each of which is in some factor.

    Parameters
    ----------
    factors
        At least one.
    keep
        The variables of the answer, in the order of its axes.
    most_cells
        Size at which an intermediate array is refused.

    Examples
    --------
    >>> likes = np.array([[[0.0, 1.0], [1.0, 1.0]]])
    >>> paths = contract([Factor((0, 1), likes), Factor((1, 2), likes)], (0, 2), 1000)
    >>> paths.tolist()
    [[[1.0, 1.0], [1.0, 2.0]]]
    """
    sizes = {v: n for f in factors for v, n in zip(f.variables, f.values.shape[1:], strict=True)}
    waiting = list(factors)
    open_variables = set(sizes) - set(keep)
    while open_variables:
        variable = min(sorted(open_variables), key=lambda v: _joined_size(waiting, v, sizes))
        bucket = [factor for factor in waiting if variable in factor.variables]
        waiting = [factor for factor in waiting if variable not in factor.variables]
        elsewhere = set(keep).union(*(factor.variables for factor in waiting))
        waiting.append(_multiply_all(bucket, elsewhere, sizes, most_cells))
        open_variables &= {v for factor in waiting for v in factor.variables}
    result = _multiply_all(waiting, set(keep), sizes, most_cells)
    order = [result.variables.index(variable) + 1 for variable in keep]
    return result.values.transpose(0, *order)


def _joined_size(factors: Sequence[Factor], variable: int, sizes: Mapping[int, int]) -> int:
    joined = {v for f in factors if variable in f.variables for v in f.variables}
    return math.prod(sizes[v] for v in joined)


def _multiply_all(
    factors: Sequence[Factor], needed: Collection[int], sizes: Mapping[int, int], most_cells: int
) -> Factor:
    """Multiply factors, summing out each variable as soon as nothing else needs it."""
    ordered = sorted(factors, key=lambda factor: factor.values.size)
    result = ordered[0]
    for place, other in enumerate(ordered[1:], start=2):
        later = set(needed).union(*(factor.variables for factor in ordered[place:]))
        result = _multiply(result, other, later, sizes, most_cells)
    return _summed(result, needed)


def _summed(factor: Factor, needed: Collection[int]) -> Factor:
    axes = tuple(i + 1 for i, v in enumerate(factor.variables) if v not in needed)
    if not axes:
        return factor
    kept = tuple(variable for variable in factor.variables if variable in needed)
    return Factor(kept, factor.values.sum(axis=axes))


def _multiply(
    left: Factor, right: Factor, needed: Collection[int], sizes: Mapping[int, int], most_cells: int
) -> Factor:
    """Multiply two factors, as matrices where a shared variable is summed out."""
    shared = [v for v in left.variables if v in right.variables]
    left, right = (_summed(side, {*needed, *shared}) for side in (left, right))
    dropped = [v for v in shared if v not in needed]
    batch = [v for v in shared if v in needed]
    first = [v for v in left.variables if v not in shared]
    second = [v for v in right.variables if v not in shared]
    answer = (*batch, *first, *second)
    cells = len(left.values) * math.prod(sizes[v] for v in answer)
    if cells > most_cells:
        raise MemoryLimitError(
            f"an array of {cells:,} cells is needed to count; the limit is {most_cells:,}",
            hint="allow fewer variables in a clause",
        )
    one = _arranged(left, (*batch, *first, *dropped))
    two = _arranged(right, (*batch, *dropped, *second))
    databases = max(len(one), len(two))
    spans = [math.prod(sizes[v] for v in part) for part in (batch, first, dropped, second)]
    one = one.reshape(len(one), spans[0], spans[1], spans[2])
    two = two.reshape(len(two), spans[0], spans[2], spans[3])
    values = one * two if not dropped else one @ two
    return Factor(answer, values.reshape(databases, *(sizes[v] for v in answer)))


def _arranged(factor: Factor, variables: tuple[int, ...]) -> Floats:
    if factor.variables == variables:
        return factor.values
    return factor.values.transpose(0, *(factor.variables.index(v) + 1 for v in variables))
