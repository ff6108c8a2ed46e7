"""Reading a million atoms of ``.db`` text, importing the package, running the demonstration."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.result import Result, clock, peak_megabytes, run_cases, run_one
from mlnlearn.data.load.alchemy import read_db
from mlnlearn.data.synthetic import university

STUDENTS = 115_500


def write_atoms(path: Path) -> tuple[Path, int]:
    """Write a university of a million facts, and return its schema file and number of atoms."""
    database = university(STUDENTS, 1, rng=0).databases[0]
    with path.open("w", encoding="utf-8") as file:
        for predicate in database.schema.predicates:
            name = predicate.name
            file.writelines(f"{name}({','.join(row)})\n" for row in database.rows(name))
    schema = path.with_suffix(".mln")
    schema.write_text(f"{database.schema}\n", encoding="utf-8")
    return schema, database.true_atoms


def reading() -> list[Result]:
    """Read a .db file of a million atoms."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "university.db"
        schema, atoms = write_atoms(path)
        with clock() as time:
            database = read_db(path, schema=schema)
    if database.true_atoms != atoms:
        raise AssertionError(f"{database.true_atoms} atoms read, {atoms} written")
    title = f"read a .db file of {atoms:,} atoms"
    return [
        Result(title, time.cpu, "CPU s", 5),
        Result(f"{title}: peak memory", peak_megabytes(), "MB"),
    ]


def child_seconds(*command: str) -> float:
    """Return the CPU seconds of a process, the second time it is run."""
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def starting() -> list[Result]:
    """Import the package, all of it, and run the demonstration, each in a fresh process."""
    everything = "import mlnlearn; [getattr(mlnlearn, name) for name in mlnlearn.__all__]"
    demo = "import sys; sys.argv = ['mlnlearn', 'demo']; import mlnlearn.cli.main as m; m.run()"
    empty = child_seconds("-c", "")
    return [
        Result("import mlnlearn", child_seconds("-c", "import mlnlearn") - empty, "CPU s", 0.7),
        Result(
            "import mlnlearn and load every public name",
            child_seconds("-c", everything) - empty,
            "CPU s",
        ),
        Result("mlnlearn demo, second run", child_seconds("-c", demo), "CPU s"),
    ]


CASES = {"reading": reading, "starting": starting}


def main() -> list[Result]:
    """Run all cases."""
    return run_cases("bench.reading", CASES)


if __name__ == "__main__":
    run_one(CASES)
