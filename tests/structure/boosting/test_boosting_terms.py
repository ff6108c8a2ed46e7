"""What is added for each row of a view, and summed for candidates, against sums of each example."""

import numpy as np
import pytest

from mlnlearn.structure.boosting.candidates import CandidateCounts
from mlnlearn.structure.boosting.regression import EXAMPLES, Regression, Terms

SIZE, ROWS = 5_000, 700  # more examples than are listed at once


@pytest.mark.parametrize("candidates", [1, 5])
@pytest.mark.parametrize("existential", [False, True])
@pytest.mark.parametrize("other_literals", [False, True])
def test_terms_of_rows_and_sums_are_those_of_the_examples(other_literals, existential, candidates):
    rng = np.random.default_rng(candidates)
    # small whole numbers: sums are exact, so that they can be compared in any order
    gradient, weight = rng.integers(-4, 5, size=(2, SIZE)).astype(np.float64)
    inside = rng.random(SIZE) < 0.4
    path = rng.integers(1, 4, size=SIZE).astype(np.uint8)
    rest = rng.integers(0, 3, size=SIZE) if other_literals else np.empty(0, np.int64)
    if existential:
        rest = np.minimum(rest, 1)
    regression = Regression(gradient, weight, inside, path, existential, grid=(2.0**30, 2.0**30))
    of = rng.integers(0, ROWS - 1, size=SIZE).astype(np.int32)  # the last row has no example
    terms = Terms.of(regression, rest.astype(np.int32), of, ROWS)
    times = np.where(inside, rest if other_literals else 1, 0)
    taking_part = times > 0
    added = [times * weight * gradient, times**2 * weight, taking_part]
    if not existential:
        added += [taking_part * path * weight * gradient, taking_part * path**2.0 * weight]
    expected = np.stack([np.bincount(of, column, ROWS) for column in added], axis=1)
    np.testing.assert_array_equal(terms.gathered, expected)
    np.testing.assert_array_equal(terms.members(), np.flatnonzero(expected[:, EXAMPLES]))
    assert 0 < len(terms.members()) < ROWS

    entries = 3_000
    candidate = rng.integers(candidates, size=entries).astype(np.int32)
    example = np.sort(rng.integers(ROWS, size=entries)).astype(np.int32)
    count = rng.integers(1, 4, size=entries).astype(np.int32)
    sums = np.zeros((candidates, regression.columns))
    terms.add([(0, CandidateCounts.of((candidate, example, count), candidates))], sums)
    many = np.ones(entries) if existential else count
    powers = np.stack([many, many**2, *[np.ones(entries)] * (regression.columns - 2)], axis=1)
    by_entry = powers * expected[example]
    for number in range(candidates):
        np.testing.assert_array_equal(sums[number], by_entry[candidate == number].sum(axis=0))
