"""LSL that was stopped goes on to the same network."""

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema
from mlnlearn.run import Run
from mlnlearn.structure.lifted_search.learn import LiftedStructureLearner
from mlnlearn.structure.lifted_search.search import ClauseSearch

SCHEMA = Schema.of("smokes(person)", "cancer(person)", "sports(person)", "likes(person,drink)")
LEARNER = LiftedStructureLearner(max_variables=2, refitted=5, max_rounds=4)


class Stopped(Exception):
    """Raised in place of a signal."""


@pytest.fixture(scope="module")
def databases():
    rng = np.random.default_rng(3)
    return [world(rng, people) for people in (25, 35, 45)]


def world(rng, people):
    names = [f"P{i}" for i in range(people)]
    smokers = {name for name in names if rng.random() < 0.4}
    ill = {n for n in names if rng.random() < (0.8 if n in smokers else 0.1)}
    facts = {
        "smokes": [(name,) for name in sorted(smokers)],
        "cancer": [(name,) for name in sorted(ill)],
        "sports": [(n,) for n in names if rng.random() < (0.1 if n in ill else 0.8)],
        "likes": [
            (n, d) for n in names for d in "ABC" if rng.random() < (0.7 if n in smokers else 0.2)
        ],
    }
    return Database.from_facts(SCHEMA, facts, domains={"person": names, "drink": list("ABC")})


@pytest.mark.parametrize("stop", [1, 2])
@pytest.mark.parametrize("held_out", [True, False])
def test_a_stopped_run_goes_on_to_the_same_network(databases, tmp_path, stop, held_out):
    learner = LiftedStructureLearner(
        max_variables=2,
        refitted=5,
        min_gain=0.02,
        risk=0.0,
        max_rounds=4,
        held_out=held_out,
        size_neutral=held_out,
    )
    whole = learner.fit(databases)
    assert len(whole.notes.steps) > 2
    seen = []

    def progress(step):
        seen.append(step)
        if len(seen) == stop:
            raise Stopped

    path = tmp_path / "run.jsonl"
    with pytest.raises(Stopped):
        learner.fit(databases, Run(progress=progress, checkpoint=path))
    again = learner.fit(databases, Run(checkpoint=path))
    assert str(again.model) == str(whole.model)
    assert again.notes.steps == whole.notes.steps
    assert (again.notes.likelihood, again.notes.held_out) == (
        whole.notes.likelihood,
        whole.notes.held_out,
    )


def test_what_was_found_is_not_searched_again(databases, tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    learner = LiftedStructureLearner(max_variables=2, refitted=5)
    whole = learner.fit(databases, Run(checkpoint=path))
    monkeypatch.delattr(ClauseSearch, "step")
    again = learner.fit(databases, Run(checkpoint=path))
    assert again.notes.steps == whole.notes.steps
    assert str(again.model) == str(whole.model)


def test_a_line_cut_short_is_found_again(databases, tmp_path):
    path = tmp_path / "run.jsonl"
    whole = LEARNER.fit(databases, Run(checkpoint=path))
    text = path.read_text()
    path.write_text(text[: len(text) - 40])
    assert str(LEARNER.fit(databases, Run(checkpoint=path)).model) == str(whole.model)
    assert path.read_text() == text


def test_other_settings_candidates_or_data_are_refused(databases, tmp_path):
    path = tmp_path / "run.jsonl"
    whole = LEARNER.fit(databases, Run(checkpoint=path))
    with pytest.raises(InputError, match="other settings: max_rounds was 4, is None"):
        LiftedStructureLearner(max_variables=2, refitted=5).fit(databases, Run(checkpoint=path))
    with pytest.raises(InputError, match=r"other data: .* in database 3"):
        LEARNER.fit(databases[:2], Run(checkpoint=path))
    with pytest.raises(InputError, match="other data: candidates given"):
        LEARNER.fit(databases, Run(checkpoint=path), candidates=[whole.notes.steps[0].clause])
