"""Probabilities of single atoms by brute force, and how models are asked."""

from itertools import product

import numpy as np
import pytest

from brute import brute_count
from learners import SCHEMA, Degree, NoisyModel, people
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.data.synthetic import smokers
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.evaluate.ask import Conditionals, Marginals, atom_probabilities
from mlnlearn.evaluate.conditional import (
    all_atoms,
    are_independent,
    conditional_probabilities,
)
from mlnlearn.evaluate.predictions import pooled, predict_examples
from mlnlearn.logic.formulas import Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.weights.result import LearnedWeights
from worlds import random_clause, random_database, random_schema, true_facts


def score(mln, database, facts):
    """Violated hard groundings (negated), and the weighted sum of the soft ones."""
    hard = soft = 0.0
    for rule in mln.rules:
        count = sum(brute_count(database, rule.formula, facts=facts).values())
        if rule.hard:
            hard += count
        else:
            soft += rule.weight * count
    return hard, soft


def chances(options):
    """Probabilities of worlds given by their scores: hard ones first, then soft ones."""
    best = max(hard for hard, _ in options)
    weights = np.array([np.exp(soft) if hard == best else 0.0 for hard, soft in options])
    return weights / weights.sum()


def brute_conditional(mln, database, predicate, atom):
    facts = true_facts(database)
    without = facts[predicate] - {atom}
    worlds = [{**facts, predicate: without | {atom}}, {**facts, predicate: without}]
    return chances([score(mln, database, world) for world in worlds])[0]


@pytest.mark.filterwarnings("ignore::mlnlearn.errors.DataWarning")
@pytest.mark.parametrize("seed", range(25))
def test_conditionals_equal_brute_force(seed):
    rng = np.random.default_rng([3, seed])
    schema = random_schema(rng, arity=2)
    database = random_database(rng, schema)
    rules = tuple(
        Rule(random_clause(rng, schema, most=3, variables=2).formula, weight=rng.normal())
        for _ in range(4)
    )
    if seed % 2:
        hard = Rule(random_clause(rng, schema, most=2, variables=2).formula, hard=True)
        rules = (rules[0], hard, *rules[1:])
    mln = MLN(schema, rules)
    (whole,) = with_constants_of(mln, [database])
    for predicate in schema.predicates:
        found = conditional_probabilities(mln, database, predicate.name)
        atoms = list(product(*(database.domains[kind].names for kind in predicate.types)))
        expected = [brute_conditional(mln, whole, predicate.name, atom) for atom in atoms]
        assert found == pytest.approx(expected, abs=1e-12)


def test_attributes_are_one_choice():
    database = people(1, count=6)
    mln = MLN.parse(
        f"{SCHEMA}\n0.7 friends(x,y) ^ age(x,a) => age(y,a)\n-0.4 age(x,1)\n!age(P1_0,0).\n"
    )
    columns = all_atoms(database, "age")
    found = conditional_probabilities(mln, database, "age")
    facts = true_facts(database)
    for row, person in enumerate(database.domains["person"]):
        others = {fact for fact in facts["age"] if fact[0] != person}
        options = [
            score(mln, database, {**facts, "age": others | {(person, value)}})
            for value in database.domains["years"]
        ]
        assert found[3 * row : 3 * row + 3] == pytest.approx(chances(options), abs=1e-12)
    some = np.array([7, 2, 11])
    part = conditional_probabilities(mln, database, "age", columns[:, some])
    assert part == pytest.approx(found[some], abs=1e-15)


def test_planted_truth_is_found_again():
    made = smokers(200, rng=3)
    database, truth = made.databases[0], made.truth[0]["cancer"]
    found = conditional_probabilities(MLN(made.schema, made.rules), database, "cancer")
    assert found == pytest.approx(truth.probability(all_atoms(database, "cancer")), abs=1e-12)


def test_plus_rules_are_written_out():
    database = people(2, count=5)
    mln = MLN.parse(f"{SCHEMA}\n0.3 age(x,+a) => smokes(x)")
    plain = MLN.parse(
        f"{SCHEMA}\n0.3 age(x,0) => smokes(x)\n0.3 age(x,1) => smokes(x)\n0.3 age(x,2) => smokes(x)"
    )
    one = conditional_probabilities(mln, database, "smokes")
    assert one.tolist() == conditional_probabilities(plain, database, "smokes").tolist()


def test_unknown_atoms_and_huge_predicates_are_refused():
    schema = Schema.of("smokes(person)")
    unknown = Database.from_facts(schema, {}, unknown={"smokes": [("Anna",)]})
    mln = MLN.parse("smokes(person)\n1 smokes(x)")
    with pytest.raises(InputError, match="has unknown atoms"):
        conditional_probabilities(mln, unknown, "smokes")
    wide = Schema.of("r(t,t,t)")
    names = {"t": [f"T{i}" for i in range(500)]}
    with pytest.raises(MemoryLimitError, match=r"125,000,000 ground atoms"):
        all_atoms(Database.from_facts(wide, {}, domains=names), "r")


def test_propositional_predicates():
    mln = MLN.parse("rain\nwet\n2 rain => wet\n-1 wet")
    database = Database.from_facts(mln.schema, {"rain": [()]})
    found = conditional_probabilities(mln, database, "wet")
    assert found == pytest.approx([1 / (1 + np.exp(-1))])
    examples = positives_and_negatives([database], "wet")
    assert predict_examples(mln, [database], examples).probability == pytest.approx(found)


