"""Substitution of terms for variables, and unification of function-free atoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from mlnlearn.logic.atoms import AnyAtom, Atom, Comparison, Literal, Term, Variable
from mlnlearn.logic.clauses import Clause, clause
from mlnlearn.logic.formulas import (
    EitherSign,
    Exists,
    Forall,
    Formula,
    children,
    free_variables,
    with_children,
)
from mlnlearn.logic.numbering import Numbering, solve

Substitution = Mapping[Variable, Term]
T = TypeVar("T", Atom, Comparison, AnyAtom, Literal, Clause)


def substitute(part: T, mapping: Substitution) -> T:
    """Replace variables in an atom, comparison, literal or clause.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Constant, Predicate
    >>> likes = Predicate("likes", ("person", "person"))
    >>> print(substitute(likes("x", "y"), {Variable("x"): Constant("Anna")}))
    likes(Anna,y)
    """
    if isinstance(part, Atom):
        return Atom(part.predicate, tuple(_replace(term, mapping) for term in part.terms))
    if isinstance(part, Comparison):
        return part.with_terms(lambda term: _replace(term, mapping))
    if isinstance(part, Literal):
        return Literal(substitute(part.atom, mapping), part.positive)
    return clause(*(substitute(literal, mapping) for literal in part))


def _replace(term: Term, mapping: Substitution) -> Term:
    return mapping.get(term, term) if isinstance(term, Variable) else term


def substitute_formula(formula: Formula, mapping: Substitution) -> Formula:
    """Replace free variables in a formula; bound variables are renamed where they would capture.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> likes = Predicate("likes", ("person", "person"))
    >>> x, y = Variable("x"), Variable("y")
    >>> print(substitute_formula(Exists((y,), likes("x", "y")), {x: y}))
    EXIST y1 likes(y,y1)
    """
    match formula:
        case Atom():
            return substitute(formula, mapping)
        case Comparison():
            return substitute(formula, mapping)
        case EitherSign(atom):
            return EitherSign(substitute(atom, mapping))
        case Exists(variables, body):
            return Exists(*_under_quantifier(variables, body, mapping))
        case Forall(variables, body):
            return Forall(*_under_quantifier(variables, body, mapping))
    parts = [substitute_formula(part, mapping) for part in children(formula)]
    return with_children(formula, parts)


def _under_quantifier(
    variables: tuple[Variable, ...], body: Formula, mapping: Substitution
) -> tuple[tuple[Variable, ...], Formula]:
    free = set(free_variables(body)) - set(variables)
    inner: dict[Variable, Term] = {v: t for v, t in mapping.items() if v in free}
    taken = {t for t in inner.values() if isinstance(t, Variable)} | free
    renamed = []
    for variable in variables:
        fresh = variable
        number = 1
        while fresh in taken:
            fresh = Variable(f"{variable.name}{number}")
            number += 1
        taken.add(fresh)
        renamed.append(fresh)
        if fresh != variable:
            inner[variable] = fresh
    return tuple(renamed), substitute_formula(body, inner)


def renamed_apart(formula: Formula) -> Formula:
    """Give quantifiers variables of their own, so that a name has one meaning in all the formula.

    A bound variable keeps its name where no other variable has it.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.logic.formulas import And
    >>> p = Predicate("p", ("t",))
    >>> x = Variable("x")
    >>> print(renamed_apart(And((p("x"), Exists((x,), p("x"))))))
    p(x) ^ (EXIST x#1 p(x#1))
    """
    taken = set(free_variables(formula))

    def own(variable: Variable) -> Variable:
        name = variable
        number = 1
        while name in taken:
            name = Variable(f"{variable.name}#{number}")
            number += 1
        taken.add(name)
        return name

    def walk(part: Formula) -> Formula:
        if isinstance(part, Exists | Forall):
            names = {variable: own(variable) for variable in part.variables}
            clashes = {old: new for old, new in names.items() if old != new}
            body = substitute_formula(part.body, clashes) if clashes else part.body
            return type(part)(tuple(names.values()), walk(body))
        return with_children(part, [walk(child) for child in children(part)])

    return walk(formula)


def solve_equalities(pairs: Sequence[tuple[Term, Term]]) -> dict[Variable, Term] | None:
    """Return the substitution that makes all pairs of terms equal, or None where none does.

    Of variables that are equal, all become the one whose name comes first. The result is
    idempotent: applying it once is applying it for good.
    """
    if not pairs:
        return {}
    numbering = Numbering(term for pair in pairs for term in pair)
    solution = solve((numbering.number(left), numbering.number(right)) for left, right in pairs)
    if solution is None:
        return None
    terms = ((numbering.term(v), numbering.term(t)) for v, t in solution.items())
    return {variable: term for variable, term in terms if isinstance(variable, Variable)}
