"""The engine that counts: chosen by name, with the memory and the cache that are in use."""

from __future__ import annotations

from collections.abc import Sequence

from mlnlearn.counting.query import Engine
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.data.placed import PlacedFacts
from mlnlearn.registry import ENGINES
from mlnlearn.resources import in_use


def open_engine(databases: Sequence[Database] | Stack, one_count: int | None = None) -> Engine:
    """Return an engine over databases, of the kind and with the memory that are in use.

    Parameters
    ----------
    databases
        Databases of one schema (or a stack of them), each with its own domains.
    one_count
        Bytes that one count may take beside the cache, for those who make thousands; facts in
        memory are then not counted on disk where they do not fit. By default all that are left.

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
    name, limit = resources.engine, resources.nbytes
    stack = databases if isinstance(databases, Stack) else Stack(databases)
    if one_count is not None:
        limit = min(limit, resources.cache.limit + one_count)
        placed = any(isinstance(database.true, PlacedFacts) for database in stack.databases)
        name = "memory" if name == "auto" and not placed else name
    engine: Engine = ENGINES[name].load()(stack, memory_limit=limit, cache=resources.cache)
    return engine