def test_marginals_hide_the_query_predicate_and_nothing_else():
    class Witness:
        def predict(self, database, predicate, columns):
            self.seen = {p.name: database.count(p.name) for p in database.schema.predicates}
            return np.full(columns.shape[1], 0.5)

    database, model = people(0), Witness()
    columns = all_atoms(database, "smokes")
    counts = {p.name: database.count(p.name) for p in SCHEMA.predicates}
    atom_probabilities(model, database, "smokes", columns, Marginals())
    assert model.seen == {**counts, "smokes": 0}
    atom_probabilities(model, database, "smokes", columns, Conditionals())
    assert model.seen == counts


def test_marginals_of_a_network_by_enumeration():
    """All smokers unknown at once: 2^5 worlds, friends and ages given."""
    database = people(4, count=5)
    mln = MLN.parse(f"{SCHEMA}\n1.2 friends(x,y) ^ smokes(x) => smokes(y)\n-0.5 smokes(x)")
    facts = true_facts(database)
    names = [(name,) for name in database.domains["person"]]
    total, sums = 0.0, np.zeros(5)
    for bits in product([False, True], repeat=5):
        world = {**facts, "smokes": {n for n, bit in zip(names, bits, strict=True) if bit}}
        weight = np.exp(score(mln, database, world)[1])
        total += weight
        sums += weight * np.array(bits)
    examples = positives_and_negatives([database], "smokes")
    exact = predict_examples(mln, [database], examples)
    assert exact.probability == pytest.approx((sums / total)[examples.columns[0]], abs=1e-10)
    sampled = Marginals(method="gibbs", sampling=Sampling(samples=4000, seed=3))
    found = predict_examples(mln, [database], examples, sampled)
    assert found.probability == pytest.approx(exact.probability, abs=0.05)
    assert found.probability.tolist() != exact.probability.tolist()


def test_several_databases_and_pooling():
    databases = [people(0), people(1)]
    examples = positives_and_negatives(databases, "smokes")
    both = predict_examples(Degree(), databases, examples)
    parts = [
        predict_examples(Degree(), [db], positives_and_negatives([db], "smokes"))
        for db in databases
    ]
    again = pooled(parts)
    assert both.probability.tolist() == again.probability.tolist()
    assert both.database.tolist() == again.database.tolist()
    assert both.scores() == again.scores()
    with pytest.raises(InputError, match="no predictions"):
        pooled([])


def test_accuracy_needs_an_attribute():
    database = people(0)
    examples = positives_and_negatives([database], "age")
    found = predict_examples(NoisyModel(0.3, 0.1, 0), [database], examples)
    assert set(found.scores(["accuracy", "cll"], (1,))) == {"accuracy", "cll"}
    with pytest.raises(InputError, match="no attribute with one value"):
        found.scores(["accuracy"])


def test_models_that_cannot_predict_are_named():
    class Wrong:
        def predict(self, database, predicate, columns):
            return np.zeros(3)

    columns = all_atoms(people(0), "smokes")
    with pytest.raises(InputError, match="a int cannot predict atoms"):
        atom_probabilities(3, people(0), "smokes", columns, Marginals())
    with pytest.raises(InputError, match=r"Wrong.predict returned shape \(3,\) for 12 atoms"):
        atom_probabilities(Wrong(), people(0), "smokes", columns, Marginals())


def test_a_learned_network_is_asked():
    database = people(3)
    mln = MLN.parse(f"{SCHEMA}\n-0.7 smokes(x)")
    learned = LearnedWeights(mln, 0.0, 0.0, 1, True)
    columns = all_atoms(database, "smokes")
    found = atom_probabilities(learned, database, "smokes", columns, Marginals())
    assert found == pytest.approx(np.full(12, 1 / (1 + np.exp(0.7))))


@pytest.mark.parametrize("seed", range(12))
def test_independent_atoms_need_no_grounding(seed):
    """Flip counts and exact inference on the ground network agree where atoms are independent."""
    rng = np.random.default_rng([11, seed])
    schema = random_schema(rng)
    database = random_database(rng, schema)
    asked = schema.predicates[0].name
    rules = []
    while len(rules) < 4:
        formula = random_clause(rng, schema).formula
        rule = Rule(formula, weight=float(rng.normal()))
        if are_independent(MLN(schema, (rule,)), [asked]):
            rules.append(rule)
    mln = MLN(schema, tuple(rules))
    atoms = all_atoms(database, asked)
    fast = atom_probabilities(mln, database, asked, atoms, Marginals())
    slow = atom_probabilities(mln, database, asked, atoms, Marginals(method="exact"))
    np.testing.assert_allclose(fast, slow, atol=1e-9)


def test_atoms_that_depend_on_each_other_are_told():
    declared = "p(t)\nq(t)\nr(t,t)\n"
    for rule, expected in [
        ("1 p(x) ^ q(x)", True),
        ("1 p(x) v p(x) v q(x)", True),
        ("1 p(x) v p(y) v r(x,y)", False),
        ("1 EXIST x p(x)", False),
        ("1 FORALL x (p(x) v q(x))", True),
        ("1 q(x) v (EXIST y (p(y) ^ r(x,y)))", False),
        ("1 q(x) v (EXIST y r(x,y))", True),
        ("p(x) v q(x).", False),
        ("q(x) v r(x,x).", True),
    ]:
        assert are_independent(MLN.parse(declared + rule), ["p"]) == expected, rule
    assert not are_independent(MLN.parse(declared + "1 p(x) ^ q(x)"), ["p", "q"])
