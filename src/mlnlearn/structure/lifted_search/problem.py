"""One shape's part of the likelihood: the components it touches, with all its clauses.

log Z factorises over components that share no predicate, so a candidate changes only the part with
its own predicates. Clauses over the same atoms are features of one circuit, and every subset of the
databases is a choice of seeds: one circuit serves the screening of all clauses of a shape, their
refits, and cross-validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.lifted.circuit import Circuit
from mlnlearn.lifted.compile import LiftedModel, compile_formulas
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.formulas import Formula
from mlnlearn.structure.lifted_search.ascend import ascend, curvature_of, curvature_row
from mlnlearn.weights.objective import Floats, GaussianPrior
from mlnlearn.weights.optimize import maximise

_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class CandidateLimits:
    """What a candidate may cost.

    Attributes
    ----------
    axes
        Most nested counting sums.
    terms
        Most terms of one evaluation over all databases.
    """

    axes: int
    terms: int


@dataclass(frozen=True, eq=False)
class Problem:
    """The log-likelihood of databases as a function of the weights of some features.

    Attributes
    ----------
    counts
        True groundings, by database and feature.
    circuit
        log Z of every database.
    model
        What the circuit was made from.
    """

    counts: Floats
    circuit: Circuit
    model: LiftedModel

    def value(self, weights: Floats, seeds: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood of the databases, each times its seed, and the gradient."""
        log_z, expected = self.circuit.evaluate(weights, seeds)
        observed = seeds @ self.counts
        return float(observed @ weights - seeds @ log_z), observed - expected

    def each(self, weights: Floats) -> Floats:
        """Return the log-likelihood of each database."""
        log_z, _ = self.circuit.evaluate(weights)
        result: Floats = self.counts @ weights - log_z
        return result


def build_problem(
    predicates: Sequence[Predicate],
    formulas: Sequence[Formula],
    counts: Floats,
    sizes: Sequence[dict[str, int]],
    limits: CandidateLimits,
) -> Problem:
    """Compile features for all databases; NotLiftable or MemoryLimitError where too costly."""
    largest = {kind: max(known[kind] for known in sizes) for kind in sizes[0]}
    model = compile_formulas(predicates, formulas, sizes=largest, max_axes=limits.axes)
    return Problem(counts, model.bind(sizes, limit=limits.terms), model)


@dataclass(frozen=True, eq=False)
class Extended:
    """A problem in which one extra feature has a weight and the other extra ones have none.

    Attributes
    ----------
    problem
        The rules there are, then the candidate clauses over the same atoms.
    chosen
        Which of all features is the clause.
    sigma
        Standard deviation of the prior.
    """

    problem: Problem
    chosen: int
    sigma: float

    def weights(self, point: Floats) -> Floats:
        """Return the weights of all features, given those of the rules and the clause."""
        full = np.zeros(self.problem.counts.shape[1])
        full[: len(point) - 1] = point[:-1]
        full[self.chosen] = point[-1]
        return full

    def objective(self, point: Floats, seeds: Floats) -> tuple[float, Floats]:
        """Return the penalised log-likelihood of the databases and its gradient."""
        value, gradient = self.problem.value(self.weights(point), seeds)
        rules = len(point) - 1
        slope = np.append(gradient[:rules], gradient[self.chosen])
        log_prior, pull = GaussianPrior(self.sigma)(point)
        return value + log_prior, slope + pull

    def fit(
        self, start: Floats, seeds: Floats, curvature: Floats, tolerance: float = 1e-6
    ) -> tuple[Floats, float]:
        """Return the best weights of rules and clause, and the objective there."""
        return ascend(
            lambda point: self.objective(point, seeds),
            start,
            curvature,
            floor=0.5 / self.sigma**2,
            tolerance=tolerance,
        )

    def bordered(self, start: Floats, seeds: Floats, curvature: Floats) -> Floats:
        """Extend the curvature of the rules' weights by that of the clause."""
        last = len(start) - 1
        row = curvature_row(lambda point: self.objective(point, seeds), start, last)
        full = np.zeros((last + 1, last + 1))
        full[:last, :last] = curvature
        full[last] = full[:, last] = row
        return full

    def curvature(self, point: Floats, seeds: Floats) -> Floats:
        """Return the curvature at a point."""
        return curvature_of(lambda p: self.objective(p, seeds), point)


def score_tests(
    problem: Problem, rules: Floats, curvature: Floats, seeds: Floats, sigma: float
) -> list[tuple[float, float]]:
    """Estimate what each extra feature gains, all weights refitted, and its weight then.

    Rao's score test: the slope at weight zero, squared, over twice the curvature that remains when
    the other weights follow. One evaluation a feature, and one for all.

    Parameters
    ----------
    problem
        The rules, then the extra features.
    rules
        The rules' best weights.
    curvature
        The curvature of the objective there.
    seeds
        Which databases count.
    sigma
        Standard deviation of the prior.
    """
    known = len(rules)
    point = np.concatenate([rules, np.zeros(problem.counts.shape[1] - known)])
    _, gradient = problem.value(point, seeds)
    inverse = np.linalg.pinv(curvature, hermitian=True)
    results = []
    for number in range(known, len(point)):
        if abs(gradient[number]) < _STEP:
            results.append((0.0, 0.0))
            continue
        ahead = point.copy()
        ahead[number] = _STEP
        row = (gradient - problem.value(ahead, seeds)[1]) / _STEP
        own = row[number] + 1.0 / sigma**2
        left = max(own - float(row[:known] @ inverse @ row[:known]), 1.0 / sigma**2, 1e-3 * own)
        slope = float(gradient[number])
        results.append((0.5 * slope**2 / left, float(np.clip(slope / left, -2.0, 2.0))))
    return results


def unit_fit(problem: Problem, seeds: Floats, sigma: float) -> tuple[Floats, float]:
    """Return the best weight of a single feature, and the objective there."""

    def likelihood(weights: Floats) -> tuple[float, Floats]:
        return problem.value(weights, seeds)

    found = maximise(likelihood, np.zeros(1), prior=GaussianPrior(sigma))
    return found.weights, found.value
