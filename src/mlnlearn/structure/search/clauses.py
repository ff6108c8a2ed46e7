"""Relations between candidate clauses."""

from __future__ import annotations

from collections import Counter

from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.canonical import is_part, key_of
from mlnlearn.logic.clauses import Clause


def predicates_in(given: Clause) -> frozenset[str]:
    """Return the names of a clause's predicates.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.logic.clauses import clause
    >>> p = Predicate("p", ("t",))
    >>> sorted(predicates_in(clause(p("x"), p("y"))))
    ['p']
    """
    return frozenset(atom.predicate.name for atom in given.atoms)


def most_alike(given: Clause) -> int:
    """Return how many literals have the predicate that occurs most often."""
    return max(Counter(atom.predicate for atom in given.atoms).values())


def are_related(one: Clause, other: Clause) -> bool:
    """Tell whether some literals of either clause are the other, up to the names of variables.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.logic.clauses import clause
    >>> p, q = Predicate("p", ("t", "t")), Predicate("q", ("t",))
    >>> are_related(clause(p("x", "y"), q("y")), clause(q("a"), q("b"), p("b", "a")))
    True
    >>> are_related(clause(p("x", "y"), q("y")), clause(q("b"), p("b", "a")))
    False
    """
    numbers: dict[Predicate, int] = {}
    keys = [key_of(c, lambda p: numbers.setdefault(p, len(numbers))) for c in (one, other)]
    short, long = sorted((key for key in keys if key is not None), key=len)
    return is_part(short, long)
