"""Constants that rules name are in their types' domains, on every path."""

import math
import warnings

import numpy as np
import pytest

from mlnlearn.counting.duck import DuckEngine
from mlnlearn.data.database import Database
from mlnlearn.errors import DataWarning, InputError
from mlnlearn.evaluate.conditional import conditional_probabilities
from mlnlearn.infer.explain import explain
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.infer.query import query
from mlnlearn.lifted.query import lifted_query, log_partition
from mlnlearn.logic.formulas import Not, Rule
from mlnlearn.model.domains import carrying_domains, with_constants_of
from mlnlearn.model.mln import MLN
from mlnlearn.weights.conditional import learn_conditional
from mlnlearn.weights.em import learn_em
from mlnlearn.weights.generative import learn_pseudolikelihood
from mlnlearn.weights.likelihood import learn_likelihood, log_likelihood

ACTS = """
sees(person,act)
afraid(person)
1.5 sees(x,a) => afraid(x)
10 afraid(x)
-0.5 sees(x,a)
sees(x,Kill).
"""


def acts(**options):
    return Database.from_facts(MLN.parse(ACTS).schema, {}, domains={"person": ["Anna"]}, **options)


def same_with_the_constant_declared(run):
    """Run on a database without the constant, and on one that has it."""
    with pytest.warns(DataWarning, match=r"type 'act' .* does not mention: Kill"):
        found = run(MLN.parse(ACTS), acts())
    declared = MLN.parse("act = {Kill}" + ACTS)
    domains = {"person": ["Anna"], "act": ["Kill"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return found, run(declared, Database.from_facts(declared.schema, {}, domains=domains))


def test_a_query_is_that_with_the_constant_declared():
    found, expected = same_with_the_constant_declared(
        lambda mln, db: query(mln, db, ["afraid", "sees"]).columns()
    )
    assert found == expected
    assert found["probability"][0] == pytest.approx(1 / (1 + math.exp(-11.5)))


def test_an_explanation_is_that_with_the_constant_declared():
    found, expected = same_with_the_constant_declared(
        lambda mln, db: explain(mln, db, "afraid(Anna)")
    )
    assert found == expected
    assert found.log_odds == 11.5


def test_lifted_answers_are_those_of_the_ground_network():
    def run(mln, db):
        found = query(mln, db, ["afraid", "sees"])
        lifted = lifted_query(mln, db, ["afraid", "sees"])
        for answer in found:
            assert lifted[answer.atom].probability == pytest.approx(answer.probability)
        return log_partition(mln, db)

    found, expected = same_with_the_constant_declared(run)
    assert found == pytest.approx(expected)


def test_a_likelihood_is_that_with_the_constant_declared():
    mln = MLN.parse("sees(person,act)\n0.7 sees(x,Kill)\n-0.3 sees(x,a)")
    facts, domains = {"sees": [("Anna", "Sing")]}, {"act": ["Sing", "Kill"]}
    with pytest.warns(DataWarning, match="Kill"):
        found = log_likelihood(mln, Database.from_facts(mln.schema, facts))
    whole = Database.from_facts(mln.schema, facts, domains=domains)
    assert found == pytest.approx(log_likelihood(mln, whole))
    # sees(Anna,Sing) has weight -0.3, sees(Anna,Kill) 0.4
    expected = -0.3 - math.log1p(math.exp(-0.3)) - math.log1p(math.exp(0.4))
    assert found == pytest.approx(expected)


def test_conditional_probabilities_are_those_with_the_constant_declared():
    def run(mln, db):
        return conditional_probabilities(mln, db, "afraid").tolist()

    found, expected = same_with_the_constant_declared(run)
    assert found == expected


@pytest.mark.parametrize(
    "learn",
    [
        lambda mln, db: learn_pseudolikelihood(mln, [db], sigma=1.0),
        lambda mln, db: learn_conditional(mln, [db], ["smokes"], sigma=1.0),
        lambda mln, db: learn_likelihood(mln, [db], sigma=1.0),
        lambda mln, db: learn_em(mln, [db], sigma=1.0, iterations=2),
    ],
)
def test_weights_are_those_with_the_constant_declared(learn):
    text = "smokes(person)\nlikes(person,person)\nlikes(Zoe,x) v smokes(x)\nx != Yves ^ smokes(x)"
    facts = {"smokes": [("Anna",)], "likes": [("Anna", "Bob"), ("Bob", "Anna")]}
    mln = MLN.parse(text)
    with pytest.warns(DataWarning, match=r"Yves, Zoe"):
        found = learn(mln, Database.from_facts(mln.schema, facts))
    domains = {"person": ["Anna", "Bob", "Yves", "Zoe"]}
    expected = learn(mln, Database.from_facts(mln.schema, facts, domains=domains))
    assert found.mln.weights.tolist() == expected.mln.weights.tolist()


def test_codes_stay_and_a_complete_database_is_the_same_object():
    mln = MLN.parse("likes(person,food)\n1 likes(x,Jam)")
    db = Database.from_facts(mln.schema, {"likes": [("Anna", "Pie"), ("Bob", "Jam")]})
    assert with_constants_of(mln, [db])[0] is db
    larger = db.extended({"food": ["Fig", "Pie", "Fig"]})
    assert larger.domains["food"].names == ("Pie", "Jam", "Fig")
    assert list(larger.rows("likes")) == list(db.rows("likes"))


def test_constants_of_a_plus_variable_are_shared_by_all_databases():
    mln = MLN.parse("likes(person,food)\n1 likes(x,+f)")
    parts = [
        Database.from_facts(mln.schema, {"likes": [(who, what)]})
        for who, what in (("Anna", "Pie"), ("Bob", "Jam"))
    ]
    with pytest.warns(DataWarning, match="2 of 2 databases do not mention"):
        found = with_constants_of(mln, parts)
    assert [set(db.domains["food"]) for db in found] == [{"Pie", "Jam"}] * 2
    assert [db.size("person") for db in found] == [1, 1]


def test_a_closed_type_takes_no_constant_of_a_rule():
    closed = MLN.parse("food = {Pie}\nlikes(person,food)").schema
    db = Database.from_facts(closed, {"likes": [("Anna", "Pie")]}, name="meals.db")
    mln = MLN.parse("likes(person,food)\n1 likes(x,Jam)")
    with pytest.raises(InputError, match=r"Jam: not in the closed type 'food' of meals\.db"):
        query(mln, db, "likes")


def test_a_part_of_a_declared_domain_stays_a_part():
    mln = MLN.parse("person = {Anna, Bob, Carl}\nsmokes(person)\n1 smokes(x)")
    whole = Database.from_facts(mln.schema, {"smokes": [("Anna",)]})
    part = Database(mln.schema, {"person": type(whole.domains["person"])(["Anna"])}, {})
    assert with_constants_of(mln, [part])[0] is part


def test_a_type_without_constants_is_said():
    mln = MLN.parse("about(page,topic)\n1 about(p,t)")
    db = Database.from_facts(mln.schema, {}, domains={"page": ["P"]})
    with pytest.warns(DataWarning, match=r"type 'topic' has no constants.*about has no atoms"):
        assert len(query(mln, db, "about")) == 0


def test_grounding_refuses_what_it_cannot_place():
    mln = MLN.parse(ACTS)
    with pytest.raises(InputError, match="the database has no act Kill"):
        ground(mln, acts(), ["afraid"])


def test_an_engine_without_the_constants_is_refused():
    mln = MLN.parse("smokes(person)\nsmokes(Zoe)")
    db = Database.from_facts(mln.schema, {"smokes": [("Anna",)]})
    with DuckEngine([db]) as engine, pytest.raises(InputError, match="engine's databases"):
        learn_pseudolikelihood(mln, engine)
    with DuckEngine(with_constants_of(mln, [db])) as engine:
        assert len(learn_pseudolikelihood(mln, engine).mln.rules) == 2


def test_a_learned_model_answers_for_all_values_of_an_unlabelled_file():
    mln = MLN.parse("topic(page,subject!)\nsays(page,word)\nsays(p,Goal) ^ topic(p,Sports)")
    labelled = {
        "topic": [("P1", "Sports"), ("P2", "Politics"), ("P3", "Science")],
        "says": [("P1", "Goal"), ("P2", "Vote"), ("P3", "Atom")],
    }
    learned = learn_pseudolikelihood(mln, [Database.from_facts(mln.schema, labelled)]).mln
    loaded = MLN.parse(str(learned))
    assert loaded == learned
    assert loaded.schema.listed["subject"] == ("Sports", "Politics", "Science")
    unlabelled = Database.from_facts(loaded.schema, {"says": [("P9", "Goal"), ("P9", "Ball")]})
    answers = query(loaded, unlabelled, "topic")
    assert {a.constants for a in answers} == {
        ("P9", name) for name in ("Sports", "Politics", "Science")
    }
    assert sum(a.probability for a in answers) == pytest.approx(1.0)
    plain = Database.from_facts(mln.schema, {"says": [("P9", "Goal"), ("P9", "Ball")]})
    with pytest.warns(DataWarning, match="subject"):
        assert query(learned, plain, "topic").columns() == answers.columns()


@pytest.mark.parametrize(
    ("text", "facts", "listed"),
    [
        # every constant is named by a rule: nothing to list
        ("about(page,topic)\nabout(p,+t)", {"about": [("P", "A"), ("Q", "B")]}, {}),
        # other facts bring the constants
        (
            "state(s!,time)\nnext(time,time)\nstate(S1,0)",
            {"state": [("S1", "0"), ("S2", "1")], "next": [("0", "1")]},
            {"s": ("S1", "S2")},
        ),
        ("advises(person,person!)\nstudent(person)", {"student": [("Anna",)]}, {}),
        # no rule names a person
        ("smokes(person)\nsmokes(x)", {"smokes": [("Anna",)]}, {}),
    ],
)
def test_what_a_learned_model_lists(text, facts, listed):
    mln = MLN.parse(text)
    db = Database.from_facts(mln.schema, facts)
    full = mln.expanded({kind: names.names for kind, names in db.domains.items()})
    assert carrying_domains(full, [db]).schema.listed == listed


def test_hard_rules_about_absent_constants_by_brute_force():
    rng = np.random.default_rng(0)
    schema = MLN.parse("p(a)\nq(a)").schema
    p, q = schema["p"], schema["q"]
    for _ in range(20):
        weights = rng.normal(size=2)
        rules = (Rule(p("x"), weights[0]), Rule(q("A9"), weights[1]), Rule(Not(p("A8")), hard=True))
        db = Database.from_facts(schema, {}, domains={"a": ["A0", "A1"]})
        with pytest.warns(DataWarning):
            answers = query(MLN(schema, rules), db, ["p", "q"])
        expected = dict.fromkeys(("p(A0)", "p(A1)", "p(A9)"), 1 / (1 + math.exp(-weights[0])))
        expected |= {"p(A8)": 0.0, "q(A9)": 1 / (1 + math.exp(-weights[1]))}
        expected |= dict.fromkeys(("q(A0)", "q(A1)", "q(A8)"), 0.5)
        assert {str(a.atom): a.probability for a in answers} == pytest.approx(expected)
