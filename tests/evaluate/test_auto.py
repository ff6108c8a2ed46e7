"""The choice among learners: who is tried, on what, and who is chosen."""

import json

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting.examples import examples_of, find_place
from mlnlearn.counting.relational import relational
from mlnlearn.evaluate import auto as auto_module
from mlnlearn.evaluate.auto import Auto
from mlnlearn.evaluate.portfolio import portfolio_for
from mlnlearn.evaluate.trials import Outcome, trials_of


@pytest.fixture(scope="module")
def network():
    """People of whom those who know a smoker mostly smoke."""
    rng = np.random.default_rng(4)
    schema = ml.Schema.of("smokes(person)", "tall(person)", "friends(person,person)")
    names = [f"P{number}" for number in range(200)]
    seeds = rng.random(200) < 0.3
    friends = rng.integers(0, 200, (2, 400))
    near = np.zeros(200, bool)
    near[friends[0][seeds[friends[1]]]] = True
    smokes = rng.random(200) < np.where(near, 0.9, 0.1)
    facts = {
        "smokes": [(name,) for name, one in zip(names, smokes, strict=True) if one],
        "tall": [(name,) for name, one in zip(names, seeds, strict=True) if one],
        "friends": [(names[a], names[b]) for a, b in friends.T],
    }
    return ml.Database.from_facts(schema, facts, domains={"person": names})


def test_atoms_of_one_database_are_kept_aside(network):
    trials = trials_of(ml.as_data(network), "smokes", 3, 1000, 0)
    seen = set()
    for trial in trials:
        database = trial.training.databases[0]
        asked = set(database.unknown_facts("smokes")[0].tolist())
        assert asked == set(np.flatnonzero(trial.test).tolist())
        assert not asked & seen
        assert len(asked) == 40
        seen |= asked
        known = database.facts("smokes")[0]
        assert not asked & set(known.tolist())
        rest = network.facts("smokes")[0]
        assert set(known.tolist()) == set(rest.tolist()) - asked


def test_whole_databases_are_kept_aside_of_several(network):
    other = ml.Database.from_facts(
        network.schema, {"smokes": [("P1",)]}, domains={"person": ["P1", "P2"]}
    )
    trials = trials_of(ml.as_data([network, other]), "smokes", 3, 1000, 0)
    assert [len(trial.training.databases) for trial in trials] == [1, 1]
    assert [int(trial.test.sum()) for trial in trials] == [200, 2]
    assert trials[0].training.databases[0] is other


def test_quality_is_of_truth_and_base_rate(network):
    (trial,) = trials_of(ml.as_data(network), "smokes", 1, 1000, 0)
    sure = np.stack([trial.label == 0, trial.label == 1], axis=1).astype(float)
    assert trial.quality(sure) == pytest.approx(1.0, abs=1e-4)
    rate = trial.label.mean()
    assert trial.quality(trial.base) == pytest.approx(rate / 2, abs=0.02)
    best, worse = Outcome.of(trial, sure), Outcome.of(trial, trial.base)
    lead, error = best.lead(worse)
    assert lead == pytest.approx(1 - trial.quality(trial.base), abs=1e-4)
    assert 0 < error < 0.1


