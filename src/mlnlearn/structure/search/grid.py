"""Databases as dense arrays: every ground atom a cell, for domains that are small enough.

The sparse engine pays for true facts and for the bookkeeping of joins. Where all ground atoms fit
in memory, a clause is counted by a few products of arrays instead, negation costs nothing, and
thousands of candidates can be scored in the time the engine takes for a hundred. Databases are
padded to one size and lie side by side along the first axis.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.dense import Factor, Floats, contract
from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.query import Engine
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.formulas import Formula
from mlnlearn.structure.search.model import repeated_places
from mlnlearn.structure.search.patterns import Case, Signed, cases, is_tautology
from mlnlearn.weights.blocks import require_one_value
from mlnlearn.weights.data import refuse_violations

MOST_CELLS = 1 << 24
"""Cells of the largest array that may be built."""


@dataclass(frozen=True, slots=True)
class GridFlips:
    """Flip counts of a predicate's atoms.

    Attributes
    ----------
    places
        The argument places on which the count depends.
    values
        The counts, by database and the constants at those places.
    """

    places: tuple[int, ...]
    values: Floats


class Grid:
    """Truth values of all ground atoms, and counts of clauses over them.

    Parameters
    ----------
    engine
        The data; also counts formulas that are no clauses of variables.
    hard
        Formulas that hold: atoms they decide have no weight.
    most_cells
        Cells of the largest array that may be built.

    Examples
    --------
    >>> from mlnlearn.counting.memory import MemoryEngine
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)", "smokes(person)")
    >>> facts = {"friends": [("Anna", "Bob"), ("Carl", "Bob")], "smokes": [("Anna",)]}
    >>> grid = Grid(MemoryEngine([Database.from_facts(schema, facts)]))
    >>> rule = (Signed("friends", False, (0, 1)), Signed("smokes", True, (1,)))
    >>> grid.flips(rule, "smokes").values.tolist()
    [[0.0, 2.0, 0.0]]
    """

    def __init__(
        self, engine: Engine, hard: Sequence[Formula] = (), most_cells: int = MOST_CELLS
    ) -> None:
        self.engine = engine
        self.stack = engine.stack
        self.most_cells = most_cells
        self._sizes = {kind: int(self.stack.sizes(kind).max()) for kind in self.stack.schema.types}
        self._false: dict[tuple[str, bool], Floats] = {}
        self._shares: dict[tuple[str, tuple[int, ...], int], tuple[Floats, Floats]] = {}
        self._equal: dict[str, list[NDArray[np.bool_]]] = {}
        self.true: dict[str, Floats] = {}
        self.total: dict[str, Floats] = {}
        for predicate in self.stack.schema.predicates:
            self._add(predicate)
        refuse_violations(engine, hard)
        for formula in hard:
            self._decide(formula)

    def exclusive(self, predicate: str) -> tuple[int, ...]:
        """Return the places of which exactly one value holds for each choice of the others."""
        return tuple(self.stack.schema.functional.get(predicate, ()))

    @staticmethod
    def cells_of(engine: Engine) -> int:
        """Return how many cells the largest predicate takes."""
        stack = engine.stack
        sizes = {kind: int(stack.sizes(kind).max()) for kind in stack.schema.types}
        return max(
            (len(stack) * math.prod(sizes[kind] for kind in predicate.types))
            for predicate in stack.schema.predicates
        )

    def shape(self, predicate: Predicate) -> tuple[int, ...]:
        """Return the shape of a predicate's array."""
        return (len(self.stack), *(self._sizes[kind] for kind in predicate.types))

    def _add(self, predicate: Predicate) -> None:
        """Lay out the truth values of a predicate, and the weight of each cell."""
        exclusive = self.exclusive(predicate.name)
        if exclusive:
            require_one_value(self.stack, predicate, exclusive)
        truth, inside = np.zeros(self.shape(predicate)), np.zeros(self.shape(predicate))
        scale = np.zeros(len(self.stack))
        for number, database in enumerate(self.stack.databases):
            facts = database.facts(predicate.name)
            if facts.shape[1]:
                truth[(number, *facts)] = 1.0
            sizes = [database.size(kind) for kind in predicate.types]
            inside[number, ...][tuple(slice(size) for size in sizes)] = 1.0
            chances = math.prod(n for place, n in enumerate(sizes) if place not in exclusive)
            scale[number] = 1.0 / max(chances, 1)
        by_database = scale.reshape(-1, *(1 for _ in predicate.types))
        self._false[predicate.name, True] = inside - truth
        self._false[predicate.name, False] = truth
        self.true[predicate.name] = truth * by_database
        self.total[predicate.name] = inside * by_database

    def _decide(self, formula: Formula) -> None:
        for predicate in self.stack.schema.predicates:
            flips = self.formula_flips(formula, predicate).values
            exclusive = self.exclusive(predicate.name)
            # the formula holds in the data: an atom it depends on is decided, and of a block
            # only the values that are as good as the true one are possible
            needed = np.zeros(())
            if exclusive:
                axes = tuple(place + 1 for place in exclusive)
                truth = self._false[predicate.name, False]
                needed = (flips * truth).sum(axis=axes, keepdims=True)
            free = (flips == needed).astype(np.float64)
            self.true[predicate.name] = self.true[predicate.name] * free
            self.total[predicate.name] = self.total[predicate.name] * free

    def believing(self, predicate: str, probability: Floats) -> Grid:
        """Return a grid in which a predicate's atoms are true to a degree; its counts are expected.

        Atoms are taken as independent; where two literals of a grounding are the same atom, its
        probability counts twice.
        """
        soft = copy(self)
        inside = self._false[predicate, True] + self._false[predicate, False]
        soft._false = {
            **self._false,
            (predicate, True): inside - probability,
            (predicate, False): probability,
        }
        return soft

    def probability(self, predicate: str, odds: Floats) -> Floats:
        """Return the probability of each atom from its log-odds, or within its block; 0 outside."""
        inside = self.total[predicate] > 0.0
        exclusive = self.exclusive(predicate)
        if not exclusive:
            return np.where(inside, 0.5 * (1.0 + np.tanh(0.5 * odds)), 0.0)
        axes = tuple(place + 1 for place in exclusive)
        # what is infinite for all values of a block tells none of them apart
        scores = np.where(inside, np.clip(odds, -1e300, 1e300), -np.inf)
        highest = scores.max(axis=axes, keepdims=True)
        raised = np.exp(scores - np.where(np.isinf(highest), 0.0, highest))
        result: Floats = raised / np.maximum(raised.sum(axis=axes, keepdims=True), 1e-300)
        return result

    def log_score(self, predicate: str, probability: Floats) -> float:
        """Return the weighted log-probability of the atoms' truth values."""
        true, total = self.true[predicate], self.total[predicate]
        found = float((true * np.log(probability)).sum())
        if not self.exclusive(predicate):
            found += float(((total - true) * np.log1p(-probability)).sum())
        return found

    def condensed(
        self, literals: tuple[Signed, ...], predicate: str
    ) -> tuple[Grid, tuple[Signed, ...]]:
        """Return a grid, and a clause in it that has the same flip counts of a predicate's atoms.

        Variables that are in no atom of the predicate are summed over once and for all: where
        counts are asked again and again, with other truth values of the predicate, the rest of the
        clause need not be joined each time.
        """
        own = {v for lit in literals if lit.predicate == predicate for v in lit.variables}
        dense = copy(self)
        dense._false = dict(self._false)
        kept = [lit for lit in literals if own.issuperset(lit.variables)]
        for part in _parts([lit for lit in literals if not own.issuperset(lit.variables)], own):
            outer = tuple(dict.fromkeys(v for lit in part for v in lit.variables if v in own))
            try:
                counted = contract(self._factors(part), outer, self.most_cells) if outer else None
            except MemoryLimitError:
                counted = None
            if counted is None:
                kept += part
            else:
                name = f"part {len(dense._false)}"
                dense._false[name, False] = counted
                kept.append(Signed(name, False, outer))
        return dense, tuple(kept)

    @staticmethod
    def spread(flips: GridFlips, arity: int) -> Floats:
        """Return flip counts with an axis for each place, of size 1 where it does not matter."""
        index = (slice(None), *(slice(None) if i in flips.places else None for i in range(arity)))
        result: Floats = flips.values[index]
        return result

    def classes(self, predicate: str) -> int:
        """Return how many classes a predicate's atoms fall into, by which arguments are equal."""
        return len(self._classes(predicate))

    def _classes(self, predicate: str) -> list[NDArray[np.bool_]]:
        """Return the cells of each class, broadcast over databases; none is empty."""
        known = self._equal.get(predicate)
        if known is None:
            places = list(repeated_places(self.stack.schema[predicate]))
            cells = np.indices(self.true[predicate].shape[1:], np.int32)
            pattern = np.zeros(self.true[predicate].shape[1:], np.int64)
            for number, (first, second) in enumerate(places):
                pattern |= (cells[first] == cells[second]).astype(np.int64) << number
            known = [(pattern == found)[None] for found in np.unique(pattern)]
            self._equal[predicate] = known
        return known

    def shares(self, predicate: str, places: tuple[int, ...], number: int) -> tuple[Floats, Floats]:
        """Return the weight of a class's true and of all its atoms by constants at some places."""
        found = self._shares.get((predicate, places, number))
        if found is None:
            mask = self._classes(predicate)[number]
            axes = tuple(i + 1 for i in range(mask.ndim - 1) if i not in places)
            true, total = (
                np.where(mask, weights, 0.0).sum(axis=axes)
                if axes
                else np.where(mask, weights, 0.0)
                for weights in (self.true[predicate], self.total[predicate])
            )
            found = self._shares[predicate, places, number] = true, total
        return found

    def violations(self, literals: tuple[Signed, ...]) -> float:
        """Return the number of groundings of a clause that are false, over all databases."""
        if is_tautology(literals):
            return 0.0
        return float(contract(self._factors(literals), (), self.most_cells).sum())

    def flips(self, literals: tuple[Signed, ...], predicate: str) -> GridFlips:
        """Return the flip counts of a clause for all atoms of a predicate."""
        if is_tautology(literals):
            return GridFlips((), np.zeros(len(self.stack)))
        parts = [
            (case, self._count(case))
            for case in cases(literals, predicate, self.exclusive(predicate))
        ]
        places = tuple(sorted({place for case, _ in parts for place in _depends(case)}))
        if len(parts) == 1:
            case, counted = parts[0]
            if len(set(case.pattern)) == len(case.pattern):
                return GridFlips(places, case.coefficient * counted)
        shape = self.true[predicate].shape
        values = np.zeros((shape[0], *(shape[place + 1] for place in places)))
        for case, counted in parts:
            _add_to(values, places, case, counted)
        return GridFlips(places, values)

    def _count(self, case: Case) -> Floats:
        """Count the groundings of a case by those variables of its pattern that matter."""
        if not case.rest:
            return np.ones(len(self.stack))
        used = {variable for literal in case.rest for variable in literal.variables}
        keep = tuple(dict.fromkeys(v for v in case.pattern if v in used))
        return contract(self._factors(case.rest), keep, self.most_cells)

    def _factors(self, literals: Sequence[Signed]) -> list[Factor]:
        found = []
        for literal in literals:
            values = self._false[literal.predicate, literal.positive]
            distinct = tuple(dict.fromkeys(literal.variables))
            if len(distinct) < len(literal.variables):
                values = _diagonal(values, literal.variables, distinct)
            found.append(Factor(distinct, values))
        return found

    def formula_flips(self, formula: Formula, predicate: Predicate) -> GridFlips:
        """Return the flip counts of any formula, from the engine."""
        flips = flip_counts(self.engine, formula, predicate, self.exclusive(predicate.name))
        values = np.zeros(self.shape(predicate))
        for number, database in enumerate(self.stack.databases):
            sizes = [database.size(kind) for kind in predicate.types]
            cells = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
            columns = [
                self._merged[kind][number][codes]
                for kind, codes in zip(predicate.types, cells, strict=True)
            ]
            numbers = np.full(math.prod(sizes), number)
            counted = flips.at(self.stack, numbers, columns).reshape(sizes)
            values[number, ...][tuple(slice(size) for size in sizes)] = counted
        return GridFlips(tuple(range(predicate.arity)), values)

    @cached_property
    def _merged(self) -> dict[str, list[NDArray[np.int64]]]:
        """The engine's codes of each database's constants."""
        return {
            kind: [
                np.array([self.stack.code(kind, name) for name in db.domains[kind]], np.int64)
                for db in self.stack.databases
            ]
            for kind in self.stack.schema.types
        }


