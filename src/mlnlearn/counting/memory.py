"""The memory engine: conjunctive counts by variable elimination over integer columns.

A query is a sum over its variables of a product of 0/1 relations. Variables are summed out one by
one: join the factors that hold the variable, then add up. Nothing is enumerated that the answer
does not need, and every intermediate result is itself the answer to a smaller query, so that it is
kept under that query's canonical form and shared by all queries that contain it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mlnlearn.counting.arrays import (
    Codes,
    Index,
    Ints,
    common_keys,
    group_sums,
    times,
)
from mlnlearn.counting.cache import TableCache
from mlnlearn.counting.query import CountTable, Query, canonical_query
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Atom, Constant, Variable

_CHUNK = 1 << 22
# Bytes a row that grouping needs beside the row itself: keys, their order, sorted copies.
_SORTING = 40


@dataclass(frozen=True, slots=True)
class _Factor:
    """A table with the atoms whose join (with variables summed out) it is."""

    atoms: tuple[Atom, ...]
    table: CountTable

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.table.variables


class MemoryEngine:
    """Counts in memory, with a bounded cache of answers.

    Parameters
    ----------
    databases
        Databases of one schema (or a stack of them), each with its own domains.
    memory_limit
        Bytes that computing a single answer may take; a query that needs more is refused, before
        it is computed where that can be told.
    cache_limit
        Bytes of answers kept for later queries.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)", "smokes(person)")
    >>> facts = {"friends": [("Anna", "Bob"), ("Carl", "Bob")], "smokes": [("Bob",)]}
    >>> engine = MemoryEngine([Database.from_facts(schema, facts)])
    >>> friends, smokes = schema["friends"], schema["smokes"]
    >>> engine.table(Query((friends("x", "y"), smokes("y")))).counts.tolist()
    [2]
    """

    def __init__(
        self,
        databases: Sequence[Database] | Stack,
        *,
        memory_limit: int = 2 << 30,
        cache_limit: int = 256 << 20,
    ) -> None:
        self.stack = databases if isinstance(databases, Stack) else Stack(databases)
        self.memory_limit = memory_limit
        self._cache = TableCache(cache_limit)

    def table(self, query: Query) -> CountTable:
        """Answer a conjunctive query with a sparse table of counts."""
        key, order = canonical_query(query)
        found = self._cache.get(key)
        if found is None:
            factors = [self._base(atom) for atom in query.atoms]
            found = self._combine(factors, order, query.types())
            self._cache.put(key, found)
        return found.arranged(order, query.group)

    def _base(self, atom: Atom) -> _Factor:
        """Select the facts that match an atom's constants and repeated variables."""
        relation = self.stack.relation(atom.predicate)
        columns: dict[Variable, Codes] = {}
        keep = None
        for term, kind, column in zip(
            atom.terms, atom.predicate.types, relation.columns, strict=True
        ):
            if isinstance(term, Constant):
                matches = column == self.stack.code(kind, term.name)
            elif term in columns:
                matches = column == columns[term]
            else:
                columns[term] = column
                continue
            keep = matches if keep is None else keep & matches
        rows = slice(None) if keep is None else np.flatnonzero(keep)
        database = relation.database[rows]
        table = CountTable(
            tuple(columns),
            database,
            tuple(column[rows] for column in columns.values()),
            np.ones(len(database), np.int64),
        )
        return _Factor((atom,), table)

    def _combine(
        self, factors: list[_Factor], group: tuple[Variable, ...], types: dict[Variable, str]
    ) -> CountTable:
        """Sum out all variables but `group` from the product of the factors."""
        kept = set(group)
        open_variables = {v for factor in factors for v in factor.variables} - kept
        while open_variables:
            variable = min(
                sorted(open_variables, key=str),
                key=lambda v: self._join_estimate([f for f in factors if v in f.variables], types),
            )
            bucket = [f for f in factors if variable in f.variables]
            factors = [f for f in factors if variable not in f.variables]
            needed = kept.union(*(f.variables for f in factors))
            factors.append(self._sum_product(bucket, needed, types))
            open_variables &= {v for factor in factors for v in factor.variables}
        if not factors:
            databases = np.arange(len(self.stack), dtype=np.int32)
            return CountTable((), databases, (), np.ones(len(databases), np.int64))
        whole = self._sum_product(factors, kept, types)
        return whole.table.arranged(whole.variables, group)

    def _join_estimate(self, bucket: Sequence[_Factor], types: dict[Variable, str]) -> float:
        """Guess the number of rows of a join as if values were spread evenly."""
        rows: float = math.prod(max(len(factor.table), 1) for factor in bucket)
        occurrences: dict[Variable, int] = {}
        for factor in bucket:
            for variable in factor.variables:
                occurrences[variable] = occurrences.get(variable, 0) + 1
        spread: float = math.prod(
            max(self.stack.size(types[variable]), 1) ** (times_seen - 1)
            for variable, times_seen in occurrences.items()
        )
        return rows / spread

    def _sum_product(
        self, factors: list[_Factor], needed: set[Variable], types: dict[Variable, str]
    ) -> _Factor:
        """Multiply factors, summing out each variable as soon as nothing else needs it."""
        waiting = sorted(factors, key=lambda factor: len(factor.table))
        result = waiting.pop(0)
        while waiting:
            # a factor that shares variables comes before one that would be a cross product
            place = next(
                (i for i, f in enumerate(waiting) if set(f.variables) & set(result.variables)), 0
            )
            other = waiting.pop(place)
            later = needed.union(*(factor.variables for factor in waiting))
            result = self._join(result, other, later, types)
        return self._project(result, needed, types)

    def _cached(self, atoms: tuple[Atom, ...], group: tuple[Variable, ...]) -> CountTable | None:
        key, order = canonical_query(Query(atoms, group))
        found = self._cache.get(key)
        return None if found is None else found.arranged(order, group)

    def _keep(self, factor: _Factor) -> _Factor:
        key, order = canonical_query(Query(factor.atoms, factor.variables))
        self._cache.put(key, factor.table.arranged(factor.variables, order))
        return factor

    def _project(
        self, factor: _Factor, needed: Iterable[Variable], types: dict[Variable, str]
    ) -> _Factor:
        """Sum out the variables that are not needed."""
        group = tuple(variable for variable in factor.variables if variable in set(needed))
        if group == factor.variables:
            return factor
        found = self._cached(factor.atoms, group)
        if found is not None:
            return _Factor(factor.atoms, found)
        columns = [factor.table.column(variable) for variable in group]
        table = self._grouped(group, factor.table.database, columns, factor.table.counts, types)
        return self._keep(_Factor(factor.atoms, table))

    def _grouped(
        self,
        group: tuple[Variable, ...],
        database: Codes,
        columns: Sequence[Codes],
        counts: Ints,
        types: dict[Variable, str],
    ) -> CountTable:
        sizes = self.stack.key_sizes(types[variable] for variable in group)
        (numbers, *values), sums = group_sums([database, *columns], sizes, counts)
        return CountTable(group, numbers, tuple(values), sums)

    def _join(
        self, left: _Factor, right: _Factor, needed: set[Variable], types: dict[Variable, str]
    ) -> _Factor:
        """Join two factors on their shared variables and sum out those not needed later."""
        shared = [variable for variable in left.variables if variable in right.variables]
        needed_here = needed | set(shared)
        left = self._project(left, needed_here, types)
        right = self._project(right, needed_here, types)
        both = dict.fromkeys(left.variables + right.variables)
        group = tuple(variable for variable in both if variable in needed)
        atoms = left.atoms + right.atoms
        found = self._cached(atoms, group)
        if found is not None:
            return _Factor(atoms, found)
        probe, other = (left, right) if len(left.table) >= len(right.table) else (right, left)
        sizes = self.stack.key_sizes(types[variable] for variable in shared)
        keys, index_keys = common_keys(
            [probe.table.database, *(probe.table.column(v) for v in shared)],
            [other.table.database, *(other.table.column(v) for v in shared)],
            sizes,
        )
        index = Index(index_keys)
        starts, lengths = index.ranges(keys)
        total = int(lengths.sum())
        if len(group) == len(both):
            self._refuse_beyond_limit(total, Query(atoms, group))
        waiting: list[CountTable] = []
        for rows in _row_chunks(lengths, total):
            waiting.append(
                self._join_rows(
                    probe, other, index, rows, starts[rows], lengths[rows], group, types
                )
            )
            # merging only when the new rows outnumber the merged ones keeps the work linear, and a
            # table past half the limit could not be merged with as many rows again within it
            new, query = sum(map(len, waiting[1:])), Query(atoms, group)
            if new > len(waiting[0]) or self._bytes(2 * new, query) > self.memory_limit:
                waiting = [self._merged(waiting, types)]
                self._refuse_beyond_limit(2 * len(waiting[0]), query)
        return self._keep(_Factor(atoms, self._merged(waiting, types)))

    def _join_rows(
        self,
        probe: _Factor,
        other: _Factor,
        index: Index,
        rows: slice,
        starts: Ints,
        lengths: Ints,
        group: tuple[Variable, ...],
        types: dict[Variable, str],
    ) -> CountTable:
        table = probe.table
        first = np.repeat(np.arange(rows.start, rows.start + len(lengths)), lengths)
        second = index.rows(starts, lengths)
        counts = times(table.counts[first], other.table.counts[second])
        columns = [
            table.column(v)[first] if v in probe.variables else other.table.column(v)[second]
            for v in group
        ]
        database = table.database[first]
        if set(group) == set(probe.variables) | set(other.variables):
            return CountTable(group, database, tuple(columns), counts)
        return self._grouped(group, database, columns, counts, types)

    def _merged(self, tables: list[CountTable], types: dict[Variable, str]) -> CountTable:
        if len(tables) == 1:
            return tables[0]
        return self._grouped(
            tables[0].variables,
            np.concatenate([table.database for table in tables]),
            [np.concatenate(parts) for parts in zip(*(t.columns for t in tables), strict=True)],
            np.concatenate([table.counts for table in tables]),
            types,
        )

    def _bytes(self, rows: int, query: Query) -> int:
        return rows * (4 * (len(query.group) + 1) + 8 + _SORTING)

    def _refuse_beyond_limit(self, rows: int, query: Query) -> None:
        size = self._bytes(rows, query)
        if size > self.memory_limit:
            raise MemoryLimitError(
                f"{query} needs room for {rows:,} rows, {size / 2**20:,.0f} MB; "
                f"the limit is {self.memory_limit / 2**20:,.0f} MB",
                hint="raise memory_limit, use the DuckDB engine, or drop the formula",
            )


def _row_chunks(lengths: Ints, total: int) -> Iterable[slice]:
    """Cut the probe side so that no piece of the join has many more rows than a chunk."""
    if total <= _CHUNK:
        return [slice(0, len(lengths))]
    ends = np.cumsum(lengths)
    cuts = np.searchsorted(ends, np.arange(_CHUNK, total, _CHUNK), side="left") + 1
    edges = np.unique(np.concatenate([[0], cuts, [len(lengths)]]))
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]
