"""MC-SAT against enumeration."""

import numpy as np
import pytest
from numba import njit

from mlnlearn.infer.sampling import mcsat
from mlnlearn.infer.sampling.chains import run_chains
from mlnlearn.montecarlo.diagnostics import standard_error
from reference import brute_expected_counts, brute_marginals, random_network
from sampling import (
    assert_hard_clauses_hold,
    assert_like_standard_normal,
    different,
    network,
    random_scores,
    scores,
    smokers,
)


def test_marginals_of_random_networks():
    assert_like_standard_normal(random_scores("mcsat", 220, 4000))


def test_marginals_with_many_blocks_and_hard_clauses():
    assert_like_standard_normal(random_scores("mcsat", 60, 4000, blocks=0.6, hard=0.4, scale=0.7))


def test_smokers_as_enumeration_has_it():
    """A known fault elsewhere: 0.42 instead of 0.048."""
    net, exact = smokers(10)
    assert exact == pytest.approx(0.048, abs=5e-4)
    result = run_chains(net, "mcsat", samples=20_000, seed=5)
    assert abs(result.marginals[1] - exact) < 4 * result.standard_error[1]
    assert result.standard_error[1] < 0.01


@njit
def _slices(plan, scratch, world, stream, worlds):
    for number in range(len(worlds)):
        mcsat.slice_move(plan, scratch, world, stream)
        worlds[number] = world


def slice_chain(net, seed, steps):
    """Worlds drawn by the slice moves alone: Gibbs sweeps could hide their faults."""
    plan = mcsat.prepare(net)
    state = mcsat.init(plan, np.random.default_rng(seed))
    worlds = np.empty((steps, net.variables), np.int32)
    _slices(plan, state.scratch, state.gibbs.world, state.gibbs.stream, worlds)
    return worlds


def test_slice_moves_alone_keep_the_distribution():
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        net = random_network(rng, variables=7, clauses=12, blocks=0.4, hard=0.1, scale=0.4)
        worlds = slice_chain(net, seed, 32_000)
        sizes = net.cardinalities
        holds = [worlds[:, [v]] == np.arange(sizes[v]) for v in range(net.variables)]
        true = np.concatenate(holds, axis=1)
        batches = true.reshape(1, 32, 1000, -1).mean(axis=2)
        error = np.hypot(standard_error(batches), 2 / len(worlds))
        found.append((true.mean(axis=0) - brute_marginals(net)[1]) / error)
    assert_like_standard_normal(np.concatenate(found))


def test_slice_moves_alone_where_solutions_are_too_many_to_list():
    net, exact = smokers(8)
    smokes = slice_chain(net, 1, 16_000)[:, :1] == 1
    error = standard_error(smokes.reshape(1, 32, 500, 1).mean(axis=2))[0]
    assert abs(smokes.mean() - exact) < 4 * error
    assert error < 0.03


def test_isolated_solutions_are_both_found():
    chain = [clause for left in range(29) for clause in different(left, left + 1)]
    net = network([2] * 30, chain, unary=[0.0, 1.0] + [0.0] * 58, weights=(0.7,))
    result = run_chains(net, "mcsat", samples=2000, seed=2)
    exact = 1 / (1 + np.exp(-0.7))
    assert abs(result.marginals[1] - exact) < 4 * result.standard_error[1]
    assert result.standard_error[1] < 0.05


def test_hard_clauses_hold_in_every_sample():
    for seed in range(20):
        net = random_network(np.random.default_rng(seed), variables=9, clauses=14, hard=0.5)
        result = run_chains(net, "mcsat", samples=200, seed=seed, thin=1)
        assert_hard_clauses_hold(net, result.worlds)


def test_expected_counts():
    for seed in range(10):
        net = random_network(np.random.default_rng(seed), variables=7, clauses=10)
        result = run_chains(net, "mcsat", samples=20_000, seed=seed, counts=True)
        np.testing.assert_allclose(result.expected_counts, brute_expected_counts(net), atol=0.15)


def test_clauses_that_repeat_or_cancel_literals():
    clauses = [
        (0, [(0, 1, True), (0, 1, True), (1, 1, True)]),
        (0, [(0, 1, True), (1, 1, True), (0, 0, True)]),
        (0, [(2, 0, True), (2, 1, True), (2, 2, True), (1, 1, True)]),
        (0, [(2, 0, False), (2, 1, True), (1, 1, False)]),
    ]
    net = network([2, 2, 3], clauses, weights=(1.3,))
    assert np.abs(scores(net, "mcsat", 0, 8000)).max() < 4
