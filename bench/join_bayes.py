"""Learning rules from tables: net, trees and weights, on whole data sets.

Targets: 5 s on MovieLens, 5 s on Mutagenesis, 20 s on Hepatitis, on two cores. FactorBase (Java and
MariaDB) takes 3.2, 4.1 and 36 CPU seconds for the net alone.
"""

from __future__ import annotations

import os
from functools import partial

from bench.result import Result, clock, peak_megabytes, run_cases, run_one
from mlnlearn.data.catalog import VARIABLE, benchmark_tables
from mlnlearn.data.load.build import Loaded
from mlnlearn.structure.join_bayes.learners import LAJDT

TARGETS = {"movielens": 5.0, "mutagenesis": 5.0, "hepatitis": 20.0}


def measure(data: str, links: bool) -> list[Result]:
    """Learn from all tables of a data set, and say what it took."""
    database, mapping = benchmark_tables(data)
    learner = LAJDT(links=links)
    learner.fit(benchmark_tables("university"))  # compiles what the first use compiles
    with clock() as used:
        model = learner.fit(Loaded(database, mapping)).model
    label = f"{data}, {'with' if links else 'without'} link indicators"
    rules = model.parameter_counts()["leaf_values"]
    return [
        Result(f"learn rules from {label}: CPU", used.cpu, "s", TARGETS[data]),
        Result(f"learn rules from {label}: peak memory", peak_megabytes(), "MB"),
        Result(f"learn rules from {label}: rules", rules, "rules"),
    ]


CASES = {
    f"{data}-{'links' if links else 'joins'}": partial(measure, data, links)
    for data in TARGETS
    for links in (False, True)
}


def main() -> list[Result]:
    """Run all cases, where the data sets are there."""
    return run_cases("bench.join_bayes", CASES) if os.environ.get(VARIABLE) else []


if __name__ == "__main__":
    run_one(CASES)
