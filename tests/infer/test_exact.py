import numpy as np
import pytest
from scipy.sparse import csr_array

from mlnlearn.errors import InputError
from mlnlearn.infer.components import components
from mlnlearn.infer.elimination import TooHardError, eliminate, eliminate_max
from mlnlearn.infer.enumeration import enumerate_components
from mlnlearn.infer.exact import exact, exact_map, is_small
from mlnlearn.infer.network import Network
from reference import all_worlds, brute_log_weights, random_network

MOST_WORLDS = 2**14


def boolean_network(variables, clauses, weights, unary=None, hard=()):
    """Clauses are lists of (variable, sign), one rule each; unary gives true's log-odds."""
    flat = [literal for clause in clauses for literal in clause]
    extra = 0 if unary is None else variables
    counts = np.zeros((2 * variables, len(weights) + extra))
    if unary is not None:
        counts[np.arange(variables) * 2 + 1, len(weights) + np.arange(variables)] = 1.0
    return Network(
        cardinalities=np.full(variables, 2, np.int32),
        unary_starts=np.arange(0, 2 * variables + 1, 2),
        unary_counts=csr_array(counts),
        forbidden=np.zeros(2 * variables, bool),
        clause_starts=np.concatenate([[0], np.cumsum([len(c) for c in clauses])]).astype(np.int64),
        literal_variable=np.array([v for v, _ in flat], np.int32),
        literal_value=np.ones(len(flat), np.int32),
        literal_positive=np.array([sign for _, sign in flat], bool),
        clause_rule=np.array([-1 if i in hard else i for i in range(len(clauses))], np.int32),
        multiplicity=np.ones(len(clauses)),
        constants=np.zeros(len(weights) + extra),
        weights=np.concatenate([weights, [] if unary is None else unary]),
    )


def some_network(seed):
    rng = np.random.default_rng(seed)
    while True:
        network = random_network(
            rng,
            variables=int(rng.integers(1, 15)),
            clauses=int(rng.integers(0, 22)),
            width=int(rng.integers(2, 10)),
            blocks=rng.choice([0.0, 0.3]),
            hard=rng.choice([0.0, 0.15, 0.4]),
            scale=rng.choice([0.5, 2.0, 5.0]),
        )
        if np.prod(network.cardinalities.astype(float)) <= MOST_WORLDS:
            return network


class Brute:
    """Every quantity by enumeration of all worlds."""

    def __init__(self, network):
        worlds = all_worlds(network)
        log_weights = brute_log_weights(network, worlds)
        self.log_z = float(np.logaddexp.reduce(log_weights))
        self.best = float(log_weights.max())
        probability = np.exp(log_weights - self.log_z)
        self.marginals = np.zeros(len(network.forbidden))
        for variable in range(network.variables):
            places = network.unary_starts[variable] + worlds[:, variable]
            np.add.at(self.marginals, places, probability)
        self.counts = network.constants + network.unary_counts.toarray().T @ self.marginals
        self.satisfied = np.zeros(network.clauses)
        for clause in range(network.clauses):
            holds = np.zeros(len(worlds), bool)
            for place in range(network.clause_starts[clause], network.clause_starts[clause + 1]):
                same = worlds[:, network.literal_variable[place]] == network.literal_value[place]
                holds |= same == network.literal_positive[place]
            self.satisfied[clause] = probability @ holds
            if network.clause_rule[clause] >= 0:
                gain = network.multiplicity[clause] * self.satisfied[clause]
                self.counts[network.clause_rule[clause]] += gain


