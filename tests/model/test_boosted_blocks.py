"""Predicates with exactly one value (``!``) in boosted models, against enumeration of worlds.

Under counting semantics the answers are those of the model's rules as a Markov logic network, whose
worlds have one true atom in each block. In a dependency network a block is drawn at once: the
probabilities of its values are those of the atoms on their own, given that exactly one is true.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import softmax

from brute import brute_count
from mlnlearn.counting.blocks import choice_probabilities
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.data.population import all_atoms
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.evaluate.ask import Conditionals, Marginals, atom_probabilities
from mlnlearn.evaluate.attributes import blocks_of
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.infer.explain import explain
from mlnlearn.infer.query import query
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted import BoostedModel
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms
from mlnlearn.model.boosted.hidden.components import sweep_order
from mlnlearn.model.boosted.hidden.network import GroundNetwork
from mlnlearn.model.boosted.rules import ClauseList, Leaf, TargetRules
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.report.curves import learning_curve
from mlnlearn.report.views import view_of
from structure.boosting.boosting_reference import count, random_clauses, random_tree
from worlds import true_facts

SCHEMA = Schema.of("phase(t,hue!)", "a(t)", "link(t,t)", "shown(t,hue)", "rain")
TARGETS = ("phase", "a")
EVIDENCE = ("link", "shown", "rain")
DOMAINS = {"t": ["T0", "T1"], "hue": ["V0", "V1", "V2"]}


def random_database(rng):
    """Random facts, one phase each."""
    facts = {
        name: [
            atom
            for atom in product(*(DOMAINS[kind] for kind in SCHEMA[name].types))
            if rng.random() < 0.5
        ]
        for name in ("a", "link", "shown", "rain")
    }
    facts["phase"] = [(name, str(rng.choice(DOMAINS["hue"]))) for name in DOMAINS["t"]]
    # so that a network takes every predicate but the targets as evidence
    false = {name: [] for name in EVIDENCE}
    return Database.from_facts(SCHEMA, facts, domains=DOMAINS, false=false)


def random_model(rng, existential, kind, bodies=(*TARGETS, *EVIDENCE)):
    make = random_tree if kind == "trees" else random_clauses
    targets = tuple(
        TargetRules(
            SCHEMA[name],
            float(rng.normal()),
            steps=tuple(make(rng, SCHEMA, SCHEMA[name].types, bodies) for _ in range(2)),
        )
        for name in TARGETS
    )
    return BoostedModel(SCHEMA, existential, targets)


def worlds_of(database, names=TARGETS):
    """All databases that differ in the named targets, with one phase each."""
    phases = product(DOMAINS["hue"], repeat=len(DOMAINS["t"])) if "phase" in names else [None]
    for phase in phases:
        for chosen in product([False, True], repeat=len(DOMAINS["t"]) if "a" in names else 0):
            facts = {name: set(database.rows(name)) for name in (*TARGETS, *EVIDENCE)}
            if phase is not None:
                facts["phase"] = set(zip(DOMAINS["t"], phase, strict=True))
            if "a" in names:
                facts["a"] = {(n,) for n, c in zip(DOMAINS["t"], chosen, strict=True) if c}
            yield Database.from_facts(SCHEMA, facts, domains=DOMAINS)


def marginals(worlds, chances, name):
    """The probability of every atom of a predicate, in the order of `all_atoms`."""
    total = {}
    for world, chance in zip(worlds, chances, strict=True):
        for atom in true_facts(world)[name]:
            total[atom] = total.get(atom, 0.0) + chance
    return [total.get(atom, 0.0) for atom in product(*(DOMAINS[k] for k in SCHEMA[name].types))]


def by_weights(model, database, names=TARGETS):
    worlds = list(worlds_of(database, names))
    rules = model.to_mln().rules
    weights = [
        sum(r.weight * sum(brute_count(w, r.formula, facts=true_facts(w)).values()) for r in rules)
        for w in worlds
    ]
    return worlds, softmax(weights)


def own_odds(model, world, name, names):
    """Log-odds of an atom by its own rules, each counted once."""
    facts, rules = true_facts(world), model.rules_of(name)
    odds = rules.intercept
    for step in rules.steps:
        if isinstance(step, ClauseList):
            odds += sum(c.weight * (count(world, facts, c.body, names) > 0) for c in step.clauses)
            continue
        node, body = step.root, ()
        while not isinstance(node, Leaf):
            holds = count(world, facts, body + node.test, names) > 0
            body = body + node.test if holds else body
            node = node.yes if holds else node.no
        odds += node.value
    return odds


def without(world, name, person):
    """The world without what a predicate says of one person."""
    facts = {n: list(world.rows(n)) for n in (*TARGETS, *EVIDENCE)}
    facts[name] = [row for row in facts[name] if row[0] != person]
    return Database.from_facts(SCHEMA, facts, domains=DOMAINS)


def key(facts):
    return tuple(frozenset(facts[name]) for name in TARGETS)


def value_scores(model, world, person):
    base = without(world, "phase", person)
    return [own_odds(model, base, "phase", (person, value)) for value in DOMAINS["hue"]]


def answered(model, database, asked, **settings):
    answers = model.query(database.without_facts(TARGETS), asked, closed=TARGETS, **settings)
    return {table.predicate.name: table for table in answers.tables}


@pytest.mark.parametrize("kind", ["trees", "clauses"])
def test_model_text_and_evaluation_agree_with_the_worlds(kind, tmp_path):
    for seed in range(8):
        rng = np.random.default_rng([seed, kind == "trees"])
        database, model = random_database(rng), random_model(rng, False, kind)
        worlds, chances = by_weights(model, database)
        found = answered(model, database, TARGETS)
        model.save(tmp_path / "model.mln")
        text = MLN.parse((tmp_path / "model.mln").read_text())
        silent = database.without_facts(TARGETS)
        network = query(text, silent, TARGETS, method="exact", closed=EVIDENCE)
        for name, table in zip(TARGETS, network.tables, strict=True):
            expected = marginals(worlds, chances, name)
            assert found[name].probability == pytest.approx(expected, abs=1e-9)
            assert table.probability == pytest.approx(expected, abs=1e-9)
            others = tuple(other for other in TARGETS if other != name)
            columns = all_atoms(database, name)
            given = Marginals(hide=others)
            measured = atom_probabilities(model, database, name, columns, given)
            assert measured == pytest.approx(expected, abs=1e-9)
        assert found["phase"].probability.reshape(2, 3).sum(axis=1) == pytest.approx([1, 1])


@pytest.mark.parametrize("existential", [False, True])
def test_rules_over_evidence_alone_give_a_choice_between_the_values(existential):
    for seed in range(4):
        rng = np.random.default_rng([seed, existential])
        database, model = random_database(rng), random_model(rng, existential, "trees", EVIDENCE)
        worlds, chances = by_weights(model, database)
        found = answered(model, database, TARGETS)
        for name in TARGETS:
            expected = marginals(worlds, chances, name)
            assert found[name].probability == pytest.approx(expected, abs=1e-9)
            assert set(found[name].method) == {"closed form"}
            columns = all_atoms(database, name)
            measured = atom_probabilities(model, database, name, columns, Marginals())
            assert measured == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["trees", "clauses"])
def test_conditionals_of_a_value_given_all_other_blocks(kind):
    for seed in range(6):
        rng = np.random.default_rng([seed, kind == "trees", 2])
        database, model = random_database(rng), random_model(rng, False, kind)
        examples = positives_and_negatives([database], "phase")
        found = model.probabilities(database, examples)
        worlds, weights = by_weights(model, database, ("phase",))
        chances = dict(zip((frozenset(w.rows("phase")) for w in worlds), weights, strict=True))
        rest = set(database.rows("phase"))
        for (person, value), probability in zip(examples.rows([database]), found, strict=True):
            others = {row for row in rest if row[0] != person}
            block = {v: chances[frozenset(others | {(person, v)})] for v in DOMAINS["hue"]}
            assert probability == pytest.approx(block[value] / sum(block.values()), abs=1e-9)


@pytest.mark.parametrize("kind", ["trees", "clauses"])
def test_a_dependency_network_draws_a_block_at_once(kind):
    """Its answers are where sweeps settle that draw blocks and other atoms in turn."""
    for seed in range(4):
        rng = np.random.default_rng([seed, kind == "trees", 3])
        database, model = random_database(rng), random_model(rng, True, kind)
        worlds = list(worlds_of(database))
        number = {key({n: w.rows(n) for n in TARGETS}): i for i, w in enumerate(worlds)}
        sweep = np.eye(len(worlds))
        hidden = HiddenAtoms.of([database], [], TARGETS)
        assert hidden.next_value.tolist() == [1, 2, 0, 4, 5, 3, 6, 7]
        order = sweep_order(GroundNetwork.of(model.targets, True, hidden).rules)
        drawn = {0: ("phase", "T0"), 3: ("phase", "T1"), 6: ("a", "T0"), 7: ("a", "T1")}
        assert sorted(order.tolist()) == sorted(drawn)
        for name, person in map(drawn.get, order.tolist()):
            draw = np.zeros(sweep.shape)
            for row, world in enumerate(worlds):
                base = without(world, name, person)
                if name == "phase":
                    options = [[(person, value)] for value in DOMAINS["hue"]]
                    scores = value_scores(model, world, person)
                else:
                    options = [[], [(person,)]]
                    scores = [0.0, own_odds(model, base, "a", (person,))]
                kept = {n: list(base.rows(n)) for n in TARGETS}
                for option, chance in zip(options, softmax(scores), strict=True):
                    draw[row, number[key({**kept, name: kept[name] + option})]] += chance
            sweep = sweep @ draw
        for _ in range(60):
            sweep = sweep @ sweep
            sweep /= sweep.sum(axis=1, keepdims=True)
        found = answered(model, database, TARGETS)
        for name in TARGETS:
            expected = marginals(worlds, sweep[0], name)
            assert found[name].probability == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("existential", [False, True])
def test_sampled_values_are_within_the_errors_they_report(existential):
    scores = []
    for seed in range(4):
        rng = np.random.default_rng([seed, existential, 4])
        database, model = random_database(rng), random_model(rng, existential, "clauses")
        exact = answered(model, database, TARGETS)
        settings = Sampling(samples=4000, burn_in=100, seed=3)
        found = answered(model, database, TARGETS, method="gibbs", sampling=settings)
        for name in TARGETS:
            error = found[name].standard_error
            sure = error > 0
            difference = np.abs(found[name].probability - exact[name].probability)
            assert (difference[~sure] < 1e-6).all()
            scores.append(difference[sure] / error[sure])
        assert found["phase"].probability.reshape(2, 3).sum(axis=1) == pytest.approx([1, 1])
    scores = np.concatenate(scores)
    assert len(scores) > 10
    assert scores.max() < 4.5


def test_evidence_decides_blocks():
    """A known value makes the others false; the last value left is true; none left is refused."""
    model = BoostedModel(SCHEMA, False, (TargetRules(SCHEMA["phase"], -1.0),))
    listed = Database.from_facts(
        SCHEMA,
        {"phase": [("T0", "V1")]},
        unknown={"phase": [("T0", "V0"), ("T1", "V2")]},
        domains=DOMAINS,
    )
    assert model.query(listed).by_atom() == {"phase(T1,V2)": 1.0}
    assert query(model.to_mln(), listed, "phase", query_evidence=True).by_atom() == {
        "phase(T1,V2)": 1.0
    }
    one = Database.from_facts(SCHEMA, {}, domains={"t": ["T0"], "hue": ["V0"]})
    assert model.query(one).by_atom() == {"phase(T0,V0)": 1.0}
    columns = all_atoms(one, "phase")
    assert atom_probabilities(model, one, "phase", columns, Marginals()).tolist() == [1.0]
    none = Database.from_facts(
        SCHEMA,
        {},
        false={"phase": [("T0", value) for value in DOMAINS["hue"]]},
        domains=DOMAINS,
        open=["phase"],
    )
    with pytest.raises(InputError, match=r"leaves no value for phase\(T0,\?\)"):
        model.query(none)
    free = Database.from_facts(SCHEMA.without_functional(), {}, domains=DOMAINS)
    chances = list(replace(model, schema=free.schema).query(free).by_atom().values())
    assert chances == pytest.approx([1 / (1 + np.e)] * 6)


def test_the_curve_of_a_report_is_that_of_truncated_models():
    rng = np.random.default_rng(5)
    database, model = random_database(rng), random_model(rng, False, "trees", EVIDENCE)
    whole = predict_examples(model, [database], positives_and_negatives([database], "phase"))
    for step, found in learning_curve(model, [database], whole):
        table = answered(model.truncated(step), database, TARGETS)["phase"]
        expected = dict(zip(map(tuple, table.columns.T), table.probability, strict=True))
        for atom, chance in zip(map(tuple, found.columns.T), found.probability, strict=True):
            assert chance == pytest.approx(expected[atom], abs=1e-9)


@pytest.mark.parametrize("existential", [False, True])
@pytest.mark.parametrize("kind", ["trees", "clauses"])
def test_explanations_add_up_to_the_log_odds_against_the_best_other_value(kind, existential):
    for seed in range(4):
        rng = np.random.default_rng([seed, kind == "trees", existential, 6])
        database, model = random_database(rng), random_model(rng, existential, kind)
        examples = positives_and_negatives([database], "phase")
        chances = dict(
            zip(examples.rows([database]), model.probabilities(database, examples), strict=True)
        )
        for (person, value), chance in chances.items():
            found = explain(model, database, f"phase({person},{value})", closed=TARGETS)
            rival = max(p for (who, v), p in chances.items() if who == person and v != value)
            assert found.probability == pytest.approx(chance, abs=1e-9)
            assert found.log_odds == pytest.approx(np.log(chance / rival), abs=1e-7)
            parts = sum(part.log_odds for part in found.contributions)
            assert parts == pytest.approx(found.log_odds, abs=1e-9)
            assert found.against.terms[0].name == person


@pytest.mark.parametrize("kind", ["trees", "clauses"])
def test_a_model_and_its_text_explain_alike(kind):
    """Also where other atoms are unknown: both take a most probable world."""
    assumed = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, kind == "trees", 7])
        database, model = random_database(rng), random_model(rng, False, kind)
        silent = database.without_facts(TARGETS)
        for name, terms in (("phase", "T0,V1"), ("a", "T1")):
            atom = f"{name}({terms})"
            by_model = explain(model, silent, atom, closed=EVIDENCE)
            try:
                by_text = explain(model.to_mln(), silent, atom, closed=EVIDENCE)
            except MemoryLimitError:  # a formula with too many unknown atoms under its quantifiers
                continue
            assert by_model.probability == pytest.approx(by_text.probability, abs=1e-9)
            assert by_model.log_odds == pytest.approx(by_text.log_odds, abs=1e-9)
            assumed += by_model.assumed
            # a predicate of which something is listed is closed
            given = database.without_facts([name]) if name == "a" else database
            listed = explain(model, given, atom, closed=EVIDENCE)
            text = explain(model.to_mln(), given, atom, closed=EVIDENCE)
            assert listed.log_odds == pytest.approx(text.log_odds, abs=1e-9)
    assert assumed > 5


@pytest.mark.parametrize("existential", [False, True])
def test_the_sums_of_a_report_are_the_weights_of_values(existential):
    for seed in range(3):
        rng = np.random.default_rng([seed, existential, 8])
        database, model = random_database(rng), random_model(rng, existential, "trees")
        given = predict_examples(
            model, [database], positives_and_negatives([database], "phase"), Conditionals()
        )
        found = view_of(model).reasons([database], given)
        assert all(reasons.is_choice for reasons in found)
        blocks = blocks_of(given.columns, [1])
        shares = choice_probabilities(np.array([reasons.total for reasons in found]), blocks)
        assert shares == pytest.approx(given.probability, abs=1e-9)
