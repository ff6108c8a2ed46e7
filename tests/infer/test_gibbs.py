"""Gibbs sampling against enumeration."""

import numpy as np
import pytest

from mlnlearn.errors import MlnError
from mlnlearn.infer.sampling.chains import run_chains
from mlnlearn.infer.sampling.gibbs_plan import prepare
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
    assert_like_standard_normal(random_scores("gibbs", 220, 4000))


def test_marginals_with_many_blocks_and_hard_clauses():
    assert_like_standard_normal(random_scores("gibbs", 60, 4000, blocks=0.6, hard=0.4, scale=0.7))


def test_smokers_as_enumeration_has_it():
    net, exact = smokers(10)
    assert exact == pytest.approx(0.048, abs=5e-4)
    result = run_chains(net, "gibbs", samples=40_000, seed=5)
    assert abs(result.marginals[1] - exact) < 4 * result.standard_error[1]
    assert result.standard_error[1] < 0.01


def test_atoms_tied_by_hard_clauses_change_together():
    chain = [clause for left in range(11) for clause in different(left, left + 1)]
    net = network([2] * 12, chain, unary=[0.0, 1.0] + [0.0] * 22, weights=(0.7,))
    result = run_chains(net, "gibbs", samples=4000, seed=2)
    exact = 1 / (1 + np.exp(-0.7))
    assert abs(result.marginals[1] - exact) < 4 * result.standard_error[1]
    assert result.standard_error[1] < 0.05


@pytest.mark.parametrize("seed", range(4))
def test_atoms_tied_by_strong_clauses_change_together(seed):
    """Two worlds, all atoms true or none, with hills between them that no single flip crosses."""
    result = run_chains(_alike(6), "gibbs", samples=4000, seed=seed)
    exact = 1 / (1 + np.exp(-0.7))
    assert abs(result.marginals[1] - exact) < 4 * result.standard_error[1]
    assert result.standard_error[1] < 0.05
    assert not result.stuck.any()


def test_chains_that_strong_clauses_may_hold_are_not_said_to_have_converged():
    """Where too many atoms would have to change at once; MC-SAT has moves for that."""
    net = _alike(30)
    doubtful = run_chains(net, "gibbs", samples=4000, seed=1)
    group = np.zeros(len(doubtful.marginals), np.int64)
    assert doubtful.judged(group)[0][0] is False
    sure = run_chains(net, "mcsat", samples=4000, seed=1)
    assert sure.judged(group)[0][0] is True
    assert abs(sure.marginals[1] - 1 / (1 + np.exp(-0.7))) < 4 * sure.standard_error[1]


def _alike(atoms):
    """Atoms in a ring, each the same as the next by clauses of weight 20; the first is likelier."""
    pairs = [(atom, (atom + 1) % atoms) for atom in range(atoms)]
    clauses = [
        (0, [(left, 1, sign), (right, 1, not sign)])
        for left, right in pairs
        for sign in (True, False)
    ]
    return network(
        [2] * atoms, clauses, unary=[0.0, 0.7 / 20] + [0.0] * (2 * atoms - 2), weights=(20.0,)
    )


def test_large_hard_cluster_is_left_in_random_parts():
    """Exactly one of 60 atoms: no atom can change alone, and the clauses all hang together."""
    atoms = 60
    clauses = [(-1, [(atom, 1, True) for atom in range(atoms)])]
    clauses += [
        (-1, [(left, 1, False), (right, 1, False)])
        for left in range(atoms)
        for right in range(left)
    ]
    net = network([2] * atoms, clauses, unary=[0.0, 0.0] * 59 + [0.0, 3.0])
    result = run_chains(net, "gibbs", samples=8000, seed=2, thin=100)
    assert (result.worlds.sum(axis=1) == 1).all()
    exact = np.exp(3) / (59 + np.exp(3))
    assert abs(result.marginals[-1] - exact) < 4 * result.standard_error[-1]
    assert result.standard_error[-1] < 0.05


def test_tables_are_shared_and_only_for_few_neighbours():
    star = [(0, [(0, 1, True), (leaf, 1, False)]) for leaf in range(1, 8)]
    plan = prepare(network([2] * 8, star))
    assert plan.tables.table_start[0] == -1
    assert len(set(plan.tables.table_start[1:].tolist())) == 1
    assert len(plan.tables.probability) == 2


def test_hard_clauses_hold_in_every_sample():
    for seed in range(20):
        net = random_network(np.random.default_rng(seed), variables=9, clauses=14, hard=0.5)
        result = run_chains(net, "gibbs", samples=200, seed=seed, thin=1)
        assert result.worlds.shape == (200, 9)
        assert_hard_clauses_hold(net, result.worlds)


def test_worlds_follow_the_distribution_too():
    net = random_network(np.random.default_rng(3), variables=6, clauses=9)
    result = run_chains(net, "gibbs", samples=40_000, seed=3, thin=10)
    _, exact = brute_marginals(net)
    for variable in range(net.variables):
        for value in range(net.cardinalities[variable]):
            share = np.mean(result.worlds[:, variable] == value)
            assert share == pytest.approx(exact[net.unary_starts[variable] + value], abs=0.05)


def test_expected_counts():
    for seed in range(10):
        net = random_network(np.random.default_rng(seed), variables=7, clauses=10)
        result = run_chains(net, "gibbs", samples=20_000, seed=seed, counts=True)
        assert result.counts.shape == (20_000, 4)
        np.testing.assert_allclose(result.expected_counts, brute_expected_counts(net), atol=0.15)


def test_contradicting_hard_clauses_are_an_error():
    net = network([2, 2], [*different(0, 1), (-1, [(0, 1, True), (1, 1, False)])],
                  forbidden=[(0, 1)])  # fmt: skip
    with pytest.raises(MlnError, match="hard rules"):
        run_chains(net, "gibbs", samples=10)


def test_clauses_that_repeat_or_cancel_literals():
    """The same atom twice, both signs of one, and all values of a block."""
    clauses = [
        (0, [(0, 1, True), (0, 1, True), (1, 1, True)]),
        (0, [(0, 1, True), (1, 1, True), (0, 0, True)]),
        (0, [(2, 0, True), (2, 1, True), (2, 2, True), (1, 1, True)]),
        (0, [(2, 0, False), (2, 1, True), (1, 1, False)]),
    ]
    net = network([2, 2, 3], clauses, weights=(1.3,))
    assert np.abs(scores(net, "gibbs", 0, 8000)).max() < 4
