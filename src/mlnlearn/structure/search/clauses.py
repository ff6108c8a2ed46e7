"""Relations between candidate clauses."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from mlnlearn.logic.atoms import Atom
from mlnlearn.logic.canonical import canonical
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
    return frozenset(lit.atom.predicate.name for lit in given if isinstance(lit.atom, Atom))


def most_alike(given: Clause) -> int:
    """Return how many literals have the predicate that occurs most often."""
    return max(Counter(lit.atom.predicate for lit in given if isinstance(lit.atom, Atom)).values())


def is_subclause(short: Clause, long: Clause) -> bool:
    """Tell whether some literals of one clause are the other, up to the names of variables.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.logic.clauses import clause
    >>> p, q = Predicate("p", ("t", "t")), Predicate("q", ("t",))
    >>> is_subclause(clause(p("x", "y"), q("y")), clause(q("a"), q("b"), p("b", "a")))
    True
    >>> is_subclause(clause(p("x", "y"), q("y")), clause(q("b"), p("b", "a")))
    False
    """
    wanted = canonical(short)
    return any(canonical(Clause(part)) == wanted for part in combinations(long, len(short)))


def are_related(one: Clause, other: Clause) -> bool:
    """Tell whether either clause is a sub-clause of the other."""
    short, long = sorted((one, other), key=len)
    return is_subclause(short, long)
