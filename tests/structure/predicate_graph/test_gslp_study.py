"""The parts of the GSLP study: ceilings that hold, samples and splits that lose nothing."""

import os
from itertools import product

import numpy as np
import pytest

from mlnlearn.data.catalog import VARIABLE
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.evaluate.ask import Marginals
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from studies.gslp_ceiling import ceiling, orbits
from studies.gslp_data import Sample, split_atoms

SCHEMA = Schema.of("p(t,s)", "q(t)", "r(t,t)")


def world(rng):
    people, things = [f"T{i}" for i in range(4)], [f"S{i}" for i in range(3)]
    facts = {
        "p": [pair for pair in product(people, things) if rng.random() < 0.5],
        "q": [(n,) for n in people[:2]],
        "r": [(n, n) for n in people if rng.random() < 0.5],
    }
    return Database.from_facts(SCHEMA, facts, domains={"t": people, "s": things})


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["p", "q", "r"])
def test_networks_without_constants_treat_like_atoms_alike_and_stay_below_the_ceiling(seed, name):
    rng = np.random.default_rng(seed)
    database = world(rng)
    weights = rng.normal(size=5).tolist()
    rules = ["p(x,y)", "q(x)", "r(x,y)", "p(x,y) ^ p(z,y) => r(x,z)", "p(x,y) ^ q(x) => r(x,x)"]
    lines = [f"{w:.3f} {rule}" for w, rule in zip(weights, rules, strict=True)]
    mln = MLN.parse("\n".join([str(SCHEMA), *lines]))
    examples = positives_and_negatives([database], name)
    found = predict_examples(mln, [database], examples, Marginals(method="exact"))
    alike = orbits(database, name, examples.columns)
    for number in range(alike.max() + 1):
        assert np.ptp(found.probability[alike == number]) < 1e-9
    best = ceiling(database, name, ("auc_pr", "cll"))
    ours = found.scores(("auc_pr", "cll"))
    assert ours["cll"] <= best["cll"] + 1e-12
    if not np.isnan(best["auc_pr"]):
        assert ours["auc_pr"] <= best["auc_pr"] + 1e-9


def test_some_atoms_are_alike_and_some_are_not():
    names = ["T0", "T1", "T2"]
    facts = {"p": [("T0", "S0")], "q": [("T0",), ("T1",)], "r": []}
    database = Database.from_facts(SCHEMA, facts, domains={"t": names, "s": ["S1"]})
    columns = np.array(list(product(range(3), range(3)))).T.astype(np.int32)
    # without r, T0 is apart by its fact of p, T1 by q; a pair is not its reverse
    assert len(set(orbits(database, "r", columns).tolist())) == 9
    columns = np.array(list(product(range(3), range(2)))).T.astype(np.int32)
    # without p, T0 and T1 are twins, and so are both things
    assert orbits(database, "p", columns).tolist() == [0, 0, 0, 0, 1, 1]


def test_atoms_are_dealt_out_once_each():
    database = world(np.random.default_rng(0))
    train, test = split_atoms(database, np.random.default_rng(1))
    for predicate in SCHEMA.predicates:
        rows = [set(part.rows(predicate.name)) for part in (train, test)]
        assert not rows[0] & rows[1]
        assert rows[0] | rows[1] == set(database.rows(predicate.name))
    assert train.domains == test.domains == database.domains


def test_samples_keep_whole_molecules():
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} does not name a folder with benchmark data")
    drawn = Sample("mutagenesis", {"mole": 5}, ("atom",)).draw(np.random.default_rng(0))
    assert drawn.size("mole") == 5
    assert drawn.count("label") == 5
    # every atom that stays is in one of the molecules, with all its attributes
    assert drawn.count("moleatm") == drawn.size("atom") == drawn.count("elem")
