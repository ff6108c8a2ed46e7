"""The search for the most probable world against enumeration."""

import numpy as np
import pytest

from mlnlearn.errors import MlnError
from mlnlearn.infer.sampling.layout import build_layout
from mlnlearn.infer.sampling.maxwalksat import feasible_world, maxwalksat
from reference import brute_map, random_network
from sampling import different, network


def test_optimal_on_random_networks():
    optimal = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        variables, clauses = int(rng.integers(1, 13)), int(rng.integers(0, 25))
        net = random_network(rng, variables=variables, clauses=clauses, blocks=0.15)
        best, _ = brute_map(net)
        found = maxwalksat(net, seed=seed)
        assert found.log_weight == pytest.approx(net.log_weight(found.world))
        assert np.isfinite(found.log_weight)
        reached = found.log_weight >= best - 1e-9
        assert reached or not found.proven
        optimal += reached
    assert optimal >= 198


def test_same_seed_same_world():
    net = random_network(np.random.default_rng(1), variables=12, clauses=30)
    first, second = (maxwalksat(net, seed=4, tries=2, flips=500) for _ in range(2))
    np.testing.assert_array_equal(first.world, second.world)


def test_proven_when_nothing_falls_short():
    clauses = [(0, [(0, 1, True), (1, 1, True)]), (1, [(1, 1, True), (2, 1, True)])]
    found = maxwalksat(network([2, 2, 2], clauses, weights=(1.0, -1.0)), seed=0)
    assert found.proven
    assert found.world.tolist() == [1, 0, 0]


def test_a_try_ends_where_no_single_change_helps():
    for seed in range(20):
        net = random_network(np.random.default_rng(seed), variables=10, clauses=20, hard=0.0)
        found = maxwalksat(net, seed=seed, tries=1, flips=3)
        for variable in range(net.variables):
            for value in range(net.cardinalities[variable]):
                other = found.world.copy()
                other[variable] = value
                assert net.log_weight(other) <= found.log_weight + 1e-6


def test_large_network_of_hard_clauses_is_satisfied():
    rng = np.random.default_rng(5)
    hidden = rng.integers(0, 2, 500)
    clauses = []
    while len(clauses) < 1500:
        literals = [(int(v), 1, bool(rng.random() < 0.5)) for v in rng.permutation(500)[:3]]
        if any((hidden[v] == 1) == positive for v, _, positive in literals):
            clauses.append((-1, literals))
    net = network([2] * 500, clauses)
    world = feasible_world(build_layout(net), np.random.default_rng(0))
    assert net.satisfied(world).all()


def test_contradiction_is_an_error():
    clauses = [*different(0, 1), *different(1, 2), *different(0, 2)]
    with pytest.raises(MlnError, match="hard rules"):
        maxwalksat(network([2, 2, 2], clauses), seed=0, tries=2, flips=100)
