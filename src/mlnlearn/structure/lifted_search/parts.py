"""The network under construction: components, each with its rules, weights and likelihoods.

log Z factorises over components that share no predicate. A candidate joins the components that its
predicates are in; only these are compiled, fitted and, where databases are held out, fitted again
without each database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeGuard

import numpy as np
from scipy.linalg import block_diag

from mlnlearn.counting.count import true_groundings
from mlnlearn.counting.engines import open_engine
from mlnlearn.data.database import Database
from mlnlearn.lifted.circuit import Circuit
from mlnlearn.logic.atoms import Atom, Predicate
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.formulas import Formula
from mlnlearn.model.mln import unit_atom
from mlnlearn.structure.lifted_search.ascend import curvature_of
from mlnlearn.structure.lifted_search.candidates import Shape, growing_types
from mlnlearn.structure.lifted_search.problem import (
    CandidateLimits,
    Extended,
    Problem,
    build_problem,
    unit_fit,
)
from mlnlearn.structure.lifted_search.splits import no_splits, splits_of
from mlnlearn.weights.likelihood import domain_sizes
from mlnlearn.weights.objective import Floats

# Domain sizes, as multiples of those of the training data, in which a network should stay sane.
_OTHER_SIZES = (0.5, 2.0)
_LEAST_DENSITY = 1e-9
_EXACT = 1e-7


@dataclass(frozen=True, eq=False)
class Part:
    """A component of the network.

    Attributes
    ----------
    predicates, formulas, weights
        What it is made of.
    curvature
        That of the objective at these weights.
    objective, likelihood
        Log-likelihood of all databases with and without the prior.
    folds
        Weights fitted to each division of the databases, one row each.
    held_out
        Log-likelihood of the databases that each of these fits is tested on.
    tilt
        The largest change of a predicate's expected log-density when one domain, or all of them,
        are half or twice as large as those of the data.
    """

    predicates: frozenset[Predicate]
    formulas: tuple[Formula, ...]
    weights: Floats
    curvature: Floats
    objective: float
    likelihood: float
    folds: Floats
    held_out: Floats
    tilt: float = 0.0


@dataclass(frozen=True, eq=False)
class Candidate:
    """A clause of a shape, with the gain it is estimated to have and its weight then."""

    shape: Shape
    number: int
    gain: float
    weight: float

    @property
    def clause(self) -> Clause:
        """The clause."""
        return self.shape.clauses[self.number]


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate with all weights that it touches refitted.

    Attributes
    ----------
    gain
        What it adds to the objective.
    part
        The components it touches, joined.
    held_out
        What it adds to the log-likelihood of the databases that each fit is tested on, of those
        divisions of the databases that it has to pass; empty before validation.
    """

    candidate: Candidate
    extended: Extended
    gain: float
    part: Part
    held_out: Floats


