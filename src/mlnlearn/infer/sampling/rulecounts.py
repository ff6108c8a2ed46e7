"""Counts of each rule's true groundings in many worlds at once."""

from __future__ import annotations

import numpy as np

from mlnlearn.compiled import njit
from mlnlearn.infer.network import Codes, Floats, Network


def count_worlds(network: Network, worlds: Codes) -> Floats:
    """Return ``network.counts`` of each world, shape (worlds, rules).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> network = Network(
    ...     cardinalities=np.array([2, 2], np.int32), unary_starts=np.array([0, 2, 4]),
    ...     unary_counts=csr_array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]),
    ...     forbidden=np.zeros(4, bool),
    ...     clause_starts=np.array([0, 2]), literal_variable=np.array([0, 1], np.int32),
    ...     literal_value=np.array([1, 1], np.int32), literal_positive=np.array([True, True]),
    ...     clause_rule=np.array([0], np.int32), multiplicity=np.array([1.0]),
    ...     constants=np.array([3.0, 0.0]), weights=np.zeros(2))
    >>> count_worlds(network, np.array([[0, 0], [1, 1]], np.int32))
    array([[3., 0.],
           [4., 2.]])
    """
    counts = np.tile(network.constants, (len(worlds), 1))
    unary = network.unary_counts
    _add_unary(
        network.unary_starts, unary.indptr, unary.indices, unary.data.astype(np.float64),
        worlds, counts,
    )  # fmt: skip
    _add_clauses(
        network.clause_starts, network.literal_variable, network.literal_value,
        network.literal_positive, network.clause_rule, network.multiplicity, worlds, counts,
    )  # fmt: skip
    return counts


@njit(cache=True, nogil=True)
def _add_unary(value_start, start, rule, count, worlds, counts):  # type: ignore[no-untyped-def]
    """Add what the variables' values count for each rule."""
    for number in range(len(worlds)):
        for variable in range(worlds.shape[1]):
            value = value_start[variable] + worlds[number, variable]
            for place in range(start[value], start[value + 1]):
                counts[number, rule[place]] += count[place]


@njit(cache=True, nogil=True)
def _add_clauses(  # type: ignore[no-untyped-def]
    clause_start, literal_variable, literal_value, literal_positive, clause_rule, multiplicity,
    worlds, counts,
):  # fmt: skip
    """Add the multiplicities of the clauses that hold."""
    for number in range(len(worlds)):
        world = worlds[number]
        for clause in range(len(clause_rule)):
            if clause_rule[clause] < 0:
                continue
            for place in range(clause_start[clause], clause_start[clause + 1]):
                has = world[literal_variable[place]] == literal_value[place]
                if has == literal_positive[place]:
                    counts[number, clause_rule[clause]] += multiplicity[clause]
                    break
