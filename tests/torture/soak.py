"""A long life: learning, saving, loading and asking over and over, in one process."""

from __future__ import annotations

import gc
from pathlib import Path

import mlnlearn as ml
from torture import scratch
from torture.learning import data, learner

MOST_GROWTH = 24 << 20
"""Bytes that a process may grow by after its first cycles: what is kept for later is bounded."""
_WARM_UP = 20


def growth(cycles: int) -> int:
    """Return by how many bytes the process grows after the first cycles."""
    before = 0
    for cycle in range(cycles + _WARM_UP):
        if cycle == _WARM_UP:
            before = _resident()
        _cycle(cycle)
    return _resident() - before


def _cycle(number: int) -> None:
    with scratch.folder() as folder:
        path = folder / "model.mln"
        name = ("mln-bt", "mbn", "msl", "rdn-b")[number % 4]
        given = data(name, order=number)
        learner(name).fit(given).model.save(path)
        model = ml.load_model(path)
        if isinstance(model, ml.BoostedModel):
            model.query(given.databases[0])
        elif isinstance(model, ml.MLN):
            ml.query(model, given.databases[0], "ill", closed=["old", "friend", "city"])


def _resident() -> int:
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
