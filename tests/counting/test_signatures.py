"""Scrambled numbers against whole numbers of any size."""

import numpy as np

from mlnlearn.counting.signatures import mixed


def test_numbers_are_scrambled_alike_wherever_they_stand():
    values = np.random.default_rng(0).integers(0, 2**64, 40_000, np.uint64)
    found = mixed(values)
    for place in (0, 1, *range(16_382, 16_387), 32_768, 39_999):  # around where a part ends, too
        code = (int(values[place]) + 0x9E3779B97F4A7C15) % 2**64
        code = (code ^ (code >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        code = (code ^ (code >> 27)) * 0x94D049BB133111EB % 2**64
        assert int(found[place]) == code ^ (code >> 31)
    assert len(mixed(values[:0])) == 0
