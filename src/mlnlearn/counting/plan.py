"""Plans: in which order tables are joined and variables summed out, and how large things get.

A count is a sum over variables of a product of tables. A plan says how to compute it: one step
joins two tables and sums out what nothing later needs, or sums out of one table. It is made once,
from the sizes of the tables alone, by variable elimination, smallest join first; engines execute
it, each in its own way (sorted keys, array products, SQL). Nothing is enumerated that the answer
does not need, and how many rows each step will make is guessed before it runs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

V = TypeVar("V")

_CODE, _COUNT = 4, 8


@dataclass(frozen=True, slots=True)
class Size(Generic[V]):
    """How large a table is, or is thought to be.

    Attributes
    ----------
    rows
        Number of rows.
    distinct
        Per variable of the table, its number of different values.
    """

    rows: float
    distinct: Mapping[V, float]

    @property
    def nbytes(self) -> float:
        """Bytes that a sparse table of this size takes: codes, database number, count."""
        return self.rows * (_CODE * (len(self.distinct) + 1) + _COUNT)

    def joined(self, other: Size[V], databases: int = 1) -> Size[V]:
        """Guess the size of a join on all shared variables, as if values were spread evenly.

        Examples
        --------
        >>> wrote = Size(100.0, {"paper": 50.0, "author": 20.0})
        >>> wrote.joined(Size(100.0, {"paper": 50.0, "other": 20.0})).rows
        200.0
        """
        rows = self.rows * other.rows
        shared = [variable for variable in self.distinct if variable in other.distinct]
        for variable in shared:
            rows /= max(self.distinct[variable], other.distinct[variable], 1.0)
        if not shared:
            rows /= databases
        both = {**other.distinct, **self.distinct}
        for variable in shared:
            both[variable] = min(self.distinct[variable], other.distinct[variable])
        return Size(rows, {variable: min(n, max(rows, 1.0)) for variable, n in both.items()})

    def summed(self, variables: Iterable[V]) -> Size[V]:
        """Guess the size after all other variables are summed out."""
        distinct = {variable: self.distinct[variable] for variable in variables}
        return Size(min(self.rows, math.prod(distinct.values())), distinct)


@dataclass(frozen=True, slots=True)
class PlanStep(Generic[V]):
    """One operation: join the inputs (one or two tables) and sum out all but `variables`.

    Attributes
    ----------
    inputs
        Numbers of tables: the given ones come first, then the results of earlier steps.
    variables
        Columns of the result.
    size
        How large the result is thought to be.
    work
        Rows that the join makes before anything is summed out, as guessed.
    """

    inputs: tuple[int, ...]
    variables: tuple[V, ...]
    size: Size[V]
    work: float


@dataclass(frozen=True, slots=True)
class Plan(Generic[V]):
    """How to compute a sum over products of tables; the last step (or only table) is the answer.

    Examples
    --------
    >>> wrote = Size(100.0, {"paper": 50.0, "author": 20.0})
    >>> other = Size(100.0, {"paper": 50.0, "other": 20.0})
    >>> for step in make_plan([wrote, other], ["author"]).steps:
    ...     print(step.inputs, step.variables, step.size.rows)
    (1,) ('paper',) 50.0
    (2, 0) ('author',) 20.0
    """

    tables: tuple[Size[V], ...]
    steps: tuple[PlanStep[V], ...]

    @property
    def work(self) -> float:
        """Rows that all steps make together, as guessed."""
        return sum(step.work for step in self.steps)


def make_plan(tables: Sequence[Size[V]], keep: Collection[V], databases: int = 1) -> Plan[V]:
    """Plan the sum over all variables but `keep` of the product of some tables (at least one)."""
    planner = _Planner(list(tables), set(keep), databases)
    planner.run()
    return Plan(tuple(tables), tuple(planner.steps))


class _Planner(Generic[V]):
    def __init__(self, sizes: list[Size[V]], keep: set[V], databases: int) -> None:
        self.sizes = sizes
        self.keep = keep
        self.databases = databases
        self.steps: list[PlanStep[V]] = []

    def run(self) -> None:
        waiting = list(range(len(self.sizes)))
        summed = list(dict.fromkeys(v for s in self.sizes for v in s.distinct))
        while summed := [v for v in summed if v not in self.keep and self._with(waiting, v)]:
            variable = min(summed, key=lambda v: self._joined_rows(self._with(waiting, v)))
            bucket = self._with(waiting, variable)
            waiting = [table for table in waiting if table not in bucket]
            needed = self.keep.union(*(self.sizes[table].distinct for table in waiting))
            waiting.append(self._product(bucket, needed))
        self._product(waiting, self.keep)

    def _with(self, tables: Iterable[int], variable: V) -> list[int]:
        return [table for table in tables if variable in self.sizes[table].distinct]

    def _joined_rows(self, tables: Sequence[int]) -> float:
        size = self.sizes[tables[0]]
        for table in tables[1:]:
            size = size.joined(self.sizes[table], self.databases)
        return size.rows

    def _product(self, tables: Sequence[int], needed: set[V]) -> int:
        """Join tables, smallest first, summing out each variable once nothing else needs it."""
        waiting = sorted(tables, key=lambda table: self.sizes[table].rows)
        result = waiting.pop(0)
        while waiting:
            have = self.sizes[result].distinct.keys()
            # a table that shares variables comes before one that would be a cross product
            place = next(
                (i for i, t in enumerate(waiting) if have & self.sizes[t].distinct.keys()), 0
            )
            other = waiting.pop(place)
            later = needed.union(*(self.sizes[table].distinct for table in waiting))
            result = self._join(result, other, later)
        return self._summed(result, needed)

    def _join(self, left: int, right: int, needed: set[V]) -> int:
        shared = self.sizes[left].distinct.keys() & self.sizes[right].distinct.keys()
        left, right = (self._summed(table, needed | shared) for table in (left, right))
        joined = self.sizes[left].joined(self.sizes[right], self.databases)
        both = dict.fromkeys([*self.sizes[left].distinct, *self.sizes[right].distinct])
        variables = tuple(variable for variable in both if variable in needed)
        return self._add((left, right), variables, joined)

    def _summed(self, table: int, needed: set[V]) -> int:
        size = self.sizes[table]
        variables = tuple(variable for variable in size.distinct if variable in needed)
        if len(variables) == len(size.distinct):
            return table
        return self._add((table,), variables, size)

    def _add(self, inputs: tuple[int, ...], variables: tuple[V, ...], before: Size[V]) -> int:
        size = before.summed(variables)
        self.steps.append(PlanStep(inputs, variables, size, before.rows))
        self.sizes.append(size)
        return len(self.sizes) - 1
