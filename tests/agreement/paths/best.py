"""A most probable world: no world weighs more than the best that has the answered values."""

from __future__ import annotations

import numpy as np

import mlnlearn as ml
from agreement.compare import Answer, Path
from agreement.problem import Problem, ground_atom
from agreement.reference import Impossible


def expected(problem: Problem) -> Answer:
    best = float(problem.posterior.log_weights.max(initial=-np.inf))
    if best == -np.inf:
        raise Impossible("no world is possible")
    return {"log-weight": best}


def by_map(problem: Problem) -> Answer:
    case = problem.case
    answers = ml.query(
        problem.mln, problem.evidence, case.query,
        method="map", open=case.open, closed=case.closed,
    )  # fmt: skip
    log_weights = problem.posterior.log_weights
    for answer in answers:
        truth = problem.posterior.worlds.truth[ground_atom(str(answer.atom))]
        log_weights = np.where(truth == (answer.probability == 1.0), log_weights, -np.inf)
    return {"log-weight": float(log_weights.max(initial=-np.inf))}


PATHS = (Path("map: query", expected, by_map, share=0.5),)
