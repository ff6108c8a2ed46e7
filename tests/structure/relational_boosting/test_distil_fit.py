"""Weights of short lists: the best ones, however they are found."""

from types import SimpleNamespace

import numpy as np
import pytest

from mlnlearn.structure.relational_boosting.distil import (
    DistilSettings,
    _by_gradient,
    _by_newton,
    _Goal,
    _ListFit,
)
from mlnlearn.structure.relational_boosting.losses import Loss


@pytest.mark.parametrize("kind", ["logistic", "squares"])
@pytest.mark.parametrize("ridge", [1.0, 0.05])
def test_both_ways_find_the_same_weights(kind, ridge):
    rng = np.random.default_rng(3)
    passing = rng.random((6, 400)) < 0.3
    passing[5] = passing[4]  # two rules of the same examples
    label = (passing[0] | (rng.random(400) < 0.1)).astype(float)
    design = np.concatenate([np.ones((1, 400)), passing])
    weight = rng.random(400) + 0.5
    goal = _Goal.of(Loss(kind, 1), label[:, None], weight, np.arange(400))
    start = np.zeros((7, 1))
    fast, slow = (way(goal, design, start, ridge) for way in (_by_newton, _by_gradient))
    np.testing.assert_allclose(fast, slow, atol=0.02)
    slopes = design @ goal.slopes(design.T @ fast)[:, 0]
    np.testing.assert_allclose(slopes, ridge * np.append(0.0, fast[1:, 0]), atol=1e-4)


def test_labels_that_are_all_alike_have_finite_weights():
    label = np.ones((50, 1))
    design = np.concatenate([np.ones((1, 50)), np.arange(50)[None] % 2])
    goal = _Goal.of(Loss("logistic", 1), label, np.ones(50), np.arange(50))
    found = _by_newton(goal, design, np.zeros((2, 1)), 1.0)
    assert np.isfinite(found).all()
    assert found[0, 0] > 5


def test_examples_that_the_same_rules_cover_are_a_group():
    rng = np.random.default_rng(5)
    covers = rng.random((10, 300)) < 0.3
    covers[7] = covers[2]
    label = rng.random(300) < np.where(covers[0], 0.8, 0.2)
    run = SimpleNamespace(
        loss=Loss("logistic", 1),
        label=label.astype(float),
        weight=np.ones(300),
        scores=np.zeros((300, 1)),
    )
    fit = _ListFit(run, np.arange(300), DistilSettings(10, 1.0, 0, ("false", "true")))
    for cover in covers:
        fit.add(cover)
    np.testing.assert_array_equal(fit.design[1:, fit.group], covers)
    assert fit.design.shape[1] == len(np.unique(covers, axis=1).T)
    np.testing.assert_allclose(fit.scores, fit.weights[0] + covers.T @ fit.weights[1:])
