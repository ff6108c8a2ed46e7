"""Compiled functions: kept on disk where there is a place for them, else compiled anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


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
        try:
            return numba.njit(cache=cache, **options)(function)
        except RuntimeError:  # no folder to keep it in
            return numba.njit(**options)(function)

    return decorate
