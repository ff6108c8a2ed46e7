"""GSLP and MSL: time and likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.result import Result, clock, run_cases, run_one
from mlnlearn.data.database import Database
from mlnlearn.structure.beam.learn import MSL
from mlnlearn.structure.predicate_graph.learn import GSLP
from studies.gslp_data import plain_folds


def gslp(name: str, target: float) -> list[Result]:
    """Train GSLP on all folds but the first."""
    train = plain_folds(name)[1:]
    GSLP(max_clauses=1).fit(train)
    with clock() as measured:
        learned = GSLP().fit(train)
    return [
        Result(f"GSLP, {name}, 4 folds", measured.cpu, "CPU s", target),
        Result(f"GSLP, {name}, minus WPLL", -learned.notes.likelihood, ""),
    ]


def msl(name: str, train: Sequence[Database], target: float, likelihood: float) -> list[Result]:
    """Train MSL with at most 4 literals and 3 variables, then with what must hold elsewhere too.

    The targets are for the plain search, which takes whatever raises the training likelihood.
    """
    plain = MSL(max_literals=4, max_variables=3)
    careful = replace(plain, min_gain=0.001, held_out=True, joint=True)
    found = []
    for label, learner, bounds in (
        ("MSL", plain, (target, -likelihood)),
        ("MSL, held out", careful, (None, None)),
    ):
        replace(learner, max_rounds=1, max_literals=2).fit(train)
        with clock() as measured:
            learned = learner.fit(train)
        found.append(Result(f"{label}, {name}", measured.cpu, "CPU s", bounds[0]))
        found.append(
            Result(f"{label}, {name}, minus WPLL", -learned.notes.likelihood, "", bounds[1])
        )
    return found


def msl_imdb() -> list[Result]:
    """Four folds of IMDB; Alchemy: 65 CPU s, WPLL -3.705."""
    return msl("imdb_lsl, 4 folds", plain_folds("imdb_lsl")[1:], 6.0, -2.93)


def msl_uwcse() -> list[Result]:
    """Train on the smallest fold of UW-CSE; Alchemy: 50 CPU s, WPLL -0.153."""
    folds = plain_folds("uwcse_lsl")
    smallest = min(folds, key=lambda f: sum(f.count(p.name) for p in f.schema.predicates))
    return msl("uwcse_lsl, smallest fold", [smallest], 5.0, -0.153)


CASES = {
    "gslp_imdb": lambda: gslp("imdb", 10.0),
    "gslp_uwcse": lambda: gslp("uwcse", 60.0),
    "gslp_cora": lambda: gslp("cora", 600.0),
    "msl_imdb": msl_imdb,
    "msl_uwcse": msl_uwcse,
}


def main() -> list[Result]:
    """Run every case."""
    return run_cases("bench.structure", CASES)


if __name__ == "__main__":
    run_one(CASES)
