"""Weights by the likelihood of all attributes together: against enumeration of all worlds."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from join_worlds import chain_tables
from mlnlearn.data.load.frames import from_frames
from mlnlearn.data.load.tables import Keys
from mlnlearn.structure.join_bayes import joint_weights as module
from mlnlearn.structure.join_bayes.encode import EncodedData
from mlnlearn.structure.join_bayes.family_counts import FamilyCounter
from mlnlearn.structure.join_bayes.feature_rows import typical_counts
from mlnlearn.structure.join_bayes.features import attribute_rows
from mlnlearn.structure.join_bayes.joint_weights import joint_weights, redrawn, rule_counts
from mlnlearn.structure.join_bayes.layout import NetLayout
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN

SIGMA = 2.0


def towns():
    """Six people in two towns, happy where the town is large."""
    people, happy = [f"p{k}" for k in range(6)], ["y"] * 3 + ["n"] * 3
    lives = {"one": people, "two": ["t0"] * 3 + ["t1"] * 3}
    return from_frames(
        {
            "person": pd.DataFrame({"id": people, "happy": happy}),
            "town": pd.DataFrame({"id": ["t0", "t1"], "big": ["y", "n"]}),
            "lives": pd.DataFrame(lives),
        },
        keys={
            "person": Keys("id"),
            "town": Keys("id"),
            "lives": Keys(("one", "two"), {"one": "person", "two": "town"}),
        },
    )


def learned(loaded, learner):
    model = learner.fit(loaded).model
    data = EncodedData([loaded.database], NetLayout.from_nodes(model.net.nodes))
    scale = typical_counts(attribute_rows(FamilyCounter(data), model.families))
    return model, data, scale


@pytest.mark.parametrize("seed", range(3))
def test_rules_are_counted_as_in_learning(seed):
    for learner in (MBN(own_rules=False), LAJDT(pruning="none")):
        model, data, _ = learned(chain_tables(seed), learner)
        expected = [f.counts.reshape(-1) * f.emitted for f in model.families]
        assert rule_counts(data, model.families) == pytest.approx(np.concatenate(expected))


def worlds(data):
    """Yield all worlds that differ from the data in their attributes alone."""
    names = list(data.values)
    sizes = {n.predicate.name: n.size for n in data.layout.nodes if n.is_attribute}
    lengths = [len(data.values[name]) for name in names]
    cells = [range(sizes[n]) for n, k in zip(names, lengths, strict=True) for _ in range(k)]
    for codes in product(*cells):
        parts = np.split(np.array(codes, np.int32), np.cumsum(lengths)[:-1])
        yield data.completed(dict(zip(names, parts, strict=True)))


def slope(data, families, weights, scale):
    """The gradient of the log-posterior of all attributes, over all worlds."""
    counts = np.array([rule_counts(world, families) for world in worlds(data)])
    logs = counts @ weights
    shares = np.exp(logs - logs.max())
    expected = shares @ counts / shares.sum()
    unit = np.where(scale > 0, scale, 1.0)
    observed = rule_counts(data, families)
    found = (observed - expected) / unit - weights * unit / SIGMA**2
    return np.where(scale > 0, found, 0.0)


def test_the_gradient_over_all_worlds_vanishes(monkeypatch):
    monkeypatch.setattr(module, "STEPS", 120)
    settings = {"own_rules": False, "sample_size": 1.0, "sigma": SIGMA}
    model, data, scale = learned(towns(), MBN(**settings))
    assert any(family.parents for family in model.families)
    nothing = np.zeros_like(model.weights)
    found = joint_weights([data], model.families, nothing, scale, SIGMA)
    first, last = (np.abs(slope(data, model.families, w, scale)).max() for w in (nothing, found))
    assert last < 0.1 < 0.5 < first
    whole, _, _ = learned(towns(), MBN(weights="likelihood", **settings))
    assert np.abs(slope(data, model.families, whole.weights, scale)).max() < 0.1


def test_worlds_are_drawn_as_often_as_they_are_probable():
    model, data, _ = learned(towns(), MBN(own_rules=False, sample_size=1.0))
    rng, counts, world = np.random.default_rng(0), [], data
    for _ in range(300):
        world = redrawn(world, model.families, model.weights, rng)
        counts.append(rule_counts(world, model.families))
    exact = np.array([rule_counts(one, model.families) for one in worlds(data)])
    logs = exact @ model.weights
    shares = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    assert np.mean(counts, axis=0) == pytest.approx(shares @ exact, abs=0.6)


def test_the_same_weights_again(monkeypatch):
    monkeypatch.setattr(module, "STEPS", 4)
    model, data, scale = learned(towns(), MBN(own_rules=False, sample_size=1.0))
    one, other = (joint_weights([data], model.families, model.weights, scale, 1.0) for _ in "ab")
    assert (one == other).all()
    assert (one != model.weights).any()
