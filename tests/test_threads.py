"""Work shared out among threads."""

import subprocess
import sys
import threading

import pytest

import mlnlearn as ml
from mlnlearn.resources import in_use
from mlnlearn.run import Fitted, Notes, OutOfTimeError, check_time, drive, workers_of_run
from mlnlearn.threads import in_order, in_shares


def within(workers, action):
    """What an action returns within a run of so many threads."""

    def learn(course):
        yield Fitted(action(), Notes())

    return drive(ml.Run(workers=workers, memory="3MB"), learn).model


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_results_are_in_order_whoever_is_first(workers):
    gate = threading.Event()

    def slow(number):
        if workers > 1 and number == 0:
            gate.wait(10)  # the others go on meanwhile
        gate.set() if number == 3 else None
        return number, in_use().nbytes, workers_of_run()

    found = within(workers, lambda: list(in_order(slow, range(9))))
    assert found == [(number, 3 << 20, workers) for number in range(9)]


def test_an_error_of_one_ends_all():
    started = []

    def fail(number):
        started.append(number)
        if number == 2:
            raise ValueError("two")
        return number

    with pytest.raises(ValueError, match="two"):
        within(2, lambda: list(in_order(fail, range(1000))))
    assert len(started) < 20


def test_time_is_over_in_threads_too():
    seconds = iter(range(100))
    run = ml.Run(workers=2, max_seconds=5, clock=lambda: next(seconds))

    def learn(course):
        yield Fitted(list(in_order(lambda _: check_time(), range(50))), Notes())

    with pytest.raises(OutOfTimeError):
        drive(run, learn)


def test_outside_of_runs_there_is_one_thread():
    here = threading.current_thread()
    assert list(in_order(lambda _: threading.current_thread(), range(3))) == [here] * 3


def test_a_job_that_shares_its_work_does_it_by_itself():
    def outer(number):
        mine = threading.current_thread()
        return [*in_order(lambda item: (number, item, threading.current_thread() is mine), "ab")]

    found = within(2, lambda: list(in_order(outer, range(9))))
    assert found == [[(number, "a", True), (number, "b", True)] for number in range(9)]


def test_threads_of_a_process_that_forked_are_its_own():
    script = """
import os, mlnlearn as ml
from mlnlearn.run import Fitted, Notes, drive
from mlnlearn.threads import in_order, in_shares
def shared(course):
    yield Fitted(list(in_order(abs, range(-9, 0))), Notes())
expected = drive(ml.Run(workers=2), shared).model
child = os.fork()
if not child:
    os._exit(drive(ml.Run(workers=2), shared).model != expected)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["0"], done.stderr


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_shares_are_done_by_as_many_threads_and_put_in_order(workers):
    threads = set()
    gate = threading.Barrier(workers)

    def noted(number):
        if threading.current_thread() not in threads:
            threads.add(threading.current_thread())
            gate.wait(10)  # no thread takes the share of another
        return number, list(in_shares(abs, [-number, number], [1, 1])), workers_of_run()

    found = within(workers, lambda: in_shares(noted, range(20), range(20)))
    assert found == [(number, [number, number], workers) for number in range(20)]
    assert len(threads) == workers


def test_an_error_in_a_share_is_told_when_all_are_done():
    done = []

    def fail(number):
        if number == 19:  # the largest, which the caller takes
            raise ValueError("nineteen")
        done.append(number)

    with pytest.raises(ValueError, match="nineteen"):
        within(2, lambda: in_shares(fail, range(20), range(20)))
    assert len(done) >= 10
