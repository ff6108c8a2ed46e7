"""θ-subsumption against a search through all substitutions."""

from itertools import product

import numpy as np
import pytest

from mlnlearn.logic.atoms import Comparison, Constant, Literal, Predicate, Variable
from mlnlearn.logic.clauses import clause
from mlnlearn.logic.substitute import substitute
from mlnlearn.logic.subsume import equivalent, subsumes

P, Q = Predicate("P", ("t",)), Predicate("Q", ("t", "t"))
TERMS = [Variable("x"), Variable("y"), Variable("z"), Constant("A"), Constant("B")]


def exhaustive(general, specific):
    """Try every map from the variables of one clause to the terms of the other."""
    terms = list(dict.fromkeys(t for literal in specific for t in literal.atom.terms))
    wanted = set(specific)
    return any(
        set(substitute(general, dict(zip(general.variables, images, strict=True)))) <= wanted
        for images in product(terms, repeat=len(general.variables))
    )


def random_clause(rng, most):
    def term():
        return TERMS[rng.integers(len(TERMS))]

    literals = []
    for _ in range(rng.integers(1, most + 1)):
        atom = P(term()) if rng.random() < 0.3 else Q(term(), term())
        literals.append(Literal(atom, bool(rng.random() < 0.6)))
    return clause(*literals)


def test_agrees_with_exhaustive_search():
    rng = np.random.default_rng(5)
    outcomes = []
    for _ in range(3000):
        general, specific = random_clause(rng, 4), random_clause(rng, 6)
        outcomes.append(subsumes(general, specific))
        assert outcomes[-1] == exhaustive(general, specific), f"{general} / {specific}"
    assert 100 < sum(outcomes) < 2900


def test_instances_and_supersets_are_subsumed():
    rng = np.random.default_rng(6)
    for _ in range(300):
        general = random_clause(rng, 4)
        images = {v: TERMS[rng.integers(len(TERMS))] for v in general.variables}
        larger = clause(*substitute(general, images), *random_clause(rng, 3))
        assert subsumes(general, general)
        assert subsumes(general, larger)


def test_renamed_and_padded_clauses_are_equivalent():
    path = clause(~Literal(Q("x", "y")), ~Literal(Q("y", "z")), Q("x", "z"))
    renamed = clause(Q("a", "c"), ~Literal(Q("a", "b")), ~Literal(Q("b", "c")))
    padded = clause(*path, ~Literal(Q("x", "w")))
    assert equivalent(path, renamed)
    assert equivalent(path, padded)
    assert not equivalent(path, clause(*path, P("x")))


def test_same_names_in_both_clauses_do_not_clash():
    assert subsumes(clause(Q("x", "y")), clause(Q("y", "x")))
    assert not subsumes(clause(Q("x", "y"), Q("y", "x")), clause(Q("y", "x")))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (("=", "x", "y"), ("=", "b", "a"), True),
        (("<", "x", "y"), (">", "b", "a"), True),
        (("<", "x", "y"), ("<", "b", "a"), False),
        (("<", "x", "y"), ("<=", "a", "b"), False),
    ],
)
def test_comparisons_match_in_either_writing(left, right, expected):
    def told(operator, first, second):
        return clause(Q(first, second), Comparison(operator, Variable(first), Variable(second)))

    general = told(*left)
    specific = clause(Q("a", "b"), Comparison(right[0], Variable(right[1]), Variable(right[2])))
    assert subsumes(general, specific) is expected


def test_long_chains_are_decided_without_blow_up():
    def chain(length):
        return clause(*(Q(f"v{i}", f"v{i + 1}") for i in range(length)))

    assert subsumes(chain(25), chain(40))
    assert not subsumes(chain(40), chain(25))
    cycle = clause(*chain(25), Q("v25", "v0"))
    assert subsumes(chain(60), cycle)


def test_the_empty_clause_subsumes_everything():
    assert subsumes(clause(), clause(P("x")))
    assert not subsumes(clause(P("x")), clause())
