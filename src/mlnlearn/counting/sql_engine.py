"""The engine that counts in SQL, on any server: conjunctive counts as factorised statements.

A plan is written as one statement (see `mlnlearn.counting.statement`); the plans of several queries
as one, too. The server executes it, and what comes back are counts, not the rows they are of.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mlnlearn.cache import ByteCache, Shelf
from mlnlearn.counting.arrays import overflow
from mlnlearn.counting.budget import ByteBudget
from mlnlearn.counting.dialect import Dialect
from mlnlearn.counting.plan import Plan
from mlnlearn.counting.query import (
    CountTable,
    Hold,
    Query,
    canonical_query,
    count_table,
    plan_of,
)
from mlnlearn.counting.stack import Stack
from mlnlearn.counting.statement import MOST, FactTable, Statement, Vocabularies
from mlnlearn.data.database import Database
from mlnlearn.errors import CountOverflowError, MemoryLimitError
from mlnlearn.logic.atoms import Predicate, Variable

Answer = dict[str, Any]
"""Columns of an answer, by name: arrays."""


class FullServerError(Exception):
    """A server has no room for a statement, in memory or on disk.

    Parameters
    ----------
    reason
        What the server says.
    hint
        What the user can do about it.
    """

    def __init__(
        self,
        reason: str,
        hint: str = "raise the limit (--memory), use fewer threads, or make room on the disk of "
        "temporary files (TMPDIR)",
    ) -> None:
        super().__init__(reason)
        self.hint = hint


class Server(Protocol):
    """What executes statements."""

    @property
    def dialect(self) -> Dialect:
        """The SQL that it understands."""
        ...

    def load(self, table: str, columns: Mapping[str, NDArray[Any]]) -> str:
        """Make a table from columns of codes or numbers; return what it is called there."""
        ...

    def drop(self, table: str) -> None:
        """Let go of a table that was loaded."""
        ...

    def fetch(self, statement: str) -> Answer:
        """Execute a statement, and return the columns of its answer.

        Raises `FullServerError` where there is no room, `CountOverflowError` where a number does
        not fit its type.
        """
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class StoringServer(Server, Protocol):
    """What can keep tables that are made from others."""

    def create(self, table: str, select: str) -> str:
        """Make a table from the answer of a statement, and return what it is called there."""
        ...

    def gather(self, table: str, selects: Sequence[str]) -> str:
        """Make a table from the answers of several statements, and return what it is called."""
        ...


class SqlEngine:
    """Counts on a server; made by the engines that know one.

    Parameters
    ----------
    databases
        Databases of one schema (or a stack of them), each with its own domains.
    server
        What executes statements.
    budget
        What answers may take.
    cache
        Keeps answers for later queries.
    owned
        Whether the server is this engine's alone, and closed with it.
    """

    def __init__(
        self,
        databases: Sequence[Database] | Stack,
        server: Server,
        budget: ByteBudget,
        cache: ByteCache,
        *,
        owned: bool = True,
    ) -> None:
        self.stack = databases if isinstance(databases, Stack) else Stack(databases)
        self.server, self.budget, self._owned = server, budget, owned
        self.cache: Shelf[CountTable] = cache.shelf(self)
        self._loaded: dict[str, FactTable] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of memory and scratch files; the engine cannot be used afterwards."""
        if self._owned:
            self.server.close()

    def table(self, query: Query) -> CountTable:
        """Answer a conjunctive query with a sparse table of counts, its rows in a fixed order."""
        key, order = canonical_query(query)
        found = self.cache.get(key)
        if found is None:
            found = self._run(Query(query.atoms, order))
            self.cache.put(key, found)
        return found.arranged(order, query.group)

    def ahead(self, queries: Sequence[Query]) -> None:
        """Answer queries that come next by one statement, and keep what the cache has room for.

        A query whose answer is thought to be large is left for later, and so are all where the
        answers turn out to be.
        """
        wanted: dict[Hashable, Query] = {}
        for query in queries:
            key, order = canonical_query(query)
            if query.atoms and self.cache.get(key) is None:
                wanted.setdefault(key, Query(query.atoms, order))
        room = min(self.budget.left("").nbytes, self.cache.cache.limit // 2)
        statement = self._new_statement()
        chosen: list[tuple[Hashable, Query]] = []
        for known, query in wanted.items():
            plan = self.plan(query)
            size = plan.steps[-1].size if plan.steps else plan.tables[0]
            expected = int(size.rows) * _row_bytes(query)
            if expected <= room:
                room -= expected
                statement.add(query, plan)
                chosen.append((known, query))
        if len(chosen) > 1:
            self._keep(chosen, statement)

    def _keep(self, chosen: Sequence[tuple[Hashable, Query]], statement: Statement) -> None:
        """Execute one statement for several queries, and keep their answers."""
        width = max(_row_bytes(query) for _, query in chosen)
        most = self.budget.left("").nbytes // width
        try:
            answer = self.server.fetch(f"{statement.union()} LIMIT {most + 1}")
        except (FullServerError, CountOverflowError):
            return  # one of them is to blame, and will be told apart
        abouts = answer.pop("approximate", None)
        if len(answer["q"]) > most:
            return
        number, database, *columns, counts = answer.values()
        starts = np.searchsorted(number, np.arange(len(chosen) + 1))
        for place, (key, query) in enumerate(chosen):
            rows = slice(starts[place], starts[place + 1])
            if abouts is None or not (abouts[rows] >= MOST).any():
                codes = [column[rows] for column in columns[: len(query.group)]]
                table = count_table(query.group, database[rows], codes, counts[rows])
                self.cache.put(key, table)

    def holding(self, purpose: object) -> AbstractContextManager[Hold]:
        """Count what a caller takes against the limit, also for queries that it asks meanwhile."""
        return self.budget.holding(purpose)

    def plan(self, query: Query) -> Plan[Variable]:
        """Return how a query of at least one atom is answered."""
        return plan_of(self.stack, query)

    def sql(self, query: Query) -> str:
        """Return the statement that answers a query."""
        return self._statement(query)[0]

    def _statement(self, query: Query) -> tuple[str, int]:
        """Return the statement that answers a query, and how many rows the answer may have."""
        statement = self._new_statement()
        total = statement.add(query, self.plan(query))
        return statement.text(), self._most(query, total)

    def _new_statement(self) -> Statement:
        facts = Vocabularies(self._load, self.stack.code)
        return Statement(self.server.dialect, facts, alone=len(self.stack) == 1)

    def _most(self, query: Query, total: int) -> int:
        types = query.types()
        groups = sum(self.stack.ground_atoms(types[variable] for variable in query.group))
        return min(groups, total)

    def _run(self, query: Query) -> CountTable:
        if not query.atoms:
            databases = np.arange(len(self.stack))
            return count_table((), databases, (), np.ones_like(databases))
        try:
            answer = self._answer(query)
        except FullServerError as error:
            limit = self.budget.memory_limit / 2**21
            raise MemoryLimitError(
                f"{query} does not fit in {limit:,.0f} MB, even with spilling to disk: {error}",
                hint=error.hint,
            ) from error
        refuse_overflow(answer)
        counts = answer.pop("n")
        database = answer.pop("d") if "d" in answer else np.zeros(len(counts), np.int32)
        return count_table(query.group, database, tuple(answer.values()), counts)

    def _answer(self, query: Query) -> Answer:
        """Return the columns of an answer, refused where they do not fit in memory.

        Where they might not, one row more is asked for than fits: only then is the answer counted.
        """
        statement, most = self._statement(query)
        width = _row_bytes(query)
        room = self.budget.left(query)
        fitting = room.nbytes // width
        if most <= fitting:
            return self.server.fetch(statement)
        answer = self.server.fetch(f"{statement} LIMIT {fitting + 1}")
        if len(answer["n"]) > fitting:
            counted = f"SELECT count(*) AS n FROM ({statement}) AS answer"
            (rows,) = self.server.fetch(counted)["n"].tolist()
            room.taking(rows * width, rows)
        return answer

    def fact_table(self, predicate: Predicate) -> str:
        """Return what the table of a predicate's facts is called at the server."""
        return self._load(predicate).name

    def _load(self, predicate: Predicate) -> FactTable:
        """Return the table of a predicate's facts, filling it on first use.

        Tables are numbered: predicates may have any name, and SQL ignores upper and lower case.
        """
        found = self._loaded.get(predicate.name)
        place = self.stack.place_of(predicate)
        if found is None and place is not None and getattr(place, "server", None) is self.server:
            found = FactTable(place.table(predicate.name), place.count(predicate.name))
            self._loaded[predicate.name] = found
        if found is None:
            relation = self.stack.relation(predicate)
            named = {f"c{place}": column for place, column in enumerate(relation.columns)}
            columns = {"d": relation.database, **named}
            name = self.server.load(f"r{len(self._loaded)}", columns)
            found = FactTable(name, len(relation))
            self._loaded[predicate.name] = found
        return found


def _row_bytes(query: Query) -> int:
    """Return what a row of an answer takes: fetched, put in order, in the types of a table."""
    return 2 * (4 * (1 + len(query.group)) + 16)


def refuse_overflow(answer: Answer) -> None:
    """Take the column ``approximate`` out of an answer; refuse counts that 64 bits do not hold."""
    approximate = answer.pop("approximate", None)
    if approximate is not None and len(approximate) and approximate.max() >= MOST:
        raise overflow(float(approximate.max()))
