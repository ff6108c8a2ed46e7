"""Compiled loops over examples, beside what they are by definition."""

import numpy as np
import pytest
from scipy.special import expit

from mlnlearn.structure.relational_boosting.bins import screening_scores
from mlnlearn.structure.relational_boosting.distil import RuleBodies
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


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_values_of_what_rules_cover_are_added_up(outputs):
    rng = np.random.default_rng(2)
    covers = rng.random((6, 40)) < np.array([0.1, 0.4, 0.6, 0.9, 0.0, 1.0])[:, None]
    useful = np.array([0, 1, 2, 3, 5])
    values = rng.normal(size=(40, outputs))
    found = RuleBodies(np.arange(40), [()] * 6, covers, useful).sums(values)
    np.testing.assert_allclose(found, covers[useful].astype(float) @ values, atol=1e-13)


def test_features_are_scored_by_the_sums_of_their_bins_outside_of_each_fold():
    rng = np.random.default_rng(3)
    bins, folds = rng.integers(0, 4, 90).astype(np.uint8), rng.integers(0, 3, 90)
    gradients, curvatures = rng.normal(size=(90, 2)), rng.random((90, 2))
    found = screening_scores(bins, folds, 2, gradients, curvatures)
    for number, kept in enumerate((folds >= 0, folds != 0, folds != 1)):
        total = 0.0
        for here in (*(kept & (bins == bin_) for bin_ in range(4)), kept):
            by = -1.0 if here is kept else 1.0
            total += (
                by * (gradients[here].sum(axis=0) ** 2 / (curvatures[here].sum(axis=0) + 1.0)).sum()
            )
        assert found[number] == pytest.approx((total - 6) / np.sqrt(12))
