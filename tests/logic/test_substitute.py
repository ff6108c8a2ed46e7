"""Substitution and unification."""

from mlnlearn.logic.atoms import Comparison, Constant, Predicate, Variable
from mlnlearn.logic.formulas import And, EitherSign, Exists, Forall, Implies
from mlnlearn.logic.substitute import solve_equalities, substitute, substitute_formula

P = Predicate("p", ("t", "t"))
X, Y, Z = (Variable(name) for name in "xyz")
ANNA, BOB = Constant("Anna"), Constant("Bob")


def test_substitution_is_simultaneous():
    assert substitute(P("x", "y"), {X: Y, Y: X}) == P("y", "x")


def test_bound_variables_stay():
    formula = Implies(P("x", "x"), Exists((X,), P("x", "y")))
    assert str(substitute_formula(formula, {X: ANNA, Y: BOB})) == (
        "p(Anna,Anna) => (EXIST x p(x,Bob))"
    )


def test_capture_is_avoided_under_both_quantifiers():
    for kind in (Exists, Forall):
        replaced = substitute_formula(kind((Y,), P("x", "y")), {X: Y})
        (fresh,) = replaced.variables
        assert fresh != Y
        assert replaced.body == P("y", fresh)


def test_every_kind_of_part_is_reached():
    formula = And((EitherSign(P("x", "y")), Comparison("<", X, Y)))
    assert str(substitute_formula(formula, {X: ANNA})) == "*p(Anna,y) ^ Anna < y"


def test_equal_variables_become_the_first_by_name():
    assert solve_equalities([(X, Y), (Y, X)]) == {Y: X}
    assert solve_equalities([(X, ANNA), (X, Y)]) == {X: ANNA, Y: ANNA}
    assert solve_equalities([]) == {}


def test_chains_of_equalities_end_in_one_representative():
    solution = solve_equalities([(X, Y), (Y, Z), (Z, ANNA)])
    assert solution == {X: ANNA, Y: ANNA, Z: ANNA}
    assert solve_equalities([(X, ANNA), (X, Y), (Y, BOB)]) is None
