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

All this is said of clauses in numbers (`mlnlearn.logic.canonical.coded`), in which constants may
stand too, below zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from mlnlearn.logic.canonical import ClauseKey, LiteralKey
from mlnlearn.logic.numbering import solve

Terms = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A count of violated groundings, by the arguments of the flipped atom.

    Attributes
    ----------
    terms
        The arguments of the flipped atom.
    rest
        Literals that must be false.
    coefficient
        How often the count is added.
    unifier
        What the clause's variables are.
    """

    terms: Terms
    rest: ClauseKey
    coefficient: int
    unifier: Mapping[int, int]


def is_tautology(literals: Iterable[LiteralKey]) -> bool:
    """Tell whether a clause holds an atom and its negation.

    Examples
    --------
    >>> is_tautology(((0, 1, 2), (1, 2, 1))), is_tautology(((0, 1, 2), (1, 1, 2)))
    (False, True)
    """
    distinct = set(literals)
    return any((label ^ 1, *terms) in distinct for label, *terms in distinct)


def cases(literals: ClauseKey, predicate: int, exclusive: tuple[int, ...] = ()) -> tuple[Case, ...]:
    """Return the cases whose counts add up to the flip counts of a predicate's atoms.

    Parameters
    ----------
    literals
        The clause.
    predicate
        The number of the predicate whose atoms flip.
    exclusive
        Its places of which exactly one value holds; the counts are then those of setting a block
        of atoms, all false, to one value.

    Examples
    --------
    Of ``p(x,y) v !q(y)``, with ``p`` as number 0 and ``q`` as number 1:

    >>> [case] = cases(((1, 0, 1), (2, 1)), 0)
    >>> print(case.terms, case.rest, case.coefficient)
    (0, 1) ((2, 1),) 1
    """
    own = tuple(literal for literal in literals if literal[0] >> 1 == predicate)
    elsewhere = tuple(literal for literal in literals if literal[0] >> 1 != predicate)
    if len(own) == 1:
        return (Case(own[0][1:], elsewhere, _sign(own[0]), {}),)
    return _cases(own, elsewhere, exclusive)


@lru_cache(maxsize=65536)
def _cases(own: ClauseKey, elsewhere: ClauseKey, exclusive: tuple[int, ...]) -> tuple[Case, ...]:
    found: dict[tuple[Terms, frozenset[LiteralKey]], tuple[int, Mapping[int, int]]] = {}
    for meeting in _meetings(own, exclusive):
        unifier = solve(meeting.equal)
        if unifier is None:
            continue
        rest = frozenset(
            (label, *(unifier.get(term, term) for term in terms))
            for label, *terms in (*elsewhere, *meeting.rest)
        )
        if not is_tautology(rest):
            key = tuple(unifier.get(term, term) for term in meeting.terms), rest
            number, first = found.get(key, (0, unifier))
            found[key] = number + meeting.coefficient, first
    return tuple(
        Case(terms, tuple(sorted(rest)), number, unifier)
        for (terms, rest), (number, unifier) in found.items()
        if number
    )


def _sign(literal: LiteralKey) -> int:
    return 1 if literal[0] & 1 else -1


class _Meeting(NamedTuple):
    """How the literals of a predicate meet a ground atom.

    Attributes
    ----------
    terms
        The atom's arguments.
    equal
        Pairs of terms that must be the same.
    rest
        Literals of the predicate that must be false in the data.
    coefficient
        How often such groundings count.
    """

    terms: Terms
    equal: Pairs
    rest: ClauseKey
    coefficient: int


def _meetings(own: Sequence[LiteralKey], exclusive: tuple[int, ...]) -> Iterator[_Meeting]:
    """Yield the ways in which some literals of a predicate, all of one sign, are the atom."""
    for chosen in product((False, True), repeat=len(own)):
        same = [literal for literal, is_atom in zip(own, chosen, strict=True) if is_atom]
        others = [literal for literal, is_atom in zip(own, chosen, strict=True) if not is_atom]
        if len({label for label, *_ in same}) != 1:
            continue
        terms = same[0][1:]
        start = tuple(pair for literal in same[1:] for pair in _pairs(terms, literal[1:], ()))
        for parts in product(*(_false_beside(terms, literal, exclusive) for literal in others)):
            coefficient = _sign(same[0])
            equal, rest = start, ClauseKey()
            for part in parts:
                coefficient *= part.coefficient
                equal += part.equal
                rest += part.rest
            yield _Meeting(terms, equal, rest, coefficient)


def _false_beside(
    terms: Terms, literal: LiteralKey, exclusive: tuple[int, ...]
) -> tuple[_Meeting, ...]:
    """Return what adds up to: a literal is not the atom, and false, the atom's block being so."""
    label, *own = literal
    anywhere = _Meeting(terms, (), (literal,), 1)
    block = _pairs(terms, own, exclusive)
    if not (label & 1 and exclusive):
        return anywhere, _Meeting(terms, block, (literal,), -1)
    itself = _Meeting(terms, _pairs(terms, own, ()), (), -1)
    return anywhere, _Meeting(terms, block, ((label ^ 1, *own),), 1), itself


def _pairs(one: Sequence[int], other: Sequence[int], exclusive: tuple[int, ...]) -> Pairs:
    """Return the terms that are equal where two atoms are the same but for exclusive places."""
    pairs = enumerate(zip(one, other, strict=True))
    return tuple(pair for place, pair in pairs if place not in exclusive)
