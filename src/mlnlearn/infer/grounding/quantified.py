"""Quantifiers in ground clauses: EXIST y P(x,y) is one long disjunction per x.

Quantified parts are taken out of a formula first, each as a placeholder atom over its free
variables; what is left is grounded as any formula. The groundings of a quantified part itself are
found by joins, so that only those that evidence leaves open become literals.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import matching_rows
from mlnlearn.counting.groundings import Assignments
from mlnlearn.errors import InputError
from mlnlearn.infer.grounding.evidence import Evidence, JoinCondition, Types
from mlnlearn.infer.network import Codes, Flags, Ints
from mlnlearn.logic.atoms import Atom, Predicate, Variable
from mlnlearn.logic.cubes import Cube
from mlnlearn.logic.formulas import (
    And,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    free_variables,
)
from mlnlearn.logic.normalize import clauses_of, ground_quantifiers


class TangledError(Exception):
    """A grounding of a quantified conjunction has several undecided literals."""


@dataclass(frozen=True, slots=True)
class Existential:
    """EXIST over a disjunction of conjunctions."""

    free: tuple[Variable, ...]
    bound: tuple[Variable, ...]
    cubes: tuple[Cube, ...]


def without_quantifiers(
    formula: Formula, domains: Mapping[str, Collection[str]]
) -> tuple[Formula, dict[str, Existential]]:
    """Put placeholder atoms for the outermost quantifiers.

    Parameters
    ----------
    formula
        A formula whose quantifiers have variables of their own.
    domains
        Constants of each type, over which quantifiers inside of quantifiers are spelt out.

    Returns
    -------
    skeleton, parts
        The formula with placeholders, and what the predicate of each stands for.

    Examples
    --------
    >>> p = Predicate("p", ("t", "t"))
    >>> skeleton, parts = without_quantifiers(Forall((Variable("y"),), p("x", "y")), {})
    >>> print(skeleton, [str(literal) for literal in parts["$1"].cubes[0]])
    !$1(x) ['!p(x,y)']
    """
    parts: dict[str, Existential] = {}

    def exists(variables: tuple[Variable, ...], body: Formula) -> Atom:
        plain = ground_quantifiers(body, domains)
        # the conjunctions of a formula are the denied clauses of its negation
        cubes = tuple(tuple(~lit for lit in clause) for clause in clauses_of(Not(plain)))
        free = tuple(v for v in free_variables(body) if v not in variables)
        predicate = Predicate(f"${len(parts) + 1}", ("",) * len(free))
        parts[predicate.name] = Existential(free, variables, cubes)
        return Atom(predicate, free)

    def walk(part: Formula) -> Formula:
        match part:
            case Exists(variables, body):
                return exists(variables, body)
            case Forall(variables, body):
                return Not(exists(variables, Not(body)))
        return _rebuilt(part, walk)

    return walk(formula), parts


def _rebuilt(part: Formula, walk: Callable[[Formula], Formula]) -> Formula:
    """Apply a function to the parts of a connective."""
    match part:
        case Not(inner):
            return Not(walk(inner))
        case And(parts):
            return And(tuple(map(walk, parts)))
        case Or(parts):
            return Or(tuple(map(walk, parts)))
        case Implies(left, right):
            return Implies(walk(left), walk(right))
        case Iff(left, right):
            return Iff(walk(left), walk(right))
    return part


class ExistentialTable:
    """For which values of its free variables an existential holds, and by which literals it may.

    Raises
    ------
    TangledError
        Where it is not a disjunction of literals, because a conjunction in it stays open.
    """

    def __init__(self, evidence: Evidence, part: Existential, types: Types) -> None:
        untyped = [str(v) for v in part.bound if v not in types]
        if untyped:
            raise InputError(
                f"no type for the quantified variable {untyped[0].partition('#')[0]}",
                hint="let every variable stand in an atom",
            )
        self.free = part.free
        self.sizes = [1, *(evidence.stack.size(types[variable]) for variable in part.free)]
        own = {variable: types[variable] for variable in (*part.free, *part.bound)}
        columns: list[list[Codes]] = []
        literals: list[Ints] = []
        for cube in part.cubes:
            for rows, found in _open_literals(evidence, cube, own):
                columns.append([rows.database, *(rows.columns[v] for v in part.free)])
                literals.append(found)
        none = np.empty(0, np.int64)
        self.columns = [np.concatenate(c) for c in zip(*columns, strict=True)] or [
            none for _ in self.sizes
        ]
        self.literals = np.concatenate([none, *literals])

    def attach(self, rows: Assignments) -> tuple[Flags, Ints, Ints]:
        """Return the rows for which the existential holds, and for the others rows and literals."""
        wanted = [rows.database, *(rows.columns[v] for v in self.free)]
        owners, places = matching_rows(wanted, self.columns, self.sizes)
        literals = self.literals[places]
        holds = np.zeros(len(rows), np.bool_)
        holds[owners[literals < 0]] = True
        keep = ~holds[owners]
        return holds, owners[keep], literals[keep]


def _open_literals(
    evidence: Evidence, cube: Cube, types: Types
) -> Iterator[tuple[Assignments, Ints]]:
    """Yield groundings of a conjunction that may be true, with the literal that decides, or -1."""
    literals = [evidence.resolved(literal, types) for literal in cube]
    condition = sum((evidence.unsatisfied(~lit) for lit in literals), JoinCondition())
    for rows in evidence.groundings(condition, types):
        codes = np.full((len(rows), len(literals) + 1), -1, np.int64)
        for number, literal in enumerate(literals):
            assert isinstance(literal.atom, Atom)
            places = evidence.places(literal.atom, rows)
            if places is not None:
                codes[:, number] = np.where(places < 0, -1, 2 * places + literal.positive)
        highest = codes.max(axis=1)
        if ((codes >= 0) & (codes != highest[:, None])).any():
            raise TangledError
        yield rows, highest
