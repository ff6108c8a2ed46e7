"""Candidates: all connected clauses of few literals and variables, grouped by their atoms.

Clauses that differ only in signs have the same atoms, so that one compiled plan scores them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from mlnlearn.logic.atoms import Atom, Literal, Predicate, Variable
from mlnlearn.logic.canonical import canonical, canonical_order, item_of
from mlnlearn.logic.clauses import Clause, clause
from mlnlearn.logic.substitute import substitute
from mlnlearn.run import check_time

_MOST = 1_000_000


@dataclass(frozen=True, eq=False)
class Shape:
    """A set of atoms, and the clauses over them that are candidates."""

    atoms: tuple[Atom, ...]
    clauses: tuple[Clause, ...]

    @property
    def predicates(self) -> frozenset[Predicate]:
        """The predicates of the atoms."""
        return frozenset(atom.predicate for atom in self.atoms)


def enumerate_clauses(
    predicates: Sequence[Predicate], *, max_literals: int = 3, max_variables: int = 3
) -> list[Clause]:
    """Return all connected clauses, up to the names of variables; unit clauses are left out.

    A clause is connected where a path of shared variables leads from any literal to any other. The
    clauses of one literal with distinct variables belong to every network and are no candidates.
    Where those of so many literals would be millions, clauses have fewer.

    Examples
    --------
    >>> smokes = Predicate("smokes", ("person",))
    >>> friends = Predicate("friends", ("person", "person"))
    >>> found = enumerate_clauses([smokes, friends], max_literals=2, max_variables=2)
    >>> len(found), str(found[0]), str(found[-1])
    (24, 'friends(x1,x1)', 'friends(x1,x2) v smokes(x2)')
    """
    signed = {
        canonical(clause(*(Literal(a, s) for a, s in zip(atoms, signs, strict=True)))): None
        for atoms in _atom_sets(predicates, max_literals, max_variables)
        for signs in product((False, True), repeat=len(atoms))
        if not _is_unit(atoms)
    }
    ordered = sorted(signed, key=lambda c: (len(c), sorted(str(lit.atom) for lit in c), str(c)))
    return [c for c in ordered if len(c) > 1 or c.literals[0].positive]


def growing_types(given: Clause) -> frozenset[str]:
    """Return the types whose number of objects changes a clause's pull on an atom.

    A clause is a sum of products of atoms: of all its negative literals and any of its positive
    ones. A product that lacks a variable comes once for every object, as if the weight of that
    shorter product grew with the domain: ``courseTA(c,p) v project(q,p)`` gives every course of a
    person the weight of the clause times the number of projects. Where every product holds all
    variables, there is no such growth: the clause is *size-neutral*. Within one domain nothing is
    lost: clauses over the same atoms with other signs differ only in shorter products.

    Examples
    --------
    >>> p, q = Predicate("p", ("s",)), Predicate("q", ("s", "t"))
    >>> sorted(growing_types(clause(~Literal(q("x", "y")), p("x"))))
    []
    >>> sorted(growing_types(clause(q("x", "y"), ~Literal(p("x")))))
    ['t']
    """
    types: dict[Variable, str] = {}
    products: list[set[Variable]] = []
    negative: set[Variable] = set()
    for literal in given:
        if not isinstance(literal.atom, Atom):
            continue
        pairs = zip(literal.atom.terms, literal.atom.predicate.types, strict=True)
        own = {term: kind for term, kind in pairs if isinstance(term, Variable)}
        types |= own
        if literal.positive:
            products.append(set(own))
        else:
            negative |= set(own)
    # The shortest products: the negative literals alone, or each positive one where there are none.
    shortest = [negative] if negative else products
    return frozenset(types[v] for product_ in shortest for v in set(types) - product_)


def shapes_of(clauses: Iterable[Clause]) -> list[Shape]:
    """Group clauses by their atoms, up to the names of variables.

    Examples
    --------
    >>> p, q = Predicate("p", ("t",)), Predicate("q", ("t",))
    >>> found = shapes_of([clause(p("x"), q("x")), clause(~Literal(q("y")), p("y"))])
    >>> [[str(c) for c in shape.clauses] for shape in found]
    [['p(x1) v q(x1)', 'p(x1) v !q(x1)']]
    """
    groups: dict[tuple[Atom, ...], dict[Clause, None]] = {}
    for given in clauses:
        check_time()
        items = [item_of(literal.atom) for literal in given]
        order, _ = canonical_order(items, {})
        names = {variable: Variable(f"x{i}") for i, variable in enumerate(order, start=1)}
        renamed = sorted(substitute(given, names), key=lambda literal: str(literal.atom))
        atoms = tuple(lit.atom for lit in renamed if isinstance(lit.atom, Atom))
        groups.setdefault(atoms, {})[Clause(tuple(renamed))] = None
    return [Shape(atoms, tuple(members)) for atoms, members in groups.items()]


def _atom_sets(
    predicates: Sequence[Predicate], most: int, variables: int
) -> Iterator[tuple[Atom, ...]]:
    """Yield connected sets of atoms, smaller first, each once up to the names of variables."""
    level: list[tuple[Atom, ...]] = [()]
    for _ in range(most):
        if level and len(level) * len(list(_extensions(level[-1], predicates, variables))) > _MOST:
            return
        found: dict[tuple[Atom, ...], None] = {}
        for atoms in level:
            check_time()
            for atom in _extensions(atoms, predicates, variables):
                grown = canonical(clause(*atoms, atom))
                found[tuple(lit.atom for lit in grown if isinstance(lit.atom, Atom))] = None
        level = list(found)
        for atoms in level:
            check_time()
            yield atoms


def _extensions(
    atoms: tuple[Atom, ...], predicates: Sequence[Predicate], most: int
) -> Iterator[Atom]:
    """Yield the atoms that share a variable with a set, or any where the set is empty."""
    types = {
        term: kind
        for atom in atoms
        for term, kind in zip(atom.terms, atom.predicate.types, strict=True)
    }
    fresh = [Variable(f"new{i}") for i in range(most - len(types))]
    for predicate in predicates:
        for terms in product((*types, *fresh), repeat=predicate.arity):
            new = [term for term in dict.fromkeys(terms) if term not in types]
            if new != fresh[: len(new)] or (atoms and len(new) == len(set(terms))):
                continue
            kinds = dict(types)
            if all(
                kinds.setdefault(t, k) == k for t, k in zip(terms, predicate.types, strict=True)
            ):
                atom = Atom(predicate, tuple(terms))
                if atom not in atoms:
                    yield atom


def _is_unit(atoms: tuple[Atom, ...]) -> bool:
    return len(atoms) == 1 and len(set(atoms[0].terms)) == len(atoms[0].terms)