def test_the_error_of_two_trials_is_doubted_more_than_that_of_many():
    def error(trials):
        ahead = np.tile([0.1, 0.3], trials // 2)
        parts = np.zeros((trials, 10))
        return Outcome(ahead, parts).lead(Outcome(np.zeros(trials), parts))[1]

    plain = {trials: np.sqrt(0.01 / (trials - 1)) for trials in (2, 20)}
    assert error(2) == pytest.approx(1.837 * plain[2], rel=1e-3)
    assert error(20) == pytest.approx(plain[20], rel=0.05)


class _Fixed:
    """A learner whose answers are right with a given chance."""

    def __init__(self, share):
        self.share = share

    def fit(self, data, run=None):
        return ml.Fitted(self, ml.Notes())


@pytest.fixture
def rigged(monkeypatch):
    """Let learners answer as they are told, and count how often each was asked."""
    asked = []

    def rig(**shares):
        def answers(trial, model):
            rng = np.random.default_rng(int(trial.test.argmax()))
            right = rng.random(len(trial.label)) < model.share
            true = np.where(right, trial.label, 1 - trial.label)
            return np.stack([np.where(true == 0, 0.8, 0.2), np.where(true == 1, 0.8, 0.2)], axis=1)

        def member(name, data, target, seed):
            asked.append(name)
            return _Fixed(shares[name.replace("-", "_")])

        monkeypatch.setattr(auto_module, "member", member)
        monkeypatch.setattr(auto_module, "on_trial", lambda learner: learner)
        monkeypatch.setattr(auto_module.InnerTrial, "answers", answers)
        return asked

    return rig


def _choice(network):
    data = ml.as_data(network)
    view = relational(data.databases)
    examples = examples_of(view, find_place(view, "smokes"))
    found = auto_module._Choice(Auto(target="smokes"), data, examples, auto_module.Course())
    return found.made()


def test_a_learner_that_is_clearly_better_is_chosen(network, rigged):
    asked = rigged(boost=0.6, mln_bc=0.95, mln_bt=0.7, rdn_b=0.5)
    chosen, why, tried = _choice(network)
    assert chosen == "mln-bc"
    assert "the best in" in why
    assert asked.count("rdn-b") == asked.count("mln-bt") == 1
    by_name = {one.learner: one for one in tried}
    assert by_name["mln-bc"].behind[0] == 0 < by_name["boost"].behind[0]


@pytest.mark.parametrize(
    ("other", "chosen"),
    [
        ((0.55, 0.6, 0.64), "mln-bc"),
        ((0.9, 0.55, 0.65), "boost"),
        ((0.502, 0.55, 0.55), "boost"),  # two trials that agree by chance
    ],
)
def test_another_learner_needs_two_errors_on_all_trials_and_on_those_that_did_not_pick_it(
    network, other, chosen
):
    data = ml.as_data(network)
    view = relational(data.databases)
    examples = examples_of(view, find_place(view, "smokes"))
    choice = auto_module._Choice(Auto(target="smokes"), data, examples, auto_module.Course())
    parts = np.zeros((3, 10))
    choice.outcomes = {
        "boost": Outcome(np.full(3, 0.5), parts),
        "mln-bc": Outcome(np.array(other), parts),
    }
    assert choice._final(["boost", "mln-bc"]) == (chosen, "mln-bc")


def test_the_preferred_learner_is_chosen_of_equals_and_trials_end_when_all_is_clear(
    network, rigged
):
    asked = rigged(boost=0.9, mln_bc=0.9, mln_bt=0.5, rdn_b=0.5)
    assert _choice(network)[0] == "boost"
    assert asked.count("boost") == asked.count("mln-bc") == 3
    asked.clear()
    rigged(boost=0.95, mln_bc=0.5, mln_bt=0.5, rdn_b=0.5)
    chosen, why, _ = _choice(network)
    assert chosen == "boost"
    assert why == "it was the best in 1 trial within the data"
    assert max(asked.count(name) for name in asked) == 1


def test_what_does_not_apply_is_left_out_with_a_reason(network):
    data = ml.as_data(network)
    view = relational(data.databases)
    smokes = examples_of(view, find_place(view, "smokes"))
    assert portfolio_for(data, smokes).names == ("boost", "mln-bc", "mln-bt", "rdn-b")
    many = ml.Schema.of("smokes(person)", *(f"r{n}(person,person)" for n in range(30)))
    wide = ml.as_data(ml.Database.from_facts(many, {"smokes": [("Anna",)]}))
    found = portfolio_for(wide, smokes)
    assert found.names == ("boost",)
    assert "31 predicates" in found.left_out["mln-bt"]


def test_few_examples_are_not_chosen_by():
    schema = ml.Schema.of("smokes(person)", "tall(person)")
    people = [(f"P{number}",) for number in range(40)]
    database = ml.Database.from_facts(schema, {"smokes": people[:20], "tall": people})
    notes = Auto(target="smokes").fit(database).notes
    assert (notes.chosen, notes.tried) == ("boost", ())
    assert "too few examples" in notes.why


def test_what_was_tried_is_told_on_the_command_line(network, tmp_path, monkeypatch, program):
    monkeypatch.chdir(tmp_path)
    ml.write_db(network, tmp_path / "people.db")
    (tmp_path / "schema.mln").write_text(f"{network.schema}\n")
    data = ("--db", "people.db", "--target", "smokes", "--set", "portfolio=rdn-b,mln-bt")
    code, out, err = program("learn", *data, "--out", "m.mln")
    assert code == 0, err
    assert "learned by" in out
    assert "mln-bt: 0." in out
    code, out, err = program("evaluate", *data, "--learner", "auto", "--json")
    assert code == 0, err
    (auto,) = json.loads(out)
    assert {one["learner"] for one in auto["tried"]} == {"mln-bt", "rdn-b"}
    assert auto["why"]
    assert auto["rows"] == 40
    assert auto["held_out"]["auc_pr"] > 1.2 * auto["baseline"]["auc_pr"]
    command = ("evaluate", *data[:4], "--learner", "rdn-b", "--set", "steps=3", "--seeds", "2")
    code, out, err = program(*command)
    assert code == 0, err
    assert "±" in out


def test_trials_that_had_too_little_time_are_told_of(network, monkeypatch):
    monkeypatch.setattr(auto_module, "_SHARE", 1e-9)
    learner = Auto(target="smokes", portfolio=("boost", "rdn-b"), folds=1, max_rules=0)
    fitted = learner.fit(network, ml.Run(max_seconds=1000))
    assert fitted.notes.stopped == "the 1000 seconds of the run were too few to try everything"
