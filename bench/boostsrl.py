"""Run BoostSRL, the boosting authors' own system, on our databases.

Its jar is named by the environment variable ``MLNLEARN_BOOSTSRL_JAR`` (it comes with the package
``srlearn``); ``java`` must be there too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples, positives_and_negatives

JAR = "MLNLEARN_BOOSTSRL_JAR"
OPTIONS: dict[str, tuple[str, ...]] = {
    "rdn-b": (),
    "mln-bt": ("-mln",),
    "mln-bc": ("-mln", "-mlnClause"),
}
ONE_CORE = ("-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1")
"""What keeps the Java machine to one core, which takes fewer CPU seconds than threads that wait."""


@dataclass(frozen=True)
class Run:
    """CPU seconds and peak memory of a training run, that of the Java machine among it."""

    cpu: float
    megabytes: float


def missing() -> str:
    """Return why BoostSRL cannot be run, nothing where it can."""
    if not os.environ.get(JAR):
        return f"{JAR} is not set"
    if not Path(os.environ[JAR]).is_file():
        return f"{JAR} names no file"
    return "" if shutil.which("java") else "there is no java"


def bounded(command: Sequence[str], seconds: int) -> list[str]:
    """Return a command that ends after so many CPU seconds."""
    return ["sh", "-c", f'ulimit -t {seconds}; exec "$@"', "sh", *command]


def train(
    databases: Sequence[Database],
    target: str,
    mode: str,
    trees: int = 20,
    seconds: int = 3600,
    ratio: float | None = None,
    heap: str | None = None,
) -> Run:
    """Train on databases, for at most so many CPU seconds; `mode` is one of `OPTIONS`.

    False examples are all, or `ratio` times as many as true ones. `heap` is what the Java machine
    may take, such as ``6g``; by default its own limit, a quarter of the memory.
    """
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), databases, target, ratio)
        return _trained(Path(folder), target, mode, trees, seconds, heap)


def answer(
    databases: Sequence[Database],
    test: Database,
    target: str,
    mode: str,
    trees: int = 20,
    seconds: int = 3600,
) -> tuple[Run, Examples, NDArray[np.float64]]:
    """Train on databases, and answer all atoms of the target in another.

    Returns
    -------
    What training took, the atoms with their labels, and the probabilities of these.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder, asked = Path(scratch) / "train", Path(scratch) / "test"
        for place, given in ((folder, databases), (asked, [test])):
            place.mkdir()
            write(place, given, target)
        run = _trained(folder, target, mode, trees, seconds)
        options = ["-i", "-model", str(folder / "models"), "-test", str(asked)]
        options += ["-testNegPosRatio", "-1", "-aucJarPath", str(Path(os.environ[JAR]).parent)]
        _called(target, options, mode, trees, seconds)
        lines = (asked / f"results_{target.lower()}.db").read_text().splitlines()
    chances: dict[str, float] = {}
    for line in lines:
        atom, _, chance = line.replace(", ", ",").rpartition(" ")
        false = atom.startswith("!")  # then it is the probability that the atom is false
        chances[atom.removeprefix("!")] = 1.0 - float(chance) if false else float(chance)
    examples = positives_and_negatives([test], target)
    atoms = [_line(target, row, 0).removesuffix(".\n") for row in examples.rows([test])]
    if len(set(atoms)) < len(atoms):
        raise RuntimeError(f"names of {target} that BoostSRL cannot tell apart")
    return run, examples, np.array([chances[atom] for atom in atoms])


def _trained(
    folder: Path, target: str, mode: str, trees: int, seconds: int, heap: str | None = None
) -> Run:
    run = _called(target, ["-l", "-train", str(folder)], mode, trees, seconds, heap)
    if not list((folder / "models").glob("bRDNs/*.model*")):
        raise RuntimeError("BoostSRL ended without a model")
    return run


def _called(
    target: str,
    options: Sequence[str],
    mode: str,
    trees: int,
    seconds: int,
    heap: str | None = None,
) -> Run:
    """Run the jar, and say what that took, or how it failed."""
    java = ["java", *ONE_CORE, *([] if heap is None else [f"-Xmx{heap}"])]
    java += ["-jar", os.environ[JAR]]
    given = ["-target", target.lower(), "-trees", str(trees), *OPTIONS[mode]]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            bounded([*java, *options, *given], seconds),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
        run = Run(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
        if status:
            said.seek(0)
            how = "stopped" if os.WIFSIGNALED(status) else _error(said)
            spent = f"after {run.cpu:.0f} CPU s, {run.megabytes:,.0f} MB"
            raise RuntimeError(f"BoostSRL: {how} {spent}")
    return run


def _error(lines: Iterable[str]) -> str:
    """Return the first error that is named in what a Java machine says.

    Examples
    --------
    >>> _error(["% ok", "Exception in thread main java.lang.OutOfMemoryError: Java heap space"])
    'OutOfMemoryError: Java heap space'
    """
    found = (re.search(r"java\.\S*?(\w+(?:Error|Exception)\b.*)", line) for line in lines)
    return next((error[1].strip() for error in found if error), "failed")


def write(
    folder: Path, databases: Sequence[Database], target: str, ratio: float | None = None
) -> None:
    """Write facts, examples and modes as BoostSRL reads them: all in lower case.

    The language is ours: every predicate, any of its arguments bound and the others bound or new.
    Constants of different databases keep apart, as they do here.
    """
    name = folder.name
    schema = databases[0].schema
    facts = [
        _line(predicate.name, row, number)
        for number, database in enumerate(databases)
        for predicate in schema.predicates
        if predicate.name != target
        for row in database.rows(predicate.name)
    ]
    (folder / f"{name}_facts.txt").write_text("".join(facts))
    examples = positives_and_negatives(databases, target, ratio=ratio, rng=0)
    for kind, wanted in (("pos", True), ("neg", False)):
        part = examples.take(examples.labels == wanted)
        rows = zip(part.rows(databases), part.database.tolist(), strict=True)
        lines = [_line(target, row, number) for row, number in rows]
        (folder / f"{name}_{kind}.txt").write_text("".join(lines))
    modes = []
    for predicate in schema.predicates:
        for bound in range(predicate.arity):
            signs = ("+" if place == bound else "-" for place in range(predicate.arity))
            places = (s + kind for s, kind in zip(signs, predicate.types, strict=True))
            modes.append(f"mode: {predicate.name.lower()}({','.join(places)}).\n")
    (folder / f"{name}_bk.txt").write_text(
        "setParam: maxTreeDepth=3.\nsetParam: nodeSize=2.\nsetParam: numOfClauses=8.\n"
        + "usePrologVariables: true.\n"
        + "".join(modes)
    )


def _line(predicate: str, row: Sequence[str], database: int) -> str:
    plain = ("".join(c if c.isalnum() else "_" for c in item.lower()) for item in row)
    return f"{predicate.lower()}({','.join(f'd{database}_{item}' for item in plain)}).\n"
