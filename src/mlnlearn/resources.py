"""What counting may use: which engine, how much memory, and the cache that all share.

What is computed does not depend on it, only where, and whether it is refused. So it need not be
handed from function to function: `counting_with` sets it for all that is called within, as a run
and the command line do, and whoever counts asks `in_use`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import ParamSpec, TypeVar

from mlnlearn.cache import ByteCache
from mlnlearn.errors import InputError
from mlnlearn.registry import ENGINES

P = ParamSpec("P")
R = TypeVar("R")

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)
LEAST_MEMORY = 1 << 20
"""Bytes without which nothing is counted."""
DEFAULT_MEMORY = 2 << 30
"""Bytes that counting may take beside the data, where nothing else is said."""


def byte_size(text: str | int) -> int:
    """Read a number of bytes; units are powers of 1,024.

    Examples
    --------
    >>> byte_size("2GB"), byte_size("512 MiB"), byte_size(4096)
    (2147483648, 536870912, 4096)
    >>> byte_size("a lot")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: 'a lot' is no size of memory
      hint: write it as 512MB or 2GB
    """
    if isinstance(text, int):
        return text
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{text!r} is no size of memory", hint="write it as 512MB or 2GB")
    return int(float(found[1]) * _UNITS[found[2].upper()])


@dataclass(frozen=True)
class Resources:
    """An engine by name, where its server is, and bytes: a quarter of them for the cache.

    Attributes
    ----------
    engine
        A name of `mlnlearn.registry.ENGINES`: ``memory``; ``duckdb``, which can spill to disk;
        ``auto``, which counts in memory and hands to DuckDB what would not fit there; ``spark``
        and ``postgresql``, which count on a cluster or a server.
    memory
        Bytes that counting may take beside the data; an ``int``, or text such as ``"2GB"``.
    master
        The address of the server, for engines that count on one, such as ``sc://host:15002``.
    config
        Settings of the session there.

    Examples
    --------
    >>> Resources(memory="1GB").cache.limit
    268435456
    >>> Resources(engine="abacus")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: no engine 'abacus'
      hint: there are: auto, duckdb, memory, postgresql, spark
    """

    engine: str = "auto"
    memory: int | str = DEFAULT_MEMORY
    master: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    _bytes: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ENGINES[self.engine]
        object.__setattr__(self, "_bytes", byte_size(self.memory))
        if self._bytes < LEAST_MEMORY:
            raise InputError(
                f"{self.memory} of memory is too little to count with", hint="give at least 1MB"
            )

    @property
    def nbytes(self) -> int:
        """The memory, in bytes."""
        return self._bytes

    @cached_property
    def cache(self) -> ByteCache:
        """The one cache of all who count with these resources."""
        return ByteCache(self._bytes // 4)


_IN_USE: ContextVar[Resources | None] = ContextVar("_IN_USE", default=None)


@cache
def _default() -> Resources:
    return Resources()


def in_use() -> Resources:
    """Return what may be used now.

    Examples
    --------
    >>> with counting_with(engine="memory"):
    ...     in_use().engine
    'memory'
    """
    return _IN_USE.get() or _default()


@contextmanager
def counting_with(
    engine: str | None = None,
    memory: int | str | None = None,
    master: str | None = None,
    config: Mapping[str, str] | None = None,
) -> Iterator[Resources]:
    """Set what may be used by all that is called within; None leaves it as it was.

    Parameters
    ----------
    engine
        The kind of engine that counts: one of `ENGINES`.
    memory
        What counts may take beside the data: bytes, or text such as ``"2GB"``.
    master
        The address of the server, for engines that count on one.
    config
        Settings of the session there, beside those that are set already.

    Examples
    --------
    >>> with counting_with("duckdb", "512MB"), counting_with(memory="1GB") as inner:
    ...     inner.engine, inner.nbytes
    ('duckdb', 1073741824)
    """
    outer = in_use()
    chosen = outer
    if not (engine is None and memory is None and master is None and config is None):
        chosen = Resources(
            outer.engine if engine is None else engine,
            outer.memory if memory is None else memory,
            outer.master if master is None else master,
            {**outer.config, **(config or {})},
        )
    token = _IN_USE.set(chosen)
    try:
        yield chosen
    finally:
        _IN_USE.reset(token)


@dataclass(frozen=True, eq=False)
class Carried:
    """A function that uses, in another process, what is in use here; made by `carried`."""

    function: Callable[..., object]
    engine: str
    memory: int | str
    master: str | None
    config: Mapping[str, str]

    def __call__(self, *arguments: object) -> object:
        """Call the function."""
        with counting_with(self.engine, self.memory, self.master, self.config):
            return self.function(*arguments)


def carried(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function to be sent to another process, with what is in use here.

    Examples
    --------
    >>> with counting_with("memory"):
    ...     elsewhere = carried(in_use)
    >>> elsewhere().engine
    'memory'
    """
    now = in_use()
    return Carried(  # type: ignore[return-value]
        function, now.engine, now.memory, now.master, dict(now.config)
    )
