"""Dense tables: arrays whose axes are variables, multiplied and summed, for small domains."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.plan import Plan, Size, make_plan
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
    shapes = tuple(factor.variables for factor in factors)
    tables = list(factors)
    for step in _plan(shapes, tuple(sizes.items()), tuple(keep)).steps:
        first, *others = (tables[number] for number in step.inputs)
        if others:
            tables.append(_multiply(first, others[0], step.variables, sizes, most_cells))
        else:
            tables.append(_summed(first, step.variables))
    result = tables[-1]
    order = [result.variables.index(variable) + 1 for variable in keep]
    return result.values.transpose(0, *order)


@lru_cache(maxsize=65536)
def _plan(
    shapes: tuple[tuple[int, ...], ...], sizes: tuple[tuple[int, int], ...], keep: tuple[int, ...]
) -> Plan[int]:
    """Plan a contraction: as for sparse tables, with every cell a row."""
    values = {variable: float(size) for variable, size in sizes}
    tables = [
        Size(math.prod(values[v] for v in shape), {v: values[v] for v in shape}) for shape in shapes
    ]
    return make_plan(tables, keep)


def _summed(factor: Factor, needed: Collection[int]) -> Factor:
    axes = tuple(i + 1 for i, v in enumerate(factor.variables) if v not in needed)
    kept = tuple(variable for variable in factor.variables if variable in needed)
    return Factor(kept, factor.values.sum(axis=axes))


def _multiply(
    left: Factor, right: Factor, needed: Collection[int], sizes: Mapping[int, int], most_cells: int
) -> Factor:
    """Multiply two factors, as matrices where a shared variable is summed out."""
    shared = [v for v in left.variables if v in right.variables]
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
