"""Scores and networks by the counting engine: for domains too large for a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.count import true_groundings
from mlnlearn.counting.query import Engine
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.formulas import Formula
from mlnlearn.structure.search.model import Alone, Background, Floats, unit_clauses
from mlnlearn.weights.objective import GaussianPrior, Penalised
from mlnlearn.weights.optimize import maximise
from mlnlearn.weights.pseudolikelihood import PseudoLikelihood

# the step over which the curvature in a new weight is measured
_STEP = 1e-4


class EngineScorer:
    """Scores clauses by an engine's sparse counts; a `Scorer`.

    Parameters
    ----------
    engine
        The data.
    background
        What every network holds.
    sigma
        Standard deviation of the Gaussian prior on weights.
    """

    def __init__(self, engine: Engine, background: Background, sigma: float) -> None:
        self.engine = engine
        self.background = background
        self.prior = GaussianPrior(sigma)

    @cached_property
    def _units(self) -> EngineModel:
        units = tuple(unit_clauses(self.background.schema))
        return self._model(units, np.zeros(len(units)), np.zeros(len(units), bool))

    def _model(
        self, formulas: tuple[Formula, ...], weights: Floats, locked: NDArray[np.bool_]
    ) -> EngineModel:
        objective = PseudoLikelihood(self.engine, formulas, hard=self.background.hard)
        return EngineModel(objective, weights, locked, self.prior).fitted()

    def alone(self, clause: Clause) -> Alone | None:
        """Score a clause beside the unit clauses; None where it is too large to count."""
        try:
            return Alone.between(self._units, self._units.extended(clause))
        except MemoryLimitError:
            return None

    def true_instances(self, clause: Clause) -> float:
        """Return the number of true groundings of a clause, over all databases."""
        return float(sum(true_groundings(self.engine, clause.formula)))

    def start(self) -> EngineModel:
        """Return the network of the unit clauses and the given formulas, fitted."""
        rules = self.background.soft
        return self._model(
            tuple(rule.formula for rule in rules),
            np.array([rule.weight or 0.0 for rule in rules]),
            np.array([rule.locked for rule in rules], bool),
        )


@dataclass(frozen=True, eq=False)
class EngineModel:
    """A network with its objective; a `Model`."""

    objective: PseudoLikelihood
    weights: Floats
    locked: NDArray[np.bool_]
    prior: GaussianPrior

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The soft formulas."""
        return self.objective.formulas

    @cached_property
    def likelihood(self) -> float:
        """The weighted pseudo-log-likelihood, without the prior."""
        return self.objective(self.weights)[0]

    @cached_property
    def held_out(self) -> Floats | None:
        """The likelihood of each database under weights fitted to the others."""
        number, found = len(self.objective.engine.stack), []
        if number == 1:
            return None
        for own in np.eye(number):
            kept = replace(self.objective, shares=tuple(1.0 - own))
            weights = replace(self, objective=kept).fitted().weights
            found.append(replace(self.objective, shares=tuple(own))(weights)[0])
        return np.array(found)

    @property
    def joint(self) -> None:
        """Not known: it takes an array of all ground atoms."""
        return None

    def promise(self, clause: Clause) -> float:
        """Estimate what a clause would add, with the other weights held fast."""
        try:
            longer = self.objective.extended(clause.formula)
        except MemoryLimitError:
            return 0.0
        here, ahead = np.append(self.weights, 0.0), np.append(self.weights, _STEP)
        slope = longer(here)[1][-1]
        bend = (slope - longer(ahead)[1][-1]) / _STEP + 1.0 / self.prior.sigma**2
        return float(0.5 * slope * slope / bend)

    def extended(self, clause: Clause, weights: Floats | None = None) -> EngineModel:
        """Return the network with one more clause: fitted, or with weights that are known."""
        longer = EngineModel(
            self.objective.extended(clause.formula),
            np.append(self.weights, 0.0),
            np.append(self.locked, False),
            self.prior,
        )
        return longer.fitted() if weights is None else replace(longer, weights=weights)

    def without(self, numbers: Sequence[int], weights: Floats | None = None) -> EngineModel:
        """Return the network without some formulas: fitted, or with weights that are known."""
        kept = [number for number in range(len(self.formulas)) if number not in set(numbers)]
        formulas = tuple(self.formulas[number] for number in kept)
        shorter = EngineModel(
            replace(self.objective, formulas=formulas),
            self.weights[kept],
            self.locked[kept],
            self.prior,
        )
        return shorter.fitted() if weights is None else replace(shorter, weights=weights)

    def fitted(self) -> EngineModel:
        """Return the network with its weights fitted, from those it has."""
        penalised = Penalised(self.objective, self.prior)
        found = maximise(penalised, self.weights, locked=self.locked, tolerance=1e-12)
        return replace(self, weights=found.weights)
