"""A canonical form: equal for things that differ only in variable names and the order of parts.

The method is the textbook one for small structures: colour variables by where they occur, refine
the colours until they are stable, and where ties remain try each tied variable first, keeping the
smallest encoding. Clauses have few variables, so the search is tiny.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from mlnlearn.logic.atoms import AnyAtom, Comparison, Literal, Term, Variable
from mlnlearn.logic.clauses import Clause, clause
from mlnlearn.logic.substitute import substitute

# An item is a label and its terms. A comparison's label starts with "", which names no predicate.
Item = tuple[tuple[Any, ...], tuple[Term, ...]]
Encoding = tuple[Any, ...]

_MIRRORED = {">": "<", ">=": "<="}


def canonical_order(
    items: Sequence[Item], colours: Mapping[Variable, int]
) -> tuple[tuple[Variable, ...], Encoding]:
    """Order the variables of `items` so that isomorphic inputs get equal encodings.

    Parameters
    ----------
    items
        Labelled tuples of terms, in any order.
    colours
        Variables that must not be exchanged carry different colours (missing: 0).

    Returns
    -------
    order, encoding
        The variables in canonical order, and the items written with variable numbers.
    """
    ranks = {
        term: colours.get(term, 0)
        for _, terms in items
        for term in terms
        if isinstance(term, Variable)
    }
    return _search(items, _refine(items, ranks))


def _refine(items: Sequence[Item], ranks: dict[Variable, int]) -> dict[Variable, int]:
    while True:
        seen: dict[Variable, list[Any]] = {variable: [] for variable in ranks}
        for label, terms in items:
            shape = _encode_terms(label, terms, ranks)
            for place, term in enumerate(terms):
                if isinstance(term, Variable):
                    seen[term].append((label, 0 if _is_equality(label) else place, shape))
        signatures = {v: (ranks[v], tuple(sorted(where))) for v, where in seen.items()}
        order = {signature: rank for rank, signature in enumerate(sorted(set(signatures.values())))}
        refined = {variable: order[signature] for variable, signature in signatures.items()}
        if len(order) == len(set(ranks.values())):
            return refined
        ranks = refined


def _encode_terms(
    label: tuple[Any, ...], terms: Sequence[Term], ranks: Mapping[Variable, int]
) -> Any:
    encoded = tuple(
        (0, ranks[term]) if isinstance(term, Variable) else (1, term.name) for term in terms
    )
    return tuple(sorted(encoded)) if _is_equality(label) else encoded


def _is_equality(label: tuple[Any, ...]) -> bool:
    return label[:2] == ("", "=")


def _search(
    items: Sequence[Item], ranks: dict[Variable, int]
) -> tuple[tuple[Variable, ...], Encoding]:
    classes: dict[int, list[Variable]] = {}
    for variable, rank in ranks.items():
        classes.setdefault(rank, []).append(variable)
    tied = next((members for _, members in sorted(classes.items()) if len(members) > 1), None)
    if tied is None:
        order = tuple(sorted(ranks, key=lambda variable: ranks[variable]))
        numbers = {variable: number for number, variable in enumerate(order)}
        encoding = sorted((label, _encode_terms(label, terms, numbers)) for label, terms in items)
        return order, tuple(encoding)
    best: tuple[tuple[Variable, ...], Encoding] | None = None
    tried: list[Variable] = []
    for first in tied:
        if any(_are_twins(items, first, other) for other in tried):
            continue
        tried.append(first)
        split = {variable: 2 * rank + 1 for variable, rank in ranks.items()}
        split[first] -= 1
        found = _search(items, _refine(items, split))
        if best is None or found[1] < best[1]:
            best = found
    assert best is not None
    return best


def _are_twins(items: Sequence[Item], one: Variable, other: Variable) -> bool:
    """Tell whether exchanging two variables changes nothing: then one of them need be tried."""
    swap: dict[Term, Term] = {one: other, other: one}
    swapped = {(label, tuple(swap.get(term, term) for term in terms)) for label, terms in items}
    return swapped == set(items)


def item_of(atom: AnyAtom, *marks: int) -> Item:
    """Return the labelled form of an atom; `marks` (such as its sign) become part of the label."""
    if isinstance(atom, Comparison):
        return ("", atom.operator, *marks), atom.terms
    return (atom.predicate.name, *marks), atom.terms


@lru_cache(maxsize=65536)
def canonical(given: Clause) -> Clause:
    """Return the canonical variant of a clause.

    Two clauses that are equal up to the names of variables and the order of literals have the same
    canonical variant.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> p, q = Predicate("p", ("t", "t")), Predicate("q", ("t",))
    >>> one = clause(p("x", "y"), ~Literal(q("y")))
    >>> two = clause(~Literal(q("a")), p("b", "a"))
    >>> canonical(one) == canonical(two)
    True
    >>> print(canonical(one))
    p(x1,x2) v !q(x2)
    """
    mirrored = clause(*(Literal(_mirror(lit.atom), lit.positive) for lit in given))
    items = [item_of(literal.atom, int(literal.positive)) for literal in mirrored]
    order, _ = canonical_order(items, {})
    names = {variable: Variable(f"x{i}") for i, variable in enumerate(order, start=1)}
    numbers = {name: i for i, name in enumerate(names.values())}
    renamed = [_sorted_equality(lit) for lit in substitute(mirrored, names)]

    def place(literal: Literal) -> tuple[Any, ...]:
        label, terms = item_of(literal.atom, int(literal.positive))
        return label, _encode_terms(label, terms, numbers)

    return clause(*sorted(renamed, key=place))


def _mirror(atom: AnyAtom) -> AnyAtom:
    if isinstance(atom, Comparison) and atom.operator in _MIRRORED:
        return Comparison(_MIRRORED[atom.operator], atom.right, atom.left)
    return atom


def _sorted_equality(literal: Literal) -> Literal:
    atom = literal.atom
    if isinstance(atom, Comparison) and atom.operator == "=" and str(atom.right) < str(atom.left):
        return Literal(Comparison("=", atom.right, atom.left), literal.positive)
    return literal
