"""Splits of a node: what is found where there is something, and what chance makes."""

import numpy as np
import pytest

from mlnlearn.model.relational.axis import NameAxis
from mlnlearn.model.relational.features import Feature
from mlnlearn.structure.relational_boosting.grow import GrowSettings
from mlnlearn.structure.relational_boosting.histograms import Binned
from mlnlearn.structure.relational_boosting.name_axis import NamedExamples
from mlnlearn.structure.relational_boosting.name_grow import grow_by_name
from mlnlearn.structure.relational_boosting.splits import grow

NAMES, EACH = 60, 12


def split(label, shares, seed):
    """Return the root of a tree of two leaves on one column of many names, by class of each."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(np.repeat(np.arange(NAMES), EACH)).astype(np.uint8)
    classes = label(names, rng)
    rates = np.array(shares)
    gradients = np.eye(len(rates))[classes] - rates
    if len(rates) == 2:
        gradients, rates = gradients[:, 1:], rates[1:]
    none = np.zeros(len(names) + 1, np.int64), np.empty(0, np.int32), np.empty(0)
    doubt = np.array([np.log(100)])  # as of a hundred features
    binned = Binned(names[None], np.ones(1, np.int8), np.array([NAMES]), *none, doubt)
    rows = np.arange(len(names))
    curvatures = np.repeat((rates * (1 - rates))[None], len(names), axis=0)
    settings = GrowSettings(max_leaves=2, min_examples=10, ridge=1.0)
    return grow(binned, rows, gradients, curvatures, np.ones(1, np.bool_), settings)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.4, 0.3, 0.2, 0.1)])
def test_many_names_do_not_split_by_chance(shares):
    made = [
        split(lambda names, rng: rng.choice(len(shares), len(names), p=shares), shares, seed)
        for seed in range(20)
    ]
    assert sum(root.cut is not None for root in made) <= 7


def test_a_group_of_names_that_matters_is_found():
    shares = (0.5, 0.5)

    def label(names, rng):
        return (rng.random(len(names)) < np.where(names < NAMES // 2, 0.7, 0.3)).astype(int)

    for seed in range(5):
        root = split(label, shares, seed)
        passing = root.cut.passing[:NAMES]
        alike = (passing == (np.arange(NAMES) < NAMES // 2)).mean()
        assert max(alike, 1 - alike) > 0.8


def plain(binned, gradients, use, settings):
    return grow(
        binned, np.arange(len(gradients)), gradients, np.ones_like(gradients), use, settings
    )


def of_names(binned, gradients, use, settings):
    everything, slopes = np.arange(len(gradients)), (gradients, np.ones_like(gradients))
    named = NamedExamples(NameAxis(1, Feature((), "genre"), ("Folk", "Rock")), everything % 2)
    return grow_by_name(binned, everything, slopes, named, use, settings)


@pytest.mark.parametrize("growing", [plain, of_names])
def test_of_tests_that_part_examples_alike_the_first_is_taken_whatever_round_off_says(growing):
    rng = np.random.default_rng(3)
    half = np.repeat([0, 1], 300).astype(np.uint8)
    # the same parts, of bins in another order: their sums differ in the last digits
    parts = np.where(half == 1, rng.integers(3, 6, 600), rng.integers(0, 3, 600)).astype(np.uint8)
    gradients = 1000.0 * (half - 0.5)[:, None] + rng.normal(size=(600, 1))
    pointers, entries = np.zeros(601, np.int64), np.empty(0, np.int32)
    for bins in ([half, parts], [parts, half]):
        sizes = np.array([2 if column is half else 6 for column in bins])
        binned = Binned(np.array(bins), np.zeros(2, np.int8), sizes, pointers, entries, np.empty(0))
        root = growing(binned, gradients, np.ones(2, np.bool_), GrowSettings(2, 3, 1.0))
        assert root.cut is not None
        assert root.cut.feature == 0
