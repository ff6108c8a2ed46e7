"""A step of boosting: tests by the examples drawn, values by all of them."""

import numpy as np
import pytest
from scipy.special import expit

from mlnlearn.counting.examples import RowExamples
from mlnlearn.counting.relational import FLAGS, Nominal, Number, Place, Relational, RowSet
from mlnlearn.structure.relational_boosting.learner import RelationalBoost, _Learning
from mlnlearn.structure.relational_boosting.linear import design_of, fit_linear, penalties


@pytest.fixture(scope="module")
def step():
    """A run of most of 4,000 examples, of which 100 are drawn for a tree, and its first tree."""
    rng = np.random.default_rng(0)
    number = 4000
    size = rng.normal(size=number)
    label = (rng.random(number) < expit(2 * size)).astype(float)
    weight = rng.choice([1.0, 3.0], number)
    rows = RowSet("thing", number, {"size": Number(size)}, None, np.zeros(number, np.int32))
    examples = RowExamples(rows, label, FLAGS, weight, Place("thing", "ill"))
    learner = RelationalBoost(target="ill", max_rows=100, max_leaves=4, min_examples=3, share=1.0)
    learning = _Learning(learner, Relational({"thing": rows}, {}, {}), examples)
    run = learning._boosting(learning.open(), 1)
    before = run.scores.copy()
    return run, before, run.step()


def _leaves(run, node, rows):
    """Yield the leaves of a tree, each with its examples, by the tests alone."""
    if node.test is None:
        yield node, rows
        return
    passing = run.passes(node.test, rows)
    yield from _leaves(run, node.yes, rows[passing])
    yield from _leaves(run, node.no, rows[~passing])


def test_values_of_leaves_are_those_of_all_examples_that_take_part(step):
    run, before, tree = step
    assert tree.leaves() == 4
    assert len(run.drawn(0)[0]) == 100
    for leaf, rows in _leaves(run, tree, run.rows):
        chance = expit(before[rows, 0])
        gradient = (run.weight[rows] * (run.label[rows] - chance)).sum()
        curvature = (run.weight[rows] * chance * (1 - chance)).sum()
        assert leaf.values == pytest.approx([0.1 * gradient / (curvature + 1.0)], rel=1e-12)


def test_a_node_has_the_value_that_it_would_have_as_a_leaf(step):
    run, before, tree = step
    chance = expit(before[run.rows, 0])
    gradient = (run.weight[run.rows] * (run.label[run.rows] - chance)).sum()
    curvature = (run.weight[run.rows] * chance * (1 - chance)).sum()
    assert tree.values == pytest.approx([0.1 * gradient / (curvature + 1.0)], abs=1e-12)


def test_all_examples_get_the_value_of_their_leaf(step):
    run, before, tree = step
    for leaf, rows in _leaves(run, tree, np.arange(len(run.label))):
        assert run.scores[rows, 0] - before[rows, 0] == pytest.approx(leaf.values[0], abs=1e-12)


def test_the_design_of_the_linear_part_says_who_passes(step):
    run = step[0]
    design = design_of(run.afresh())
    assert len(design.tests) > 3
    rows = np.arange(0, len(run.label), 7)
    found = design.of_rows(rows)
    for place, test in enumerate(design.tests):
        assert np.array_equal(found[:, place], run.passes(test, rows))


def test_tests_of_the_linear_part_are_added_as_their_trees_would_be(step):
    run = step[0]
    design = design_of(run.afresh())
    (weights,) = fit_linear(run.afresh(), design, (1.0,))
    assert np.count_nonzero(weights.weights) > 1
    found, expected = run.blended(0.5, run.start), run.blended(0.5, run.start)
    weights.scaled(0.7).add_to(found, design)
    for tree in weights.trees(design):
        expected.add(tree.scaled(0.7))
    assert found.trees == expected.trees
    assert np.array_equal(found.scores, expected.scores)
    assert not np.array_equal(found.scores, run.blended(0.5, run.start).scores)


def test_what_few_examples_say_weighs_less_than_what_many_say():
    kind = np.repeat([0, 1, 2], [6, 500, 500])
    label = np.concatenate([np.ones(6), np.arange(500) % 10 > 0, np.arange(500) % 10 > 5])
    column = Nominal(kind.astype(np.int32), ("few", "many", "others"))
    number = len(kind)
    rows = RowSet("thing", number, {"kind": column}, None, np.zeros(number, np.int32))
    examples = RowExamples(rows, label.astype(float), FLAGS, np.ones(number), Place("thing", "ill"))
    learner = RelationalBoost(target="ill", min_examples=3)
    learning = _Learning(learner, Relational({"thing": rows}, {}, {}), examples)
    run = learning._boosting(learning.open(), 0)
    design = design_of(run)
    (weights,) = fit_linear(run, design, penalties(number)[:1])
    by_name = {
        test.names[0]: float(weight[0])
        for test, weight in zip(design.tests, weights.weights, strict=True)
    }
    assert 0 < by_name["few"] < by_name["many"] / 4
