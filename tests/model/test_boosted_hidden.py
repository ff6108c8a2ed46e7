"""Unknown atoms of boosted models: conditionals, marginals and best worlds by enumeration."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from brute import brute_count
from mlnlearn.counting.pattern import Pattern
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.data.synthetic import hide
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted import BoostedModel
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms, unknown_predicates
from mlnlearn.model.boosted.hidden.network import GroundNetwork
from mlnlearn.model.boosted.hidden.sampler import Sampler
from mlnlearn.model.boosted.rules import ClauseList, HornClause, Leaf, Split, TargetRules, Tree
from structure.boosting.boosting_reference import count, random_clauses, random_tree, small_world
from worlds import true_facts

EVIDENCE = ["link", "part", "colour", "three", "big", "weather"]


def recursive_model(rng, schema, kind, existential=False):
    """Two targets that stand in each other's rules and in their own."""
    make = random_tree if kind == "trees" else random_clauses
    targets = []
    for name in ("goal", "aim"):
        predicates = [*EVIDENCE, "goal", "goal", "aim", "aim"]
        steps = tuple(make(rng, schema, schema[name].types, predicates) for _ in range(2))
        targets.append(TargetRules(schema[name], float(rng.normal()), steps=steps))
    return BoostedModel(schema, existential, tuple(targets))


def network_of(model, hidden):
    return GroundNetwork.of(model.targets, model.existential, hidden)


def log_weights(mln, hidden):
    """The log-weight of every world of the unknown atoms, the first atom's value in bit 0."""
    found = []
    for code in range(2 ** len(hidden)):
        truth = np.array([code >> bit & 1 for bit in range(len(hidden))], bool)
        found.append(
            sum(
                rule.weight
                * sum(brute_count(database, rule.formula, facts=true_facts(database)).values())
                for database in hidden.completed(truth)
                for rule in mln.rules
            )
        )
    return np.array(found)


def hidden_of(rng, databases, number):
    databases = [hide(d, ["goal", "aim"], 0.35, rng) for d in databases]
    hidden = HiddenAtoms.of(databases, ["goal", "aim"])
    # few enough to enumerate
    columns = {}
    for predicate, parts in hidden.columns.items():
        columns[predicate] = tuple(part[:, :number] for part in parts)
    atoms = sum(part.shape[1] for parts in columns.values() for part in parts)
    return HiddenAtoms(hidden.databases, columns, np.full(atoms, -1))


@pytest.mark.parametrize("kind", ["trees", "clauses"])
@pytest.mark.parametrize("seed", range(4))
def test_conditionals_are_differences_of_world_weights(seed, kind):
    rng = np.random.default_rng(seed)
    databases = small_world(rng)
    model = recursive_model(rng, databases[0].schema, kind)
    hidden = hidden_of(rng, databases, 2)
    weights = log_weights(model.to_mln(), hidden)
    sampler = Sampler(network_of(model, hidden), rng)
    previous = None
    for _ in range(6):
        truth = rng.random(len(hidden)) < 0.5
        sampler.assign(truth)
        code = int((truth * 2 ** np.arange(len(hidden))).sum())
        found = sampler.conditionals()
        assert sampler.truth.tolist() == truth.tolist()
        for atom in range(len(hidden)):
            with_atom, without = code | 1 << atom, code & ~(1 << atom)
            assert found[atom] == pytest.approx(expit(weights[with_atom] - weights[without]))
        # worlds are weighed but for a constant
        if previous is not None:
            gap = sampler.log_weight() - previous[0]
            assert gap == pytest.approx(weights[code] - weights[previous[1]], abs=1e-9)
        previous = sampler.log_weight(), code


def reference_value(node, database, facts, names, body=()):
    if isinstance(node, Leaf):
        return node.value
    if count(database, facts, body + node.test, names):
        return reference_value(node.yes, database, facts, names, body + node.test)
    return reference_value(node.no, database, facts, names, body)


@pytest.mark.parametrize("seed", range(3))
def test_dependency_networks_ask_the_rules_of_the_atom_alone(seed):
    rng = np.random.default_rng(seed)
    (database,) = small_world(rng, 1)
    model = recursive_model(rng, database.schema, "trees", existential=True)
    hidden = hidden_of(rng, [database], 4)
    sampler = Sampler(network_of(model, hidden), rng)
    for _ in range(3):
        truth = rng.random(len(hidden)) < 0.5
        sampler.assign(truth)
        found = sampler.conditionals()
        for predicate, (codes,) in hidden.columns.items():
            rules = model.rules_of(predicate.name)
            for place, names in enumerate(database.decode(predicate.name, codes)):
                atom = hidden.starts[predicate] + place
                others = truth.copy()
                others[atom] = False  # an atom is no evidence of itself
                facts = true_facts(hidden.completed(others)[0])
                value = rules.intercept + sum(
                    reference_value(step.root, database, facts, names) for step in rules.steps
                )
                assert found[atom] == pytest.approx(expit(value))


