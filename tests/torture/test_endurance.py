"""Kills, full disks, several writers: nothing is half written, and runs go on to the same model."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mlnlearn
from mlnlearn.journal import Journal
from mlnlearn.structure.saved import load_model
from torture import storage
from torture.kills import kill_runs
from torture.learning import NAMES, data, learner


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_run_goes_on_to_the_same_model(name):
    found = kill_runs(name, kills=2, seed="0")
    assert (found.kills, found.wrong) == (2, 0)
    assert found.resumed


@pytest.mark.parametrize("name", ["mln-bt", "mbn"])
def test_a_full_disk_leaves_the_model_that_was_there(name, tmp_path):
    model = learner(name).fit(data(name)).model
    model.save(tmp_path / "m.mln")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    sizes = [len(content) for content in before.values()]
    for room in (0, 1, min(sizes) - 1, max(sizes) - 1):
        assert storage.in_child(lambda: model.save(tmp_path / "m.mln"), room) == 3
        assert storage.in_child(lambda: model.save(tmp_path / "new.mln"), room) == 3
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert storage.in_child(lambda: model.save(tmp_path / "new.mln"), max(sizes)) == 0
    assert str(load_model(tmp_path / "new.mln")) == str(model)


def test_a_full_disk_leaves_a_checkpoint_that_goes_on(tmp_path):
    whole = tmp_path / "whole.jsonl"
    storage.record_again_and_again(whole, 5)
    content = whole.read_bytes()
    for room in range(0, len(content), 97):
        path = tmp_path / f"{room}.jsonl"
        assert storage.in_child(lambda p=path: storage.record_again_and_again(p, 5), room) == 3
        storage.record_again_and_again(path, 5)
        assert Journal(path, storage.RUN).read("step 4", list[float]) == [0.5] * 100


def test_writers_at_one_file_leave_the_text_of_one_of_them(tmp_path):
    path = tmp_path / "m.mln"
    writers = [
        lambda letter=letter: storage.write_again_and_again(path, letter, 20) for letter in "abc"
    ]
    assert storage.together(*writers) == [0, 0, 0]
    text = path.read_text()
    assert text in {letter * 100_000 for letter in "abc"}
    assert os.listdir(tmp_path) == ["m.mln"]


def test_a_second_writer_of_a_checkpoint_is_noticed(tmp_path):
    path = tmp_path / "run.jsonl"
    codes = storage.together(*[lambda: storage.record_again_and_again(path, 200)] * 2)
    assert set(codes) <= {0, 3}
    # whoever was first may have ended before the other began; else at least one had to stop
    found = Journal(path, storage.RUN)
    keys = [key for key in (f"step {number}" for number in range(200)) if key in found]
    assert keys
    assert all(found.read(key, list[float]) == [0.5] * 100 for key in keys)


def test_compiled_code_needs_no_place_to_be_kept(tmp_path):
    """Neither the package's folder nor HOME can be written: as in a container that is read-only."""
    code = (
        "import numba.core.caching as c\n"
        "def refuse(self): raise PermissionError('read-only')\n"
        "for kind in vars(c).values():\n"
        "    if isinstance(kind, type) and hasattr(kind, 'ensure_cache_path'):\n"
        "        kind.ensure_cache_path = refuse\n"
        "from torture.learning import main; main()"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, "mln-bt"],
        env={**os.environ, "HOME": "/nonexistent", "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout[:6]) == (0, "mln-bt"), found.stderr[-2000:]


def test_nothing_is_compiled_by_numba_alone():
    source = Path(mlnlearn.__file__).parent
    users = {path.name for path in source.rglob("*.py") if "numba import" in path.read_text()}
    assert users == set()
