"""Scores of clauses beside the unit clauses, and networks to add them to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.formulas import Rule
from mlnlearn.run import check_time
from mlnlearn.structure.search.alone import fit_alone, fit_held_out
from mlnlearn.structure.search.background import Background, unit_clauses
from mlnlearn.structure.search.network import Alone, CountSource, Model
from mlnlearn.weights.objective import Floats, GaussianPrior


class ClauseScorer:
    """Scores clauses by whatever counts them.

    Parameters
    ----------
    counts
        The data.
    background
        What every network holds.
    sigma
        Standard deviation of the Gaussian prior on weights.
    """

    def __init__(self, counts: CountSource, background: Background, sigma: float) -> None:
        self.counts = counts
        self.background = background
        self.prior = GaussianPrior(sigma)
        self.precision = 1.0 / sigma**2
        self._units = {
            name: [self._unit(*weights) for weights in self._classes(counts.shares(name))]
            for name in background.targets
            if not counts.exclusive(name)
        }
        self._started: dict[tuple[str, ...], Model] = {}

    def _classes(self, shares: list[tuple[Floats, Floats]]) -> list[tuple[Floats, Floats]]:
        """Return the weights of each class of atoms that has a unit clause, by database."""
        if self.background.reflexive:
            return shares
        true, total = zip(*shares, strict=True)
        return [(np.sum(true, axis=0), np.sum(total, axis=0))]

    def _unit(self, true: Floats, total: Floats) -> _Unit:
        """Fit the unit weight of a class of atoms."""
        databases = np.arange(len(true))
        values, starts = np.zeros(len(true)), np.array([0, len(true)])
        rows = values, true, total, starts, np.zeros(1), self.precision
        _, weights, likelihood = fit_alone(*rows)
        held_out = fit_held_out(*rows, databases, len(true))
        return _Unit(float(weights[0]), float(likelihood), float(held_out))

    def alone(self, clause: Clause) -> Alone | None:
        """Score a clause beside the unit clauses; None where it is too large, or of no target.

        Atoms whose arguments differ and those that repeat one have a unit weight each, if there
        are unit clauses for both. (The prior would then tie the two a little.)
        """
        check_time()
        held = dict.fromkeys(atom.predicate.name for atom in clause.atoms)
        names = tuple(name for name in held if name in self.background.targets)
        if not names:
            return None
        if any(self.counts.exclusive(name) for name in names):
            return self._beside_units(clause, names)
        parts, units, starts = [], [], [0]
        try:
            for name in names:
                classes = self.counts.histograms(clause, name)
                if not self.background.reflexive:
                    classes = [[rows for found in classes for rows in found]]
                for unit, found in zip(self._units[name], classes, strict=True):
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
        number = self.counts.databases
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
                for unit in unit_clauses(
                    self.background.schema, reflexive=self.background.reflexive
                )
                if unit.predicate.name in names
            ]
            units = Model.of(self.counts, self.prior, rules, names)
            self._started[names] = units
        try:
            return Alone.between(units, units.extended(clause))
        except MemoryLimitError:
            return None

    def true_instances(self, clause: Clause) -> float:
        """Return the number of true groundings of a clause, over all databases."""
        return self.counts.true_instances(clause)

    def start(self) -> Model:
        """Return the network of the unit clauses and the given formulas, fitted."""
        targets = self.background.targets
        return Model.of(self.counts, self.prior, self.background.soft, targets)


@dataclass(frozen=True, slots=True)
class _Unit:
    """The unit weight of a class of atoms, and their likelihood with it, fitted and held out."""

    weight: float
    likelihood: float
    held_out: float
