"""Boosted models against the definition: log-odds are differences of world weights."""

from xml.etree import ElementTree

import numpy as np
import pytest

from brute import brute_count
from mlnlearn.counting import view_tables
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Pattern
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted import BoostedModel
from mlnlearn.model.boosted import evaluate as evaluation
from mlnlearn.model.boosted.evaluate import step_values
from mlnlearn.model.boosted.rules import (
    ClauseList,
    HornClause,
    Leaf,
    Split,
    TargetRules,
    Tree,
    nodes,
)
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from structure.boosting.boosting_reference import (
    Reference,
    random_clauses,
    random_tree,
    small_world,
)
from worlds import true_facts

EVIDENCE = ["link", "part", "colour", "three", "big", "weather"]


def random_model(rng, schema, kind, joint, existential=False, steps=2):
    make = random_tree if kind == "trees" else random_clauses
    targets = []
    for name, other in (("goal", "aim"), ("aim", "goal")):
        predicates = [*EVIDENCE, other, other] if joint else EVIDENCE
        types = schema[name].types
        learned = tuple(make(rng, schema, types, predicates) for _ in range(steps))
        prior = random_clauses(rng, schema, types, predicates, 1)
        targets.append(TargetRules(schema[name], float(rng.normal()), prior, learned))
    return BoostedModel(schema, existential, tuple(targets))


def log_weight(mln, database, facts):
    return sum(
        rule.weight * sum(brute_count(database, rule.formula, facts=facts).values())
        for rule in mln.rules
    )


def flipped_log_odds(mln, database, predicate, names):
    facts = true_facts(database)
    others = facts[predicate] - {names}
    return log_weight(mln, database, {**facts, predicate: others | {names}}) - log_weight(
        mln, database, {**facts, predicate: others}
    )


@pytest.mark.parametrize("kind", ["trees", "clauses"])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_log_odds_are_those_of_the_network(seed, joint, kind):
    rng = np.random.default_rng(seed)
    databases = small_world(rng)
    model = random_model(rng, databases[0].schema, kind, joint)
    mln = model.to_mln()
    for target in ("goal", "aim"):
        examples = positives_and_negatives(databases, target)
        odds = model.log_odds(databases, examples)
        names = list(examples.rows(databases))
        for number in rng.permutation(len(examples))[:5].tolist():
            database = databases[examples.database[number]]
            expected = flipped_log_odds(mln, database, target, names[number])
            assert odds[number] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_existential_trees_are_networks_of_existential_formulas(seed):
    rng = np.random.default_rng(seed)
    databases = small_world(rng, 1)
    model = random_model(rng, databases[0].schema, "trees", False, existential=True)
    mln = model.to_mln()
    examples = positives_and_negatives(databases, "goal")
    odds = model.log_odds(databases, examples)
    for number, names in enumerate(examples.rows(databases)):
        expected = flipped_log_odds(mln, databases[0], "goal", names)
        assert odds[number] == pytest.approx(expected, abs=1e-9)


def test_an_atom_can_be_several_literals_of_a_body():
    schema = Schema.of("p(t,t)", "q(t)")
    p, q = schema["p"], schema["q"]
    facts = {"p": [("A", "A"), ("A", "B")], "q": [("B",)]}
    database = Database.from_facts(schema, facts)
    body = (Pattern(p, (0, 1)), Pattern(p, (1, 2)), Pattern(p, (2, 0)))
    rules = TargetRules(q, 0.0, steps=(ClauseList((HornClause(body, 0.7),)),))
    model = BoostedModel(schema, False, (TargetRules(p, 0.5), rules))
    examples = positives_and_negatives([database], "p")
    odds = dict(zip(examples.rows([database]), model.log_odds(database, examples), strict=True))
    mln = model.to_mln()
    for names, value in odds.items():
        assert value == pytest.approx(flipped_log_odds(mln, database, "p", names))
    # p(A,A) alone closes the triangle A A A; p(B,A), with the others true, closes A A B from A
    assert odds["A", "A"] == pytest.approx(0.5 - 0.7)
    assert odds["B", "A"] == pytest.approx(0.5 - 0.7 * 2)


