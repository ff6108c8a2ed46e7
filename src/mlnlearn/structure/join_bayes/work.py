"""Work of counting, in rows: a limit on it stops at the same place on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FAMILY = 10_000
"""What a family costs beside its rows: about as much as so many of them."""


class OutOfWorkError(Exception):
    """A search would take more work than it may."""


_APART: ContextVar[tuple[list[int], int | None] | None] = ContextVar("apart", default=None)
"""Where rows are noted that are counted ahead, and how many may be."""


class Work:
    """Rows that were counted, and how many may be.

    Examples
    --------
    >>> work = Work()
    >>> with work.at_most(10):
    ...     work.add(8)
    ...     work.add(8)
    Traceback (most recent call last):
    mlnlearn.structure.join_bayes.work.OutOfWorkError
    >>> work.spent
    16
    """

    def __init__(self) -> None:
        self.spent = 0
        self._end: int | None = None

    def add(self, rows: int) -> None:
        """Note that some rows are about to be counted; refuse where they are too many."""
        apart = _APART.get()
        if apart is not None:
            noted, most = apart
            noted.append(rows)
            if most is not None and sum(noted) > most:
                raise OutOfWorkError
            return
        self.spent += rows
        if self._end is not None and self.spent > self._end:
            raise OutOfWorkError

    @contextmanager
    def apart(self) -> Iterator[list[int]]:
        """Note what follows in a list of its own, as what is counted ahead may never be asked for.

        Whoever asks for it adds what is in the list. It has no more room than is left now.
        """
        noted: list[int] = []
        token = _APART.set((noted, None if self._end is None else self._end - self.spent))
        try:
            yield noted
        finally:
            _APART.reset(token)

    @contextmanager
    def at_most(self, rows: int | None) -> Iterator[None]:
        """Let no more than so many rows be counted in what follows."""
        before, self._end = self._end, None if rows is None else self.spent + rows
        try:
            yield
        finally:
            self._end = before
