"""The shorthands ``+x`` and ``*P(x)``."""

import pytest

from mlnlearn.errors import InputErrors, MemoryLimitError
from mlnlearn.logic.atoms import Predicate, Variable
from mlnlearn.logic.expand import expand_rule
from mlnlearn.logic.formulas import And, EitherSign, Exists, Implies, Not, Or, Rule

SAYS, LINKS = Predicate("says", ("page", "word")), Predicate("links", ("page", "page"))
TOPIC = Predicate("topic", ("page", "class"))
W, C, P = Variable("w"), Variable("c"), Variable("p")
DOMAINS = {"word": ["Ball", "Vote"], "class": ["Sports", "News", "Arts"]}


def texts(rules):
    return [str(rule.formula) for rule in rules]


def test_a_plain_rule_comes_back_alone():
    rule = Rule(Implies(SAYS("p", "w"), TOPIC("p", "c")), 1.5, locked=True)
    assert expand_rule(rule, {}) == (rule,)


def test_one_rule_per_combination_of_constants():
    rule = Rule(Implies(SAYS("p", "w"), TOPIC("p", "c")), 0.5, whole=True, per_constant=(W, C))
    found = expand_rule(rule, DOMAINS)
    assert texts(found) == [
        f"says(p,{word}) => topic(p,{kind})"
        for word in DOMAINS["word"]
        for kind in DOMAINS["class"]
    ]
    assert all((r.weight, r.whole, r.per_constant) == (0.5, True, ()) for r in found)


def test_every_starred_atom_takes_both_signs():
    formula = Or((EitherSign(SAYS("p", "w")), LINKS("p", "q"), EitherSign(TOPIC("p", "c"))))
    assert texts(expand_rule(Rule(formula), DOMAINS)) == [
        "says(p,w) v links(p,q) v topic(p,c)",
        "says(p,w) v links(p,q) v !topic(p,c)",
        "!says(p,w) v links(p,q) v topic(p,c)",
        "!says(p,w) v links(p,q) v !topic(p,c)",
    ]


def test_stars_and_pluses_combine_under_any_connective():
    inner = Exists((P,), And((EitherSign(SAYS("p", "w")), Not(TOPIC("p", "c")))))
    found = expand_rule(Rule(inner, per_constant=(C,)), DOMAINS)
    assert len(found) == 2 * 3
    assert texts(found)[3] == "EXIST p !says(p,w) ^ !topic(p,Sports)"


def test_an_empty_type_leaves_no_rule():
    assert expand_rule(Rule(SAYS("p", "w"), per_constant=(W,)), {"word": []}) == ()


def test_all_problems_are_reported_together():
    rule = Rule(Exists((P,), SAYS("p", "w")), per_constant=(P, W, Variable("z")))
    with pytest.raises(InputErrors) as caught:
        expand_rule(rule, {})
    text = str(caught.value)
    assert len(caught.value.problems) == 3
    assert "+p is not a free variable" in text
    assert "type 'word'" in text
    assert "+z" in text


def test_too_many_rules_are_refused_before_they_are_made():
    rule = Rule(LINKS("p", "q"), per_constant=(P, Variable("q")))
    pages = {"page": [f"P{i}" for i in range(100_000)]}
    with pytest.raises(MemoryLimitError, match="10000000000 rules"):
        expand_rule(rule, pages)
