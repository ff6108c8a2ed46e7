"""Packed keys, grouped sums and checked arithmetic at the edge of 64 bits."""

import numpy as np
import pytest

from mlnlearn.counting.arrays import (
    expand_ranges,
    group_sums,
    pack,
    places_among,
    sort_keys,
    times,
    unpack,
)
from mlnlearn.errors import CountOverflowError

TOP = 2**63 - 1


def test_keys_unpack_to_their_columns():
    rng = np.random.default_rng(0)
    sizes = [3, 1000, 7]
    columns = [rng.integers(0, size, 50) for size in sizes]
    keys = pack(columns, sizes)
    for column, found in zip(columns, unpack(keys, sizes), strict=True):
        np.testing.assert_array_equal(column, found)


@pytest.mark.parametrize(
    "sizes", [[1], [1, 1], [2**31 - 1, 2**29, 3], [3, 49, 7, 2**31 - 1], [2**31 - 1, 2**31 - 1]]
)
def test_keys_of_all_sizes_unpack(sizes):
    rng = np.random.default_rng(2)
    drawn = np.stack([rng.integers(0, size, 3000) for size in sizes])
    highest = np.array(sizes)[:, None] - 1
    # codes at the ends, where a quotient that is one off would show
    codes = np.where(rng.random(drawn.shape) < 0.3, 0, drawn)
    codes = np.where(rng.random(drawn.shape) < 0.3, highest, codes)
    keys = pack(codes, sizes)
    before = keys.copy()
    np.testing.assert_array_equal(unpack(keys, sizes), codes)
    np.testing.assert_array_equal(keys, before)


def test_keys_that_do_not_fit_are_refused():
    assert pack([np.zeros(1, np.int64)] * 3, [2**31, 2**31, 2]) is None


@pytest.mark.parametrize("sizes", [[4, 5], [10**6, 10**6], [2**31, 2**31]])
def test_group_sums_whatever_the_key_space(sizes):
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 4, 200).astype(np.int32) for _ in sizes]
    counts = rng.integers(-5, 6, 200)
    expected = {}
    for *row, count in zip(*(c.tolist() for c in columns), counts.tolist(), strict=True):
        expected[tuple(row)] = expected.get(tuple(row), 0) + count
    found, sums = group_sums(columns, sizes, counts)
    rows = list(zip(*(c.tolist() for c in found), strict=True))
    assert rows == sorted(expected)
    assert sums.tolist() == [expected[row] for row in rows]


@pytest.mark.parametrize("sizes", [[4], [10**6]])
def test_sums_are_checked_for_each_group(sizes):
    large = np.full(4, 2**62)
    _, sums = group_sums([np.arange(4, dtype=np.int32)], sizes, large)
    assert sums.tolist() == large.tolist()
    with pytest.raises(CountOverflowError):
        group_sums([np.zeros(4, np.int32)], sizes, large)
    with pytest.raises(CountOverflowError):
        group_sums([np.zeros(4, np.int32)], sizes, np.array([TOP - 1023, 511, 511, 511]))
    _, exact = group_sums([np.zeros(3, np.int32)], sizes, np.array([TOP - 2, 1, 1]))
    assert exact.tolist() == [TOP]


def test_products_are_checked_exactly():
    assert times(np.array([TOP]), np.array([1])).tolist() == [TOP]
    assert times(np.array([3]), np.array([TOP // 3])).tolist() == [TOP // 3 * 3]
    for left, right in ((9087066046162341, 1015), (2**32, 2**31), (-(2**62), 4)):
        with pytest.raises(CountOverflowError):
            times(np.array([left]), np.array([right]))


def test_ranges():
    found = expand_ranges(np.array([5, 0, 9]), np.array([2, 0, 3]))
    assert found.tolist() == [5, 6, 9, 10, 11]


@pytest.mark.parametrize("known", [1, 7, 1000])
@pytest.mark.parametrize("wanted", [0, 3, 1000])
@pytest.mark.parametrize("rising", [True, False])
def test_places_are_found_in_one_run_as_by_searches(known, wanted, rising):
    rng = np.random.default_rng([known, wanted])
    values = np.unique(rng.integers(3 * known, size=known))
    asked = rng.integers(-2, 3 * known + 2, size=wanted)
    asked = np.sort(asked) if rising else asked
    place = {value: place for place, value in enumerate(values.tolist())}
    expected = [place.get(value, -1) for value in asked.tolist()]
    assert places_among(values, asked).tolist() == expected


@pytest.mark.parametrize("bits", [10, 53, 54, 55, 62])
def test_keys_are_sorted_with_their_places_whatever_fits(bits):
    rng = np.random.default_rng(bits)
    keys = rng.integers(1 << bits, size=600)  # places take ten bits
    keys[300:] = keys[:300]
    keys[7] = (1 << bits) - 1
    order, ordered = sort_keys(keys)
    assert order.tolist() == np.argsort(keys, kind="stable").tolist()
    assert ordered.tolist() == sorted(keys.tolist())


@pytest.mark.parametrize("bits", [40, 58, 61, 62])
@pytest.mark.parametrize("counts", [(1, 2), (-3, 4), (2**40, 2**40 + 9)])
def test_groups_are_summed_with_counts_in_their_keys_or_beside(bits, counts):
    rng = np.random.default_rng(bits)
    sizes = [1, 1 << 31, 1 << (bits - 31)]
    columns = [rng.integers(max(size - 30, 0), size, 3000).astype(np.int32) for size in sizes]
    many = rng.integers(*counts, 3000)
    distinct, place = np.unique(np.stack(columns), axis=1, return_inverse=True)
    expected = np.zeros(distinct.shape[1], np.int64)
    np.add.at(expected, place.reshape(-1), many)
    found, sums = group_sums(columns, sizes, many)
    assert np.stack(found).tolist() == distinct.tolist()
    assert sums.tolist() == expected.tolist()
