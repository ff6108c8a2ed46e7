import numpy as np
import pytest

from mlnlearn.errors import InputError
from mlnlearn.infer.belief import belief_propagation
from mlnlearn.infer.exact import exact
from reference import random_network


def assert_same(network):
    result, truth = belief_propagation(network), exact(network)
    assert result.converged
    assert result.log_z == pytest.approx(truth.log_z, abs=1e-6)
    np.testing.assert_allclose(result.marginals, truth.marginals, atol=1e-6)
    np.testing.assert_allclose(result.satisfied, truth.satisfied, atol=1e-6)
    np.testing.assert_allclose(result.expected_counts, truth.expected_counts, atol=1e-5)


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_exact_on_trees(start):
    for seed in range(start, start + 20):
        rng = np.random.default_rng(seed)
        assert_same(
            random_network(
                rng,
                variables=int(rng.integers(1, 40)),
                clauses=int(rng.integers(0, 60)),
                blocks=rng.choice([0.0, 0.3]),
                hard=rng.choice([0.0, 0.2]),
                scale=rng.choice([0.5, 2.0, 5.0]),
                tree=True,
            )
        )


@pytest.mark.parametrize("seed", range(30))
def test_exact_for_one_clause_however_long(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(2, 60))
    network = random_network(rng, variables=width, clauses=1, width=width, hard=0.5, scale=2.0)
    assert_same(network)


def test_close_to_exact_where_loops_are_weak():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        network = random_network(rng, variables=12, clauses=16, hard=0.0, scale=0.3)
        result = belief_propagation(network)
        assert result.converged
        np.testing.assert_allclose(result.marginals, exact(network).marginals, atol=0.02)


def test_damping_changes_the_way_not_the_end():
    network = random_network(np.random.default_rng(3), variables=20, clauses=30, hard=0, scale=0.5)
    some = belief_propagation(network, damping=0.0)
    more = belief_propagation(network, damping=0.6)
    assert more.iterations > some.iterations
    np.testing.assert_allclose(some.marginals, more.marginals, atol=1e-6)


def test_too_few_sweeps_are_reported():
    network = random_network(np.random.default_rng(0), variables=30, clauses=29, tree=True)
    result = belief_propagation(network, iterations=1)
    assert not result.converged
    assert result.iterations == 1
    assert result.residual > 0


def test_damping_must_be_a_share():
    network = random_network(np.random.default_rng(0))
    with pytest.raises(InputError, match="damping"):
        belief_propagation(network, damping=1.0)