class Parts:
    """The components there are, and what it takes to extend them."""

    def __init__(
        self,
        databases: Sequence[Database],
        sigma: float,
        limits: CandidateLimits,
        *,
        held_out: bool,
        growth: float | None = None,
    ) -> None:
        self.engine = open_engine(databases)
        self.schema = databases[0].schema.without_functional()
        self.sizes = domain_sizes(self.engine.stack)
        self.sigma = sigma
        self.limits = limits
        self.all = np.ones(len(databases))
        self.splits = splits_of(self.sizes, growth) if held_out else no_splits(len(databases))
        self._counts: dict[Formula, Floats] = {}
        self.of = {predicate: self._unit(predicate) for predicate in self.schema.predicates}

    def distinct(self) -> list[Part]:
        """Return every component once."""
        return list(dict.fromkeys(self.of.values()))

    def adopt(self, part: Part) -> None:
        """Put a component in the place of those it was made from."""
        for predicate in part.predicates:
            self.of[predicate] = part

    def touched(self, shape: Shape) -> Part:
        """Join the components that a shape's predicates are in."""
        parts = list(dict.fromkeys(self.of[atom.predicate] for atom in shape.atoms))
        if len(parts) == 1:
            return parts[0]
        return Part(
            frozenset().union(*(part.predicates for part in parts)),
            tuple(formula for part in parts for formula in part.formulas),
            np.concatenate([part.weights for part in parts]),
            block_diag(*(part.curvature for part in parts)),
            sum(part.objective for part in parts),
            sum(part.likelihood for part in parts),
            np.concatenate([part.folds for part in parts], axis=1),
            np.sum([part.held_out for part in parts], axis=0),
            max(part.tilt for part in parts),
        )

    def problem(self, shape: Shape) -> Problem:
        """Compile a shape's clauses with the components they touch."""
        part = self.touched(shape)
        return self._build(part.predicates, (*part.formulas, *(c.formula for c in shape.clauses)))

    def refit(self, candidate: Candidate, problem: Problem) -> Trial:
        """Fit the weights of a clause and of all rules it touches."""
        before = self.touched(candidate.shape)
        formulas = (*before.formulas, candidate.clause.formula)
        extended = Extended(problem, len(before.weights) + candidate.number, self.sigma)
        start = np.append(before.weights, candidate.weight)
        curvature = extended.bordered(start, self.all, before.curvature)
        point, objective = extended.fit(start, self.all, curvature)
        part = replace(
            before,
            formulas=formulas,
            weights=point,
            curvature=curvature,
            objective=objective,
        )
        return Trial(candidate, extended, objective - before.objective, part, np.zeros(0))

    def validated(self, trial: Trial) -> Trial:
        """Fit the weights without each database in turn, and score that database.

        A clause that grows with some types has to pass the divisions by their sizes, too.
        """
        before = self.touched(trial.candidate.shape)
        grown = self.splits.rows_of(growing_types(trial.candidate.clause))
        rows = [*range(self.splits.left_out), *grown]
        part = self._divided(trial, before, rows)
        gains = part.held_out - before.held_out
        return replace(trial, part=part, held_out=gains[rows])

    def _divided(self, trial: Trial, before: Part, rows: Sequence[int]) -> Part:
        """Fit a trial's weights to some divisions of the databases, and score each."""
        fitted, tested = self.splits.fitted, self.splits.tested
        folds = np.full((len(self.splits), len(trial.part.weights)), np.nan)
        held_out = np.full(len(self.splits), np.nan)
        if len(trial.part.held_out) == len(held_out) and trial.part.folds.shape == folds.shape:
            folds, held_out = trial.part.folds.copy(), trial.part.held_out.copy()
        for row in rows:
            start = np.append(before.folds[row], trial.part.weights[-1])
            folds[row], _ = trial.extended.fit(start, fitted[row], trial.part.curvature)
            scores = trial.extended.problem.each(trial.extended.weights(folds[row]))
            held_out[row] = tested[row] @ scores
        return replace(trial.part, folds=folds, held_out=held_out)

    def finished(self, trial: Trial) -> Part:
        """Return a trial's component, fitted to the end, with the curvature there."""
        before = self.touched(trial.candidate.shape)
        missing = np.flatnonzero(np.isnan(trial.part.held_out)) if len(self.splits) else ()
        part = self._divided(trial, before, list(missing))
        extended = trial.extended
        point, objective = extended.fit(part.weights, self.all, part.curvature, tolerance=_EXACT)
        return replace(
            part,
            weights=point,
            objective=objective,
            likelihood=float(extended.problem.each(extended.weights(point)).sum()),
            curvature=extended.curvature(point, self.all),
        )

    def tilted(self, trial: Trial) -> Trial:
        """Find how much the expected density of a predicate changes with domain sizes.

        Some clauses make a network that fits domains of one size tip over in others, where nearly
        all or no atoms of a predicate are expected to be true.
        """
        formulas = enumerate(trial.part.formulas)
        units = {number: f.predicate for number, f in formulas if _is_unit(f)}
        problem = trial.extended.problem
        weights = trial.extended.weights(trial.part.weights)
        known = _densities(problem.circuit, weights, units, self.sizes)
        kinds = dict.fromkeys(kind for predicate in units.values() for kind in predicate.types)
        tilt = 0.0
        for changed in {tuple(kinds), *((kind,) for kind in kinds)}:
            for factor in _OTHER_SIZES:
                sizes = [_scaled(own, changed, factor) for own in self.sizes]
                found = _densities(problem.model.bind(sizes), weights, units, sizes)
                tilt = max(tilt, float(np.abs(np.log(found / known)).max()))
        return replace(trial, part=replace(trial.part, tilt=tilt))

    def _build(self, predicates: Iterable[Predicate], formulas: Sequence[Formula]) -> Problem:
        counts = np.array([self._count(formula) for formula in formulas]).T
        chosen = [p for p in self.schema.predicates if p in set(predicates)]
        return build_problem(chosen, formulas, counts, self.sizes, self.limits)

    def _count(self, formula: Formula) -> Floats:
        if formula not in self._counts:
            self._counts[formula] = np.array(true_groundings(self.engine, formula), np.float64)
        return self._counts[formula]

    def _unit(self, predicate: Predicate) -> Part:
        """Return the component of a predicate on its own: its unit clause."""
        formula = unit_atom(predicate)
        problem = self._build([predicate], [formula])
        weights, objective = unit_fit(problem, self.all, self.sigma)
        folds = [unit_fit(problem, seeds, self.sigma)[0] for seeds in self.splits.fitted]
        tested = self.splits.tested
        return Part(
            frozenset((predicate,)),
            (formula,),
            weights,
            curvature_of(lambda point: problem.value(point, self.all), weights),
            objective,
            float(problem.each(weights).sum()),
            np.array(folds).reshape(len(folds), 1),
            np.array([tested[row] @ problem.each(point) for row, point in enumerate(folds)]),
        )


def _is_unit(formula: Formula) -> TypeGuard[Atom]:
    """Tell whether a formula is an atom with distinct variables, as every predicate has one."""
    return isinstance(formula, Atom) and len(set(formula.terms)) == len(formula.terms)


def _scaled(sizes: Mapping[str, int], kinds: Collection[str], factor: float) -> dict[str, int]:
    """Multiply the sizes of some types, at least one object remaining."""
    return {k: max(1, round(n * factor)) if k in kinds else n for k, n in sizes.items()}


def _densities(
    circuit: Circuit,
    weights: Floats,
    units: dict[int, Predicate],
    sizes: Sequence[dict[str, int]],
) -> Floats:
    """Return the expected share of true atoms of each predicate, given where its unit clause is."""
    _, expected = circuit.evaluate(weights)
    atoms = [sum(prod(own[k] for k in p.types) for own in sizes) for p in units.values()]
    result: Floats = np.maximum(expected[list(units)] / np.maximum(atoms, 1), _LEAST_DENSITY)
    return result
