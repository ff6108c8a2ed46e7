"""Trees with a value for each name: sums, splits and values against their definitions."""

import numpy as np
import pytest

from mlnlearn.model.relational.axis import NameAxis
from mlnlearn.model.relational.features import Feature
from mlnlearn.structure.relational_boosting.grow import GrowSettings
from mlnlearn.structure.relational_boosting.histograms import Binned
from mlnlearn.structure.relational_boosting.name_axis import NamedExamples
from mlnlearn.structure.relational_boosting.name_grow import grow_by_name, leaf_values
from mlnlearn.structure.relational_boosting.name_histograms import NameHistograms

EXAMPLES, FEATURES, COLUMNS, NAMES = 200, 3, 4, 5


@pytest.fixture
def problem():
    """Features in bins (the last is mostly the same), sparse columns, gradients and names."""
    rng = np.random.default_rng(3)
    bins = rng.integers(0, 4, (FEATURES, EXAMPLES)).astype(np.uint8)
    bins[-1] = np.where(rng.random(EXAMPLES) < 0.9, 0, bins[-1])
    bins[0, :5] = 255
    has = rng.random((EXAMPLES, COLUMNS)) < 0.2
    indptr = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    indices = np.nonzero(has)[1].astype(np.int32)
    kinds, sizes = np.zeros(FEATURES, np.int8), np.full(FEATURES, 4)
    binned = Binned(bins, kinds, sizes, indptr, indices, np.zeros(COLUMNS))
    slopes = rng.normal(size=(EXAMPLES, 1)), rng.random((EXAMPLES, 1)) + 0.1
    return binned, has, slopes, rng.integers(0, NAMES, EXAMPLES)


def by_name(slopes, names, rows):
    return np.concatenate([np.bincount(names[rows], one[rows, 0], NAMES) for one in slopes])


def test_sums_are_those_of_examples_one_by_one(problem):
    binned, has, slopes, names = problem
    use = np.ones(FEATURES + COLUMNS, np.bool_)
    everything = np.arange(EXAMPLES)
    both = np.concatenate(slopes, axis=1)
    made = NameHistograms(binned, everything, both, names, NAMES, use)
    some = everything[::2]
    found = made.sums(some)

    def is_of(row, rows):
        assert row[:-1] == pytest.approx(by_name(slopes, names, rows), abs=1e-12)
        assert row[-1] == len(rows)

    is_of(found[-1], some)
    for feature in range(FEATURES):
        for value in (0, 1, 2, 3, 255):
            place = binned.starts[feature] + (value if value < 4 else 5)
            is_of(found[place], some[binned.bins[feature, some] == value])
    for column in range(COLUMNS):
        is_of(found[binned.starts[-1] + column], some[has[some, column]])


def test_the_best_split_is_that_of_its_definition(problem):
    binned, has, slopes, names = problem
    settings = GrowSettings(max_leaves=2, min_examples=5, ridge=1.0)
    use, everything = np.ones(FEATURES + COLUMNS, np.bool_), np.arange(EXAMPLES)
    slopes[0][(binned.bins[1] > 1) & (names == 2), 0] += 3.0
    slopes[0][(binned.bins[1] > 1) & (names == 3), 0] -= 3.0
    axis = NameAxis(1, Feature((), "kind"), tuple("abcde"))
    named = NamedExamples(axis, names)
    cut = grow_by_name(binned, everything, slopes, named, use, settings).cut

    def gain(rows):
        gradients, curvatures = by_name(slopes, names, rows).reshape(2, NAMES)
        mean = gradients.sum() / (curvatures.sum() + 1.0)
        rest = (gradients - curvatures * mean) ** 2 - curvatures
        return gradients.sum() * mean + (rest / (curvatures + 10.0)).sum()

    tests = [binned.bins[at] > edge for at in range(FEATURES) for edge in range(3)]
    known = [one & (binned.bins[0] < 255) for one in tests[:3]]
    passing = [*known, *tests, *has.T]
    gains = [gain(everything[one]) + gain(everything[~one]) for one in passing]
    assert cut.gain == pytest.approx(max(gains) - gain(everything))
    assert cut.feature == 1
    assert cut.passing[:4].tolist() == [False, False, True, True]


def test_chance_does_not_split():
    rng = np.random.default_rng(5)
    binned = Binned(
        rng.integers(0, 2, (1, EXAMPLES)).astype(np.uint8),
        np.zeros(1, np.int8),
        np.array([2]),
        np.zeros(EXAMPLES + 1, np.int64),
        np.empty(0, np.int32),
        np.empty(0),
        np.array([np.log(100)]),
    )
    axis = NameAxis(1, Feature((), "kind"), tuple("abcde"))
    split = 0
    for _ in range(40):
        slopes = rng.normal(0, 0.5, (EXAMPLES, 1)), np.full((EXAMPLES, 1), 0.25)
        named = NamedExamples(axis, rng.integers(0, NAMES, EXAMPLES))
        settings = GrowSettings(max_leaves=2, min_examples=5, ridge=1.0)
        use = np.ones(1, np.bool_)
        root = grow_by_name(binned, np.arange(EXAMPLES), slopes, named, use, settings)
        split += root.cut is not None
    assert split <= 6


def test_values_are_drawn_to_the_mean_as_far_as_names_are_alike():
    rng = np.random.default_rng(7)
    curved = rng.uniform(5, 50, (40, 8))
    for spread in (0.0, 0.3, 0.8):
        true = 0.5 + spread * rng.normal(size=curved.shape)
        gradients = curved * true + np.sqrt(curved) * rng.normal(size=curved.shape)
        sums = np.concatenate([gradients, curved], axis=1)
        means, found = leaf_values(sums, np.ones(40, np.bool_), 1e-9)
        assert means == pytest.approx(gradients.sum(axis=1) / curved.sum(axis=1))
        best = means[:, None] + (gradients / curved - means[:, None]) * (
            curved / (curved + (1 / spread**2 if spread else np.inf))
        )
        assert np.abs(found - best).mean() < 0.03
