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
