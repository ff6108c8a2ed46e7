"""Where a ground atom meets a clause: the cases whose counts add up to its flip count.

A grounding of a clause is violated where all its literals are false. Flipping a ground atom ``a``
matters in those groundings in which the literals of some set ``S`` are ``a`` and all others are
false. They must be false in the data, and not be ``a`` themselves; the latter by
inclusion-exclusion over the sets ``R`` of other literals that are ``a`` after all. Where ``S`` has
both signs the grounding is true anyway. So the flip count is a sum of counts of violated
groundings, one for each pair ``(S, R)``, with the arguments of both unified. The flip count of a
conjunction of atoms is that of the clause that denies them all, with the other sign.

Where a predicate has exclusive places (declared ``!``), a whole block of atoms, those that agree on
the other places, is taken as false before ``a`` becomes true. Then a positive literal beside ``S``
is false where it is false in the data, or true in the data but in the block, and is not ``a``; a
denied one is false where it is true in the data and not in the block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple

from mlnlearn.logic.atoms import Atom, Predicate, Term, Variable
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.substitute import solve_equalities, substitute


class Signed(NamedTuple):
    """A literal that is no comparison."""

    atom: Atom
    positive: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A count of violated groundings, by the arguments of the flipped atom.

    Attributes
    ----------
    pattern
        The flipped atom.
    rest
        Literals that must be false.
    coefficient
        How often the count is added.
    unifier
        What the clause's variables are.
    """

    pattern: Atom
    rest: tuple[Signed, ...]
    coefficient: int
    unifier: Mapping[Variable, Term]


def encode(clause: Clause) -> tuple[Signed, ...] | None:
    """Return the literals of a clause; None where it has constants or comparisons."""
    found = []
    for literal in clause:
        if not isinstance(literal.atom, Atom):
            return None
        if not all(isinstance(term, Variable) for term in literal.atom.terms):
            return None
        found.append(Signed(literal.atom, literal.positive))
    return tuple(found)


def encoded(clause: Clause) -> tuple[Signed, ...]:
    """Return the literals of a candidate, which has variables only."""
    literals = encode(clause)
    if literals is None:
        raise ValueError(f"a candidate has variables only: {clause}")
    return literals


def is_tautology(literals: Sequence[Signed]) -> bool:
    """Tell whether a clause holds an atom and its negation."""
    return any(
        one.positive != other.positive and one.atom == other.atom
        for one, other in combinations(literals, 2)
    )


def cases(
    literals: tuple[Signed, ...], predicate: Predicate, exclusive: tuple[int, ...] = ()
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
    >>> p, q = Predicate("p", ("t", "t")), Predicate("q", ("t",))
    >>> [case] = cases((Signed(p("x", "y"), True), Signed(q("y"), False)), p)
    >>> print(case.pattern, case.rest[0].atom, case.coefficient)
    p(x,y) q(y) 1
    """
    own = [literal for literal in literals if literal.atom.predicate == predicate]
    elsewhere = [literal for literal in literals if literal.atom.predicate != predicate]
    if len(own) == 1:
        return (Case(own[0].atom, tuple(elsewhere), 1 if own[0].positive else -1, {}),)
    return _cases(tuple(own), tuple(elsewhere), exclusive)


@lru_cache(maxsize=65536)
def _cases(
    own: tuple[Signed, ...], elsewhere: tuple[Signed, ...], exclusive: tuple[int, ...]
) -> tuple[Case, ...]:
    found: dict[tuple[Atom, frozenset[Signed]], tuple[int, Mapping[Variable, Term]]] = {}
    for meeting in _meetings(own, exclusive):
        unifier = solve_equalities(meeting.equal)
        if unifier is None:
            continue
        rest = frozenset(
            Signed(substitute(literal.atom, unifier), literal.positive)
            for literal in (*elsewhere, *meeting.rest)
        )
        if not is_tautology(tuple(rest)):
            key = substitute(meeting.atom, unifier), rest
            number, first = found.get(key, (0, unifier))
            found[key] = number + meeting.coefficient, first
    return tuple(
        Case(pattern, tuple(sorted(rest, key=_order)), number, unifier)
        for (pattern, rest), (number, unifier) in found.items()
        if number
    )


def _order(literal: Signed) -> tuple[str, bool]:
    return str(literal.atom), literal.positive


class _Meeting(NamedTuple):
    """How the literals of a predicate meet a ground atom.

    Attributes
    ----------
    atom
        The atom.
    equal
        Pairs of terms that must be the same.
    rest
        Literals of the predicate that must be false in the data.
    coefficient
        How often such groundings count.
    """

    atom: Atom
    equal: tuple[tuple[Term, Term], ...]
    rest: tuple[Signed, ...]
    coefficient: int


def _meetings(own: Sequence[Signed], exclusive: tuple[int, ...]) -> Iterator[_Meeting]:
    """Yield the ways in which some literals of a predicate, all of one sign, are the atom."""
    for chosen in product((False, True), repeat=len(own)):
        same = [literal for literal, is_atom in zip(own, chosen, strict=True) if is_atom]
        others = [literal for literal, is_atom in zip(own, chosen, strict=True) if not is_atom]
        if not same or len({literal.positive for literal in same}) > 1:
            continue
        atom = same[0].atom
        start = tuple(pair for literal in same[1:] for pair in _pairs(atom, literal.atom, ()))
        for parts in product(*(_false_beside(atom, literal, exclusive) for literal in others)):
            coefficient = 1 if same[0].positive else -1
            equal, rest = start, tuple[Signed, ...]()
            for part in parts:
                coefficient *= part.coefficient
                equal += part.equal
                rest += part.rest
            yield _Meeting(atom, equal, rest, coefficient)


def _false_beside(atom: Atom, literal: Signed, exclusive: tuple[int, ...]) -> tuple[_Meeting, ...]:
    """Return what adds up to: a literal is not the atom, and false, the atom's block being so."""
    anywhere = _Meeting(atom, (), (literal,), 1)
    block = _pairs(atom, literal.atom, exclusive)
    if not (literal.positive and exclusive):
        return anywhere, _Meeting(atom, block, (literal,), -1)
    itself = _Meeting(atom, _pairs(atom, literal.atom, ()), (), -1)
    return anywhere, _Meeting(atom, block, (Signed(literal.atom, False),), 1), itself


def _pairs(one: Atom, other: Atom, exclusive: tuple[int, ...]) -> tuple[tuple[Term, Term], ...]:
    """Return the terms that are equal where two atoms are the same but for exclusive places."""
    pairs = enumerate(zip(one.terms, other.terms, strict=True))
    return tuple(pair for place, pair in pairs if place not in exclusive)
