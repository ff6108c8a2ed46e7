"""Runs killed at random moments: each goes on from its checkpoint to the same model.

A run is forked from a process that has everything loaded, so that a kill costs the time until it
strikes and nothing else. Moments are counted in the run's own CPU time: how busy the machine is
with other things does not matter.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mlnlearn as ml
from torture import scratch
from torture.learning import data, files_of

_KILLED_IN_A_ROW = 6
_TICK = 0.001


@dataclass(frozen=True)
class Killed:
    """What became of a learner's killed runs.

    Attributes
    ----------
    kills
        Runs that were killed while they were under way.
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
    """A run in one go: its data, its files, and its CPU seconds."""

    data: ml.Data
    files: dict[str, bytes]
    seconds: float


@cache
def undisturbed(name: str) -> Undisturbed:
    """Run a learner without kills; the second time, everything is loaded."""
    given = data(name)
    files = files_of(name, given)
    started = time.process_time()
    with scratch.folder() as folder:
        files_of(name, given, ml.Run(checkpoint=folder / "run.jsonl"))
    return Undisturbed(given, files, time.process_time() - started)


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
                if _struck(name, whole.data, checkpoint, rng.uniform(0.0, 1.2 * seconds)):
                    struck += 1
                    kept += _results(checkpoint) > 0
            if struck > before:
                resumed += 1
                wrong += _ends_otherwise(name, whole, checkpoint)
            seconds *= 0.95  # where a run is quicker than it was thought to be, kills come too late
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


def _struck(name: str, given: ml.Data, checkpoint: Path, seconds: float) -> bool:
    """Start a run, kill it after some time, and tell whether it was still running."""
    child = os.fork()
    if child == 0:
        try:
            files_of(name, given, ml.Run(checkpoint=checkpoint))
            os._exit(0)
        except BaseException as error:  # what is being looked for
            sys.stderr.write(f"{name}: {error!r}\n")
            os._exit(1)
    if wait_for(child, seconds):
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise AssertionError(f"a run of {name} that was killed before did not go on")
    return os.WIFSIGNALED(status)
