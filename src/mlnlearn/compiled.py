"""Compiled functions: kept on disk where there is a place for them, else compiled anew."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache

from mlnlearn.array_helpers import load_array_helpers

_PARTS = ("_load_overload", "_guard_against_spurious_io_errors", "cache_path")
_AS_KNOWN = all(hasattr(FunctionCache, name) for name in _PARTS)
"""Whether numba's cache has the inner parts that are used here; if not, it is left as it is."""

_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _LeanCache(FunctionCache):
    """Loads machine code without the compiler: numba sets up all of it, and then does not use it.

    That costs a quarter of a second and 25 MB in every process; what is not in the cache is
    compiled, and numba sets the compiler up then.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # arrays that compiled code makes are counted by these
        load_array_helpers(self.cache_path, target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


def njit(*, cache: bool = False, **options: Any) -> Callable[[Any], Any]:
    """Compile a function as `numba.njit` does, also where nothing can be kept.

    Where neither the folder of the package nor the user's can be written, as in containers that
    are read-only, numba refuses to compile at all.

    Examples
    --------
    >>> @njit(cache=True)
    ... def double(number):
    ...     return 2 * number
    >>> double(21)
    42
    """

    def decorate(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache:
            with suppress(RuntimeError):  # no folder to keep it in
                if _AS_KNOWN:
                    dispatcher._cache = _LeanCache(function)  # type: ignore[no-untyped-call]
                else:
                    dispatcher.enable_caching()
        return dispatcher

    return decorate


def inner(function: Any) -> Any:
    """Compile a function that only compiled functions call, without what Python calls it by.

    Nor is it kept by itself: its machine code is part of theirs.

    Examples
    --------
    >>> @inner
    ... def double(number):
    ...     return 2 * number
    >>> @njit()
    ... def fourfold(number):
    ...     return double(double(number))
    >>> fourfold(21)
    84
    """
    return numba.njit(**_NO_WRAPPERS)(function)
