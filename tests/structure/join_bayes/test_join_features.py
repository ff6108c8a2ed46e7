"""Exact conditionals of attributes: against counting the rules in every changed world."""

from itertools import product

import numpy as np
import pytest
from scipy.special import log_softmax

from join_worlds import chain_tables, counter_of, flag_tables, self_tables, value_of
from mlnlearn.counting.count import true_groundings
from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.data.database import Database
from mlnlearn.data.load.build import Loaded
from mlnlearn.structure.join_bayes import features as features_module
from mlnlearn.structure.join_bayes.features import (
    attribute_features,
    attribute_rows,
    attribute_scores,
)
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN
from mlnlearn.structure.join_bayes.model import JoinBayesModel
from mlnlearn.structure.join_bayes.rules import Family, table_rules
from mlnlearn.weights.pseudolikelihood import PseudoLikelihood
from mlnlearn.weights.rows import RowLikelihood


def with_value(database, node, key, value):
    """The database with one attribute of one entity or link changed."""
    name = node.predicate.name
    code = database.domains[node.predicate.types[-1]].code(node.values[value])
    facts = database.facts(name)
    kept = facts[:, (facts[:-1] != np.array(key)[:, None]).any(axis=0)]
    changed = np.concatenate([kept, np.array([[*key, code]], np.int32).T], axis=1)
    return Database.from_codes(database.schema, database.domains, {**database.true, name: changed})


def brute_log_probabilities(database, mln, node, key, first):
    scores = np.full(node.size, -np.inf)
    for value in range(first, node.size):
        world = with_value(database, node, key, value)
        engine = MemoryEngine([world])
        counts = [int(true_groundings(engine, rule.formula)[0]) for rule in mln.rules]
        scores[value] = np.dot(counts, mln.weights)
    return scores - np.logaddexp.reduce(scores)


@pytest.mark.parametrize("tables", [chain_tables, self_tables])
@pytest.mark.parametrize(
    "learner", [MBN(links=True), LAJDT(links=True, pruning="none"), LAJDT(pruning="none"), MBN()]
)
@pytest.mark.parametrize("seed", [0, 5])
def test_probabilities_are_those_of_the_rules(tables, learner, seed):
    database, mapping = tables(seed, size=3)
    model = learner.fit(Loaded(database, mapping)).model
    rng = np.random.default_rng(seed)
    # any weights will do, and random ones hide nothing
    object.__setattr__(model, "weights", rng.normal(size=len(model.weights)) * 0.3)
    mln = model.mln()
    counter = counter_of([database], mapping)
    for found in model.predict(database).values():
        node = found.node
        first = int(node.relationship is not None)
        if first:
            keys = counter.data.links[node.relationship.name].T.tolist()
        else:
            keys = [[k] for k in range(len(found.truth))]
        for place in rng.choice(len(keys), min(1, len(keys)), replace=False):
            expected = brute_log_probabilities(database, mln, node, keys[place], first)
            got = found.log_probabilities[place]
            assert got[first:] == pytest.approx(expected[first:], abs=1e-9)


@pytest.mark.parametrize("links", [True, False])
def test_the_copies_of_one_attribute_in_one_family(links):
    """Friends' attributes depend on each other, self-links included: both copies change."""
    database, mapping = self_tables(2, size=6)
    assert any(one == two for one, two in database.rows("knows"))
    counter = counter_of([database], mapping)
    layout = counter.data.layout
    sex = [node for node in layout.attributes if node.predicate.name == "sex"]
    family = Family.of(sex[0], (sex[1], layout.relationships[0].link), layout, links=links)
    rules = table_rules(family, family.count(counter))
    weights = np.random.default_rng(0).normal(size=rules.size)
    learned = MBN().fit(Loaded(database, mapping)).model
    model = JoinBayesModel(learned.net, (rules,), weights, database.schema)
    prediction = model.predict(database)["sex"]
    for entity in range(6):
        expected = brute_log_probabilities(database, model.mln(), prediction.node, [entity], 0)
        assert prediction.log_probabilities[entity] == pytest.approx(expected, abs=1e-9)


def test_likelihood_is_the_pseudo_likelihood_of_the_rules():
    database, mapping = self_tables(2, size=8)
    model = LAJDT(links=True, weights="log-probability").fit(Loaded(database, mapping)).model
    counter = counter_of([database], mapping)
    features = [
        part
        for part in attribute_features(counter, model.families)
        if part.node.relationship is None
    ]
    predicates = tuple(part.node.predicate for part in features)
    mln = model.mln()
    shown = np.concatenate([family.emitted for family in model.families])
    rng = np.random.default_rng(0)
    weights = rng.normal(size=len(shown)) * 0.1
    value, gradient = RowLikelihood([part.grouped().rows() for part in features])(weights)
    formulas = tuple(rule.formula for rule in mln.rules)
    other = PseudoLikelihood(MemoryEngine([database]), formulas, False, predicates)
    expected, slope = other(weights[shown])
    assert value == pytest.approx(expected, abs=1e-8)
    assert gradient[shown] == pytest.approx(slope, abs=1e-8)


