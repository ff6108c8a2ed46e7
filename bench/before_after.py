"""Version 0.1 and this one in turn: ``python bench/before_after.py OLD NEW FILE.md [case …]``.

OLD and NEW are roots of two trees of the project. Every case is run by both in turn, each time in a
process of its own; of CPU times and of peak memory the medians count. The cases below are written
in what both versions know, so that both run the same lines; a child is this script with the name of
a case alone. The page keeps the rows of cases that are not named.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

TIMES = int(os.environ.get("MLNLEARN_BENCH_TIMES", "5"))
MOST = 1.1
Action = Callable[[], Any]
_TEXT = """# Speed and memory, before and after

What `python bench/before_after.py OLD NEW docs/results/before_after.md` wrote ({machine}): every
case run as often as it says by version 0.1 and by this one in turn, each in a process of its own
that first does something small, so that nothing is compiled while the clock runs. CPU seconds and
the most memory that the process held, the interpreter and its libraries included: medians. Ratios
above {most} are marked. The two versions number constants differently, and so draw other negatives
where these are drawn: such rows are the sum of several seeds. Other work ran on the machine at the
same time, by which the CPU time of the very same code differs by a tenth or two from run to run.

| what | runs | 0.1 | now | ratio | memory, 0.1 | now | ratio |
|---|---:|---:|---:|---:|---:|---:|---:|
{rows}
"""


def _boosted(mode: str, target: str, **settings: Any) -> Any:
    import mlnlearn as ml  # noqa: PLC0415 - of either version, here and below

    if mode == "RDN-B":
        return ml.BoostedRDN(target=target, **settings)
    representation: Any = "trees" if mode == "MLN-BT" else "clauses"
    return ml.BoostedMLN(target=target, representation=representation, **settings)


def uwcse(mode: str, negatives: str) -> Action:
    """Learn who advises whom from four folds, 20 steps."""
    from mlnlearn.data.catalog import benchmark  # noqa: PLC0415

    train = benchmark("uwcse", schema="schema_khot.mln")[1:]
    _boosted(mode, "advisedBy", steps=2, negatives=negatives).fit(train[:1])
    seeds = range(5) if negatives == "paper" else range(1)
    learners = [_boosted(mode, "advisedBy", negatives=negatives, seed=seed) for seed in seeds]
    return lambda: [learner.fit(train) for learner in learners]


def cora(mode: str) -> Action:
    """Learn which titles are the same from one fold, 20 steps."""
    from mlnlearn.data.catalog import benchmark  # noqa: PLC0415

    train = benchmark("cora")[1:2]
    _boosted(mode, "sameTitle", steps=1).fit(train)
    return lambda: _boosted(mode, "sameTitle").fit(train)


def gslp(name: str) -> Action:
    """Learn clauses by GSLP from four folds."""
    import mlnlearn as ml  # noqa: PLC0415
    from studies.gslp_data import plain_folds  # noqa: PLC0415

    train = plain_folds(name)[1:]
    ml.GSLP(max_clauses=1).fit(train)
    return lambda: ml.GSLP().fit(train)


def msl() -> Action:
    """Learn clauses by MSL from the smallest fold."""
    import mlnlearn as ml  # noqa: PLC0415
    from studies.gslp_data import plain_folds  # noqa: PLC0415

    train = [min(plain_folds("uwcse_lsl"), key=lambda fold: fold.true_atoms)]
    plain = ml.MSL(max_literals=4, max_variables=3)
    replace(plain, max_rounds=1, max_literals=2).fit(train)
    return lambda: plain.fit(train)


def lsl() -> Action:
    """Learn clauses by lifted likelihood from four folds."""
    import mlnlearn as ml  # noqa: PLC0415
    from mlnlearn.data.catalog import benchmark  # noqa: PLC0415

    train = benchmark("imdb_lsl")[1:]
    ml.LiftedStructureLearner(max_literals=1).fit(train)
    return lambda: ml.LiftedStructureLearner().fit(train)


def sem(mode: Any) -> Action:
    """Learn from 100 people, 40% of whose smoking is hidden, in ten iterations."""
    import mlnlearn as ml  # noqa: PLC0415
    from mlnlearn.data.synthetic import hide, smokers  # noqa: PLC0415

    hidden = hide(smokers(100, rng=1).databases[0], "smokes", 0.4, rng=2)
    base = ml.BoostedMLN(target="cancer", recursive=("smokes",))
    ml.StructuralEM(base=base, iterations=2, mode=mode).fit(hidden)
    return lambda: ml.StructuralEM(base=base, mode=mode).fit(hidden)


def joined(learner: str, name: str) -> Action:
    """Learn rules from tables."""
    import mlnlearn as ml  # noqa: PLC0415

    made = getattr(ml, learner)()
    fit = made.fit if hasattr(ml, "as_data") else lambda tables: made.fit(*tables)
    fit(ml.benchmark_tables("university"))
    tables = ml.benchmark_tables(name)
    return lambda: fit(tables)


def flips(name: str) -> Action:
    """Count the flips of twenty clauses."""
    from bench import flips as shared  # noqa: PLC0415
    from mlnlearn.data.catalog import benchmark  # noqa: PLC0415
    from mlnlearn.data.synthetic import university  # noqa: PLC0415

    shared.warm_up()
    if name == "university":
        large = university(shared.STUDENTS, 1, rng=0).databases
        return lambda: shared.measure(name, large, ("person", "course", "title"), 0, None)
    folds = benchmark(name)
    return lambda: shared.measure(name, folds, folds[0].schema.types, 0, None)


def sampled(method: Any, size: int, samples: int) -> Action:
    """Draw worlds of a network on one chain."""
    from bench.samplers import asymmetric  # noqa: PLC0415
    from mlnlearn.infer.sampling.chains import run_chains  # noqa: PLC0415

    draw = partial(run_chains, asymmetric(size), method, burn_in=0, chains=1, seed=1)
    draw(samples=10)
    return partial(draw, samples=samples)


MODES = ("MLN-BT", "MLN-BC", "RDN-B")
CASES: dict[str, Callable[[], Action]] = {
    **{f"{m}, UW-CSE advisedBy": partial(uwcse, m, "calibrated") for m in MODES},
    **{f"{m}, UW-CSE advisedBy, drawn negatives": partial(uwcse, m, "paper") for m in MODES},
    **{f"{m}, Cora sameTitle": partial(cora, m) for m in MODES},
    "GSLP, IMDB": partial(gslp, "imdb"),
    "GSLP, UW-CSE": partial(gslp, "uwcse"),
    "MSL, UW-CSE": msl,
    "LSL, IMDB": lsl,
    "SEM, cancer": partial(sem, "soft"),
    "H-SEM, cancer": partial(sem, "hard"),
    "learn-and-join, Mutagenesis": partial(joined, "LAJDT", "mutagenesis"),
    "moralised net, MovieLens": partial(joined, "MBN", "movielens"),
    "flips, UW-CSE": partial(flips, "uwcse"),
    "flips, Cora": partial(flips, "cora"),
    "flips, 1,002,807 facts": partial(flips, "university"),
    "Gibbs, 2,116 atoms": partial(sampled, "gibbs", 46, 100_000),
    "MC-SAT, 2,116 atoms": partial(sampled, "mcsat", 46, 20_000),
    "MC-SAT, 49,284 atoms": partial(sampled, "mcsat", 222, 500),
}


def run_case(name: str) -> None:
    """Run a case in this process; print CPU seconds and megabytes."""
    from bench.result import peak_megabytes  # noqa: PLC0415 - of either version

    action = CASES[name]()
    start = time.process_time()
    action()
    print(json.dumps([time.process_time() - start, peak_megabytes()]))


def measured(root: Path, name: str) -> tuple[float, float]:
    """Run a case by one of the trees, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, name],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
    )
    cpu, megabytes = json.loads(done.stdout.splitlines()[-1])
    return cpu, megabytes


