"""Checkpoints that fit in their checksums and nothing else: refused with their line, or used."""

import random

import pytest

from mlnlearn.errors import MlnError
from torture.checkpoints import forged, go_on

QUICK = ("mln-bt", "mln-bc", "rdn-b", "h-sem", "msl", "dmsp", "ils", "laj-dt", "mbn")


@pytest.mark.parametrize("name", QUICK)
def test_changed_results_are_refused_with_their_line(name):
    refused = 0
    for number in range(12):
        try:
            go_on(forged(random.Random(number), name))
        except MlnError:  # go_on has looked for the place
            refused += 1
    assert refused > 4
