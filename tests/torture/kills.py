"""Runs killed at random moments: each goes on from its checkpoint to the same model.

A run is a forked process, so that a kill costs the time until it strikes and nothing else.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import mlnlearn as ml
from torture.learning import data, files_of

_KILLED_IN_A_ROW = 6


@dataclass(frozen=True)
class Killed:
    """What became of a learner's killed runs."""

    learner: str
    kills: int
    resumed: int
    wrong: int


def kill_runs(name: str, kills: int, seed: int) -> Killed:
    """Kill runs of a learner so many times; after some kills in a row, one may end.

    Returns how many runs ended after kills, and how many of those with another model.
    """
    given = data(name)
    whole = files_of(name, given)
    seconds = _time_of(name, given)
    rng = random.Random(f"kills/{name}/{seed}")
    struck = resumed = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        while struck < kills:
            checkpoint = Path(folder) / f"run{resumed}.jsonl"
            before = struck
            for _ in range(min(_KILLED_IN_A_ROW, kills - struck)):
                struck += _struck(name, given, checkpoint, rng.uniform(0.0, 1.2 * seconds))
            if struck > before:
                resumed += 1
                wrong += files_of(name, given, ml.Run(checkpoint=checkpoint)) != whole
            seconds *= 0.95  # where a run is quicker than it was thought to be, kills come too late
    return Killed(name, struck, resumed, wrong)


def _time_of(name: str, given: ml.Data) -> float:
    started = time.perf_counter()
    files_of(name, given)
    return time.perf_counter() - started


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
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise AssertionError(f"a run of {name} that was killed before did not go on")
    return os.WIFSIGNALED(status)