def row(old: Path, new: Path, name: str) -> str:
    """Run one case by both, and write it as a row of the table."""
    runs: dict[Path, list[tuple[float, float]]] = {old: [], new: []}
    for _ in range(TIMES):
        for root, found in runs.items():
            found.append(measured(root, name))
    columns = zip(*(zip(*found, strict=True) for found in runs.values()), strict=True)
    cells: list[str] = []
    for (before, after), form in zip(columns, ("{:.2f} s", "{:.0f} MB"), strict=True):
        was, now = median(before), median(after)
        mark = "**" if now > MOST * was else ""
        cells += [form.format(was), form.format(now), f"{mark}{now / was:.2f}{mark}"]
    return f"| {name} | {TIMES} | {' | '.join(cells)} |"


def rows(old: Path, new: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the rows by name, and print each as it comes."""
    for name in names:
        found = row(old, new, name)
        print(found, flush=True)
        yield name, found


def write_page() -> None:
    """Run the cases that are named, or all, and write the page."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from bench.__main__ import machine  # noqa: PLC0415

    old, new, page = (Path(argument).resolve() for argument in sys.argv[1:4])
    lines = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    known = {name: line for line in lines for name in CASES if line.startswith(f"| {name} | ")}
    for name, line in rows(old, new, sys.argv[4:] or list(CASES)):
        known[name] = line
        table = "\n".join(known[name] for name in CASES if name in known)
        text = _TEXT.format(machine=machine(), most=MOST, rows=table)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        run_case(sys.argv[1])
    else:
        write_page()
