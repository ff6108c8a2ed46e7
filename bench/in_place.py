"""Facts in Parquet files, counted in place by DuckDB: how time and memory grow.

    python -m bench.in_place --folder /somewhere/large          # 10^5, 10^6 and 10^7 facts

The university's facts are written to the folder once, then each task is a process of its own: CPU
seconds of all it does, the numbering of constants included, and the peak memory of the process.
Beside the grouped count stands the same in SQL written by hand, on the tables that DuckDB has
numbered; both are timed after that.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import mlnlearn as ml
from bench.result import peak_megabytes
from bench.scale import ADVISE, FACTS_PER_STUDENT, TAUGHT, count, flips, shown
from mlnlearn.counting.query import Query
from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import university
from mlnlearn.logic.atoms import Variable

HAND = """
SELECT p1.c1 AS s, p2.c1 AS p, count(*) AS n
FROM {0} p1 JOIN {0} p2 ON p1.c0 = p2.c0 GROUP BY ALL ORDER BY ALL
"""
FIVE = ("advisedBy(s,p)", "student(x)", "advisedBy(s,p) => student(s)", ADVISE, TAUGHT)


def weights(database: Database) -> str:
    """Learn the weights of five clauses by weighted pseudo-likelihood."""
    declared = "\n".join(database.schema.declaration(p.name) for p in database.schema.predicates)
    mln = ml.MLN.parse("\n".join([declared, *(f"0 {clause}" for clause in FIVE)]))
    return f"{ml.learn_pseudolikelihood(mln, [database]).iterations} iterations"


def grouped(database: Database) -> str:
    """Count papers that two people wrote together, by both: our statement, and one by hand."""
    engine = ml.open_engine([database])
    publication = database.schema["publication"]
    group = (Variable("s"), Variable("p"))
    query = Query((publication("t", "s"), publication("t", "p")), group)
    table = database.true.place.table("publication")
    took = []
    for run in (lambda: engine.table(query), lambda: engine.server.fetch(HAND.format(table))):
        engine.sql(query)
        started = time.process_time()
        run()
        took.append(time.process_time() - started)
    return f"{took[0]:.2f} CPU s, by hand {took[1]:.2f}: {took[0] / took[1]:.2f} times"


TASKS: dict[str, Callable[[Database], str]] = {
    "count, 2 clauses": count,
    "flips, 2 clauses": flips,
    "WPLL, 5 clauses": weights,
    "grouped count": grouped,
}


def one(task: str, folder: str, memory: str) -> None:
    """Run one task on the facts of a folder, and print what it took as JSON."""
    warnings.simplefilter("ignore", ml.DataWarning)
    started = time.process_time()
    with ml.counting_with("duckdb", memory):
        database = ml.facts_in_place(folder)
        try:
            answer = TASKS[task](database)
        except ml.MemoryLimitError as error:
            answer = f"refused: {str(error).splitlines()[0]}"
        seconds = time.process_time() - started
        found = {"facts": database.true_atoms, "seconds": seconds, "answer": answer}
    print(json.dumps(found | {"megabytes": peak_megabytes()}))


def report(arguments: Sequence[str] | None = None) -> None:
    """Write the facts that are not there yet, run all tasks, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 6, 7], help="powers of ten")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--folder", default="build/facts")
    parser.add_argument("--one", nargs=2, metavar=("TASK", "FOLDER"))
    given = parser.parse_args(arguments)
    if given.one:
        one(*given.one, given.memory)
        return
    for size in given.sizes:
        if not (Path(given.folder) / f"uni{size}").exists():
            made = university(round(10**size / FACTS_PER_STUDENT), 1, rng=0).databases[0]
            ml.write_parquet(made, Path(given.folder) / f"uni{size}")
    print("| task | facts | CPU s | exponent | MB | what it found |\n|---|--:|--:|--:|--:|---|")
    for task in given.tasks:
        rows = []
        for size in given.sizes:
            place = str(Path(given.folder) / f"uni{size}")
            command = [sys.executable, "-m", "bench.in_place", "--memory", given.memory]
            done = subprocess.run(
                [*command, "--one", task, place], capture_output=True, text=True, check=False
            )
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["killed"])[-1]
                print(f"| {task} | 10^{size} | | | | failed: {last} |", flush=True)
                break
            rows.append(json.loads(done.stdout))
            print(f"| {task} | {shown(rows)} |", flush=True)


if __name__ == "__main__":
    report()
