"""Log Z and expected counts against enumeration of all worlds, closed forms and known values."""

import math

import numpy as np
import pytest

from lifted_worlds import Worlds, domains_of, random_clause, random_schema, random_sizes
from mlnlearn.lifted.circuit import CancellationError
from mlnlearn.lifted.compile import compile_formulas, exactly_one
from mlnlearn.lifted.plan import NotLiftable
from mlnlearn.lifted.query import expected_counts, log_partition
from mlnlearn.logic.atoms import Constant
from mlnlearn.logic.constants import constants_of
from mlnlearn.logic.formulas import Exists, Forall, Or, free_variables
from mlnlearn.logic.schema import Schema
from mlnlearn.logic.substitute import substitute_formula
from mlnlearn.model.mln import MLN

SMOKERS = """
smokes(person)
friends(person,person)
1.4 smokes(x)
0.3 friends(x,y)
1.1 smokes(x) ^ friends(x,y) => smokes(y)
"""


def clauses(rng, schema, variables, most):
    found = [random_clause(rng, schema, variables) for _ in range(rng.integers(1, most + 1))]
    return [clause.formula for clause in found if clause is not None]


def check(schema, soft, hard, sizes, rng, constants=(), tolerance=1e-9):
    model = compile_formulas(schema.predicates, soft, hard, constants=constants)
    weights = rng.normal(0.0, 1.5, len(soft))
    expected, counts, _ = Worlds(schema, domains_of(schema, sizes)).log_z(soft, weights, hard)
    values, gradient = model.bind([sizes]).evaluate(weights)
    assert values[0] == pytest.approx(expected, abs=tolerance)
    if expected > -math.inf:
        np.testing.assert_allclose(gradient, counts, atol=tolerance)


@pytest.mark.parametrize("part", range(10))
def test_random_theories_with_three_variables(part):
    done = refused = 0
    rng = np.random.default_rng(part)
    while done < 100:
        schema = random_schema(rng)
        soft = clauses(rng, schema, 3, 3)
        sizes = random_sizes(rng, schema)
        try:
            check(schema, soft, [], sizes, rng)
        except NotLiftable:
            refused += 1
            continue
        done += 1
    assert refused <= 10


def test_two_variables_are_never_refused():
    rng = np.random.default_rng(5)
    for _ in range(200):
        schema = random_schema(rng)
        check(schema, clauses(rng, schema, 2, 3), [], random_sizes(rng, schema), rng)


def test_hard_rules():
    rng = np.random.default_rng(6)
    for _ in range(150):
        schema = random_schema(rng)
        soft, hard = clauses(rng, schema, 2, 2), clauses(rng, schema, 2, 2)
        check(schema, soft, hard, random_sizes(rng, schema), rng)


def test_quantifiers():
    rng = np.random.default_rng(7)

    def quantified(formula):
        free = free_variables(formula)
        if not free or rng.random() < 0.3:
            return formula
        kind = Exists if rng.random() < 0.6 else Forall
        return kind((free[rng.integers(len(free))],), formula)

    impossible = 0
    for _ in range(150):
        schema = random_schema(rng)
        soft = [quantified(formula) for formula in clauses(rng, schema, 2, 2)]
        hard = [quantified(formula) for formula in clauses(rng, schema, 2, 1)]
        sizes = random_sizes(rng, schema)
        try:
            check(schema, soft, hard, sizes, rng, tolerance=1e-8)
        except CancellationError:
            worlds = Worlds(schema, domains_of(schema, sizes))
            assert worlds.log_z(soft, np.zeros(len(soft)), hard)[0] == -math.inf
            impossible += 1
    assert impossible < 15


def test_constants_are_objects_of_their_own():
    rng = np.random.default_rng(8)
    for _ in range(100):
        schema = random_schema(rng)
        formulas = []
        for formula in clauses(rng, schema, 2, 2):
            names = {
                v: Constant(f"{v.name[0].upper()}{rng.integers(2)}")
                for v in free_variables(formula)
                if rng.random() < 0.5
            }
            formulas.append(substitute_formula(formula, names))
        sizes = random_sizes(rng, schema)
        present = [
            (kind, name)
            for formula in formulas
            for kind, name in constants_of(formula)
            if int(name[1:]) < sizes[kind]
        ]
        check(schema, formulas, [], sizes, rng, constants=present)


def test_several_databases_share_a_circuit():
    mln = MLN.parse(SMOKERS)
    model = compile_formulas(mln.schema.predicates, [rule.formula for rule in mln.soft])
    sizes = [{"person": n} for n in (0, 1, 3, 10)]
    together, gradient = model.bind(sizes).evaluate(mln.weights)
    assert together.tolist() == pytest.approx([log_partition(mln, known) for known in sizes])
    np.testing.assert_allclose(gradient, sum(expected_counts(mln, known) for known in sizes))


