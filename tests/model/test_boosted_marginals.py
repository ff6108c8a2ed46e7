"""Answers of joint boosted models against the definition, by enumeration of worlds.

Under counting semantics a world's weight is that of the model's rules as a Markov logic network. A
dependency network is defined by its conditionals: its answers are where sweeps settle that draw
causes before effects, found here by multiplying the matrices of single draws.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from brute import brute_count
from mlnlearn.counting.pattern import Pattern
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.data.population import all_atoms
from mlnlearn.errors import InputError, MlnError
from mlnlearn.evaluate.ask import Marginals, atom_probabilities
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted import BoostedModel
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms
from mlnlearn.model.boosted.hidden.components import hidden_components, sweep_order
from mlnlearn.model.boosted.hidden.network import GroundNetwork
from mlnlearn.model.boosted.rules import ClauseList, HornClause, Leaf, Split, TargetRules, Tree
from mlnlearn.montecarlo.settings import Sampling
from structure.boosting.boosting_reference import count, random_clauses, random_tree
from worlds import true_facts

SCHEMA = Schema.of("a(t)", "b(t)", "c(t,t)", "link(t,t)", "shown(t)", "rain")
TARGETS = ("a", "b", "c")


def random_database(rng, size=2):
    names = [f"T{i}" for i in range(size)]
    facts = {}
    for predicate in SCHEMA.predicates:
        atoms = product(names, repeat=predicate.arity)
        facts[predicate.name] = [atom for atom in atoms if rng.random() < 0.5]
    return Database.from_facts(SCHEMA, facts, domains={"t": names})


def random_model(rng, existential, targets=TARGETS):
    """Trees and clauses whose bodies hold evidence, other targets and the target itself."""
    rules = []
    for name in targets:
        predicates = [*targets, "link", "shown", "rain"]
        makers = rng.permutation([random_tree, random_clauses])
        steps = tuple(make(rng, SCHEMA, SCHEMA[name].types, predicates) for make in makers)
        rules.append(TargetRules(SCHEMA[name], float(rng.normal()), steps=steps))
    return BoostedModel(SCHEMA, existential, tuple(rules))


def worlds_of(hidden):
    """All worlds of the unknown atoms, the first atom's value in bit 0."""
    for code in range(2 ** len(hidden)):
        truth = np.array([code >> bit & 1 for bit in range(len(hidden))], bool)
        yield code, hidden.completed(truth)[0]


def log_weight(rules, world):
    """The log-weight of a world, by counting."""
    facts = true_facts(world)
    return sum(r.weight * sum(brute_count(world, r.formula, facts=facts).values()) for r in rules)


def by_weights(model, hidden):
    """Marginals of the Markov logic network that the model is."""
    rules = model.to_mln().rules
    weights = np.array([log_weight(rules, world) for _, world in worlds_of(hidden)])
    chances = np.exp(weights - weights.max())
    bits = (np.arange(len(weights))[:, None] >> np.arange(len(hidden))) & 1
    return chances @ bits / chances.sum()


def own_value(step, database, facts, names):
    """What one step gives an atom, once however many groundings there are."""
    if isinstance(step, ClauseList):
        return sum(c.weight * (count(database, facts, c.body, names) > 0) for c in step.clauses)
    node, body = step.root, ()
    while not isinstance(node, Leaf):
        holds = count(database, facts, body + node.test, names) > 0
        body = body + node.test if holds else body
        node = node.yes if holds else node.no
    return node.value


def by_sweeps(model, hidden, order):
    """Where sweeps settle, from the conditionals alone."""
    database = hidden.databases[0]
    atoms = [
        (predicate.name, names)
        for predicate, (codes,) in hidden.columns.items()
        for names in database.decode(predicate.name, codes)
    ]
    size = 2 ** len(hidden)
    sweep = np.eye(size)
    facts_of = [true_facts(world) for _, world in worlds_of(hidden)]
    for atom in order:
        name, names = atoms[atom]
        rules = model.rules_of(name)
        draw = np.zeros((size, size))
        for code in range(size):
            without, with_it = code & ~(1 << atom), code | 1 << atom
            steps = (rules.prior, *rules.steps)
            odds = rules.intercept + sum(
                own_value(step, database, facts_of[without], names) for step in steps
            )
            draw[code, with_it], draw[code, without] = expit(odds), expit(-odds)
        sweep = sweep @ draw
    for _ in range(60):
        sweep = sweep @ sweep
        sweep /= sweep.sum(axis=1, keepdims=True)
    bits = (np.arange(size)[:, None] >> np.arange(len(hidden))) & 1
    return sweep[0] @ bits


