"""Boosting that sums where the facts are gives the models that boosting in memory gives."""

import os
import signal
import subprocess
import sys
import time
from threading import Thread

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting import example_sums
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Pattern
from mlnlearn.counting.sql_engine import FullServerError
from mlnlearn.data.synthetic import university
from mlnlearn.structure.boosting.fit import Boosting

LEARNERS = {
    "dependency network": ml.BoostedRDN(target="advisedBy", steps=1, max_leaves=4),
    "trees": ml.BoostedMLN(target="advisedBy", steps=1, max_leaves=4),
    "clauses": ml.BoostedMLN(target="advisedBy", representation="clauses", steps=1, beam=3),
    "one argument": ml.BoostedRDN(target="professor", steps=1, max_leaves=3),
    "paper": ml.BoostedRDN(target="advisedBy", steps=1, negatives="paper"),
}


@pytest.fixture
def facts(tmp_path):
    ml.write_parquet(university(30, areas=1, rng=3).databases[0], tmp_path / "facts")
    return tmp_path / "facts"


def learned(learner, database):
    return [(str(rule), weight) for rule, weight in learner.fit([database]).model.rules()]


@pytest.mark.parametrize("kind", LEARNERS)
def test_models_do_not_depend_on_where_sums_are_made(facts, kind, monkeypatch):
    learner = LEARNERS[kind]
    with ml.counting_with("memory"):
        expected = learned(learner, ml.facts_in_place(facts))
    monkeypatch.setattr(example_sums, "_BYTES_OF_ARGUMENT", 1 << 40)
    with ml.counting_with("duckdb", "400MB"):
        placed = ml.facts_in_place(facts)
        found = learned(learner, placed)
    assert [rule for rule, _ in found] == [rule for rule, _ in expected]
    weights, others = ([weight for _, weight in rules] for rules in (found, expected))
    if kind == "clauses":  # counts times numbers are not rounded so far that all sums are exact
        np.testing.assert_allclose(weights, others, rtol=1e-12)
    else:
        assert weights == others
    if kind != "paper":  # whose next steps ask for the values of all examples
        assert "publication" not in placed.true.loaded


def test_facts_that_fit_are_joined_in_memory(facts, monkeypatch):
    with ml.counting_with("duckdb", "100MB"):
        assert example_sums.counted_elsewhere(Objects([ml.facts_in_place(facts)])) is None
        monkeypatch.setattr(example_sums, "_BYTES_OF_ARGUMENT", 1 << 20)
        assert example_sums.counted_elsewhere(Objects([ml.facts_in_place(facts)])) is not None
    with ml.counting_with("memory"):
        assert example_sums.counted_elsewhere(Objects([ml.facts_in_place(facts)])) is None


def test_a_server_without_room_is_asked_for_less_at_a_time_and_then_refused(monkeypatch):
    database = university(20, areas=1, rng=3).databases[0]
    names = ("publication", "taughtBy", "ta", "inPhase", "hasPosition")
    patterns = [database.schema[name] for name in names]
    asked = [
        example_sums.AskedCandidates(
            (
                Pattern(
                    p, tuple(0 if kind == "person" else k + 1 for k, kind in enumerate(p.types))
                ),
            ),
            None,
        )
        for p in patterns
    ]
    people = np.array([[0, 0], [0, 1]], np.int32)
    given = [example_sums.AskedSums(people, np.arange(2), {"g": np.ones(2)}, asked)]
    with ml.DuckEngine([database], threads=1) as engine:
        sums = example_sums.ExampleSums(engine)
        expected = sums.sums(given, existential=True)
        assert any(expected)
        fetch, most, made = engine.server.fetch, [2], []

        def fetch_little(statement):
            made.append(statement)
            if statement.count("AS k, v.r") > most[0]:
                raise FullServerError("no room")
            return fetch(statement)

        monkeypatch.setattr(engine.server, "fetch", fetch_little)
        assert sums.sums(given, existential=True) == expected
        assert not any("AS k, v.r" in statement for statement in made)  # who has what is kept
        assert example_sums.ExampleSums(engine).sums(given, existential=True) == expected
        assert any("AS k, v.r" in statement for statement in made)
        most[0] = 0
        with pytest.raises(ml.MemoryLimitError, match="do not fit"):
            example_sums.ExampleSums(engine).sums(given, existential=True)


