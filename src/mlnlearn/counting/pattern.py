"""Patterns: atoms with numbered variables, as binding tables are made of.

A pattern is not the literal of a clause in numbers (`mlnlearn.logic.canonical`). It holds its
predicate and the names of its constants, which have other codes in each database, so that rules
made of patterns can be saved and asked of new data; the numbers of its variables are columns of a
binding table; and it has no sign. What bodies have in common whatever
the order of their literals is the canonical form of clauses in numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.canonical import ClauseKey, LiteralKey, canonical_key

EQUALS = "="
"""Name of the built-in predicate that compares two terms of a type."""

Argument: TypeAlias = int | str
"""A term of a pattern: the number of a variable, or the name of a constant."""

OPEN = 1 << 20
"""A variable that stands for an argument whose constants are told apart; it has no other name."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """An atom to be joined: variables by number, constants by name.

    Examples
    --------
    >>> Pattern(Predicate("inPhase", ("person", "phase")), (0, "Post_Generals")).variables
    (0,)
    """

    predicate: Predicate
    terms: tuple[Argument, ...]

    def __hash__(self) -> int:
        return hash((self.predicate.name, self.terms))

    @property
    def variables(self) -> tuple[int, ...]:
        """The variables' numbers, in order of occurrence, each once."""
        return tuple(dict.fromkeys(term for term in self.terms if isinstance(term, int)))


Body: TypeAlias = tuple[Pattern, ...]
"""A conjunction."""


def renamed(body: Body, bound: int) -> Body:
    """Give the new variables numbers by first occurrence.

    Examples
    --------
    >>> wrote = Predicate("publication", ("title", "person"))
    >>> renamed((Pattern(wrote, (5, 0)),), 2)[0].terms
    (2, 0)
    """
    numbers: dict[int, int] = {}
    result = []
    for pattern in body:
        terms = tuple(
            numbers.setdefault(term, bound + len(numbers))
            if isinstance(term, int) and bound <= term < OPEN
            else term
            for term in pattern.terms
        )
        result.append(Pattern(pattern.predicate, terms))
    return tuple(result)


class CanonicalBodies:
    """The canonical forms of conjunctions that extend one head, each made once.

    The head's arguments keep their numbers: they are those of its literal, which is part of the
    clause.

    Parameters
    ----------
    heads
        Number of the head's arguments, which are the first variables.

    Examples
    --------
    >>> wrote = Predicate("publication", ("title", "person"))
    >>> body = (Pattern(wrote, (2, 0)), Pattern(wrote, (2, 1)))
    >>> forms = CanonicalBodies(2)
    >>> forms.of(body) == forms.of(body[::-1]), forms.of(body[:1]) == forms.of(body[1:])
    (True, False)
    """

    def __init__(self, heads: int) -> None:
        self._head = (-1, *range(heads))
        self._labels: dict[tuple[Predicate, tuple[str | None, ...], int], int] = {}
        self._known: dict[Body, ClauseKey] = {}

    def of(self, body: Body) -> ClauseKey:
        """Return the form: equal for bodies that differ in order and in names of new variables."""
        found = self._known.get(body)
        if found is None:
            literals = [self._literal(p, body[:n].count(p)) for n, p in enumerate(body)]
            found = self._known[body] = canonical_key([self._head, *literals])
        return found

    def _literal(self, pattern: Pattern, before: int) -> LiteralKey:
        """Return a literal in numbers, that of a pattern that came before being another."""
        constants = tuple(term if isinstance(term, str) else None for term in pattern.terms)
        label = pattern.predicate, constants, before
        variables = (term for term in pattern.terms if isinstance(term, int))
        return self._labels.setdefault(label, len(self._labels)), *variables


def equality(kind: str) -> Predicate:
    """Return the built-in equality of a type.

    Examples
    --------
    >>> equality("person").types
    ('person', 'person')
    """
    return Predicate(EQUALS, (kind, kind))
