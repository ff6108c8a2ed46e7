"""One contract for all learners: data in any form, interrupted and resumed, out of time."""

import time

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.write import write_db
from mlnlearn.model.paths.rules import rules_table
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.registry import LEARNERS

BOOSTED = {"target": "ill", "steps": 12, "max_leaves": 3}
EM = {"base": ml.BoostedMLN(target="ill", max_leaves=3), "iterations": 3, "worlds": 2, "burn_in": 2}
SETTINGS = {
    "auto": {"target": "ill"},
    "boost": {"target": "ill", "steps": 20, "patience": 20},
    "mln-bt": BOOSTED,
    "mln-bc": BOOSTED,
    "rdn-b": BOOSTED,
    "sem": EM,
    "h-sem": EM,
    "gslp": {"max_literals": 2, "min_gain": 1e-4, "joint": False},
    "msl": {"max_literals": 2, "min_gain": 1e-4},
    "lsm": {"max_literals": 2, "walks": 20, "min_gain": 0.005, "max_clauses": 30},
    "busl": {"max_literals": 2, "min_gain": 0.005, "max_links": 1},
    "hgsm": {"max_literals": 2, "min_gain": 0.005, "max_links": 1},
    "dmsp": {"target": "ill", "max_literals": 4, "min_gain": 0.0, "flips": None, "alpha": 1.0},
    "lhl": {"max_literals": 2, "min_gain": 0.005, "max_clauses": 30},
    "ils": {"max_literals": 2, "min_gain": 0.005, "tried": 5, "max_rounds": 6},
    "ils-dsl": {"target": "ill", "max_literals": 2, "min_gain": 0.001, "tried": 5, "max_rounds": 6},
    "lsl": {"max_literals": 2, "max_variables": 2, "min_gain": 0.01, "risk": 0.0, "refitted": 4},
    "laj-dt": {},
    "mbn": {},
    "paths": {"min_support": 1, "epochs": 2},
}
NAMES = sorted(LEARNERS)


def learner(name):
    entry = LEARNERS[name]
    return entry.load()(**SETTINGS[name], **entry.fixed)


def tables(seed, size=30):
    """People who are old or not, ill or not, and friends of those of their age."""
    rng = np.random.default_rng(seed)
    old = rng.random(size) < 0.5
    ill = rng.random(size) < np.where(old, 0.8, 0.2)
    names = [f"P{number:02}" for number in range(size)]
    people = {
        "id": Column.of(names),
        "old": Column.of(["true" if one else "false" for one in old]),
        "ill": Column.of(["true" if one else "false" for one in ill]),
    }
    pairs = [(a, b) for a in range(size) for b in range(size) if a != b and old[a] == old[b]]
    friends = {
        "one": Column.of([names[a] for a, _ in pairs[::3]]),
        "two": Column.of([names[b] for _, b in pairs[::3]]),
    }
    keys = (ForeignKey(("one",), "person"), ForeignKey(("two",), "person"))
    return [Table("person", people, ("id",)), Table("friend", friends, ("one", "two"), keys)]


FLAGS = 'person.columns = { old = { as = "flag" }, ill = { as = "flag" } }'
LOADED = ml.build_database(tables(1), FLAGS)
OTHER = ml.build_database(tables(2), FLAGS)
LARGER = ml.build_database(tables(1, 60), FLAGS)
MANY = ml.build_database(tables(1, 200), FLAGS)


def enough(name):
    """Return data that a learner learns something from: some see nothing in thirty rows."""
    return LARGER if name in ("auto", "boost") else LOADED


def text(model):
    """What a model says, to compare it."""
    if isinstance(model, RelationalModel):  # columns of tables keep their names in its rules
        return str((model.start, [node.values for tree in model.trees for node in tree.nodes()]))
    if isinstance(model, ml.PathModel):
        return rules_table(model.rules())
    network = model.mln() if isinstance(model, ml.JoinBayesModel) else model
    return str(network) if isinstance(network, ml.MLN) else str(network.rules())


def test_every_learner_of_the_registry_is_here():
    assert set(SETTINGS) == set(LEARNERS)


