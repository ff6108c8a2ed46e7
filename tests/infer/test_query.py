import csv
import json
import math
from itertools import product
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import mlnlearn as ml
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.infer.components import components
from mlnlearn.infer.dispatch import infer
from mlnlearn.infer.elimination import TooHardError
from mlnlearn.infer.exact import exact
from mlnlearn.infer.query import query
from mlnlearn.model.mln import MLN
from mlnlearn.montecarlo.settings import Sampling
from reference import brute_marginals, random_network

SMOKERS = MLN.parse("""
smokes(person)
cancer(person)
friends(person,person)
1.5 smokes(x) => cancer(x)
1.1 friends(x,y) ^ smokes(x) => smokes(y)
""")
PEOPLE = 10


def smokers_database():
    domains = {"person": [f"P{i}" for i in range(PEOPLE)]}
    return Database.from_facts(SMOKERS.schema, {"cancer": [("P0",)]}, domains=domains)


def smoking_probabilities(cancer_open):
    """P(smokes(P0)) and P(smokes(P1)), summing over who smokes and in closed form over the rest.

    Given the smokers, atoms of friends are independent: one from a smoker to a non-smoker weighs
    1 + e^1.1, any other 2 e^1.1. So are those of cancer: 1 + e^1.5 for a smoker, else 2 e^1.5; if
    cancer is closed, a smoker other than P0 has weight 1, a non-smoker e^1.5.
    """
    e, f = math.exp(1.5), math.exp(1.1)
    smoker, other = (1 + e, 2 * e) if cancer_open else (1, e)
    total, first, second = 0.0, 0.0, 0.0
    for smokes in product((0, 1), repeat=PEOPLE):
        crossing = sum(smokes) * (PEOPLE - sum(smokes))
        weight = e * ((1 + f) / (2 * f)) ** crossing
        weight *= math.prod(smoker if s else other for s in smokes[1:])
        total += weight
        first += weight * smokes[0]
        second += weight * smokes[1]
    return first / total, second / total


@pytest.mark.parametrize("cancer_open", [False, True])
@pytest.mark.parametrize("method", ["auto", "exact", "gibbs", "mcsat"])
def test_smokers_of_ten_people_equal_enumeration(method, cancer_open):
    opened = ["cancer"] if cancer_open else []
    answers = query(
        SMOKERS, smokers_database(), "smokes", method=method, open=opened, samples=40_000, seed=1
    )
    for name, truth in zip(("P0", "P1"), smoking_probabilities(cancer_open), strict=True):
        found = answers[f"smokes({name})"]
        assert abs(found.probability - truth) <= 4 * found.standard_error + 1e-9
        assert found.standard_error < 0.01


def test_the_published_value_for_smokers_has_cancer_open():
    assert smoking_probabilities(cancer_open=True)[0] == pytest.approx(0.048, abs=5e-4)
    assert smoking_probabilities(cancer_open=False)[0] == pytest.approx(0.0271173, abs=1e-6)


@pytest.mark.parametrize("method", ["auto", "exact", "bp", "map"])
def test_exchangeable_atoms_have_equal_marginals(method):
    answers = query(SMOKERS, smokers_database(), ["smokes", "friends"], method=method)
    others = [answers[f"smokes(P{i})"].probability for i in range(1, PEOPLE)]
    np.testing.assert_allclose(others, others[0], atol=1e-9)
    between = [a.probability for a in answers if a.predicate.name == "friends"
               and "P0" not in a.constants and len(set(a.constants)) == 2]  # fmt: skip
    assert len(between) == 72
    np.testing.assert_allclose(between, between[0], atol=1e-7)


@pytest.mark.parametrize("seed", range(40))
def test_every_way_through_the_components_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, variables=11, clauses=8, hard=0.2)
    found = components(network)
    _, truth = brute_marginals(network)
    for method in ("auto", "exact"):
        result = infer(found, method)
        np.testing.assert_allclose(result.marginals, truth, atol=1e-9)
        assert not result.standard_error.any()
        assert sum(part.clauses for part in result.components) == network.clauses


def dense_network(seed, hard):
    return random_network(
        np.random.default_rng(seed), variables=18, clauses=60, blocks=0.1, hard=hard, scale=0.4
    )


@pytest.mark.parametrize(("hard", "method"), [(0.0, "gibbs"), (0.1, "mcsat")])
def test_auto_samples_what_is_too_hard_and_says_so(hard, method):
    network = dense_network(3, hard)
    sampling = Sampling(samples=8000, seed=5)
    result = infer(components(network), limit=2**7, sampling=sampling)
    large = max(result.components, key=lambda part: part.clauses)
    assert large.method == method
    assert large.r_hat < 1.05
    assert large.converged
    assert large.effective_sample_size > 100
    truth = exact(network).marginals
    assert (np.abs(result.marginals - truth) <= 5 * result.standard_error + 1e-3).all()
    assert result.standard_error.max() > 0


