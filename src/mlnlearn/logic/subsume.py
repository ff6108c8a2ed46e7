"""θ-subsumption: when one clause is a generalisation of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlnlearn.logic.atoms import Atom, Comparison, Literal, Term, Variable
from mlnlearn.logic.clauses import Clause

_MIRRORED = {">": "<", ">=": "<="}
_Shape = tuple[object, bool]
_Rows = dict[_Shape, list[tuple[Term, ...]]]
_Goal = tuple[_Shape, tuple[Term, ...]]


def subsumes(general: Clause, specific: Clause) -> bool:
    """Tell whether some substitution θ makes every literal of `general` one of `specific`.

    Then `general` implies `specific`. The test is syntactic (comparisons are matched like atoms,
    ``x = y`` also as ``y = x``, ``x < y`` also as ``y > x``), and NP-complete in the worst case:
    the search always matches the literal with the fewest partners left, and backtracks.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.logic.clauses import clause
    >>> likes = Predicate("likes", ("person", "person"))
    >>> subsumes(clause(likes("x", "y")), clause(likes("z", "z"), ~Literal(likes("z", "Anna"))))
    True
    >>> subsumes(clause(likes("x", "x")), clause(likes("x", "y")))
    False
    """
    targets: _Rows = {}
    for literal in specific:
        shape, terms = _goal(literal)
        rows = targets.setdefault(shape, [])
        rows.append(terms)
        if shape[0] == "=":
            rows.append(terms[::-1])
    goals = list(dict.fromkeys(map(_goal, general)))
    if any(shape not in targets for shape, _ in goals):
        return False
    return _match(goals, targets, {})


def equivalent(left: Clause, right: Clause) -> bool:
    """Tell whether two clauses subsume each other: they mean the same, up to redundant literals.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.logic.clauses import clause
    >>> likes = Predicate("likes", ("person", "person"))
    >>> equivalent(clause(likes("x", "y")), clause(likes("a", "b"), likes("a", "c")))
    True
    """
    return subsumes(left, right) and subsumes(right, left)


def _goal(literal: Literal) -> _Goal:
    atom = literal.atom
    if isinstance(atom, Atom):
        return (atom.predicate, literal.positive), atom.terms
    return _comparison(atom, literal.positive)


def _comparison(atom: Comparison, positive: bool) -> _Goal:
    if atom.operator in _MIRRORED:
        return (_MIRRORED[atom.operator], positive), (atom.right, atom.left)
    return (atom.operator, positive), atom.terms


def _match(goals: list[_Goal], targets: _Rows, bound: Mapping[Variable, Term]) -> bool:
    """Match all goals under the bindings so far, the most constrained first."""
    if not goals:
        return True
    fewest: list[dict[Variable, Term]] | None = None
    chosen = 0
    for place, (shape, terms) in enumerate(goals):
        ways = list(_ways(terms, targets[shape], bound))
        if not ways:
            return False
        if fewest is None or len(ways) < len(fewest):
            fewest, chosen = ways, place
        if len(ways) == 1:
            break
    rest = goals[:chosen] + goals[chosen + 1 :]
    return any(_match(rest, targets, {**bound, **way}) for way in fewest or ())


def _ways(
    terms: tuple[Term, ...], rows: list[tuple[Term, ...]], bound: Mapping[Variable, Term]
) -> Iterator[dict[Variable, Term]]:
    """Yield the new bindings that turn the terms into one of the rows, each once."""
    seen = set()
    for row in rows:
        new: dict[Variable, Term] = {}
        for term, target in zip(terms, row, strict=True):
            image = term
            if isinstance(term, Variable):
                image = bound.get(term) or new.setdefault(term, target)
            if image != target:
                break
        else:
            key = frozenset(new.items())
            if key not in seen:
                seen.add(key)
                yield new
