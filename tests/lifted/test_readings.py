"""One reading of quantifiers and comparisons: lifted, ground, counted and by brute force."""

from itertools import product

import numpy as np
import pytest

from lifted_worlds import Worlds, domains_of
from mlnlearn.counting.count import groundings, true_groundings
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.infer.query import query
from mlnlearn.lifted.query import expected_counts, lifted_query, log_partition
from mlnlearn.logic.atoms import Predicate, Variable
from mlnlearn.logic.formulas import And, Exists, Forall, Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from mlnlearn.weights.likelihood import learn_likelihood, log_likelihood

TYPES = "a = {A0, A1}\nb = {B0}\np(a)\nq(a)\nr(a,a)\ns(b)\nRain\n"
RULES = [
    "2 FORALL x p(x)",
    "2 FORALL x FORALL y r(x,y) => p(y)",
    "2 FORALL x (EXIST y r(x,y))",
    "2 !(FORALL x p(x))",
    "2 EXIST x (FORALL y r(x,y))",
    "2 EXIST x (p(x) ^ (FORALL y (p(y) => y = x)))",
    "2 q(x) => (FORALL y r(x,y))",
    "2 q(x) ^ (EXIST y y != x)",
    "2 Rain v (FORALL y s(y))",
    "2 p(x) v (EXIST x q(x))",
    "1 FORALL x p(x)\nFORALL x p(x) v q(x).",
    "1 p(x)\n(FORALL x p(x)) v Rain.",
    "1 p(x)\nEXIST x (FORALL y r(x,y)).",
    "-2 p(x) ^ x = A0",
    "-2 p(x) ^ x != A0",
    "1.5 p(x) => x = A1",
    "1.5 r(x,y) ^ x = A0 ^ y != A1",
    "1.5 p(x) ^ x = y ^ y = A1",
    "1.5 EXIST x (p(x) ^ x != A0)",
    "1.5 q(x) ^ (FORALL y (r(x,y) v y = A1))",
    "1 s(x) ^ x = B0\n0.5 s(x)",
    "1 p(x)\np(x) v x != A1.",
]


def soft_and_hard(mln):
    return [rule.formula for rule in mln.soft], [rule.formula for rule in mln.hard]


@pytest.mark.parametrize("rules", RULES)
def test_every_path_reads_a_rule_as_enumeration_does(rules):
    mln = MLN.parse(TYPES + rules)
    soft, hard = soft_and_hard(mln)
    worlds = Worlds(mln.schema, {"a": ["A0", "A1"], "b": ["B0"]})
    log_z, counts, probability = worlds.log_z(soft, mln.weights, hard)
    nothing = Database.from_facts(mln.schema, {})
    assert log_partition(mln, nothing) == pytest.approx(log_z, abs=1e-8)
    np.testing.assert_allclose(expected_counts(mln, nothing), counts, atol=1e-8)
    marginals = probability @ worlds.truth
    for (name, names), column in worlds.atoms.items():
        atom = f"{name}({','.join(names)})" if names else name
        exact = query(mln, nothing, name, method="exact")[atom].probability
        lifted = lifted_query(mln, nothing, name)[atom].probability
        assert exact == pytest.approx(marginals[column], abs=1e-8)
        assert lifted == pytest.approx(marginals[column], abs=1e-8)


@pytest.mark.parametrize("rules", RULES)
def test_counts_and_likelihoods_of_random_worlds(rules):
    mln = MLN.parse(TYPES + rules)
    soft, hard = soft_and_hard(mln)
    worlds = Worlds(mln.schema, {"a": ["A0", "A1"], "b": ["B0"]})
    probability = worlds.log_z(soft, mln.weights, hard)[2]
    rng = np.random.default_rng(0)
    for number in rng.choice(len(worlds.truth), 6, replace=False):
        true = {predicate.name: [] for predicate in mln.schema.predicates}
        for (name, names), column in worlds.atoms.items():
            if worlds.truth[number, column]:
                true[name].append(names)
        database = Database.from_facts(mln.schema, true)
        engine = MemoryEngine([database])
        for formula in (*soft, *hard):
            counts, total = worlds.counts(formula)
            assert true_groundings(engine, formula) == [counts[number]]
            assert groundings(engine, formula) == [total]
        if probability[number] > 0.0:
            expected = np.log(probability[number])
            assert log_likelihood(mln, database) == pytest.approx(expected, abs=1e-8)
        else:
            with pytest.raises(InputError, match="violate a hard formula"):
                log_likelihood(mln, database)


