"""Conditional likelihood equals enumeration; sampled methods come near its optimum."""

from itertools import product

import numpy as np
import pytest

from brute import brute_count
from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import smokers
from mlnlearn.errors import InputError
from mlnlearn.logic.formulas import Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.weights.conditional import ConditionalLikelihood, grounded, learn_conditional
from mlnlearn.weights.objective import GaussianPrior
from worlds import random_clause, random_database_list, random_schema, true_facts


def brute_cll(database, formulas, weights, query):
    """Log-probability of the query atoms given the rest, over all worlds of the query atoms."""
    facts = true_facts(database)
    atoms = [
        (name, atom)
        for name in query
        for atom in product(*(database.domains[k].names for k in database.schema[name].types))
    ]
    scores, own = [], None
    for truth in product((False, True), repeat=len(atoms)):
        world = facts | {name: set() for name in query}
        for (name, atom), value in zip(atoms, truth, strict=True):
            if value:
                world[name] = world[name] | {atom}
        if all(world[name] == facts[name] for name in query):
            own = len(scores)
        scores.append(
            sum(
                weight * sum(brute_count(database, formula, (), world).values())
                for weight, formula in zip(weights, formulas, strict=True)
            )
        )
    return scores[own] - np.logaddexp.reduce(scores)


@pytest.mark.filterwarnings("ignore::mlnlearn.errors.DataWarning")
def test_value_and_gradient_equal_enumeration():
    rng = np.random.default_rng(11)
    checked = 0
    while checked < 40:
        schema = random_schema(rng, types=2, predicates=3, arity=2)
        databases = random_database_list(rng, schema, most=2)
        query = [schema.predicates[0].name]
        if max(database.ground_atoms(query[0]) for database in databases) > 8:
            continue
        formulas = tuple(random_clause(rng, schema, variables=2, most=3).formula for _ in range(3))
        weights = rng.normal(size=3)
        mln = MLN(schema, tuple(Rule(f, w) for f, w in zip(formulas, weights, strict=True)))
        databases = with_constants_of(mln, databases)
        objective = ConditionalLikelihood(tuple(grounded(mln, d, query) for d in databases))
        value, gradient = objective(weights)
        expected = sum(brute_cll(d, formulas, weights, query) for d in databases)
        assert value == pytest.approx(expected, abs=1e-9)
        for place in range(3):
            step = np.eye(3)[place] * 1e-5
            slope = (objective(weights + step)[0] - objective(weights - step)[0]) / 2e-5
            assert gradient[place] == pytest.approx(slope, abs=1e-6, rel=1e-6)
        checked += 1


def test_blocks_are_one_choice():
    schema = Schema.of("colour(t,c!)", "old(t)")
    mln = MLN.parse(f"{schema}\n0.7 old(x) ^ colour(x,Red)")
    facts = {"colour": [("A", "Red"), ("B", "Blue")], "old": [("A",)]}
    database = Database.from_facts(schema, facts, domains={"c": ["Red", "Blue", "Grey"]})
    objective = ConditionalLikelihood((grounded(mln, database, ["colour"]),))
    expected = 0.7 - np.log(np.exp(0.7) + 2) - np.log(3)
    assert objective(np.array([0.7]))[0] == pytest.approx(expected)


@pytest.fixture(scope="module")
def smoking():
    """A town whose cancers depend on each other through friends, so that nothing factorises."""
    text = """
    cancer(person)
    smokes(person)
    friends(person,person)
    smokes(x) => cancer(x)
    friends(x,y) ^ cancer(x) => cancer(y)
    """
    mln = MLN.parse(text)
    town = (
        smokers(25, rng=3, mean_degree=2.0).databases[0].restricted(["cancer", "smokes", "friends"])
    )
    facts = {p.name: list(town.rows(p.name)) for p in mln.schema.predicates}
    return mln, Database.from_facts(mln.schema, facts, domains=town.domains)


# the perceptron's fixed steps are slower: after as many iterations it may be farther away
@pytest.mark.parametrize(
    ("optimizer", "missing"), [("newton", 0.05), ("scg", 0.05), ("perceptron", 0.1)]
)
def test_sampled_expectations_come_near_the_exact_optimum(smoking, optimizer, missing):
    mln, database = smoking
    best = learn_conditional(mln, [database], ["cancer"])
    near = learn_conditional(
        mln, [database], ["cancer"], expectations="mcsat", optimizer=optimizer,
        samples=200, max_iterations=60, seed=1,
    )  # fmt: skip
    assert best.converged
    assert not near.converged  # a fixed number of steps, and no value to judge them by
    data = (grounded(best.mln, database, ["cancer"]),)
    likelihood, prior = ConditionalLikelihood(data), GaussianPrior(2.0)
    start = likelihood(np.zeros(3))[0]
    reached = likelihood(near.mln.weights)[0] + prior(near.mln.weights)[0]
    assert reached > best.objective - missing * (best.objective - start)


def test_same_seed_same_weights(smoking):
    mln, database = smoking
    runs = [
        learn_conditional(
            mln, [database], ["cancer"], expectations="mcsat", samples=50, max_iterations=5, seed=4
        ).mln.weights
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*runs)


def test_data_that_break_a_hard_rule_are_refused():
    mln = MLN.parse("p(t)\nq(t)\np(x) => q(x).\n1 q(x)")
    database = Database.from_facts(mln.schema, {"p": [("A",)]})
    with pytest.raises(InputError, match="hard"):
        learn_conditional(mln, [database], ["q"])


def test_a_query_is_needed():
    mln = MLN.parse("p(t)")
    with pytest.raises(InputError, match="name the predicates to predict"):
        learn_conditional(mln, [Database.from_facts(mln.schema, {"p": [("A",)]})], [])


def test_the_only_value_of_a_block_must_be_there():
    mln = MLN.parse("b = {K0}\np(b!)\nq\n1 q v !p(x)")
    empty = Database.from_facts(mln.schema, {})
    with pytest.raises(InputError, match="1 blocks of mutually exclusive atoms"):
        learn_conditional(mln, [empty], ["p"])
    learn_conditional(mln, [Database.from_facts(mln.schema, {"p": [("K0",)]})], ["p"])
