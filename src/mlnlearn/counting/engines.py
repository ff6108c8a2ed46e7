"""The engine that counts: chosen by name, with the memory and the cache that are in use."""

from __future__ import annotations

from collections.abc import Sequence

from mlnlearn.counting.query import Engine
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.registry import ENGINES
from mlnlearn.resources import in_use


def open_engine(databases: Sequence[Database] | Stack) -> Engine:
    """Return an engine over databases, of the kind and with the memory that are in use.

    Parameters
    ----------
    databases
        Databases of one schema (or a stack of them), each with its own domains.

    Examples
    --------
    >>> import mlnlearn as ml
    >>> from mlnlearn.logic.schema import Schema
    >>> database = Database.from_facts(Schema.of("smokes(person)"), {"smokes": [("Anna",)]})
    >>> with ml.counting_with("duckdb", "1GB"):
    ...     engine = open_engine([database])
    >>> type(engine).__name__, ml.true_groundings(engine, database.schema["smokes"]("x"))
    ('DuckEngine', [1])
    """
    resources = in_use()
    kind = ENGINES[resources.engine].load()
    engine: Engine = kind(databases, memory_limit=resources.nbytes, cache=resources.cache)
    return engine
