"""What a piece of work costs: processor time and memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


@dataclass
class Cost:
    """Processor seconds and peak memory of a piece of work; filled in when the work ends.

    Attributes
    ----------
    cpu_seconds
        Processor time of this process, all threads.
    peak_bytes
        Most memory the process held during the work; where the system cannot tell, since it
        started, or 0.
    """

    cpu_seconds: float = 0.0
    peak_bytes: int = 0

    @property
    def megabytes(self) -> float:
        """The peak in millions of bytes."""
        return self.peak_bytes / 1e6

    def __add__(self, other: Cost) -> Cost:
        """Return the cost of both, one after the other."""
        seconds = self.cpu_seconds + other.cpu_seconds
        return Cost(seconds, max(self.peak_bytes, other.peak_bytes))

    def __str__(self) -> str:
        return f"{self.cpu_seconds:.2f} CPU seconds, {self.megabytes:,.0f} MB"


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure the work done inside a ``with`` block.

    Examples
    --------
    >>> with measured() as cost:
    ...     total = sum(range(100_000))
    >>> cost.cpu_seconds > 0
    True
    """
    cost = Cost()
    _reset_peak()
    start = time.process_time()
    try:
        yield cost
    finally:
        cost.cpu_seconds = time.process_time() - start
        cost.peak_bytes = _peak_bytes()


def _reset_peak() -> None:
    """Let the kernel count the peak anew, where it can (Linux)."""
    with suppress(OSError):
        _CLEAR.write_text(_RESET_PEAK)


def _peak_bytes() -> int:
    with suppress(OSError, ValueError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource  # noqa: PLC0415 - not there on every system
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
