"""What each stage of counting and boosting by SQL reads, writes and sends: `docs/scaling.md`.

    python -m bench.scaling            # 10^5 and 10^6 facts; then the page

Facts of the university of `bench.scale` lie in Parquet files; DuckDB counts one clause by its
groundings, then sums over the examples of one boosted tree, with nothing joined in memory. Every
statement is noted: what it makes, how many rows and bytes, and its CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mlnlearn as ml
from bench.result import peak_megabytes
from bench.scale import FACTS_PER_STUDENT, rows_of_page
from bench.scale import PAGE as GROWTH
from bench.scale_tasks import ADVISE, by_sql, formulas
from mlnlearn.counting.duck import DuckServer
from mlnlearn.data.synthetic import university

PAGE = Path("docs/scaling.md")
TEXT = Path(__file__).parent / "scaling_page.md"
FACTS, MACHINES, CORES = 1e10, 100, 8
STAGES = {
    "found": "constants found: `SELECT DISTINCT` of each place of facts",
    "names": "constants numbered: one `row_number()` a type",
    "facts": "facts in codes: a join for each place",
    "count": "one count of the clause: its products in one statement, after asking for sizes",
    "flips": "the same by student and professor, a row each",
    "view": "examples, all and by each argument of the target: sent, and then kept",
    "narrow": "facts by some of their places, with how many they stand for",
    "having": "who has which candidates: examples × candidates, kept for the run",
    "numbers": "numbers of the examples of nodes, sent",
    "sums": "sums of nodes: a statement each, a row a candidate comes back",
    "passing": "which examples pass the test of a node, a row each comes back",
    "looks": "sizes and single numbers asked for",
}
_WIDTHS = {"INTEGER": 4, "BIGINT": 8, "DOUBLE": 8, "HUGEINT": 16}


@dataclass
class Stage:
    """What was asked of a server: how often, rows and bytes that it made or was sent, seconds."""

    statements: int = 0
    rows: int = 0
    nbytes: int = 0
    seconds: float = 0.0

    def add(self, rows: int, nbytes: int, seconds: float) -> None:
        """Take one more statement."""
        self.statements += 1
        self.rows += rows
        self.nbytes += nbytes
        self.seconds += seconds


@contextmanager
def noted() -> Iterator[dict[str, Stage]]:
    """Note what DuckDB is asked for meanwhile, by stage."""
    stages = {name: Stage() for name in STAGES}
    inside = [False]
    before = {name: getattr(DuckServer, name) for name in ("load", "create", "gather", "fetch")}

    def wrapped(method: str) -> Callable[..., Any]:
        def call(server: DuckServer, *given: Any) -> Any:
            if inside[0]:  # of another
                return before[method](server, *given)
            inside[0] = True
            started = time.process_time()
            try:
                answer = before[method](server, *given)
                seconds = time.process_time() - started
                rows, nbytes = _volume(before["fetch"], server, answer, given)
                stages[_stage(method, *given)].add(rows, nbytes, seconds)
            finally:
                inside[0] = False
            return answer

        return call

    for name in before:
        setattr(DuckServer, name, wrapped(name))
    try:
        yield stages
    finally:
        for name, method in before.items():
            setattr(DuckServer, name, method)


def _stage(method: str, *given: Any) -> str:
    """Tell what a statement is for, by the name of its table or by what it asks."""
    if method == "load":
        return "numbers" if "u" in given[1] else "view"
    if method in ("create", "gather"):
        return str(given[0]).rstrip("0123456789")
    (text,) = given
    if "sum(v." in text:
        return "sums"
    if "v.r AS r" in text:
        return "passing"
    return "looks"


def _volume(
    fetch: Callable[..., Mapping[str, Any]], server: DuckServer, answer: Any, given: tuple[Any, ...]
) -> tuple[int, int]:
    """Return rows and bytes of what was sent, made, or came back."""
    columns: Mapping[str, Any]
    if isinstance(answer, dict):
        columns = answer
    elif isinstance(given[1], Mapping):
        columns = given[1]
    else:
        return _of_table(fetch, server, str(answer))
    rows = len(next(iter(columns.values()), ()))
    return rows, sum(int(getattr(column, "nbytes", 0)) for column in columns.values())


def _of_table(
    fetch: Callable[..., Mapping[str, Any]], server: DuckServer, table: str
) -> tuple[int, int]:
    described = fetch(server, f"SELECT column_name, column_type FROM (DESCRIBE {table})")
    width = []
    for name, kind in zip(described["column_name"], described["column_type"], strict=True):
        width.append(str(_WIDTHS[kind]) if kind in _WIDTHS else f"avg(strlen({name}))")
    found = fetch(
        server, f"SELECT count(*) AS n, coalesce({' + '.join(width)}, 0) AS w FROM {table}"
    )
    rows = int(found["n"][0])
    return rows, round(rows * float(found["w"][0]))


def measure(folder: Path) -> dict[str, Any]:
    """Count a clause and learn a tree on facts in place, and tell the volumes of all stages."""
    warnings.simplefilter("ignore", ml.DataWarning)
    with ml.counting_with("duckdb", "2GB"), noted() as stages:
        database = ml.facts_in_place(folder)
        (formula,) = formulas(database, (ADVISE,))
        for name in ("count", "flips"):
            engine = ml.open_engine([database])
            advised = database.schema["advisedBy"]
            started = {key: Stage(**asdict(stage)) for key, stage in stages.items()}
            if name == "count":
                ml.true_groundings(engine, formula)
            else:
                ml.flip_counts(engine, formula, advised)
            looks = stages["looks"]  # what was asked meanwhile, beside the tables that it needed
            for field in ("statements", "rows", "nbytes", "seconds"):
                more = getattr(looks, field) - getattr(started["looks"], field)
                setattr(stages[name], field, more)
                setattr(looks, field, getattr(started["looks"], field))
        learned = by_sql(database)
        facts = database.true_atoms
    parquet = sum(file.stat().st_size for file in folder.glob("*.parquet"))
    return {
        "facts": facts,
        "parquet": parquet,
        "learned": learned,
        "megabytes": peak_megabytes(),
        "load": os.getloadavg()[0],
        "stages": {name: asdict(stage) for name, stage in stages.items()},
    }


def page(small: Mapping[str, Any], large: Mapping[str, Any]) -> str:
    """Return the page: what was measured at two sizes, and the arithmetic for a cluster."""
    lines = [
        f"| stage | statements | rows at {small['facts']:,} | rows at {large['facts']:,} | MB "
        "| CPU s |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    factor = FACTS / large["facts"]
    cluster = [
        f"| stage | rows, times {factor:,.0f} | GB | GB a machine | s of its {CORES} cores |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, title in STAGES.items():
        one, two = Stage(**small["stages"][name]), Stage(**large["stages"][name])
        lines.append(
            f"| {title} | {two.statements} | {one.rows:,} | {two.rows:,} "
            f"| {two.nbytes / 1e6:,.1f} | {two.seconds:.2f} |"
        )
        gigabytes = two.nbytes * factor / 1e9
        seconds = two.seconds * factor / MACHINES / CORES
        if name != "looks":
            cluster.append(
                f"| {title.partition(':')[0]} | {two.rows * factor / 1e9:,.1f} billion "
                f"| {gigabytes:,.0f} | {gigabytes / MACHINES:,.1f} | {seconds:,.0f} |"
            )
    spark = [r for r in rows_of_page(GROWTH.read_text("utf-8")) if "on Spark" in r["task"]]
    return TEXT.read_text("utf-8").format(
        spark=spark[-1]["answer"].split(", ")[2],
        day=datetime.now(tz=UTC).date().isoformat(),
        load=f"{max(small['load'], large['load']):.0f}",
        measured="\n".join(lines),
        cluster="\n".join(cluster),
        facts=f"{large['facts']:,}",
        parquet=f"{large['parquet'] / 1e6:.1f}",
        learned=large["learned"].partition(";")[0],
        megabytes=f"{large['megabytes']:,.0f}",
        factor=f"{factor:,.0f}",
        whole=f"{large['parquet'] * factor / 1e9:,.0f}",
        alone=f"{large['stages']['names']['seconds'] * factor:,.0f}",
    )


def report() -> None:
    """Measure both sizes, each in a process of its own, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("build/facts"), help="Parquet files")
    parser.add_argument("--one", type=int, help="a power of ten, in this process")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.folder / f"uni{given.one}")))
        return
    found = []
    for size in (5, 6):
        place = given.folder / f"uni{size}"
        if not place.exists():
            made = university(round(10**size / FACTS_PER_STUDENT), 1, rng=0).databases[0]
            ml.write_parquet(made, place)
        command = [sys.executable, "-m", "bench.scaling", "--folder", str(given.folder)]
        done = subprocess.run([*command, "--one", str(size)], capture_output=True, check=True)
        found.append(json.loads(done.stdout))
        print(found[-1], flush=True)
    PAGE.write_text(page(*found), encoding="utf-8")


if __name__ == "__main__":
    report()