@pytest.mark.parametrize("name", NAMES)
def test_data_in_any_form(name, tmp_path):
    write_db(LOADED.database, tmp_path / "people.db")
    (tmp_path / "schema.mln").write_text(f"{LOADED.database.schema}\n")
    fitted = learner(name).fit(LOADED)
    expected = text(fitted.model)
    assert not fitted.notes.stopped
    assert f"Fitted({type(fitted.model).__name__} in" in repr(fitted)
    for data in (LOADED.database, [LOADED.database], tmp_path / "people.db"):
        assert text(learner(name).fit(data).model) == expected
    assert text(learner(name).fit([LOADED, OTHER]).model) != expected


@pytest.mark.parametrize("name", NAMES)
def test_interrupted_and_resumed(name, tmp_path):
    told = []
    expected = text(learner(name).fit(LOADED, ml.Run(progress=told.append)).model)
    assert told
    assert all(isinstance(at, ml.Progress) for at in told)
    for place in {1, (len(told) + 1) // 2}:
        path, left = tmp_path / f"{place}.jsonl", [place]

        def stop(at, left=left):
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            learner(name).fit(LOADED, ml.Run(progress=stop, checkpoint=path))
        resumed = learner(name).fit(LOADED, ml.Run(checkpoint=path))
        assert text(resumed.model) == expected


@pytest.mark.parametrize("name", NAMES)
def test_out_of_time(name, tmp_path):
    """With a clock that goes on by a second whenever it is asked, a run ends when it should."""
    asked = [0]

    def clock():
        asked[0] += 1
        return float(asked[0])

    data = enough(name)
    whole = learner(name).fit(data, ml.Run(max_seconds=1e9, clock=clock))
    assert not whole.notes.stopped
    total, models = asked[0], set()
    assert total > 20
    # DMSP lists all its clauses before it weighs the first
    for share in (0.2, 0.5, 0.96 if name == "dmsp" else 0.9):
        asked[0] = 0
        limit = int(share * total)
        path = tmp_path / f"{limit}.jsonl"
        run = ml.Run(max_seconds=limit, clock=clock, checkpoint=path)
        fitted = learner(name).fit(data, run)
        assert f"the {limit} seconds" in fitted.notes.stopped
        models.add(text(fitted.model))
        assert asked[0] <= limit + 2
        # what was done is kept: more time, and the run goes on to its end
        assert text(learner(name).fit(data, ml.Run(checkpoint=path)).model) == text(whole.model)
    assert len(models) > 1


LONGER = {
    **{name: {"steps": 500} for name in ("mln-bt", "mln-bc", "rdn-b")},
    **{name: {"iterations": 200} for name in ("sem", "h-sem")},
    "boost": {"steps": 2000, "patience": 2000},
}


@pytest.mark.parametrize("name", NAMES)
def test_no_phase_runs_past_the_time(name):
    """By the processor's clock, on data and settings for which most learners need more time."""
    limit, entry = 0.6, LEARNERS[name]
    larger = {key: value for key, value in SETTINGS[name].items() if key != "max_clauses"}
    larger |= {"max_literals": 4} if "max_literals" in larger else {}
    learner(name).fit(LOADED)  # compiles what there is to compile
    made = entry.load()(**larger | LONGER.get(name, {}), **entry.fixed)
    started = time.process_time()
    made.fit(MANY, ml.Run(max_seconds=limit, clock=time.process_time))
    assert time.process_time() - started <= 1.1 * limit + 0.1


def test_tables_as_they_are():
    assert ml.as_data(tables(1)).mapping == ml.build_database(tables(1)).mapping


def test_databases_of_other_predicates_are_refused():
    other = ml.Database.from_facts(ml.Schema.of("ill(person)"), {"ill": [("Anna",)]})
    with pytest.raises(ml.InputError, match="does not declare the same predicates"):
        learner("gslp").fit([LOADED.database, other])
    for nothing in ([], 5, "no/such/file.db"):
        with pytest.raises(ml.InputError, match=r"no data in|no such file"):
            learner("gslp").fit(nothing)
