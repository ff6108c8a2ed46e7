"""Links: how the arguments of two predicates may be shared (Dinh et al. 2011, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from mlnlearn.logic.atoms import Literal, Predicate, Variable
from mlnlearn.logic.canonical import canonical
from mlnlearn.logic.clauses import Clause, clause


@dataclass(frozen=True, slots=True, order=True)
class PredicateLink:
    """Pairs of argument places, one of each predicate, that hold the same variable.

    Examples
    --------
    >>> print(PredicateLink(((0, 1), (1, 0))))
    <0 1|1 0>
    """

    pairs: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return "<" + "|".join(f"{u} {v}" for u, v in self.pairs) + ">"

    def turned(self) -> PredicateLink:
        """Return the link seen from the second predicate."""
        return PredicateLink(tuple((v, u) for u, v in self.pairs))


def links(first: Predicate, second: Predicate) -> tuple[PredicateLink, ...]:
    """Return all links between the template atoms of two predicates (definition 2).

    Some places of the first predicate, in order, are each paired with a place of the same type of
    the second. Lists that pair the same places in another order are the same link. Between
    different predicates no place is paired twice, so that neither literal repeats a variable.

    Examples
    --------
    >>> advised = Predicate("AdvisedBy", ("person", "person"))
    >>> print(*links(advised, advised))
    <0 0> <0 1> <1 0> <1 1> <0 0|1 0> <0 0|1 1> <0 1|1 0> <0 1|1 1>
    >>> print(*links(Predicate("Professor", ("person",)), advised))
    <0 0> <0 1>
    """
    choices = [
        [None, *(v for v, other in enumerate(second.types) if other == kind)]
        for kind in first.types
    ]
    found = []
    for chosen in product(*choices):
        pairs = tuple((u, v) for u, v in enumerate(chosen) if v is not None)
        once = len({v for _, v in pairs}) == len(pairs)
        if pairs and (once or first == second):
            found.append(PredicateLink(pairs))
    return tuple(sorted(found, key=lambda link: (len(link.pairs), link)))


@dataclass(frozen=True, slots=True)
class SignedPredicate:
    """A predicate, or its negation."""

    predicate: Predicate
    positive: bool = True

    def __str__(self) -> str:
        return self.predicate.name if self.positive else f"!{self.predicate.name}"


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two nodes.

    Examples
    --------
    >>> advised = SignedPredicate(Predicate("advisedBy", ("person", "person")), positive=False)
    >>> student = SignedPredicate(Predicate("student", ("person",)))
    >>> print(Edge(advised, student, PredicateLink(((0, 0),))))
    !advisedBy <0 0> student
    """

    first: SignedPredicate
    second: SignedPredicate
    link: PredicateLink

    def __str__(self) -> str:
        return f"{self.first} {self.link} {self.second}"

    def turned(self) -> Edge:
        """Return the edge seen from its second node."""
        return Edge(self.second, self.first, self.link.turned())


def formula_of(edge: Edge) -> Clause:
    """Return the binary clause that satisfies an edge's link (definition 3), in canonical form.

    Two literals that become equal are one literal.

    Examples
    --------
    >>> advised = SignedPredicate(Predicate("AdvisedBy", ("person", "person")))
    >>> professor = SignedPredicate(Predicate("Professor", ("person",)))
    >>> print(formula_of(Edge(professor, advised, PredicateLink(((0, 1),)))))
    AdvisedBy(x1,x2) v Professor(x2)
    """
    first = [Variable(f"a{place}") for place in range(edge.first.predicate.arity)]
    second = [Variable(f"b{place}") for place in range(edge.second.predicate.arity)]
    for u, v in edge.link.pairs:
        # a place of the second that is linked twice makes the two places of the first equal
        old, new = second[v], first[u]
        first = [new if term == old else term for term in first]
        second = [new if term == old else term for term in second]
    return canonical(
        clause(
            Literal(edge.first.predicate(*first), edge.first.positive),
            Literal(edge.second.predicate(*second), edge.second.positive),
        )
    )
