"""How studies ask for all atoms of a predicate: by inference, or by mean field."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Columns, Database
from mlnlearn.data.examples import Examples
from mlnlearn.evaluate.ask import Conditionals, Marginals
from mlnlearn.evaluate.predictions import Predictions, predict_examples
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.logic.clauses import Clause, as_clause
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.structure.search.meanfield import Coupling, together
from mlnlearn.structure.search.weighted_grid import WeightedGrid

# answers that would take more are by mean field
MOST_GROUND_CLAUSES = 3_000_000


class AllUnknown:
    """A network's clauses on a database in which no atom of one predicate is known.

    Parameters
    ----------
    mln
        A network of soft clauses of variables alone.
    database
        The evidence; what it says of the predicate is not looked at.
    predicate
        Name of the unknown predicate.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... is(person,gender)
    ... same(gender,gender)
    ... 3.0 is(x,v)
    ... 3.0 !is(x,v) v !is(x,w) v same(v,w)
    ... ''')
    >>> facts = {"is": [("Anna", "F")], "same": [("F", "F"), ("M", "M")]}
    >>> asked = AllUnknown(mln, Database.from_facts(mln.schema, facts), "is")
    >>> asked.ground_clauses  # Anna is F or not, is M or not, is not both
    4
    >>> asked.by_mean_field(np.array([[0, 0], [0, 1]], np.int32)).round(1).tolist()
    [0.5, 0.5]
    """

    def __init__(self, mln: MLN, database: Database, predicate: str) -> None:
        self.grid = WeightedGrid(MemoryEngine([database]))
        self.predicate = database.schema[predicate]
        self.clauses: list[tuple[Clause, float]] = []
        for rule in mln.rules:
            clause = as_clause(rule.formula)
            if clause is None or not clause.is_plain or rule.weight is None:
                raise ValueError(f"not a soft clause of variables alone: {rule}")
            if any(atom.predicate == self.predicate for atom in clause.atoms):
                self.clauses.append((clause, rule.weight))

    @property
    def ground_clauses(self) -> int:
        """How many ground clauses inference needs: none where no two atoms share one."""
        if not any(self._is_coupled(clause) for clause, _ in self.clauses):
            return 0
        return round(sum(self._open(clause) for clause, _ in self.clauses))

    def _is_coupled(self, clause: Clause) -> bool:
        return sum(atom.predicate == self.predicate for atom in clause.atoms) > 1

    def _open(self, clause: Clause) -> float:
        """Return the number of groundings that the evidence neither makes true nor false."""
        pairs = list(zip(clause, clause.atoms, strict=True))
        known = Clause(tuple(lit for lit, atom in pairs if atom.predicate != self.predicate))
        kinds = {
            variable: kind
            for atom in clause.atoms
            for variable, kind in zip(atom.terms, atom.predicate.types, strict=True)
        }
        bound = {variable for atom in known.atoms for variable in atom.terms}
        database = self.grid.stack.databases[0]
        free = math.prod(database.size(kind) for v, kind in kinds.items() if v not in bound)
        return free * (self.grid.violations(self.grid.coded(known)) if len(known) else 1.0)

    def by_mean_field(self, columns: Columns) -> Floats:
        """Return the probability of atoms, by mean field."""
        shape = self.grid.true[self.predicate.name].shape
        given, couplings = np.zeros(shape), []
        for clause, weight in self.clauses:
            if self._is_coupled(clause):
                couplings.append(Coupling(clause, np.array([weight])))
            else:
                flips = self.grid.flips(self.grid.coded(clause), self.predicate)
                given += weight * self.grid.spread(flips, len(shape) - 1)
        belief = together(self.grid, self.predicate.name, given, couplings, given)
        found: Floats = belief[(0, *columns)]
        return found


def within(sampling: Sampling, ground_clauses: int, visits: float) -> Sampling | None:
    """Return fewer samples, so that ground clauses are not looked at more often than so; else None.

    Examples
    --------
    >>> usual, least = Sampling(samples=200, burn_in=100, chains=10), (50, 25, 4)
    >>> within(usual, 1_000, 1e8) == usual
    True
    >>> fewer = within(usual, 200_000, 1e8)
    >>> (fewer.samples, fewer.burn_in, fewer.chains) == least
    True
    >>> within(usual, 1_000_000, 1e8) is None
    True
    """
    for samples, burn_in, chains in (
        (sampling.samples, sampling.burn_in, sampling.chains),
        (100, 50, 6),
        _LEAST,
    ):
        if (samples + burn_in) * chains * ground_clauses <= visits:
            return replace(sampling, samples=samples, burn_in=burn_in, chains=chains)
    return None


# samples, burn-in and chains below which mean field is preferred
_LEAST = (50, 25, 4)


def predict_together(
    model: MLN, test: Database, examples: Examples, sampling: Sampling, visits: float | None = None
) -> tuple[Predictions, bool]:
    """Predict atoms of a predicate of which none is known; tell whether that is by mean field.

    With `visits`, samples are fewer where ground clauses would be looked at more often than that,
    and mean field takes over where they would be too few; without, it does from
    `MOST_GROUND_CLAUSES` on.
    """
    asked = AllUnknown(model, test, examples.predicate.name)
    number = asked.ground_clauses
    fitting = sampling if number <= MOST_GROUND_CLAUSES else None
    if visits is not None:
        fitting = within(sampling, number, visits)
    if fitting is not None:
        return predict_examples(model, [test], examples, Marginals(sampling=fitting)), False
    found = predict_examples(model, [test], examples, Conditionals())
    return replace(found, probability=asked.by_mean_field(examples.columns)), True