@pytest.mark.parametrize("existential", [False, True])
def test_values_of_trees_by_enumeration_also_in_small_pieces(existential, monkeypatch):
    rng = np.random.default_rng(11)
    databases = small_world(rng, 3)
    schema = databases[0].schema
    examples = positives_and_negatives(databases, "goal")
    reference = Reference(databases, examples, existential)
    world = Objects(databases)
    rows = world.numbered(examples.predicate, examples.database, examples.columns)
    for _ in range(4):
        tree = random_tree(rng, schema, ("thing", "thing"), [*EVIDENCE, "aim"])
        values = step_values(tree, world, rows, existential)
        for number, value in enumerate(values):
            leaf, groundings, _ = reference.route(tree.root, number)
            assert value == pytest.approx(leaf * groundings)
        with monkeypatch.context() as patched:
            patched.setattr(evaluation, "_VIEWED", 1)
            patched.setattr(view_tables, "PIECE", 5)
            for name in ("_FEWEST", "_MOST"):
                patched.setattr(view_tables, name, 7)
            assert step_values(tree, world, rows, existential).tolist() == values.tolist()


def test_reasons_add_up():
    rng = np.random.default_rng(3)
    (database,) = small_world(rng, 1)
    for existential in (False, True):
        model = random_model(rng, database.schema, "trees", False, existential)
        examples = positives_and_negatives([database], "goal")
        odds = model.log_odds(database, examples)
        for number, names in enumerate(examples.rows([database])):
            found = model.explain(database, f"goal({','.join(names)})", closed=["goal", "aim"])
            assert found.log_odds == pytest.approx(odds[number])
            assert sum(part.log_odds for part in found.contributions) == pytest.approx(odds[number])
    with pytest.raises(InputError, match="no thing Nobody"):
        model.explain(database, "goal(Nobody,Nobody)")


def test_files_are_exact_and_equal_models_give_equal_bytes(tmp_path):
    rng = np.random.default_rng(4)
    schema = small_world(rng)[0].schema
    for kind in ("trees", "clauses"):
        model = random_model(rng, schema, kind, True)
        model.save(tmp_path / "one.mln")
        again = BoostedModel.load(tmp_path / "one.mln")
        assert again == model
        again.save(tmp_path / "two.mln")
        for suffix in (".mln", ".json"):
            first, second = (tmp_path / f"{name}{suffix}" for name in ("one", "two"))
            assert first.read_bytes() == second.read_bytes()
        assert MLN.read(tmp_path / "one.mln").rules == model.to_mln().rules


@pytest.mark.parametrize(
    "text", ["", "{}", '{"format": "mlnlearn boosted rules, version 1"}', "[]"]
)
def test_damaged_files_are_refused(tmp_path, text):
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(InputError):
        BoostedModel.load(tmp_path / "model.json")


def test_truncation_shift_importance_and_text():
    schema = Schema.of("happy(person)", "rich(person)", "likes(person,person)")
    rich, likes = Pattern(schema["rich"], (0,)), Pattern(schema["likes"], (0, 1))
    tree = Tree(Split((rich,), Split((likes,), Leaf(0.5), Leaf(0.25)), Leaf(-0.25)))
    model = BoostedModel(schema, False, (TargetRules(schema["happy"], -1.0, steps=(tree, tree)),))
    assert model.truncated(1).steps == 1
    assert model.shifted(0.5).rules_of().bias == -0.5
    assert model.shifted({"happy": 1.0}).rules_of("happy").bias == 0.0
    assert model.importance() == pytest.approx({"rich": 0.6, "likes": 0.4})
    assert model.truncated(1).rules() == [
        ("happy(p1)", -1.0),
        ("rich(p1) ^ likes(p1,p2) => happy(p1)", 0.5),
        ("rich(p1) => happy(p1)", 0.25),
        ("happy(p1)", -0.25),
    ]
    assert model.truncated(1).trees().splitlines() == [
        "happy(p1), tree 1",
        "rich(p1) ?",
        "├─ yes likes(p1,p2) ?",
        "│      ├─ yes +0.5000",
        "│      └─ no  +0.2500",
        "└─ no  -0.2500",
    ]
    with pytest.raises(InputError, match="no target 'sad'"):
        model.rules_of("sad")


