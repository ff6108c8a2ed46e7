"""The parts of the GSLP study: ceilings that hold, samples and splits that lose nothing."""

import os
from itertools import product

import numpy as np
import pytest

from brute import brute_count
from mlnlearn.data.catalog import VARIABLE
from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.evaluate.ask import Marginals
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from studies.gslp_ceiling import ceiling, orbits
from studies.gslp_cells import predict_cells, shares
from studies.gslp_data import Sample, deal_cells

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


MARKED = Schema.of("is(t,s!)", "near(t,t)")


def marked_world():
    people, values = [f"T{i}" for i in range(6)], ["U", "V", "W"]
    facts = {
        "is": [(n, values[i % 2]) for i, n in enumerate(people)],
        "near": [(people[i], people[(i + 2) % 6]) for i in range(6)],
    }
    return Database.from_facts(MARKED, facts, domains={"t": people, "s": values})


def test_cells_are_dealt_out_once_each():
    whole = marked_world()
    dealt = deal_cells(whole, np.random.default_rng(1))
    assert not dealt.known.schema.functional
    assert dealt.known.domains == whole.domains
    # two of six attributes, with all their values, and twelve of 36 pairs
    assert dealt.unknown["is"].shape[1] == 6
    assert dealt.labels("is").sum() == 2
    assert dealt.unknown["near"].shape[1] == 12
    for predicate in MARKED.predicates:
        name = predicate.name
        asked = dealt.unknown[name][:, dealt.labels(name)]
        hidden, known = set(whole.decode(name, asked)), set(dealt.known.rows(name))
        assert not hidden & known
        assert hidden | known == set(whole.rows(name))


def test_cells_are_predicted_together_and_one_by_one():
    dealt = deal_cells(marked_world(), np.random.default_rng(1))
    plain = MARKED.without_functional()
    mln = MLN.parse(f"{plain}\n0.4 is(x,U)\n0.9 near(x,y) ^ is(x,v) => is(y,v)\n")
    found = predict_cells(mln, dealt, Sampling(samples=10))
    names, values = dealt.whole.domains["t"].names, dealt.whole.domains["s"].names
    cells = sorted({names[code] for code in dealt.unknown["is"][0].tolist()})
    known, truth = set(dealt.known.rows("is")), dict(dealt.whole.rows("is"))
    near = set(dealt.known.rows("near"))

    def score(facts):
        world = {"is": facts, "near": near}
        counts = [sum(brute_count(dealt.known, r.formula, (), world).values()) for r in mln.rules]
        return float(np.exp(np.dot(mln.weights, counts)))

    mass = {v: score(known | set(zip(cells, v, strict=True))) for v in product(values, repeat=2)}
    together = [
        np.log(sum(m for v, m in mass.items() if v[i] == truth[cell]) / sum(mass.values()))
        for i, cell in enumerate(cells)
    ]
    assert found["all unknown"]["is"]["cll"] == pytest.approx(np.mean(together), abs=1e-9)
    single = []
    for cell in cells:
        rest = set(dealt.whole.rows("is")) - {(cell, truth[cell])}
        by_value = {v: score(rest | {(cell, v)}) for v in values}
        single.append(np.log(by_value[truth[cell]] / sum(by_value.values())))
    assert found["one unknown"]["is"]["cll"] == pytest.approx(np.mean(single), abs=1e-9)


def test_shares_are_those_of_the_known_cells():
    dealt = deal_cells(marked_world(), np.random.default_rng(1))
    values = [value for _, value in dealt.known.rows("is")]
    # one is added to each of the three values
    share = {v: (values.count(v) + 1) / (len(values) + 3) for v in "UVW"}
    truth = [v for _, v in set(dealt.whole.rows("is")) - set(dealt.known.rows("is"))]
    expected = np.mean([np.log(share[v]) for v in truth])
    assert shares(dealt)["is"]["cll"] == pytest.approx(expected)


def test_samples_keep_whole_molecules():
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} does not name a folder with benchmark data")
    drawn = Sample("mutagenesis", {"mole": 5}, ("atom",)).draw(np.random.default_rng(0))
    assert drawn.size("mole") == 5
    assert drawn.count("label") == 5
    # every atom that stays is in one of the molecules, with all its attributes
    assert drawn.count("moleatm") == drawn.size("atom") == drawn.count("elem")
