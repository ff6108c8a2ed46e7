"""Flip counts of formulas from the sparse engine: for domains too large for a grid."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.cache import Shelf
from mlnlearn.counting.count import true_groundings
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.flip_tables import Flips
from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.grid import MOST_CELLS, Grid
from mlnlearn.counting.query import Engine
from mlnlearn.counting.stack import Stack
from mlnlearn.errors import DataWarning, MemoryLimitError
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.formulas import Formula, atoms_of
from mlnlearn.resources import LEAST_MEMORY, counting_with, in_use
from mlnlearn.structure.search.alone import histogram
from mlnlearn.structure.search.background import Background, unit_clauses
from mlnlearn.structure.search.meanfield import Coupling, joint_score
from mlnlearn.structure.search.network import Histogram, ScoreTest
from mlnlearn.structure.search.weighted_grid import WeightedGrid
from mlnlearn.weights.data import refuse_violations
from mlnlearn.weights.objective import Floats
from mlnlearn.weights.pseudolikelihood import grouped, one_conditional
from mlnlearn.weights.rows import Numbers, Rows

# One clause of thousands that are tried may take so little of the memory that counting may take.
_CLAUSES = 16


@dataclass(frozen=True, slots=True)
class EngineTerm:
    """A predicate's share of the likelihood, grouped anew whenever a formula joins.

    Attributes
    ----------
    formulas
        Those that the predicate is in, as the features of the rows.
    whole
        Its atoms, or blocks of atoms, grouped by their flip counts, with weights by database.
    """

    formulas: tuple[Formula, ...]
    whole: Rows

    def only(self, place: Numbers) -> EngineTerm:
        """Return the term with its features renumbered, those without a new number dropped."""
        numbered = zip(self.formulas, self.whole.features, strict=True)
        kept = tuple(formula for formula, number in numbered if place[number] >= 0)
        return EngineTerm(kept, self.whole.only(place))


class EngineCounts:
    """What networks ask of the data, from the sparse engine; `Counts`.

    Parameters
    ----------
    engine
        The data.
    background
        What every network holds.
    """

    def __init__(self, engine: Engine, background: Background) -> None:
        refuse_violations(engine, background.hard)
        self.engine = engine
        self.hard = background.hard
        self._known: Shelf[Flips] = in_use().cache.shelf(self)
        self._memory = _of_one_clause()
        self._refused: dict[Formula, str] = {}
        self._patterns: dict[str, NDArray[np.int64]] = {}

    @classmethod
    def of(cls, stack: Stack, background: Background) -> EngineCounts:
        """Return the counts of an engine of which one clause takes a small part of the memory."""
        return cls(open_engine(stack, _of_one_clause()), background)

    @property
    def databases(self) -> int:
        """The number of databases."""
        return len(self.engine.stack)

    def exclusive(self, predicate: str) -> tuple[int, ...]:
        """Return the places of which exactly one value holds for each choice of the others."""
        return tuple(self.engine.stack.schema.functional.get(predicate, ()))

    def term(self, predicate: str) -> EngineTerm:
        """Return a predicate's term of the likelihood, with no features yet."""
        return self._term(predicate, (), np.empty(0, np.int64))

    def joined(
        self, terms: Mapping[str, EngineTerm], number: int, formula: Formula
    ) -> dict[str, EngineTerm]:
        """Return the terms that change with one more formula, and how they are then."""
        found = {}
        for name in dict.fromkeys(atom.predicate.name for atom in atoms_of(formula)):
            if name not in terms:
                continue
            features = np.append(terms[name].whole.features, number)
            found[name] = self._term(name, (*terms[name].formulas, formula), features)
        return found

    def score_test(self, terms: Mapping[str, EngineTerm], weights: Floats) -> ScoreTest:
        """Return the score test for new formulas at some weights."""

        def tested(formula: Formula) -> Iterator[tuple[str, float, float, Floats]]:
            for name, term in self.joined(terms, len(weights), formula).items():
                rows = term.whole.weighed(np.ones(self.databases))
                gradient, hessian = rows.derivatives(np.append(weights, 0.0))
                yield name, float(gradient[-1]), float(hessian[-1, -1]), hessian[:-1, -1]

        return tested

    def shares(self, predicate: str) -> list[tuple[Floats, Floats]]:
        """Return the weights of true and of all atoms by database, for each class of atoms."""
        pattern, _, true, total = self._classes(predicate, ())
        self._patterns[predicate] = np.unique(pattern)
        return [
            (true[pattern == number].sum(axis=0), total[pattern == number].sum(axis=0))
            for number in self._patterns[predicate]
        ]

    def histograms(self, clause: Clause, predicate: str) -> list[list[Histogram]]:
        """Return the flip counts of a clause, for each class of atoms and database."""
        pattern, values, true, total = self._classes(predicate, (clause.formula,))
        classes = [pattern == number for number in self._patterns[predicate]]
        return [
            [
                histogram(values[own, 0], true[own, number], total[own, number])
                for number in range(self.databases)
            ]
            for own in classes
        ]

    def true_instances(self, clause: Clause) -> float:
        """Return the number of true groundings of a clause, over all databases."""
        return float(sum(true_groundings(self.engine, clause.formula)))

    def together(
        self,
        predicate: str,
        given: Sequence[tuple[Formula, Floats]],
        couplings: Sequence[Coupling],
    ) -> float:
        """Return the log-score of a predicate's atoms when none of them is known.

        This takes arrays of all ground atoms, and is refused where there are too many.
        """
        if max(Grid.cells_of(self.engine.stack.databases).values()) > MOST_CELLS:
            raise MemoryLimitError(
                f"how well the atoms of {predicate} are predicted together takes arrays of all "
                "ground atoms, and there are too many",
                hint="learn with joint=False",
            )
        flipped = self.engine.stack.schema[predicate]
        known = [(self._grid.flips_of(formula, flipped), weights) for formula, weights in given]
        return joint_score(self._grid, predicate, known, couplings)

    @cached_property
    def _grid(self) -> WeightedGrid:
        return WeightedGrid(self.engine, self.hard)

    def _term(self, name: str, formulas: tuple[Formula, ...], features: Numbers) -> EngineTerm:
        """Group a predicate's atoms by the flip counts of some formulas; the last one is new."""
        if formulas and formulas[-1] in self._refused:
            raise MemoryLimitError(self._refused[formulas[-1]])
        stack, predicate = self.engine.stack, self.engine.stack.schema[name]
        try:
            with counting_with(memory=self._memory):
                flips = [self._flips(formula, name) for formula in (*formulas, *self.hard)]
                rows = grouped(stack, predicate, flips, features)
        except MemoryLimitError as error:
            self._refuse(formulas, error)
            raise
        scale = one_conditional(stack, predicate)
        return EngineTerm(formulas, replace(rows, true=rows.true * scale, total=rows.total * scale))

    def _refuse(self, formulas: tuple[Formula, ...], error: MemoryLimitError) -> None:
        """Remember a formula that does not fit, and say so the first time."""
        if not formulas:
            return
        if not self._refused:
            warnings.warn(
                f"clauses whose counts do not fit in {self._memory / 2**20:,.0f} MB are left out, "
                f"such as {formulas[-1]}: {str(error).splitlines()[0]}; more memory (--memory) "
                "lets them in",
                DataWarning,
                stacklevel=2,
            )
        # the text alone: an error holds on to all that was there when it was raised
        self._refused[formulas[-1]] = str(error)

    def _flips(self, formula: Formula, name: str) -> Flips:
        found = self._known.get((formula, name))
        if found is None:
            predicate = self.engine.stack.schema[name]
            found = flip_counts(self.engine, formula, predicate, self.exclusive(name))
            self._known.put((formula, name), found)
        return found

    def _classes(
        self, name: str, formulas: tuple[Formula, ...]
    ) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
        """Group atoms by flip counts and by which arguments are equal.

        Returns
        -------
        pattern, values, true, total
            Of each group, a number for the arguments that are equal, the flip counts, and the
            weights by database.
        """
        schema = self.engine.stack.schema
        units = [unit for unit in unit_clauses(schema) if unit.predicate.name == name][1:]
        features = np.arange(len(units) + len(formulas))
        rows = self._term(name, (*units, *formulas), features).whole
        dense = rows.counts if isinstance(rows.counts, np.ndarray) else rows.counts.toarray()
        bits = dense[:, : len(units)].astype(np.int64)
        pattern = bits @ (1 << np.arange(len(units), dtype=np.int64))
        return pattern, dense[:, len(units) :], rows.true, rows.total


def _of_one_clause() -> int:
    """Return how many bytes the counts of one clause may take."""
    return max(in_use().nbytes // _CLAUSES, LEAST_MEMORY)
