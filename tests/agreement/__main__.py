"""``python -m agreement``: many models, a page of figures, and exit code 1 for a wrong answer."""

from __future__ import annotations

import argparse
import pickle
import sys
import time
from pathlib import Path

from joblib import Parallel, delayed

from agreement.generate import random_case
from agreement.report import text_of
from agreement.run import Tally, same_fault, tally
from agreement.shrink import smallest

_CHUNK = 50
_SHOWN = 5


def main() -> int:
    """Run the models, write the page, and show the smallest case of each wrong answer."""
    parser = argparse.ArgumentParser(prog="agreement", description=__doc__)
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write the figures here")
    parser.add_argument(
        "--kept",
        type=Path,
        help="a folder for what is done, so that the same command goes on where it was stopped; "
        "models with wrong answers are done again; empty it when the suite has changed",
    )
    given = parser.parse_args()
    found, seconds = _all(given.seed, given.models, given.jobs, given.kept)
    page = text_of(found, given.seed, seconds)
    sys.stdout.write(page)
    for seed, outcome in found.differing[:_SHOWN]:
        case = smallest(random_case(seed), lambda case: same_fault(case, outcome))  # noqa: B023
        sys.stdout.write(f"\n{outcome.path} of seed {seed}: {outcome.detail}\n{case}\n")
    if found.differing:
        return 1
    if given.out is not None:
        given.out.write_text(page, encoding="utf-8")
    return 0


def _all(first: int, models: int, jobs: int, kept: Path | None) -> tuple[Tally, float]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    last = first + models
    chunks = (range(start, min(start + _CHUNK, last)) for start in range(first, last, _CHUNK))
    found, seconds = Tally(), 0.0
    for part, used in Parallel(jobs, return_as="generator")(
        delayed(_timed)(seeds, kept) for seeds in chunks
    ):
        found += part
        seconds += used
        for seed, outcome in part.differing:
            sys.stderr.write(f"\n{outcome.path} of seed {seed}: {outcome.detail}\n")
        sys.stderr.write(f"\r{found.models} models, {len(found.differing)} disagreements ")
    sys.stderr.write("\n")
    return found, seconds


def _timed(seeds: range, kept: Path | None) -> tuple[Tally, float]:
    """Run some models, or look up what became of them; return the CPU seconds, too."""
    file = None if kept is None else kept / f"{seeds.start:05}-{seeds.stop:05}.pickle"
    if file is not None and file.exists():
        tallied, seconds = pickle.loads(file.read_bytes())
        return tallied, seconds
    started = time.process_time()
    found = tally(seeds)
    used = time.process_time() - started
    if file is not None and not found.differing:
        beside = file.with_suffix(".new")
        beside.write_bytes(pickle.dumps((found, used)))
        beside.replace(file)
    return found, used


if __name__ == "__main__":
    sys.exit(main())
