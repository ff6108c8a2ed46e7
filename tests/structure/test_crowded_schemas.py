"""Learners of clauses where there are very many relations of one type: phases end, clauses come."""

import warnings

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.logic.atoms import Predicate
from mlnlearn.run import OutOfTimeError, drive, phase
from mlnlearn.structure.lifted_search.candidates import enumerate_clauses
from mlnlearn.structure.predicate_graph.graph import PredicateGraph
from mlnlearn.structure.predicate_graph.loops import loops


def crowded(relations=50, entities=14):
    """Random relations; every fifth is the one before it, turned around."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(relations):
        if number % 5 == 4:
            before = [(t, f"r{number}", h) for h, r, t in rows if r == f"r{number - 1}"]
            rows += before
        else:
            pairs = rng.integers(0, entities, (30, 2))
            rows += [(f"e{h}", f"r{number}", f"e{t}") for h, t in pairs]
    return ml.as_data(ml.from_triples(list(dict.fromkeys(rows)))).databases[0]


class Steps:
    """A clock that moves on by a little whenever it is asked."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def test_a_limited_search_ends_with_clauses():
    run = ml.Run(max_seconds=1500.0, clock=Steps(1.0))
    with pytest.warns(ml.DataWarning, match="30 relations are over the types entity, entity"):
        fitted = ml.MSL(max_literals=2).fit(crowded(30, 10), run)
    assert fitted.notes.stopped
    assert [rule for rule in fitted.model.rules if " v " in str(rule.formula)]


def test_a_search_obeys_its_time_while_it_lists_candidates():
    run = ml.Run(max_seconds=300.0, clock=Steps(1.0))
    with pytest.warns(ml.DataWarning, match="lsl tries few"):
        fitted = ml.LiftedStructureLearner().fit(crowded(30, 10), run)
    assert fitted.notes.stopped
    assert run.clock.now < 330


def test_few_relations_bring_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ml.MSL(max_literals=2).fit(crowded(4, 6), ml.Run(max_seconds=100, clock=Steps(1.0)))


def test_a_phase_is_a_share_of_what_is_left():
    over = []

    def learn(course):
        course.run.clock.now = 4.0
        is_over = phase(0.5)
        course.run.clock.step = 1.0
        over.extend(is_over() for _ in range(5))
        with pytest.raises(OutOfTimeError):
            is_over()
        yield ml.Fitted("model", ml.Notes())

    fitted = drive(ml.Run(max_seconds=10.0, clock=Steps(0.0)), learn)
    assert over == [False, False, True, True, True]  # from 7, between 4 and 10
    assert fitted.notes.stopped == "the 10 seconds of the run were too few to try everything"
    assert not phase(0.0)()  # outside of runs


def test_loops_are_as_long_as_can_be_listed():
    few = [Predicate(f"r{number}", ("e", "e")) for number in range(3)]
    many = [Predicate(f"r{number}", ("e", "e")) for number in range(50)]
    assert max(map(len, loops(PredicateGraph.of(few), 3, 3))) == 3
    assert max(map(len, loops(PredicateGraph.of(many[:40]), 4, 3))) == 2


def test_clauses_are_as_long_as_can_be_listed():
    few = [Predicate(f"r{number}", ("e", "e")) for number in range(2)]
    assert max(map(len, enumerate_clauses(few, max_literals=3))) == 3
