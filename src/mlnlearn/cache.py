"""A cache of answers with one bound on the bytes it holds, shared by all who count."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Hashable
from itertools import count
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

_OVERHEAD = 512
_MOST_OF_ONE = 256 << 20


class _Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=_Sized)
_OWNERS = count()


class ByteCache:
    """Keeps what was used most recently within a number of bytes, whoever put it there.

    Examples
    --------
    >>> import numpy as np
    >>> class Owner: ...
    >>> cache, one, two = ByteCache(limit=3_000), Owner(), Owner()
    >>> ones, twos = cache.shelf(one), cache.shelf(two)
    >>> ones.put("a", np.zeros(200))
    >>> twos.put("a", np.zeros(100))
    >>> ones.get("a") is None, len(twos.get("a")), cache.used
    (True, 100, 1312)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used = 0
        self._kept: OrderedDict[tuple[int, Hashable], _Sized] = OrderedDict()
        self._gone: list[int] = []
        self._changing = Lock()

    @classmethod
    def within(cls, memory_limit: int) -> ByteCache:
        """Return a cache for one who may take so many bytes in all: of a quarter of them."""
        return cls(min(_MOST_OF_ONE, memory_limit // 4))

    @property
    def used(self) -> int:
        """Bytes that are held, those of owners that are gone aside."""
        with self._changing:
            self._sweep()
            return self._used

    def shelf(self, owner: object) -> Shelf[Any]:
        """Return a part of the cache with keys of its own, emptied when the owner is gone."""
        number = next(_OWNERS)
        # only noted: it may happen in the midst of any line of this class
        weakref.finalize(owner, self._gone.append, number)
        return Shelf(self, number)

    def get(self, key: tuple[int, Hashable]) -> Any:
        """Return what is kept under a key, or None."""
        with self._changing:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
        return found

    def put(self, key: tuple[int, Hashable], value: _Sized) -> None:
        """Keep something, dropping what was used least recently where room is short."""
        size = value.nbytes + _OVERHEAD
        with self._changing:
            self._sweep()
            if size > self.limit or key in self._kept:
                return
            self._kept[key] = value
            self._used += size
            while self._used > self.limit:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: tuple[int, Hashable]) -> None:
        self._used -= self._kept.pop(key).nbytes + _OVERHEAD

    def _sweep(self) -> None:
        if self._gone:
            gone = set(self._gone)
            self._gone.clear()
            for key in [key for key in self._kept if key[0] in gone]:
                self._drop(key)


class Shelf(Generic[T]):
    """The part of a cache that belongs to one owner; made by `ByteCache.shelf`."""

    def __init__(self, cache: ByteCache, number: int) -> None:
        self.cache, self._number = cache, number

    def get(self, key: Hashable) -> T | None:
        """Return what is kept under a key, or None."""
        found: T | None = self.cache.get((self._number, key))
        return found

    def put(self, key: Hashable, value: T) -> None:
        """Keep something, as far as the cache has room for it."""
        self.cache.put((self._number, key), value)
