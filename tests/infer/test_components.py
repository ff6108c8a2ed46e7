import numpy as np
import pytest

from mlnlearn.counting.arrays import expand_ranges
from mlnlearn.infer.components import components
from reference import random_network


def plain_labels(network):
    """Merge labels clause by clause until nothing changes."""
    label = np.arange(network.variables)
    for _ in range(network.variables):
        before = label.copy()
        for clause in range(network.clauses):
            own = network.literal_variable[
                network.clause_starts[clause] : network.clause_starts[clause + 1]
            ]
            label[np.isin(label, label[own])] = label[own].min()
        if (label == before).all():
            break
    return np.unique(label, return_inverse=True)[1]


def sparse_network(seed, variables=40, clauses=22):
    return random_network(np.random.default_rng(seed), variables=variables, clauses=clauses)


@pytest.mark.parametrize("seed", range(20))
def test_labels_equal_plain_merging(seed):
    network = sparse_network(seed)
    found = components(network)
    assert found.label.tolist() == plain_labels(network).tolist()
    assert found.sizes.sum() == network.variables
    assert found.clause_counts.sum() == network.clauses
    assert sorted(found.variables.tolist()) == list(range(network.variables))
    assert sorted(found.clauses.tolist()) == list(range(network.clauses))


@pytest.mark.parametrize("seed", range(20))
def test_the_log_weight_is_the_sum_over_the_parts(seed):
    network = sparse_network(seed)
    found = components(network)
    rng = np.random.default_rng(seed)
    parts = [found.part(number) for number in range(len(found))]
    for _ in range(5):
        world = rng.integers(0, network.cardinalities).astype(np.int32)
        total = sum(part.network.log_weight(world[part.variables]) for part in parts)
        whole = network.log_weight(world)
        if np.isneginf(whole):
            assert np.isneginf(total)
        else:
            constant = network.constants @ network.weights
            assert total + constant == pytest.approx(whole, abs=1e-9)
    values = np.concatenate([part.values for part in parts])
    assert sorted(values.tolist()) == list(range(len(network.forbidden)))


def test_a_union_holds_the_chosen_components_in_the_order_of_the_whole():
    network = sparse_network(3)
    found = components(network)
    chosen = np.arange(len(found)) % 2 == 0
    part = found.union(chosen)
    assert part.variables.tolist() == np.flatnonzero(chosen[found.label]).tolist()
    assert part.network.clauses == found.clause_counts[chosen].sum()
    assert (part.network.cardinalities == network.cardinalities[part.variables]).all()
    assert (part.network.unary == network.unary[part.values]).all()
    everything = found.union(np.ones(len(found), bool)).network
    assert (everything.literal_variable == network.literal_variable).all()


def test_a_network_without_clauses_or_without_variables():
    alone = random_network(np.random.default_rng(0), variables=5, clauses=0)
    assert components(alone).sizes.tolist() == [1] * 5
    empty = random_network(np.random.default_rng(0), variables=0, clauses=0)
    assert len(components(empty)) == 0


def test_states_and_spans():
    network = sparse_network(5)
    found = components(network)
    for number in range(len(found)):
        own = network.cardinalities[found.label == number]
        assert 2.0 ** found.log_states[number] == pytest.approx(np.prod(own.astype(float)))
    assert expand_ranges(np.array([3, 9, 1]), np.array([2, 0, 1])).tolist() == [3, 4, 1]
