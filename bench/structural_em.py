"""Structural EM: time of one training run on the cancer data, and what its sampler saves."""

from __future__ import annotations

import numpy as np

from bench.result import Cases, Result, clock, run_cases, run_one
from mlnlearn.data.synthetic import hide, smokers
from mlnlearn.structure.boosting import BoostedMLN
from mlnlearn.structure.structural_em import StructuralEM


def cancer() -> list[Result]:
    """Learn from 100 people, 40% of whose smoking is hidden, in ten iterations."""
    database = hide(smokers(100, rng=1).databases[0], "smokes", 0.4, rng=2)
    base = BoostedMLN(target="cancer", recursive=("smokes",))
    StructuralEM(base=base, iterations=2).fit(database)  # compiles the kernels
    results = []
    for name, learner in {
        "SEM": StructuralEM(base=base),
        "H-SEM": StructuralEM(base=base, mode="hard"),
    }.items():
        with clock() as measured:
            learned = learner.fit(database)
        title = f"{name}, cancer, 100 people, 40% hidden, 10 iterations"
        walked = 1.0 - float(np.mean([note.saved for note in learned.notes.iterations]))
        results += [
            Result(title, measured.cpu, "CPU s", 5.0),
            Result(f"{title}: trees walked again per atom drawn", 100.0 * walked, "% of all"),
        ]
    return results


CASES: Cases = {"cancer": cancer}


def main() -> list[Result]:
    """Run every case."""
    return run_cases("bench.structural_em", CASES)


if __name__ == "__main__":
    run_one(CASES)
