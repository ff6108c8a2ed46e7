"""The suite itself: its reference against closed forms, and that it sees what is wrong."""

import math
from dataclasses import replace

import numpy as np
import pytest

from agreement.case import Case, Facts
from agreement.compare import Path, Sampled, tried
from agreement.generate import random_case
from agreement.language import Atom, Compare, Joined, Not, Predicate, Quantified, Rule
from agreement.paths import marginals
from agreement.problem import Problem
from agreement.run import tally
from agreement.shrink import smallest
from mlnlearn.errors import InputError

X, Y = "x_a_0", "x_a_1"
SMOKES, FRIENDS = Predicate("smokes", ("a",)), Predicate("friends", ("a", "a"))


def case_of(*rules, evidence=Facts(), query=("smokes",), predicates=(SMOKES, FRIENDS)):  # noqa: B008
    declared = (("a", ("A0", "A1")),)
    return Case(0, ("a",), declared, predicates, rules, (Facts(),), (Facts(),), evidence, query)


def test_one_formula_is_a_logistic_unit():
    problem = Problem(case_of(Rule(Atom("smokes", (X,)), 1.5)))
    probability = 1 / (1 + math.exp(-1.5))
    found = marginals.expected(problem)
    assert found == pytest.approx({("smokes", (name,)): probability for name in ("A0", "A1")})


def test_leading_forall_names_grounding_variables_and_an_inner_one_quantifies():
    atom = Atom("smokes", (X,))
    rules = {
        "in front": Rule(Quantified("FORALL", (X,), atom), 2.0),
        "within": Rule(Not(Not(Quantified("FORALL", (X,), atom))), 2.0),
    }
    found = {
        where: marginals.expected(Problem(case_of(rule)))["smokes", ("A0",)]
        for where, rule in rules.items()
    }
    assert found["in front"] == pytest.approx(1 / (1 + math.exp(-2.0)))
    assert found["within"] == pytest.approx((1 + math.exp(2.0)) / (3 + math.exp(2.0)))


def test_comparisons_and_evidence():
    same = Joined("^", (Atom("smokes", (X,)), Compare("=", X, "A0")))
    evidence = Facts(true=frozenset({("smokes", ("A1",))}))
    found = marginals.expected(Problem(case_of(Rule(same, -2.0), evidence=evidence)))
    assert found == pytest.approx({("smokes", ("A0",)): 1 / (1 + math.exp(2.0))})


def test_models_are_the_same_for_the_same_seed_and_readable():
    for seed in range(20):
        case = random_case(seed)
        assert case == random_case(seed)
        problem = Problem(case)
        assert len(problem.mln.rules) == len(case.rules)
        assert {p.name for p in problem.mln.schema.predicates} == set(case.by_name)


def path_of(answer, **settings):
    return Path("marginals: exact", marginals.expected, answer, **settings)


@pytest.fixture
def problem():
    return Problem(case_of(Rule(Atom("smokes", (X,)), 1.5), Rule(Atom("friends", (X, Y)), 0.3)))


def test_a_wrong_number_a_missing_atom_and_an_error_are_seen(problem):
    right = marginals.expected(problem)
    assert tried(path_of(lambda _: right), problem).kind == "agreed"
    wrong = {atom: p + 1e-5 for atom, p in right.items()}
    assert tried(path_of(lambda _: wrong), problem).kind == "differs"
    assert tried(path_of(lambda _: {}), problem).kind == "differs"
    assert tried(path_of(lambda _: dict.fromkeys(right, math.nan)), problem).kind == "differs"
    assert tried(path_of(lambda _: 1 / 0), problem).kind == "differs"


def test_only_listed_reasons_are_reasons(problem):
    def refusing(text):
        def answer(_):
            raise InputError(text)

        return answer

    assert tried(path_of(refusing("no world is possible")), problem).kind == "refused"
    assert tried(path_of(refusing("not today")), problem).kind == "differs"


def test_samplers_are_held_to_their_errors(problem):
    right = marginals.expected(problem)

    def answer(_, seed, shift):
        error = 0.01 / (1 + seed)
        return Sampled({a: p + shift for a, p in right.items()}, dict.fromkeys(right, error))

    near = path_of(lambda p, seed: answer(p, seed, 0.02), sampled=True)
    biased = path_of(lambda p, seed: answer(p, seed, 0.05), sampled=True)
    assert tried(near, problem).kind == "agreed"
    assert tried(biased, problem).kind == "differs"


def test_an_answer_to_an_impossible_question_is_wrong():
    contradiction = Joined("^", (Atom("smokes", (X,)), Not(Atom("smokes", (X,)))))
    problem = Problem(case_of(Rule(contradiction, None)))
    assert tried(path_of(lambda _: {}), problem).kind == "differs"


def test_cases_are_made_small():
    rules = tuple(Rule(Atom("smokes", (X,)), float(weight)) for weight in range(4))
    facts = Facts(true=frozenset({("smokes", ("A0",)), ("friends", ("A0", "A1"))}))
    case = smallest(
        case_of(*rules, evidence=facts),
        lambda c: (
            any(rule.weight == 2.0 for rule in c.rules) and ("smokes", ("A0",)) in c.evidence.true
        ),
    )
    assert [rule.weight for rule in case.rules] == [2.0]
    assert case.evidence.true == {("smokes", ("A0",))}


def test_what_is_counted():
    def refuse(_):
        raise InputError("no world is possible")

    paths = [path_of(refuse), replace(path_of(marginals.expected), name="marginals: auto")]
    found = tally(range(5), paths)
    assert found.models == 5
    assert found.refusals("marginals: exact") == 5
    assert found.agreed["marginals: auto"] + found.refusals("marginals: auto") <= 5
    assert np.isnan(found.spread("marginals: auto"))
