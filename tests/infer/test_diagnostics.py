"""Standard errors and R̂ on processes whose answers are known, and the runner of chains."""

import numpy as np
import pytest

from mlnlearn.infer.sampling.chains import run_chains
from mlnlearn.montecarlo.diagnostics import effective_sample_size, split_r_hat, standard_error
from reference import random_network
from sampling import different, network

METHODS = ["gibbs", "mcsat"]


def two_state_chains(rng, leave, chains, steps, estimates):
    """Stationary chains over {0, 1} that leave their state with a given probability."""
    moves = rng.random((chains, steps, estimates)) < leave
    start = rng.integers(0, 2, (chains, 1, estimates))
    return (start + np.cumsum(moves, axis=1)) % 2


def test_standard_error_of_correlated_draws():
    """The mean of n draws that switch with probability q has the variance (1 - q) / (4 q n)."""
    draws = two_state_chains(np.random.default_rng(0), 0.05, 4, 16_000, 100)
    batches = draws.reshape(4, 16, 1000, 100).mean(axis=2)
    expected = np.sqrt(0.95 / (4 * 0.05 * 4 * 16_000))
    assert standard_error(batches).mean() == pytest.approx(expected, rel=0.1)
    size = effective_sample_size(draws.mean(axis=(0, 1)), standard_error(batches), 64_000)
    assert np.median(size) == pytest.approx(64_000 * 0.05 / 0.95, rel=0.2)


def test_standard_error_of_chains_that_stay_where_they_began():
    stuck = np.tile(np.array([0.0, 0.0, 1.0, 1.0])[:, None, None], (1, 32, 1))
    # four draws of a coin: all that such chains tell
    assert standard_error(stuck)[0] == pytest.approx(np.std([0, 0, 1, 1], ddof=1) / 2)


def test_r_hat_tells_mixed_from_stuck():
    rng = np.random.default_rng(1)
    mixed = two_state_chains(rng, 0.3, 4, 1600, 50).reshape(4, 16, 100, 50).mean(axis=2)
    stuck = two_state_chains(rng, 0.0005, 4, 1600, 50).reshape(4, 16, 100, 50).mean(axis=2)
    assert split_r_hat(mixed, 1600).max() < 1.02
    assert np.median(split_r_hat(stuck, 1600)) > 1.2


def test_r_hat_is_infinite_where_chains_never_move():
    apart = np.array([[1.0, 1.0], [0.0, 0.0]])[:, :, None]
    assert np.isinf(split_r_hat(apart, 100)[0])
    assert np.isinf(standard_error(apart[:1, :1])[0])


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_result_for_any_number_of_workers(method):
    net = random_network(np.random.default_rng(7), variables=12, clauses=20)
    one, three = (
        run_chains(net, method, samples=4000, seed=3, workers=workers, counts=True, thin=5)
        for workers in (1, 3)
    )
    np.testing.assert_array_equal(one.marginals, three.marginals)
    np.testing.assert_array_equal(one.standard_error, three.standard_error)
    np.testing.assert_array_equal(one.counts, three.counts)
    np.testing.assert_array_equal(one.worlds, three.worlds)
    other = run_chains(net, method, samples=4000, seed=4)
    assert not np.array_equal(one.marginals, other.marginals)


@pytest.mark.parametrize("method", METHODS)
def test_chains_differ_and_thinning_picks_their_worlds(method):
    net = random_network(np.random.default_rng(7), variables=12, clauses=20)
    full = run_chains(net, method, samples=400, seed=3, thin=1)
    thinned = run_chains(net, method, samples=400, seed=3, thin=7)
    chains = full.worlds.reshape(4, 100, 12)
    assert not np.array_equal(chains[0], chains[1])
    np.testing.assert_array_equal(thinned.worlds, chains[:, 6::7].reshape(-1, 12))


@pytest.mark.parametrize("method", METHODS)
def test_stops_at_the_precision_asked_for(method):
    net = random_network(np.random.default_rng(8), variables=8, clauses=12)
    coarse, fine = (
        run_chains(net, method, samples=10_000_000, seed=1, precision=precision)
        for precision in (0.02, 0.004)
    )
    assert coarse.stopped_by == fine.stopped_by == "precision"
    assert coarse.standard_error.max() <= 0.02
    assert fine.standard_error.max() <= 0.004
    assert coarse.samples < fine.samples < 10_000_000


def test_stops_when_the_time_is_up():
    net = random_network(np.random.default_rng(8), variables=8, clauses=12)
    result = run_chains(net, "gibbs", samples=10**12, burn_in=10**12, seed=1, max_seconds=0.2)
    assert result.stopped_by == "time"
    assert 0 < result.samples < 10**12
    assert result.marginals[:2].sum() == pytest.approx(1.0)


def test_progress_ends_at_the_samples_asked_for():
    calls = []
    net = random_network(np.random.default_rng(8), variables=5, clauses=5)
    result = run_chains(
        net,
        "gibbs",
        samples=1002,
        chains=4,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert result.samples == 1004
    assert calls[-1] == (1004, 1004)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_chains_apart_show_in_r_hat():
    """A ring of atoms that differ from their neighbours so strongly that no chain crosses over."""
    ring = [clause for left in range(80) for clause in different(left, (left + 1) % 80, rule=0)]
    net = network([2] * 80, ring, weights=(12.0,))
    result = run_chains(net, "gibbs", samples=2000, seed=1)
    assert result.r_hat.max() > 1.5


@pytest.mark.parametrize("method", METHODS)
def test_network_without_variables_or_clauses(method):
    assert run_chains(network([], []), method, samples=8).marginals.shape == (0,)
    free = network([2, 3], [], unary=[0.0, 1.0, 0.0, 0.0, 2.0])
    result = run_chains(free, method, samples=8)
    np.testing.assert_allclose(result.marginals[1], 1 / (1 + np.exp(-1)), rtol=1e-12)
    assert result.standard_error.max() < 1e-7


def test_counts_must_be_asked_for():
    with pytest.raises(ValueError, match="counts=True"):
        _ = run_chains(network([2], []), "gibbs", samples=8).expected_counts
