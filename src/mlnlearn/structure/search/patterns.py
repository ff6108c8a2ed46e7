"""Where a ground atom meets a clause: the cases whose counts add up to its flip count.

A grounding of a clause is violated where all its literals are false. Flipping a ground atom ``a``
matters in those groundings in which the literals of some set ``S`` are ``a`` and all others are
false. They must be false in the data, and not be ``a`` themselves; the latter by
inclusion-exclusion over the sets ``R`` of other literals that are ``a`` after all. Where ``S`` has
both signs the grounding is true anyway. So the flip count is a sum of counts of violated
groundings, one for each pair ``(S, R)``, with the variables of both unified.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from mlnlearn.logic.atoms import Atom, Variable
from mlnlearn.logic.clauses import Clause


@dataclass(frozen=True, slots=True)
class Signed:
    """A literal with numbered variables."""

    predicate: str
    positive: bool
    variables: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A count of violated groundings, by the arguments of the flipped atom.

    Attributes
    ----------
    pattern
        The variables of the flipped atom, by argument place.
    rest
        Literals that must be false.
    coefficient
        How often the count is added.
    """

    pattern: tuple[int, ...]
    rest: tuple[Signed, ...]
    coefficient: int


@lru_cache(maxsize=65536)
def encode(clause: Clause) -> tuple[Signed, ...] | None:
    """Return a clause with numbered variables; None where it has constants or comparisons.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.logic.clauses import clause
    >>> likes = Predicate("likes", ("person", "person"))
    >>> encode(clause(likes("x", "y"), likes("y", "x")))[1].variables
    (1, 0)
    """
    numbers: dict[Variable, int] = {}
    found = []
    for literal in clause:
        atom = literal.atom
        if not isinstance(atom, Atom):
            return None
        places = []
        for term in atom.terms:
            if not isinstance(term, Variable):
                return None
            places.append(numbers.setdefault(term, len(numbers)))
        found.append(Signed(atom.predicate.name, literal.positive, tuple(places)))
    return tuple(found)


def is_tautology(literals: tuple[Signed, ...]) -> bool:
    """Tell whether a clause holds an atom and its negation."""
    seen = {(literal.predicate, literal.variables): literal.positive for literal in literals}
    return any(seen[lit.predicate, lit.variables] != lit.positive for lit in literals)


def cases(literals: tuple[Signed, ...], predicate: str) -> list[Case]:
    """Return the cases whose counts add up to the flip counts of a predicate's atoms.

    Examples
    --------
    >>> clause = (Signed("p", True, (0, 1)), Signed("q", False, (1,)))
    >>> cases(clause, "p")
    [Case(pattern=(0, 1), rest=(Signed(predicate='q', positive=False, variables=(1,)),), coefficient=1)]
    """  # noqa: E501 - the answer is one line
    places = [place for place, literal in enumerate(literals) if literal.predicate == predicate]
    if len(places) == 1:
        own = literals[places[0]]
        rest = literals[: places[0]] + literals[places[0] + 1 :]
        return [Case(own.variables, rest, 1 if own.positive else -1)]
    found: dict[tuple[tuple[int, ...], tuple[Signed, ...]], int] = {}
    for same, inside in _coincidences(literals, places):
        sign = 1 if literals[same[0]].positive else -1
        unifier = _unify([literals[i].variables for i in (*same, *inside)])
        pattern = _renamed(literals[same[0]].variables, unifier)
        others = {
            Signed(lit.predicate, lit.positive, _renamed(lit.variables, unifier))
            for place, lit in enumerate(literals)
            if place not in same
        }
        ordered = tuple(sorted(others, key=_sort_key))
        if is_tautology(ordered):
            continue
        key = (pattern, ordered)
        found[key] = found.get(key, 0) + (-sign if len(inside) % 2 else sign)
    return [Case(pattern, rest, number) for (pattern, rest), number in found.items() if number]


def _sort_key(literal: Signed) -> tuple[str, bool, tuple[int, ...]]:
    return literal.predicate, literal.positive, literal.variables


def _coincidences(
    literals: tuple[Signed, ...], places: list[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the pairs (S, R) of disjoint sets of some literals, S of one sign."""
    for roles in product((0, 1, 2), repeat=len(places)):
        same = [place for place, role in zip(places, roles, strict=True) if role == 1]
        if same and len({literals[place].positive for place in same}) == 1:
            yield same, [place for place, role in zip(places, roles, strict=True) if role == 2]


def _unify(atoms: list[tuple[int, ...]]) -> dict[int, int]:
    """Map variables to representatives so that all atoms become equal."""
    parent: dict[int, int] = {}

    def root(variable: int) -> int:
        while variable in parent:
            variable = parent[variable]
        return variable

    for atom in atoms[1:]:
        for left, right in zip(atoms[0], atom, strict=True):
            one, other = sorted((root(left), root(right)))
            if one != other:
                parent[other] = one
    return {variable: root(variable) for variable in parent}


def _renamed(variables: tuple[int, ...], unifier: dict[int, int]) -> tuple[int, ...]:
    return tuple(unifier.get(variable, variable) for variable in variables)
