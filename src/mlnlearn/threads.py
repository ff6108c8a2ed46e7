"""Work shared out among the threads of a run, its results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from functools import cache
from typing import TypeVar

from mlnlearn.run import workers_of_run

T = TypeVar("T")
R = TypeVar("R")
_SLICE = 1 << 16  # numbers of an array that a thread takes at a time
_AHEAD = 4  # jobs a thread that may wait for their turn: results are large
_WITHIN: ContextVar[bool] = ContextVar("within a job", default=False)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Return so many threads: to start new ones for every array takes longer than a small one."""
    return ThreadPoolExecutor(workers, "mlnlearn")


os.register_at_fork(after_in_child=_pool.cache_clear)  # which has no threads but its own


def _job(function: Callable[[T], R], item: T) -> R:
    _WITHIN.set(True)  # in a context of its own
    return function(item)


def in_order(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield what a function makes of each item, in order, by as many threads as the run has.

    Threads help where the function spends its time in compiled loops that let others run. What it
    returns must depend on its item alone; then nothing depends on the number of threads. A job that
    has work to share does it by itself: so none waits for others that wait for a thread. Neither
    may the caller hold a lock that a job takes.

    Examples
    --------
    >>> list(in_order(abs, [-2, 1]))
    [2, 1]
    """
    workers = workers_of_run()
    if workers < 2 or _WITHIN.get():
        yield from map(function, items)
        return
    pool = _pool(workers)
    waiting: deque[Future[R]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(copy_context().run, _job, function, item))
            if len(waiting) > _AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # none goes on after an error
        wait([future for future in waiting if not future.cancel()])


def in_slices(function: Callable[[slice], R], size: int) -> list[R]:
    """Return what a function makes of each part of an array, in order.

    The parts do not depend on the number of threads, so that sums over their results do not either.

    Examples
    --------
    >>> [part.stop for part in in_slices(lambda part: part, 200_000)]
    [65536, 131072, 196608, 200000]
    """
    parts = [slice(k, min(k + _SLICE, size)) for k in range(0, size, _SLICE)]
    together = -(-len(parts) // (2 * workers_of_run())) or 1  # each job takes a while to hand out
    runs = [parts[k : k + together] for k in range(0, len(parts), together)]
    shared = in_order if len(runs) > 1 else map
    return [found for run in shared(lambda run: list(map(function, run)), runs) for found in run]
