"""What a report says, against independent computations."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax

from mlnlearn.counting.memory import MemoryEngine
from mlnlearn.counting.pattern import Pattern
from mlnlearn.data.database import Database
from mlnlearn.data.load.build import Loaded
from mlnlearn.data.load.frames import from_frames
from mlnlearn.data.load.tables import Keys
from mlnlearn.data.synthetic import smokers, university
from mlnlearn.evaluate.ask import Conditionals, Marginals
from mlnlearn.evaluate.conditional import conditional_probabilities
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.infer.explain import explain
from mlnlearn.logic.atoms import Atom, Constant
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted import BoostedModel
from mlnlearn.model.boosted.rules import ClauseList, HornClause, Leaf, Split, TargetRules, Tree
from mlnlearn.model.mln import MLN
from mlnlearn.report import report
from mlnlearn.report.curves import learning_curve, precision_recall, roc
from mlnlearn.report.plots import Axis, Series, plot
from mlnlearn.report.reasons import network_reasons
from mlnlearn.report.rules import counting_engine, ranked_rules
from mlnlearn.report.sections import drawings_section
from mlnlearn.report.views import examples_of, view_of
from mlnlearn.resources import counting_with
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN

AREAS = university(40, areas=2, rng=0).databases
LEARNERS = [
    BoostedMLN(target="advisedBy", steps=3, max_leaves=3),
    BoostedMLN(target="advisedBy", steps=2, representation="clauses"),
    BoostedRDN(target="advisedBy", steps=3, max_leaves=3),
]


def tables_with_a_net(rng):
    """Users, items and ratings that depend on both, as one database with its mapping."""
    users, items = [f"u{i}" for i in range(30)], [f"i{i}" for i in range(12)]
    age = dict(zip(users, rng.choice(["young", "old"], len(users)), strict=True))
    genre = dict(zip(items, rng.choice(["drama", "action"], len(items)), strict=True))
    pairs = [(u, i) for u, i in itertools.product(users, items) if rng.random() < 0.4]
    rating = [
        "high" if (age[u] == "old") == (genre[i] == "drama") and rng.random() < 0.9 else "low"
        for u, i in pairs
    ]
    frames = {
        "user": pd.DataFrame({"id": users, "age": list(age.values())}),
        "item": pd.DataFrame({"id": items, "genre": list(genre.values())}),
        "rated": pd.DataFrame(pairs, columns=["user", "item"]).assign(rating=rating),
    }
    links = Keys(("user", "item"), {"user": "user", "item": "item"})
    return from_frames(frames, keys={"user": "id", "item": "id", "rated": links})


@pytest.mark.parametrize("seed", range(5))
def test_support_and_precision_by_enumeration(seed):
    mln = MLN.parse("""
    smokes(person)
    friends(person,person)
    0.5 friends(x,y) ^ smokes(x) => smokes(y)
    0.4 !smokes(x) v friends(x,y)
    -0.3 friends(x,y) ^ friends(y,x)
    """)
    rng = np.random.default_rng(seed)
    people = list("ABCDE")
    smokes = {p for p in people if rng.random() < 0.5}
    friends = {pair for pair in itertools.product(people, people) if rng.random() < 0.4}
    facts = {"smokes": [(p,) for p in sorted(smokes)], "friends": sorted(friends)}
    database = Database.from_facts(mln.schema, facts, domains={"person": people})
    found = ranked_rules(mln.rules, MemoryEngine([database]), 10)
    pairs = list(itertools.product(people, people))
    bodies = (
        lambda x, y: (x, y) in friends and x in smokes,
        lambda x, _: x in smokes,
        lambda *_: True,
    )
    heads = (
        lambda _, y: y in smokes,
        lambda x, y: (x, y) in friends,
        lambda x, y: (x, y) in friends and (y, x) in friends,
    )
    for rule, body, head in zip(found, bodies, heads, strict=True):
        held = [head(*pair) for pair in pairs if body(*pair)]
        assert rule.support == sum(held)
        assert rule.precision == (pytest.approx(np.mean(held)) if held else None)
        assert rule.true == len(pairs) - len(held) + sum(held)
        assert rule.groundings == len(pairs)


@pytest.mark.parametrize("learner", LEARNERS, ids=["trees", "clauses", "rdn"])
def test_the_reasons_of_a_boosted_model_add_up(learner):
    model = learner.fit(AREAS).model
    view = view_of(model)
    atoms = view.predictions(AREAS, "advisedBy", ())
    atoms = atoms.take(np.argsort(-atoms.probability)[:300:7])
    totals = np.array([reasons.total for reasons in view.reasons(AREAS, atoms)])
    assert expit(totals) == pytest.approx(atoms.probability, abs=1e-12)
    database = AREAS[atoms.database[0]]
    [names] = database.decode("advisedBy", atoms.columns[:, :1])
    alone = model.explain(database, f"advisedBy({','.join(names)})").contributions
    parts = view.reasons(AREAS, atoms)[0].parts
    assert [(p.rule, p.flips) for p in parts] == [(r.rule, r.flips) for r in alone]


def test_the_reasons_of_a_network_add_up():
    made = smokers(40, rng=1)
    mln = MLN(made.schema, made.rules)
    databases = [made.databases[0], smokers(25, rng=2).databases[0]]
    for name in ("smokes", "cancer"):
        atoms = predict_examples(mln, databases, examples_of(databases, name), Conditionals())
        found = network_reasons(mln, databases, atoms, ())
        expected = np.concatenate([conditional_probabilities(mln, d, name) for d in databases])
        order = np.lexsort((*atoms.columns[::-1], atoms.database))
        given = np.array([reasons.probability for reasons in found])[order]
        assert given == pytest.approx(expected, abs=1e-12)


def test_hard_rules_decide_and_may_contradict():
    mln = MLN.parse("rich(person)\nhappy(person)\nrich(x) => happy(x).\n0.5 happy(x)")
    database = Database.from_facts(mln.schema, {"rich": [("Anna",)], "happy": [("Bob",)]})
    atoms = predict_examples(mln, [database], examples_of([database], "happy"), Conditionals())
    found = network_reasons(mln, [database], atoms, ())
    by_name = dict(zip(atoms.columns[0].tolist(), found, strict=True))
    people = database.domains["person"]
    assert by_name[people.code("Anna")].probability == 1.0
    assert by_name[people.code("Bob")].probability == pytest.approx(expit(0.5))


@pytest.mark.parametrize("learner", [MBN(), LAJDT()])
def test_the_reasons_of_a_net_add_up_among_values(learner):
    database, mapping = tables_with_a_net(np.random.default_rng(3))
    model = learner.fit(Loaded(database, mapping)).model
    view = view_of(model)
    assert view.queries() == ("age", "genre", "rating")
    for name in view.queries():
        atoms = view.predictions([database], name, ())
        totals = np.array([reasons.total for reasons in view.reasons([database], atoms)])
        values = len(np.unique(atoms.columns[-1]))
        shares = softmax(totals.reshape(values, -1), axis=0).ravel()
        assert shares == pytest.approx(atoms.probability, abs=1e-12)
        known = database.facts(name)
        assert {tuple(c) for c in atoms.columns[:, atoms.label].T} == {tuple(c) for c in known.T}
        # a single explanation is of the same answer, against the best other value
        for place in range(0, len(atoms), 29):
            [names] = database.decode(name, atoms.columns[:, [place]])
            found = explain(model, database, Atom(atoms.predicate, tuple(map(Constant, names))))
            assert found.probability == pytest.approx(atoms.probability[place], abs=1e-9)
            parts = sum(part.log_odds for part in found.contributions)
            assert parts == pytest.approx(found.log_odds)
            rest = np.log(atoms.probability[place] / (1 - atoms.probability[place]))
            assert found.log_odds == pytest.approx(rest, abs=1e-6)  # of two values


@pytest.mark.parametrize("learner", LEARNERS, ids=["trees", "clauses", "rdn"])
def test_the_learning_curve_is_that_of_truncated_models(learner):
    model = learner.fit(AREAS).model
    curve = learning_curve(model, AREAS, view_of(model).predictions(AREAS, "advisedBy", ()))
    assert [step for step, _ in curve] == list(range(model.steps + 1))
    examples = examples_of(AREAS, "advisedBy")
    # the end of the curve is what the model predicts, the rest what it would have predicted
    for step, found in curve:
        expected = model.truncated(step).probabilities(AREAS, examples)
        assert found.probability == pytest.approx(expected, abs=1e-12)


def test_a_joint_model_has_a_curve_too():
    model = BoostedRDN(target=("advisedBy", "professor"), steps=2, max_leaves=2).fit(AREAS).model
    whole = view_of(model).predictions(AREAS, "professor", ["advisedBy"])
    curve = learning_curve(model, AREAS, whole, ["advisedBy"])
    assert curve[-1] == (model.steps, whole)
    examples = examples_of(AREAS, "professor")
    asked = Marginals(hide=("advisedBy",))
    for step, found in curve:
        expected = predict_examples(model.truncated(step), AREAS, examples, asked)
        assert found.probability == pytest.approx(expected.probability, abs=1e-12)


def recursive_model(schema):
    """Who has smoking friends smokes: one target, in its own rules."""
    body = (Pattern(schema["friends"], (0, 1)), Pattern(schema["smokes"], (1,)))
    tree = Tree(Split(body, Leaf(0.4), Leaf(-0.6)))
    steps = (ClauseList((HornClause(body, 0.3),)), tree)
    return BoostedModel(schema, False, (TargetRules(schema["smokes"], -0.5, steps=steps),))


def test_the_curve_of_a_recursive_model_ends_at_the_scores_of_the_page():
    made = smokers(12, rng=1)
    page = report(recursive_model(made.schema), made.databases, "smokes")
    for name in ("AUC-PR", "CLL"):
        [headline] = re.findall(rf"<dt>{name}</dt><dd>([^<]+)</dd>", page)
        [end] = re.findall(rf"{name}.*?before the first step, (\S+) after the last", page)[-1:]
        assert headline == end


def test_the_page_explains_a_recursive_model_by_all_that_adds_up():
    made = smokers(12, rng=1)
    model, databases = recursive_model(made.schema), made.databases
    view = view_of(model)
    atoms = view.predictions(databases, "smokes", ())
    totals = np.array([reasons.total for reasons in view.reasons(databases, atoms)])
    examples = examples_of(databases, "smokes")
    assert totals == pytest.approx(model.log_odds(databases, examples), abs=1e-9)


def test_drawn_curves_have_the_areas_of_the_metrics():
    view = view_of(LEARNERS[0].fit(AREAS).model)
    found = view.predictions(AREAS, "advisedBy", ())
    scores = found.scores(["auc_pr", "auc_roc"])
    for curve, metric in ((precision_recall, "auc_pr"), (roc, "auc_roc")):
        x, y = curve("", found, "main").points
        assert np.trapezoid(y, x) == pytest.approx(scores[metric], abs=0.01)


@pytest.mark.parametrize("seed", range(20))
def test_an_axis_holds_its_values(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(0.0, 10.0 ** rng.integers(-4, 5), 7) + rng.normal()
    axis = Axis.around("x", values)
    assert axis.low <= values.min()
    assert axis.high >= values.max()
    assert 3 <= len(axis.ticks) <= 9


def test_lines_stay_inside_the_plot():
    wild = Series.of("", [-1.0, 0.5, 9.0], [3.0, np.inf, -2.0])
    drawn = plot("t", Axis("x"), Axis("y"), [wild])
    [path] = re.findall(r'class="line main" d="M([^"]+)"', drawn)
    spots = [tuple(map(float, spot.split(","))) for spot in path.split(" L")]
    assert len(spots) == 2
    assert all(0 <= x <= 340 and 0 <= y <= 270 for x, y in spots)


def test_nodes_of_trees_show_how_many_that_come_by_are_true():
    schema = Schema.of("rich(person)", "happy(person)")
    facts = {"rich": [("Anna",), ("Bob",)], "happy": [("Anna",)]}
    db = Database.from_facts(schema, facts, domains={"person": ["Anna", "Bob", "Carl"]})
    tree = Tree(Split((Pattern(schema["rich"], (0,)),), Leaf(0.5), Leaf(-1.0)))
    view = view_of(BoostedModel(schema, False, (TargetRules(schema["happy"], 0.0, steps=(tree,)),)))
    page = drawings_section(view, [db], [view.predictions([db], "happy", ())])
    for said in ("1 of 3 true", "1 of 2 true", "0 of 1 true"):
        assert f">{said}</text>" in page
    assert page.count('class="rest"') == 3
    assert 'class="rest"' not in drawings_section(view)


def test_the_last_number_of_an_axis_is_not_cut_off():
    line = Series.of("model", [0, 80000], [0.0, 1.0])
    text = str(plot("income", Axis.around("income", [0, 80000]), Axis("P"), [line]))
    assert '<text x="340.0" y="242.0" text-anchor="end">80000</text>' in text
    short = str(plot("age", Axis.around("age", [0, 100]), Axis("P"), [line]))
    assert '<text x="328.0" y="242.0" text-anchor="middle">100</text>' in short


def test_counts_that_do_not_fit_in_memory_are_left_out_and_not_worked_on_for_long():
    pairs = [(f"P{k}", f"P{(k * j) % 400}") for k in range(400) for j in range(1, 40)]
    facts = {"likes": pairs, "tall": [(f"P{k}",) for k in range(200)]}
    mln = MLN.parse("""
    likes(person,person)
    tall(person)
    1 (EXIST z likes(x,z) ^ likes(z,y)) => likes(x,y)
    2 tall(x)
    """)
    database = Database.from_facts(mln.schema, facts)
    with counting_with("auto", "1MB"):
        found = ranked_rules(mln.rules, counting_engine([database]), 9)
    assert [rule.support for rule in found] == [200, None]
    with counting_with("duckdb", "1GB"):
        assert type(counting_engine([database])).__name__ == "DuckEngine"
