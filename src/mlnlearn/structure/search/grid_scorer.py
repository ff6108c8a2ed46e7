"""Scores of clauses on a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.count import groundings
from mlnlearn.counting.query import Engine
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.formulas import Rule
from mlnlearn.structure.search.alone import fit_alone, fit_held_out, histogram
from mlnlearn.structure.search.grid_counts import GridCounts
from mlnlearn.structure.search.grid_model import GridModel
from mlnlearn.structure.search.model import Alone, Background, unit_clauses
from mlnlearn.structure.search.patterns import Signed, encode


class GridScorer:
    """Scores clauses on a grid; a `Scorer`.

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
        self.precision = 1.0 / sigma**2
        self.counts = GridCounts(engine, background)
        self.grid = self.counts.grid
        self._units = {
            predicate.name: [
                self._unit(predicate.name, number)
                for number in range(self.grid.classes(predicate.name))
            ]
            for predicate in background.schema.predicates
            if not self.grid.exclusive(predicate.name)
        }
        self._started: dict[tuple[str, ...], GridModel] = {}

    def _unit(self, predicate: str, number: int) -> _Unit:
        """Fit the unit weight of a class of atoms."""
        true, total = self.grid.shares(predicate, (), number)
        databases = np.arange(len(true))
        values, starts = np.zeros(len(true)), np.array([0, len(true)])
        rows = values, true, total, starts, np.zeros(1), self.precision
        _, weights, likelihood = fit_alone(*rows)
        held_out = fit_held_out(*rows, databases, len(true))
        return _Unit(float(weights[0]), float(likelihood), float(held_out))

    def alone(self, clause: Clause) -> Alone | None:
        """Score a clause beside the unit clauses; None where it is too large to count.

        Atoms whose arguments differ and those that repeat one have a unit weight each. (With unit
        clauses for both, the prior would tie the two a little.)
        """
        literals = _encoded(clause)
        names = tuple(dict.fromkeys(literal.predicate for literal in literals))
        if any(self.grid.exclusive(name) for name in names):
            return self._beside_units(clause, names)
        parts, units, starts = [], [], [0]
        try:
            for name in names:
                flips = self.grid.flips(literals, name)
                for number, unit in enumerate(self._units[name]):
                    shares = self.grid.shares(name, flips.places, number)
                    found = [histogram(*rows) for rows in zip(flips.values, *shares, strict=True)]
                    parts += found
                    units.append(unit)
                    starts.append(starts[-1] + sum(len(rows[0]) for rows in found))
        except MemoryLimitError:
            return None
        values, true, total = (np.concatenate(column) for column in zip(*parts, strict=True))
        start = np.array([unit.weight for unit in units])
        rows = values, true, total, np.array(starts), start, self.precision
        weight, _, likelihood = fit_alone(*rows)
        gain = float(likelihood) - sum(unit.likelihood for unit in units)
        number = len(self.engine.stack)
        if number == 1:
            return Alone(float(weight), gain, None)
        lengths = [len(part[0]) for part in parts]
        database = np.repeat(np.arange(len(parts)) % number, lengths)
        held_out = float(fit_held_out(*rows, database, number))
        return Alone(float(weight), gain, held_out - sum(unit.held_out for unit in units))

    def _beside_units(self, clause: Clause, names: tuple[str, ...]) -> Alone | None:
        """Score a clause of which some predicates have exclusive places."""
        units = self._started.get(names)
        if units is None:
            rules = [
                Rule(unit, weight=0.0)
                for unit in unit_clauses(self.background.schema)
                if unit.predicate.name in names
            ]
            units = GridModel.of(self.counts, self.precision, rules, names)
            self._started[names] = units
        try:
            return Alone.between(units, units.extended(clause))
        except MemoryLimitError:
            return None

    def true_instances(self, clause: Clause) -> float:
        """Return the number of true groundings of a clause, over all databases."""
        all_groundings = float(sum(groundings(self.engine, clause.formula)))
        return all_groundings - self.grid.violations(_encoded(clause))

    def start(self) -> GridModel:
        """Return the network of the unit clauses and the given formulas, fitted."""
        names = [predicate.name for predicate in self.background.schema.predicates]
        return GridModel.of(self.counts, self.precision, self.background.soft, names)


@dataclass(frozen=True, slots=True)
class _Unit:
    """The unit weight of a class of atoms, and their likelihood with it, fitted and held out."""

    weight: float
    likelihood: float
    held_out: float


def _encoded(clause: Clause) -> tuple[Signed, ...]:
    literals = encode(clause)
    if literals is None:
        raise ValueError(f"a candidate has variables only: {clause}")
    return literals
