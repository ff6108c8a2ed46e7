"""Loops of the graph: all of them, and nothing else."""

from collections import Counter

import pytest

from mlnlearn.logic.atoms import Literal, Predicate
from mlnlearn.logic.canonical import canonical, clause_of
from mlnlearn.logic.clauses import clause
from mlnlearn.structure.lifted_search.candidates import enumerate_clauses
from mlnlearn.structure.predicate_graph.candidates import Measured
from mlnlearn.structure.predicate_graph.graph import PredicateGraph
from mlnlearn.structure.predicate_graph.loops import loops

R, S = Predicate("r", ("t", "t")), Predicate("s", ("t", "t"))
A = Predicate("a", ("t",))


def clauses_of(graph, longest, max_same=3):
    labels = [(node.predicate, node.positive) for node in graph.nodes]
    return [clause_of(key, labels) for key in loops(graph, longest, max_same)]


def is_loop(given):
    """Every literal has two variables, every variable is in two literals."""
    seen = Counter(variable for literal in given for variable in literal.atom.terms)
    return set(seen.values()) == {2} and all(len(set(lit.atom.terms)) == 2 for lit in given)


@pytest.mark.parametrize("length", [2, 3])
def test_all_loops_of_binary_relations_are_listed(length):
    found = [c for c in clauses_of(PredicateGraph.of([R, S, A]), 3) if len(c) == length]
    assert len(set(found)) == len(found)
    every = enumerate_clauses((R, S, A), max_literals=3, max_variables=3)
    expected = {
        given
        for given in every
        if len(given) == length
        and len({literal.atom for literal in given}) == length
        and is_loop(given)
        and (length == 2 or sum(literal.positive for literal in given) <= 1)
    }
    assert set(found) == expected


def test_limits_of_loops_hold():
    graph = PredicateGraph.of([R, S])
    assert {len(given) for given in clauses_of(graph, 4)} == {2, 3, 4}
    assert {len(given) for given in clauses_of(graph, 2)} == {2}
    assert clauses_of(graph, 1) == []
    for given in clauses_of(graph, 4, max_same=2):
        assert max(Counter(literal.atom.predicate for literal in given).values()) <= 2
    assert not loops(graph.without(["r"]), 3, 1)


def test_relations_with_more_places_are_linked_by_different_ones():
    taught = Predicate("taughtBy", ("course", "person", "quarter"))
    assists = Predicate("ta", ("course", "person", "quarter"))
    advised = Predicate("advisedBy", ("person", "person"))
    found = clauses_of(PredicateGraph.of([taught, assists, advised]), 3)
    body = ~Literal(taught("c", "p", "q")), ~Literal(assists("c", "s", "q"))
    assert canonical(clause(*body, advised("s", "p"))) in found
    # nothing ties the two that teach, so there is no way back
    assert canonical(clause(*body, ~Literal(assists("c", "t", "r")))) not in found


def test_a_longer_clause_must_be_better_for_held_out_data_too():
    short = Measured(None, 2.0, 0.5, 0.4)
    assert Measured(None, 2.0, 0.6, 0.5).improves(short)
    assert Measured(None, 3.0, 0.4, 0.5).improves(short)
    assert not Measured(None, 3.0, 0.6, 0.3).improves(short)
    assert not Measured(None, 1.0, 0.9, 0.8).improves(short)
    assert Measured(None, 3.0, 0.6).improves(short)
