"""Count a chain of three literals over ten million facts on DuckDB, with room and without.

Run as ``python bench/duck_chain.py``. Every measurement is a process of its own, so that its peak
memory is its own too; the data (which every process holds) is measured alone, for comparison.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

from mlnlearn.counting.duck import DuckEngine
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.counting.query import Engine, Query
from mlnlearn.counting.stack import Stack
from mlnlearn.data.database import Database
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.schema import Schema

FACTS = 3_333_333
CONSTANTS = 1_000_000
RUNS = ("data", "memory", "2GB", "500MB", "100MB")  # the last one must spill


def chain_stack(facts: int = FACTS, constants: int = CONSTANTS) -> Stack:
    """Build R(a,b), S(b,c), T(c,d) of random facts over one domain."""
    schema = Schema.of("r(node,node)", "s(node,node)", "t(node,node)")
    rng = np.random.default_rng(1)
    codes = {
        predicate.name: rng.integers(constants, size=(2, facts), dtype=np.int32)
        for predicate in schema.predicates
    }
    names = Vocabulary(map(str, range(constants)))
    return Stack([Database.from_codes(schema, {"node": names}, codes)])


def chain_query(stack: Stack, *group: str) -> Query:
    """Return the chain r(a,b) ^ s(b,c) ^ t(c,d), grouped by the named variables."""
    r, s, t = stack.schema.predicates
    return Query((r("a", "b"), s("b", "c"), t("c", "d")), tuple(map(Variable, group)))


def measure(run: str) -> None:
    """Answer both queries with one engine and print what it took."""
    stack = chain_stack()
    if run == "data":
        for predicate in stack.schema.predicates:
            stack.relation(predicate)
        print(f"{run:>8}  the data alone{'':24}  peak {_peak_megabytes():6,.0f} MB")
        return
    engine: Engine = MemoryEngine(stack) if run == "memory" else DuckEngine(stack, memory_limit=run)
    for group in ((), ("a",)):
        wall, cpu = time.perf_counter(), time.process_time()
        table = engine.table(chain_query(stack, *group))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        label = f"by {','.join(group)}" if group else "total"
        print(
            f"{run:>8}  {label:6} {int(table.counts.sum()):>13,} in {len(table):>9,} rows"
            f"  {cpu:6.2f} CPU s  {wall:6.2f} s  peak {_peak_megabytes():6,.0f} MB"
        )
    if isinstance(engine, DuckEngine):
        engine.close()


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Run every measurement in a process of its own, or the one named on the command line."""
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    for run in RUNS:
        subprocess.run([sys.executable, __file__, run], check=True)


if __name__ == "__main__":
    main()
