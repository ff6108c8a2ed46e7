"""The engine that moves: counts in memory, and by DuckDB what would not fit there."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mlnlearn.cache import ByteCache
from mlnlearn.counting.memory import DATABASE, MemoryEngine, PlanRun, Table
from mlnlearn.counting.sparse import SparseTable
from mlnlearn.errors import MemoryLimitError

if TYPE_CHECKING:  # loading DuckDB can wait until something does not fit
    from mlnlearn.counting.duck import DuckEngine

_LOADING = 16
"""Bytes that a cell of a fact takes while it is loaded, and sorted."""


class AutoEngine(MemoryEngine):
    """Counts in memory; a query goes to DuckDB where a step of its plan would not fit.

    It is made as a `MemoryEngine` is. Where the plan of a query says that a step takes more than
    the memory that is left, or the step turns out to while it runs, DuckDB answers the query,
    within half of the limit and on disk. What comes back is the answer; it is refused if it does
    not fit.

    Examples
    --------
    >>> from mlnlearn.counting.query import Query
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)", "smokes(person)")
    >>> facts = {"friends": [("Anna", "Bob"), ("Carl", "Bob")], "smokes": [("Bob",)]}
    >>> engine = AutoEngine([Database.from_facts(schema, facts)])
    >>> friends, smokes = schema["friends"], schema["smokes"]
    >>> engine.table(Query((friends("x", "y"), smokes("y")))).counts.tolist()
    [2]
    """

    @cached_property
    def beyond(self) -> DuckEngine:
        """The engine for what does not fit; answers are kept here, not there."""
        from mlnlearn.counting.duck import DuckEngine  # noqa: PLC0415 - loads DuckDB

        limit = self.budget.memory_limit
        engine = DuckEngine(self.stack, memory_limit=limit, cache=ByteCache(0))
        engine.budget = engine.budget.beside(self.budget)
        return engine

    def _counted(self, run: PlanRun) -> Table:
        steps = all(step.size.nbytes <= run.room.nbytes for step in run.steps)
        if steps and self._fits(run):
            try:
                return run.answer()
            except MemoryLimitError:
                pass  # the plan promised less than there is
        found = self.beyond.table(run.query)
        columns = dict(zip(found.variables, found.columns, strict=True))
        return SparseTable({DATABASE: found.database, **columns}, found.counts)

    def _fits(self, run: PlanRun) -> bool:
        """Tell whether there is room to load the facts that still lie elsewhere."""
        away = {
            atom.predicate
            for atom in run.query.atoms
            if self.stack.place_of(atom.predicate) is not None
        }
        cells = sum(self.stack.fact_count(p) * (p.arity + 1) for p in away)
        return _LOADING * cells <= run.room.nbytes
