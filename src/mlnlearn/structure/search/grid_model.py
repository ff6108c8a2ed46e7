"""Networks on a grid: all ground atoms as cells, grouped into rows of equal counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.clauses import Clause, as_clause
from mlnlearn.logic.formulas import Formula, Rule
from mlnlearn.structure.search.blocks import BlockRows, BlockTerm
from mlnlearn.structure.search.grid_counts import GridCounts
from mlnlearn.structure.search.meanfield import Coupling, joint_score
from mlnlearn.structure.search.newton import Curvature, Floats, curvature, fit, likelihood
from mlnlearn.structure.search.patterns import Signed, encode
from mlnlearn.structure.search.rows import Rows, Term, Test


@dataclass(frozen=True, slots=True)
class _Unseen:
    """Weights fitted without each database, and the likelihood of each, by predicate."""

    weights: Floats
    by_predicate: Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class GridModel:
    """A network on a grid; a `Model`.

    Attributes
    ----------
    counts
        The data.
    precision
        Of the Gaussian prior on every weight: one over its variance.
    formulas, weights, locked
        The soft formulas, their weights, and which of these must not change.
    terms
        Each predicate's share of the likelihood.
    """

    counts: GridCounts
    precision: float
    formulas: tuple[Formula, ...]
    weights: Floats
    locked: NDArray[np.bool_]
    terms: Mapping[str, Term | BlockTerm]

    @classmethod
    def of(
        cls, counts: GridCounts, precision: float, rules: Sequence[Rule], names: Iterable[str]
    ) -> GridModel:
        """Return the network of some rules over some predicates, fitted."""
        terms = {name: counts.term(name) for name in names}
        model = cls(counts, precision, (), np.empty(0), np.empty(0, bool), terms)
        for rule in rules:
            model = model.joined(rule.formula, rule.weight or 0.0, locked=rule.locked)
        return model.fitted()

    @cached_property
    def likelihood(self) -> float:
        """The weighted pseudo-log-likelihood, without the prior."""
        return likelihood(self._rows, self.weights)

    @cached_property
    def held_out(self) -> Floats | None:
        """The likelihood of each database under weights fitted to the others."""
        if self._databases == 1:
            return None
        total: Floats = np.sum(list(self._unseen.by_predicate.values()), axis=0)
        return total

    @cached_property
    def joint(self) -> float:
        """How well all atoms of a predicate are predicted together, summed over predicates."""
        return sum(
            self._together(name)
            if self._coupled(name)
            else float(self._unseen.by_predicate[name].sum())
            for name in self.terms
        )

    @property
    def _databases(self) -> int:
        return self.counts.databases

    @cached_property
    def _unseen(self) -> _Unseen:
        """Weights and likelihoods of databases that are left out; of all, if there is only one."""
        found = {name: np.zeros(self._databases) for name in self.terms}
        weights = []
        for number in range(self._databases):
            own = {name: term.cells.database == number for name, term in self.terms.items()}
            kept = [term.seen(~own[name]) for name, term in self.terms.items()]
            weights.append(
                fit(kept, self.weights, self.locked, self.precision, tolerance=1e-6)
                if self._databases > 1
                else self.weights
            )
            for name, term in self.terms.items():
                found[name][number] = term.seen(own[name]).likelihood(weights[-1])
        return _Unseen(np.array(weights), found)

    def _coupled(self, predicate: str) -> list[int]:
        """Return the numbers of the clauses in which a predicate occurs more than once."""
        return [
            number
            for number, literals in enumerate(self._literals)
            if sum(literal.predicate == predicate for literal in literals) > 1
        ]

    @cached_property
    def _literals(self) -> list[tuple[Signed, ...]]:
        """The clauses among the formulas; what is none counts as it does in the data."""
        clauses = map(as_clause, self.formulas)
        return [() if clause is None else encode(clause) or () for clause in clauses]

    def _together(self, predicate: str) -> float:
        """Return the log-score of a predicate's atoms when none of them is known."""
        grid, weights = self.counts.grid, self._unseen.weights
        shape = grid.true[predicate].shape
        coupled = self._coupled(predicate)
        given = np.zeros(shape)
        for number in set(self.terms[predicate].rows.features.tolist()).difference(coupled):
            flips = self.counts.flips(self.formulas[number])[predicate]
            by_database = weights[:, number].reshape(-1, *(1 for _ in shape[1:]))
            given += by_database * grid.spread(flips, len(shape) - 1)
        couplings = [Coupling(self._literals[n], weights[:, n]) for n in coupled]
        return joint_score(grid, predicate, given, couplings)

    @property
    def _rows(self) -> list[Rows | BlockRows]:
        return [term.rows for term in self.terms.values()]

    @cached_property
    def _curvature(self) -> Curvature:
        return curvature(self._rows, self.weights, self.locked, self.precision)

    @cached_property
    def _tests(self) -> dict[str, Test]:
        return {name: term.test(self.weights) for name, term in self.terms.items()}

    def promise(self, clause: Clause) -> float:
        """Estimate what a clause would add to the likelihood, by the score test."""
        try:
            found = self.counts.flips(clause.formula)
        except MemoryLimitError:
            return 0.0
        slope, bend = 0.0, self.precision
        coupling = np.zeros(len(self.weights))
        for name, flips in found.items():
            g, h, shared = self._tests[name](self.counts.on_cells(name, flips))
            slope += g
            bend += h
            coupling[self.terms[name].rows.features] += shared
        bend = max(bend - self._curvature.explained(coupling), self.precision)
        return 0.5 * slope * slope / bend

    def extended(self, clause: Clause, weights: Floats | None = None) -> GridModel:
        """Return the network with one more clause: fitted, or with weights that are known."""
        longer = self.joined(clause.formula, 0.0)
        return longer.fitted() if weights is None else longer.weighted(weights)

    def without(self, numbers: Sequence[int], weights: Floats | None = None) -> GridModel:
        """Return the network without some formulas: fitted, or with weights that are known."""
        kept = np.setdiff1d(np.arange(len(self.formulas)), numbers)
        place = np.full(len(self.formulas), -1)
        place[kept] = np.arange(len(kept))
        terms = {name: term.only(place) for name, term in self.terms.items()}
        formulas = tuple(self.formulas[number] for number in kept)
        shorter = replace(
            self,
            formulas=formulas,
            weights=self.weights[kept],
            locked=self.locked[kept],
            terms=terms,
        )
        return shorter.fitted() if weights is None else shorter.weighted(weights)

    def joined(self, formula: Formula, weight: float, *, locked: bool = False) -> GridModel:
        """Return the network with one more formula of a given weight, the others as they are."""
        terms = dict(self.terms)
        number = len(self.formulas)
        for name, flips in self.counts.flips(formula).items():
            terms[name] = terms[name].split(number, self.counts.on_cells(name, flips))
        return replace(
            self,
            formulas=(*self.formulas, formula),
            weights=np.append(self.weights, weight),
            locked=np.append(self.locked, locked),
            terms=terms,
        )

    def fitted(self) -> GridModel:
        """Return the network with its weights fitted, from those it has."""
        return self.weighted(fit(self._rows, self.weights, self.locked, self.precision))

    def weighted(self, weights: Floats) -> GridModel:
        """Return the network with other weights."""
        return replace(self, weights=weights)
