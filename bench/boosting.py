"""Boosting: CPU time and memory beside BoostSRL's, a joint model, and data of growing size.

Times are CPU seconds of training with compiled kernels; memory is the most that the process held,
the interpreter, its libraries and the data included.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

import numpy as np

from bench import boostsrl
from bench.result import Cases, Result, clock, peak_megabytes, run_cases, run_one
from mlnlearn.counting.kernels import sum_by_example
from mlnlearn.data.catalog import VARIABLE, benchmark
from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import university
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN

TIMES_FASTER = 30.0
TIMES_SMALLER = 3.0
JOINT = ("sameBib", "sameVenue", "sameTitle", "sameAuthor")
STUDENTS = {4: 1_100, 5: 11_000, 6: 110_000}
"""Students of universities with so many facts, by the logarithm of that."""


def learner(
    mode: str, target: str | tuple[str, ...], **settings: object
) -> BoostedMLN | BoostedRDN:
    """Return the learner of a mode."""
    if mode == "rdn-b":
        return BoostedRDN(target=target, **settings)  # type: ignore[arg-type]
    representation = "trees" if mode == "mln-bt" else "clauses"
    return BoostedMLN(target=target, representation=representation, **settings)  # type: ignore[arg-type]


def compared(name: str, folds: Sequence[Database], target: str, mode: str) -> list[Result]:
    """Train 20 steps on all folds but the first, then let BoostSRL do the same."""
    title = f"{mode.upper()}, {name} {target}, 20 steps"
    train = folds[1:]
    learner(mode, target, steps=2).fit(train[:1])
    taken = {}
    for negatives in ("calibrated", "paper"):
        with clock() as measured:
            learner(mode, target, negatives=negatives).fit(train)
        taken[negatives] = measured.cpu
    memory = peak_megabytes()
    reason = boostsrl.missing()
    if reason:
        note = f" (BoostSRL left out: {reason})"
        return [
            *(Result(f"{title}, {n} negatives{note}", cpu, "CPU s") for n, cpu in taken.items()),
            Result(f"{title}: peak memory{note}", memory, "MB"),
        ]
    theirs = boostsrl.train(train, target, mode)
    beside = f"BoostSRL {theirs.megabytes:.0f} MB, {theirs.megabytes / memory:.1f} times ours"
    results = []
    for negatives, cpu in taken.items():
        note = f"BoostSRL {theirs.cpu:.1f} s, {theirs.cpu / cpu:.0f} times ours"
        most = theirs.cpu / TIMES_FASTER
        results.append(Result(f"{title}, {negatives} negatives ({note})", cpu, "CPU s", most))
    most = theirs.megabytes / TIMES_SMALLER
    return [*results, Result(f"{title}: peak memory ({beside})", memory, "MB", most)]


def uwcse(mode: str) -> list[Result]:
    """Learn who advises whom."""
    return compared("UW-CSE", benchmark("uwcse", schema="schema_khot.mln"), "advisedBy", mode)


def cora() -> list[Result]:
    """Learn which titles are the same."""
    return compared("Cora", benchmark("cora"), "sameTitle", "rdn-b")


def idle() -> list[Result]:
    """Measure what Python, the libraries and the first compiled loop take before there are data."""
    sum_by_example(np.zeros(1, np.int32), np.ones(1, np.int64), 1)
    return [Result("any learner, before it reads data: memory", peak_megabytes(), "MB")]


def joint(mode: str) -> list[Result]:
    """Learn the four equivalences of Cora together, from all folds but the first."""
    train = benchmark("cora")[1:]
    learner(mode, "sameTitle", steps=2).fit(train[:1])
    with clock() as measured:
        learner(mode, JOINT, fraction=0.25).fit(train)
    title = f"{mode.upper()}, Cora, 4 targets jointly, 20 steps"
    return [
        Result(title, measured.cpu, "CPU s", 60.0),
        Result(f"{title}: peak memory", peak_megabytes(), "MB"),
    ]


def growing(power: int, per_fact: int | None) -> list[Result]:
    """Time ten steps of every mode on one university.

    By default at most 200,000 examples are taken, wherever they are that many: the time of a step
    then hardly grows. With a number of examples for each fact it must grow in proportion.
    """
    databases = university(STUDENTS[power], areas=1, rng=0).databases
    facts = databases[0].true_atoms
    most = 200_000 if per_fact is None else per_fact * facts
    results = []
    for mode in boostsrl.OPTIONS:
        learner(mode, "advisedBy", steps=1, max_examples=1000).fit(databases)
        with clock() as measured:
            learner(mode, "advisedBy", steps=10, max_examples=most).fit(databases)
        title = f"{mode.upper()}, university, {facts:,} facts, {most:,} examples"
        goal = 120.0 if power == max(STUDENTS) and per_fact is None else None
        results += [
            Result(f"{title}, 10 steps", measured.cpu, "CPU s", goal),
            Result(f"{title}, a step", measured.cpu / 10, "CPU s"),
        ]
    return [*results, Result(f"{title}: peak memory of all modes", peak_megabytes(), "MB")]


BESIDE: Cases = {
    "idle": idle,
    **{f"uwcse_{mode}": partial(uwcse, mode) for mode in boostsrl.OPTIONS},
    "cora": cora,
}
TOGETHER: Cases = {f"joint_{mode}": partial(joint, mode) for mode in ("mln-bt", "mln-bc")}
GROWING: Cases = {
    **{f"university_{power}_None": partial(growing, power, None) for power in STUDENTS},
    # two million examples, for a million facts, did not end within eleven minutes of CPU time
    **{f"university_{power}_2": partial(growing, power, 2) for power in (4, 5)},
}
CASES: Cases = {**BESIDE, **TOGETHER, **GROWING}


def main() -> list[Result]:
    """Run every case, those on benchmark data only where these are."""
    return run_cases("bench.boosting", CASES if os.environ.get(VARIABLE) else GROWING)


if __name__ == "__main__":
    run_one(CASES)
