"""Networks over rows: the ground atoms of each predicate, grouped by their flip counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.clauses import Clause, as_clause
from mlnlearn.logic.formulas import Formula, Rule
from mlnlearn.structure.search.meanfield import Coupling
from mlnlearn.weights.objective import Floats, GaussianPrior
from mlnlearn.weights.optimize import Curvature, maximise
from mlnlearn.weights.rows import Numbers, RowLikelihood, Rows

ScoreTest = Callable[[Formula], Iterator[tuple[str, float, float, Floats]]]
"""From a new formula, by predicate: slope and curvature in its weight, and coupling to others."""
Histogram = tuple[Floats, Floats, Floats]
"""Distinct flip counts, and the weights of the true and of all atoms with each."""


class PredicateTerm(Protocol):
    """A predicate's share of the likelihood."""

    @property
    def whole(self) -> Rows:
        """Its atoms, or blocks of atoms, grouped by their flip counts; weights by database."""
        ...

    def only(self, place: Numbers) -> Any:
        """Return the term with its features renumbered, those without a new number dropped."""
        ...


class CountSource(Protocol):
    """What networks ask of the data: arrays of all atoms answer it, and the sparse engine.

    Each has terms of its own kind, and takes no others.
    """

    @property
    def databases(self) -> int:
        """The number of databases."""
        ...

    def exclusive(self, predicate: str) -> tuple[int, ...]:
        """Return the places of which exactly one value holds for each choice of the others."""
        ...

    def term(self, predicate: str) -> PredicateTerm:
        """Return a predicate's term of the likelihood, with no features yet."""
        ...

    def joined(self, terms: Mapping[str, Any], number: int, formula: Formula) -> Mapping[str, Any]:
        """Return the terms that change with one more formula, and how they are then."""
        ...

    def score_test(self, terms: Mapping[str, Any], weights: Floats) -> ScoreTest:
        """Return the score test for new formulas at some weights."""
        ...

    def shares(self, predicate: str) -> list[tuple[Floats, Floats]]:
        """Return the weights of true and of all atoms by database, for each class of atoms.

        Atoms of a class agree in which of their arguments are equal.
        """
        ...

    def histograms(self, clause: Clause, predicate: str) -> list[list[Histogram]]:
        """Return the flip counts of a clause, for each class of atoms and database."""
        ...

    def true_instances(self, clause: Clause) -> float:
        """Return the number of true groundings of a clause, over all databases."""
        ...

    def together(
        self,
        predicate: str,
        given: Sequence[tuple[Formula, Floats]],
        couplings: Sequence[Coupling],
    ) -> float:
        """Return the log-score of a predicate's atoms when none of them is known.

        Formulas have a weight for each database; couplings are those that hold the predicate twice.
        """
        ...


@dataclass(frozen=True, slots=True)
class Alone:
    """A clause in a network with the unit clauses only.

    Attributes
    ----------
    weight
        Its weight there.
    gain
        How much the weighted pseudo-log-likelihood is above that of the unit clauses.
    held_out
        The same over databases that are left out of the fit in turn; None with a single database.
    """

    weight: float
    gain: float
    held_out: float | None

    @classmethod
    def between(cls, units: Model, longer: Model) -> Alone:
        """Compare the network of the unit clauses with the one that has a clause more."""
        gain, held_out = longer.likelihood - units.likelihood, None
        if units.held_out is not None and longer.held_out is not None:
            held_out = float((longer.held_out - units.held_out).sum())
        return cls(float(longer.weights[-1]), gain, held_out)


