"""Work shared out among the threads of a run, its results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from mlnlearn.run import workers_of_run

T = TypeVar("T")
R = TypeVar("R")
_SLICE = 1 << 16  # numbers of an array that a thread takes at a time
_AHEAD = 2  # jobs a thread that may wait for their turn: results are large


def in_order(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield what a function makes of each item, in order, by as many threads as the run has.

    Threads help where the function spends its time in compiled loops that let others run. What it
    returns must depend on its item alone; then nothing depends on the number of threads.

    Examples
    --------
    >>> list(in_order(abs, [-2, 1]))
    [2, 1]
    """
    workers = workers_of_run()
    if workers < 2:
        yield from map(function, items)
        return
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(copy_context().run, function, item))
                if len(waiting) > _AHEAD * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def in_slices(function: Callable[[slice], R], size: int) -> list[R]:
    """Return what a function makes of each part of an array, in order.

    The parts do not depend on the number of threads, so that sums over their results do not either.

    Examples
    --------
    >>> [part.stop for part in in_slices(lambda part: part, 200_000)]
    [65536, 131072, 196608, 200000]
    """
    parts = [slice(k, min(k + _SLICE, size)) for k in range(0, size, _SLICE)]
    return [function(part) for part in parts] if len(parts) < 2 else list(in_order(function, parts))
