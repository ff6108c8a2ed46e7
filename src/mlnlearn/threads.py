"""Work shared out among the threads of a run, its results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
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


def in_order(function: Callable[[T], R], items: Iterable[T]) -> Generator[R, None, None]:
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


def in_shares(function: Callable[[T], R], items: Sequence[T], sizes: Sequence[int]) -> list[R]:
    """Return what a function makes of each item, in order; each thread takes a share of them.

    For short work that comes again and again: there is one job a thread, of about the same size as
    the others, and the caller does one of them itself. It is as for `in_order` else.

    Examples
    --------
    >>> in_shares(abs, [-2, 1, -3], [1, 1, 2])
    [2, 1, 3]
    """
    workers = 1 if _WITHIN.get() else min(workers_of_run(), len(items))
    if workers < 2:
        return list(map(function, items))
    shares: list[list[int]] = [[] for _ in range(workers)]
    taken = [0] * workers
    for place in sorted(range(len(items)), key=lambda place: -sizes[place]):
        least = min(range(workers), key=taken.__getitem__)
        shares[least].append(place)
        taken[least] += sizes[place]
    found: dict[int, R] = {}

    def done(share: list[int]) -> list[R]:
        return [function(items[place]) for place in share]

    futures = [_pool(workers).submit(copy_context().run, _job, done, s) for s in shares[1:]]
    try:
        found.update(zip(shares[0], copy_context().run(_job, done, shares[0]), strict=True))
        for share, future in zip(shares[1:], futures, strict=True):
            found.update(zip(share, future.result(), strict=True))
    finally:  # none goes on after an error
        wait(futures)
    return [found[place] for place in range(len(items))]


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
