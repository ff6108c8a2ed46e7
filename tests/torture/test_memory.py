"""The limit of memory is a limit: measured on the process, not on what was planned."""

import pytest

from torture.memory import LIMIT, can_measure, measured


@pytest.mark.skipif(not can_measure(), reason="the system tells no peak of memory")
def test_heavy_plans_keep_to_the_limit_or_are_refused():
    found = list(measured(10, 0))
    assert [plan for plan in found if not plan.held] == []
    # the plans are heavy: some are refused, and some of those answered come near the limit
    assert any(plan.refused for plan in found)
    assert any(not plan.refused and plan.peak > LIMIT / 4 for plan in found)
