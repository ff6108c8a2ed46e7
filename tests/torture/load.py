"""Many query atoms: answers that come a part at a time, written to a file, in bounded memory."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np

import mlnlearn as ml
from mlnlearn.data.vocabulary import Vocabulary
from torture.memory import peak_of

LIMIT = 512 << 20
"""Bytes that the answers may take beside the data, however many there are."""
_RULES = """
smokes(person)
friends(person,person)
likes(person,person)
-2 likes(x,y)
1.5 friends(x,y) => likes(x,y)
0.5 friends(x,z) ^ friends(z,y) ^ smokes(z) => likes(x,y)
0.7 smokes(x) ^ smokes(y) => likes(x,y)
"""
_FRIENDS = 5
Model: TypeAlias = ml.MLN | ml.BoostedModel


@dataclass(frozen=True)
class Loaded:
    """What became of one question."""

    model: str
    file: str
    atoms: int
    size: int
    seconds: float
    peak: int
    wrong: int

    @property
    def faults(self) -> int:
        """Wrong answers, and a peak beyond the limit."""
        return self.wrong + (self.peak > LIMIT)


def database(people: int) -> ml.Database:
    """Some friends of everybody, half of them smokers."""
    rng = np.random.default_rng(people)
    mln = ml.MLN.parse(_RULES)
    pairs = np.stack(
        [np.repeat(np.arange(people), _FRIENDS), rng.integers(people, size=_FRIENDS * people)]
    )
    facts = {
        "friends": np.unique(pairs, axis=1).astype(np.int32),
        "smokes": np.flatnonzero(rng.random(people) < 0.5)[None].astype(np.int32),
    }
    names = Vocabulary([f"P{number}" for number in range(people)])
    return ml.Database.from_codes(mln.schema, {"person": names}, facts)


def models(data: ml.Database) -> dict[str, Model]:
    """Return a network, and trees learned from some friendships of the same people."""
    base = ml.BoostedMLN(target="friends", steps=5, max_examples=2_000)
    return {"network": ml.MLN.parse(_RULES), "boosted trees": base.fit([data]).model}


QUESTIONS = tuple(
    f"{model}, {suffix}" for model in ("network", "boosted trees") for suffix in ("csv", "parquet")
)
"""Models, and the kinds of files that their answers go to."""


def loaded_one(atoms: int, question: str) -> Loaded:
    """Ask for as many atoms, of one model, into a kind of file."""
    name, suffix = question.split(", ")
    small = database(60)
    model = models(small)[name]
    asked = "likes" if isinstance(model, ml.MLN) else "friends"
    wrong = _wrong(model, small, asked)  # compiles what is compiled, too
    return _written(name, model, database(math.isqrt(atoms - 1) + 1), asked, suffix, wrong)


def loaded(atoms: int) -> Iterator[Loaded]:
    """Ask for as many atoms, of every model, into both kinds of files."""
    for question in QUESTIONS:
        yield loaded_one(atoms, question)


def _written(
    name: str, model: Model, data: ml.Database, asked: str, suffix: str, wrong: int
) -> Loaded:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"answers.{suffix}"
        started = time.perf_counter()
        chunks = ml.query_in_chunks(model, data, asked)
        peak = peak_of(partial(ml.write_answers, path, chunks))
        seconds = time.perf_counter() - started
        rows = duckdb.sql(f"SELECT count(DISTINCT atom) FROM '{path}'").fetchall()[0][0]
        wrong += abs(rows - data.ground_atoms(asked))
        return Loaded(name, suffix, rows, path.stat().st_size, seconds, peak, wrong)


def _wrong(model: Model, data: ml.Database, asked: str) -> int:
    """Count the answers of parts that are not those of the whole."""
    (whole,) = ml.query_in_chunks(model, data, asked, whole=True)
    found, parts = whole.by_atom(), {}
    for part in ml.query_in_chunks(model, data, asked, atoms=500):
        parts |= part.by_atom()
    differing = sum(abs(p - parts.get(atom, p)) > 1e-12 for atom, p in found.items())
    return len(set(found) ^ set(parts)) + differing


def main() -> int:
    """Print every question; for a look at them alone."""
    faults = 0
    for found in loaded(int(sys.argv[1]) if sys.argv[1:] else 10_000_000):
        faults += found.faults
        sys.stdout.write(f"{found}\n")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
