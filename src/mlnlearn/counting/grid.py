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

from mlnlearn.counting.coincidences import Case, Terms, cases, is_tautology
from mlnlearn.counting.dense import Factor, Floats, contract
from mlnlearn.counting.exclusive import block_atoms
from mlnlearn.counting.flips import flip_counts
from mlnlearn.counting.query import Engine
from mlnlearn.data.database import Database
from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.canonical import ClauseKey, LiteralKey, coded
from mlnlearn.logic.clauses import Clause, as_clause
from mlnlearn.logic.formulas import Formula

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
    """Truth values of all ground atoms, and counts of clauses of variables over them.

    Parameters
    ----------
    engine
        The data; also counts formulas that are no clauses of variables.
    most_cells
        Cells of the largest array that may be built.

    Attributes
    ----------
    true, false
        By predicate, 1 where an atom is true, and where one is false; by database and constants.

    Examples
    --------
    >>> from mlnlearn.counting.memory import MemoryEngine
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.atoms import Literal
    >>> from mlnlearn.logic.clauses import clause
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)", "smokes(person)")
    >>> facts = {"friends": [("Anna", "Bob"), ("Carl", "Bob")], "smokes": [("Anna",)]}
    >>> grid = Grid(MemoryEngine([Database.from_facts(schema, facts)]))
    >>> rule = clause(~Literal(schema["friends"]("x", "y")), schema["smokes"]("y"))
    >>> grid.flips(grid.coded(rule), schema["smokes"]).values.tolist()
    [[0.0, 2.0, 0.0]]
    """

    def __init__(self, engine: Engine, most_cells: int = MOST_CELLS) -> None:
        self.engine = engine
        self.stack = engine.stack
        self.most_cells = most_cells
        self._sizes = {kind: int(self.stack.sizes(kind).max()) for kind in self.stack.schema.types}
        self._names = sorted(predicate.name for predicate in self.stack.schema.predicates)
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self.true: dict[str, Floats] = {}
        self.false: dict[str, Floats] = {}
        for predicate in self.stack.schema.predicates:
            self._add(predicate)

    def exclusive(self, predicate: str) -> tuple[int, ...]:
        """Return the places of which exactly one value holds for each choice of the others."""
        return tuple(self.stack.schema.functional.get(predicate, ()))

    def coded(self, clause: Clause) -> ClauseKey:
        """Return a plain clause in the grid's numbers."""
        return coded(clause, lambda predicate: self._numbers[predicate.name])

    @staticmethod
    def cells_of(databases: Sequence[Database]) -> dict[str, int]:
        """Return how many cells each predicate takes."""
        schema = databases[0].schema
        sizes = {kind: max(each.size(kind) for each in databases) for kind in schema.types}
        return {
            predicate.name: len(databases) * math.prod(sizes[kind] for kind in predicate.types)
            for predicate in schema.predicates
        }

    def shape(self, predicate: Predicate) -> tuple[int, ...]:
        """Return the shape of a predicate's array."""
        return (len(self.stack), *(self._sizes[kind] for kind in predicate.types))

    def _add(self, predicate: Predicate) -> None:
        """Lay out the truth values of a predicate."""
        exclusive = self.exclusive(predicate.name)
        if exclusive:
            block_atoms(self.stack, predicate, exclusive)
        true, inside = np.zeros(self.shape(predicate)), np.zeros(self.shape(predicate))
        for number, database in enumerate(self.stack.databases):
            facts = database.facts(predicate.name)
            if facts.shape[1]:
                true[(number, *facts)] = 1.0
            inside[number, ...][tuple(slice(database.size(k)) for k in predicate.types)] = 1.0
        self.true[predicate.name] = true
        self.false[predicate.name] = inside - true

    def believing(self, predicate: str, probability: Floats) -> Grid:
        """Return a grid in which a predicate's atoms are true to a degree; its counts are expected.

        Atoms are taken as independent; where two literals of a grounding are the same atom, its
        probability counts twice.
        """
        soft = copy(self)
        inside = self.true[predicate] + self.false[predicate]
        soft.true = {**self.true, predicate: probability}
        soft.false = {**self.false, predicate: inside - probability}
        return soft

    def condensed(self, literals: ClauseKey, predicate: str) -> tuple[Grid, ClauseKey]:
        """Return a grid, and a clause in it that has the same flip counts of a predicate's atoms.

        Variables that are in no atom of the predicate are summed over once and for all: where
        counts are asked again and again, with other truth values of the predicate, the rest of the
        clause need not be joined each time.
        """
        flipped = self._numbers[predicate]
        own = {term for label, *terms in literals if label >> 1 == flipped for term in terms}
        dense = copy(self)
        dense.true, dense._names = dict(self.true), list(self._names)
        kept = [literal for literal in literals if own.issuperset(literal[1:])]
        for part in _parts([lit for lit in literals if not own.issuperset(lit[1:])], own):
            outer = tuple(dict.fromkeys(t for _, *terms in part for t in terms if t in own))
            try:
                counted = self._contracted(part, outer) if outer else None
            except MemoryLimitError:
                counted = None
            if counted is None:
                kept += part
            else:
                # the counts stand where truth values do, of a relation made up for them
                kept.append((2 * len(dense._names), *outer))
                dense._names.append(f"part {len(dense.true)}")
                dense.true[dense._names[-1]] = counted
        return dense, tuple(kept)

    @staticmethod
    def spread(flips: GridFlips, arity: int) -> Floats:
        """Return flip counts with an axis for each place, of size 1 where it does not matter."""
        index = (slice(None), *(slice(None) if i in flips.places else None for i in range(arity)))
        result: Floats = flips.values[index]
        return result

    def violations(self, literals: ClauseKey) -> float:
        """Return the number of groundings of a clause that are false, over all databases."""
        return 0.0 if is_tautology(literals) else float(self._contracted(literals, ()).sum())

    def flips(self, literals: ClauseKey, predicate: Predicate) -> GridFlips:
        """Return the flip counts of a clause for all atoms of a predicate."""
        if is_tautology(literals):
            return GridFlips((), np.zeros(len(self.stack)))
        parts = [
            (case, self._count(case))
            for case in cases(
                literals, self._numbers[predicate.name], self.exclusive(predicate.name)
            )
        ]
        places = tuple(sorted({place for case, _ in parts for place in _depends(case)}))
        if len(parts) == 1:
            case, counted = parts[0]
            if len(set(case.terms)) == predicate.arity:
                return GridFlips(places, case.coefficient * counted)
        shape = self.shape(predicate)
        values = np.zeros((shape[0], *(shape[place + 1] for place in places)))
        for case, counted in parts:
            _add_to(values, places, case, counted)
        return GridFlips(places, values)

    def _count(self, case: Case) -> Floats:
        """Count the groundings of a case by those variables of its pattern that matter."""
        if not case.rest:
            return np.ones(len(self.stack))
        used = _terms(case)
        return self._contracted(
            case.rest, tuple(dict.fromkeys(term for term in case.terms if term in used))
        )

    def _contracted(self, literals: Sequence[LiteralKey], keep: Terms) -> Floats:
        """Count the groundings in which all literals are false, by some variables."""
        # in the order in which they come, so that plans are known again
        numbers: dict[int, int] = {}
        factors = []
        for label, *own in literals:
            values = (self.false if label & 1 else self.true)[self._names[label >> 1]]
            terms = tuple([numbers.setdefault(term, len(numbers)) for term in own])
            distinct = tuple(dict.fromkeys(terms))
            if len(distinct) < len(terms):
                values = _diagonal(values, terms, distinct)
            factors.append(Factor(distinct, values))
        return contract(factors, [numbers[term] for term in keep], self.most_cells)

    def flips_of(self, formula: Formula, predicate: Predicate) -> GridFlips:
        """Return the flip counts of any formula, on the arrays where it is a plain clause."""
        clause = as_clause(formula)
        if clause is None or not clause.is_plain:
            return self.formula_flips(formula, predicate)
        return self.flips(self.coded(clause), predicate)

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


