"""Flip counts of formulas from the sparse engine: for domains too large for a grid."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mlnlearn.cache import Shelf
from mlnlearn.counting.count import true_groundings
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.flip_tables import Flips
from mlnlearn.counting.flips import FlipCounter
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
from mlnlearn.structure.search.terms import row_sums
from mlnlearn.structure.search.weighted_grid import WeightedGrid
from mlnlearn.weights.compress import RowGroups, SplitRows
from mlnlearn.weights.data import refuse_violations
from mlnlearn.weights.objective import Floats
from mlnlearn.weights.pseudolikelihood import grouped, one_conditional
from mlnlearn.weights.rows import Numbers, Rows
from mlnlearn.weights.split import wide_places

# One clause of thousands that are tried may take so little of the memory that counting may take.
_CLAUSES = 16


@dataclass(frozen=True, slots=True)
class EngineTerm:
    """A predicate's share of the likelihood.

    Attributes
    ----------
    formulas
        Those that the predicate is in, as the features of the rows.
    whole
        Its atoms, or blocks of atoms, grouped by their flip counts, with weights by database.
    groups
        The atoms by what hard formulas and these say, where they are not in blocks and no formula
        was dropped since.
    """

    formulas: tuple[Formula, ...]
    whole: Rows
    groups: RowGroups | None = None

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
        self._counter = FlipCounter(engine, in_use().cache.shelf(self))
        self._memory = _of_one_clause()
        self._refused: dict[Formula, str] = {}
        self._units: dict[str, EngineTerm] = {}
        self._tested: dict[tuple[str, Formula], _Apart] = {}

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
        return self._first(predicate, (), np.empty(0, np.int64))

    def joined(
        self, terms: Mapping[str, EngineTerm], number: int, formula: Formula
    ) -> dict[str, EngineTerm]:
        """Return the terms that change with one more formula, and how they are then."""
        found = {}
        for name in _touched(terms, formula):
            term = terms[name]
            formulas = (*term.formulas, formula)
            features = np.append(term.whole.features, number)
            with self._fitting(formula):
                if self.exclusive(name):
                    found[name] = self._in_blocks(name, formulas, features)
                    continue
                apart = self._tested.get((name, formula))
                if apart is None or apart.term is not term:
                    apart = self._apart(name, term, formula)
                groups = apart.groups.joined(self._flips(formula, name), apart.parts)
                found[name] = self._grouped(name, formulas, features, groups)
        return found

    def score_test(self, terms: Mapping[str, EngineTerm], weights: Floats) -> ScoreTest:
        """Return the score test for new formulas at some weights."""
        known: dict[str, tuple[RowGroups, Floats]] = {}

        def chances(name: str, groups: RowGroups) -> Floats:
            """Return the probability of the atoms of each row."""
            if name not in known or known[name][0] is not groups:
                scores = self._soft(groups) @ weights[terms[name].whole.features]
                known[name] = groups, np.exp(scores - np.logaddexp(0.0, scores))
            return known[name][1]

        def tested(formula: Formula) -> Iterator[tuple[str, float, float, Floats]]:
            self._tested.clear()
            for name in _touched(terms, formula):
                if self.exclusive(name):
                    yield name, *self._test_in_blocks(name, terms[name], formula, weights)
                    continue
                apart = self._apart(name, terms[name], formula)
                yield name, *self._test(name, apart, chances(name, apart.groups))
                self._tested[name, formula] = apart  # it may be joined next

        return tested

    def _test(self, name: str, apart: _Apart, chances: Floats) -> tuple[float, float, Floats]:
        """Return slope and curvature in a new weight, and its coupling to others."""
        parts = apart.parts
        total = parts.size * self._scale(name)[parts.database]
        if self.hard:
            total[self._decided(apart.groups)[parts.row]] = 0.0
        true = np.where(parts.true, total, 0.0)
        values = parts.values.astype(np.float64)
        slope, bend, by_row = row_sums(values, true, total, parts.row, chances)
        coupling = self._soft(apart.groups).T @ (chances * (1.0 - chances) * by_row)
        return slope, bend, coupling

    def _test_in_blocks(
        self, name: str, term: EngineTerm, formula: Formula, weights: Floats
    ) -> tuple[float, float, Floats]:
        """Return slope and curvature in a new weight, and its coupling to others."""
        features = np.append(term.whole.features, len(weights))
        with self._fitting(formula):
            longer = self._in_blocks(name, (*term.formulas, formula), features)
        rows = longer.whole.weighed(np.ones(self.databases))
        gradient, hessian = rows.derivatives(np.append(weights, 0.0))
        return float(gradient[-1]), float(hessian[-1, -1]), hessian[:-1, -1]

    def shares(self, predicate: str) -> list[tuple[Floats, Floats]]:
        """Return the weights of true and of all atoms by database, for each class of atoms."""
        rows = self._of_units(predicate).whole
        pattern = _patterns(rows.counts)
        return [
            (rows.true[pattern == number].sum(axis=0), rows.total[pattern == number].sum(axis=0))
            for number in np.unique(pattern)
        ]

    def histograms(self, clause: Clause, predicate: str) -> list[list[Histogram]]:
        """Return the flip counts of a clause, for each class of atoms and database."""
        term, scale = self._of_units(predicate), self._scale(predicate)
        apart = self._apart(predicate, term, clause.formula)
        parts = apart.parts
        pattern = _patterns(self._soft(apart.groups))
        if self.hard:
            pattern[self._decided(apart.groups)] = -1
        size, values = parts.size.astype(np.float64), parts.values.astype(np.float64)
        true = np.where(parts.true, size, 0.0)
        kind = pattern[parts.row]
        found = []
        for number in np.unique(_patterns(term.whole.counts)):
            own = []
            for database in range(self.databases):
                chosen = np.flatnonzero((kind == number) & (parts.database == database))
                distinct, held, every = histogram(values[chosen], true[chosen], size[chosen])
                own.append((distinct, held * scale[database], every * scale[database]))
            found.append(own)
        return found

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

    def _first(self, name: str, formulas: tuple[Formula, ...], features: Numbers) -> EngineTerm:
        """Return a predicate's term of some formulas at once."""
        with self._fitting(None):
            if self.exclusive(name):
                return self._in_blocks(name, formulas, features)
            return self._grouped(name, formulas, features, self._groups(name, formulas))

    def _of_units(self, name: str) -> EngineTerm:
        """Return the term of the unit clauses that tell which arguments of an atom are equal."""
        if name not in self._units:
            every = unit_clauses(self.engine.stack.schema)
            units = tuple(unit for unit in every if unit.predicate.name == name)[1:]
            self._units[name] = self._first(name, units, np.arange(len(units)))
        return self._units[name]

    def _groups(
        self,
        name: str,
        formulas: tuple[Formula, ...],
        beside: frozenset[tuple[int, ...]] = frozenset(),
    ) -> RowGroups:
        """Group a predicate's atoms by what the hard formulas and some others say of them."""
        flips = [self._flips(formula, name) for formula in (*self.hard, *formulas)]
        return RowGroups.of(self.engine.stack, self.engine.stack.schema[name], flips, beside)

    def _apart(self, name: str, term: EngineTerm, formula: Formula) -> _Apart:
        """Take the rows of a term apart by one more formula."""
        with self._fitting(formula):
            flips = self._flips(formula, name)
            groups = term.groups or self._groups(name, term.formulas)
            parts = groups.apart(flips)
            if parts is None:  # by another place first
                stack = self.engine.stack
                wide = wide_places(stack, stack.schema[name], flips)
                groups = self._groups(name, term.formulas, wide)
                parts = groups.apart(flips)
                assert parts is not None
            return _Apart(term, groups, parts)

    def _soft(self, groups: RowGroups) -> Floats | csr_array:
        """Return the flip counts of the formulas that are not hard."""
        counts = groups.rows.counts
        return counts[:, len(self.hard) :] if self.hard else counts

    def _decided(self, groups: RowGroups) -> NDArray[np.bool_]:
        """Say of each row whether hard formulas decide its atoms."""
        held = groups.rows.counts[:, : len(self.hard)].sum(axis=1)
        decided: NDArray[np.bool_] = np.asarray(held).ravel() != 0.0
        return decided

    def _scale(self, name: str) -> Floats:
        return one_conditional(self.engine.stack, self.engine.stack.schema[name])

    def _grouped(
        self, name: str, formulas: tuple[Formula, ...], features: Numbers, groups: RowGroups
    ) -> EngineTerm:
        """Return the term of atoms in groups, without those that hard formulas decide."""
        rows, scale, counts = groups.rows, self._scale(name), self._soft(groups)
        true, total = rows.true * scale, rows.total * scale
        if self.hard:
            free = np.flatnonzero(~self._decided(groups))
            counts, true, total = counts[free], true[free], total[free]
        return EngineTerm(formulas, Rows(features, counts, true, total), groups)

    def _in_blocks(self, name: str, formulas: tuple[Formula, ...], features: Numbers) -> EngineTerm:
        """Return the term of atoms that exclude each other."""
        stack, scale = self.engine.stack, self._scale(name)
        flips = [self._flips(formula, name) for formula in (*formulas, *self.hard)]
        rows = grouped(stack, stack.schema[name], flips, features)
        return EngineTerm(formulas, replace(rows, true=rows.true * scale, total=rows.total * scale))

    @contextmanager
    def _fitting(self, formula: Formula | None) -> Iterator[None]:
        """Let counting take what one clause may; remember a formula for which it is too little."""
        if formula in self._refused:
            raise MemoryLimitError(self._refused[formula])
        try:
            with counting_with(memory=self._memory):
                yield
        except MemoryLimitError as error:
            if formula is not None:
                self._refuse(formula, error)
            raise

    def _refuse(self, formula: Formula, error: MemoryLimitError) -> None:
        """Remember a formula that does not fit, and say so the first time."""
        if not self._refused:
            warnings.warn(
                f"clauses whose counts do not fit in {self._memory / 2**20:,.0f} MB are left out, "
                f"such as {formula}: {str(error).splitlines()[0]}; more memory (--memory) "
                "lets them in",
                DataWarning,
                stacklevel=2,
            )
        # the text alone: an error holds on to all that was there when it was raised
        self._refused[formula] = str(error)

    def _flips(self, formula: Formula, name: str) -> Flips:
        found = self._known.get((formula, name))
        if found is None:
            predicate = self.engine.stack.schema[name]
            found = self._counter.flips(formula, predicate, self.exclusive(name))
            self._known.put((formula, name), found)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Apart:
    """A term, its atoms in groups, and these taken apart by one more formula."""

    term: EngineTerm
    groups: RowGroups
    parts: SplitRows


def _touched(terms: Mapping[str, EngineTerm], formula: Formula) -> list[str]:
    """Return the predicates whose terms a formula changes."""
    names = dict.fromkeys(atom.predicate.name for atom in atoms_of(formula))
    return [name for name in names if name in terms]


def _patterns(counts: Floats | csr_array) -> Numbers:
    """Return a number for the arguments that are equal, of rows of the flip counts of units."""
    dense = counts if isinstance(counts, np.ndarray) else counts.toarray()
    units = dense.shape[1]
    found: Numbers = dense.astype(np.int64) @ (1 << np.arange(units, dtype=np.int64))
    return found


def _of_one_clause() -> int:
    """Return how many bytes the counts of one clause may take."""
    return max(in_use().nbytes // _CLAUSES, LEAST_MEMORY)
