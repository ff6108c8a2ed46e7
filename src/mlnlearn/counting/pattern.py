"""Patterns: atoms with numbered variables, as binding tables are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from mlnlearn.logic.atoms import Predicate

EQUALS = "="
"""Name of the built-in predicate that compares two terms of a type."""

Argument: TypeAlias = int | str
"""A term of a pattern: the number of a variable, or the name of a constant."""


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


def equality(kind: str) -> Predicate:
    """Return the built-in equality of a type.

    Examples
    --------
    >>> equality("person").types
    ('person', 'person')
    """
    return Predicate(EQUALS, (kind, kind))
