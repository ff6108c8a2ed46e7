"""How time and memory grow with the number of facts: one task a process, sizes from 10^4 on.

    python -m bench.scale                          # all tasks, 10^4 to 10^6 facts; then the page
    python -m bench.scale --sizes 7 --tasks "count in place, 2 clauses"
    python -m bench.scale --page                   # the page alone, of what was measured last

Each row is kept, in ``--rows``, and the page ``docs/results/scale.md`` is written from the latest
of each task and size; rows that were not measured again stay as the page has them. Facts are those
of a made-up university in one area, in memory or in Parquet files; learn-and-join reads tables of a
made-up campus, `paths` triples in a Parquet file. Times are CPU seconds of the task itself, data
made and kernels compiled before (for facts and triples in place: of all, the numbering of names
included); memory is the peak of the whole process, data included.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mlnlearn as ml
from bench.result import peak_megabytes
from bench.scale_graphs import ON_GRAPHS, write_graph
from bench.scale_tables import TABLES_IN_PLACE, campus_facts, write_campus
from bench.scale_tasks import IN_MEMORY, IN_PLACE, ON_TABLES, campus
from mlnlearn.data.synthetic import university

FACTS_PER_STUDENT = 9.0
FACTS_OF_CAMPUS = 8.7
TASKS = [*IN_MEMORY, *IN_PLACE, *ON_TABLES, *TABLES_IN_PLACE, *ON_GRAPHS]
PAGE = Path("docs/results/scale.md")
TEXT = Path(__file__).parent / "scale_page.md"

Row = dict[str, Any]


def one(task: str, size: float, folder: Path, memory: str) -> Row:
    """Run one task on one size, and say what it took."""
    warnings.simplefilter("ignore", ml.DataWarning)
    if task in IN_PLACE:
        place = folder / f"uni{size:g}"
        if not place.exists():
            raise SystemExit(f"{place} is not there")
        started = time.process_time()
        with ml.counting_with("duckdb", memory):
            database = ml.facts_in_place(place)
            answer = _answer(lambda: IN_PLACE[task](database))
            seconds = time.process_time() - started
            facts = database.true_atoms
    elif task in TABLES_IN_PLACE:
        started = time.process_time()
        with ml.counting_with("duckdb", memory):
            answer = _answer(lambda: TABLES_IN_PLACE[task](folder / f"campus{size:g}"))
        seconds = time.process_time() - started
        facts = campus_facts(folder / f"campus{size:g}")
    elif task in ON_GRAPHS:
        started = time.process_time()
        with ml.counting_with("duckdb", memory):
            facts, answer = ON_GRAPHS[task](folder / f"graph{size:g}.parquet")
        seconds = time.process_time() - started
    elif task in ON_TABLES:
        ON_TABLES[task](campus(100))
        loaded = campus(round(10**size / FACTS_OF_CAMPUS))
        started = time.process_time()
        answer = _answer(lambda: ON_TABLES[task](loaded))
        seconds = time.process_time() - started
        facts = loaded.database.true_atoms
    else:
        IN_MEMORY[task](university(30, 1, rng=1).databases[0])
        database = university(round(10**size / FACTS_PER_STUDENT), 1, rng=0).databases[0]
        started = time.process_time()
        answer = _answer(lambda: IN_MEMORY[task](database))
        seconds = time.process_time() - started
        facts = database.true_atoms
    return {
        "task": task, "size": size, "facts": facts, "seconds": seconds, "answer": answer,
        "megabytes": peak_megabytes(), "day": datetime.now(tz=UTC).date().isoformat(),
        "load": os.getloadavg()[0],
    }  # fmt: skip


def _answer(run: Any) -> str:
    try:
        return str(run())
    except ml.MemoryLimitError as error:
        return f"refused: {str(error).splitlines()[0]}"


def measured(task: str, size: float, given: argparse.Namespace) -> Row:
    """Run one task on one size in a process of its own."""
    if task in IN_PLACE and not (given.folder / f"uni{size:g}").exists():
        made = university(round(10**size / FACTS_PER_STUDENT), 1, rng=0).databases[0]
        ml.write_parquet(made, given.folder / f"uni{size:g}")
    if task in TABLES_IN_PLACE and not (given.folder / f"campus{size:g}").exists():
        write_campus(given.folder / f"campus{size:g}", round(10**size / FACTS_OF_CAMPUS))
    if task in ON_GRAPHS and not (given.folder / f"graph{size:g}.parquet").exists():
        write_graph(size, given.folder / f"graph{size:g}.parquet")
    command = [sys.executable, "-m", "bench.scale", "--folder", str(given.folder)]
    command += ["--memory", given.memory, "--one", task, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["killed"])[-1]
        return {"task": task, "size": size, "answer": f"failed: {last}"}
    found: Row = json.loads(done.stdout)
    return found


def report() -> None:
    """Measure what is asked for, keep it, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=float, nargs="+", default=[4, 5, 6], help="powers of ten")
    parser.add_argument("--tasks", nargs="+", default=TASKS, choices=TASKS)
    parser.add_argument("--memory", default="2GB", help="what DuckDB may take for facts in place")
    parser.add_argument("--folder", type=Path, default=Path("build/facts"), help="Parquet files")
    parser.add_argument("--rows", type=Path, default=Path("build/scale.jsonl"))
    parser.add_argument("--page", action="store_true", help="write the page, measure nothing")
    parser.add_argument("--one", nargs=2, metavar=("TASK", "SIZE"), help="in this process")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one[0], float(given.one[1]), given.folder, given.memory)))
        return
    given.rows.parent.mkdir(parents=True, exist_ok=True)
    for task in () if given.page else given.tasks:
        for size in given.sizes:
            row = measured(task, size, given)
            with given.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(row, flush=True)
            if row["answer"].startswith("failed"):
                break
    rows = rows_of_page(PAGE.read_text("utf-8"))
    if given.rows.exists():
        rows += [json.loads(line) for line in given.rows.read_text("utf-8").splitlines()]
    PAGE.write_text(page(rows), encoding="utf-8")


