"""A share of ``make torture``: every reader answers every input, or says what is wrong with it."""

import pytest

from torture.fuzzers import TARGETS, faults_of


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
def test_every_input_is_answered(target):
    assert list(faults_of(target, target.share, seed=0)) == []
