"""Run BoostSRL, the boosting authors' own system, on our databases.

Its jar is named by the environment variable ``MLNLEARN_BOOSTSRL_JAR`` (it comes with the package
``srlearn``); ``java`` must be there too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives

JAR = "MLNLEARN_BOOSTSRL_JAR"
OPTIONS: dict[str, tuple[str, ...]] = {
    "rdn-b": (),
    "mln-bt": ("-mln",),
    "mln-bc": ("-mln", "-mlnClause"),
}


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
) -> Run:
    """Train on databases, for at most so many CPU seconds; `mode` is one of `OPTIONS`.

    False examples are all, or `ratio` times as many as true ones.
    """
    command = ["java", "-jar", os.environ[JAR], "-l", "-target", target.lower()]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), databases, target, ratio)
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(
            bounded([*command, "-train", folder, "-trees", str(trees), *OPTIONS[mode]], seconds),
            stdout=quiet,
            stderr=quiet,
        )
        _, status, used = os.wait4(process.pid, 0)
        models = list((Path(folder) / "models").glob("bRDNs/*.model*"))
    if status or not models:
        raise RuntimeError(f"BoostSRL failed with status {status} and {len(models)} models")
    return Run(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


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
