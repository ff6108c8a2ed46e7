"""Speed of the samplers and of the search for the most probable world.

The network: n² atoms P(x,y), a weight on each, and a clause ``!P(x,y) v !P(y,x)`` for each pair.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from bench.result import Cases, Result, clock, run_cases, run_one
from mlnlearn.infer.network import Network
from mlnlearn.infer.sampling.chains import Method, run_chains
from mlnlearn.infer.sampling.maxwalksat import maxwalksat


def asymmetric(size: int, unit: float = -0.5, pair: float = 1.5) -> Network:
    """Return the network for `size` constants."""
    atoms = size * size
    left, right = np.triu_indices(size, 1)
    pairs = np.stack([left * size + right, right * size + left], axis=1)
    on_diagonal = np.arange(size) * (size + 1)
    values = np.zeros((2 * atoms, 2))
    values[1::2, 0] = 1.0
    # !P(x,x) v !P(x,x) concerns one atom alone.
    values[2 * on_diagonal, 1] = 1.0
    return Network(
        cardinalities=np.full(atoms, 2, np.int32),
        unary_starts=np.arange(0, 2 * atoms + 1, 2, dtype=np.int64),
        unary_counts=csr_array(values),
        forbidden=np.zeros(2 * atoms, np.bool_),
        clause_starts=np.arange(0, 2 * len(left) + 1, 2, dtype=np.int64),
        literal_variable=pairs.ravel().astype(np.int32),
        literal_value=np.ones(pairs.size, np.int32),
        literal_positive=np.zeros(pairs.size, np.bool_),
        clause_rule=np.ones(len(left), np.int32),
        multiplicity=np.ones(len(left)),
        constants=np.zeros(2),
        weights=np.array([unit, pair]),
    )


def sampled(
    network: Network,
    method: Method,
    samples: int,
    target: float | None = None,
    *,
    counts: bool = False,
) -> list[Result]:
    """Sample on one chain, all included, after a run that compiles or loads the kernels."""
    for number in (10, samples):
        with clock() as time:
            run_chains(network, method, samples=number, burn_in=0, chains=1, seed=1, counts=counts)
    title = f"{samples:,} samples of {method}{' with rule counts' if counts else ''}"
    return [Result(f"{title}, {network.variables:,} atoms", time.cpu, "CPU s", target)]


def searched(network: Network, flips: int) -> list[Result]:
    """Search for the most probable world."""
    for number in (10, flips):
        with clock() as time:
            maxwalksat(network, seed=1, tries=1, flips=number)
    return [
        Result(f"{flips:,} flips of MaxWalkSAT, {network.variables:,} atoms", time.cpu, "CPU s")
    ]


CASES: Cases = {
    "gibbs": lambda: sampled(asymmetric(46), "gibbs", 100_000, 4),
    "gibbs-counts": lambda: sampled(asymmetric(46), "gibbs", 20_000, counts=True),
    "mcsat": lambda: sampled(asymmetric(46), "mcsat", 20_000, 2.5),
    "gibbs-large": lambda: sampled(asymmetric(222), "gibbs", 2_000),
    "mcsat-large": lambda: sampled(asymmetric(222), "mcsat", 1_000, 8),
    "maxwalksat": lambda: searched(asymmetric(46, unit=0.5), 200_000),
}


def main() -> list[Result]:
    """Run all cases."""
    return run_cases("bench.samplers", CASES)


if __name__ == "__main__":
    run_one(CASES)
