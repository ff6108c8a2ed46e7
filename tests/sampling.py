"""Networks and checks that the tests of the samplers share."""

import itertools

import numpy as np
from scipy.sparse import csr_array

from mlnlearn.infer.network import Network
from mlnlearn.infer.sampling.chains import run_chains
from reference import brute_marginals, random_network


def network(cardinalities, clauses, *, unary=None, forbidden=(), weights=(1.0,)):
    """A network from clauses ``(rule, [(variable, value, positive), …])``; `unary` is of rule 0."""
    cardinalities = np.array(cardinalities, np.int32)
    starts = np.concatenate([[0], np.cumsum(cardinalities)]).astype(np.int64)
    counts = np.zeros((starts[-1], len(weights)))
    if unary is not None:
        counts[:, 0] = unary
    banned = np.zeros(starts[-1], np.bool_)
    banned[[starts[variable] + value for variable, value in forbidden]] = True
    flat = [literal for _, literals in clauses for literal in literals]
    lengths = [len(literals) for _, literals in clauses]
    return Network(
        cardinalities=cardinalities,
        unary_starts=starts,
        unary_counts=csr_array(counts),
        forbidden=banned,
        clause_starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        literal_variable=np.array([v for v, _, _ in flat], np.int32),
        literal_value=np.array([value for _, value, _ in flat], np.int32),
        literal_positive=np.array([positive for _, _, positive in flat], np.bool_),
        clause_rule=np.array([rule for rule, _ in clauses], np.int32),
        multiplicity=np.ones(len(clauses)),
        constants=np.zeros(len(weights)),
        weights=np.array(weights, np.float64),
    )


def different(left, right, rule=-1):
    """Two clauses that make two atoms differ."""
    return [
        (rule, [(left, 1, True), (right, 1, True)]),
        (rule, [(left, 1, False), (right, 1, False)]),
    ]


def smokers(people):
    """Smokers with cancer of person 0 the evidence, and P(smokes(person 0)) by enumeration.

    1.5 smokes(x) => cancer(x); 1.1 friends(x,y) ^ smokes(x) => smokes(y); all else unknown. Given
    who smokes, the other atoms are independent, which leaves 2^people cases.
    """
    pairs = [(x, y) for x in range(people) for y in range(people) if x != y]
    clauses = [(0, [(x, 1, False), (people + x - 1, 1, True)]) for x in range(1, people)]
    for number, (x, y) in enumerate(pairs):
        friends = 2 * people - 1 + number
        clauses.append((1, [(friends, 1, False), (x, 1, False), (y, 1, True)]))
    built = network([2] * (2 * people - 1 + len(pairs)), clauses, weights=(1.5, 1.1))
    total = smoking = 0.0
    for smokes in itertools.product((False, True), repeat=people):
        weight = 1.0
        for x in range(1, people):
            weight *= np.exp(1.5) + (1.0 if smokes[x] else np.exp(1.5))
        for x, y in pairs:
            weight *= np.exp(1.1) + (1.0 if smokes[x] and not smokes[y] else np.exp(1.1))
        total += weight
        smoking += weight * smokes[0]
    return built, smoking / total


def scores(net, method, seed, samples):
    """Each value's distance from enumeration in standard errors."""
    _, exact = brute_marginals(net)
    result = run_chains(net, method, samples=samples, seed=seed)
    return (result.marginals - exact) / np.maximum(result.standard_error, 1e-7)


def random_scores(method, networks, samples, **options):
    """Scores of many random networks, all in one array."""
    found = []
    for seed in range(networks):
        rng = np.random.default_rng(seed)
        variables, clauses = int(rng.integers(1, 10)), int(rng.integers(0, 16))
        net = random_network(rng, variables=variables, clauses=clauses, **options)
        found.append(scores(net, method, seed, samples))
    return np.concatenate(found)


def assert_like_standard_normal(z):
    """The scores are no wider than standard normal ones; 4 is rare, 6 never happens."""
    assert np.abs(z).max() < 6
    assert np.mean(np.abs(z) > 4) <= 1e-3
    assert np.mean(np.abs(z) > 3) <= 1e-2
    assert 0.5 < z[z != 0].std() < 1.15


def assert_hard_clauses_hold(net, worlds):
    """No world has a forbidden value or violates a hard clause."""
    hard = net.clause_rule < 0
    for world in worlds:
        assert net.satisfied(world)[hard].all()
        assert not net.forbidden[net.unary_starts[:-1] + world].any()
