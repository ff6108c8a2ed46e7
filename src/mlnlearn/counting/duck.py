"""The engine on DuckDB: counts in SQL in this process, on all cores, for joins past memory."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import NDArray

from mlnlearn.cache import ByteCache
from mlnlearn.counting.arrays import overflow
from mlnlearn.counting.budget import ByteBudget
from mlnlearn.counting.dialect import DUCKDB, Dialect
from mlnlearn.counting.placed import server_of
from mlnlearn.counting.query import Query
from mlnlearn.counting.sql_engine import Answer, FullServerError, SqlEngine
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.resources import DEFAULT_MEMORY, byte_size
from mlnlearn.scratch import ScratchFolder


class DuckServer:
    """DuckDB in this process, with scratch files that go away with it.

    Parameters
    ----------
    nbytes
        What DuckDB may use.
    threads
        Number of threads; DuckDB's choice (all cores) where None.
    path
        A new file to hold tables, removed again on `close`; in memory where None.
    temp_directory
        Where to spill; a directory of its own, removed on `close`, where None.
    on_disk
        Hold tables in a file in the directory where it spills.

    Examples
    --------
    >>> server = DuckServer(1 << 28, threads=1)
    >>> server.fetch("SELECT 6 * 7 AS answer")["answer"].tolist()
    [42]
    >>> server.close()
    """

    def __init__(
        self,
        nbytes: int,
        threads: int | None = None,
        path: str | Path | None = None,
        temp_directory: str | Path | None = None,
        *,
        on_disk: bool = False,
    ) -> None:
        if path is not None and Path(path).exists():
            raise InputError(f"{path} exists already", hint="name a new file; it is scratch space")
        scratch = None
        if temp_directory is None:
            scratch = ScratchFolder()
            temp_directory = scratch.path
        if on_disk:
            path = Path(temp_directory) / "facts.duckdb"
        settings: dict[str, Any] = {
            "memory_limit": f"{nbytes}B",
            "temp_directory": str(temp_directory),
            "preserve_insertion_order": "false",
        }
        if threads is not None:
            settings["threads"] = threads
        self.connection = duckdb.connect(str(path or ":memory:"), config=settings)
        # which it turns on by itself where somebody types, and prints into what we print
        self.connection.execute("SET enable_progress_bar = false")
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="mlnlearn-duck")
        file = None if path is None else Path(path)
        # also where nobody closes it, so that scratch files never outlive the engine
        self._end = weakref.finalize(self, _end, self._worker, self.connection, file, scratch)

    @property
    def dialect(self) -> Dialect:
        """The SQL that it understands."""
        return DUCKDB

    def close(self) -> None:
        """Let go of memory and scratch files."""
        self._end()

    def limit(self, nbytes: int, threads: int | None = None) -> None:
        """Change what DuckDB may use."""
        self.connection.execute(f"SET memory_limit = '{nbytes}B'")
        if threads is not None:
            self.connection.execute(f"SET threads = {threads}")

    def create(self, table: str, select: str) -> str:
        """Make a table from the answer of a statement; return its name."""
        self.fetch(f"CREATE TABLE {table} AS {select}")
        return table

    def gather(self, table: str, selects: Sequence[str]) -> str:
        """Make a table from the answers of several statements, one after another: less memory."""
        self.create(table, selects[0])
        for select in selects[1:]:
            self.fetch(f"INSERT INTO {table} {select}")
        return table

    def drop(self, table: str) -> None:
        """Let go of a table."""
        self.fetch(f"DROP TABLE {table}")

    def load(self, table: str, columns: Mapping[str, NDArray[Any]]) -> str:
        """Make a table from columns; return its name."""
        self.connection.register("facts", dict(columns))
        try:
            self.connection.execute(f"CREATE TABLE {table} AS SELECT * FROM facts")
        finally:
            with suppress(duckdb.Error):
                self.connection.unregister("facts")
        return table

    def fetch(self, statement: str) -> Answer:
        """Execute a statement, and return the columns of its answer."""
        try:
            return self._run(statement)
        except duckdb.OutOfRangeException as error:
            raise overflow(2.0**127) from error
        except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
            raise FullServerError(str(error)) from error

    def _run(self, statement: str) -> Answer:
        """Run a statement so that Ctrl-C always stops it, leaving the server fit for use.

        DuckDB looks for signals between pieces of work only and may miss them; so it works in
        another thread, while this one waits for the answer or the signal.
        """
        running = self._worker.submit(lambda: self.connection.execute(statement).fetchnumpy())
        try:
            return running.result()
        except KeyboardInterrupt:
            while not running.done():
                self.connection.interrupt()
                wait([running], timeout=0.05)
            raise


def _end(
    worker: ThreadPoolExecutor,
    connection: duckdb.DuckDBPyConnection,
    file: Path | None,
    scratch: ScratchFolder | None,
) -> None:
    worker.shutdown()
    connection.close()
    if file is not None:
        file.unlink(missing_ok=True)
    if scratch is not None:
        scratch.close()


class DuckEngine(SqlEngine):
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
    ...     print(engine.table(Query((friends("x", "y"), smokes("y")))).counts.tolist())
    ...     print(engine.sql(Query((smokes("x"),))))
    [2]
    WITH
    f0 AS NOT MATERIALIZED (SELECT d, c0 AS v0 FROM r1),
    f1 AS NOT MATERIALIZED (SELECT f0.d, count(*) AS n FROM f0 GROUP BY f0.d)
    SELECT d, n FROM f1 ORDER BY d
    """

    server: DuckServer

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
        limit = byte_size(memory_limit)
        cache = cache or ByteCache.within(limit)
        budget = ByteBudget(limit, limit // 2 + min(cache.limit, limit // 2))
        stack = databases if isinstance(databases, Stack) else Stack(databases)
        server = server_of(stack, DuckServer)
        owned = server is None
        if server is None:
            server = DuckServer(limit // 2, threads, path, temp_directory)
        else:
            server.limit(limit // 2, threads)
        super().__init__(stack, server, budget, cache, owned=owned)

    def ahead(self, queries: Sequence[Query]) -> None:
        """Do nothing: a statement costs a millisecond, and several at once take more memory."""
