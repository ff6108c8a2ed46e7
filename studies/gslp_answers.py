"""How the GSLP study asks for all atoms of a predicate: by inference, or by mean field."""

from __future__ import annotations

import math

import numpy as np

from mlnlearn.counting.coincidences import Signed, encode
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Columns, Database
from mlnlearn.evaluate.ranking import Floats
from mlnlearn.logic.clauses import as_clause
from mlnlearn.model.mln import MLN
from mlnlearn.structure.search.meanfield import Coupling, together
from mlnlearn.structure.search.weighted_grid import WeightedGrid


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
        self.clauses: list[tuple[tuple[Signed, ...], float]] = []
        for rule in mln.rules:
            clause = as_clause(rule.formula)
            literals = None if clause is None else encode(clause)
            if literals is None or rule.weight is None:
                raise ValueError(f"not a soft clause of variables alone: {rule}")
            if any(literal.atom.predicate == self.predicate for literal in literals):
                self.clauses.append((literals, rule.weight))

    @property
    def ground_clauses(self) -> int:
        """How many ground clauses inference needs: none where no two atoms share one."""
        if not any(self._is_coupled(literals) for literals, _ in self.clauses):
            return 0
        return round(sum(self._open(literals) for literals, _ in self.clauses))

    def _is_coupled(self, literals: tuple[Signed, ...]) -> bool:
        return sum(literal.atom.predicate == self.predicate for literal in literals) > 1

    def _open(self, literals: tuple[Signed, ...]) -> float:
        """Return the number of groundings that the evidence neither makes true nor false."""
        known = tuple(lit for lit in literals if lit.atom.predicate != self.predicate)
        kinds = {
            variable: kind
            for atom, _ in literals
            for variable, kind in zip(atom.terms, atom.predicate.types, strict=True)
        }
        bound = {variable for literal in known for variable in literal.atom.terms}
        database = self.grid.stack.databases[0]
        free = math.prod(database.size(kind) for v, kind in kinds.items() if v not in bound)
        return free * (self.grid.violations(known) if known else 1.0)

    def by_mean_field(self, columns: Columns) -> Floats:
        """Return the probability of atoms, by mean field."""
        shape = self.grid.true[self.predicate.name].shape
        given, couplings = np.zeros(shape), []
        for literals, weight in self.clauses:
            if self._is_coupled(literals):
                couplings.append(Coupling(literals, np.array([weight])))
            else:
                flips = self.grid.flips(literals, self.predicate)
                given += weight * self.grid.spread(flips, len(shape) - 1)
        belief = together(self.grid, self.predicate.name, given, couplings, given)
        found: Floats = belief[(0, *columns)]
        return found
