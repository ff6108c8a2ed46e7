"""The limit of memory is a limit: measured on the process, not on what was planned."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from torture.load import loaded
from torture.memory import LIMIT, can_measure, listed_sums, measured


@pytest.mark.skipif(not can_measure(), reason="the system tells no peak of memory")
def test_heavy_plans_keep_to_the_limit_or_are_refused():
    found = list(measured(10, 0))
    assert [plan for plan in found if not plan.held] == []
    # the plans are heavy: some are refused, and some of those answered come near the limit
    assert any(plan.refused for plan in found)
    assert any(not plan.refused and plan.peak > LIMIT / 4 for plan in found)


@pytest.mark.skipif(not can_measure(), reason="the system tells no peak of memory")
def test_sums_of_tables_keep_to_the_limit_or_are_refused():
    # in a process of its own: what other tests leave behind blurs the peak
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        found = process.submit(listed_sums, [300, 900]).result()
    assert [plan for plan in found if not plan.held] == []
    assert any(plan.refused for plan in found)
    assert sum(not plan.refused for plan in found) > 4


@pytest.mark.skipif(not can_measure(), reason="the system tells no peak of memory")
def test_answers_in_chunks_need_memory_for_a_chunk_alone(monkeypatch):
    monkeypatch.setattr("mlnlearn.evaluate.chunks.ATOMS", 1 << 13)
    found = list(loaded(90_000))
    assert [(one.model, one.file, one.wrong) for one in found if one.wrong] == []
    # all at once, they take 26 MB
    assert max(one.peak for one in found if one.file == "csv") < 10 << 20
