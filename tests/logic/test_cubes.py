"""Formulas as sums of disjoint conjunctions and of signed clauses, against truth tables."""

from itertools import product

import numpy as np
import pytest

from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.atoms import Atom, Comparison, Constant, Predicate, Variable
from mlnlearn.logic.cubes import signed_clauses
from mlnlearn.logic.formulas import And, EitherSign, Exists, Iff, Implies, Not, Or

ATOMS = [Predicate(f"p{i}", ("t",))("x") for i in range(5)]
ALWAYS = Comparison("=", Constant("A"), Constant("A"))


def random_formula(rng, depth):
    if depth == 0 or rng.random() < 0.15:
        return ALWAYS if rng.random() < 0.05 else ATOMS[rng.integers(len(ATOMS))]
    parts = tuple(random_formula(rng, depth - 1) for _ in range(rng.integers(2, 4)))
    match rng.integers(5):
        case 0:
            return And(parts)
        case 1:
            return Or(parts)
        case 2:
            return Implies(*parts[:2])
        case 3:
            return Iff(*parts[:2])
    return Not(parts[0])


def truth(formula, world):
    match formula:
        case Atom():
            return world[formula]
        case Comparison():
            return True
        case Not(part):
            return not truth(part, world)
        case And(parts):
            return all(truth(part, world) for part in parts)
        case Or(parts):
            return any(truth(part, world) for part in parts)
        case Implies(left, right):
            return not truth(left, world) or truth(right, world)
        case Iff(left, right):
            return truth(left, world) == truth(right, world)
    raise AssertionError(formula)


def worlds():
    for values in product((False, True), repeat=len(ATOMS)):
        yield dict(zip(ATOMS, values, strict=True))


def test_sums_equal_the_truth_in_every_world():
    rng = np.random.default_rng(0)
    for _ in range(300):
        formula = random_formula(rng, int(rng.integers(1, 4)))
        constant, clauses = signed_clauses(formula, rewarded=bool(rng.integers(2)))
        for world in worlds():
            total = constant + sum(
                sign * any(world[lit.atom] == lit.positive for lit in clause)
                for sign, clause in clauses
            )
            assert total == truth(formula, world)


@pytest.mark.parametrize("rewarded", [True, False])
def test_alternatives_are_penalised_not_rewarded(rewarded):
    _, clauses = signed_clauses(Iff(ATOMS[0], Iff(ATOMS[1], ATOMS[2])), rewarded=rewarded)
    assert {sign for sign, _ in clauses} == ({1} if rewarded else {-1})


def test_a_clause_and_a_conjunction_are_one_clause_each():
    clause = Implies(And((ATOMS[0], ATOMS[1])), Or((ATOMS[2], Not(ATOMS[3]))))
    constant, terms = signed_clauses(clause)
    assert constant == 0
    assert [(sign, str(found)) for sign, found in terms] == [
        (1, "!p0(x) v !p1(x) v p2(x) v !p3(x)")
    ]
    assert signed_clauses(And(tuple(ATOMS)))[0] == 1
    assert [sign for sign, _ in signed_clauses(And(tuple(ATOMS)))[1]] == [-1]
    assert [(s, str(c)) for s, c in signed_clauses(Not(ATOMS[0]))[1]] == [(1, "!p0(x)")]


def test_decided_formulas_are_constants():
    assert signed_clauses(ALWAYS) == (1, ())
    assert signed_clauses(Not(ALWAYS)) == (0, ())
    assert signed_clauses(And((ATOMS[0], Not(ATOMS[0])))) == (0, ())


def test_long_disjunctions_stay_one_clause():
    atoms = tuple(Predicate("p", ("t",))(Constant(f"C{i}")) for i in range(2000))
    constant, terms = signed_clauses(Or(atoms), limit=4)
    assert constant == 0
    assert [(sign, len(clause)) for sign, clause in terms] == [(1, 2000)]


def test_growth_beyond_the_limit_is_refused():
    pairs = [And((Predicate(f"a{i}")(), Predicate(f"b{i}")())) for i in range(12)]
    with pytest.raises(MemoryLimitError, match="or more; the limit is 100"):
        signed_clauses(Or(tuple(pairs)), limit=100)


def test_quantifiers_and_shorthands_are_refused():
    with pytest.raises(InputError, match="quantifier"):
        signed_clauses(Exists((Variable("x"),), ATOMS[0]))
    with pytest.raises(InputError, match="expand"):
        signed_clauses(EitherSign(ATOMS[0]))