def test_exact_refuses_what_is_too_hard():
    with pytest.raises(TooHardError):
        infer(components(dense_network(3, 0.0)), "exact", limit=2**7)


def test_a_component_gets_the_same_draws_whatever_else_is_answered():
    network = random_network(
        np.random.default_rng(8), variables=60, clauses=70, hard=0.0, blocks=0.0, width=3
    )
    found = components(network)
    sampling = Sampling(samples=400, seed=3)
    everything = infer(found, limit=2, sampling=sampling)
    sampled = [i for i, part in enumerate(everything.components) if part.method == "gibbs"]
    assert sampled
    for number in sampled:
        alone = infer(found, limit=2, sampling=sampling, wanted=np.arange(len(found)) == number)
        values = found.part(number).values
        assert (alone.marginals[values] == everything.marginals[values]).all()


@pytest.mark.parametrize("seed", range(10))
def test_map_finds_the_best_world_with_and_without_search(seed):
    network = random_network(np.random.default_rng(seed), variables=18, clauses=50, hard=0.1)
    found = components(network)

    def world(limit):
        result = infer(found, "map", limit=limit)
        chosen = np.flatnonzero(result.marginals)
        assert len(chosen) == network.variables
        return (chosen - network.unary_starts[:-1]).astype(np.int32), result

    best, _ = world(2**22)
    searched, result = world(2**5)
    assert "maxwalksat" in {part.method for part in result.components}
    assert network.log_weight(searched) == pytest.approx(network.log_weight(best), abs=1e-9)


# ── answers ───────────────────────────────────────────────────────────────────────────────────────

FAMILY = MLN.parse("""
smokes(person)
friends(person,person)
town(person,place!)
0.3 smokes(x)
1.5 friends(x,y) ^ smokes(x) => smokes(y)
0.7 smokes(x) => town(x,Rome)
""")


def family_database(**options):
    facts = {"friends": [("Anna", "Bob"), ("Bob", "Carl Z")], "smokes": [("Anna",)]}
    domains = {"person": ["Anna", "Bob", "Carl Z"], "place": ["Rome", "Oslo"]}
    return Database.from_facts(FAMILY.schema, facts, domains=domains, **options)


def test_answers_for_atoms_and_blocks_equal_the_closed_form():
    answers = query(FAMILY, family_database(), ["smokes", "town"])
    weights = {}
    for bob, carl in product((0, 1), repeat=2):
        score = 0.3 * (bob + carl) + 1.5 * bob + 1.5 * (carl >= bob)
        town = [1 + math.exp(0.7) if s else 2 * math.exp(0.7) for s in (bob, carl)]
        weights[bob, carl] = math.exp(score) * math.prod(town)
    total = sum(weights.values())
    bob = (weights[1, 0] + weights[1, 1]) / total
    assert answers["smokes(Bob)"].probability == pytest.approx(bob, abs=1e-12)
    assert answers["town(Anna,Rome)"].probability == pytest.approx(1 / (1 + math.exp(-0.7)))
    given = bob / (1 + math.exp(-0.7)) + (1 - bob) / 2
    assert answers["town(Bob,Rome)"].probability == pytest.approx(given, abs=1e-12)
    for person in ("Anna", "Bob", '"Carl Z"'):
        both = [answers[f"town({person},{place})"].probability for place in ("Rome", "Oslo")]
        assert sum(both) == pytest.approx(1.0)


def test_components_without_query_atoms_are_left_out():
    answers = query(FAMILY, family_database(), "smokes")
    assert [(c.atoms, c.clauses, c.method) for c in answers.components] == [(6, 3, "enumeration")]
    assert len(answers) == 2


def test_evidence_can_be_included():
    plain = query(FAMILY, family_database(), "smokes")
    full = query(FAMILY, family_database(), "smokes", include_evidence=True)
    assert len(plain) == 2
    assert [str(a.atom) for a in full] == ["smokes(Anna)", "smokes(Bob)", 'smokes("Carl Z")']
    assert full["smokes(Anna)"].probability == 1.0
    assert full["smokes(Bob)"] == plain["smokes(Bob)"]
    with pytest.raises(InputError, match="no answer for"):
        plain["smokes(Anna)"]


def test_query_evidence_asks_for_the_listed_atoms_only():
    database = family_database(unknown={"smokes": [("Bob",)]})
    answers = query(FAMILY, database, "smokes", query_evidence=True)
    assert [str(a.atom) for a in answers] == ["smokes(Bob)"]
    # Carl does not smoke: what Bob gains from Anna he loses to Carl
    odds = math.exp(0.3) * (1 + math.exp(0.7)) / (2 * math.exp(0.7))
    assert answers["smokes(Bob)"].probability == pytest.approx(odds / (1 + odds))


