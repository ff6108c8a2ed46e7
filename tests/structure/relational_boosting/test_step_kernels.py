"""Compiled loops over examples, beside what they are by definition."""

import numpy as np
import pytest
from scipy.special import expit

from mlnlearn.structure.relational_boosting.losses import Loss
from mlnlearn.structure.relational_boosting.step_kernels import add_values, summed

LOGISTIC = Loss("logistic", 1)


@pytest.fixture
def examples():
    """Scores, labels and weights, some of them of examples that are all but certain."""
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(size=(60, 1)), [[40.0], [-40.0], [800.0], [-800.0], [0.0]]])
    label = rng.integers(0, 2, len(scores)).astype(float)
    return scores, label, rng.choice([1.0, 3.0], len(scores))


def test_slopes_are_the_derivatives_of_the_logistic_loss(examples):
    scores, label, weight = examples
    gradients, curvatures = LOGISTIC.slopes(scores, label, weight)
    chance = expit(scores[:, 0])
    assert np.array_equal(gradients[:, 0], weight * (label - chance))
    least = np.maximum(chance * (1 - chance), 1e-9)
    assert np.array_equal(curvatures[:, 0], weight * least)


def test_deviances_are_minus_the_logarithms_of_chances(examples):
    scores, label, _ = examples
    signed = np.where(label > 0, scores[:, 0], -scores[:, 0])
    np.testing.assert_allclose(
        LOGISTIC.each(scores, label), np.logaddexp(0.0, -signed), rtol=1e-15, atol=0
    )


@pytest.mark.parametrize("outputs", [1, 3])
def test_slopes_are_added_up_by_node_and_values_given_by_node(outputs):
    rng = np.random.default_rng(1)
    nodes = rng.integers(0, 5, 80)
    rows = np.sort(rng.choice(80, 50, replace=False))
    gradients, curvatures = rng.normal(size=(2, 50, outputs))
    found = summed(nodes, rows, gradients, curvatures, 6)
    for node in range(6):
        here = nodes[rows] == node
        own = [*gradients[here].sum(axis=0), *curvatures[here].sum(axis=0)]
        np.testing.assert_allclose(found[node], own, atol=1e-13)
    scores = rng.normal(size=(80, outputs))
    values = rng.normal(size=(5, outputs))
    expected = scores + values[nodes]
    add_values(scores, values, nodes)
    assert np.array_equal(scores, expected)
