"""The engine on Spark: counts in SQL on a cluster, through Spark Connect.

Any server of that protocol will do: a cluster of Spark, or Sail, which needs no Java. The client is
the extra ``mlnlearn[spark]``.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import uuid
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from numpy.typing import NDArray

from mlnlearn.cache import ByteCache
from mlnlearn.counting.arrays import overflow
from mlnlearn.counting.budget import ByteBudget
from mlnlearn.counting.dialect import SPARK, Dialect
from mlnlearn.counting.placed import server_of
from mlnlearn.counting.sql_engine import Answer, FullServerError, SqlEngine
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.resources import DEFAULT_MEMORY, Resources, byte_size, in_use
from mlnlearn.scratch import ScratchFolder

if TYPE_CHECKING:  # an extra
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructField

SCRATCH = "mlnlearn.scratch"
_PORT = 15002
_SECONDS = 10.0
_LEAST_OF_SPARK = 1 << 30  # what it takes by default
_OVERFLOW = re.compile("(?<!stack)overflow|out_of_range", re.IGNORECASE)
_FULL = re.compile(
    "resources exhausted|outofmemory|stackoverflow|not enough memory|unable_to_acquire_memory"
    r"|no space|bigger than spark\.driver\.maxResultSize",
    re.IGNORECASE,
)
_HINT = (
    "give Spark more memory (--spark-conf spark.driver.memory=4g where it is started here, or "
    "--memory 4GB), keep it from copying whole tables to where they are joined (--spark-conf "
    "spark.sql.autoBroadcastJoinThreshold=-1), or make room on its disk"
)
_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
_SESSIONS: dict[str, _OpenSession] = {}  # by address


def spark_session(master: str | None, config: Mapping[str, str]) -> SparkSession:
    """Return the session with a server, opened on first use.

    Parameters
    ----------
    master
        The address, such as ``sc://host:15002``; or ``local[2]``, where all of Spark is installed.
    config
        Settings of the session, such as ``spark.sql.shuffle.partitions``.
    """
    if not master:
        raise InputError(
            "engine spark: which server?", hint="give its address: --master sc://host:15002"
        )
    _reach(master)
    try:
        with warnings.catch_warnings():  # of versions of packages that we do not use it with
            warnings.simplefilter("ignore", FutureWarning)
            with _as_a_program():
                from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
                from pyspark.sql.connect.session import SparkSession as _  # noqa: F401, PLC0415
    except ImportError as error:
        raise InputError(
            f"engine spark needs the client of Spark: {error}",
            hint='pip install "mlnlearn[spark]"',
        ) from None
    settings = {name: value for name, value in config.items() if name != SCRATCH}
    try:
        opened = _SESSIONS.get(master)
        if opened is not None and not cast("Any", opened.session).is_stopped:  # of Spark Connect
            opened.change(settings)
            return opened.session
        address = _started(master, settings) if master.startswith("local") else master
        builder = SparkSession.builder.remote(address)
        for name, value in settings.items() if address == master else ():
            builder = builder.config(name, value)
        # asked to get one, the client would give the session that it has, whatever its address
        _SESSIONS[master] = _OpenSession(builder.create(), dict(settings))
        return _SESSIONS[master].session
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InputError(f"no session with {master}: {reason}") from error


@dataclass
class _OpenSession:
    """A session, and the settings that it was given."""

    session: SparkSession
    settings: dict[str, str]

    def change(self, settings: Mapping[str, str]) -> None:
        """Tell the server what is not yet as it should be."""
        for name, value in settings.items():
            if self.settings.get(name) != value:
                self.session.conf.set(name, value)
                self.settings[name] = value


def _started(master: str, settings: Mapping[str, str]) -> str:
    """Start Spark itself on this machine, which ends with this process; return its address.

    It may take as much memory as counting may, unless the settings say otherwise, and answers this
    process alone.
    """
    from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - an extra

    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    memory = max(in_use().nbytes, _LEAST_OF_SPARK) >> 20
    threads = re.sub(r"\D", "", master.partition(",")[0]) or os.cpu_count()
    given = {
        "spark.sql.shuffle.partitions": str(threads),
        "spark.driver.memory": f"{memory}m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **settings,
        "spark.connect.grpc.binding.address": "localhost",
        "spark.connect.grpc.binding.port": str(port),
    }
    # who has the token may ask; were it left there, it would be shown to all other servers as well
    before, token = os.environ.get(_TOKEN), uuid.uuid4().hex
    os.environ[_TOKEN] = token
    try:
        SparkSession._start_connect_server(master, given)
    finally:
        del os.environ[_TOKEN]
        if before is not None:
            os.environ[_TOKEN] = before
    return f"sc://localhost:{port}/;token={token}"


@contextmanager
def _as_a_program() -> Iterator[None]:
    """Let the client of Spark be imported by ``python -c`` and by worker processes.

    Where the main module has no file, the client takes it for a run of its own tests, and ends the
    process.
    """
    main = sys.modules["__main__"]
    if hasattr(main, "__file__"):
        yield
        return
    main.__file__ = "<string>"
    try:
        yield
    finally:
        del main.__file__


def _reach(master: str) -> None:
    """Refuse an address that nobody listens at; the client itself would try for minutes."""
    if master.startswith("local"):
        return
    address = urlsplit(master)
    try:
        host, port = address.hostname, address.port or _PORT
    except ValueError:
        host, port = None, _PORT
    if address.scheme != "sc" or not host:
        raise InputError(f"{master!r} is no address of Spark", hint="write it as sc://host:15002")
    try:
        socket.create_connection((host, port), _SECONDS).close()
    except OSError as error:
        raise InputError(
            f"nobody answers at {master}: {error}", hint="is the Spark Connect server running?"
        ) from None


class SparkServer:
    """A session of Spark; its views have names of their own, and go away on `close`.

    Parameters
    ----------
    session
        The session.
    resources
        Where the server is, and its settings: ``mlnlearn.scratch`` is a folder for tables that are
        made there, one that all its machines can write to.
    """

    def __init__(self, session: SparkSession, resources: Resources | None = None) -> None:
        self.session, self._resources = session, resources or in_use()
        self._scratch: ScratchFolder | None = None
        self._prefix = f"mlnlearn_{uuid.uuid4().hex[:12]}_"
        self._views: list[str] = []
        self._end = weakref.finalize(self, _drop, session, self._views)
        self._end.atexit = False  # views go with the session; a server that is gone is waited for

    @property
    def dialect(self) -> Dialect:
        """The SQL that it understands."""
        return SPARK

    def close(self) -> None:
        """Drop the views; the session stays for others."""
        self._end()

    def drop(self, table: str) -> None:
        """Let go of a view."""
        self.session.catalog.dropTempView(table)
        self._views.remove(table)

    def load(self, table: str, columns: Mapping[str, NDArray[Any]]) -> str:
        """Make a view of columns that are sent to the server; return its name."""
        import pyarrow as pa  # noqa: PLC0415 - comes with the client

        view = self._prefix + table
        kinds = {"i": "INT", "f": "DOUBLE"}
        types = ", ".join(f"{name} {kinds[values.dtype.kind]}" for name, values in columns.items())
        frame = self.session.createDataFrame(pa.table(dict(columns)), schema=types)
        frame.createOrReplaceTempView(view)
        self._views.append(view)
        return view

    def fields(self, relation: str) -> list[StructField]:
        """Return the columns of a relation."""
        return list(self.session.sql(f"SELECT * FROM {relation} LIMIT 0").schema.fields)

    def create(self, table: str, select: str) -> str:
        """Write the answer of a statement as Parquet, and make a view of it; return its name."""
        name = self._prefix + table
        path = f"{self._folder()}/{name}"
        with _told():
            frame = self.session.sql(select)
            # each task of a union is told of all its branches, and writes a file
            parts = int(cast("str", self.session.conf.get("spark.sql.shuffle.partitions")))
            frame.coalesce(parts).write.parquet(path)
        # an answer without rows may be a folder without files, from which no columns can be read
        self.session.read.schema(frame.schema).parquet(path).createOrReplaceTempView(name)
        self._views.append(name)
        return name

    def _folder(self) -> str:
        """Return where tables are written: a folder that is removed, where the server is here."""
        given = self._resources.config.get(SCRATCH)
        host = urlsplit(self._resources.master or "").hostname
        if given is None and host not in (None, "localhost", "127.0.0.1", "::1"):
            raise InputError(
                "where may Spark write the tables it makes?",
                hint=f"name a folder that all its machines share: --spark-conf {SCRATCH}=s3://…; "
                "what is in it can be removed afterwards",
            )
        if given is None:
            self._scratch = self._scratch or ScratchFolder()
            given = str(self._scratch.path)
        return given

    def gather(self, table: str, selects: Sequence[str]) -> str:
        """Make a table from the answers of several statements; return its name."""
        return self.create(table, " UNION ALL ".join(selects))

    def fetch(self, statement: str) -> Answer:
        """Execute a statement, and return the columns of its answer."""
        with _told():
            table = self.session.sql(statement).toArrow()
        return {name: table[name].to_numpy() for name in table.column_names}


@contextmanager
def _told() -> Iterator[None]:
    """Tell where a server has no room, and where a number does not fit its type."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

    try:
        yield
    except PySparkException as error:
        text = str(error)  # the cause may stand below, where the server traces it
        reason = " ".join(text.partition("JVM stacktrace:")[0].split())
        if _OVERFLOW.search(text):
            raise overflow(2.0**127) from error
        if _FULL.search(text):
            raise FullServerError(reason, _HINT) from error
        raise


