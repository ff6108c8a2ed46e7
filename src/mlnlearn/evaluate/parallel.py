"""Work spread over processes, with the same results for any number of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TypeAlias, TypeVar

from mlnlearn.late import late
from mlnlearn.processes import pool
from mlnlearn.resources import carried

joblib = late("joblib")

Task = TypeVar("Task")
Result = TypeVar("Result")

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of finished tasks and that of all tasks."""


def run_all(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Result]:
    """Apply a function to all tasks and return the results in the order of the tasks.

    Parameters
    ----------
    function
        What to do. Its result must follow from the task alone (seeds are part of the task), so that
        it does not matter where it runs.
    tasks
        The tasks.
    jobs
        Number of processes; 1 stays in this one, -1 takes one for each core. Where a back end of
        joblib is in use, such as that of Dask or Ray, so many tasks are handed to it at a time.
    progress
        Called after each task, in the order of the tasks.

    Examples
    --------
    >>> run_all(abs, [-1, -2], progress=lambda done, total: print(done, "of", total))
    1 of 2
    2 of 2
    [1, 2]
    """
    results: Iterable[Result]
    if jobs == 1 or len(tasks) < 2:
        results = map(function, tasks)
    else:
        there = carried(function)
        results = pool(jobs, one_by_one=True)(joblib.delayed(there)(task) for task in tasks)
    finished = []
    try:
        for result in results:
            finished.append(result)
            if progress is not None:
                progress(len(finished), len(tasks))
    except BaseException:
        if isinstance(results, Generator):  # ends the workers, in the midst of what they do
            results.close()
        raise
    return finished
