"""A cache of answers with a bound on the memory it holds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

_OVERHEAD = 512


class _Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=_Sized)


class TableCache(Generic[T]):
    """Keeps the most recently used tables within a number of bytes.

    Examples
    --------
    >>> cache = TableCache(limit=10_000)
    >>> cache.get("a") is None
    True
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._tables: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        """Return the table of a key, or None."""
        table = self._tables.get(key)
        if table is not None:
            self._tables.move_to_end(key)
        return table

    def put(self, key: Hashable, table: T) -> None:
        """Keep a table, dropping the least recently used ones where room is short."""
        size = table.nbytes + _OVERHEAD
        if size > self.limit or key in self._tables:
            return
        self._tables[key] = table
        self.used += size
        while self.used > self.limit:
            _, dropped = self._tables.popitem(last=False)
            self.used -= dropped.nbytes + _OVERHEAD
