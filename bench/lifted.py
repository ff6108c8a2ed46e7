"""Lifted inference and LSL: log Z with gradient, its growth with domain sizes, fits, searches.

CPU time, the best of several runs. Cases on benchmark data are left out where there are none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from bench.result import Result, clock, run_cases, run_one
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.catalog import VARIABLE, benchmark
from mlnlearn.lifted.compile import LiftedModel, compile_formulas
from mlnlearn.model.mln import MLN
from mlnlearn.structure.lifted_search.learn import LiftedStructureLearner
from mlnlearn.weights.likelihood import learn_likelihood, likelihood_of

SMOKERS = """
smokes(person)
friends(person,person)
1.4 smokes(x)
0.3 friends(x,y)
1.1 smokes(x) ^ friends(x,y) => smokes(y)
"""
# Groups of people with friends among themselves, and links between the groups' smokers: every group
# needs a counting sum of its own.
GROUP = """
s{0}(g{0})
f{0}(g{0},g{0})
-0.5 s{0}(x)
0.1 s{0}(x) ^ f{0}(x,y) => s{0}(y)
"""
LINK = "r{0}{1}(g{0},g{1})\n0.1 s{0}(x) ^ s{1}(y) => r{0}{1}(x,y)\n"
SUMS = (1, 2, 3)
SIZES = (10, 30, 100, 200, 1_000, 3_000, 10_000)
# A circuit is held in memory, and takes about 0.4 kB a term to write: 4 GB for so many.
MOST_TERMS = 10_000_000
UWCSE = """
!Professor(x) v !Yearsinprogram(x,y)
!Courselevel(x,y) v !Courselevel(x,z)
!Professor(x) v !Ta(y,x,z)
!Taughtby(a,b,c) v Professor(b)
!Advisedby(a,b) v Professor(b)
!Advisedby(a,b) v !Professor(a)
!Tempadvisedby(a,b) v Professor(b)
!Phase(x,y) v !Professor(x)
!Publication(x,y) v Professor(y)
!Phase(x,y) v !Phase(x,z)
"""
SEARCHES = {"imdb_lsl": 60.0, "webkb": 60.0, "uwcse_lsl": 600.0}


def best(action: Callable[[], object], runs: int = 20) -> float:
    """Return the least CPU time of several runs, in milliseconds."""
    action()
    times = []
    for _ in range(runs):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def compiled(text: str) -> tuple[LiftedModel, np.ndarray]:
    """Compile the rules of a network."""
    mln = MLN.parse(text)
    return compile_formulas(mln.schema.predicates, [r.formula for r in mln.soft]), mln.weights


def step(model: LiftedModel, weights: np.ndarray, sizes: dict[str, int], runs: int = 20) -> float:
    """Return the milliseconds of one value and gradient."""
    circuit = model.bind([sizes])
    return best(lambda: circuit.evaluate(weights), runs)


def smokers() -> list[Result]:
    """Measure value and gradient of the smokers network."""
    model, weights = compiled(SMOKERS)
    spent = step(model, weights, {"person": 500})
    return [Result("smokers, 500 people: log Z and gradient", spent, "ms", 1.0)]


def curve(sums: int) -> list[tuple[int, float | None]]:
    """Measure one value and gradient of a plan with so many nested sums, in milliseconds.

    By objects in each domain; None where the circuit would have too many terms to hold.
    """
    groups = range(sums)
    text = "".join(GROUP.format(i) for i in groups)
    text += "".join(LINK.format(i, j) for i in groups for j in groups if i < j)
    model, weights = compiled(text)
    assert model.plan.axes == sums
    found: list[tuple[int, float | None]] = []
    for size in SIZES:
        held = float(size) ** sums <= MOST_TERMS
        domains = {f"g{i}": size for i in groups}
        found.append((size, step(model, weights, domains, runs=3) if held else None))
    return found


def curves() -> list[Result]:
    """Measure log Z and gradient against domain size, for one, two and three nested sums."""
    results = []
    for sums in SUMS:
        for size, spent in curve(sums):
            name = f"log Z, {sums} nested sums, {size:,} objects"
            if spent is None:
                name += f" (not measured: more than {MOST_TERMS:.0e} terms to hold)"
                results.append(Result(name, float(size) ** sums, "terms"))
            else:
                results.append(Result(name, spent, "ms"))
    return results


def fits() -> list[Result]:
    """Measure compilation, a step and a fit of a ten-clause theory over four databases."""
    folds = benchmark("uwcse_lsl")
    schema = folds[0].schema.without_functional()
    mln = MLN.parse(f"{schema}\n{UWCSE}").with_unit_clauses()
    engine = MemoryEngine(folds[:4])
    objective = likelihood_of(mln, engine)
    weights = np.full(len(mln.soft), 0.1)
    title = "UW-CSE, 10 clauses, 4 databases"
    return [
        Result(f"{title}: compile", best(lambda: likelihood_of(mln, engine), 3), "ms"),
        Result(f"{title}: value and gradient", best(lambda: objective(weights)), "ms", 3.0),
        Result(f"{title}: fit", best(lambda: learn_likelihood(mln, engine), 3), "ms"),
    ]


def search(name: str) -> list[Result]:
    """Measure a full LSL run, first fold held out."""
    folds = benchmark(name, schema="schema_nosame.mln" if name == "webkb" else "schema.mln")
    with clock() as measured:
        LiftedStructureLearner().fit(folds[1:])
    return [Result(f"LSL, {name}, {len(folds) - 1} folds", measured.cpu, "s", SEARCHES[name])]


CASES = {
    "smokers": smokers,
    "curves": curves,
    "fits": fits,
    "imdb_lsl": lambda: search("imdb_lsl"),
    "webkb": lambda: search("webkb"),
    "uwcse_lsl": lambda: search("uwcse_lsl"),
}


def main() -> list[Result]:
    """Run all cases; those on benchmark data where there is any."""
    names = CASES if os.environ.get(VARIABLE) else ("smokers", "curves")
    return run_cases("bench.lifted", {name: CASES[name] for name in names})


if __name__ == "__main__":
    run_one(CASES)