def test_forms_of_the_answers(tmp_path):
    answers = query(FAMILY, family_database(), ["smokes", "town"])
    answers.to_csv(tmp_path / "answers.csv")
    with (tmp_path / "answers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["atom"] for row in rows] == [str(answer.atom) for answer in answers]
    assert [float(row["probability"]) for row in rows] == [a.probability for a in answers]
    frame = answers.to_frame("polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["predicate", "atom", "probability", "standard_error", "method"]
    assert frame.height == len(answers) == 8
    assert len(answers.to_frame()) == 8
    assert {row["method"] for row in rows} == {c.method for c in answers.components}
    loaded = json.loads(json.dumps(answers.to_dict(), allow_nan=False))
    assert loaded["answers"][0]["atom"] == str(next(iter(answers)).atom)
    assert {"atoms", "clauses", "method"} <= loaded["components"][0].keys()
    text = str(answers)
    assert text.splitlines()[-1].startswith("8 atoms; ")
    ranked = [float(line.split()[0]) for line in text.splitlines()[1:-1]]
    assert ranked == sorted(ranked, reverse=True)


def test_unknown_errors_are_empty_not_invalid(tmp_path):
    answers = query(FAMILY, family_database(), "smokes", method="bp")
    assert all(math.isnan(answer.standard_error) for answer in answers)
    assert json.loads(json.dumps(answers.to_dict(), allow_nan=False))["answers"]
    answers.to_csv(tmp_path / "answers.csv")
    assert (tmp_path / "answers.csv").read_text().splitlines()[1].endswith(",,bp")
    assert "unknown" in str(answers)


def test_the_same_seed_gives_the_same_answers():
    runs = [
        query(FAMILY, family_database(), "smokes", method="gibbs", samples=500, seed=s)
        for s in (1, 1, 2)
    ]
    first, again, other = [[a.probability for a in run] for run in runs]
    assert first == again
    assert first != other


def test_wrong_questions():
    with pytest.raises(InputError, match="no method 'magic'"):
        query(FAMILY, family_database(), "smokes", method="magic")
    with pytest.raises(InputError, match="no query predicate"):
        query(FAMILY, family_database(), [])
    with pytest.raises(InputError, match="no such predicate 'drinks'"):
        query(FAMILY, family_database(), "drinks")
    contradiction = MLN.parse(
        "p(t)\nq(t)\np(x) v q(x).\np(x) => q(x).\nq(x) => p(x).\n!p(x) v !q(x)."
    )
    database = Database.from_facts(contradiction.schema, {}, domains={"t": ["A"]})
    for method in ("auto", "map"):
        with pytest.raises(InputError, match="no world is possible"):
            query(contradiction, database, "p", method=method)


@pytest.mark.parametrize("sign", ["", "-"])
def test_mcsat_goes_between_the_alternatives_of_a_strong_rule(sign):
    """Each of the four cubes of the rule was kept for good once a chain was in it."""
    mln = MLN.parse(f"""
        t = {{A}}
        p(t)
        q(t)
        r(t)
        {sign}12 p(x) <=> (q(x) <=> r(x))
        1 !p(x)
        0.5 q(x)
    """)
    names = ["p", "q", "r"]
    nothing = Database.from_facts(mln.schema, {})
    exact = query(mln, nothing, names, method="exact", open=names)
    drawn = query(mln, nothing, names, method="mcsat", open=names, samples=8000)
    for right, table in zip(exact.tables, drawn.tables, strict=True):
        assert table.standard_error[0] < 0.02
        assert abs(table.probability[0] - right.probability[0]) < 4 * table.standard_error[0]


def test_one_query_serves_every_model_of_atoms():
    world = ml.synthetic.smokers(40, rng=1).databases[0]
    for learner in (
        ml.BoostedMLN(target="cancer", steps=2),
        ml.RelationalBoost(target="cancer", steps=3),
    ):
        model = learner.fit(world).model
        own = model.query(world, "cancer").by_atom()
        assert query(model, world, "cancer").by_atom() == own
        assert len(set(own.values())) > 1
        with pytest.raises(InputError, match="open"):
            query(model, world, "cancer", open=["smokes"])
    # labels of other rows are known, so that there is nothing to draw
    assert query(model, world, "cancer", method="gibbs").by_atom() == own
    with pytest.raises(InputError, match="closed form, or by Gibbs"):
        query(model, world, "cancer", method="mcsat")
    learned = SimpleNamespace(mln=SMOKERS)  # as what learners of weights return
    assert (
        query(learned, smokers_database(), "smokes").by_atom()
        == query(SMOKERS, smokers_database(), "smokes").by_atom()
    )
    with pytest.raises(InputError, match="SimpleNamespace"):
        query(SimpleNamespace(), world, "cancer")
