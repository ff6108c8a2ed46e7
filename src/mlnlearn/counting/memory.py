"""The memory engine: conjunctive counts by variable elimination over integer columns.

A query is a sum over its variables of a product of 0/1 relations, computed as its plan says: join,
then add up. Every step's result is itself the answer to a smaller query, so that it is kept under
that query's canonical form and shared by all queries that contain it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from mlnlearn.cache import ByteCache, Shelf
from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.budget import ByteBudget, Room
from mlnlearn.counting.plan import Plan, PlanStep
from mlnlearn.counting.query import CountTable, Hold, Query, canonical_query, plan_of
from mlnlearn.counting.sparse import SparseTable, join, sum_out
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Atom, Constant, Variable
from mlnlearn.resources import DEFAULT_MEMORY

DATABASE = "database"
Table: TypeAlias = SparseTable[Hashable]


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
    cache
        Keeps answers for later queries; what it may hold is part of the limit. By default one of
        its own, of at most a quarter of it.

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
        memory_limit: int = DEFAULT_MEMORY,
        cache: ByteCache | None = None,
    ) -> None:
        self.stack = databases if isinstance(databases, Stack) else Stack(databases)
        cache = cache or ByteCache.within(memory_limit)
        self.budget = ByteBudget(memory_limit, min(cache.limit, memory_limit))
        self.cache: Shelf[Table] = cache.shelf(self)

    def table(self, query: Query) -> CountTable:
        """Answer a conjunctive query with a sparse table of counts."""
        key, order = canonical_query(query)
        found = self.cache.get(key)
        if found is None:
            found = self._counted(PlanRun(self, query)) if query.atoms else self._nothing()
            self.cache.put(key, _numbered(found, order))
        else:
            found = found.renamed(dict(enumerate(order)))
        columns = tuple(found.columns[variable] for variable in query.group)
        return CountTable(query.group, found.columns[DATABASE], columns, found.counts)

    def _counted(self, run: PlanRun) -> Table:
        """Return the answer to a query that the cache does not know."""
        return run.answer()

    def _nothing(self) -> Table:
        """Return the count of the empty conjunction: one in each database."""
        numbers = np.arange(len(self.stack), dtype=np.int32)
        return SparseTable({DATABASE: numbers}, np.ones(len(numbers), np.int64))

    def ahead(self, queries: Sequence[Query]) -> None:
        """Do nothing: queries cost no more one at a time."""

    def plan(self, query: Query) -> Plan[Variable]:
        """Return how a query of at least one atom is answered."""
        return plan_of(self.stack, query)

    def holding(self, purpose: object) -> AbstractContextManager[Hold]:
        """Count what a caller takes against the limit, also for queries that it asks meanwhile."""
        return self.budget.holding(purpose)


def _numbered(table: Table, order: Sequence[Variable]) -> Table:
    """Name columns by their places in the canonical order, as the cache holds them."""
    return table.renamed({variable: place for place, variable in enumerate(order)})


class PlanRun:
    """One plan, executed from its last step backwards, as far as the cache does not know."""

    def __init__(self, engine: MemoryEngine, query: Query) -> None:
        self.query, self.stack, self.cache = query, engine.stack, engine.cache
        self.steps = engine.plan(query).steps if query.atoms else ()
        self.atoms: list[tuple[Atom, ...]] = [(atom,) for atom in query.atoms]
        for step in self.steps:
            self.atoms.append(tuple(atom for table in step.inputs for atom in self.atoms[table]))
        self.given = len(query.atoms)
        self.bounds: dict[Hashable, int] = {DATABASE: len(self.stack)}
        for variable, kind in query.types().items():
            self.bounds[variable] = self.stack.size(kind)
        self.room = engine.budget.left(query)

    def answer(self) -> Table:
        """Return the last step's table, which whoever asks looks up and keeps."""
        if not self.steps:
            return self._scan(self.query.atoms[0], self.room)
        return self._made(self.steps[-1], self.room)

    def _table(self, number: int, room: Room) -> Table:
        if number < self.given:
            (atom,) = self.atoms[number]
            return self._scan(atom, room)
        step = self.steps[number - self.given]
        query = Query(self.atoms[number], step.variables)
        key, order = canonical_query(query)
        found = self.cache.get(key)
        if found is not None:
            return found.renamed(dict(enumerate(order)))
        table = self._made(step, replace(room, purpose=query))
        self.cache.put(key, _numbered(table, order))
        return table

    def _made(self, step: PlanStep[Variable], room: Room) -> Table:
        """Execute a step, after those that it needs."""
        keep = {DATABASE, *step.variables}
        table = self._table(step.inputs[0], room)
        room = room.taking(table.nbytes, len(table))
        if len(step.inputs) == 2:
            other = self._table(step.inputs[1], room)
            room = room.taking(other.nbytes, len(other))
            table = join(table, other, keep, self.bounds, room)
        else:
            table = sum_out(table, keep, self.bounds, room)
        return table

    def _scan(self, atom: Atom, room: Room) -> Table:
        """Select the facts that match an atom's constants and repeated variables."""
        facts = self.stack.fact_count(atom.predicate)
        room.taking(facts * (4 * atom.predicate.arity + 24), facts)
        relation = self.stack.relation(atom.predicate)
        columns: dict[Hashable, Codes] = {DATABASE: relation.database}
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
        return SparseTable(columns, np.ones(len(columns[DATABASE]), np.int64))
