"""Metrics of probabilities and of attributes."""

from math import log

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from mlnlearn.errors import InputError
from mlnlearn.evaluate.attributes import accuracy, attribute_cll, blocks_of
from mlnlearn.evaluate.metrics import (
    METRICS,
    mean_of,
    sample_negatives,
    sampled_scores,
    scores,
)
from mlnlearn.evaluate.probability import brier, calibration_bins, calibration_error, cll


@pytest.mark.parametrize("seed", range(10))
def test_equal_to_scikit_learn(seed):
    rng = np.random.default_rng([2, seed])
    labels = rng.random(300) < 0.3
    probabilities = rng.uniform(0.001, 0.999, 300)
    weights = rng.uniform(0.1, 5, 300)
    for used in (None, weights):
        assert cll(labels, probabilities, used) == pytest.approx(
            -log_loss(labels, probabilities, sample_weight=used), abs=1e-12
        )
        assert brier(labels, probabilities, used) == pytest.approx(
            brier_score_loss(labels, probabilities, sample_weight=used), abs=1e-12
        )


def test_clipping_is_symmetric_and_as_stated():
    assert cll([1], [0]) == pytest.approx(log(1e-6))
    assert cll([0], [1]) == pytest.approx(log(1e-6))
    assert cll([1], [1]) == pytest.approx(log(1 - 1e-6))
    assert cll([1], [0.0], clip=0.01) == pytest.approx(log(0.01))
    assert np.isnan(cll([], []))


def test_calibration_by_hand():
    labels = [0, 0, 1, 1, 1, 0]
    probabilities = [0.05, 0.15, 0.11, 0.95, 1.0, 0.95]
    bins = calibration_bins(labels, probabilities)
    assert bins.weights.tolist() == [1, 2, 3]
    assert bins.predicted == pytest.approx([0.05, 0.13, 2.9 / 3])
    assert bins.observed == pytest.approx([0, 0.5, 2 / 3])
    expected = (0.05 + 2 * 0.37 + 3 * (0.9 / 3)) / 6
    assert calibration_error(labels, probabilities) == pytest.approx(expected)
    # weights: the last bin's negative counts twice
    heavy = [1, 1, 1, 1, 1, 2]
    copies = np.repeat(np.arange(6), heavy)
    assert calibration_error(labels, probabilities, heavy) == pytest.approx(
        calibration_error(np.array(labels)[copies], np.array(probabilities)[copies])
    )


def test_perfectly_calibrated_forecasts_have_little_error():
    rng = np.random.default_rng(0)
    probabilities = rng.random(200_000)
    labels = rng.random(200_000) < probabilities
    assert calibration_error(labels, probabilities) < 0.01
    assert calibration_error(labels, probabilities**2) > 0.1


def test_probabilities_out_of_range_are_refused():
    for metric in (cll, brier, calibration_error):
        with pytest.raises(InputError, match=r"between 0 and 1; found 0.5 to 1.5"):
            metric([1, 0], [0.5, 1.5])


def test_all_metrics_at_once_equal_single_ones():
    rng = np.random.default_rng(4)
    labels, predicted = rng.random(50) < 0.4, rng.random(50)
    found = scores(labels, predicted)
    assert list(found) == list(METRICS)
    assert found["cll"] == cll(labels, predicted)
    assert list(scores(labels, predicted, metrics=["brier", "ap"])) == ["brier", "ap"]
    with pytest.raises(InputError, match=r"no metric 'f1'; there are: auc_pr, ap"):
        scores(labels, predicted, metrics=["f1"])


def test_means_leave_out_what_is_undefined():
    found = mean_of([{"a": 1.0, "b": np.nan}, {"a": 2.0, "b": np.nan}])
    assert found["a"] == 1.5
    assert np.isnan(found["b"])
    assert mean_of([]) == {}


def test_twice_the_negatives():
    labels = np.arange(100) % 10 == 0
    for seed in range(20):
        rows = sample_negatives(labels, 2, seed)
        assert len(set(rows.tolist())) == 30
        assert labels[rows].sum() == 10
    few = np.array([True, True, False])
    assert sample_negatives(few, 2, 0).tolist() == [0, 1, 2]
    # every negative is drawn equally often
    counts = np.zeros(100)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        counts[sample_negatives(labels, 2, rng)] += 1
    assert counts[labels].min() == 2000
    expected = 2000 * 20 / 90
    assert np.abs(counts[~labels] - expected).max() < 5 * np.sqrt(expected)


def test_sampled_scores_average_over_samples():
    """One negative of four outranks the positive; a sample of two holds it half of the time."""
    labels, predicted = [True, False, False, False, False], [0.5, 0.9, 0.1, 0.1, 0.1]
    found = sampled_scores(labels, predicted, repeats=1500, rng=1, metrics=["ap", "auc_roc"])
    assert found["ap"] == pytest.approx(0.75, abs=0.02)
    assert found["auc_roc"] == pytest.approx(0.75, abs=0.02)
    again = sampled_scores(labels, predicted, repeats=1500, rng=1, metrics=["ap", "auc_roc"])
    assert found == again


def test_accuracy_equals_scikit_learn():
    rng = np.random.default_rng(5)
    table = rng.random((40, 5))
    truth = rng.integers(0, 5, 40)
    labels = np.arange(5) == truth[:, None]
    blocks = np.repeat(np.arange(40) * 7, 5)
    found = accuracy(labels.ravel(), table.ravel(), blocks)
    assert found == pytest.approx(accuracy_score(truth, table.argmax(axis=1)))
    scaled = table / table.sum(axis=1, keepdims=True)
    assert attribute_cll(labels.ravel(), table.ravel(), blocks) == pytest.approx(
        np.log(scaled[np.arange(40), truth]).mean()
    )


def test_accuracy_of_ties_and_missing_values():
    assert accuracy([1, 0, 0], [0.2, 0.2, 0.2], [0, 0, 0]) == pytest.approx(1 / 3)
    # the second block has no true value: it does not count
    assert accuracy([1, 0, 0, 0], [0.9, 0.1, 0.9, 0.1], [0, 0, 1, 1]) == 1.0
    assert np.isnan(accuracy([0], [0.5], [0]))
    assert attribute_cll([1, 0], [0.0, 0.0], [0, 0]) == pytest.approx(log(0.5))
    assert attribute_cll([1, 0], [0.0, 1.0], [0, 0]) == pytest.approx(log(1e-6))
    with pytest.raises(InputError, match="1 blocks have more than one true value"):
        accuracy([1, 1], [0.5, 0.5], [0, 0])


def test_blocks_agree_on_all_but_the_values():
    columns = np.array([[0, 0, 1, 0], [2, 3, 2, 2]], np.int32)
    assert blocks_of(columns, [1]).tolist() == [0, 0, 1, 0]
    assert blocks_of(columns, [0]).tolist() == [0, 1, 0, 0]
    assert blocks_of(columns, [1], np.array([0, 0, 0, 1])).tolist() == [0, 0, 1, 2]
    assert blocks_of(columns, [0, 1]).tolist() == [0, 0, 0, 0]
