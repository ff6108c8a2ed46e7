"""Progress of a search, and its limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search is.

    Attributes
    ----------
    stage
        What is being done, such as "measuring clauses of 3 literals".
    done, total
        How far the stage is.
    clauses
        Clauses scored since the start.
    likelihood
        Weighted pseudo-log-likelihood of the present network.
    """

    stage: str
    done: int
    total: int
    clauses: int
    likelihood: float


Report: TypeAlias = Callable[[Progress], None]


class Deadline:
    """A limit on wall-clock time.

    Examples
    --------
    >>> Deadline(None).passed, Deadline(0.0).passed
    (False, True)
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return self._end is not None and time.monotonic() >= self._end
