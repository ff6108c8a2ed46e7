"""Trees that read labels of other rows are tried as long as they are ahead of trees that do not."""

import numpy as np
import pytest

from mlnlearn.counting.examples import examples_of, find_place
from mlnlearn.counting.relational import relational
from mlnlearn.data.database import Database
from mlnlearn.journal import Journal
from mlnlearn.logic.schema import Schema
from mlnlearn.run import Course, drive
from mlnlearn.structure.relational_boosting.fold_runs import FoldRuns
from mlnlearn.structure.relational_boosting.learner import RelationalBoost


def knowing(seed, both_ways, people=24):
    """Who knows whom: by who likes whom; or mostly both ways, by nothing else."""
    rng = np.random.default_rng(seed)
    likes = rng.random((people, people)) < 0.3
    drawn = rng.random((people, people)) < 0.2
    knows = drawn | drawn.T if both_ways else likes & (rng.random(likes.shape) < 0.9)
    names = [f"P{k}" for k in range(people)]
    facts = {
        name: [(names[one], names[other]) for one, other in np.argwhere(told)]
        for name, told in (("knows", knows), ("likes", likes))
    }
    schema = Schema.of("knows(person,person)", "likes(person,person)")
    return Database.from_facts(schema, facts, domains={"person": names})


def learned(both_ways, folder):
    data = [knowing(1, both_ways)]
    view = relational(data)
    examples = examples_of(view, find_place(view, "knows"))
    learner = RelationalBoost(target="knows", max_rules=0)
    journal = Journal(folder / "run.jsonl")
    found = drive(None, lambda course: learner.learn_examples(view, examples, course, journal))
    return found, journal


def test_own_facts_that_do_not_help_are_not_tried_for_long(tmp_path):
    found, journal = learned(both_ways=False, folder=tmp_path)
    assert "own facts, fold step 20" in journal
    assert "own facts, fold step 21" not in journal
    assert found.model.alone is None
    assert found.model.trees


def test_own_facts_that_help_are_learned_to_the_end(tmp_path):
    found, journal = learned(both_ways=True, folder=tmp_path)
    assert "own facts, step 1" in journal
    assert found.model.alone is not None


class Falling:
    """A run whose deviance is as told, step by step."""

    def __init__(self, curve):
        self.curve, self.trees, self.weight = curve, [], np.ones(1)

    def mark(self):
        pass

    def deviance(self, rows):
        return self.curve[len(self.trees)]


@pytest.mark.parametrize(("ahead", "made"), [(0.1, 30), (0.0, 20), (-0.1, 20)])
def test_runs_behind_a_curve_do_not_go_on(ahead, made, monkeypatch):
    module = "mlnlearn.structure.relational_boosting.fold_runs.stepped"
    monkeypatch.setattr(module, lambda runs, journal, key: runs[0].trees.append(key))
    rival = [10.0 - 0.1 * step for step in range(31)]
    own = FoldRuns([Falling([value - ahead for value in rival])], [np.zeros(1, np.int64)], 25)
    assert len(list(own.go(30, Course(), Journal(), "", rival))) == made