def power_of_ten(facts: int, _answer: str) -> float:
    """Return the size that a row is of: the logarithm of its facts, to a half.

    Examples
    --------
    >>> power_of_ten(965_216, ""), power_of_ten(30_482_977, "")
    (6.0, 7.5)
    """
    return round(2 * math.log10(facts)) / 2


def rows_of_page(
    text: str,
    tasks: Sequence[str] = TASKS,
    size_of: Callable[[int, str], float] = power_of_ten,
) -> list[Row]:
    """Return the rows of some tasks that a page shows; their size from their facts and answer."""
    days = re.search(r"wrote \((?:.* and )?(\d{4}-\d\d-\d\d);", text)
    load = re.search(r"load up to (\d+)", text)
    rows: list[Row] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0] in tasks and cells[2]:
            facts = int(cells[1].replace(",", ""))
            rows.append({
                "task": cells[0], "size": size_of(facts, cells[5]), "facts": facts,
                "seconds": float(cells[2]), "answer": cells[5],
                "megabytes": float(cells[4].replace(",", "")), "exponent": cells[3],
                "day": days[1] if days else "", "load": float(load[1]) if load else 0.0,
            })  # fmt: skip
    return rows


def page(rows: Sequence[Row]) -> str:
    """Return the page: the words, and the latest row of each task and size."""
    latest = {(row["task"], row["size"]): row for row in rows}
    head = "| task | facts | CPU s | exponent | MB | what it found |\n|---|--:|--:|--:|--:|---|"
    tables = {}
    for name, tasks in (
        ("memory", IN_MEMORY),
        ("place", IN_PLACE),
        ("tables", ON_TABLES | TABLES_IN_PLACE),
        ("graphs", ON_GRAPHS),
    ):
        lines = [head]
        for task in tasks:
            before: Row | None = None
            for (_, _), row in sorted((key, row) for key, row in latest.items() if key[0] == task):
                lines.append(shown(row, before))
                before = row if "seconds" in row else None
        tables[name] = "\n".join(lines)
    days = sorted({row["day"] for row in latest.values() if "day" in row})
    loads = [row["load"] for row in latest.values() if "load" in row]
    words = TEXT.read_text("utf-8")
    return words.format(**tables, days=" and ".join(days[-2:]), load=f"{max(loads):.0f}")


def shown(row: Row, before: Row | None) -> str:
    """Show a measurement, with the growth since the size before."""
    if "seconds" not in row:
        return f"| {row['task']} | 10^{row['size']:g} | | | | {row['answer']} |"
    exponent = ""
    if before is not None and "exponent" in row and "exponent" in before:
        exponent = row["exponent"]  # of more digits than the page has
    elif before is not None and before["seconds"] > 0:
        growth = math.log(row["seconds"] / before["seconds"])
        exponent = f"{growth / math.log(row['facts'] / before['facts']):.2f}"
    cells = [row["task"], f"{row['facts']:,}", f"{row['seconds']:.2f}", exponent]
    return "| " + " | ".join([*cells, f"{row['megabytes']:,.0f}", row["answer"]]) + " |"


if __name__ == "__main__":
    report()
