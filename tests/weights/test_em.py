"""EM over unknown atoms."""

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import hide, smokers
from mlnlearn.model.mln import MLN
from mlnlearn.weights.em import learn_em
from mlnlearn.weights.generative import learn_pseudolikelihood

TEXT = """
smokes(person)
cancer(person)
smokes(x) => cancer(x)
"""


@pytest.fixture(scope="module")
def town():
    mln = MLN.parse(TEXT)
    full = (
        smokers(300, rng=5, cancer=(-2.0, 3.5, 0.0)).databases[0].restricted(["smokes", "cancer"])
    )
    facts = {p.name: list(full.rows(p.name)) for p in mln.schema.predicates}
    return mln, Database.from_facts(mln.schema, facts, domains=full.domains)


def test_without_unknown_atoms_it_is_plain_learning(town):
    mln, database = town
    plain = learn_pseudolikelihood(mln, [database]).mln.weights
    for mode in ("soft", "hard"):
        np.testing.assert_allclose(learn_em(mln, [database], mode=mode).mln.weights, plain)


def test_hidden_atoms_are_not_taken_as_false(town):
    mln, database = town
    truth = learn_pseudolikelihood(mln, [database]).mln.weights
    hidden = hide(database, "cancer", 0.4, 6)
    closed = learn_pseudolikelihood(mln, [hidden.closed()]).mln.weights
    soft = learn_em(mln, [hidden], iterations=15, worlds=10, seed=7).mln.weights
    assert np.abs(soft - truth).max() < 0.5 * np.abs(closed - truth).max()


def test_same_seed_same_weights(town):
    mln, database = town
    hidden = hide(database, "cancer", 0.3, 8)
    runs = [learn_em(mln, [hidden], iterations=3, seed=9).mln.weights for _ in range(2)]
    np.testing.assert_array_equal(*runs)


def test_hard_mode_stops_when_nothing_changes(town):
    mln, database = town
    hidden = hide(database, "cancer", 0.3, 8)
    learned = learn_em(mln, [hidden], mode="hard", iterations=50)
    assert learned.iterations < 50
