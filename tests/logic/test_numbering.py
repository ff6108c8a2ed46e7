"""Clauses in numbers, and back."""

import numpy as np
import pytest

from mlnlearn.logic.atoms import Constant, Literal, Predicate, Variable
from mlnlearn.logic.canonical import clause_of, coded, key_of
from mlnlearn.logic.clauses import clause
from mlnlearn.logic.numbering import Numbering, solve
from mlnlearn.logic.substitute import solve_equalities

P, Q = Predicate("p", ("t", "t")), Predicate("q", ("t",))


def test_literals_come_back_from_their_numbers():
    atoms = [P("y", "Bob"), Q("x"), P("Anna", "x"), Q("Bob")]
    numbering = Numbering((t for atom in atoms for t in atom.terms), [P, Q])
    literals = [
        numbering.literal(atom, sign) for atom, sign in zip(atoms, (0, 1, 0, 1), strict=True)
    ]
    assert literals == [(0, 1, -1), (3, 0), (0, -2, 0), (3, -1)]
    assert [numbering.atom(literal) for literal in literals] == atoms
    assert numbering.predicate(Predicate("r", ())) == -1


@pytest.mark.parametrize("seed", range(20))
def test_equalities_are_solved_by_the_least_of_what_is_equal(seed):
    rng = np.random.default_rng(seed)
    pairs = [tuple(pair) for pair in rng.integers(-2, 5, (rng.integers(1, 6), 2)).tolist()]
    classes = {term: {term} for pair in pairs for term in pair}
    for left, right in pairs:
        joined = classes[left] | classes[right]
        classes |= dict.fromkeys(joined, joined)
    clash = any(sum(term < 0 for term in one) > 1 for one in classes.values())
    found = solve(pairs)
    if clash:
        assert found is None
    else:
        assert found == {term: min(one) for term, one in classes.items() if term != min(one)}
    names = {-1: Constant("B"), -2: Constant("A")} | {n: Variable(f"x{n}") for n in range(5)}
    said = solve_equalities([(names[left], names[right]) for left, right in pairs])
    expected = None if clash else {names[v]: names[t] for v, t in found.items()}
    assert said == expected


def test_only_plain_clauses_are_coded():
    plain = clause(P("x", "y"), ~Literal(Q("y")))
    assert coded(plain, [P, Q].index) == ((1, 0, 1), (2, 1))
    labels = [(P, False), (P, True), (Q, False), (Q, True)]
    assert str(clause_of(key_of(plain, [P, Q].index), labels)) == "p(x1,x2) v !q(x2)"
    named = clause(P("x", "Anna"))
    assert not named.is_plain
    assert key_of(named, [P, Q].index) is None
    with pytest.raises(ValueError, match="variables only"):
        coded(named, [P, Q].index)
