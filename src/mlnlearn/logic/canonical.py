"""A canonical form: equal for things that differ only in variable names and the order of parts.

The method is the textbook one for small structures: colour variables by where they occur, refine
the colours until they are stable, and where ties remain try each tied variable first, keeping the
smallest encoding. Clauses have few variables, so the search is tiny. It works on numbers, on which
it is many times faster than on terms: a literal is the number of its label, then those of its
variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

from mlnlearn.logic.atoms import AnyAtom, Atom, Comparison, Literal, Predicate, Term, Variable
from mlnlearn.logic.clauses import Clause, clause
from mlnlearn.logic.substitute import substitute

LiteralKey = tuple[int, ...]
ClauseKey = tuple[LiteralKey, ...]
# An item is a label and its terms. A comparison's label starts with "", which names no predicate.
Item = tuple[tuple[Any, ...], tuple[Term, ...]]
Encoding = tuple[Any, ...]

_MIRRORED = {">": "<", ">=": "<="}


def canonical_key(literals: Iterable[LiteralKey]) -> ClauseKey:
    """Return a key that is equal for clauses which differ in names and order only.

    Parameters
    ----------
    literals
        Of each, the number of its signed predicate and the numbers of its variables.

    Examples
    --------
    >>> canonical_key([(0, 7, 3), (1, 3)]) == canonical_key([(1, 5), (0, 2, 5)])
    True
    >>> canonical_key([(0, 7, 3), (1, 3)])
    ((0, 0, 1), (1, 1))
    """
    given = tuple(set(literals))
    return _smallest(given, {term: 0 for literal in given for term in literal[1:]})[0]


def is_part(part: ClauseKey, key: ClauseKey) -> bool:
    """Tell whether some literals of a clause are another one, which is given in canonical form.

    Examples
    --------
    >>> is_part(canonical_key([(0, 5, 3), (1, 3)]), ((0, 1, 0), (1, 0), (1, 1)))
    True
    >>> is_part(canonical_key([(0, 5, 3), (1, 3)]), ((0, 0, 1), (1, 0)))
    False
    """
    wanted = sorted(literal[0] for literal in part)
    return any(
        sorted(literal[0] for literal in chosen) == wanted and canonical_key(chosen) == part
        for chosen in combinations(key, len(part))
    )


def coded(given: Clause, number: Callable[[Predicate], int]) -> ClauseKey:
    """Return a plain clause in numbers: of literals ``2p`` or, asserted, ``2p + 1``.

    Variables are numbered as they come.

    Examples
    --------
    >>> p, q = Predicate("p", ("t", "t")), Predicate("q", ("t",))
    >>> coded(clause(p("x", "y"), ~Literal(q("y"))), [p, q].index)
    ((1, 0, 1), (2, 1))
    """
    if not given.is_plain:
        raise ValueError(f"a clause in numbers has variables only: {given}")
    names: dict[Term, int] = {}
    return tuple(
        (
            2 * number(atom.predicate) + literal.positive,
            *(names.setdefault(term, len(names)) for term in atom.terms),
        )
        for literal, atom in zip(given, given.atoms, strict=True)
    )


def key_of(given: Clause, number: Callable[[Predicate], int]) -> ClauseKey | None:
    """Return the key of a clause, `coded`; None where it is not plain."""
    return canonical_key(coded(given, number)) if given.is_plain else None


def clause_of(key: ClauseKey, labels: Sequence[tuple[Predicate, bool]]) -> Clause:
    """Return the canonical clause of a key, whose numbers are those of some signed predicates.

    Examples
    --------
    >>> p, q = Predicate("p", ("t", "t")), Predicate("q", ("t",))
    >>> print(clause_of(((0, 0, 1), (1, 1)), [(p, True), (q, False)]))
    p(x1,x2) v !q(x2)
    """
    literals = []
    for label, *terms in key:
        predicate, positive = labels[label]
        atom = Atom(predicate, tuple(Variable(f"x{term + 1}") for term in terms))
        literals.append(Literal(atom, positive))
    return canonical(clause(*literals))


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
    variables = list(
        dict.fromkeys(t for _, terms in items for t in terms if isinstance(t, Variable))
    )
    number = {variable: place for place, variable in enumerate(variables)}
    split = [_without_constants(label, terms) for label, terms in items]
    labels = {label: place for place, label in enumerate(sorted({label for label, _ in split}))}
    literals = {(labels[label], *(number[v] for v in own)) for label, own in split}
    # an equality holds both ways
    literals |= {
        (labels[label], *(number[v] for v in reversed(own)))
        for label, own in split
        if _is_equality(label[0])
    }
    ranks = {place: colours.get(variable, 0) for variable, place in number.items()}
    _, places = _smallest(tuple(literals), ranks)
    order = tuple(sorted(variables, key=lambda variable: places[number[variable]]))
    new = {variable: place for place, variable in enumerate(order)}
    return order, tuple(sorted((label, _encode_terms(label, terms, new)) for label, terms in items))


def _without_constants(
    label: tuple[Any, ...], terms: Sequence[Term]
) -> tuple[tuple[Any, ...], list[Variable]]:
    """Make the constants of an item, and where they stand, part of its label."""
    constants = tuple(
        (0 if _is_equality(label) else place, term.name)
        for place, term in enumerate(terms)
        if not isinstance(term, Variable)
    )
    return (label, constants), [term for term in terms if isinstance(term, Variable)]


def _encode_terms(
    label: tuple[Any, ...], terms: Sequence[Term], numbers: Mapping[Variable, int]
) -> Any:
    encoded = tuple(
        (0, numbers[term]) if isinstance(term, Variable) else (1, term.name) for term in terms
    )
    return tuple(sorted(encoded)) if _is_equality(label) else encoded


def _is_equality(label: tuple[Any, ...]) -> bool:
    return label[:2] == ("", "=")


def _refined(literals: ClauseKey, ranks: dict[int, int]) -> dict[int, int]:
    """Tell variables apart by where they stand, until nothing changes."""
    classes = len(set(ranks.values()))
    while classes < len(ranks):
        seen: dict[int, list[tuple[int, ...]]] = {term: [] for term in ranks}
        for literal in literals:
            shape = [ranks[term] for term in literal[1:]]
            for place, term in enumerate(literal[1:]):
                seen[term].append((literal[0], place, *shape))
        marks = {term: (ranks[term], sorted(where)) for term, where in seen.items()}
        ordered = sorted(marks.values())
        ranks = {term: ordered.index(mark) for term, mark in marks.items()}
        found = len(set(ranks.values()))
        if found == classes:
            break
        classes = found
    return ranks


def _smallest(literals: ClauseKey, ranks: dict[int, int]) -> tuple[ClauseKey, dict[int, int]]:
    """Return the smallest way to write literals that keeps to the ranks, and each one's number."""
    ranks = _refined(literals, ranks)
    values = list(ranks.values())
    tied = [term for term, rank in ranks.items() if values.count(rank) > 1]
    if not tied:
        place = {term: number for number, term in enumerate(sorted(ranks, key=ranks.__getitem__))}
        renamed = sorted((literal[0], *[place[t] for t in literal[1:]]) for literal in literals)
        return tuple(renamed), place
    lowest = min(ranks[term] for term in tied)
    ways = []
    tried: list[int] = []
    for first in tied:
        if ranks[first] > lowest or any(_are_twins(literals, first, other) for other in tried):
            continue
        tried.append(first)
        split = {term: 2 * rank + 1 for term, rank in ranks.items()}
        split[first] -= 1
        ways.append(_smallest(literals, split))
    return min(ways, key=lambda way: way[0])


def _are_twins(literals: ClauseKey, one: int, other: int) -> bool:
    """Tell whether exchanging two variables changes nothing: then one of them need be tried."""
    swap = {one: other, other: one}
    swapped = {(literal[0], *[swap.get(t, t) for t in literal[1:]]) for literal in literals}
    return swapped == set(literals)


def item_of(atom: AnyAtom, *marks: int) -> Item:
    """Return the labelled form of an atom; `marks` (such as its sign) become part of the label."""
    if isinstance(atom, Comparison):
        shape = atom.operator
        if atom.calculates:
            shape = str(atom.with_terms(lambda _: Variable("_")))
        return ("", shape, *marks), atom.terms
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
    if isinstance(atom, Comparison) and atom.equates and str(atom.right) < str(atom.left):
        return Literal(Comparison("=", atom.right, atom.left), literal.positive)
    return literal
