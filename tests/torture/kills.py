"""Runs killed at random moments: each goes on from its checkpoint to the same model.

A run is forked from a process that has everything loaded, so that a kill costs the time until it
strikes and nothing else. Moments are counted in the run's own CPU time, and the system itself sends
the signal when that is up: how busy the machine is with other things does not matter, and runs of
some hundredths of a second are hit anywhere. Learners think long and write fast: every other
kill strikes in the middle of a write to the checkpoint, which then holds a part of it.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from unittest.mock import patch

import mlnlearn as ml
from mlnlearn.journal import Journal
from torture import scratch
from torture.learning import data, files_of

_KILLED_IN_A_ROW = 6
_APPEND = Journal._append
_TICK = 0.001


@dataclass(frozen=True)
class Killed:
    """What became of a learner's killed runs.

    Attributes
    ----------
    kills
        Runs that were killed while they were under way, every other one in a write.
    kept
        Those of them that had left some result in the checkpoint.
    resumed
        Runs that went on after kills and came to an end.
    wrong
        Those of them that ended with another model, or did not go on at all.
    """

    kills: int
    kept: int
    resumed: int
    wrong: int


@dataclass(frozen=True)
class Undisturbed:
    """A run in one go: its data, its files, its CPU seconds and its writes to the checkpoint."""

    data: ml.Data
    files: dict[str, bytes]
    seconds: float
    writes: int


@cache
def undisturbed(name: str) -> Undisturbed:
    """Run a learner without kills; the second time, everything is loaded."""
    given = data(name)
    files = files_of(name, given)
    started = time.process_time()
    with scratch.folder() as folder, patch.object(Journal, "_append", autospec=True) as append:
        append.side_effect = _APPEND
        files_of(name, given, ml.Run(checkpoint=folder / "run.jsonl"))
    return Undisturbed(given, files, time.process_time() - started, append.call_count)


def kill_runs(name: str, kills: int, seed: str) -> Killed:
    """Kill runs of a learner so many times; after some kills in a row, one may end."""
    whole = undisturbed(name)
    seconds = whole.seconds
    rng = random.Random(f"kills/{name}/{seed}")
    struck = kept = resumed = wrong = 0
    with scratch.folder() as folder:
        while struck < kills:
            checkpoint = folder / f"run{resumed}.jsonl"
            before = struck
            for _ in range(min(_KILLED_IN_A_ROW, kills - struck)):
                if struck % 2:
                    writes = max(1, whole.writes - _results(checkpoint))
                    kill = partial(_kill_in_write, rng.randint(1, writes), rng.uniform(-0.5, 1.5))
                else:
                    kill = partial(_kill_after, rng.uniform(0.0, 1.2 * seconds))
                if _struck(name, whole.data, checkpoint, kill):
                    struck += 1
                    kept += _results(checkpoint) > 0
            if struck > before:
                resumed += 1
                wrong += _ends_otherwise(name, whole, checkpoint)
            else:
                seconds *= 0.8  # a run that is quicker than it was thought to be was never hit
    return Killed(struck, kept, resumed, wrong)


def _results(checkpoint: Path) -> int:
    return checkpoint.read_bytes().count(b"\n") - 1 if checkpoint.exists() else 0


def _ends_otherwise(name: str, whole: Undisturbed, checkpoint: Path) -> bool:
    try:
        return files_of(name, whole.data, ml.Run(checkpoint=checkpoint)) != whole.files
    except Exception as error:  # what is being looked for
        sys.stderr.write(f"{name}: {error!r}\n")
        return True


def cpu_seconds(process: int) -> float:
    """Return the CPU time of another process."""
    return time.clock_gettime((~process << 3) | 2)  # as clock_getcpuclockid makes it


def wait_for(process: int, seconds: float) -> bool:
    """Wait until a child has worked for so long; tell whether it still lives then."""
    while True:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return False
        left = seconds - cpu_seconds(process)
        if left <= 0:
            return True
        time.sleep(max(left, _TICK))


def _struck(name: str, given: ml.Data, checkpoint: Path, kill: Callable[[], None]) -> bool:
    """Start a run that is to be killed, and tell whether it was before its end."""
    child = os.fork()
    if child == 0:
        try:
            kill()
            files_of(name, given, ml.Run(checkpoint=checkpoint))
            os._exit(0)
        except BaseException as error:  # what is being looked for
            sys.stderr.write(f"{name}: {error!r}\n")
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise AssertionError(f"a run of {name} that was killed before did not go on")
    return os.WIFSIGNALED(status)


def _kill_in_write(number: int, share: float) -> None:
    """Have this process send itself SIGKILL when so much of a write is in the checkpoint."""
    left = number

    def append(journal: Journal, path: Path, lines: bytes) -> None:
        nonlocal left
        left -= 1
        part = lines if left else lines[: int(min(max(share, 0.0), 1.0) * len(lines))]
        _APPEND(journal, path, part)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    Journal._append = append  # type: ignore[method-assign]


class _Notice(ctypes.Structure):
    """What a timer does when its time is up (``struct sigevent``): sends a signal."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("number", ctypes.c_int),
        ("how", ctypes.c_int),
        ("rest", ctypes.c_byte * 48),
    )


def _kill_after(seconds: float) -> None:
    """Have the system send SIGKILL to this process when it has worked for so long."""
    library = ctypes.CDLL(None, use_errno=True)
    timer = ctypes.c_void_p()
    notice = _Notice(number=signal.SIGKILL)
    made = library.timer_create(
        time.CLOCK_PROCESS_CPUTIME_ID, ctypes.byref(notice), ctypes.byref(timer)
    )
    nanoseconds = max(1, int(1e9 * seconds))
    once = (ctypes.c_long * 4)(0, 0, *divmod(nanoseconds, 10**9))
    if made or library.timer_settime(timer, 0, once, None):
        raise OSError(ctypes.get_errno(), "no timer of CPU time")
