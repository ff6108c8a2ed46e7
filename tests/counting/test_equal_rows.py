"""Equal rows by hashing: against numpy's sorted ones."""

import numpy as np
import pytest

from mlnlearn.counting.equal_rows import equal_rows, ranked_marks


@pytest.mark.parametrize("different", [3, 1024, 1025, 9000])
def test_equal_rows_are_numbered_by_their_first_places(different):
    rng = np.random.default_rng(different)
    kinds = rng.integers(-(2**40), 2**40, (different, 2)) * np.array([1, 0])
    kinds[: different // 2, 1] = kinds[different - different // 2 :, 0]
    rows = kinds[rng.integers(different, size=20_000)]
    numbers, first = equal_rows(rows)
    _, places = np.unique(rows, axis=0, return_index=True)
    assert first.tolist() == sorted(places.tolist())
    assert (rows[first[numbers]] == rows).all()


@pytest.mark.parametrize("different", [0, 1, 3000])
def test_marks_are_ranked_as_by_sorting(different):
    rng = np.random.default_rng(different)
    kinds = rng.integers(2**64, size=different, dtype=np.uint64)
    marks = rng.choice(kinds, 9000) if different else kinds
    rank, first = ranked_marks(marks)
    _, places, ranks = np.unique(marks, return_index=True, return_inverse=True)
    assert rank.tolist() == ranks.tolist()
    assert first.tolist() == places.tolist()