def _parts(literals: Sequence[Signed], own: Collection[int]) -> list[list[Signed]]:
    """Group literals that share variables other than some."""
    found: list[list[Signed]] = []
    for literal in literals:
        inner = set(literal.variables).difference(own)
        linked = [p for p in found if any(not inner.isdisjoint(o.variables) for o in p)]
        found = [part for part in found if part not in linked]
        found.append([*(other for part in linked for other in part), literal])
    return found


def _diagonal(values: Floats, variables: tuple[int, ...], distinct: tuple[int, ...]) -> Floats:
    """View an array at the cells where places of the same variable agree."""
    # a view, not a copy: its strides step along all places of a variable at once
    shape, strides = [len(values)], [values.strides[0]]
    for variable in distinct:
        places = [i + 1 for i, other in enumerate(variables) if other == variable]
        shape.append(values.shape[places[0]])
        strides.append(sum(values.strides[place] for place in places))
    return np.lib.stride_tricks.as_strided(values, shape, strides)


def _depends(case: Case) -> list[int]:
    """Return the argument places on which a case's count depends."""
    used = {variable for literal in case.rest for variable in literal.variables}
    return [
        place
        for place, variable in enumerate(case.pattern)
        if variable in used or case.pattern.count(variable) > 1
    ]


def _add_to(values: Floats, places: tuple[int, ...], case: Case, counted: Floats) -> None:
    """Add a case's counts where its pattern matches, in an array over some places."""
    variables = tuple(case.pattern[place] for place in places)
    distinct = tuple(dict.fromkeys(variables))
    view = values if len(distinct) == len(variables) else _diagonal(values, variables, distinct)
    used = {variable for literal in case.rest for variable in literal.variables}
    # the counts have the axes of `distinct` that are used, in the same order
    index = (slice(None), *(slice(None) if v in used else None for v in distinct))
    view += case.coefficient * counted[index]
