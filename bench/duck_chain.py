"""Count a chain of three literals over ten million facts on DuckDB, with room and without.

Every measurement is a process of its own, so that its peak memory is its own too; the data (which
every process holds) is measured alone, for comparison.
"""

from __future__ import annotations

import numpy as np

from bench.result import Result, clock, peak_megabytes, run_cases, run_one
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
LIMITS = {"2GB": 2048.0, "500MB": None, "100MB": None}  # within the last one it must spill
TITLE = "chain of 3 literals over 10 million facts"


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


def data() -> list[Result]:
    """Hold the data and nothing else."""
    stack = chain_stack()
    for predicate in stack.schema.predicates:
        stack.relation(predicate)
    return [Result(f"{TITLE}: peak memory of the data alone", peak_megabytes(), "MB")]


def measure(label: str, engine: Engine) -> list[Result]:
    """Answer both queries with one engine."""
    results = []
    for group in ((), ("a",)):
        with clock() as time:
            table = engine.table(chain_query(engine.stack, *group))
        how = f"by {group[0]}, {len(table):,} rows" if group else "total"
        results.append(Result(f"{TITLE}, {label}, {how}", time.cpu, "CPU s"))
    return [*results, Result(f"{TITLE}, {label}: peak memory", peak_megabytes(), "MB")]


def memory() -> list[Result]:
    """Count with the memory engine."""
    return measure("memory engine", MemoryEngine(chain_stack()))


def duck(limit: str) -> list[Result]:
    """Count with DuckDB within a memory limit."""
    with DuckEngine(chain_stack(), memory_limit=limit) as engine:
        return measure(f"DuckDB within {limit}", engine)


CASES = {
    "data": data,
    "memory": memory,
    "2GB": lambda: duck("2GB"),
    "500MB": lambda: duck("500MB"),
    "100MB": lambda: duck("100MB"),
}


def main() -> list[Result]:
    """Run all cases; what DuckDB takes on top of the data has its limit as target."""
    results = run_cases("bench.duck_chain", CASES)
    alone = results[0].value
    return [
        Result(result.name + " on top of the data", result.value - alone, "MB", LIMITS[limit])
        if result.unit == "MB" and (limit := result.name.split(": ")[0].split()[-1]) in LIMITS
        else result
        for result in results
    ]


if __name__ == "__main__":
    run_one(CASES)
