"""Worker processes that end with the process that started them, however that one ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

_SET_PARENT_DEATH_SIGNAL = 1
_SECONDS = 0.5


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
