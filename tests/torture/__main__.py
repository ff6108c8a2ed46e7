"""``make torture``: made-up inputs, kills, signals, small memory, a long life; tables of faults.

Without options it does all that its page says, some hours of work. It is cut into slices of some
seconds, and what each of them found is kept: stopped, it goes on where it was; ``--minutes``
stops it. The page is made of all slices that there are, and says which share of the work they are.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

from mlnlearn.files import write_files
from torture import memory
from torture.parts import PARTS, Part
from torture.slices import Outcome, Results, Slice, in_turn, source_digest


def main() -> int:
    """Do the slices that are missing, write the page, and return 1 where something went wrong."""
    options = _options()
    chosen = [name for name in PARTS if not options.part or name in options.part]
    if not memory.can_measure():
        chosen = [name for name in chosen if name not in ("memory", "load")]
    lines = {part: PARTS[part].lines(options) for part in chosen}
    results = Results.within(options.folder, options.seed)
    _work_through(
        in_turn(line for by_name in lines.values() for line in by_name.values()), results, options
    )
    page = "\n".join(_page(lines, results, options.seed))
    if options.page:
        write_files({options.page: page})
    else:
        sys.stdout.write(page)
    return int(any(outcome.wrong for outcome in results.outcomes.values()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    add = parser.add_argument
    add("--inputs", type=int, default=1_000_000, help="inputs over all kinds")
    add("--kills", type=int, default=100, help="kills of each learner's runs")
    add("--signals", type=int, default=20, help="signals to each command")
    add("--same", type=int, default=1, help="0 to leave out what must not change models")
    add("--plans", type=int, default=50, help="random counts under a limit of memory")
    add("--atoms", type=int, default=10_000_000, help="query atoms to answer and write")
    add("--cycles", type=int, default=200, help="cycles of learning and asking in one process")
    add("--seed", type=int, default=0)
    add("--part", action="append", choices=list(PARTS), help="only this table, or these")
    add("--only", default="", help="lines of tables whose name holds this")
    add("--minutes", type=float, help="stop after so long; run again to go on")
    add("--folder", type=Path, default=Path(".torture"), help="where results are kept")
    add("--page", type=Path, help="write the tables here, as Markdown")
    return parser.parse_args()


def _work_through(slices: list[Slice], results: Results, options: argparse.Namespace) -> None:
    end = time.monotonic() + 60 * (1e9 if options.minutes is None else options.minutes)
    for piece in slices:
        if piece in results.outcomes or options.only not in piece.name:
            continue
        if time.monotonic() > end:
            return
        started = time.monotonic()
        outcome = PARTS[piece.part].work(piece, options.seed)
        results.add(piece, outcome)
        seconds = time.monotonic() - started
        text = f"{piece.part}: {piece.name}, {piece.start:,} to {piece.start + piece.count:,}"
        sys.stderr.write(f"{text}: {outcome.wrong} faults, {seconds:.0f} s\n")
        for fault in outcome.faults:
            sys.stderr.write(f"    {fault}\n")


def _page(lines: dict[str, dict[str, list[Slice]]], results: Results, seed: int) -> list[str]:
    said = f"mlnlearn {version('mlnlearn')}, sources {source_digest()}, seed {seed}"
    page = [
        "# Torture",
        "",
        f"{said}, Python {platform.python_version()}. Written by `make torture`.",
    ]
    faults = 0
    for part, by_name in lines.items():
        page += ["", f"## {PARTS[part].title}", "", *_table(PARTS[part], by_name, results)]
        page += _missing(by_name, results)
        faults += sum(o.wrong for line in by_name.values() for o in _done(line, results))
    return [*page, "", f"{faults} faults in all.", ""]


def _done(line: list[Slice], results: Results) -> list[Outcome]:
    return [results.outcomes[piece] for piece in line if piece in results.outcomes]


def _table(part: Part, by_name: dict[str, list[Slice]], results: Results) -> list[str]:
    rows: list[tuple[object, ...]] = []
    everything: list[Outcome] = []
    for name, line in by_name.items():
        done = _done(line, results)
        everything += done
        if done:
            rows.append((name, *_cells(part, done)))
    if len(rows) > 1 and part is PARTS["inputs"]:
        rows.append(("all", *_cells(part, everything)))
    aligned = ("---", *["---:"] * (len(part.heads) - 1))
    return [f"| {' | '.join(map(str, cells))} |" for cells in (part.heads, aligned, *rows)]


def _cells(part: Part, outcomes: list[Outcome]) -> tuple[object, ...]:
    numbers: dict[str, float] = {}
    for outcome in outcomes:
        for key, value in outcome.numbers.items():
            numbers[key] = numbers.get(key, 0.0) + value
    return tuple(part.row(numbers, sum(outcome.wrong for outcome in outcomes)))


def _missing(by_name: dict[str, list[Slice]], results: Results) -> list[str]:
    """Say which share of the work is not done."""
    wanted = sum(piece.count for line in by_name.values() for piece in line)
    done = sum(p.count for line in by_name.values() for p in line if p in results.outcomes)
    if done == wanted:
        return []
    return ["", f"This is {done:,} of {wanted:,} tries; the run goes on with `make torture`."]


if __name__ == "__main__":
    sys.exit(main())
