"""Pictures show the numbers of the model."""

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest

import mlnlearn as ml
from mlnlearn.errors import InputError
from mlnlearn.evaluate.effects import NumberEffect
from mlnlearn.model.plots import rule_weights

mpl.use("agg")
RULES = ml.MLN.parse("""
smokes(person)
friends(person,person)
-1 smokes(x)
1.5 friends(x,y) ^ smokes(x) => smokes(y)
smokes(x) v !smokes(x).
""")


def test_bars_are_the_weights_the_largest_first():
    axes = RULES.plot_rules()
    assert [bar.get_width() for bar in axes.patches] == [1.5, -1.0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["friends(x,y) ^ smokes(x) => smokes(y)", "smokes(x)"]
    assert len(RULES.plot_rules(1).patches) == 1


def test_a_waterfall_ends_at_the_log_odds():
    people = ml.parse_db(
        "friends(Anna,Bob)\nfriends(Carl,Bob)\nsmokes(Anna)\nsmokes(Carl)", RULES.schema
    )
    why = ml.explain(RULES, people, "smokes(Bob)")
    bars = why.plot().patches
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [(0, 3), (3, -1), (0, 2)]
    assert bars[-1].get_width() == pytest.approx(why.log_odds)
    few = why.plot(1).patches
    assert [bar.get_width() for bar in few] == [3, -1, 2]


def test_every_kind_of_model_has_rules_to_draw():
    kinds = (ml.MLN, ml.BoostedModel, ml.RelationalModel, ml.PathModel, ml.JoinBayesModel)
    assert all(callable(kind.plot_rules) for kind in kinds)
    assert rule_weights(ml.MLN(RULES.schema)) == []
    with pytest.raises(InputError, match="no rules to draw"):
        ml.MLN(RULES.schema).plot_rules()


def test_the_curve_of_a_number_has_its_answers():
    effect = NumberEffect("amount", np.array([1.0, 2.0, 5.0]), np.array([0.2, 0.2, 0.7]), "P(late)")
    axes = effect.plot()
    [line] = axes.lines
    assert line.get_xydata().tolist() == [[1.0, 0.2], [2.0, 0.2], [5.0, 0.7]]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("amount", "P(late)")
    assert effect.plot(axes) is axes


def test_what_one_call_learns_and_says_can_be_drawn():
    ages = np.arange(20, 60).repeat(4)
    rows = {"id": np.arange(160), "age": ages, "left": np.where(ages % 40 < 21, "yes", "no")}
    learner = ml.RelationalBoost(target="person.left", steps=5)
    found = ml.learn({"person": pl.DataFrame(rows)}, "person.left", learner=learner)
    assert len(found.plot_rules(1).patches) == 1
    why = found.explain({"person": pl.DataFrame(rows)}, "7")
    total = sum(part.log_odds for part in why.contributions)
    assert why.plot().patches[-1].get_width() == pytest.approx(total)
    assert why.plot(1).get_xlabel() == "log-odds"
    assert repr(why).startswith("<RowReasons: row 7, left:")
    assert f"{why.contributions[0].log_odds:+.4f}  {why.contributions[0].rule}" in str(why)
    assert "because" in why._repr_html_()