def hidden_part(rng, database, asked, most):
    """Unknown atoms: all of what is asked for, and a few others."""
    listed = {
        name: database.facts(name)[:, : rng.integers(3)] for name in TARGETS if name not in asked
    }
    true = {
        name: codes[:, listed[name].shape[1] :] if name in listed else codes
        for name, codes in database.true.items()
    }
    partly = replace(database, true=true, unknown=listed)
    hidden = HiddenAtoms.of([partly], TARGETS, asked)
    return (partly, hidden) if len(hidden) <= most else None


def cases(existential, number, most):
    """Random models with their evidence, few enough atoms unknown to enumerate the worlds."""
    found = 0
    for seed in range(1000):
        rng = np.random.default_rng([seed, existential])
        asked = [name for name in TARGETS if rng.random() < 0.5] or ["a"]
        part = hidden_part(rng, random_database(rng), asked, most)
        if part is not None:
            found += 1
            yield random_model(rng, existential), *part, asked
        if found == number:
            return


def answered(model, partly, asked, **settings):
    answers = model.query(partly, asked, closed=TARGETS, **settings)
    return answers, np.concatenate([table.probability for table in answers.tables])


def expected_of(hidden, asked, everything, schema=SCHEMA):
    parts = []
    for name in asked:
        predicate = schema[name]
        (columns,) = hidden.columns[predicate]
        start = hidden.starts[predicate]
        parts.append(everything[start : start + columns.shape[1]])
    return np.concatenate(parts)


@pytest.mark.parametrize("existential", [False, True])
def test_exact_answers_are_those_of_the_definition(existential):
    methods = set()
    for model, partly, hidden, asked in cases(existential, 20, 6):
        network = GroundNetwork.of(model.targets, existential, hidden)
        order = sweep_order(network.rules)
        assert sorted(order.tolist()) == list(range(len(hidden)))
        truth = by_sweeps(model, hidden, order) if existential else by_weights(model, hidden)
        answers, found = answered(model, partly, asked)
        assert found == pytest.approx(expected_of(hidden, asked, truth), abs=1e-9)
        assert answers.converged
        assert all(answer.standard_error == 0 for answer in answers)
        methods |= {answer.method for answer in answers}
        if len(asked) == 1:
            # evaluation asks the same question, and hides what is asked for itself
            columns = all_atoms(partly, asked[0])
            by_protocol = atom_probabilities(model, partly, asked[0], columns, Marginals())
            assert by_protocol == pytest.approx(found, abs=1e-12)
    assert methods == {"closed form", "enumeration"}


@pytest.mark.parametrize("existential", [False, True])
def test_sampled_answers_are_within_the_errors_they_report(existential):
    scores = []
    for model, partly, _, asked in cases(existential, 12, 6):
        exact = answered(model, partly, asked)[1]
        settings = Sampling(samples=4000, burn_in=100, seed=2)
        answers, found = answered(model, partly, asked, method="gibbs", sampling=settings)
        if all(component.method == "closed form" for component in answers.components):
            continue
        assert {answer.method for answer in answers} == {"gibbs"}
        error = np.array([answer.standard_error for answer in answers])
        assert (error > 0).all()
        if answers.converged:
            scores.append(np.abs(found - exact) / error)
    scores = np.concatenate(scores)
    assert len(scores) > 20
    assert scores.max() < 4
    assert np.sqrt(np.square(scores).mean()) < 1.5


def test_chains_that_disagree_are_said_not_to_have_converged():
    """Two worlds of equal weight with a desert between them: a chain stays where it started."""
    schema = Schema.of("a(t)", "near(t,t)")
    names = [f"T{i}" for i in range(20)]
    body = (Pattern(schema["near"], (0, 1)), Pattern(schema["a"], (1,)))
    steps = (ClauseList((HornClause(body, 2.0),)),)
    model = BoostedModel(schema, False, (TargetRules(schema["a"], 0.0, steps=steps),))
    near = [(x, y) for x in names for y in names if x != y]
    database = Database.from_facts(schema, {"near": near})
    answers = model.query(database, sampling=Sampling(samples=400, burn_in=10))
    assert {answer.method for answer in answers} == {"gibbs"}
    (part,) = answers.components
    assert part.atoms == 20
    assert part.r_hat > 1.05
    assert not answers.converged
    with pytest.raises(MlnError, match="20 unknown atoms depend on each other"):
        model.query(database, method="exact")
    with pytest.raises(InputError, match="no method 'mcsat'"):
        model.query(database, method="mcsat")