def _drop(session: SparkSession, views: Sequence[str]) -> None:
    with suppress(Exception):  # the server may be gone before us
        for view in views:
            session.catalog.dropTempView(view)


class SparkEngine(SqlEngine):
    """Counts in SQL on Spark; the answers of several queries are one job.

    Parameters
    ----------
    databases
        Databases of one schema (or a stack of them), each with its own domains.
    memory_limit
        Bytes, or text such as ``"2GB"``, that answers may take here, kept or being fetched. What
        the server may use is its own affair.
    cache
        Keeps answers for later queries; what it may hold is part of the limit. By default one of
        its own, of at most a quarter of it.
    master
        The address of the server, such as ``sc://host:15002``; by default the one in use (see
        `mlnlearn.counting_with`).
    config
        Settings of the session; by default those in use.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> SparkEngine([Database.from_facts(Schema.of("smokes(person)"), {})], master="nowhere")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: 'nowhere' is no address of Spark
      hint: write it as sc://host:15002
    """

    server: SparkServer

    def __init__(
        self,
        databases: Sequence[Database] | Stack,
        *,
        memory_limit: int | str = DEFAULT_MEMORY,
        cache: ByteCache | None = None,
        master: str | None = None,
        config: Mapping[str, str] | None = None,
    ) -> None:
        limit = byte_size(memory_limit)
        cache = cache or ByteCache.within(limit)
        budget = ByteBudget(limit, min(cache.limit, limit // 2))
        resources = in_use()
        master = resources.master if master is None else master
        config = resources.config if config is None else config
        stack = databases if isinstance(databases, Stack) else Stack(databases)
        server = server_of(stack, SparkServer)
        owned = server is None
        server = server or SparkServer(spark_session(master, config))
        super().__init__(stack, server, budget, cache, owned=owned)