@pytest.mark.parametrize("kind", ["clauses", "trees"])
def test_joint_query_by_enumeration_of_worlds(kind):
    schema = Schema.of("a(t)", "b(t)", "e(t,t)")
    a, b, e = (schema[name] for name in "abe")
    facts = {"e": [("X", "Y"), ("Y", "X"), ("X", "X")]}
    database = Database.from_facts(schema, facts)
    body = (Pattern(e, (0, 1)), Pattern(b, (1,)))
    learned = (
        ClauseList((HornClause(body, 2.2),))
        if kind == "clauses"
        else Tree(Split(body, Leaf(2.2), Leaf(-1.4)))
    )
    back = ClauseList((HornClause((Pattern(a, (0,)),), -0.8),))
    rules = (TargetRules(a, -0.3, steps=(learned,)), TargetRules(b, 0.2, steps=(back,)))
    model = BoostedModel(schema, False, rules)
    mln = model.to_mln()
    truth, total = dict.fromkeys(["a(X)", "a(Y)", "b(X)", "b(Y)"], 0.0), 0.0
    for code in range(16):
        chosen = [name for bit, name in enumerate(truth) if code >> bit & 1]
        world = {"e": set(database.rows("e"))} | {
            p: {(n[2],) for n in chosen if n[0] == p} for p in "ab"
        }
        weight = np.exp(log_weight(mln, database, world))
        total += weight
        for name in chosen:
            truth[name] += weight
    expected = {n: w / total for n, w in truth.items()}
    exact = model.query(database)
    assert exact.by_atom() == pytest.approx(expected, abs=1e-12)
    assert list(exact.by_atom()) == list(truth)
    assert {answer.method for answer in exact} == {"enumeration"}
    settings = Sampling(samples=8000, burn_in=50, seed=1)
    sampled = model.query(database, method="gibbs", sampling=settings)
    again = model.query(database, method="gibbs", sampling=settings)
    assert list(sampled) == list(again)
    assert sampled.converged
    for answer in sampled:
        assert 0 < answer.standard_error < 0.015
        error = abs(answer.probability - expected[str(answer.atom)])
        assert error < 4 * answer.standard_error


def test_single_target_query_lists_every_atom():
    rng = np.random.default_rng(8)
    (database,) = small_world(rng, 1)
    model = random_model(rng, database.schema, "trees", False)
    answers = model.query(database)
    assert len(answers) == database.ground_atoms("goal") + database.ground_atoms("aim")
    assert len(answers.by_atom()) == len(answers)
    best = answers.top(3)
    assert best[0].probability == max(answer.probability for answer in answers)


def test_drawings_stand_alone_and_show_every_node():
    rng = np.random.default_rng(12)
    schema = small_world(rng)[0].schema
    for kind in ("trees", "clauses"):
        model = random_model(rng, schema, kind, True)
        root = ElementTree.fromstring(model.svg())
        shown = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
        assert sum(text in ("yes", "no") for text in shown) == 2 * sum(
            isinstance(node, Split)
            for rules in model.targets
            for step in rules.steps
            if isinstance(step, Tree)
            for _, node in nodes(step.root)
        )
        for rule, weight in model.rules():
            if kind == "clauses":
                assert rule in shown
                assert f"{weight:+.3f}".replace("-", "−") in shown
        # one picture a target in a notebook, of which each can be had alone
        assert model._repr_html_().count("<svg") == len(model.targets)
        assert "aim(t1), clauses" in model.svg()
        assert "aim(t1), clauses" not in model.svg("goal")
