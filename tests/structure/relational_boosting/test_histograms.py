"""Sums by bins, of features that are mostly in one bin and of others, beside plain additions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlnlearn.structure.relational_boosting.cells import MISSING, OTHER
from mlnlearn.structure.relational_boosting.histograms import Binned, Histograms

EXAMPLES = 300


def made(rng):
    """Return features of many bins, of a usual one (rare names and what is unknown, too)."""
    usual = [
        np.where(rng.random(EXAMPLES) < rate, rng.integers(0, 5, EXAMPLES), bin_)
        for rate, bin_ in ((0.1, 0), (0.2, 3), (0.15, OTHER), (0.05, MISSING), (0.25, 4))
    ]
    odd = np.where(rng.random(EXAMPLES) < 0.1, MISSING, rng.integers(0, 5, EXAMPLES))
    bins = np.array([*usual, odd, rng.integers(0, 5, EXAMPLES)], np.uint8)
    has = rng.random((EXAMPLES, 6)) < 0.2
    has[:, 3], has[:, 4], has[:, 5] = has[:, 2], bins[0] == 2, False  # what says the same, nothing
    columns = csr_array(has)
    kinds, sizes = np.zeros(len(bins), np.int8), np.full(len(bins), 5)
    pointers = columns.indptr.astype(np.int64)
    return Binned(bins, kinds, sizes, pointers, columns.indices, np.zeros(6)), columns.toarray()


@pytest.mark.parametrize("outputs", [1, 3])
def test_sums_are_those_of_plain_additions(outputs):
    rng = np.random.default_rng(4)
    binned, columns = made(rng)
    assert binned.others.listed.tolist() == [True] * 5 + [False] * 2
    cells = binned.others.cells[binned.starts[-1] :]
    assert cells[2] == cells[3] != cells[1]
    assert cells[4] == binned.others.cells[2]
    assert cells[5] == -1
    rows = np.sort(rng.choice(EXAMPLES, 200, replace=False))
    gradients = rng.standard_normal((len(rows), outputs))
    curvatures = rng.random((len(rows), outputs))
    use = np.ones(binned.dense + 6, np.bool_)
    histograms = Histograms(binned, rows, gradients, curvatures, use)
    some = np.sort(rng.choice(len(rows), 90, replace=False))
    found = histograms.sums(some)
    slopes = np.concatenate([gradients, curvatures, np.ones((len(rows), 1))], axis=1)[some]
    for feature, bins in enumerate(binned.bins):
        here = bins[rows[some]]
        own = [slopes[here == bin_].sum(axis=0) for bin_ in (*range(5), OTHER, MISSING)]
        at = binned.starts[feature]
        np.testing.assert_allclose(found[at : at + 7], own, atol=1e-12)
    for column in range(6):
        has = columns[rows[some], column]
        np.testing.assert_allclose(found[binned.starts[-1] + column], slopes[has].sum(axis=0))
    np.testing.assert_allclose(found[-1], slopes.sum(axis=0))


@pytest.mark.parametrize("some", [3, 150])
@pytest.mark.parametrize("outputs", [1, 3])
def test_what_links_say_is_added_up_by_what_they_point_to(outputs, some):
    rng = np.random.default_rng(6)
    binned, _ = made(rng)
    links = np.array([rng.integers(-1, 20, EXAMPLES), rng.integers(0, 30, EXAMPLES)])
    said = [rng.integers(0, 5, 21)[links[0]], np.where(links[1] < 5, 3, 1)]  # two by links alone
    bins = np.concatenate([binned.bins, np.array(said, np.uint8)])
    kinds, sizes = np.zeros(len(bins), np.int8), np.full(len(bins), 5)
    plain = replace(binned, bins=bins, kinds=kinds, sizes=sizes)
    linked = replace(plain, links=links)
    assert plain.others.listed[-2:].tolist() == [False, True]
    assert linked.others.listed[-2:].tolist() == [True, True]
    assert plain.others.by_group.entries.size == 0 < linked.others.by_group.entries.size
    rows = np.sort(rng.choice(EXAMPLES, 200, replace=False))
    slopes = rng.standard_normal((2, len(rows), outputs))
    use = np.ones(len(bins) + 6, np.bool_)
    places = np.sort(rng.choice(len(rows), some, replace=False))
    of_plain, of_linked = (Histograms(one, rows, *slopes, use) for one in (plain, linked))
    np.testing.assert_allclose(of_linked.sums(places), of_plain.sums(places), atol=1e-12)


@pytest.mark.parametrize("feature", [0, 5, 7, 8, 12])
def test_places_are_parted_by_who_passes(feature):
    rng = np.random.default_rng(5)
    binned, _ = made(rng)
    passing = rng.random(256) < 0.5 if feature < binned.dense else np.ones(256, np.bool_)
    rows = np.sort(rng.choice(EXAMPLES, 200, replace=False))
    places = np.sort(rng.choice(len(rows), 90, replace=False))
    yes, no = binned.parted((feature, passing), rows, places)
    passed = binned.passes((feature, passing), rows[places])
    assert np.array_equal(yes, places[passed])
    assert np.array_equal(no, places[~passed])
