"""Searches, weights, answers and a shop at growing sizes, and other systems beside.

    python -m bench.searches --tasks GSLP --sizes 4 5
    python -m bench.searches --page

One task a process; rows are kept in ``--rows``, and ``docs/results/searches.md`` is written from
the latest of each task and size; rows that were not measured again stay as the page has them.
Times are CPU seconds of the task itself, as in `bench.scale`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mlnlearn as ml
from bench.peers import PEERS, Measured
from bench.result import peak_megabytes
from bench.scale import power_of_ten, rows_of_page, shown
from bench.shop import FACTS_PER_CUSTOMER, write_shop
from mlnlearn.data.catalog import benchmark_path
from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import university

PAGE = Path("docs/results/searches.md")
TEXT = Path(__file__).parent / "searches_page.md"
LEFT = "ordered(o,c) ^ contains(o,p) ^ kind(p,k) ^ left(c)"
TOGETHER = "ordered(o,c) ^ contains(o,p) ^ contains(o,r) ^ kind(p,k) ^ kind(r,k) ^ left(c)"
RULES = ("2 publication(t,x) ^ publication(t,y) ^ student(y) => professor(x)",
         "1 taughtBy(c,x,q) => professor(x)", "-1 professor(x)")  # fmt: skip

STARTS = ("`--help`", "`learn`, compiled before", "`learn`, nothing compiled")

# The kernel counts what a process held before it was this program as its own: it asks itself.
_NOTED = """
import atexit, re, runpy, sys

path = sys.argv.pop(1)

def note():
    with open("/proc/self/status") as status, open(path, "w") as file:
        file.write(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1])

atexit.register(note)
runpy.run_module("mlnlearn", run_name="__main__")
"""


def _university(size: float) -> Database:
    return university(round(10**size / 9.0), 1, rng=0).databases[0]


def search(learner: ml.GSLP | ml.MSL) -> Callable[[float], Measured]:
    """Learn clauses of one university."""

    def run(size: float) -> Measured:
        database = _university(size)
        learner.fit(university(30, 1, rng=1).databases, ml.Run(max_seconds=5))
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            started = time.process_time()
            fitted = learner.fit(database)
            seconds = time.process_time() - started
        left_out = any("are left out" in str(warning.message) for warning in raised)
        said = "; clauses that do not fit were left out" if left_out else ""
        likelihood = f"{fitted.notes.scored:,} clauses scored, WPLL {fitted.notes.likelihood:.4f}"
        return Measured(database.true_atoms, seconds, likelihood + said)

    return run


def answers(size: float) -> Measured:
    """Answer all atoms of `professor`, given all else, to a Parquet file."""
    database = _university(size)
    declared = [database.schema.declaration(p.name) for p in database.schema.predicates]
    model = ml.MLN.parse("\n".join([*declared, *RULES]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.parquet"
        started = time.process_time()
        asked = ml.query_in_chunks(model, database, "professor", open=["professor"])
        ml.write_answers(path, asked)
        seconds = time.process_time() - started
        megabytes = path.stat().st_size / 2**20
    people = database.size("person")
    return Measured(database.true_atoms, seconds, f"{people:,} answers, {megabytes:.1f} MB")


def shop(size: float) -> Measured:
    """Count two formulas of a shop that lies in Parquet files, by DuckDB within 1 GB."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "shop"
        write_shop(round(10**size / FACTS_PER_CUSTOMER), place)
        started = time.process_time()
        with ml.counting_with("duckdb", "1GB"):
            database = ml.facts_in_place(place)
            engine = ml.open_engine([database])
            texts = (ml.parse_formula(text, database.schema).formula for text in (LEFT, TOGETHER))
            counts = [ml.true_groundings(engine, formula)[0] for formula in texts]
        seconds = time.process_time() - started
        return Measured(database.true_atoms, seconds, str(counts))