@pytest.mark.parametrize("kind", ["trees", "clauses"])
def test_marginals_and_the_best_world_by_enumeration(kind):
    rng = np.random.default_rng(5)
    databases = small_world(rng, 1)
    model = recursive_model(rng, databases[0].schema, kind)
    hidden = hidden_of(rng, databases, 4)
    weights = log_weights(model.to_mln(), hidden)
    chances = np.exp(weights - weights.max())
    chances /= chances.sum()
    bits = (np.arange(len(weights))[:, None] >> np.arange(len(hidden))) & 1
    sampler = Sampler(network_of(model, hidden), rng)
    sampler.scatter()
    sampler.run(100)
    assert sampler.run(6000) == pytest.approx(chances @ bits, abs=0.03)
    best = sampler.descend(20, 5)
    assert weights[int((best * 2 ** np.arange(len(hidden))).sum())] == pytest.approx(weights.max())


def test_two_literals_that_are_the_same_atom():
    """smokes(y) ^ smokes(z) with y = z, and y or z the head itself."""
    schema = Schema.of("smokes(person)", "friends(person,person)", "happy(person)")
    smokes, friends, happy = (schema[name] for name in ("smokes", "friends", "happy"))
    pairs = [("A", "A"), ("A", "B"), ("B", "A"), ("B", "B")]
    db = Database.from_facts(
        schema, {"friends": pairs}, unknown={"smokes": [("A",), ("B",)], "happy": [("A",)]}
    )
    body = (
        Pattern(friends, (0, 1)),
        Pattern(friends, (0, 2)),
        Pattern(smokes, (1,)),
        Pattern(smokes, (2,)),
    )
    tree = Tree(Split(body, Leaf(0.7), Leaf(-0.2)))
    clauses = ClauseList((HornClause(body, 0.4),))
    for step in (tree, clauses):
        rules = (TargetRules(smokes, 0.3, steps=(step,)), TargetRules(happy, -0.1, steps=(step,)))
        model = BoostedModel(schema, False, rules)
        hidden = HiddenAtoms.of([db], ["smokes", "happy"])
        weights = log_weights(model.to_mln(), hidden)
        sampler = Sampler(network_of(model, hidden), np.random.default_rng(0))
        for code, truth in enumerate(product([False, True], repeat=3)):
            world = np.array(truth[::-1])
            sampler.assign(world)
            found = sampler.conditionals()
            for atom in range(3):
                gap = weights[code | 1 << atom] - weights[code & ~(1 << atom)]
                assert found[atom] == pytest.approx(expit(gap))


@pytest.mark.parametrize(("otherwise", "least", "most"), [(0.5, 2, 4), (0.0, 0.5, 3)])
def test_work_follows_what_an_atom_touches(otherwise, least, most):
    """Two people who do not know each other: drawing one walks no tree of the other.

    What a clause (nothing otherwise) would add to false heads is known without a walk.
    """
    schema = Schema.of("smokes(person)", "friends(person,person)", "cancer(person)")
    people = [f"P{i}" for i in range(20)]
    pairs = [(people[i], people[i ^ 1]) for i in range(20)]
    db = Database.from_facts(
        schema,
        {"friends": pairs, "cancer": [], "smokes": []},
        unknown={"smokes": [(name,) for name in people]},
        domains={"person": people},
    )
    body = (Pattern(schema["friends"], (0, 1)), Pattern(schema["smokes"], (1,)))
    rules = [
        TargetRules(schema[name], 0.0, steps=(Tree(Split(body, Leaf(1.0), Leaf(otherwise))),))
        for name in ("smokes", "cancer")
    ]
    hidden = HiddenAtoms.of([db], ["smokes"])
    sampler = Sampler(GroundNetwork.of(rules, False, hidden), np.random.default_rng(0))
    assert sampler.network.size == 40
    sampler.run(50)
    # one friend's two trees, there and perhaps back again, of forty
    assert least <= sampler.walks / sampler.visits <= most


