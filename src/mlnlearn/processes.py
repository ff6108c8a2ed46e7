"""Worker processes that end with the process that started them, however that one ends.

Work is handed out by joblib: to processes here, or by a back end that was registered with it and is
in use (`joblib.parallel_config`), such as those of Dask and Ray, which bring their own workers.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from mlnlearn.late import late

if TYPE_CHECKING:
    import joblib
else:
    joblib = late("joblib")

_SET_PARENT_DEATH_SIGNAL = 1
_SECONDS = 0.5


def pool(jobs: int, one_by_one: bool = False) -> joblib.Parallel:
    """Return what runs delayed calls in so many processes, or on the back end that is in use.

    Arrays are sent, not mapped from files: a mapped array is read-only, another type to compiled
    kernels, which would be compiled once more for it.

    Parameters
    ----------
    jobs
        How many.
    one_by_one
        Whether to yield each result when it is there, where the back end can.

    Examples
    --------
    >>> pool(1)(joblib.delayed(abs)(number) for number in (-1, -2))
    [1, 2]
    """
    backend, _ = joblib.parallel.get_active_backend()
    kind = "generator" if one_by_one and backend.supports_return_generator else "list"
    own: dict[str, Any] = {}
    if isinstance(backend, joblib.parallel.LokyBackend):
        own = {"max_nbytes": None, "initializer": end_with_parent, "initargs": (os.getpid(),)}
    return joblib.Parallel(n_jobs=jobs, return_as=kind, **own)


def end_with_parent(parent: int) -> None:
    """Make this process end when its parent does; called in a worker as it starts.

    Ctrl-C at a terminal reaches workers as well as their parent, which ends them itself.

    Parameters
    ----------
    parent
        The id of the process that started this one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":  # at once, even in the midst of compiled code
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS)
    os._exit(1)