def test_weight_of_a_rule_with_forall_in_front():
    """Three of four atoms are true: the log odds are log 3, whatever stands in front."""
    names = [f"A{i}" for i in range(4)]
    learned = []
    for rule in ("p(x)", "FORALL x p(x)"):
        mln = MLN.parse(f"p(a)\n0 {rule}")
        facts = {"p": [(name,) for name in names[:3]]}
        database = Database.from_facts(mln.schema, facts, domains={"a": names})
        learned.append(learn_likelihood(mln, [database], units=False).mln.weights[0])
    assert learned == pytest.approx([np.log(3.0)] * 2, abs=1e-3)


def test_rules_are_kept_without_forall_in_front():
    x, y, p = Variable("x"), Variable("y"), Predicate("p", ("a", "a"))
    inner = Exists((y,), Forall((x,), p("x", "y")))
    assert Rule(Forall((x,), Forall((y,), p("x", "y")))).formula == p("x", "y")
    assert Rule(inner).formula == inner


def test_a_name_that_is_free_and_bound_with_two_types():
    schema = Schema.of("p(a)", "q(b)")
    x = Variable("x")
    formula = And((Exists((x,), schema["q"]("x")), schema["p"]("x")))
    domains = domains_of(schema, {"a": 2, "b": 3})
    facts = {"p": [("A0",), ("A1",)], "q": [("B2",)]}
    database = Database.from_facts(schema, facts, domains=domains)
    assert true_groundings(MemoryEngine([database]), formula) == [2]
    assert groundings(MemoryEngine([database]), formula) == [2]
    worlds = [len(p) * bool(q) for p, q in product(subsets(domains["a"]), subsets(domains["b"]))]
    mln = MLN(schema, (Rule(formula, 0.7),))
    expected = np.log(np.exp(0.7 * np.array(worlds)).sum())
    assert log_partition(mln, database) == pytest.approx(expected)


def subsets(names):
    return [
        [name for name, chosen in zip(names, choice, strict=True) if chosen]
        for choice in product((False, True), repeat=len(names))
    ]


def test_equal_comparisons_under_quantifiers_of_two_types():
    """The same text ``EXIST y y != x``, about an a in one rule and about a b in the other."""
    schema = Schema.of("p(a)", "q(b)")
    mln = MLN.parse("p(a)\nq(b)\n1 p(x) ^ (EXIST y y != x)\n2 q(x) ^ (EXIST y y != x)")
    database = Database.from_facts(schema, {}, domains={"a": ["A0"], "b": ["B0", "B1"]})
    expected = np.log(2.0) + 2.0 * np.log1p(np.exp(2.0))
    assert log_partition(mln, database) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:the rules name constants")
def test_constants_that_only_rules_name_are_objects_too():
    mln = MLN.parse("p(a)\n1.5 p(x) ^ x != Nobody\n-1 p(x) ^ x = Nobody")
    database = Database.from_facts(mln.schema, {"p": [("Anna",)]}, domains={"a": ["Bob"]})
    expected = 2.0 * np.log1p(np.exp(1.5)) + np.log1p(np.exp(-1.0))
    assert log_partition(mln, database) == pytest.approx(expected)
    assert log_likelihood(mln, database) == pytest.approx(1.5 - expected)


def test_more_named_constants_than_objects():
    mln = MLN.parse("p(a)\n1 p(A0) ^ p(A1)")
    with pytest.raises(InputError, match=r"2 constants of type 'a' \(A0, A1\), more than its 1"):
        log_partition(mln, {"a": 1})
