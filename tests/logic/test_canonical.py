"""Canonical forms are equal exactly for renamed and reordered clauses."""

from itertools import permutations

import numpy as np
import pytest

from mlnlearn.counting.query import Query, canonical_query
from mlnlearn.logic.atoms import Comparison, Constant, Literal, Predicate, Variable
from mlnlearn.logic.canonical import canonical
from mlnlearn.logic.clauses import clause
from mlnlearn.logic.substitute import substitute
from worlds import random_clause, random_schema


def shuffled(rng, given):
    """The clause with its literals reordered and its variables renamed."""
    names = rng.permutation(len(given.variables))
    renamed = {v: Variable(f"z{k}") for v, k in zip(given.variables, names, strict=True)}
    literals = list(substitute(given, renamed))
    return clause(*(literals[i] for i in rng.permutation(len(literals))))


def is_variant(one, other):
    """By trying every renaming."""
    if len(one) != len(other) or len(one.variables) != len(other.variables):
        return False
    return any(
        set(substitute(one, dict(zip(one.variables, names, strict=True)))) == set(other)
        for names in permutations(other.variables)
    )


def test_variants_have_equal_canonical_forms():
    rng = np.random.default_rng(1)
    for _ in range(500):
        given = random_clause(rng, random_schema(rng), most=5)
        assert canonical(given) == canonical(shuffled(rng, given))
        assert is_variant(given, canonical(given))


def test_others_have_different_canonical_forms():
    rng = np.random.default_rng(2)
    checked = 0
    for _ in range(300):
        schema = random_schema(rng, types=1, predicates=2)
        one, other = (random_clause(rng, schema, most=3) for _ in range(2))
        same = is_variant(one, other)
        assert (canonical(one) == canonical(other)) == same
        checked += not same
    assert checked > 100


X, Y, THREE = Variable("x"), Variable("y"), Constant("3")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Comparison("=", X, Y), Comparison("=", Y, X)),
        (Comparison(">", X, Y), Comparison("<", Y, X)),
        (Comparison("<=", X, THREE), Comparison(">=", THREE, X)),
    ],
)
def test_comparisons_written_the_other_way_round(left, right):
    age = Predicate("age", ("person", "num"))
    one = clause(age("p", "x"), age("q", "y"), Literal(left))
    other = clause(age("q", "y"), age("p", "x"), Literal(right))
    assert canonical(one) == canonical(other)


def test_queries_share_a_key_exactly_for_equal_groups():
    edge = Predicate("edge", ("node", "node"))
    x, y, z = (Variable(n) for n in "xyz")
    path = (edge("x", "y"), edge("y", "z"))
    by_start, by_end = Query(path, (x,)), Query(path, (z,))
    renamed = Query((edge("b", "c"), edge("a", "b")), (Variable("a"),))
    assert canonical_query(by_start)[0] == canonical_query(renamed)[0]
    assert canonical_query(by_start)[0] != canonical_query(by_end)[0]
    assert canonical_query(Query(path, (x, z)))[1] == canonical_query(Query(path, (z, x)))[1]
    assert canonical_query(Query(path, (y,)))[0] != canonical_query(by_start)[0]


def test_a_predicate_may_be_called_like_an_operator():
    equals = Predicate("=", ("t", "t"))
    one, other = Query((equals("A", "y"),), (Y,)), Query((equals("y", "A"),), (Y,))
    assert canonical_query(one)[0] != canonical_query(other)[0]


def test_many_interchangeable_variables_are_quick():
    q = Predicate("q", ("t",))
    given = clause(*(q(f"x{i}") for i in range(12)))
    assert len(canonical(given)) == 12
