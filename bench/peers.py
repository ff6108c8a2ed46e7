"""Other systems on the same data in the same run, for the page of `bench.searches`.

BoostSRL's jar is named by ``MLNLEARN_BOOSTSRL_JAR`` (the package ``srlearn`` has it), a Python with
pgmpy by ``MLNLEARN_PGMPY``. What is not there is left out, with the reason.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mlnlearn as ml
from bench import boostsrl
from bench.scale_tasks import campus, grouped
from mlnlearn.data.catalog import benchmark
from mlnlearn.data.load.build import Loaded
from mlnlearn.data.synthetic import university

PGMPY = "MLNLEARN_PGMPY"
BOUND, LONG = 120, 900
"""CPU seconds that another system is given, and where it is asked how far it gets."""

_HILL_CLIMBING = """
import sys
import pandas
from pgmpy.estimators import HillClimbSearch

table = pandas.read_csv(sys.argv[1], dtype="category")
net = HillClimbSearch(table).estimate(scoring_method="bdeu", show_progress=False)
print(len(net.edges()))
"""


@dataclass(frozen=True)
class Measured:
    """Our CPU seconds on so many facts, and what was found, or what another system did there.

    Memory is told where it is not that of the process that measures.
    """

    facts: int
    seconds: float
    answer: str
    megabytes: float | None = None


def boosting(size: float, bound: int = BOUND, heap: str | None = None) -> Measured:
    """Learn RDN-B: 20 trees on four folds of UW-CSE (size 0), else 3 trees on one university."""
    databases = (
        benchmark("uwcse", schema="schema_khot.mln")[1:]
        if size == 0
        else university(round(10**size / 9.0), 1, rng=0).databases
    )
    steps = 20 if size == 0 else 3
    learner = ml.BoostedRDN(target="advisedBy", steps=steps, max_examples=None)
    ml.BoostedRDN(target="advisedBy", steps=1).fit(university(30, 1, rng=1).databases)
    ratio = None if size == 0 else 20.0
    examples = ml.positives_and_negatives(databases, "advisedBy", ratio=ratio, rng=0)
    started = time.process_time()
    learner.fit(databases, examples=examples)
    ours = time.process_time() - started
    facts = sum(database.true_atoms for database in databases)
    reason = boostsrl.missing()
    if reason:
        return Measured(facts, ours, f"BoostSRL left out: {reason}")
    try:
        run = boostsrl.train(databases, "advisedBy", "rdn-b", steps, bound, ratio, heap)
    except RuntimeError as error:
        return Measured(facts, ours, f"{steps} trees; {error}, of {bound} CPU s that it had")
    times = f"{run.cpu / ours:.0f} times"
    return Measured(facts, ours, f"{steps} trees; BoostSRL {run.cpu:.1f} CPU s ({times}), "
                               f"{run.megabytes:,.0f} MB")  # fmt: skip


def survived(size: float) -> Measured:
    """Do the same on a university, for which BoostSRL has 4 GB and a quarter of an hour."""
    return boosting(size, LONG, "4g")


def hill_climbing(size: float) -> Measured:
    """Learn a net: learn-and-join from tables, pgmpy from the one table that they join to."""
    loaded = campus(round(10**size / 8.7))
    ml.LAJDT().fit(campus(100))
    started = time.process_time()
    ml.LAJDT().fit(loaded)
    ours = time.process_time() - started
    facts = loaded.database.true_atoms
    if not os.environ.get(PGMPY):
        return Measured(facts, ours, f"pgmpy left out: {PGMPY} is not set")
    with tempfile.TemporaryDirectory() as folder:
        rows = _flat(loaded, Path(folder) / "flat.csv")
        command = [os.environ[PGMPY], "-c", _HILL_CLIMBING, f"{folder}/flat.csv"]
        command = boostsrl.bounded(command, BOUND)
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdout is not None
            edges = process.stdout.read().strip()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = status
    taken = f"{used.ru_utime + used.ru_stime:.1f} CPU s, {used.ru_maxrss / 1024:,.0f} MB"
    ended = f"{edges} edges" if edges else f"did not end within {BOUND} CPU s, or failed"
    return Measured(facts, ours, f"pgmpy on the joined table of {rows:,} rows: {taken}, {ended}")


def by_hand(size: float) -> Measured:
    """Count in place by our statement and by one written by hand, on the same numbered tables."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "facts"
        ml.write_parquet(university(round(10**size / 9.0), 1, rng=0).databases[0], place)
        with ml.counting_with("duckdb", "2GB"):
            database = ml.facts_in_place(place)
            started = time.process_time()
            answer = grouped(database)
            return Measured(database.true_atoms, time.process_time() - started, answer)


def _flat(loaded: Loaded, path: Path) -> int:
    """Write students, courses and grades as one table, a row for each course that one takes."""
    database = loaded.database
    course, student, grade = database.facts("grade")
    bright = dict(zip(*database.facts("bright").tolist(), strict=True))
    easy = dict(zip(*database.facts("easy").tolist(), strict=True))
    rows = zip(course.tolist(), student.tolist(), grade.tolist(), strict=True)
    lines = [f"b{bright[s]},e{easy[c]},g{g}\n" for c, s, g in rows]
    path.write_text("bright,easy,grade\n" + "".join(lines), encoding="utf-8")
    return len(lines)


PEERS: dict[str, Callable[[float], Measured]] = {
    "RDN-B beside BoostSRL": boosting,
    "RDN-B beside BoostSRL of 4 GB": survived,
    "learn-and-join beside pgmpy": hill_climbing,
    "six grouped counts in place, and by hand": by_hand,
}
"""Tasks with another system beside ours, by the logarithm of the number of facts."""
