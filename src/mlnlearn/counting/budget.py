"""Bytes that answers may take: what callers hold of them, and what is left for a query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mlnlearn.counting.query import Hold
from mlnlearn.errors import MemoryLimitError


@dataclass(frozen=True, slots=True)
class Room:
    """What a step may take.

    Attributes
    ----------
    nbytes
        Bytes that are free.
    purpose
        What they are for; the error shows its text.
    taken
        Bytes that are taken already, or kept for something else.
    """

    nbytes: int
    purpose: object
    taken: int = 0

    def taking(self, nbytes: int, rows: int) -> Room:
        """Return what is left after some bytes are taken, for so many rows; refuse too many.

        Examples
        --------
        >>> Room(100 << 20, "count of friends(x,y)").taking(200 << 20, 10_000_000)
        Traceback (most recent call last):
        mlnlearn.errors.MemoryLimitError: count of friends(x,y) needs room for 10,000,000 rows, ...
          hint: raise the limit (--memory), use DuckDB (--engine duckdb), or drop the formula
        """
        if nbytes > self.nbytes:
            needed, limit = nbytes + self.taken, self.nbytes + self.taken
            raise MemoryLimitError(
                f"{self.purpose} needs room for {rows:,} rows, {needed / 2**20:,.0f} MB; "
                f"the limit is {limit / 2**20:,.0f} MB",
                hint="raise the limit (--memory), use DuckDB (--engine duckdb), or drop the "
                "formula",
            )
        return Room(self.nbytes - nbytes, self.purpose, self.taken + nbytes)


class ByteBudget:
    """The memory of an engine: a part is kept for its cache, the rest is for one query at a time.

    Examples
    --------
    >>> budget = ByteBudget(memory_limit=1 << 20, kept=1 << 18)
    >>> with budget.holding("all pairs") as take:
    ...     take(1 << 30, 1 << 26)
    Traceback (most recent call last):
    mlnlearn.errors.MemoryLimitError: all pairs needs room for 67,108,864 rows, 1,024 MB; ...
      hint: raise the limit (--memory), use DuckDB (--engine duckdb), or drop the formula
    """

    def __init__(self, memory_limit: int, kept: int) -> None:
        self.memory_limit, self.room = memory_limit, memory_limit - kept
        self._held = [0]

    @property
    def held(self) -> int:
        """Bytes that callers hold."""
        return self._held[0]

    def beside(self, other: ByteBudget) -> ByteBudget:
        """Return the budget of an engine that works for the callers of another."""
        both = ByteBudget(self.memory_limit, self.memory_limit - self.room)
        both._held = other._held
        return both

    @contextmanager
    def holding(self, purpose: object) -> Iterator[Hold]:
        """Count what a caller takes against the limit, also for queries that it asks meanwhile."""
        before = self.held

        def take(nbytes: int, rows: int) -> None:
            self.left(purpose).taking(nbytes, rows)
            self._held[0] += nbytes

        try:
            yield take
        finally:
            self._held[0] = before

    def left(self, purpose: object) -> Room:
        """Return what a query may take beside what callers hold."""
        return Room(
            max(self.room - self.held, 0), purpose, self.memory_limit - self.room + self.held
        )
