"""``python -m agreement``: many models, a page of figures, and exit code 1 for a wrong answer."""

from __future__ import annotations

import argparse
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
    given = parser.parse_args()
    found, seconds = _all(given.seed, given.models, given.jobs)
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


def _all(first: int, models: int, jobs: int) -> tuple[Tally, float]:
    starts = range(first, first + models, _CHUNK)
    work = (delayed(_timed)(range(start, min(start + _CHUNK, first + models))) for start in starts)
    found, seconds = Tally(), 0.0
    for part, used in Parallel(jobs, return_as="generator")(work):
        found += part
        seconds += used
        for seed, outcome in part.differing:
            sys.stderr.write(f"\n{outcome.path} of seed {seed}: {outcome.detail}\n")
        sys.stderr.write(f"\r{found.models} models, {len(found.differing)} disagreements ")
    sys.stderr.write("\n")
    return found, seconds


def _timed(seeds: range) -> tuple[Tally, float]:
    started = time.process_time()
    found = tally(seeds)
    return found, time.process_time() - started


if __name__ == "__main__":
    sys.exit(main())
