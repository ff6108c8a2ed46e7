"""Exact inference: log Z, marginals, expected counts and the best world.

Each connected component is taken by the cheapest way: small ones by enumeration, all in one
compiled pass (for a variable alone that is its closed form), larger ones by variable elimination
where they are thin enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.errors import InputError
from mlnlearn.infer.components import Components, components
from mlnlearn.infer.elimination import DEFAULT_LIMIT, eliminate, eliminate_max
from mlnlearn.infer.enumeration import enumerate_components
from mlnlearn.infer.network import Codes, Flags, Floats, Network

# Enumeration is taken up to so many states, and so many states times variables and clauses: past
# that, elimination is cheaper in spite of its overhead for each table.
_MOST_STATES = 2**14
_MOST_WORK = 2**20


@dataclass(frozen=True, eq=False)
class ExactResult:
    """Exact probabilities of a network.

    Attributes
    ----------
    log_z
        Logarithm of the summed weight of all worlds.
    marginals
        Probability of each value of each variable, laid out as the unary potentials.
    satisfied
        Probability that each clause holds.
    expected_counts
        Expected number of true groundings of each rule, those decided by evidence included.
    """

    log_z: float
    marginals: Floats
    satisfied: Floats
    expected_counts: Floats


def exact(network: Network, *, limit: int = DEFAULT_LIMIT) -> ExactResult:
    """Return the exact log Z, marginals and expected counts of a network.

    Parameters
    ----------
    network
        Any network.
    limit
        Most table cells of variable elimination in one component.

    Raises
    ------
    TooHardError
        Where a component would need larger tables.
    InputError
        Where the hard rules leave no world.

    Examples
    --------
    One soft clause ``a v b`` of weight log 2: three worlds weigh 2, one weighs 1.

    >>> from scipy.sparse import csr_array
    >>> network = Network(
    ...     cardinalities=np.full(2, 2, np.int32), unary_starts=np.arange(0, 6, 2),
    ...     unary_counts=csr_array((4, 1)), forbidden=np.zeros(4, bool),
    ...     clause_starts=np.array([0, 2]), literal_variable=np.array([0, 1], np.int32),
    ...     literal_value=np.ones(2, np.int32), literal_positive=np.ones(2, bool),
    ...     clause_rule=np.zeros(1, np.int32), multiplicity=np.ones(1),
    ...     constants=np.zeros(1), weights=np.array([np.log(2)]),
    ... )
    >>> result = exact(network)
    >>> round(float(np.exp(result.log_z)), 9), result.marginals.round(4).tolist()
    (7.0, [0.4286, 0.5714, 0.4286, 0.5714])
    """
    found = components(network)
    small = is_small(found)
    listed = enumerate_components(found, np.flatnonzero(small))
    log_z = listed.log_z
    for number in np.flatnonzero(~small).tolist():
        part = found.part(number)
        answer = eliminate(part.network, limit)
        log_z[number] = answer.log_z
        listed.marginals[part.values] = answer.marginals
        listed.satisfied[part.clauses] = answer.satisfied
    refuse_contradiction(log_z)
    return ExactResult(
        float(network.constants @ network.weights + log_z.sum()),
        listed.marginals,
        listed.satisfied,
        expected_counts(network, listed.marginals, listed.satisfied),
    )


def exact_map(network: Network, *, limit: int = DEFAULT_LIMIT) -> tuple[float, Codes]:
    """Return the log-weight of a most probable world, and that world.

    Raises the errors of `exact`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> network = Network(
    ...     cardinalities=np.full(2, 2, np.int32), unary_starts=np.arange(0, 6, 2),
    ...     unary_counts=csr_array([[0.0, 0], [0, 1], [0, 0], [0, 0]]), forbidden=np.zeros(4, bool),
    ...     clause_starts=np.array([0, 2]), literal_variable=np.array([0, 1], np.int32),
    ...     literal_value=np.ones(2, np.int32), literal_positive=np.ones(2, bool),
    ...     clause_rule=np.zeros(1, np.int32), multiplicity=np.ones(1),
    ...     constants=np.zeros(2), weights=np.array([2.0, -1.0]),
    ... )
    >>> score, world = exact_map(network)
    >>> score, world.tolist()
    (2.0, [0, 1])
    """
    found = components(network)
    small = is_small(found)
    listed = enumerate_components(found, np.flatnonzero(small), marginals=False)
    for number in np.flatnonzero(~small).tolist():
        part = found.part(number)
        listed.best[number], listed.world[part.variables] = eliminate_max(part.network, limit)
    refuse_contradiction(listed.best)
    return float(network.constants @ network.weights + listed.best.sum()), listed.world


def is_small(found: Components) -> Flags:
    """Tell which components are to be enumerated."""
    # a variable alone is always a closed form, however many values it has
    work = found.log_states + np.log2(found.sizes + found.clause_counts)
    few = (found.log_states <= np.log2(_MOST_STATES)) & (work <= np.log2(_MOST_WORK))
    small: Flags = (found.sizes == 1) | few
    return small


def refuse_contradiction(log_z: Floats) -> None:
    """Raise an error where some component has no possible world."""
    impossible = int(np.isneginf(log_z).sum())
    if impossible:
        raise InputError(
            f"the hard rules contradict each other or the evidence in {impossible} component(s) "
            "of the network: no world is possible",
            hint="give one of the hard rules a weight, or mend the evidence",
        )


def expected_counts(network: Network, marginals: Floats, satisfied: Floats) -> Floats:
    """Return the expected true groundings of each rule, given those of values and clauses."""
    soft = network.clause_rule >= 0
    clauses = np.bincount(
        network.clause_rule[soft],
        (network.multiplicity * satisfied)[soft],
        minlength=len(network.weights),
    )
    return np.asarray(network.constants + network.unary_counts.T @ marginals + clauses)
