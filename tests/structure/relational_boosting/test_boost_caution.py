"""Trees that trust small gains are taken where held-out examples say so, and not by chance."""

import numpy as np
import pytest

from mlnlearn.counting.examples import RowExamples
from mlnlearn.counting.relational import FLAGS, Nominal, Place, Relational, RowSet
from mlnlearn.run import drive
from mlnlearn.structure.relational_boosting.blend import Blend
from mlnlearn.structure.relational_boosting.learner import RelationalBoost


def patients(seed, strength, number=2000, sites=40):
    """Every pair of a site and an hour has a rate of its own, as strong as told."""
    rng = np.random.default_rng(seed)
    site, hour = rng.integers(0, sites, number), rng.integers(0, 8, number)
    score = strength * rng.choice([-1.0, 1.0], (sites, 8))[site, hour]
    ill = rng.random(number) < 1 / (1 + np.exp(-score))
    columns = {
        "site": Nominal(site.astype(np.int32), tuple(f"S{i}" for i in range(sites))),
        "hour": Nominal(hour.astype(np.int32), tuple(f"H{i}" for i in range(8))),
    }
    rows = RowSet("patient", number, columns, None, np.zeros(number, np.int32))
    home = Place("patient", "ill")
    examples = RowExamples(rows, ill.astype(float), FLAGS, np.ones(number), home)
    return Relational({"patient": rows}, {}, {}), examples


def learned(seed, strength):
    view, examples = patients(seed, strength)
    learner = RelationalBoost(target="ill", max_rules=0)
    return drive(None, lambda course: learner.learn_examples(view, examples, course)).notes


def test_many_names_that_matter_in_pairs_are_trusted():
    notes = learned(0, 1.5)
    assert notes.caution == 0.0
    assert min(notes.curve) < 0.85 * notes.curve[0]


@pytest.mark.parametrize("seed", range(2))
def test_names_that_do_not_matter_are_doubted(seed):
    notes = learned(seed, 0.0)
    assert notes.caution == 1.0


def blend(each, belief=1.0):
    each = np.asarray(each)
    return Blend(1.0, 0.0, belief, float(each.mean()), each, np.ones(len(each)))


def test_a_clear_gain_beats_and_one_within_its_error_does_not():
    before = np.array([0.5, 0.7, 0.6, 0.8, 0.5, 0.7])
    assert blend(before - 0.1 - 0.01 * np.arange(6)).beats(blend(before))
    assert not blend(before).beats(blend(before - 0.1))
    assert not blend(before + np.array([-0.5, 0.4, -0.4, 0.5, -0.3, 0.25])).beats(blend(before))


def test_nothing_beats_what_is_not_believed():
    before = np.array([0.5, 0.7, 0.6, 0.8])
    assert not blend(before - 0.1).beats(blend(before, belief=0.3))
