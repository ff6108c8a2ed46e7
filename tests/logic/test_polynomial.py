"""Polynomials have the truth value of their formula in every world."""

from itertools import product

import pytest

from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate, Variable
from mlnlearn.logic.formulas import And, EitherSign, Exists, Iff, Implies, Not, Or
from mlnlearn.logic.polynomial import polynomial

A, B, C = (Predicate(name)() for name in "abc")

FORMULAS = {
    A: lambda a, b, c: a,
    Not(A): lambda a, b, c: not a,
    And((A, B, A)): lambda a, b, c: a and b,
    Or((A, Not(B), C)): lambda a, b, c: a or not b or c,
    Implies(And((A, B)), C): lambda a, b, c: c or not (a and b),
    Iff(A, Or((B, C))): lambda a, b, c: a == (b or c),
    Iff(Iff(A, B), C): lambda a, b, c: (a == b) == c,
    And((A, Not(A))): lambda a, b, c: False,
    Or((A, Not(A))): lambda a, b, c: True,
}


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_value_in_every_world(formula):
    terms = polynomial(formula)
    for world in product((False, True), repeat=3):
        true = {atom for atom, value in zip((A, B, C), world, strict=True) if value}
        value = sum(factor for atoms, factor in terms.items() if atoms <= true)
        assert value == int(FORMULAS[formula](*world))


def test_a_clause_has_one_product_for_each_set_of_its_positive_literals():
    assert len(polynomial(Or((A, B, Not(C))))) == 5  # 1 and the four subsets of {a, b} with c


def test_quantifiers_and_shorthands_are_refused():
    p = Predicate("p", ("t",))
    with pytest.raises(InputError, match="a quantifier has no polynomial: EXIST x p"):
        polynomial(Exists((Variable("x"),), p("x")))
    with pytest.raises(InputError, match=r"expand '\*' before counting"):
        polynomial(EitherSign(p("x")))


def test_too_many_products_are_refused():
    atoms = tuple(Predicate(f"p{i}")() for i in range(20))
    with pytest.raises(InputError, match="more than 16384 products"):
        polynomial(Or(atoms))
