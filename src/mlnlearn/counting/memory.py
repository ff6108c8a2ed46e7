"""The memory engine: conjunctive counts by variable elimination over integer columns.

A query is a sum over its variables of a product of 0/1 relations, computed as its plan says: join,
then add up. Every step's result is itself the answer to a smaller query, so that it is kept under
that query's canonical form and shared by all queries that contain it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.cache import TableCache
from mlnlearn.counting.plan import Plan
from mlnlearn.counting.query import CountTable, Hold, Query, canonical_query, plan_of
from mlnlearn.counting.sparse import Room, SparseTable, join, sum_out
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Atom, Constant, Variable

_DATABASE = "database"
_Table: TypeAlias = SparseTable[Hashable]


class MemoryEngine:
    """Counts in memory, with a bounded cache of answers.

    Parameters
    ----------
    databases
        Databases of one schema (or a stack of them), each with its own domains.
    memory_limit
        Bytes that answers, kept or being computed, may take beside the databases. A query that
        needs more is refused, with what it would need: before a join is made where all its rows
        stay, while it is made in pieces where they are summed up.
    cache_limit
        Bytes of the limit, at most a quarter of it, for answers kept for later queries.

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
        kept = min(cache_limit, memory_limit // 4)
        self.room = memory_limit - kept
        self.held = 0
        self._cache: TableCache[_Table] = TableCache(kept)

    def table(self, query: Query) -> CountTable:
        """Answer a conjunctive query with a sparse table of counts."""
        key, order = canonical_query(query)
        found = self._cache.get(key)
        if found is None:
            run = _PlanRun(self, query)
            found = run.answer() if query.atoms else self._nothing()
            self._cache.put(key, run.numbered(found, order))
        else:
            found = found.renamed(dict(enumerate(order)))
        columns = tuple(found.columns[variable] for variable in query.group)
        return CountTable(query.group, found.columns[_DATABASE], columns, found.counts)

    def _nothing(self) -> _Table:
        """Return the count of the empty conjunction: one in each database."""
        numbers = np.arange(len(self.stack), dtype=np.int32)
        return SparseTable({_DATABASE: numbers}, np.ones(len(numbers), np.int64))

    def plan(self, query: Query) -> Plan[Variable]:
        """Return how a query of at least one atom is answered."""
        return plan_of(self.stack, query)

    @contextmanager
    def holding(self, purpose: object) -> Iterator[Hold]:
        """Count what a caller takes against the limit, also for queries that it asks meanwhile.

        Examples
        --------
        >>> from mlnlearn.logic.schema import Schema
        >>> db = Database.from_facts(Schema.of("smokes(person)"), {"smokes": [("Anna",)]})
        >>> with MemoryEngine([db], memory_limit=1 << 20).holding("all pairs") as take:
        ...     take(1 << 30, 1 << 26)
        Traceback (most recent call last):
        mlnlearn.errors.MemoryLimitError: all pairs needs room for 67,108,864 rows, 1,024 MB; ...
          hint: raise memory_limit, use the DuckDB engine, or drop the formula
        """
        before = self.held

        def take(nbytes: int, rows: int) -> None:
            self.left(purpose).taking(nbytes, rows)
            self.held += nbytes

        try:
            yield take
        finally:
            self.held = before

    def left(self, purpose: object) -> Room:
        """Return what a query may take beside what callers hold."""
        return Room(
            max(self.room - self.held, 0), purpose, self.memory_limit - self.room + self.held
        )


class _PlanRun:
    """One plan, executed from its last step backwards, as far as the cache does not know."""

    def __init__(self, engine: MemoryEngine, query: Query) -> None:
        self.stack, self.cache = engine.stack, engine._cache
        self.steps = engine.plan(query).steps if query.atoms else ()
        self.atoms: list[tuple[Atom, ...]] = [(atom,) for atom in query.atoms]
        for step in self.steps:
            self.atoms.append(tuple(atom for table in step.inputs for atom in self.atoms[table]))
        self.given = len(query.atoms)
        self.bounds: dict[Hashable, int] = {_DATABASE: len(self.stack)}
        for variable, kind in query.types().items():
            self.bounds[variable] = self.stack.size(kind)
        self.room = engine.left(str(query))

    def answer(self) -> _Table:
        """Return the last step's table."""
        return self._table(len(self.atoms) - 1, self.room)

    def _table(self, number: int, room: Room) -> _Table:
        if number < self.given:
            (atom,) = self.atoms[number]
            return self._scan(atom, room)
        step = self.steps[number - self.given]
        query = Query(self.atoms[number], step.variables)
        room = replace(room, purpose=str(query))
        key, order = canonical_query(query)
        found = self.cache.get(key)
        if found is not None:
            return found.renamed(dict(enumerate(order)))
        keep = {_DATABASE, *step.variables}
        table = self._table(step.inputs[0], room)
        room = room.taking(table.nbytes, len(table))
        if len(step.inputs) == 2:
            other = self._table(step.inputs[1], room)
            room = room.taking(other.nbytes, len(other))
            table = join(table, other, keep, self.bounds, room)
        else:
            table = sum_out(table, keep, self.bounds, room)
        self.cache.put(key, self.numbered(table, order))
        return table

    @staticmethod
    def numbered(table: _Table, order: Sequence[Variable]) -> _Table:
        """Name columns by their places in the canonical order, as the cache holds them."""
        return table.renamed({variable: place for place, variable in enumerate(order)})

    def _scan(self, atom: Atom, room: Room) -> _Table:
        """Select the facts that match an atom's constants and repeated variables."""
        relation = self.stack.relation(atom.predicate)
        facts = len(relation.database)
        room.taking(facts * (4 * atom.predicate.arity + 24), facts)
        columns: dict[Hashable, Codes] = {_DATABASE: relation.database}
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
        if keep is not None:
            rows = np.flatnonzero(keep)
            columns = {name: column[rows] for name, column in columns.items()}
        return SparseTable(columns, np.ones(len(columns[_DATABASE]), np.int64))
