"""Where a ground atom meets a clause: the cases whose counts add up to its flip count.

A grounding of a clause is violated where all its literals are false. Flipping a ground atom ``a``
matters in those groundings in which the literals of some set ``S`` are ``a`` and all others are
false. They must be false in the data, and not be ``a`` themselves; the latter by
inclusion-exclusion over the sets ``R`` of other literals that are ``a`` after all. Where ``S`` has
both signs the grounding is true anyway. So the flip count is a sum of counts of violated
groundings, one for each pair ``(S, R)``, with the variables of both unified.

Where a predicate has exclusive places (declared ``!``), a whole block of atoms, those that agree on
the other places, is taken as false before ``a`` becomes true. Then a positive literal beside ``S``
is false where it is false in the data, or true in the data but in the block, and is not ``a``; a
denied one is false where it is true in the data and not in the block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


@lru_cache(maxsize=65536)
def cases(
    literals: tuple[Signed, ...], predicate: str, exclusive: tuple[int, ...] = ()
) -> tuple[Case, ...]:
    """Return the cases whose counts add up to the flip counts of a predicate's atoms.

    Parameters
    ----------
    literals
        The clause.
    predicate
        The predicate whose atoms flip.
    exclusive
        Its places of which exactly one value holds; the counts are then those of setting a block
        of atoms, all false, to one value.

    Examples
    --------
    >>> clause = (Signed("p", True, (0, 1)), Signed("q", False, (1,)))
    >>> cases(clause, "p")
    (Case(pattern=(0, 1), rest=(Signed(predicate='q', positive=False, variables=(1,)),), coefficient=1),)
    """  # noqa: E501 - the answer is one line
    places = [place for place, literal in enumerate(literals) if literal.predicate == predicate]
    if len(places) == 1:
        own = literals[places[0]]
        rest = literals[: places[0]] + literals[places[0] + 1 :]
        return (Case(own.variables, rest, 1 if own.positive else -1),)
    elsewhere = [literal for literal in literals if literal.predicate != predicate]
    found: dict[tuple[tuple[int, ...], tuple[Signed, ...]], int] = {}
    for meeting in _meetings([literals[place] for place in places], exclusive):
        unifier = _unify(meeting.equal)
        pattern = _renamed(meeting.atom, unifier)
        others = {
            Signed(lit.predicate, lit.positive, _renamed(lit.variables, unifier))
            for lit in (*elsewhere, *meeting.rest)
        }
        ordered = tuple(sorted(others, key=_sort_key))
        if is_tautology(ordered):
            continue
        key = (pattern, ordered)
        found[key] = found.get(key, 0) + meeting.coefficient
    return tuple(Case(pattern, rest, n) for (pattern, rest), n in found.items() if n)


def _sort_key(literal: Signed) -> tuple[str, bool, tuple[int, ...]]:
    return literal.predicate, literal.positive, literal.variables


@dataclass(frozen=True, slots=True)
class _Meeting:
    """How the literals of a predicate meet a ground atom.

    Attributes
    ----------
    atom
        The variables of the atom.
    equal
        Pairs of variables that must be the same.
    rest
        Literals of the predicate that must be false in the data.
    coefficient
        How often such groundings count.
    """

    atom: tuple[int, ...]
    equal: tuple[tuple[int, int], ...]
    rest: tuple[Signed, ...]
    coefficient: int


def _meetings(own: Sequence[Signed], exclusive: tuple[int, ...]) -> Iterator[_Meeting]:
    """Yield the ways in which some literals of a predicate, all of one sign, are the atom."""
    for chosen in product((False, True), repeat=len(own)):
        same = [literal for literal, is_atom in zip(own, chosen, strict=True) if is_atom]
        others = [literal for literal, is_atom in zip(own, chosen, strict=True) if not is_atom]
        if not same or len({literal.positive for literal in same}) > 1:
            continue
        atom = same[0].variables
        start = tuple(pair for literal in same[1:] for pair in _pairs(atom, literal, ()))
        for parts in product(*(_false_beside(atom, literal, exclusive) for literal in others)):
            coefficient = 1 if same[0].positive else -1
            equal, rest = start, list[Signed]()
            for part in parts:
                coefficient *= part.coefficient
                equal += part.equal
                rest += part.rest
            yield _Meeting(atom, equal, tuple(rest), coefficient)


def _false_beside(
    atom: tuple[int, ...], literal: Signed, exclusive: tuple[int, ...]
) -> tuple[_Meeting, ...]:
    """Return what adds up to: a literal is not the atom, and false, the atom's block being so."""
    anywhere = _Meeting(atom, (), (literal,), 1)
    block = _pairs(atom, literal, exclusive)
    if not (literal.positive and exclusive):
        return anywhere, _Meeting(atom, block, (literal,), -1)
    true = Signed(literal.predicate, False, literal.variables)
    itself = _Meeting(atom, _pairs(atom, literal, ()), (), -1)
    return anywhere, _Meeting(atom, block, (true,), 1), itself


def _pairs(
    atom: tuple[int, ...], literal: Signed, exclusive: tuple[int, ...]
) -> tuple[tuple[int, int], ...]:
    """Return the variables at the same places, but for the exclusive ones."""
    pairs = enumerate(zip(atom, literal.variables, strict=True))
    return tuple(pair for place, pair in pairs if place not in exclusive)


def _unify(equal: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Map variables to representatives so that all pairs become equal."""
    parent: dict[int, int] = {}

    def root(variable: int) -> int:
        while variable in parent:
            variable = parent[variable]
        return variable

    for left, right in equal:
        one, other = sorted((root(left), root(right)))
        if one != other:
            parent[other] = one
    return {variable: root(variable) for variable in parent}


def _renamed(variables: tuple[int, ...], unifier: dict[int, int]) -> tuple[int, ...]:
    return tuple(unifier.get(variable, variable) for variable in variables)


def encoded(clause: Clause) -> tuple[Signed, ...]:
    """Return the literals of a candidate, which has variables only."""
    literals = encode(clause)
    if literals is None:
        raise ValueError(f"a candidate has variables only: {clause}")
    return literals
