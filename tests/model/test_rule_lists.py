"""Rules of short lists in words."""

from mlnlearn.model.relational.features import Feature
from mlnlearn.model.relational.rules import Condition, ReadableRule, RuleList
from mlnlearn.model.relational.trees import Test as Split

OLD, RICH = Condition(Split(Feature((), "age"), 60.0)), Condition(Split(Feature((), "income"), 9.0))


def rule(*conditions, share, says="true"):
    return ReadableRule(conditions, (1.0,), share, 0.25, 40, says)


def test_what_narrows_an_earlier_rule_stands_beside_it():
    rules = (
        rule(OLD, share=0.75),
        rule(RICH, share=0.5),
        rule(RICH, OLD, share=0.6),
        rule(RICH, OLD, share=0.6, says="other"),
    )
    first, second, third, fourth = RuleList((0.0,), rules).sentences("ill")
    assert first == "if age > 60: ill in 75.0% (25.0% of all, 3 times; 40 examples)"
    assert "by rule" not in second
    assert "ill in 60.0% (50.0% by rule 2, 25.0% of all, 2.4 times; 40 examples)" in third
    assert "by rule" not in fourth
    assert not rules[0].narrows(rules[0])


def test_means_and_moments():
    numbers = RuleList((0.0,), (rule(OLD, share=2.5, says=""), rule(OLD, RICH, share=3.5, says="")))
    assert numbers.sentences("size")[0].endswith(
        "size is 2.5 on average (0.25 of all; 40 examples)"
    )
    assert "size is 3.5 on average (2.5 by rule 1, 0.25 of all; 40" in numbers.sentences("size")[1]
    days = RuleList((0.0,), (rule(OLD, share=86_400.0 * 365, says=""),))
    assert "left is 1971-01-01 on average (1970-01-01 of all; 40" in days.sentences("left", True)[0]