def _parts(literals: Sequence[LiteralKey], own: Collection[int]) -> list[list[LiteralKey]]:
    """Group literals that share variables other than some."""
    found: list[list[LiteralKey]] = []
    for literal in literals:
        inner = set(literal[1:]).difference(own)
        linked = [p for p in found if any(not inner.isdisjoint(o[1:]) for o in p)]
        found = [part for part in found if part not in linked]
        found.append([*(other for part in linked for other in part), literal])
    return found


def _diagonal(values: Floats, variables: Sequence[object], distinct: Sequence[object]) -> Floats:
    """View an array at the cells where places of the same variable agree."""
    # a view, not a copy: its strides step along all places of a variable at once
    shape, strides = [len(values)], [values.strides[0]]
    for variable in distinct:
        places = [i + 1 for i, other in enumerate(variables) if other == variable]
        shape.append(values.shape[places[0]])
        strides.append(sum(values.strides[place] for place in places))
    return np.lib.stride_tricks.as_strided(values, shape, strides)


def _terms(case: Case) -> set[int]:
    return {term for _, *terms in case.rest for term in terms}


def _depends(case: Case) -> list[int]:
    """Return the argument places on which a case's count depends."""
    used, terms = _terms(case), case.terms
    return [i for i, term in enumerate(terms) if term in used or terms.count(term) > 1]


def _add_to(values: Floats, places: tuple[int, ...], case: Case, counted: Floats) -> None:
    """Add a case's counts where its pattern matches, in an array over some places."""
    terms = tuple(case.terms[place] for place in places)
    distinct = tuple(dict.fromkeys(terms))
    view = values if len(distinct) == len(terms) else _diagonal(values, terms, distinct)
    used = _terms(case)
    # the counts have the axes of `distinct` that are used, in the same order
    index = (slice(None), *(slice(None) if term in used else None for term in distinct))
    view += case.coefficient * counted[index]
