"""``make torture``: inputs without end to every reader; prints a table of tries and faults."""

from __future__ import annotations

import argparse
import sys
import time

from torture.fuzzers import TARGETS, faults_of


def main() -> int:
    """Run all fuzzers, and return 1 where something went wrong."""
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000, help="inputs over all kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="kinds whose name holds this")
    options = parser.parse_args()
    chosen = [target for target in TARGETS if options.only in target.name]
    shares = sum(target.share for target in chosen)
    total, wrong = 0, 0
    say = sys.stdout.write
    say(f"{'kind':24} {'tries':>10} {'faults':>7} {'seconds':>8}\n")
    for target in chosen:
        tries = -(-options.inputs * target.share // shares)
        started = time.perf_counter()
        found = list(faults_of(target, tries, options.seed))
        seconds = time.perf_counter() - started
        say(f"{target.name:24} {tries:>10,} {len(found):>7,} {seconds:>8.1f}\n")
        for what, fault in {fault.what[:60]: fault for fault in found}.items():
            say(f"    {what}\n      input {fault.number}: {fault.given}\n")
        sys.stdout.flush()
        total, wrong = total + tries, wrong + len(found)
    say(f"{'all':24} {total:>10,} {wrong:>7,}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
