"""Ranking metrics: against scikit-learn, against sums over whole numbers, against hand work."""

from fractions import Fraction
from math import log, nan

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.metrics import average_precision_score, roc_auc_score

from mlnlearn.errors import InputError
from mlnlearn.evaluate.ranking import auc_pr, auc_roc, average_precision, operating_points


def random_case(seed, ties):
    rng = np.random.default_rng([1, seed])
    count = int(rng.integers(2, 400))
    labels = rng.random(count) < rng.choice([0.02, 0.3, 0.9])
    labels[:2] = True, False
    scores = rng.normal(size=count) + labels
    if ties:
        scores = np.round(scores, 1)
    return labels, scores, rng.choice([0.5, 1.0, 3.0, 117.0], count)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_equal_to_scikit_learn(seed, ties):
    labels, scores, weights = random_case(seed, ties)
    for used in (None, weights):
        assert average_precision(labels, scores, used) == pytest.approx(
            average_precision_score(labels, scores, sample_weight=used), abs=1e-12
        )
        assert auc_roc(labels, scores, used) == pytest.approx(
            roc_auc_score(labels, scores, sample_weight=used), abs=1e-12
        )


def test_hand_computed_areas():
    # (TP, FP): (1,0) (1,1) (1,2) (2,2); from (1,2) to (2,2) the area is ∫₁² x/(x+2) dx
    assert auc_pr([1, 0, 0, 1], [4, 3, 2, 1]) == pytest.approx(
        (1 + 1 - 2 * log(4 / 3)) / 2, abs=1e-15
    )
    # a perfect ranking, and the worst one: (0,3) to (2,3) is ∫₀² x/(x+3) dx
    assert auc_pr([1, 1, 0, 0, 0], [5, 4, 3, 2, 1]) == 1.0
    assert auc_pr([0, 0, 0, 1, 1], [5, 4, 3, 2, 1]) == pytest.approx(
        # two points, (1,3) and (2,3), on one line: the same as one step
        (2 - 3 * log(5 / 3)) / 2,
        abs=1e-15,
    )
    # all tied: precision is the base rate everywhere
    assert auc_pr([1, 0, 0, 0], [7, 7, 7, 7]) == 0.25
    # the first point (2,1) is extended to recall 0
    assert auc_pr([1, 1, 0, 0], [9, 9, 9, 1]) == pytest.approx(2 / 3, abs=1e-15)


def test_the_example_of_davis_and_goadrich():
    """From (5, 5) to (10, 30), out of 20 positives: precisions 0.5, 0.375, 0.318, … at 5, 6, 7."""
    labels = [1] * 5 + [0] * 5 + [1] * 5 + [0] * 25 + [1] * 10 + [0] * 1970
    scores = [3] * 10 + [2] * 30 + [1] * 10 + [0] * 1970
    points = operating_points(labels, scores)
    recalls = np.array([0.25, 0.3, 0.35, 0.4, 0.45, 0.5])
    assert points.interpolated(recalls).round(3).tolist() == [
        0.5,
        0.375,
        0.318,
        0.286,
        0.265,
        0.25,
    ]


@pytest.mark.parametrize("seed", range(10))
def test_area_equals_numerical_integration(seed):
    labels, scores, weights = random_case(seed, ties=True)
    points = operating_points(labels, scores, weights)
    knots = np.unique(points.recall)
    area = 0.0
    for low, high in zip([0.0, *knots[:-1]], knots, strict=True):
        if high > low:
            area += quad(points.interpolated, low + 1e-15, high, epsabs=1e-13)[0]
    assert points.auc_pr() == pytest.approx(area, abs=1e-9)


def test_known_curve_to_twelve_digits():
    """With one negative between any two positives, the area is a sum of elementary integrals."""
    for count in (1, 10, 1000):
        labels = np.tile([True, False], count)
        scores = -np.arange(2 * count)
        # from (i, i) to (i + 1, i): ∫ x / (x + i) dx = 1 - i·log((2i + 1) / (2i))
        exact = sum(1 - i * log((2 * i + 1) / (2 * i)) if i else 1.0 for i in range(count))
        assert auc_pr(labels, scores) == pytest.approx(exact / count, abs=1e-12)


def test_straight_lines_through_the_origin_are_exact():
    for true, false in ((1, 10**7), (3, 2), (10**6, 1)):
        labels = [True, False]
        area = auc_pr(labels, [1, 1], [true, false])
        assert area == pytest.approx(float(Fraction(true, true + false)), rel=1e-13)


def test_order_and_weights():
    labels, scores, weights = random_case(3, ties=True)
    mixed = np.random.default_rng(0).permutation(len(labels))
    whole = np.array([1, 2, 3])[mixed % 3]
    for metric in (auc_pr, average_precision, auc_roc):
        assert metric(labels, scores, weights) == pytest.approx(
            metric(labels[mixed], scores[mixed], weights[mixed]), abs=1e-12
        )
        # a weight of k is the same as k copies
        assert metric(labels, scores, whole) == pytest.approx(
            metric(np.repeat(labels, whole), np.repeat(scores, whole)), abs=1e-12
        )
        # only the order of scores matters
        assert metric(labels, scores) == metric(labels, np.exp(scores))
        # a weight of zero takes an example out
        some = whole > 1
        assert metric(labels, scores, some) == metric(labels[some], scores[some])


def test_undefined_without_positives_or_negatives():
    assert np.isnan([auc_pr([0, 0], [1, 2]), average_precision([0], [1]), auc_roc([0], [1])]).all()
    assert np.isnan([auc_pr([], []), auc_roc([1, 1], [1, 2])]).all()
    assert auc_pr([1, 1], [1, 2]) == 1.0


def test_bad_input_is_refused():
    with pytest.raises(InputError, match=r"shape \(2,\), but values \(1,\)"):
        auc_pr([1, 0], [1])
    with pytest.raises(InputError, match="not a number"):
        auc_roc([1, 0], [nan, 1])
    with pytest.raises(InputError, match="not negative"):
        auc_roc([1, 0], [1, 1], [1, -1])
    with pytest.raises(InputError, match=r"but weights \(1,\)"):
        auc_roc([1, 0], [1, 1], [1])


def test_scores_equal_up_to_round_off_are_ties():
    """The same probability, added up in other orders: which is a bit larger says nothing."""
    rng = np.random.default_rng(5)
    labels = rng.random(400) < 0.3
    scores = np.round(rng.random(400) + 0.2 * labels, 1)
    shaken = scores * (1.0 + 4e-16 * rng.integers(-3, 4, 400))
    for metric in (auc_pr, average_precision, auc_roc):
        assert metric(labels, shaken) == metric(labels, scores)
    assert (shaken != scores).any()
    points = operating_points([True, False, True], [0.1 + 0.2, 0.3, 0.2])
    assert points.thresholds.tolist() == [0.3, 0.2]
    assert auc_roc([True, False], [0.1 + 0.2, 0.3]) == 0.5


def test_small_and_infinite_scores_are_told_apart():
    assert auc_roc([True, False, False], [2e-300, 1e-300, 0.0]) == 1.0
    assert auc_roc([True, False, True], [np.inf, np.inf, -np.inf]) == 0.25
    assert auc_roc([True, False], [0.5 + 1e-10, 0.5]) == 1.0
