"""What cannot be lifted: a bounded search for plans, and exact answers by grounding."""

import numpy as np
import pytest

from lifted_worlds import Worlds, domains_of, random_clause
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.lifted.compile import compile_formulas
from mlnlearn.lifted.partition import GroundPartition, partitions
from mlnlearn.lifted.plan import NotLiftable, SearchBudget, SearchTooLongError
from mlnlearn.lifted.query import expected_counts, lifted_query, log_partition
from mlnlearn.logic.atoms import Comparison, Constant
from mlnlearn.logic.formulas import And, Exists, Forall, Not, Rule, free_variables, variable_types
from mlnlearn.logic.schema import Schema
from mlnlearn.logic.substitute import substitute_formula
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.weights.likelihood import learn_likelihood, log_likelihood

# the search for a plan of each takes tens of thousands of steps, or has no end in sight
LONG = [
    "p(b,b)\nq(b,b)\n1 !p(y,z)\n0.5 !p(z,z) v !q(z,z)\n-1 !(EXIST x (p(y,y) v !p(z,x) v p(y,z)))",
    "p(b,b,b)\n0.4 p(z,z,z)\n1 !p(y,y,z) v !p(x,z,y) v !p(y,x,x)\n"
    "!p(z,z,x) v p(x,B1,B1) v p(x,x,x).",
    "p(b,b)\n0.7 !(FORALL x (p(y,x) v p(z,z) v !p(x,y)))\n0.3 p(x,y)\n!(EXIST x !p(x,x)).",
]


def check(mln, sizes):
    """Compare log Z, expected counts and the likelihood of a world with enumeration."""
    soft, hard = [r.formula for r in mln.soft], [r.formula for r in mln.hard]
    domains = domains_of(mln.schema, sizes)
    worlds = Worlds(mln.schema, domains)
    log_z, counts, probability = worlds.log_z(soft, mln.weights, hard)
    database = Database.from_facts(mln.schema, {}, domains=domains)
    assert log_partition(mln, database) == pytest.approx(log_z, abs=1e-7)
    np.testing.assert_allclose(expected_counts(mln, database), counts, atol=1e-6)
    number = int(probability.argmax())
    true = {predicate.name: [] for predicate in mln.schema.predicates}
    for (name, names), column in worlds.atoms.items():
        if worlds.truth[number, column]:
            true[name].append(names)
    world = Database.from_facts(mln.schema, true, domains=domains)
    assert log_likelihood(mln, world) == pytest.approx(np.log(probability[number]), abs=1e-7)


@pytest.mark.parametrize("text", LONG)
@pytest.mark.parametrize("size", [1, 2])
def test_a_search_that_takes_too_long_is_answered_by_grounding(text, size):
    mln = MLN.parse(text)
    with pytest.raises(SearchTooLongError, match="exceeds 2,000 steps"):
        compile_formulas(
            mln.schema.predicates,
            [rule.formula for rule in mln.soft],
            [rule.formula for rule in mln.hard],
            constants=[("b", "B1")],
            budget=SearchBudget(2_000),
        )
    if size == 2 or "B1" not in text:
        check(mln, {"b": size})


def test_weights_of_rules_whose_plan_takes_too_long():
    mln = MLN.parse(LONG[0])
    facts = {"p": [("B0", "B1")], "q": [("B1", "B1"), ("B0", "B0")]}
    database = Database.from_facts(mln.schema, facts, domains={"b": ["B0", "B1"]})
    learned = learn_likelihood(mln, [database], units=False, sigma=2.0).mln
    soft = [rule.formula for rule in mln.soft]
    counts = Worlds(mln.schema, {"b": ["B0", "B1"]}).log_z(soft, learned.weights)[1]
    observed = learn_counts(soft, database)
    np.testing.assert_allclose(observed - counts, learned.weights / 4.0, atol=1e-4)


def learn_counts(formulas, database):
    worlds = Worlds(database.schema, {"b": ["B0", "B1"]})
    truth = [names in set(database.rows(name)) for name, names in worlds.atoms]
    place = np.flatnonzero((worlds.truth == truth).all(axis=1))[0]
    return np.array([worlds.counts(formula)[0][place] for formula in formulas])


def random_schema(rng):
    declarations = []
    for number in range(rng.integers(1, 4)):
        kinds = rng.choice(["a", "b"], rng.choice([0, 1, 1, 2, 2, 3]))
        marked = rng.random() < 0.25 and len(kinds) > 1
        declarations.append(f"p{number}({','.join(kinds)}{'!' * marked})")
    return Schema.of(*declarations)


