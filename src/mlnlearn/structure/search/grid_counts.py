"""Flip counts of formulas on a grid, kept for those asked for last, and the cells they are of."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mlnlearn.counting.count import groundings
from mlnlearn.counting.grid import GridFlips
from mlnlearn.counting.query import Engine
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.formulas import Formula, atoms_of
from mlnlearn.structure.search.alone import histogram
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.meanfield import Coupling, joint_score
from mlnlearn.structure.search.network import Histogram, ScoreTest
from mlnlearn.structure.search.terms import GridCells, GridTerm
from mlnlearn.structure.search.weighted_grid import WeightedGrid
from mlnlearn.weights.objective import Floats
from mlnlearn.weights.rows import Numbers, RowBlocks

_CACHE_BYTES = 1 << 28


class GridCounts:
    """What networks ask of the data, from arrays of all ground atoms; `Counts`.

    Parameters
    ----------
    engine
        The data.
    background
        What every network holds.

    Attributes
    ----------
    grid
        The data as arrays.
    live
        By predicate, the cells that take part: those whose atoms exist and are not decided.
    cells
        By predicate, what is known of these cells.
    """

    def __init__(self, engine: Engine, background: Background) -> None:
        self.grid = WeightedGrid(engine, background.hard)
        self.live: dict[str, Numbers] = {}
        self.cells: dict[str, GridCells] = {}
        for predicate in background.schema.predicates:
            weight = self.grid.weight[predicate.name]
            live = np.flatnonzero(weight.ravel())
            total = weight.reshape(-1)[live]
            self.live[predicate.name] = live
            self.cells[predicate.name] = GridCells(
                self.grid.true[predicate.name].reshape(-1)[live] * total,
                total,
                live // math.prod(weight.shape[1:]),
                len(weight),
                self._blocks(predicate.name),
            )
        self._known: OrderedDict[Formula, dict[str, GridFlips]] = OrderedDict()
        self._room = _CACHE_BYTES

    @property
    def databases(self) -> int:
        """The number of databases."""
        return len(self.grid.stack)

    def exclusive(self, predicate: str) -> tuple[int, ...]:
        """Return the places of which exactly one value holds for each choice of the others."""
        return self.grid.exclusive(predicate)

    def _blocks(self, predicate: str) -> RowBlocks | None:
        """Return the live cells of each block, where cells exclude each other."""
        exclusive = self.grid.exclusive(predicate)
        if not exclusive:
            return None
        shape = self.grid.weight[predicate].shape
        places = np.unravel_index(self.live[predicate], shape)
        outer = [axis for axis in range(len(shape)) if axis - 1 not in exclusive]
        sizes = [shape[axis] for axis in outer]
        block_of = np.ravel_multi_index([places[axis] for axis in outer], sizes)
        _, lengths = np.unique(block_of, return_counts=True)
        return RowBlocks(np.argsort(block_of, kind="stable"), np.cumsum(lengths) - lengths)

    def term(self, predicate: str) -> GridTerm:
        """Return a predicate's term of the likelihood, with no features yet."""
        return GridTerm.of(self.cells[predicate])

    def joined(
        self, terms: Mapping[str, GridTerm], number: int, formula: Formula
    ) -> dict[str, GridTerm]:
        """Return the terms that change with one more formula, and how they are then."""
        return {
            name: terms[name].split(number, self.on_cells(name, flips))
            for name, flips in self.flips(formula).items()
            if name in terms
        }

    def score_test(self, terms: Mapping[str, GridTerm], weights: Floats) -> ScoreTest:
        """Return the score test for new formulas at some weights."""
        tests = {name: term.test(weights) for name, term in terms.items()}

        def tested(formula: Formula) -> Iterator[tuple[str, float, float, Floats]]:
            for name, flips in self.flips(formula).items():
                if name in tests:
                    yield name, *tests[name](self.on_cells(name, flips))

        return tested

    def shares(self, predicate: str) -> list[tuple[Floats, Floats]]:
        """Return the weights of true and of all atoms by database, for each class of atoms."""
        return self.grid.shares(predicate, ())

    def histograms(self, clause: Clause, predicate: str) -> list[list[Histogram]]:
        """Return the flip counts of a clause, for each class of atoms and database."""
        flips = self.grid.flips(self.grid.coded(clause), self.grid.stack.schema[predicate])
        return [
            [histogram(*rows) for rows in zip(flips.values, true, total, strict=True)]
            for true, total in self.grid.shares(predicate, flips.places)
        ]

    def true_instances(self, clause: Clause) -> float:
        """Return the number of true groundings of a clause, over all databases."""
        all_groundings = float(sum(groundings(self.grid.engine, clause.formula)))
        return all_groundings - self.grid.violations(self.grid.coded(clause))

    def together(
        self,
        predicate: str,
        given: Sequence[tuple[Formula, Floats]],
        couplings: Sequence[Coupling],
    ) -> float:
        """Return the log-score of a predicate's atoms when none of them is known."""
        known = [(self.flips(formula)[predicate], weights) for formula, weights in given]
        return joint_score(self.grid, predicate, known, couplings)

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
        return {name: self.grid.flips_of(formula, p) for name, p in predicates.items()}

    def on_cells(self, predicate: str, flips: GridFlips) -> Floats:
        """Return the flip count of each live cell."""
        shape = self.grid.true[predicate].shape
        spread = self.grid.spread(flips, len(shape) - 1)
        values: Floats = np.broadcast_to(spread, shape).reshape(-1)[self.live[predicate]]
        return values


def _bytes(flips: Mapping[str, GridFlips]) -> int:
    return sum(found.values.nbytes + 512 for found in flips.values())