@dataclass(frozen=True, slots=True)
class _Unseen:
    """Weights fitted without each database, and the likelihood of each, by predicate."""

    weights: Floats
    by_predicate: Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class Model:
    """A network under construction: formulas with their weights, and the rows of all predicates.

    Attributes
    ----------
    counts
        The data.
    prior
        Of the weights.
    formulas, weights, locked
        The soft formulas, their weights, and which of these must not change.
    terms
        Each predicate's share of the likelihood.
    """

    counts: CountSource
    prior: GaussianPrior
    formulas: tuple[Formula, ...]
    weights: Floats
    locked: NDArray[np.bool_]
    terms: Mapping[str, PredicateTerm]

    @classmethod
    def of(
        cls, counts: CountSource, prior: GaussianPrior, rules: Sequence[Rule], names: Iterable[str]
    ) -> Model:
        """Return the network of some rules over some predicates, fitted."""
        terms = {name: counts.term(name) for name in names}
        model = cls(counts, prior, (), np.empty(0), np.empty(0, bool), terms)
        for rule in rules:
            model = model.joined(rule.formula, rule.weight or 0.0, locked=rule.locked)
        return model.fitted()

    @cached_property
    def likelihood(self) -> float:
        """The weighted pseudo-log-likelihood, without the prior."""
        return self._objective.value(self.weights)

    @cached_property
    def held_out(self) -> Floats | None:
        """The likelihood of each database under weights fitted to the others.

        None with a single database. A clause with a predicate twice may count the *other* atoms of
        a predicate so well that an atom's own truth shows in what is missing; the likelihood of
        the data it was fitted to then rises without bound, that of other data falls.
        """
        if self._databases == 1:
            return None
        total: Floats = np.sum(list(self._unseen.by_predicate.values()), axis=0)
        return total

    @cached_property
    def joint(self) -> float:
        """How well all atoms of a predicate are predicted together, from the other predicates.

        The sum over predicates of their atoms' mean log-probability, with the weights of
        `held_out`. Pseudo-likelihood may rise by clauses that are of no use, or of harm, where no
        atom of the predicate is known.
        """
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
            own = np.arange(self._databases) == number
            weights.append(
                self._fit(RowLikelihood(self._rows(~own)), 1e-6)
                if self._databases > 1
                else self.weights
            )
            for name, rows in zip(self.terms, self._rows(own), strict=True):
                found[name][number] = rows.value(weights[-1])
        return _Unseen(np.array(weights), found)

    def _coupled(self, predicate: str) -> list[int]:
        """Return the numbers of the clauses in which a predicate occurs more than once."""
        return [
            number
            for number, clause in enumerate(self._clauses)
            if [atom.predicate.name for atom in clause.atoms].count(predicate) > 1
        ]

    @cached_property
    def _clauses(self) -> list[Clause]:
        """The plain clauses among the formulas; what is none counts as it does in the data."""
        clauses = map(as_clause, self.formulas)
        return [found if found is not None and found.is_plain else Clause(()) for found in clauses]

    def _together(self, predicate: str) -> float:
        """Return the log-score of a predicate's atoms when none of them is known."""
        weights, coupled = self._unseen.weights, self._coupled(predicate)
        single = set(self.terms[predicate].whole.features.tolist()).difference(coupled)
        return self.counts.together(
            predicate,
            [(self.formulas[n], weights[:, n]) for n in sorted(single)],
            [Coupling(self._clauses[n], weights[:, n]) for n in coupled],
        )

    def _rows(self, databases: NDArray[np.bool_]) -> list[Rows]:
        """Return each predicate's rows with the weight of the atoms of some databases."""
        return [term.whole.weighed(databases) for term in self.terms.values()]

    @cached_property
    def _objective(self) -> RowLikelihood:
        return RowLikelihood(self._rows(np.ones(self._databases, bool)))

    def _fit(self, objective: RowLikelihood, tolerance: float) -> Floats:
        found = maximise(
            objective, self.weights, prior=self.prior, locked=self.locked, tolerance=tolerance
        )
        return found.weights

    @cached_property
    def _curvature(self) -> Curvature:
        return Curvature.at(self._objective, self.weights, self.prior, self.locked)

    @cached_property
    def _test(self) -> ScoreTest:
        return self.counts.score_test(self.terms, self.weights)

    def promise(self, clause: Clause) -> float:
        """Estimate what a clause would add to the likelihood, by the score test.

        With ``g`` the slope of the likelihood in the new weight, at zero, and ``h`` its curvature
        once the other weights have adapted, the estimate is ``g² / 2h``.
        """
        try:
            found = list(self._test(clause.formula))
        except MemoryLimitError:
            return 0.0
        slope, precision = 0.0, 1.0 / self.prior.sigma**2
        bend = precision
        coupling = np.zeros(len(self.weights))
        for name, g, h, shared in found:
            slope += g
            bend += h
            coupling[self.terms[name].whole.features] += shared
        bend = max(bend - self._curvature.explained(coupling), precision)
        return 0.5 * slope * slope / bend

    def extended(self, clause: Clause, weights: Floats | None = None) -> Model:
        """Return the network with one more clause: fitted, or with weights that are known."""
        longer = self.joined(clause.formula, 0.0)
        return longer.fitted() if weights is None else longer.weighted(weights)

    def without(self, numbers: Sequence[int], weights: Floats | None = None) -> Model:
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

    def joined(self, formula: Formula, weight: float, *, locked: bool = False) -> Model:
        """Return the network with one more formula of a given weight, the others as they are."""
        joined = self.counts.joined(self.terms, len(self.formulas), formula)
        return replace(
            self,
            formulas=(*self.formulas, formula),
            weights=np.append(self.weights, weight),
            locked=np.append(self.locked, locked),
            terms={**self.terms, **joined},
        )

    def fitted(self) -> Model:
        """Return the network with its weights fitted, from those it has."""
        return self.weighted(self._fit(self._objective, 1e-10))

    def weighted(self, weights: Floats) -> Model:
        """Return the network with other weights."""
        if weights.shape != self.weights.shape:
            raise InputError(f"{len(self.weights)} formulas have {len(weights)} weights")
        return replace(self, weights=weights)