def test_components_split_where_evidence_cuts():
    """A head known to be false adds up over groundings: under a clause its atoms are apart.

    Under a tree they are not, and an unknown head holds them together.
    """
    schema = Schema.of("ill(t)", "a(t)", "near(t,t)")
    body = (Pattern(schema["near"], (0, 1)), Pattern(schema["a"], (1,)))
    near = [("X", "Y"), ("X", "Z")]
    for known, step, sizes in (
        (True, ClauseList((HornClause(body, 1.0),)), [1, 1, 1]),
        (True, Tree(Split(body, Leaf(1.0), Leaf(0.5))), [1, 2]),
        (False, ClauseList((HornClause(body, 1.0),)), [3, 1, 1, 1]),
    ):
        rules = (TargetRules(schema["ill"], 0.2, steps=(step,)), TargetRules(schema["a"], -0.3))
        model = BoostedModel(schema, False, rules)
        database = Database.from_facts(
            schema, {"near": near}, false={"ill": [("X",)]} if known else {}
        )
        hidden = HiddenAtoms.of([database], [], ["a"] if known else ["ill", "a"])
        network = GroundNetwork.of(model.targets, False, hidden)
        found = hidden_components(network.rules)
        assert sorted(found.sizes.tolist()) == sorted(sizes)
        truth = expected_of(hidden, ["a"], by_weights(model, hidden), schema)
        found = [answer.probability for answer in model.query(database, "a")]
        assert found == pytest.approx(truth, abs=1e-12)


def test_a_dependency_network_without_circles_is_a_bayes_net():
    """Effects listed before their causes: the answer is the product of the conditionals still."""
    schema = Schema.of("c(t)", "b(t)", "a(t)")
    a, b, c = (schema[name] for name in "abc")

    def when(*tested):
        return ClauseList(tuple(HornClause((Pattern(p, (0,)),), w) for p, w in tested))

    both = ClauseList((HornClause((Pattern(a, (0,)), Pattern(b, (0,))), 3.0),))
    rules = (
        TargetRules(c, -1.0, steps=(both,)),
        TargetRules(b, -0.5, steps=(when((a, 2.0)),)),
        TargetRules(a, 0.3),
    )
    model = BoostedModel(schema, True, rules)
    database = Database.from_facts(schema, {}, domains={"t": ["X"]})
    pa = expit(0.3)
    pb = pa * expit(1.5) + (1 - pa) * expit(-0.5)
    pab = pa * expit(1.5)
    pc = pab * expit(2.0) + (1 - pab) * expit(-1.0)
    expected = {"c(X)": pc, "b(X)": pb, "a(X)": pa}
    assert model.query(database).by_atom() == pytest.approx(expected, abs=1e-12)
    sampled = model.query(database, method="gibbs", sampling=Sampling(samples=8000))
    for answer in sampled:
        assert abs(answer.probability - expected[str(answer.atom)]) < 4 * answer.standard_error


def test_targets_not_asked_for_are_evidence_where_they_are_listed():
    schema = Schema.of("smokes(t)", "cancer(t)")
    body = (Pattern(schema["smokes"], (0,)),)
    rules = (
        TargetRules(schema["cancer"], -2.0, steps=(ClauseList((HornClause(body, 1.5),)),)),
        TargetRules(schema["smokes"], -1.0),
    )
    model = BoostedModel(schema, False, rules)
    facts = {"smokes": [("X",)], "cancer": [("X",)]}
    database = Database.from_facts(schema, facts, domains={"t": ["Y"]})
    given = {"smokes(X)": expit(-1.0), "smokes(Y)": expit(-2.5)}
    assert model.query(database, "smokes").by_atom() == pytest.approx(given)
    # listed nowhere, cancer is unknown; under a closed world it is false
    silent = database.without_facts(["cancer"])
    joint = np.exp([0.0, -2.0, -2.5, -3.0])  # neither; cancer; smokes; both, by violations
    either = (joint[2] + joint[3]) / joint.sum()
    assert model.query(silent, "smokes").by_atom() == pytest.approx(
        {"smokes(X)": either, "smokes(Y)": either}
    )
    closed = model.query(silent, "smokes", closed=["cancer"]).by_atom()
    assert closed == pytest.approx({"smokes(X)": expit(-2.5), "smokes(Y)": expit(-2.5)})


@pytest.mark.parametrize("existential", [False, True])
@pytest.mark.parametrize("targets", [("a",), TARGETS])
def test_explanations_add_up_to_the_log_odds(existential, targets):
    """Also those of a target in its own bodies, and in those of others."""
    for seed in range(4):
        rng = np.random.default_rng([seed, existential])
        database = random_database(rng, 3)
        model = random_model(rng, existential, targets)
        for name in targets:
            examples = positives_and_negatives([database], name)
            odds = model.log_odds(database, examples)
            for row, expected in zip(examples.rows([database]), odds.tolist(), strict=True):
                found = model.explain(database, f"{name}({','.join(row)})", closed=TARGETS)
                parts = found.contributions
                assert sum(part.log_odds for part in parts) == pytest.approx(expected, abs=1e-9)
                assert found.log_odds == pytest.approx(expected, abs=1e-9)
                assert len({part.rule for part in parts}) == len(parts)
