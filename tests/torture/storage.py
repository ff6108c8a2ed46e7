"""Disks that fill up, and several writers at one file."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

from mlnlearn.errors import InputError
from mlnlearn.files import write_files
from mlnlearn.journal import Identity, Journal

RUN = Identity("GSLP", {"beam": "5"})


def in_child(work: Callable[[], None], room: int | None = None) -> int:
    """Run in a process of its own, in which no file may grow beyond `room`; return its exit code.

    To a process, a limit on the size of files is what a full disk is: a write that fails half way.
    It is 0 where the work was done, 3 where it was refused with a path and a reason.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if room is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            work()
            code = 0
        except InputError as error:
            code = 3 if error.location is not None and error.location.file else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def write_again_and_again(path: Path, letter: str, times: int) -> None:
    """Write a file many times over, with a text that tells who wrote it."""
    for _ in range(times):
        write_files({path: letter * 100_000})


def record_again_and_again(path: Path, times: int) -> None:
    """Write results to a checkpoint until somebody else does, too."""
    journal = Journal(path, RUN)
    for number in range(times):
        journal.record(f"step {number}", [0.5] * 100)


def together(*works: Callable[[], None]) -> list[int]:
    """Run several pieces of work at once, each in a process of its own; return the exit codes."""
    children = []
    for work in works:
        child = os.fork()
        if child == 0:
            os._exit(in_child(work))
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
