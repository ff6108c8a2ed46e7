"""Models that must be the same whatever the order, the names, the workers and the hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import mlnlearn as ml
from mlnlearn.registry import LEARNERS
from torture.learning import data, files_of

Files = dict[str, bytes]


@cache
def model(name: str) -> Files:
    """Return the files of a model, as it is learned from rows in order."""
    return files_of(name, data(name))


def other_order(name: str) -> bool:
    """Whether rows in another order give the same bytes, as facts and as tables."""
    same = files_of(name, data(name, order=3)) == model(name)
    if LEARNERS[name].tables:
        return same
    one, two = (files_of(name, data(name, order, tables=True)) for order in (None, 3))
    return same and one == two


def other_names(name: str) -> bool:
    """Whether other names, in the same order, give the same rules."""
    renamed = files_of(name, data(name, letter="Q"))["model.mln"]
    return renamed.replace(b"Q1_", b"P1_").replace(b"Q2_", b"P2_") == model(name)["model.mln"]


def more_workers(name: str) -> bool:
    """Whether two workers give the same bytes."""
    return files_of(name, data(name), ml.Run(workers=2)) == model(name)


@cache
def _models_with(seed: str) -> list[str]:
    found = subprocess.run(
        [sys.executable, "-m", "torture.learning"],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.splitlines()


def other_hash_seed(name: str) -> bool:
    """Whether processes with two hash seeds, and this one, give the same bytes."""
    here = [f"{name} {file} {content!r}" for file, content in model(name).items()]
    return all(
        [line for line in _models_with(seed) if line.split()[0] == name] == here
        for seed in ("1", "2")
    )


CHANGES: dict[str, Callable[[str], bool]] = {
    "rows in another order": other_order,
    "other names": other_names,
    "two workers": more_workers,
    "another hash seed": other_hash_seed,
}