def start(size: float) -> Measured:
    """Run the command line: help (0), a small `learn` (1), the same with nothing compiled (2)."""
    folder = benchmark_path("uwcse")
    learn = ["learn", "--learner", "rdn-b", "--target", "advisedBy", "--db", f"{folder}/fold1.db"]
    learn += ["--schema", f"{folder}/schema.mln", "--force", "--out"]
    with tempfile.TemporaryDirectory() as scratch:
        words = ["--help"] if size == 0 else [*learn, f"{scratch}/model.json"]
        place = {"NUMBA_CACHE_DIR": f"{scratch}/compiled"} if size == 2 else {}
        noted = Path(scratch) / "peak"
        process = subprocess.Popen(
            [sys.executable, "-c", _NOTED, str(noted), *words],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **place},
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        megabytes = int(noted.read_text()) / 1024
    if status:
        raise SystemExit(f"{' '.join(words)} failed")
    return Measured(0, used.ru_utime + used.ru_stime, STARTS[int(size)], megabytes)


GROUPS: dict[str, dict[str, Callable[[float], Measured]]] = {
    "searches": {"MSL": search(ml.MSL()), "GSLP": search(ml.GSLP())},
    "answers": {"answers of all `professor` atoms to Parquet": answers},
    "shop": {"count in place, 2 formulas of a shop": shop},
    "peers": PEERS,
    "start": {"start": start},
}
TASKS = {name: run for tasks in GROUPS.values() for name, run in tasks.items()}


def one(task: str, size: float) -> dict[str, Any]:
    """Run one task on one size, and say what it took."""
    warnings.simplefilter("ignore", ml.DataWarning)
    found = TASKS[task](size)
    return {
        "task": task, "size": size, "facts": found.facts, "seconds": found.seconds,
        "answer": found.answer, "megabytes": found.megabytes or peak_megabytes(),
        "day": datetime.now(tz=UTC).date().isoformat(), "load": os.getloadavg()[0],
    }  # fmt: skip


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page: the words, and the latest row of each task and size."""
    latest = {(row["task"], row["size"]): row for row in rows}
    head = "| task | facts | CPU s | exponent | MB | what it found |\n|---|--:|--:|--:|--:|---|"
    tables = {}
    for name, tasks in GROUPS.items():
        lines = [head]
        for task in tasks:
            before = None
            for row in (latest[key] for key in sorted(latest) if key[0] == task):
                # UW-CSE and starts are no size of a row of sizes
                grows = before is not None and row["size"] > 2 and before["size"] > 2
                lines.append(shown(row, before if grows else None))
                before = row
        tables[name] = "\n".join(lines)
    days = sorted({row["day"] for row in latest.values()})
    load = max(row["load"] for row in latest.values())
    return TEXT.read_text("utf-8").format(**tables, days=" and ".join(days), load=f"{load:.0f}")


def size_of(facts: int, answer: str) -> float:
    """Return the size that a row of the page is of: the logarithm of its facts, to a half.

    Examples
    --------
    >>> size_of(31_623, "3 trees"), size_of(1_489, "20 trees"), size_of(0, STARTS[1])
    (4.5, 0, 1)
    """
    if answer in STARTS:
        return STARTS.index(answer)
    return 0 if answer.startswith("20 trees") else power_of_ten(facts, answer)


def report() -> None:
    """Measure what is asked for, keep it, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=float, nargs="+", default=[4, 5], help="powers of ten")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--rows", type=Path, default=Path("build/searches.jsonl"))
    parser.add_argument("--page", action="store_true", help="write the page, measure nothing")
    parser.add_argument("--one", nargs=2, metavar=("TASK", "SIZE"), help="in this process")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one[0], float(given.one[1]))))
        return
    given.rows.parent.mkdir(parents=True, exist_ok=True)
    for task in () if given.page else given.tasks:
        for size in given.sizes:
            command = [sys.executable, "-m", "bench.searches", "--one", task, str(size)]
            row = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            with given.rows.open("a", encoding="utf-8") as file:
                file.write(row)
            print(row, end="", flush=True)
    rows = rows_of_page(PAGE.read_text("utf-8"), list(TASKS), size_of)
    if given.rows.exists():
        rows += [json.loads(line) for line in given.rows.read_text("utf-8").splitlines()]
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    report()
