"""Scratch directories go away, however a process ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mlnlearn as ml
from mlnlearn.data.synthetic import university
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


LEARN = """
import mlnlearn as ml
learner = ml.BoostedRDN(target="advisedBy", steps=60, max_leaves=3)
with ml.counting_with("duckdb", "100MB"):
    model = learner.fit([ml.facts_in_place("facts")], ml.Run(checkpoint=CHECKPOINT)).model
found = [(str(rule), weight) for rule, weight in model.rules()]
"""


def test_a_killed_run_over_facts_in_place_goes_on(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.chdir(tmp_path)
    ml.write_parquet(university(40, areas=1, rng=1).databases[0], "facts")
    checkpoint = tmp_path / "run.json"
    command = [sys.executable, "-c", LEARN.replace("CHECKPOINT", "'run.json'")]
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(scratch)}) as running:
        while not checkpoint.exists() or checkpoint.read_bytes().count(b"\n") < 3:
            assert running.poll() is None
            time.sleep(0.005)
        os.kill(running.pid, signal.SIGKILL)
    assert left_after(scratch) == []
    before = checkpoint.read_bytes()
    assert 3 <= before.count(b"\n") < 60
    models = []
    for path in ("run.json", None):
        names = {"CHECKPOINT": path}
        exec(LEARN, names)
        models.append(names["found"])
    assert models[0] == models[1]
    assert checkpoint.read_bytes().startswith(before[: before.rindex(b"\n")])