def test_open_predicates_and_asked_ones_are_unknown():
    schema = Schema.of("a(t)", "b(t)")
    db = Database.from_facts(
        schema,
        {"a": [("X",)], "b": [("X",)]},
        false={"a": [("Y",)]},
        domains={"t": ["Z"]},
        open=["a"],
    )
    assert unknown_predicates([db]) == ["a"]
    hidden = HiddenAtoms.of([db], ["a"])
    assert list(db.decode("a", hidden.columns[schema["a"]][0])) == [("Z",)]
    asked = HiddenAtoms.of([db], ["a"], asked=["b"])
    assert len(asked) == 4
    (filled,) = asked.completed(np.array([True, True, False, False]))
    assert sorted(filled.rows("a")) == [("X",), ("Z",)]
    assert filled.count("b") == 1


@pytest.mark.parametrize("kind", ["trees", "clauses"])
@pytest.mark.parametrize("seed", range(3))
def test_a_target_in_its_own_bodies(seed, kind):
    """Log-odds of known atoms are differences of world weights too."""
    rng = np.random.default_rng(seed)
    databases = small_world(rng)
    model = recursive_model(rng, databases[0].schema, kind)
    mln = model.to_mln()
    for target in ("goal", "aim"):
        examples = positives_and_negatives(databases, target)
        odds = model.log_odds(databases, examples)
        names = list(examples.rows(databases))
        for number in rng.permutation(len(examples))[:4].tolist():
            database = databases[examples.database[number]]
            weights = []
            for truth in (True, False):
                facts = true_facts(database)
                others = facts[target] - {names[number]}
                facts[target] = others | {names[number]} if truth else others
                counts = [
                    rule.weight * sum(brute_count(database, rule.formula, facts=facts).values())
                    for rule in mln.rules
                ]
                weights.append(sum(counts))
            assert odds[number] == pytest.approx(weights[0] - weights[1], abs=1e-9)


@pytest.mark.parametrize("kind", ["trees", "clauses"])
def test_queries_sum_over_unknown_evidence(kind):
    rng = np.random.default_rng(9)
    (database,) = small_world(rng, 1)
    model = recursive_model(rng, database.schema, kind)
    partly = replace(
        database,
        true={**database.true, "goal": database.facts("goal")[:, 2:]},
        unknown={"goal": database.facts("goal")[:, :2]},
    )
    hidden = HiddenAtoms.of([partly], ["goal"], asked=["aim"])
    weights = log_weights(model.to_mln(), hidden)
    chances = np.exp(weights - weights.max())
    chances /= chances.sum()
    bits = (np.arange(len(weights))[:, None] >> np.arange(len(hidden))) & 1
    both = model.query(partly)
    assert [(table.predicate.name, len(table)) for table in both.tables] == [
        ("goal", partly.unknown_facts("goal").shape[1]),
        ("aim", database.ground_atoms("aim")),
    ]
    found = np.concatenate([table.probability for table in both.tables])
    assert found == pytest.approx(chances @ bits, abs=1e-9)
    only = model.query(partly, "aim")
    assert len(only) == database.ground_atoms("aim")
    assert [a.probability for a in only] == pytest.approx(found[-len(only) :].tolist(), abs=1e-12)


def test_known_evidence_is_evidence_and_the_answer_exact():
    schema = Schema.of("smokes(person)", "cancer(person)")
    body = (Pattern(schema["smokes"], (0,)),)
    rules = (
        TargetRules(schema["cancer"], -2.0, steps=(ClauseList((HornClause(body, 1.5),)),)),
        TargetRules(schema["smokes"], -1.0),
    )
    db = Database.from_facts(
        schema,
        {"smokes": [("Anna",)], "cancer": [("Anna",)]},
        domains={"person": ["Bob"]},
    )
    answers = BoostedModel(schema, False, rules).query(db, "cancer").by_atom()
    assert answers == pytest.approx({"cancer(Bob)": expit(-2.0), "cancer(Anna)": expit(-0.5)})
    unknown = replace(
        db, true={"cancer": db.facts("cancer")}, unknown={"smokes": db.facts("smokes")}
    )
    for existential in (False, True):
        model = BoostedModel(schema, existential, rules)
        found = model.query(unknown, ["cancer"]).by_atom()
        # a false head with a true body is violated; in a dependency network smoking is not asked
        joint = np.exp([0.0, -2.0, -1.0 - 1.5, -1.0 - 2.0])
        smokes = (joint[2] + joint[3]) / joint.sum() if not existential else expit(-1.0)
        expected = smokes * expit(-0.5) + (1 - smokes) * expit(-2.0)
        assert found["cancer(Bob)"] == pytest.approx(expit(-2.0))
        assert found["cancer(Anna)"] == pytest.approx(expected, abs=1e-12)
