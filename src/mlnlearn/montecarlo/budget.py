"""How long to sample: number, time, precision."""

from __future__ import annotations

import time
from dataclasses import dataclass

from mlnlearn.montecarlo.diagnostics import Floats

MOST_BATCHES = 16
_LEAST_SAMPLES_FOR_PRECISION = 128


class Clock:
    """How many more steps fit into a time limit, judging by those made so far.

    Examples
    --------
    >>> Clock(None).fit(100)
    100
    """

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._start = time.perf_counter()
        self._steps = 0

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._limit is not None

    def fit(self, steps: int) -> int:
        """Return how many of `steps` to make; 0 when the time is up."""
        if self._limit is not None and self._steps:
            used = time.perf_counter() - self._start
            steps = min(steps, int((self._limit - used) * self._steps / max(used, 1e-9)))
        self._steps += max(steps, 0)
        return max(steps, 0)


@dataclass(frozen=True)
class Budget:
    """When to stop: samples a chain, time, precision.

    Examples
    --------
    >>> Budget(1600, Clock(None), precision=None).first_batch
    100
    >>> Budget(1600, Clock(None), precision=0.01).first_batch
    1
    """

    samples: int
    clock: Clock
    precision: float | None

    @property
    def first_batch(self) -> int:
        """Length of the first batches: short ones if the end is not known."""
        if self.precision is None and not self.clock.limited:
            return max(1, -(-self.samples // MOST_BATCHES))
        return 1

    def judges(self, samples: int) -> bool:
        """Tell whether a chain of so many samples can be judged by its precision."""
        return self.precision is not None and samples >= _LEAST_SAMPLES_FOR_PRECISION

    def meets(self, errors: Floats) -> bool:
        """Tell whether all standard errors are as small as asked for."""
        return self.precision is not None and bool(errors.max(initial=0.0) <= self.precision)
