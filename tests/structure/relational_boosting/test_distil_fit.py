"""Weights of short lists: the best ones, however they are found."""

import numpy as np
import pytest

from mlnlearn.structure.relational_boosting.distil import _by_gradient, _by_newton, _Goal
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