def test_what_is_kept_of_examples_goes_with_them():
    database = university(20, areas=1, rng=3).databases[0]
    asked = [example_sums.AskedCandidates((Pattern(database.schema["publication"], (1, 0)),), None)]
    with ml.DuckEngine([database], threads=1) as engine:
        sums = example_sums.ExampleSums(engine)
        people = np.array([[0, 0], [0, 1]], np.int32)
        before = len(engine.server.fetch("SHOW TABLES")["name"])
        given = example_sums.AskedSums(people, np.arange(2), {"g": np.ones(2)}, asked)
        sums.sums([given], existential=True)
        kept = len(engine.server.fetch("SHOW TABLES")["name"])
        del people, given
        assert not sums._views
        others = np.array([[0], [0]], np.int32)
        sums.groundings(others, ())  # tables go when the server is asked next
        after = len(engine.server.fetch("SHOW TABLES")["name"])
        del sums
        example_sums.ExampleSums(engine).groundings(others, ())
        last = len(engine.server.fetch("SHOW TABLES")["name"])
    assert kept >= before + 4  # facts, facts by one place, examples, who has the candidate
    assert after == kept - 1  # two less, and those of the others
    assert last == after  # facts by one place less; these others are sent again


def test_who_lets_go_of_tables_does_not_wait_for_the_server():
    """The collector of garbage may do so in the midst of a call to the same server."""
    database = university(20, areas=1, rng=3).databases[0]
    with ml.DuckEngine([database], threads=1) as engine:
        sums = example_sums.ExampleSums(engine)
        people = np.array([[0, 0], [0, 1]], np.int32)
        sums.groundings(people, (Pattern(database.schema["publication"], (1, 0)),))
        held = [people, sums]
        del people, sums
        collector = Thread(target=held.clear, daemon=True)
        with engine.server._worker._shutdown_lock:  # as a call holds it
            collector.start()
            collector.join(10)
            assert not collector.is_alive()


KILLED = """
import os, signal, sys
import mlnlearn as ml
from mlnlearn.counting import example_sums
from mlnlearn.structure.boosting.fit import Boosting
example_sums._BYTES_OF_ARGUMENT = 1 << 40
step = Boosting.step

def last_step(self):
    if self.done == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    step(self)

Boosting.step = last_step
with ml.counting_with("duckdb", "400MB"):
    learner = ml.BoostedRDN(target="advisedBy", steps=2, max_leaves=3, bodies=("publication",))
    learner.fit([ml.facts_in_place(sys.argv[1])], ml.Run(checkpoint=sys.argv[2]))
"""


def test_a_killed_run_by_sql_is_taken_up_again_and_leaves_no_scratch(facts, tmp_path, monkeypatch):
    learner = ml.BoostedRDN(target="advisedBy", steps=2, max_leaves=3, bodies=("publication",))
    monkeypatch.setattr(example_sums, "_BYTES_OF_ARGUMENT", 1 << 40)
    scratch, journal = tmp_path / "scratch", tmp_path / "journal"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(facts), str(journal)],
        env={**os.environ, "TMPDIR": str(scratch)}, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    begun = journal.read_text("utf-8").splitlines()
    steps = []
    step = Boosting.step
    monkeypatch.setattr(Boosting, "step", lambda self: steps.append(self.done) or step(self))
    with ml.counting_with("duckdb", "400MB"):
        placed = ml.facts_in_place(facts)
        found = learner.fit([placed], ml.Run(checkpoint=journal)).model
        assert (len(begun), steps) == (2, [1])
        expected = learner.fit([placed]).model
    assert found.rules() == expected.rules()
    for _ in range(100):  # what watches the process needs a moment
        if not any(scratch.iterdir()):
            break
        time.sleep(0.05)
    assert not any(scratch.iterdir())
