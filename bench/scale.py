"""How time and memory grow with the number of facts: one task a process, sizes from 10^4 on.

    python -m bench.scale                        # 10^4, 10^5 and 10^6 facts
    python -m bench.scale --sizes 4 5 6 7        # 10^7 too

Facts are those of a made-up university in one area. Times are CPU seconds of the task itself, data
made and kernels compiled before; memory is the peak of the whole process, data included. The
exponent is that of growth from the size before: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise

import mlnlearn as ml
from bench.result import peak_megabytes
from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import university

FACTS_PER_STUDENT = 9.0
ADVISE = "publication(t,s) ^ publication(t,p) ^ professor(p) => advisedBy(s,p)"
TAUGHT = "ta(c,s,q) ^ taughtBy(c,p,q) => advisedBy(s,p)"
TEN = (
    "advisedBy(s,p)", "student(x)", "professor(x)", "publication(t,x)", "ta(c,s,q)",
    "taughtBy(c,p,q)", "advisedBy(s,p) => student(s)", "advisedBy(s,p) => professor(p)",
    ADVISE, TAUGHT,
)  # fmt: skip


def formulas(database: Database, texts: Sequence[str]) -> list[ml.MLN]:
    """Read formulas over the schema of a database."""
    return [ml.parse_formula(text, database.schema).formula for text in texts]


def count(database: Database) -> str:
    """Count the true groundings of two clauses."""
    engine = ml.open_engine([database])
    return str([ml.true_groundings(engine, f)[0] for f in formulas(database, (ADVISE, TAUGHT))])


def flips(database: Database) -> str:
    """Count the flips of all atoms of advisedBy under two clauses."""
    engine = ml.open_engine([database])
    predicate = database.schema["advisedBy"]
    found = [ml.flip_counts(engine, f, predicate) for f in formulas(database, (ADVISE, TAUGHT))]
    return f"{sum(len(table) for flip in found for table in flip.tables):,} rows"


def weights(database: Database) -> str:
    """Learn the weights of ten clauses by weighted pseudo-likelihood."""
    text = "\n".join(f"0 {clause}" for clause in TEN)
    mln = ml.MLN.parse(f"{schema_text(database)}\n{text}")
    learned = ml.learn_pseudolikelihood(mln, [database])
    return f"{learned.iterations} iterations"


def schema_text(database: Database) -> str:
    """Write the declarations."""
    marks = database.schema.functional
    lines = []
    for p in database.schema.predicates:
        types = [k + "!" * (i in marks.get(p.name, ())) for i, k in enumerate(p.types)]
        lines.append(f"{p.name}({','.join(types)})")
    return "\n".join(lines)


def boosted(learner: ml.BoostedMLN | ml.BoostedRDN) -> Callable[[Database], str]:
    """Learn who advises whom, from all true pairs and twenty times as many others."""

    def run(database: Database) -> str:
        examples = ml.positives_and_negatives([database], "advisedBy", ratio=20.0, rng=0)
        model = learner.fit([database], examples=examples).model
        return f"{len(examples.labels):,} examples, {len(model.rules()):,} rules"

    return run


TASKS: dict[str, Callable[[Database], str]] = {
    "count": count,
    "flips": flips,
    "WPLL weights": weights,
    "RDN-B, 3 steps": boosted(ml.BoostedRDN(target="advisedBy", steps=3, max_examples=None)),
    "MLN-BT, 3 steps": boosted(ml.BoostedMLN(target="advisedBy", steps=3, max_examples=None)),
    "MLN-BC, 1 step": boosted(
        ml.BoostedMLN(target="advisedBy", representation="clauses", steps=1, max_examples=None)
    ),
}


def one(task: str, size: int) -> None:
    """Run one task on one size, and print what it took as JSON."""
    warnings.simplefilter("ignore", ml.DataWarning)
    TASKS[task](university(30, 1, rng=1).databases[0])
    database = university(round(10**size / FACTS_PER_STUDENT), 1, rng=0).databases[0]
    started = time.process_time()
    try:
        answer = TASKS[task](database)
    except ml.MemoryLimitError as error:
        answer = f"refused: {str(error).splitlines()[0]}"
    seconds = time.process_time() - started
    found = {"facts": database.true_atoms, "seconds": seconds, "answer": answer}
    print(json.dumps(found | {"megabytes": peak_megabytes()}))


def report() -> None:
    """Run all tasks on all sizes, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 5, 6], help="powers of ten")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument(
        "--one", nargs=2, metavar=("TASK", "SIZE"), help="one task, in this process"
    )
    given = parser.parse_args()
    if given.one:
        one(given.one[0], int(given.one[1]))
        return
    print(
        "| task | facts | CPU s | exponent | MB | what it found |\n|---|--:|--:|--:|--:|---|",
        flush=True,
    )
    for task in given.tasks:
        rows = []
        for size in given.sizes:
            command = [sys.executable, "-m", "bench.scale", "--one", task, str(size)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["killed"])[-1]
                print(f"| {task} | 10^{size} | | | | failed: {last} |", flush=True)
                break
            rows.append(json.loads(done.stdout))
            print(f"| {task} | {shown(rows)} |", flush=True)


def shown(rows: Sequence[dict[str, float]]) -> str:
    """Show the last of some measurements, with the growth since the one before."""
    last = rows[-1]
    exponent = ""
    for before, after in pairwise(rows[-2:]):
        if not str(after["answer"]).startswith("refused"):
            growth = math.log(after["seconds"] / before["seconds"])
            exponent = f"{growth / math.log(after['facts'] / before['facts']):.2f}"
    cells = [f"{last['facts']:,}", f"{last['seconds']:.2f}", exponent, f"{last['megabytes']:,.0f}"]
    return " | ".join([*cells, str(last["answer"])])


if __name__ == "__main__":
    report()
