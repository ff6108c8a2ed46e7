"""Scores and networks on a grid: all ground atoms as cells, grouped into rows of equal counts."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.count import groundings
from mlnlearn.counting.query import Engine
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.clauses import Clause, as_clause
from mlnlearn.logic.formulas import Formula, atoms_of
from mlnlearn.structure.search.alone import fit_alone, fit_held_out, histogram
from mlnlearn.structure.search.grid import Grid, GridFlips
from mlnlearn.structure.search.meanfield import Coupling, joint_score
from mlnlearn.structure.search.model import Alone, Background
from mlnlearn.structure.search.newton import (
    Curvature,
    Floats,
    Rows,
    curvature,
    fit,
    likelihood,
)
from mlnlearn.structure.search.patterns import Signed, encode
from mlnlearn.structure.search.rows import Numbers, Term, reweighted, row_sums, split

_CACHE_BYTES = 1 << 28


class GridScorer:
    """Scores clauses on a grid; a `Scorer`.

    Parameters
    ----------
    engine
        The data; no predicate has exclusive places.
    background
        What every network holds.
    sigma
        Standard deviation of the Gaussian prior on weights.
    """

    def __init__(self, engine: Engine, background: Background, sigma: float) -> None:
        self.engine = engine
        self.background = background
        self.precision = 1.0 / sigma**2
        self.grid = Grid(engine, background.hard)
        self.live = {
            predicate.name: np.flatnonzero(self.grid.total[predicate.name].ravel())
            for predicate in background.schema.predicates
        }
        self._cells = {
            name: (self.grid.true[name].reshape(-1)[live], self.grid.total[name].reshape(-1)[live])
            for name, live in self.live.items()
        }
        self._units = {
            name: [self._unit(name, number) for number in range(self.grid.classes(name))]
            for name in self.live
        }
        self._known: OrderedDict[Formula, dict[str, GridFlips]] = OrderedDict()
        self._room = _CACHE_BYTES

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
        parts, units, starts = [], [], [0]
        try:
            for name in dict.fromkeys(literal.predicate for literal in literals):
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

    def true_instances(self, clause: Clause) -> float:
        """Return the number of true groundings of a clause, over all databases."""
        all_groundings = float(sum(groundings(self.engine, clause.formula)))
        return all_groundings - self.grid.violations(_encoded(clause))

    def start(self) -> GridModel:
        """Return the network of the unit clauses and the given formulas, fitted."""
        rules = self.background.soft
        terms = {}
        for predicate in self.background.schema.predicates:
            live = self.live[predicate.name]
            true, total = self.cell_weights(predicate.name)
            sums = np.array([true.sum()]), np.array([total.sum()])
            whole = Rows(np.empty(0, np.int64), np.empty((1, 0)), *sums)
            terms[predicate.name] = Term(whole, np.zeros(len(live), np.int64))
        model = GridModel(self, (), np.empty(0), np.empty(0, bool), terms)
        for rule in rules:
            model = model.joined(rule.formula, rule.weight or 0.0, locked=rule.locked)
        return model.fitted()

    def flips(self, formula: Formula) -> Mapping[str, GridFlips]:
        """Return the flip counts of a formula, by predicate; those asked for last are kept."""
        found = self._known.get(formula)
        if found is None:
            found = self._counted(formula)
            self._known[formula] = found
            self._room -= _bytes(found)
            while self._room < 0:
                _, dropped = self._known.popitem(last=False)
                self._room += _bytes(dropped)
        return found

    def _counted(self, formula: Formula) -> dict[str, GridFlips]:
        predicates = {atom.predicate.name: atom.predicate for atom in atoms_of(formula)}
        clause = as_clause(formula)
        literals = None if clause is None else encode(clause)
        if literals is not None:
            return {name: self.grid.flips(literals, name) for name in predicates}
        return {n: self.grid.formula_flips(formula, p) for n, p in predicates.items()}

    def cell_weights(self, predicate: str) -> tuple[Floats, Floats]:
        """Return the weight of each live cell: where its atom is true (else 0), and in any case."""
        return self._cells[predicate]

    def database_of(self, predicate: str) -> Numbers:
        """Return the number of the database of each live cell."""
        return self.live[predicate] // math.prod(self.grid.true[predicate].shape[1:])

    def on_cells(self, predicate: str, flips: GridFlips) -> Floats:
        """Return the flip count of each live cell."""
        shape = self.grid.true[predicate].shape
        spread = self.grid.spread(flips, len(shape) - 1)
        values: Floats = np.broadcast_to(spread, shape).reshape(-1)[self.live[predicate]]
        return values


@dataclass(frozen=True, slots=True)
class _Unit:
    """The unit weight of a class of atoms, and their likelihood with it, fitted and held out."""

    weight: float
    likelihood: float
    held_out: float


@dataclass(frozen=True, slots=True)
class _Unseen:
    """Weights fitted without each database, and the likelihood of each, by predicate."""

    weights: Floats
    by_predicate: Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class GridModel:
    """A network on a grid; a `Model`."""

    scorer: GridScorer
    formulas: tuple[Formula, ...]
    weights: Floats
    locked: NDArray[np.bool_]
    terms: Mapping[str, Term]

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
        return len(self.scorer.engine.stack)

    @cached_property
    def _unseen(self) -> _Unseen:
        """Weights and likelihoods of databases that are left out; of all, if there is only one."""
        scorer = self.scorer
        found = {name: np.zeros(self._databases) for name in self.terms}
        weights = []
        for number in range(self._databases):
            kept, left = {}, {}
            for name, term in self.terms.items():
                own = scorer.database_of(name) == number
                kept[name] = reweighted(term, scorer.cell_weights(name), ~own)
                left[name] = reweighted(term, scorer.cell_weights(name), own)
            weights.append(
                fit(kept.values(), self.weights, self.locked, scorer.precision, tolerance=1e-6)
                if self._databases > 1
                else self.weights
            )
            for name, rows in left.items():
                found[name][number] = rows.likelihood(weights[-1])
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
        grid, weights = self.scorer.grid, self._unseen.weights
        shape = grid.true[predicate].shape
        coupled = self._coupled(predicate)
        given = np.zeros(shape)
        for number in set(self.terms[predicate].rows.features.tolist()).difference(coupled):
            flips = self.scorer.flips(self.formulas[number])[predicate]
            by_database = weights[:, number].reshape(-1, *(1 for _ in shape[1:]))
            given += by_database * grid.spread(flips, len(shape) - 1)
        couplings = [Coupling(self._literals[n], weights[:, n]) for n in coupled]
        return joint_score(grid, predicate, given, couplings)

    @property
    def _rows(self) -> list[Rows]:
        return [term.rows for term in self.terms.values()]

    @cached_property
    def _curvature(self) -> Curvature:
        return curvature(self._rows, self.weights, self.locked, self.scorer.precision)

    @cached_property
    def _probability(self) -> dict[str, Floats]:
        return {name: term.rows.probability(self.weights) for name, term in self.terms.items()}

    def promise(self, clause: Clause) -> float:
        """Estimate what a clause would add to the likelihood, by the score test."""
        try:
            found = self.scorer.flips(clause.formula)
        except MemoryLimitError:
            return 0.0
        slope, bend = 0.0, self.scorer.precision
        coupling = np.zeros(len(self.weights))
        for name, flips in found.items():
            term = self.terms[name]
            values = self.scorer.on_cells(name, flips)
            probability = self._probability[name]
            true, total = self.scorer.cell_weights(name)
            g, h, sums = row_sums(values, true, total, term.row_of, probability)
            slope += g
            bend += h
            spread = probability * (1.0 - probability) * sums
            coupling[term.rows.features] += term.rows.counts.T @ spread
        bend = max(bend - self._curvature.explained(coupling), self.scorer.precision)
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
        terms = {}
        for name, term in self.terms.items():
            rows = term.rows
            stay = place[rows.features] >= 0
            fewer = Rows(place[rows.features[stay]], rows.counts[:, stay], rows.true, rows.total)
            terms[name] = Term(fewer, term.row_of)
        formulas = tuple(self.formulas[number] for number in kept)
        shorter = GridModel(self.scorer, formulas, self.weights[kept], self.locked[kept], terms)
        return shorter.fitted() if weights is None else shorter.weighted(weights)

    def joined(self, formula: Formula, weight: float, *, locked: bool = False) -> GridModel:
        """Return the network with one more formula of a given weight, the others as they are."""
        terms = dict(self.terms)
        number = len(self.formulas)
        for name, flips in self.scorer.flips(formula).items():
            terms[name] = split(
                terms[name],
                number,
                self.scorer.on_cells(name, flips),
                *self.scorer.cell_weights(name),
            )
        return GridModel(
            self.scorer,
            (*self.formulas, formula),
            np.append(self.weights, weight),
            np.append(self.locked, locked),
            terms,
        )

    def fitted(self) -> GridModel:
        """Return the network with its weights fitted, from those it has."""
        return self.weighted(fit(self._rows, self.weights, self.locked, self.scorer.precision))

    def weighted(self, weights: Floats) -> GridModel:
        """Return the network with other weights."""
        return GridModel(self.scorer, self.formulas, weights, self.locked, self.terms)


def _bytes(flips: Mapping[str, GridFlips]) -> int:
    return sum(found.values.nbytes + 512 for found in flips.values())


def _encoded(clause: Clause) -> tuple[Signed, ...]:
    literals = encode(clause)
    if literals is None:
        raise ValueError(f"a candidate has variables only: {clause}")
    return literals
