"""Flip counts of formulas on a grid, kept for those asked for last, and the cells they are of."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping

import numpy as np

from mlnlearn.counting.query import Engine
from mlnlearn.logic.clauses import as_clause
from mlnlearn.logic.formulas import Formula, atoms_of
from mlnlearn.structure.search.blocks import BlockTerm
from mlnlearn.structure.search.grid import Grid, GridFlips
from mlnlearn.structure.search.model import Background
from mlnlearn.structure.search.newton import Floats
from mlnlearn.structure.search.patterns import encode
from mlnlearn.structure.search.rows import Cells, Numbers, Term

_CACHE_BYTES = 1 << 28


class GridCounts:
    """What networks on a grid ask of the data.

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
        self.grid = Grid(engine, background.hard)
        self.live: dict[str, Numbers] = {}
        self.cells: dict[str, Cells] = {}
        for predicate in background.schema.predicates:
            true, total = self.grid.true[predicate.name], self.grid.total[predicate.name]
            live = np.flatnonzero(total.ravel())
            database = live // math.prod(total.shape[1:])
            self.live[predicate.name] = live
            self.cells[predicate.name] = Cells(
                true.reshape(-1)[live], total.reshape(-1)[live], database
            )
        self._known: OrderedDict[Formula, dict[str, GridFlips]] = OrderedDict()
        self._room = _CACHE_BYTES

    @property
    def databases(self) -> int:
        """The number of databases."""
        return len(self.grid.stack)

    def term(self, predicate: str) -> Term | BlockTerm:
        """Return a predicate's term of the likelihood, with no features yet."""
        exclusive = self.grid.exclusive(predicate)
        if not exclusive:
            return Term.of(self.cells[predicate])
        shape = self.grid.total[predicate].shape
        places = np.unravel_index(self.live[predicate], shape)
        outer = [axis for axis in range(len(shape)) if axis - 1 not in exclusive]
        sizes = [shape[axis] for axis in outer]
        block_of = np.ravel_multi_index([places[axis] for axis in outer], sizes)
        return BlockTerm.of(self.cells[predicate], block_of)

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

    def on_cells(self, predicate: str, flips: GridFlips) -> Floats:
        """Return the flip count of each live cell."""
        shape = self.grid.true[predicate].shape
        spread = self.grid.spread(flips, len(shape) - 1)
        values: Floats = np.broadcast_to(spread, shape).reshape(-1)[self.live[predicate]]
        return values


def _bytes(flips: Mapping[str, GridFlips]) -> int:
    return sum(found.values.nbytes + 512 for found in flips.values())
