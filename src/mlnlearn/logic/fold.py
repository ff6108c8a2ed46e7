"""Constant folding: what holds or fails in every world is worked out and removed."""

from __future__ import annotations

import re

from mlnlearn.logic.arithmetic import holds
from mlnlearn.logic.atoms import Comparison, Variable
from mlnlearn.logic.formulas import And, Exists, Forall, Formula, Iff, Implies, Not, Or

TRUE = And(())
"""The empty conjunction, which every world satisfies."""

FALSE = Or(())
"""The empty disjunction, which no world satisfies."""

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")


def truth_of(comparison: Comparison) -> bool | None:
    """Decide a comparison of two constants, or of a term with itself; None where it is open.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Constant
    >>> truth_of(Comparison("<", Constant("9"), Constant("10")))
    True
    >>> truth_of(Comparison("=", Variable("x"), Constant("Anna"))) is None
    True
    """
    if comparison.calculates:
        if any(isinstance(term, Variable) for term in comparison.terms):
            return None
        return bool(holds(comparison, {}, 1)[0])
    left, right = comparison.terms
    if left == right:
        return comparison.operator in {"=", "<=", ">="}
    if isinstance(left, Variable) or isinstance(right, Variable):
        return None
    first, second = order_key(left.name), order_key(right.name)
    match comparison.operator:
        case "<":
            return first < second
        case "<=":
            return first <= second
        case ">":
            return first > second
        case ">=":
            return first >= second
    return False  # "=": different names are different objects, even 1 and 1.0


def order_key(name: str) -> tuple[int, float, str]:
    """Return what ``<`` compares of a constant: numbers by value, all other names after, by text.

    Examples
    --------
    >>> sorted(["Bob", "10", "9", "Anna"], key=order_key)
    ['9', '10', 'Anna', 'Bob']
    """
    return (0, float(name), "") if _NUMBER.match(name) else (1, 0.0, name)


def fold(formula: Formula) -> Formula:
    """Remove every part that constants alone decide; the whole may become `TRUE` or `FALSE`.

    A quantifier over a decided body stays: whether its domain is empty is not known here.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Constant, Predicate
    >>> anna, bob = Constant("Anna"), Constant("Bob")
    >>> likes = Predicate("likes", ("person", "person"))
    >>> print(fold(Or((Comparison("=", anna, bob), likes("Anna", "Bob")))))
    likes(Anna,Bob)
    >>> fold(Or((Comparison("=", anna, anna), likes("Anna", "Bob")))) == TRUE
    True
    """
    match formula:
        case Comparison():
            truth = truth_of(formula)
            return formula if truth is None else TRUE if truth else FALSE
        case Not(part):
            return _negated(fold(part))
        case And(parts):
            return _gathered(And, [fold(part) for part in parts], neutral=TRUE, decisive=FALSE)
        case Or(parts):
            return _gathered(Or, [fold(part) for part in parts], neutral=FALSE, decisive=TRUE)
        case Implies(left, right):
            return _implied(fold(left), fold(right))
        case Iff(left, right):
            return _matched(fold(left), fold(right))
        case Exists(variables, body):
            return Exists(variables, fold(body))
        case Forall(variables, body):
            return Forall(variables, fold(body))
    return formula


def _negated(part: Formula) -> Formula:
    if part == TRUE:
        return FALSE
    return TRUE if part == FALSE else Not(part)


def _gathered(
    kind: type[And] | type[Or], parts: list[Formula], neutral: Formula, decisive: Formula
) -> Formula:
    if decisive in parts:
        return decisive
    open_parts = tuple(part for part in parts if part != neutral)
    return open_parts[0] if len(open_parts) == 1 else kind(open_parts)


def _implied(left: Formula, right: Formula) -> Formula:
    if left == FALSE or right == TRUE:
        return TRUE
    if left == TRUE:
        return right
    return _negated(left) if right == FALSE else Implies(left, right)


def _matched(left: Formula, right: Formula) -> Formula:
    for one, other in ((left, right), (right, left)):
        if one == TRUE:
            return other
        if one == FALSE:
            return _negated(other)
    return Iff(left, right)
