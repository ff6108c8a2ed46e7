"""Slices of a long run: what each of them found is kept, so that a run can be stopped and go on.

All slices in a folder are of the same code: the folder is named after a digest of the sources, so
that results of code that has changed since are never put together with others.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import mlnlearn

_FILE = "results.jsonl"


@dataclass(frozen=True)
class Slice:
    """Some of the work.

    Attributes
    ----------
    part
        Of which table: inputs, kills, ...
    name
        Of which line in it.
    start, count
        Which tries.
    """

    part: str
    name: str
    start: int
    count: int


@dataclass(frozen=True)
class Outcome:
    """What a slice found: numbers for the table, how many faults, and the first few of these."""

    numbers: dict[str, float]
    wrong: int
    faults: tuple[str, ...] = ()


@dataclass
class Results:
    """Outcomes by slice; added ones are written down at once."""

    path: Path
    outcomes: dict[Slice, Outcome] = field(default_factory=dict)

    @classmethod
    def within(cls, folder: Path, seed: int) -> Results:
        """Open the results of this code with a seed, in a folder for them."""
        place = folder / f"{source_digest()}-{seed}" / _FILE
        place.parent.mkdir(parents=True, exist_ok=True)
        found = cls(place)
        for line in place.read_text().splitlines() if place.exists() else ():
            plain = json.loads(line)
            outcome = Outcome(plain["numbers"], plain["wrong"], tuple(plain["faults"]))
            found.outcomes[Slice(**plain["slice"])] = outcome
        return found

    def add(self, done: Slice, outcome: Outcome) -> None:
        """Write down what a slice found."""
        self.outcomes[done] = outcome
        line = json.dumps({"slice": asdict(done), **asdict(outcome)})
        with self.path.open("a") as stream:
            stream.write(line + "\n")

    def of(self, part: str, name: str) -> list[Outcome]:
        """Return the outcomes of a line of a table."""
        return [o for s, o in self.outcomes.items() if (s.part, s.name) == (part, name)]


def source_digest() -> str:
    """Return a digest of all sources: of the library, and of what tortures it."""
    found = hashlib.blake2b(digest_size=6)
    for folder in (Path(mlnlearn.__file__).parent, Path(__file__).parent):
        for file in sorted(folder.rglob("*.py")):
            found.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    found.update(f"{version('mlnlearn')} {platform.python_version()}".encode())
    return found.hexdigest()


def cut(part: str, name: str, total: int, pieces: int) -> list[Slice]:
    """Cut a number of tries into about as many slices.

    Examples
    --------
    >>> [(piece.start, piece.count) for piece in cut("kills", "mln-bt", 10, 3)]
    [(0, 4), (4, 4), (8, 2)]
    """
    size = max(1, -(-total // pieces))
    return [Slice(part, name, at, min(size, total - at)) for at in range(0, total, size)]


def in_turn(lines: Iterable[Sequence[Slice]]) -> list[Slice]:
    """Return the slices of all lines so that each of them is as far as the others at any time."""
    placed = [
        ((number + 1) / len(line), order, piece)
        for order, line in enumerate(lines)
        for number, piece in enumerate(line)
    ]
    return [piece for _, _, piece in sorted(placed, key=lambda item: item[:2])]
