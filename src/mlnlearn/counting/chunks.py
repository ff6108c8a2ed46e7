"""Work in pieces: ranges of examples, cut in half where their joins grow too large."""

from __future__ import annotations

from collections.abc import Callable


class TooManyRowsError(Exception):
    """A join would be larger than is good for memory: cut the examples."""


def in_chunks(size: int, chunk: int, run: Callable[[int, int], None]) -> None:
    """Call a function with the bounds of ranges that together make ``range(size)``.

    A range for which it raises `TooManyRowsError` is halved and tried again; the function must
    not raise it for a single number.

    Examples
    --------
    >>> seen = []
    >>> def run(start, end):
    ...     if end - start > 3:
    ...         raise TooManyRowsError
    ...     seen.append((start, end))
    >>> in_chunks(8, 5, run)
    >>> sorted(seen)
    [(0, 2), (2, 5), (5, 8)]
    """
    waiting = [(start, min(start + chunk, size)) for start in range(0, size, chunk)]
    while waiting:
        start, end = waiting.pop()
        try:
            run(start, end)
        except TooManyRowsError:
            middle = (start + end) // 2
            waiting += [(start, middle), (middle, end)]
