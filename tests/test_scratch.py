"""Scratch directories go away, however a process ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlnlearn.scratch import ScratchFolder

WORK = """
import sys, time
from mlnlearn.counting.duck import DuckServer
server = DuckServer(1 << 27, threads=1, on_disk=True)
server.fetch("CREATE TABLE t AS SELECT range AS n FROM range(1000)")
print("ready", flush=True)
time.sleep(60)
"""


def left_after(folder, seconds=10.0):
    """What is in a folder once nobody removes anything any more, or after so long."""
    end = time.monotonic() + seconds
    while any(folder.iterdir()) and time.monotonic() < end:
        time.sleep(0.02)
    return list(folder.iterdir())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_leaves_no_scratch(tmp_path, how):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", WORK], env=environment, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == "ready\n"
        (scratch,) = tmp_path.iterdir()
        assert (scratch / "facts.duckdb").exists()
        os.kill(running.pid, how)
    assert left_after(tmp_path) == []


def test_a_directory_goes_with_its_last_reference(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = ScratchFolder()
    path = scratch.path
    (path / "file").write_text("x")
    assert list(tmp_path.iterdir()) == [path]
    del scratch
    assert not Path(path).exists()
