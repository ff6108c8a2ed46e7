"""``make torture``: made-up inputs, kills, small memory, a long life; prints tables of faults."""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from mlnlearn.files import write_files
from torture import load, memory, soak
from torture.fuzzers import TARGETS, faults_of
from torture.kills import kill_runs
from torture.learning import NAMES

Row = Sequence[object]


class Report:
    """Tables, printed as they come and kept for a page."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.faults = 0

    def table(self, title: str, heads: Row, rows: Iterable[tuple[int, Row]]) -> None:
        """Add a table; each row comes with its number of faults."""
        self.say(f"\n## {title}\n")
        self.say(_line(heads))
        self.say(_line(["---"] + ["---:"] * (len(heads) - 1)))
        for wrong, row in rows:
            self.faults += wrong
            self.say(_line(row))

    def say(self, line: str) -> None:
        """Print a line, and keep it."""
        self.lines.append(line)
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def main() -> int:
    """Run everything that is asked for, and return 1 where something went wrong."""
    options = _options()
    report = Report()
    report.say(f"# Torture\n\nmlnlearn {version('mlnlearn')}, Python {platform.python_version()}.")
    started = time.perf_counter()
    if options.inputs:
        heads = ("inputs", "tries", "faults", "seconds")
        report.table("Made-up and damaged inputs", heads, _fuzzed(options))
    if options.kills:
        heads = ("learner", "kills", "runs that went on and ended", "with another model")
        report.table("Kills at random moments", heads, _killed(options))
    if options.plans and memory.can_measure():
        title = f"Heavy counts within {memory.LIMIT >> 20} MB"
        heads = (
            "counts",
            "number",
            "answered",
            "refused",
            "highest peak, MB",
            "beyond the limit by a quarter",
        )
        report.table(title, heads, _measured(options))
    if options.atoms and memory.can_measure():
        title = f"Query atoms in chunks, within {load.LIMIT >> 20} MB beside the data"
        heads = ("model, file", "atoms", "size, MB", "seconds", "peak, MB", "faults")
        report.table(title, heads, _loaded(options))
    if options.cycles:
        heads = ("cycles", "growth, MB", "faults")
        report.table("Learning, saving, loading and asking again", heads, _soaked(options))
    seconds = time.perf_counter() - started
    report.say(f"\n{report.faults} faults in all, found in {seconds:,.0f} seconds.")
    if options.page:
        write_files({options.page: "\n".join(report.lines) + "\n"})
    return int(report.faults > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    add = parser.add_argument
    add("--inputs", type=int, default=20_000, help="inputs over all kinds")
    add("--kills", type=int, default=5, help="kills of each learner's runs")
    add("--plans", type=int, default=20, help="random counts under a limit of memory")
    add("--atoms", type=int, default=1_000_000, help="query atoms to answer and write")
    add("--cycles", type=int, default=40, help="cycles of learning and asking in one process")
    add("--seed", type=int, default=0)
    add("--only", default="", help="kinds of inputs, and learners, whose name holds this")
    add("--page", type=Path, help="write the tables here, as Markdown")
    return parser.parse_args()


def _fuzzed(options: argparse.Namespace) -> Iterable[tuple[int, Row]]:
    chosen = [target for target in TARGETS if options.only in target.name]
    shares, total, wrong = sum(target.share for target in chosen), 0, 0
    for target in chosen:
        tries = -(-options.inputs * target.share // shares)
        started = time.perf_counter()
        found = list(faults_of(target, tries, options.seed))
        seconds = time.perf_counter() - started
        for what, fault in {fault.what[:60]: fault for fault in found}.items():
            sys.stderr.write(f"    {what}\n      input {fault.number}: {fault.given}\n")
        total, wrong = total + tries, wrong + len(found)
        yield len(found), (target.name, f"{tries:,}", len(found), f"{seconds:,.0f}")
    yield 0, ("all", f"{total:,}", wrong, "")


def _killed(options: argparse.Namespace) -> Iterable[tuple[int, Row]]:
    for name in NAMES:
        if options.only in name:
            found = kill_runs(name, options.kills, options.seed)
            yield found.wrong, (name, found.kills, found.resumed, found.wrong)


def _measured(options: argparse.Namespace) -> Iterable[tuple[int, Row]]:
    for title, plans in (
        ("random joins", memory.measured(options.plans, options.seed)),
        ("sums and flips over pairs", memory.measured_sums()),
    ):
        found = list(plans)
        refused, wrong = sum(plan.refused for plan in found), sum(not plan.held for plan in found)
        peak = max(plan.peak for plan in found) / 2**20
        answered = len(found) - refused
        yield wrong, (title, len(found), answered, refused, f"{peak:.1f}", wrong)


def _loaded(options: argparse.Namespace) -> Iterable[tuple[int, Row]]:
    for found in load.loaded(options.atoms):
        numbers = (found.size / 2**20, found.seconds, found.peak / 2**20)
        shown = [f"{number:,.0f}" for number in numbers]
        yield (
            found.faults,
            (f"{found.model}, {found.file}", f"{found.atoms:,}", *shown, found.faults),
        )


def _soaked(options: argparse.Namespace) -> Iterable[tuple[int, Row]]:
    found = soak.growth(options.cycles)
    wrong = int(found > soak.MOST_GROWTH)
    yield wrong, (options.cycles, f"{found / 2**20:.1f}", wrong)


def _line(cells: Row) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())