def random_formula(rng, schema, domains):
    """A clause, at times with constants, a comparison or a quantifier."""
    while (made := random_clause(rng, schema, 3)) is None:
        pass
    formula = made.formula
    types = variable_types(formula)
    for variable in free_variables(formula):
        choice = rng.random()
        name = Constant(str(rng.choice([*domains[types[variable]], "Nobody"])))
        if choice < 0.1:
            formula = substitute_formula(formula, {variable: name})
        elif choice < 0.3:
            test = Comparison("=", variable, name)
            formula = And((formula, test if rng.random() < 0.5 else Not(test)))
        elif choice < 0.5:
            formula = (Exists if rng.random() < 0.5 else Forall)((variable,), formula)
            formula = Not(formula) if rng.random() < 0.5 else formula
    return formula


def random_model(rng):
    while True:
        schema = random_schema(rng)
        sizes = {kind: int(rng.choice([1, 1, 2, 3])) for kind in ("a", "b")}
        domains = domains_of(schema, sizes)
        rules = [
            Rule(random_formula(rng, schema, domains), weight=float(rng.normal(0.0, 1.5)))
            for _ in range(rng.integers(1, 4))
        ]
        if rng.random() < 0.4:
            rules.append(Rule(random_formula(rng, schema, domains), hard=True))
        mln = MLN(schema, tuple(rules))
        database = Database.from_facts(schema, {}, domains=domains)
        (database,) = with_constants_of(mln, [database])
        if sum(database.ground_atoms(p.name) for p in schema.predicates) <= 9:
            return mln, {kind: list(names) for kind, names in database.domains.items()}


@pytest.mark.filterwarnings("ignore:the rules name constants")
@pytest.mark.parametrize("seed", range(4))
def test_random_models_whatever_way_they_take(seed):
    rng = np.random.default_rng(seed)
    impossible = grounded = 0
    for _ in range(40):
        mln, domains = random_model(rng)
        soft = [rule.formula for rule in mln.soft]
        hard = [rule.formula for rule in mln.hard]
        worlds = Worlds(mln.schema, domains)
        worlds.truth = worlds.truth[possible(mln.schema, worlds)]
        log_z, counts, _ = worlds.log_z(soft, mln.weights, hard)
        database = Database.from_facts(mln.schema, {}, domains=domains)
        if log_z == -np.inf:
            impossible += 1
            try:
                assert log_partition(mln, database) == -np.inf
            except InputError as error:
                assert "hard" in str(error)  # noqa: PT017 - or it says that none is possible
            continue
        (partition,) = partitions(mln, [database])
        grounded += isinstance(partition, GroundPartition)
        value, gradient = partition.evaluate(mln.weights)
        assert value[0] == pytest.approx(log_z, abs=1e-7)
        np.testing.assert_allclose(gradient, counts, atol=1e-6)
    assert impossible < 15
    assert 0 < grounded < 15


def possible(schema, worlds):
    """Which worlds have exactly one value in every block of a ``!`` predicate."""
    result = np.ones(len(worlds.truth), bool)
    for name, marked in schema.functional.items():
        blocks = {}
        for (other, names), column in worlds.atoms.items():
            if other == name:
                key = tuple(n for place, n in enumerate(names) if place not in marked)
                blocks.setdefault(key, []).append(column)
        for columns in blocks.values():
            result &= worlds.truth[:, columns].sum(axis=1) == 1
    return result


def test_order_of_objects_is_grounded():
    mln = MLN.parse("p(num)\n1 p(x) ^ x < y => p(y)")
    check(mln, {"num": 3})


def test_what_is_neither_lifted_nor_small_is_refused():
    mln = MLN.parse("p(t,t)\n1 p(x,y) ^ p(y,z) => p(x,z)")
    with pytest.raises(NotLiftable, match=r"no rule of lifted inference applies: p\(x,y\)"):
        log_partition(mln, {"t": 12})


def test_queries_do_not_search_for_ever(monkeypatch):
    monkeypatch.setattr("mlnlearn.lifted.query.SearchBudget", lambda: SearchBudget(2_000))
    mln = MLN.parse(LONG[2])
    nothing = Database.from_facts(mln.schema, {}, domains={"b": ["B0", "B1", "B2"]})
    with pytest.raises(SearchTooLongError, match="exceeds 2,000 steps"):
        lifted_query(mln, nothing, "p")
