"""The SQL engine: conjunctive counts as factorised SQL on DuckDB, for joins past memory.

A plan is written as one statement: each step is a subquery that joins two factors, groups by the
variables still needed, and adds up products of counts. DuckDB runs the statement on all cores
within a memory limit, and moves to disk what does not fit.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import numpy as np

from mlnlearn.counting.arrays import overflow
from mlnlearn.counting.cache import TableCache
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

_LIMIT = 2**63


class DuckEngine:
    """Counts in SQL, within a memory limit, spilling to disk.

    Parameters
    ----------
    databases
        Databases of one schema (or a stack of them), each with its own domains.
    memory_limit
        What DuckDB may use: bytes, or text such as ``"2GB"``.
    threads
        Number of threads; DuckDB's choice (all cores) where None.
    path
        A new file to hold the relations, removed again on `close`; in memory where None.
    temp_directory
        Where to spill; a directory of its own, removed on `close`, where None.
    cache_limit
        Bytes of answers kept for later queries.

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
        memory_limit: int | str = "2GB",
        threads: int | None = None,
        path: str | Path | None = None,
        temp_directory: str | Path | None = None,
        cache_limit: int = 256 << 20,
    ) -> None:
        if path is not None and Path(path).exists():
            raise InputError(f"{path} exists already", hint="name a new file; it is scratch space")
        self.stack = databases if isinstance(databases, Stack) else Stack(databases)
        self.memory_limit = memory_limit if isinstance(memory_limit, str) else f"{memory_limit}B"
        self._cache: TableCache[CountTable] = TableCache(cache_limit)
        self._loaded: dict[str, str] = {}
        self._path = None if path is None else Path(path)
        self._scratch = None
        if temp_directory is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="mlnlearn-")
            temp_directory = self._scratch.name
        settings: dict[str, Any] = {
            "memory_limit": self.memory_limit,
            "temp_directory": str(temp_directory),
            "preserve_insertion_order": "false",
        }
        if threads is not None:
            settings["threads"] = threads
        self._connection = duckdb.connect(str(path or ":memory:"), config=settings)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="mlnlearn-duck")

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
        self._worker.shutdown()
        self._connection.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        if self._scratch is not None:
            self._scratch.cleanup()

    def table(self, query: Query) -> CountTable:
        """Answer a conjunctive query with a sparse table of counts, its rows in a fixed order."""
        key, order = canonical_query(query)
        found = self._cache.get(key)
        if found is None:
            found = self._run(Query(query.atoms, order))
            self._cache.put(key, found)
        return found.arranged(order, query.group)

    @contextmanager
    def holding(self, purpose: object) -> Iterator[Hold]:
        """Count nothing: the limit is DuckDB's own, and what callers take is beside it."""
        yield lambda nbytes, rows: None

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
        statement = _Statement(self.stack, query)
        factors = [statement.base(atom, self._load(atom.predicate)) for atom in query.atoms]
        for step in self.plan(query).steps:
            inputs = [factors[number] for number in step.inputs]
            factors.append(statement.step(inputs, step.variables))
        return statement.finish(factors[-1], query.group)

    def plan(self, query: Query) -> Plan[Variable]:
        """Return how a query of at least one atom is answered."""
        return plan_of(self.stack, query)

    def _run(self, query: Query) -> CountTable:
        if not query.atoms:
            databases = np.arange(len(self.stack))
            return count_table((), databases, (), np.ones_like(databases))
        try:
            answer = self._fetch(self.sql(query))
        except duckdb.OutOfRangeException as error:
            raise overflow(2.0**127) from error
        except duckdb.OutOfMemoryException as error:
            raise MemoryLimitError(
                f"{query} does not fit in {self.memory_limit}, even with spilling: {error}",
                hint="raise memory_limit, use fewer threads, or make room in temp_directory",
            ) from error
        approximate = answer.pop("approximate", None)
        database, *columns, counts = answer.values()
        if approximate is not None and len(approximate) and approximate.max() >= _LIMIT:
            raise overflow(float(approximate.max()))
        return count_table(query.group, database, columns, counts)

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
