"""Formulas as polynomials over truth values: the one form that every count is taken from.

With 1 for true and 0 for false, ``!f`` is ``1 - f``, ``f ^ g`` is ``f·g``, ``f v g`` is
``f + g - f·g``, and ``f·f`` is ``f``. A quantifier-free formula becomes a sum of integer multiples
of products of *positive* atoms, so counting needs only joins of true facts: this is the
inclusion-exclusion of negated literals, done once and for any formula.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import AnyAtom, Atom, Comparison
from mlnlearn.logic.formulas import And, Exists, Forall, Formula, Iff, Implies, Not, Or

Product = frozenset[AnyAtom]
Polynomial = Mapping[Product, int]

_ONE: Polynomial = {frozenset(): 1}
_MOST_TERMS = 1 << 14


def polynomial(formula: Formula) -> Polynomial:
    """Expand a quantifier-free formula; the result maps products of atoms to their coefficients.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> p, q = Predicate("p", ("t",))("x"), Predicate("q", ("t",))("x")
    >>> terms = polynomial(Implies(p, q))
    >>> sorted((sorted(map(str, product)), value) for product, value in terms.items())
    [([], 1), (['p(x)'], -1), (['p(x)', 'q(x)'], 1)]
    """
    match formula:
        case Atom() | Comparison():
            return {frozenset((formula,)): 1}
        case Not(part):
            return _complement(polynomial(part))
        case And(parts):
            result = _ONE
            for part in parts:
                result = _times(result, polynomial(part))
            return result
        case Or(parts):
            # f v g = !(!f ^ !g): one product instead of a nested sum
            result = _ONE
            for part in parts:
                result = _times(result, _complement(polynomial(part)))
            return _complement(result)
        case Implies(left, right):
            return polynomial(Or((Not(left), right)))
        case Iff(left, right):
            both, neither = And((left, right)), And((Not(left), Not(right)))
            return _plus(polynomial(both), polynomial(neither))
        case Exists() | Forall():
            raise InputError(f"a quantifier has no polynomial: {formula}")
    raise InputError(f"expand '*' before counting: {formula}")


def _complement(terms: Polynomial) -> Polynomial:
    return _plus(_ONE, {product: -value for product, value in terms.items()})


def _plus(left: Polynomial, right: Polynomial) -> Polynomial:
    result = dict(left)
    for product, value in right.items():
        result[product] = result.get(product, 0) + value
    return {product: value for product, value in result.items() if value}


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    if len(left) * len(right) > _MOST_TERMS:
        raise InputError(
            "a formula expands into more than "
            f"{_MOST_TERMS} products of atoms; split it into smaller formulas"
        )
    result: dict[Product, int] = {}
    for first, a in left.items():
        for second, b in right.items():
            product = first | second
            result[product] = result.get(product, 0) + a * b
    return {product: value for product, value in result.items() if value}