@pytest.mark.parametrize("start", range(0, 320, 20))
def test_exact_and_elimination_equal_brute_force(start):
    for seed in range(start, start + 20):
        network = some_network(seed)
        brute = Brute(network)
        result = exact(network)
        assert result.log_z == pytest.approx(brute.log_z, abs=1e-9)
        np.testing.assert_allclose(result.marginals, brute.marginals, atol=1e-9)
        np.testing.assert_allclose(result.satisfied, brute.satisfied, atol=1e-9)
        np.testing.assert_allclose(result.expected_counts, brute.counts, atol=1e-9)
        constant = network.constants @ network.weights
        other = eliminate(network)
        assert other.log_z + constant == pytest.approx(brute.log_z, abs=1e-9)
        np.testing.assert_allclose(other.marginals, brute.marginals, atol=1e-9)
        np.testing.assert_allclose(other.satisfied, brute.satisfied, atol=1e-9)
        score, world = exact_map(network)
        assert score == pytest.approx(brute.best, abs=1e-9)
        assert network.log_weight(world) == pytest.approx(brute.best, abs=1e-9)
        score, world = eliminate_max(network)
        assert score + constant == pytest.approx(brute.best, abs=1e-9)
        assert network.log_weight(world) == pytest.approx(brute.best, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_expected_counts_are_the_gradient_of_log_z(seed):
    network = some_network(1000 + seed)
    step = 1e-5
    for rule in range(len(network.weights)):
        move = np.zeros(len(network.weights))
        move[rule] = step
        up = exact(network.reweighted(network.weights + move)).log_z
        down = exact(network.reweighted(network.weights - move)).log_z
        assert (up - down) / (2 * step) == pytest.approx(
            exact(network).expected_counts[rule], abs=1e-4
        )


def test_components_together_equal_components_one_by_one():
    network = random_network(np.random.default_rng(1), variables=300, clauses=180)
    found = components(network)
    small = np.flatnonzero(is_small(found))
    assert len(small) > 50
    together = enumerate_components(found, small)
    for number in small.tolist():
        part = found.part(number)
        alone = eliminate(part.network)
        assert together.log_z[number] == pytest.approx(alone.log_z, abs=1e-9)
        np.testing.assert_allclose(together.marginals[part.values], alone.marginals, atol=1e-9)
        np.testing.assert_allclose(together.satisfied[part.clauses], alone.satisfied, atol=1e-9)
        score, _ = eliminate_max(part.network)
        assert together.best[number] == pytest.approx(score, abs=1e-9)
        assert part.network.log_weight(together.world[part.variables]) == pytest.approx(score)


def test_many_pairs_have_their_closed_form():
    pairs, weight = 5000, 0.8
    rng = np.random.default_rng(0)
    unary = rng.normal(size=2 * pairs)
    network = boolean_network(
        2 * pairs, [[(2 * i, False), (2 * i + 1, True)] for i in range(pairs)], [weight] * pairs
    )
    network = Network(
        **{
            **vars(network),
            "unary_counts": csr_array(np.stack([np.zeros(2 * pairs), unary], 1).reshape(-1, 1)),
            "weights": np.array([1.0]),
            "constants": np.zeros(1),
            "clause_rule": np.zeros(pairs, np.int32),
            "multiplicity": np.full(pairs, weight),
        }
    )
    a, b = np.exp(unary[::2]), np.exp(unary[1::2])
    e = np.exp(weight)
    z = e + e * b + a + e * a * b
    result = exact(network)
    assert result.log_z == pytest.approx(np.log(z).sum(), rel=1e-12)
    np.testing.assert_allclose(result.marginals[1::4], (a + e * a * b) / z, atol=1e-12)
    np.testing.assert_allclose(result.marginals[3::4], (e * b + e * a * b) / z, atol=1e-12)


@pytest.mark.parametrize("weight", [2.0, -3.0])
def test_a_clause_of_a_thousand_literals(weight):
    size = 1000
    unary = np.random.default_rng(2).normal(-4.0, 1.0, size)
    clause = [(v, True) for v in range(size)]
    network = boolean_network(size, [clause], [weight], unary)
    every = np.log1p(np.exp(unary)).sum()
    none = np.exp(-every)  # probability that all are false, without the clause
    z = np.exp(weight) * (1 - none) + none
    result = exact(network)
    assert result.log_z == pytest.approx(every + np.log(z), rel=1e-12)
    assert result.satisfied[0] == pytest.approx(np.exp(weight) * (1 - none) / z, abs=1e-9)
    expected = np.exp(weight) / (1 + np.exp(-unary)) / z
    np.testing.assert_allclose(result.marginals[1::2], expected, atol=1e-9)
    _, world = exact_map(network)
    # all unary potentials are negative: at most the cheapest atom is true
    assert (unary < 0).all()
    assert network.log_weight(world) == pytest.approx(max(0.0, weight + unary.max()))


def test_a_hard_existential_over_many_atoms():
    size = 200
    network = boolean_network(size, [[(v, True) for v in range(size)]], [0.0], hard=(0,))
    result = exact(network)
    assert result.log_z == pytest.approx(size * np.log(2))  # 2**200 - 1 worlds
    np.testing.assert_allclose(result.marginals, 0.5, atol=1e-9)


def test_a_long_chain_equals_the_transfer_matrix():
    size, weight = 600, 1.3
    network = boolean_network(
        size, [[(v, False), (v + 1, True)] for v in range(size - 1)], [weight] * (size - 1)
    )
    transfer = np.exp(weight * np.array([[1, 1], [0, 1]]))
    total, scale = np.ones(2), 0.0
    for _ in range(size - 1):
        total = transfer @ total
        scale += np.log(total.sum())
        total /= total.sum()
    assert exact(network).log_z == pytest.approx(scale + np.log(total.sum()), rel=1e-12)


def test_a_dense_network_is_refused_before_any_table_is_made():
    size = 60
    clauses = [[(a, True), (b, False)] for a in range(size) for b in range(a)]
    network = boolean_network(size, clauses, [0.1] * len(clauses))
    with pytest.raises(TooHardError, match="more than 4194304 cells"):
        exact(network)
    with pytest.raises(TooHardError, match="more than 16 cells"):
        exact_map(boolean_network(20, clauses[:190], [0.1] * 190), limit=16)


@pytest.mark.parametrize("size", [3, 18])
def test_contradicting_hard_clauses_are_an_error(size):
    ring = [[(v, False), ((v + 1) % size, True)] for v in range(size)]
    clauses = [*ring, [(0, True), (1, True)], [(0, False), (1, False)]]
    network = boolean_network(size, clauses, [0.0] * len(clauses), hard=range(len(clauses)))
    with pytest.raises(InputError, match="no world is possible"):
        exact(network)
    with pytest.raises(InputError, match="no world is possible"):
        exact_map(network)


def test_a_large_block_alone_is_a_closed_form():
    size = 100_000
    scores = np.random.default_rng(0).normal(size=size)
    network = Network(
        cardinalities=np.array([size], np.int32),
        unary_starts=np.array([0, size]),
        unary_counts=csr_array(scores[:, None]),
        forbidden=np.zeros(size, bool),
        clause_starts=np.array([0]),
        literal_variable=np.empty(0, np.int32),
        literal_value=np.empty(0, np.int32),
        literal_positive=np.empty(0, bool),
        clause_rule=np.empty(0, np.int32),
        multiplicity=np.empty(0),
        constants=np.zeros(1),
        weights=np.ones(1),
    )
    result = exact(network)
    np.testing.assert_allclose(result.marginals, np.exp(scores) / np.exp(scores).sum(), rtol=1e-9)


def test_a_network_without_variables_has_its_constants_only():
    network = random_network(np.random.default_rng(0), variables=0, clauses=0)
    assert exact(network).log_z == pytest.approx(network.constants @ network.weights)
    assert exact_map(network)[0] == pytest.approx(network.constants @ network.weights)