def test_gradient_is_numerically_right():
    database, mapping = chain_tables(1, missing=0.2, size=6)
    model = MBN(links=True).fit(Loaded(database, mapping)).model
    features = attribute_features(counter_of([database], mapping), model.families)
    likelihood = RowLikelihood([part.grouped().rows() for part in features])
    rng = np.random.default_rng(0)
    weights = rng.normal(size=len(model.weights)) * 0.2
    _, gradient = likelihood(weights)
    for place in rng.choice(len(weights), 10, replace=False):
        step = np.zeros_like(weights)
        step[place] = 1e-5
        slope = (likelihood(weights + step)[0] - likelihood(weights - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-5)


def holding(database, layout, family, leaf, node, key, value, known):
    """How many groundings of a leaf's rules hold for each child value, with one value changed.

    What is asked for must be known: a grounding that asks for an unknown value does not hold.
    """
    path = [(family.parents[place], wanted) for place, wanted in family.leaves[leaf]]
    asked = [(r.link, 1) for r in family.given] + path
    nodes = [family.child, *(parent for parent, _ in asked)]
    variables = list(dict.fromkeys(v for n in nodes for v in n.variables))
    counts = np.zeros(family.child.size)

    def seen(other, world):
        ids = [world[variable] for variable in other.variables]
        if other.predicate == node.predicate and ids == list(key):
            return value
        place = (other.predicate.name, *ids)
        if place not in known:
            known[place] = value_of(database, other, world)
        return known[place]

    for codes in product(*(range(database.size(layout.types[v])) for v in variables)):
        world = dict(zip(variables, codes, strict=True))
        own = seen(family.child, world)
        if own is not None and all(seen(parent, world) == wanted for parent, wanted in asked):
            counts[own] += 1
    return counts


@pytest.mark.parametrize("tables", [chain_tables, self_tables, flag_tables])
@pytest.mark.parametrize(
    "learner", [MBN(links=True), LAJDT(links=True, pruning="none"), LAJDT(pruning="none")]
)
@pytest.mark.parametrize("seed", [2, 3])
def test_groundings_that_ask_for_an_unknown_value_do_not_hold(tables, learner, seed):
    database, mapping = tables(seed, 0.3, 4)
    model = learner.fit(Loaded(*tables(seed, 0.0, 4))).model  # any rules will do
    rng = np.random.default_rng(seed)
    object.__setattr__(model, "weights", rng.normal(size=len(model.weights)) * 0.3)
    counter = counter_of([database], mapping)
    layout, known = counter.data.layout, {}
    for found in model.predict(database).values():
        node, first = found.node, int(found.node.relationship is not None)
        entities = [[k] for k in range(len(found.truth))]
        keys = counter.data.links[node.relationship.name].T.tolist() if first else entities
        unknown = np.flatnonzero(found.truth == node.size)[:1].tolist()
        for place in {*unknown, int(rng.integers(len(keys)))}:
            scores = np.full(node.size, -np.inf)
            for value in range(first, node.size):
                scores[value], start = 0.0, 0
                for family in model.families:
                    for leaf in range(len(family.leaves)):
                        stop = start + family.child.size
                        where = node, keys[place], value, known
                        held = holding(database, layout, family, leaf, *where)
                        held[: int(not family.emitted[0])] = 0
                        scores[value] += held @ model.weights[start:stop]
                        start = stop
            expected = scores - np.logaddexp.reduce(scores)
            got = found.log_probabilities[place]
            assert got[first:] == pytest.approx(expected[first:], abs=1e-9)


def test_unknown_values_are_predicted_and_not_scored():
    database, mapping = chain_tables(4, missing=0.3, size=8)
    model = LAJDT().fit(Loaded(database, mapping)).model
    prediction = model.predict(database)["ay"]
    missing = prediction.truth == prediction.node.size
    assert missing.any()
    assert np.exp(prediction.log_probabilities).sum(axis=1) == pytest.approx(np.ones(len(missing)))
    known = prediction.log_probabilities[~missing]
    expected = known[np.arange(len(known)), prediction.truth[~missing]].mean()
    assert prediction.cll == pytest.approx(expected)


@pytest.mark.parametrize("tables", [chain_tables, self_tables])
def test_entries_added_up_early_and_scores_are_the_same_features(tables, monkeypatch):
    database, mapping = tables(4, missing=0.2, size=5)
    learner = LAJDT(weights="log-probability", pruning="none", links=True, max_chain=1)
    model = learner.fit(Loaded(database, mapping)).model
    counter = counter_of([database], mapping)
    plain = attribute_features(counter, model.families)
    monkeypatch.setattr(features_module, "_MANY", 0)
    for one, other in zip(plain, attribute_features(counter, model.families), strict=True):
        assert abs(one.matrix - other.matrix).max() < 1e-12
        scores = attribute_scores(counter, model.families, one.node, model.weights)
        logs = one.log_probabilities(model.weights)
        assert log_softmax(scores, axis=1) == pytest.approx(logs, abs=1e-9)


@pytest.mark.parametrize("tables", [chain_tables, self_tables, flag_tables])
@pytest.mark.parametrize("links", [False, True])
def test_groups_of_groundings_are_those_with_equal_features(tables, links):
    for seed in range(4):
        database, mapping = tables(seed, size=9)
        other = tables(seed + 10, size=5).database
        model = MBN(links=links).fit(Loaded(database, mapping)).model
        counter = counter_of([database, other], mapping)
        grouped = attribute_rows(counter, model.families)
        for one, rows in zip(attribute_features(counter, model.families), grouped, strict=True):
            expected = one.grouped()
            assert rows.true.tolist() == expected.true.tolist()
            assert rows.groundings.tolist() == expected.groundings.tolist()
            assert abs(rows.matrix - expected.matrix).max() < 1e-12
            assert rows.groundings.sum() == len(one.truth)
