"""Normal forms against truth tables over all worlds of a tiny domain."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.atoms import Atom, Comparison, Constant, Predicate, Variable
from mlnlearn.logic.clauses import as_clause, clause
from mlnlearn.logic.fold import FALSE, TRUE, fold, truth_of
from mlnlearn.logic.formulas import (
    And,
    EitherSign,
    Exists,
    Forall,
    Iff,
    Implies,
    Not,
    Or,
    free_variables,
)
from mlnlearn.logic.normalize import clauses_of, ground_quantifiers

P, Q, R = Predicate("P", ("t",)), Predicate("Q", ("t", "t")), Predicate("R")
NAMES = ("A", "B")
DOMAINS = {"t": NAMES}
GROUND = [R()] + [P(a) for a in NAMES] + [Q(a, b) for a in NAMES for b in NAMES]
X, Y, Z = Variable("x"), Variable("y"), Variable("z")


def holds(formula, world, binding):
    """Truth by definition, quantifiers by enumeration."""
    match formula:
        case Atom(predicate, terms):
            return Atom(predicate, tuple(binding.get(t, t) for t in terms)) in world
        case Comparison(operator, left, right):
            a, b = binding.get(left, left).name, binding.get(right, right).name
            return {"=": a == b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}[operator]
        case Not(part):
            return not holds(part, world, binding)
        case And(parts):
            return all(holds(part, world, binding) for part in parts)
        case Or(parts):
            return any(holds(part, world, binding) for part in parts)
        case Implies(left, right):
            return not holds(left, world, binding) or holds(right, world, binding)
        case Iff(left, right):
            return holds(left, world, binding) == holds(right, world, binding)
        case Exists(variables, body) | Forall(variables, body):
            choices = product(map(Constant, NAMES), repeat=len(variables))
            found = (
                holds(body, world, binding | dict(zip(variables, values, strict=True)))
                for values in choices
            )
            return any(found) if isinstance(formula, Exists) else all(found)
    raise AssertionError(formula)


def worlds():
    for truths in product((False, True), repeat=len(GROUND)):
        yield {atom for atom, truth in zip(GROUND, truths, strict=True) if truth}


def table(formulas):
    """Truth of the conjunction of formulas in every world, for every choice of the variables."""
    bindings = [
        dict(zip((X, Y, Z), map(Constant, names), strict=True))
        for names in product(NAMES, repeat=3)
    ]
    return [
        all(holds(formula, world, binding) for formula in formulas)
        for world in worlds()
        for binding in bindings
    ]


terms = st.sampled_from([X, Y, Constant("A")])
leaves = st.one_of(
    st.just(R()),
    terms.map(lambda t: Atom(P, (t,))),
    st.tuples(terms, terms).map(lambda pair: Atom(Q, pair)),
    st.tuples(st.sampled_from(["=", "<", ">="]), terms, terms).map(lambda c: Comparison(*c)),
)


def grown(parts):
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        parts.map(Not),
        several.map(And),
        several.map(Or),
        st.tuples(parts, parts).map(lambda pair: Implies(*pair)),
        st.tuples(parts, parts).map(lambda pair: Iff(*pair)),
    )


def quantified(parts):
    # The quantified variable also stands in an atom, so that it has a type.
    typed = parts.map(lambda part: Or((part, Q("x", "y"))))
    variables = st.sampled_from([(X,), (Y,), (X, Y)])
    return st.one_of(
        grown(parts),
        st.tuples(variables, typed).map(lambda pair: Exists(*pair)),
        st.tuples(variables, typed).map(lambda pair: Forall(*pair)),
    )


plain = st.recursive(leaves, grown, max_leaves=6)
with_quantifiers = st.recursive(leaves, quantified, max_leaves=5)
brute = settings(max_examples=30, deadline=None, derandomize=True, database=None)


@brute
@given(plain)
def test_clauses_have_the_truth_table_of_the_formula(formula):
    found = clauses_of(formula)
    for item in found:
        assert all(~literal not in item.literals for literal in item)
    assert len({frozenset(item) for item in found}) == len(found)
    as_formulas = [Or(tuple(a.atom if a.positive else Not(a.atom) for a in c)) for c in found]
    assert table(as_formulas) == table([formula])


@brute
@given(with_quantifiers)
def test_grounded_quantifiers_keep_the_meaning(formula):
    found = ground_quantifiers(formula, DOMAINS)
    assert set(free_variables(found)) <= set(free_variables(formula))
    assert table([found]) == table([formula])


@brute
@given(plain)
def test_folding_keeps_the_meaning(formula):
    found = fold(formula)
    assert table([found]) == table([formula])
    assert found in (TRUE, FALSE) or "parts=()" not in repr(found)


def test_folding_under_every_connective():
    yes, no = (Comparison("=", Constant("A"), Constant(name)) for name in ("A", "B"))
    for left, right in product((yes, no, P("x"), Not(R())), repeat=2):
        for formula in (
            Not(left), And((left, right)), Or((left, right)), Implies(left, right), Iff(left, right)
        ):  # fmt: skip
            found = fold(formula)
            assert table([found]) == table([formula])
            assert found in (TRUE, FALSE) or "parts=()" not in repr(found)


def test_a_clause_as_written_is_its_own_normal_form():
    formula = Implies(And((P("x"), Q("x", "y"))), P("y"))
    assert clauses_of(formula) == (as_clause(formula),)


def test_tautologies_and_repeats_vanish():
    assert clauses_of(Or((P("x"), Not(P("x"))))) == ()
    twice = And((Or((P("x"), R())), Or((R(), P("x"), P("x")))))
    assert clauses_of(twice) == (clause(P("x"), R()),)
    assert [len(c) for c in clauses_of(Comparison("=", Constant("A"), Constant("B")))] == [0]


def test_exclusive_or_of_n_atoms_has_half_of_all_clauses():
    parity = R()
    for number in range(5):
        parity = Iff(parity, P(f"C{number}"))
    assert len(clauses_of(parity)) == 2**5


def test_blow_up_is_refused_with_the_size_and_a_remedy():
    pairs = Or(tuple(And((P(f"C{i}"), Q(f"C{i}", "x"))) for i in range(40)))
    with pytest.raises(MemoryLimitError, match="1024 clauses or more; the limit is 1000"):
        clauses_of(pairs, limit=1000)
    chain = R()
    for number in range(60):
        chain = Iff(P(f"C{number}"), chain)
    with pytest.raises(MemoryLimitError, match="clauses"):
        clauses_of(chain, limit=1000)


def test_a_wide_disjunction_is_one_clause_and_cheap():
    parts = tuple(P(f"C{i}") for i in range(20_000))
    (found,) = clauses_of(Or(parts))
    assert len(found) == 20_000
    assert [len(c) for c in clauses_of(Or((*parts, And((R(), P("x"))))))] == [20_001] * 2


def test_quantifiers_and_stars_are_refused_by_clauses():
    with pytest.raises(InputError, match="ground_quantifiers"):
        clauses_of(Exists((Y,), Q("x", "y")))
    with pytest.raises(InputError, match="expand_rule"):
        clauses_of(Not(EitherSign(P("x"))))


def test_inner_quantifier_may_reuse_a_name_with_another_type():
    city = Predicate("city", ("place",))
    formula = Exists((X,), And((P("x"), Exists((X,), city("x")))))
    found = ground_quantifiers(formula, {"t": ["A"], "place": ["Rome", "Oslo"]})
    assert str(found) == "P(A) ^ (city(Rome) v city(Oslo))"


def test_a_variable_in_comparisons_only_takes_the_type_of_its_partner():
    formula = And((P("x"), Exists((Y,), Not(Comparison("=", X, Y)))))
    assert table([ground_quantifiers(formula, DOMAINS)]) == table([formula])


def test_empty_domains_decide_quantifiers():
    assert ground_quantifiers(Exists((X,), P("x")), {"t": []}) == FALSE
    assert ground_quantifiers(Forall((X,), P("x")), {"t": []}) == TRUE
    assert ground_quantifiers(Or((R(), Exists((X,), P("x")))), {"t": []}) == R()


def test_quantifier_problems_name_the_variable():
    with pytest.raises(InputError, match="variable z stands in no atom"):
        ground_quantifiers(Exists((Z,), P("x")), DOMAINS)
    with pytest.raises(InputError, match="no constants given for type 't'"):
        ground_quantifiers(Exists((X,), P("x")), {})
    many = {"t": [f"C{i}" for i in range(2000)]}
    with pytest.raises(MemoryLimitError, match="4000000 copies"):
        ground_quantifiers(Exists((X, Y), Q("x", "y")), many)


@pytest.mark.parametrize(
    ("left", "operator", "right", "truth"),
    [
        ("9", "<", "10", True),
        ("9", ">=", "10", False),
        ("1", "=", "1.0", False),
        ("1", "<=", "1.0", True),
        ("Nan", "<", "1", False),  # no number, so text: digits come first
        ("Anna", "<", "Bob", True),
        ("Anna", ">", "Anna", False),
    ],
)
def test_comparisons_of_constants(left, operator, right, truth):
    assert truth_of(Comparison(operator, Constant(left), Constant(right))) is truth
