"""A share of ``make torture``: every reader answers every input, or says what is wrong with it."""

import pytest

from torture.fuzzers import TARGETS, faults_of

TRIED = [target for target in TARGETS if target.share]


@pytest.mark.parametrize("target", TRIED, ids=[target.name for target in TRIED])
def test_every_input_is_answered(target):
    assert list(faults_of(target, target.share, seed=0)) == []
