"""The SQL engine: conjunctive counts as factorised SQL on DuckDB, for joins past memory.

A plan is written as one statement: each step is a subquery that joins two factors, groups by the
variables still needed, and adds up products of counts. DuckDB runs the statement on all cores
within a memory limit, and moves to disk what does not fit.
"""

from __future__ import annotations

import math
import tempfile
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import numpy as np

from mlnlearn.cache import ByteCache, Shelf
from mlnlearn.counting.arrays import overflow
from mlnlearn.counting.budget import ByteBudget
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
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.atoms import Atom, Constant, Predicate, Variable
from mlnlearn.resources import DEFAULT_MEMORY, byte_size

_LIMIT = 2**63


class DuckEngine:
    """Counts in SQL, within a memory limit, spilling to disk.

    Parameters
    ----------
    databases
        Databases of one schema (or a stack of them), each with its own domains.
    memory_limit
        Bytes, or text such as ``"2GB"``: half is what DuckDB may use, the other is for
        answers, kept or being fetched. An answer that would take more is refused.
    threads
        Number of threads; DuckDB's choice (all cores) where None.
    path
        A new file to hold the relations, removed again on `close`; in memory where None.
    temp_directory
        Where to spill; a directory of its own, removed on `close`, where None.
    cache
        Keeps answers for later queries; what it may hold is part of the limit. By default one of
        its own, of at most a quarter of it.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)", "smokes(person)")
    >>> facts = {"friends": [("Anna", "Bob"), ("Carl", "Bob")], "smokes": [("Bob",)]}
    >>> friends, smokes = schema["friends"], schema["smokes"]
    >>> with DuckEngine([Database.from_facts(schema, facts)], threads=1) as engine:
    ...     engine.table(Query((friends("x", "y"), smokes("y")))).counts.tolist()
    [2]
    """

    def __init__(
        self,
        databases: Sequence[Database] | Stack,
        *,
        memory_limit: int | str = DEFAULT_MEMORY,
        threads: int | None = None,
        path: str | Path | None = None,
        temp_directory: str | Path | None = None,
        cache: ByteCache | None = None,
    ) -> None:
        if path is not None and Path(path).exists():
            raise InputError(f"{path} exists already", hint="name a new file; it is scratch space")
        self.stack = databases if isinstance(databases, Stack) else Stack(databases)
        limit = byte_size(memory_limit)
        cache = ByteCache(min(256 << 20, limit // 4)) if cache is None else cache
        self.budget = ByteBudget(limit, limit // 2 + min(cache.limit, limit // 2))
        self.cache: Shelf[CountTable] = cache.shelf(self)
        self._loaded: dict[str, str] = {}
        scratch = None
        if temp_directory is None:
            scratch = tempfile.TemporaryDirectory(prefix="mlnlearn-")
            temp_directory = scratch.name
        settings: dict[str, Any] = {
            "memory_limit": f"{limit // 2}B",
            "temp_directory": str(temp_directory),
            "preserve_insertion_order": "false",
        }
        if threads is not None:
            settings["threads"] = threads
        self._connection = duckdb.connect(str(path or ":memory:"), config=settings)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="mlnlearn-duck")
        file = None if path is None else Path(path)
        # also where nobody closes it, so that scratch files never outlive the engine
        self._end = weakref.finalize(self, _end, self._worker, self._connection, file, scratch)

    def __enter__(self) -> DuckEngine:
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
        self._end()

    def table(self, query: Query) -> CountTable:
        """Answer a conjunctive query with a sparse table of counts, its rows in a fixed order."""
        key, order = canonical_query(query)
        found = self.cache.get(key)
        if found is None:
            found = self._run(Query(query.atoms, order))
            self.cache.put(key, found)
        return found.arranged(order, query.group)

    def holding(self, purpose: object) -> AbstractContextManager[Hold]:
        """Count what a caller takes against the limit, also for queries that it asks meanwhile."""
        return self.budget.holding(purpose)

    def sql(self, query: Query) -> str:
        """Return the statement that answers a query.

        Examples
        --------
        >>> from mlnlearn.logic.schema import Schema
        >>> schema = Schema.of("smokes(person)")
        >>> database = Database.from_facts(schema, {"smokes": [("Anna",)]})
        >>> with DuckEngine([database], threads=1) as engine:
        ...     print(engine.sql(Query((schema["smokes"]("x"),))))
        WITH
        f0 AS NOT MATERIALIZED (SELECT d, c0 AS v0 FROM r0),
        f1 AS NOT MATERIALIZED (SELECT f0.d, count(*) AS n FROM f0 GROUP BY f0.d)
        SELECT d, n FROM f1 ORDER BY d
        """
        return self._statement(query)[0]

    def _statement(self, query: Query) -> tuple[str, int]:
        """Return the statement that answers a query, and how many rows the answer may have."""
        statement = _Statement(self.stack, query)
        factors = [statement.base(atom, self._load(atom.predicate)) for atom in query.atoms]
        for step in self.plan(query).steps:
            inputs = [factors[number] for number in step.inputs]
            factors.append(statement.step(inputs, step.variables))
        types = query.types()
        groups = sum(self.stack.ground_atoms(types[variable] for variable in query.group))
        return statement.finish(factors[-1], query.group), min(groups, factors[-1].total)

    def plan(self, query: Query) -> Plan[Variable]:
        """Return how a query of at least one atom is answered."""
        return plan_of(self.stack, query)

    def _run(self, query: Query) -> CountTable:
        if not query.atoms:
            databases = np.arange(len(self.stack))
            return count_table((), databases, (), np.ones_like(databases))
        try:
            answer = self._answer(query)
        except duckdb.OutOfRangeException as error:
            raise overflow(2.0**127) from error
        except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
            limit = self.budget.memory_limit / 2**21
            raise MemoryLimitError(
                f"{query} does not fit in {limit:,.0f} MB, even with spilling to disk: {error}",
                hint="raise the limit (--memory), use fewer threads, or make room on the disk of "
                "temporary files (TMPDIR)",
            ) from error
        approximate = answer.pop("approximate", None)
        database, *columns, counts = answer.values()
        if approximate is not None and len(approximate) and approximate.max() >= _LIMIT:
            raise overflow(float(approximate.max()))
        return count_table(query.group, database, columns, counts)

    def _answer(self, query: Query) -> dict[str, Any]:
        """Return the columns of an answer, refused where they would not fit in memory.

        Where they might not, DuckDB keeps the rows, on disk if need be, until they are counted.
        """
        statement, most = self._statement(query)
        # fetched, put in order, and in the types of a table
        width = 2 * (4 * (1 + len(query.group)) + 16)
        room = self.budget.left(query)
        if most * width <= room.nbytes:
            return self._fetch(statement)
        self._fetch(f"CREATE TEMP TABLE answer AS {statement}")
        try:
            (rows,) = self._fetch("SELECT count(*) AS n FROM answer")["n"].tolist()
            room.taking(rows * width, rows)
            return self._fetch("SELECT * FROM answer")
        finally:
            self._fetch("DROP TABLE answer")

    def _fetch(self, statement: str) -> dict[str, Any]:
        """Run a statement so that Ctrl-C always stops it, leaving the engine fit for use.

        DuckDB looks for signals between pieces of work only and may miss them; so it works in
        another thread, while this one waits for the answer or the signal.
        """
        running = self._worker.submit(lambda: self._connection.execute(statement).fetchnumpy())
        try:
            return running.result()
        except KeyboardInterrupt:
            while not running.done():
                self._connection.interrupt()
                wait([running], timeout=0.05)
            raise

    def _load(self, predicate: Predicate) -> str:
        """Return the table of a predicate's facts, filling it on first use.

        Tables are numbered: predicates may have any name, and SQL ignores upper and lower case.
        """
        table = self._loaded.get(predicate.name)
        if table is None:
            table = f"r{len(self._loaded)}"
            relation = self.stack.relation(predicate)
            named = {f"c{place}": column for place, column in enumerate(relation.columns)}
            self._connection.register("facts", {"d": relation.database, **named})
            try:
                self._connection.execute(f"CREATE TABLE {table} AS SELECT * FROM facts")
            finally:
                with suppress(duckdb.Error):
                    self._connection.unregister("facts")
            self._loaded[predicate.name] = table
        return table


def _end(
    worker: ThreadPoolExecutor,
    connection: duckdb.DuckDBPyConnection,
    file: Path | None,
    scratch: tempfile.TemporaryDirectory[str] | None,
) -> None:
    worker.shutdown()
    connection.close()
    if file is not None:
        file.unlink(missing_ok=True)
    if scratch is not None:
        scratch.cleanup()


@dataclass(frozen=True, slots=True)
class _Factor:
    """A subquery: columns `d` and one per variable, and `n` where its counts are not all 1.

    No count, nor any sum of its counts, exceeds `total`.
    """

    name: str
    variables: tuple[Variable, ...]
    counted: bool
    total: int


class _Statement:
    """Writes the subqueries of one statement, from the relations to the answer."""

    def __init__(self, stack: Stack, query: Query) -> None:
        self.stack = stack
        self.columns = {variable: f"v{i}" for i, variable in enumerate(query.variables)}
        self.parts: list[str] = []

    def _add(
        self, body: str, variables: tuple[Variable, ...], counted: bool, total: int
    ) -> _Factor:
        name = f"f{len(self.parts)}"
        self.parts.append(f"{name} AS NOT MATERIALIZED ({body})")
        return _Factor(name, variables, counted, total)

    def base(self, atom: Atom, table: str) -> _Factor:
        """Select the facts that match an atom's constants and repeated variables."""
        places: dict[Variable, str] = {}
        conditions = []
        for place, (term, kind) in enumerate(zip(atom.terms, atom.predicate.types, strict=True)):
            if isinstance(term, Constant):
                conditions.append(f"c{place} = {self.stack.code(kind, term.name)}")
            elif term in places:
                conditions.append(f"c{place} = {places[term]}")
            else:
                places[term] = f"c{place}"
        chosen = ["d", *(f"{place} AS {self.columns[v]}" for v, place in places.items())]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        body = f"SELECT {', '.join(chosen)} FROM {table}{where}"
        return self._add(body, tuple(places), False, len(self.stack.relation(atom.predicate)))

    def step(self, inputs: Sequence[_Factor], group: tuple[Variable, ...]) -> _Factor:
        """Join factors on database and shared variables; sum out all but the group."""
        first: dict[Variable, str] = {}
        conditions = [f"{f.name}.d = {inputs[0].name}.d" for f in inputs[1:]]
        for factor in inputs:
            for variable in factor.variables:
                column = f"{factor.name}.{self.columns[variable]}"
                if variable in first:
                    conditions.append(f"{column} = {first[variable]}")
                first.setdefault(variable, column)
        total = math.prod(factor.total for factor in inputs)
        columns = ", ".join([f"{inputs[0].name}.d", *(first[variable] for variable in group)])
        counted = [f"{factor.name}.n" for factor in inputs if factor.counted]
        if total >= _LIMIT:
            counted[:1] = [f"CAST({column} AS HUGEINT)" for column in counted[:1]]
        product = " * ".join(counted)
        summed = len(group) < len(first)
        chosen = columns
        if summed:
            narrow = "HUGEINT" if total >= _LIMIT else "BIGINT"
            amount = f"CAST(sum({product}) AS {narrow})" if product else "count(*)"
            chosen += f", {amount} AS n"
        elif product:
            chosen += f", {product} AS n"
        body = f"SELECT {chosen} FROM {', '.join(factor.name for factor in inputs)}"
        body += f" WHERE {' AND '.join(conditions)}" if conditions else ""
        body += f" GROUP BY {columns}" if summed else ""
        return self._add(body, group, summed or bool(product), total)

    def finish(self, factor: _Factor, group: tuple[Variable, ...]) -> str:
        """Return the whole statement: rows in order, counts in 64 bits (NULL where beyond them)."""
        columns = ", ".join(["d", *(self.columns[variable] for variable in group)])
        counts = "n" if factor.counted else "1 AS n"
        if factor.counted and factor.total >= _LIMIT:
            counts = "TRY_CAST(n AS BIGINT) AS n, CAST(n AS DOUBLE) AS approximate"
        answer = f"SELECT {columns}, {counts} FROM {factor.name} ORDER BY {columns}"
        return "WITH\n" + ",\n".join(self.parts) + "\n" + answer
