"""No answer is NaN: weights that are no numbers, or too large for their sums, are refused."""

import json

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError, MlnError
from mlnlearn.infer.belief import belief_propagation
from mlnlearn.infer.explain import explain
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.infer.query import query
from mlnlearn.logic.formulas import Rule
from mlnlearn.model.answers import AnswerTable
from mlnlearn.model.boosted.model import BoostedModel
from mlnlearn.model.boosted.rules import TargetRules
from mlnlearn.model.mln import MLN
from mlnlearn.weights.generative import learn_pseudolikelihood

METHODS = ["auto", "exact", "gibbs", "mcsat", "map", "bp"]


def people(mln, facts=None, count=2):
    names = [f"P{i}" for i in range(count)]
    return Database.from_facts(mln.schema, facts or {}, domains={"person": names})


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -float("inf"), np.float64("nan")])
def test_a_rule_takes_no_weight_that_is_no_number(weight):
    smokes = MLN.parse("smokes(person)").schema["smokes"]
    with pytest.raises(InputError, match="a weight must be a finite number"):
        Rule(smokes("x"), weight)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "rules",
    [
        "1e308 smokes(x)\n1e308 smokes(y)",
        "1e308 smokes(x)\n-1e308 smokes(y)",
        "1e308 smokes(x) v ill(x)\n1e308 ill(x)\n1e308 smokes(x) ^ ill(x)",
    ],
)
def test_weights_whose_sum_is_infinite_are_refused(method, rules):
    mln = MLN.parse(f"smokes(person)\nill(person)\n{rules}")
    with pytest.raises(InputError, match=r"the weights are too large"):
        query(mln, people(mln), ["smokes", "ill"], method=method, samples=10, burn_in=1)


def test_an_explanation_refuses_weights_whose_sum_is_infinite():
    mln = MLN.parse("smokes(person)\nill(person)\n1e308 smokes(x) v ill(y)\n-1e308 smokes(x)")
    with pytest.raises(InputError, match=r"the weights are too large"):
        explain(mln, people(mln, count=4), "smokes(P0)", closed=["smokes", "ill"])


def test_learning_from_weights_that_overflow_is_refused():
    mln = MLN.parse("smokes(person)\n1e308 smokes(x)\n1e308 smokes(x) ^ smokes(y)")
    with pytest.raises(InputError, match="starts from"), np.errstate(all="ignore"):
        learn_pseudolikelihood(mln, [people(mln, {"smokes": [("P0",)]})])


@pytest.mark.parametrize(
    "rules",
    [
        "smokes(x) v ill(x).\nsmokes(x) v !ill(x).\n!smokes(x) v ill(x).\n!smokes(x) v !ill(x).",
        "smokes(x) => ill(x).\nill(x) => friend(x,y).\nfriend(x,y) => !smokes(y).\n"
        "!smokes(x) => ill(x).\nill(x) => smokes(x).",
    ],
)
def test_belief_propagation_says_that_hard_rules_contradict(rules):
    mln = MLN.parse(f"smokes(person)\nill(person)\nfriend(person,person)\n{rules}")
    for method in ("exact", "bp"):
        with pytest.raises(InputError, match="the hard rules contradict each other"):
            query(mln, people(mln), ["smokes", "ill", "friend"], method=method)


def test_belief_propagation_itself_gives_no_nan():
    rules = "smokes(x) v ill(x).\nsmokes(x) v !ill(x).\n!smokes(x) v ill(x).\n!smokes(x) v !ill(x)."
    mln = MLN.parse(f"smokes(person)\nill(person)\n{rules}")
    network = ground(mln, people(mln), ["smokes", "ill"])
    with pytest.raises(InputError, match="contradict"):
        belief_propagation(network)


@pytest.mark.parametrize("value", [float("nan"), -0.1, 1.1, float("inf")])
def test_an_answer_is_a_probability_or_an_error(value):
    smokes = MLN.parse("smokes(person)").schema["smokes"]
    columns, domains = np.array([[0, 1]], np.int32), (Vocabulary(["Anna", "Bob"]),)
    with pytest.raises(MlnError, match=r"1 of 2 atoms; for smokes\(Bob\)"):
        AnswerTable(
            smokes, columns, domains, np.array([0.5, value]), np.zeros(2), np.full(2, "bp", object)
        )


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999"])
def test_a_model_file_with_what_is_no_number_is_refused(value, tmp_path):
    schema = MLN.parse("smokes(person)\nill(person)").schema
    model = BoostedModel(schema, False, (TargetRules(schema["ill"], -1.0),))
    text = json.dumps(model.to_plain()).replace("-1.0", value)
    assert value in text
    with pytest.raises(
        InputError, match=r"m\.json: targets\[0\]\.bias: (nan|inf) is no finite number"
    ):
        BoostedModel.from_plain(json.loads(text), "m.json")
