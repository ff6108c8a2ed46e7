"""Joins of tables with counts, against pairs of rows tried one by one."""

import numpy as np
import pytest

from mlnlearn.counting import sparse
from mlnlearn.counting.budget import Room
from mlnlearn.counting.sparse import SparseTable, join
from mlnlearn.errors import CountOverflowError

ROOM = Room(1 << 24, "a test")


def table(names, rows, counts):
    columns = np.array(rows, np.int32).reshape(-1, len(names)).T
    return SparseTable(dict(zip(names, columns, strict=True)), np.array(counts, np.int64))


def drawn(rng, names, rows):
    return table(names, rng.integers(0, 4, (rows, len(names))), rng.integers(-3, 4, rows))


def rows_of(part):
    columns = np.stack([part.columns[name] for name in sorted(part.columns)]).T
    return list(map(tuple, columns.tolist()))


@pytest.mark.parametrize("size", [4, 10**9])  # of sums by place, and of sorted keys
@pytest.mark.parametrize("rows", [0, 1, 30])
@pytest.mark.parametrize("keep", ["x", "z", "xz", "yz", "xw"])
def test_joins_are_summed_whatever_the_places_of_the_answer(size, rows, keep):
    rng = np.random.default_rng([rows, len(keep)])
    left, right = drawn(rng, "xyw", 20), drawn(rng, "yz", rows)
    expected = {}
    for (w, x, y), one in zip(rows_of(left), left.counts.tolist(), strict=True):
        for (other, z), two in zip(rows_of(right), right.counts.tolist(), strict=True):
            if other == y:
                named = {"w": w, "x": x, "y": y, "z": z}
                key = tuple(named[name] for name in sorted(keep))
                expected[key] = expected.get(key, 0) + one * two
    for first, second in ((left, right), (right, left)):
        found = join(first, second, set(keep), dict.fromkeys("wxyz", size), ROOM)
        names = [n for n in dict.fromkeys([*first.columns, *second.columns]) if n in keep]
        assert list(found.columns) == names
        by_name = list(map(tuple, np.stack(list(found.columns.values())).T.tolist()))
        assert by_name == sorted(by_name)
        assert dict(zip(rows_of(found), found.counts.tolist(), strict=True)) == expected


@pytest.mark.parametrize(("left", "right"), [([2**40], [2**40]), ([2**31] * 4, [2**30] * 2)])
def test_sums_of_products_beyond_64_bits_are_refused(left, right):
    one = table("xy", [(0, 0)] * len(left), left)
    two = table("yz", [(0, 0)] * len(right), right)
    with pytest.raises(CountOverflowError):
        join(one, two, {"x"}, dict.fromkeys("xyz", 1), ROOM)
    halved = SparseTable(two.columns, -two.counts // 8)
    if len(left) > 1:
        found = join(one, halved, {"x"}, dict.fromkeys("xyz", 1), ROOM)
        assert found.counts.tolist() == [-(2**61)]


@pytest.mark.parametrize("high", [2, 2**20, 2**50])  # counts in keys, of many bits, beside them
def test_large_joins_are_summed_as_in_pieces(high, monkeypatch):
    rng = np.random.default_rng(high)
    codes = rng.integers(0, 50, (4, 3000)).astype(np.int32)
    left = SparseTable(dict(zip("xy", codes[:2], strict=True)), rng.integers(-3, 4, 3000))
    right = SparseTable(dict(zip("yz", codes[2:], strict=True)), rng.integers(1, high, 3000))
    bounds = {"x": 10**6, "y": 50, "z": 10**6}
    room = Room(1 << 28, "a test")
    found = join(left, right, {"x", "z"}, bounds, room)
    monkeypatch.setattr(sparse, "_sorted_sums", lambda *_: None)
    expected = join(left, right, {"x", "z"}, bounds, room)
    for name in "xz":
        assert found.columns[name].tolist() == expected.columns[name].tolist()
    assert found.counts.tolist() == expected.counts.tolist()
