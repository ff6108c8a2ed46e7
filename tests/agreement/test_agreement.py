"""300 random models: every path gives the reference's answer, or refuses for a listed reason."""

import sys

import pytest

from agreement.report import text_of
from agreement.run import PATHS, tally

MODELS, CHUNK = 300, 50
MOST_REFUSED = 0.25
"""Share of all questions; refusing everything would be no way to agree."""
MOST_REFUSED_BY_A_PATH = 0.85
"""Lifted inference takes no evidence on pairs, exact likelihood no order of objects."""

MOST_SPREAD = 1.5
"""Errors of samplers over those that they report; about one, if the latter are right."""


@pytest.mark.parametrize("first", range(0, MODELS, CHUNK))
def test_every_path_agrees(first):
    found = tally(range(first, first + CHUNK))
    sys.stdout.write(text_of(found, first, 0.0))
    for seed, outcome in found.differing:
        sys.stdout.write(f"\nseed {seed}, {outcome.path}: {outcome.detail}\n")
    assert not found.differing
    assert found.refused.total() < MOST_REFUSED * (found.agreed.total() + found.refused.total())
    for path in PATHS:
        refused, agreed = found.refusals(path.name), found.agreed[path.name]
        if refused + agreed >= 20 and "unknown atoms" not in path.name:
            assert refused < MOST_REFUSED_BY_A_PATH * (agreed + refused), path.name
    for path in PATHS:
        if len(found.scores.get(path.name, ())) >= 20:
            assert found.spread(path.name) < MOST_SPREAD, path.name