def test_smokers_reference_value():
    assert log_partition(MLN.parse(SMOKERS), {"person": 10}) == pytest.approx(
        209.4681189275, abs=1e-9
    )


def test_extreme_weights_and_sizes():
    mln = MLN.parse(SMOKERS).with_weights([50.0, -50.0, 50.0])
    # all smoke and none are friends, or nearly so: the rule holds for all pairs
    n = 10_000
    expected = 50.0 * n + 50.0 * n * n + n * n * math.log1p(math.exp(-50.0))
    assert log_partition(mln, {"person": n}) == pytest.approx(expected, rel=1e-12)
    counts = expected_counts(mln, {"person": n})
    assert np.isfinite(counts).all()
    assert counts[0] == pytest.approx(n)


def test_gradient_is_the_derivative():
    mln = MLN.parse(SMOKERS + "0.7 friends(x,y) ^ friends(y,x) => smokes(x)\n")
    counts = expected_counts(mln, {"person": 30})
    for number in range(4):
        step = np.eye(4)[number] * 1e-4
        ahead = log_partition(mln.with_weights(mln.weights + step), {"person": 30})
        behind = log_partition(mln.with_weights(mln.weights - step), {"person": 30})
        assert counts[number] == pytest.approx((ahead - behind) / 2e-4, rel=1e-5, abs=1e-4)


def test_not_liftable_names_the_rules():
    mln = MLN.parse("""
    friends(person,person)
    smokes(person)
    1 friends(x,y) ^ friends(y,z) => friends(x,z)
    1 smokes(x)
    """)
    with pytest.raises(NotLiftable, match=r"friends\(x,y\) \^ friends\(y,z\)") as caught:
        log_partition(mln, {"person": 30})
    assert "smokes" not in caught.value.message


def test_formulas_are_one_feature():
    mln = MLN.parse("""
    p(t)
    q(t,t)
    0.8 (p(x) <=> q(x,y)) ^ !q(y,x)
    -0.4 p(x) ^ q(x,y) v x = y
    """)
    soft = [rule.formula for rule in mln.soft]
    worlds = Worlds(mln.schema, domains_of(mln.schema, {"t": 3}))
    expected, counts, _ = worlds.log_z(soft, mln.weights)
    assert log_partition(mln, {"t": 3}) == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(expected_counts(mln, {"t": 3}), counts, atol=1e-9)


def test_exactly_one_value():
    mln = MLN.parse("phase(person,step!)\nold(person)\n0.7 phase(x,y) => old(x)\n0.4 old(x)")
    soft = [rule.formula for rule in mln.soft]
    worlds = Worlds(mln.schema, domains_of(mln.schema, {"person": 2, "step": 3}))
    expected, counts, _ = worlds.log_z(soft, mln.weights, exactly_one(mln.schema))
    sizes = {"person": 2, "step": 3}
    assert log_partition(mln, sizes) == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(expected_counts(mln, sizes), counts, atol=1e-8)


def test_every_person_has_a_friend():
    """Each row of the relation is independent: any of 2^n - 1 sets of friends."""
    mln = MLN.parse("friends(person,person)\nEXIST y friends(x,y).")
    n = 40
    assert log_partition(mln, {"person": n}) == pytest.approx(n * math.log(2.0**n - 1), rel=1e-9)


def test_unsatisfiable_rules_have_no_worlds():
    mln = MLN.parse("p(t)\np(x).\n!p(x).")
    assert log_partition(mln, {"t": 2}) == -math.inf
    assert log_partition(mln, {"t": 0}) == 0.0


def test_order_of_objects_is_refused():
    mln = MLN.parse("p(num)\n1 p(x) ^ x < y => p(y)")
    with pytest.raises(NotLiftable, match="no order of objects"):
        log_partition(mln, {"num": 2})


def test_more_nested_sums_than_allowed():
    schema = Schema.of("p(t)", "q(t)", "r(t,t)")
    p, q, r = (schema[name] for name in "pqr")
    rule = compile_formulas(schema.predicates, [p("x"), q("x"), r("x", "y")], max_axes=1)
    assert rule.plan.axes == 0
    hard = Or((p("x"), q("y"), r("x", "y"), q("x"), p("y")))
    with pytest.raises(NotLiftable, match="more than 1 nested"):
        compile_formulas(schema.predicates, [hard], max_axes=1)
