"""Checkpoints of every learner, damaged and signed anew, from which runs are to go on."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import cache

import mlnlearn as ml
from mlnlearn.errors import MlnError
from mlnlearn.journal import Identity, Journal, _checksum
from torture import scratch
from torture.damage import changed
from torture.learning import data, learner
from torture.model_files import check_place

RUN = Identity("GSLP", {"beam": "5"}, {"facts": "d1"})


@dataclass(frozen=True)
class Checkpoint:
    """A learner's name, and the bytes of a checkpoint to go on from."""

    learner: str
    content: bytes


@cache
def whole(name: str) -> bytes:
    """Return the checkpoint of a run that came to its end."""
    with scratch.folder() as folder:
        path = folder / "run.jsonl"
        learner(name).fit(_data(name), ml.Run(checkpoint=path))
        return path.read_bytes()


@cache
def _data(name: str) -> ml.Data:
    return data(name)


def forged(rng: random.Random, name: str) -> Checkpoint:
    """Return a checkpoint in which a record was changed, and all checksums made to fit."""
    records = [json.loads(line.split(b" ", 1)[1]) for line in whole(name).splitlines()]
    place = rng.randrange(len(records)) if rng.random() < 0.95 else 0
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if place and isinstance(records[place], list) and len(records[place]) == 2:
            value = changed([records[place][1]], rng)
            key = records[place][0]
            records[place] = [key, value[0] if isinstance(value, list) and value else value]
        else:
            records[place] = changed(records[place], rng)
    return Checkpoint(name, signed(records))


def signed(records: list[object]) -> bytes:
    """Return records as the lines of a journal."""
    total, lines = b"", b""
    for record in records:
        body = json.dumps(record).encode()
        total = _checksum(total, body)
        lines += total + b" " + body + b"\n"
    return lines


def go_on(given: Checkpoint) -> None:
    """Go on from a checkpoint: to a model, or to an error that says which line is wrong."""
    with scratch.folder() as folder:
        path = folder / "run.jsonl"
        path.write_bytes(given.content)
        try:
            learner(given.learner).fit(_data(given.learner), ml.Run(checkpoint=path))
        except MlnError as error:
            check_place(error, "run.jsonl")
            raise


@cache
def _small() -> bytes:
    with scratch.folder() as folder:
        path = folder / "j"
        Journal(path, RUN).record_all([("step 1", [0.5]), ("step 2", {"a": None})])
        return path.read_bytes()


def damaged(rng: random.Random) -> bytes:
    """Return a journal with damaged bytes or lines."""
    data = _small()
    place = rng.randrange(len(data))
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    deep = b"[" * 100_000
    return rng.choice((
        data[:place], b"".join(lines), data[:place] + deep + data[place:],
        data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :],
        data[:place] + b"9" * 5000 + data[place:], b"\xff" + data, b"{}\n", b"\n" + data,
    ))  # fmt: skip


def use_damaged(content: bytes) -> None:
    """Read a journal: what it gives is what was written, or it is refused."""
    with scratch.folder() as folder:
        path = folder / "run.jsonl"
        path.write_bytes(content)
        try:
            found = Journal(path, RUN)
        except MlnError as error:
            check_place(error, "run.jsonl")
            raise
        assert "step 1" not in found or found.read("step 1", list[float]) == [0.5]
        assert "step 2" not in found or found.read("step 2", dict[str, None]) == {"a": None}
