"""What a benchmark returns, and running each case in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Result:
    """One measured figure.

    Attributes
    ----------
    name
        What was measured.
    value, unit
        The figure.
    target
        The most it should be; None where it is only for information.
    """

    name: str
    value: float
    unit: str
    target: float | None = None

    @property
    def met(self) -> bool:
        """Whether the figure is within its target."""
        return self.target is None or self.value <= self.target


@dataclass
class Clock:
    """CPU and wall seconds of a block of code."""

    cpu: float = field(default=0.0)
    wall: float = field(default=0.0)


@contextmanager
def clock() -> Iterator[Clock]:
    """Measure a block of code."""
    measured = Clock()
    cpu, wall = time.process_time(), time.perf_counter()
    yield measured
    measured.cpu, measured.wall = time.process_time() - cpu, time.perf_counter() - wall


def peak_megabytes() -> float:
    """Return the most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


Cases = Mapping[str, Callable[[], list[Result]]]


def run_cases(module: str, cases: Iterable[str]) -> list[Result]:
    """Run every case of a module in a process of its own, so that peak memory does not mix."""
    results = []
    for case in cases:
        done = subprocess.run(
            [sys.executable, "-m", module, case], check=True, stdout=subprocess.PIPE, text=True
        )
        results += [Result(**fields) for fields in json.loads(done.stdout)]
    return results


def run_one(cases: Cases) -> None:
    """Run the case named on the command line, and print its results for `run_cases`."""
    print(json.dumps([asdict(result) for result in cases[sys.argv[1]]()]))
