"""Connected components of a network: parts that can be answered on their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mlnlearn.counting.arrays import bounds_of, expand_ranges, renumbered
from mlnlearn.infer.network import Codes, Flags, Floats, Ints, Network


@dataclass(frozen=True, eq=False)
class NetworkPart:
    """A part of a network as a network of its own, without constants and atoms.

    Attributes
    ----------
    network
        The part; its rules and weights are those of the whole.
    variables, clauses
        Which variables and clauses of the whole the part's are, in order.
    values
        Where the part's values lie among the values of the whole.
    """

    network: Network
    variables: Ints
    clauses: Ints
    values: Ints


@dataclass(frozen=True, eq=False)
class Components:
    """The connected components of a network, numbered in the order of their first variable.

    Attributes
    ----------
    network
        The whole.
    label
        The component of each variable.
    variables, variable_starts
        The variables, component after component, and where each component starts.
    clauses, clause_starts
        Likewise the clauses.
    """

    network: Network
    label: Codes
    variables: Ints
    variable_starts: Ints
    clauses: Ints
    clause_starts: Ints

    def __len__(self) -> int:
        return len(self.variable_starts) - 1

    @cached_property
    def sizes(self) -> Ints:
        """Number of variables of each component."""
        return np.diff(self.variable_starts)

    @cached_property
    def clause_counts(self) -> Ints:
        """Number of clauses of each component."""
        return np.diff(self.clause_starts)

    @cached_property
    def log_states(self) -> Floats:
        """Logarithm (base 2) of the number of joint states of each component."""
        bits = np.log2(self.network.cardinalities)
        total: Floats = np.bincount(self.label, bits, minlength=len(self)).astype(np.float64)
        return total

    @cached_property
    def atom_counts(self) -> Ints:
        """Number of ground atoms of each component (of variables where the network names none)."""
        if not self.network.atoms:
            return self.sizes
        owners = np.concatenate([atoms.variable for atoms in self.network.atoms])
        return np.bincount(self.label[owners], minlength=len(self))

    def part(self, number: int) -> NetworkPart:
        """Return one component as a network."""
        return restricted(
            self.network,
            self.variables[self.variable_starts[number] : self.variable_starts[number + 1]],
            self.clauses[self.clause_starts[number] : self.clause_starts[number + 1]],
        )

    def union(self, chosen: Flags) -> NetworkPart:
        """Return some components together as one network."""
        variables = np.flatnonzero(chosen[self.label])
        owner = np.repeat(np.arange(len(self)), self.clause_counts)
        return restricted(self.network, variables, np.sort(self.clauses[chosen[owner]]))


def components(network: Network) -> Components:
    """Split a network into its connected components.

    Examples
    --------
    Two atoms under one clause, and a third alone:

    >>> from scipy.sparse import csr_array
    >>> network = Network(
    ...     cardinalities=np.full(3, 2, np.int32), unary_starts=np.arange(0, 8, 2),
    ...     unary_counts=csr_array((6, 1)), forbidden=np.zeros(6, bool),
    ...     clause_starts=np.array([0, 2]), literal_variable=np.array([0, 2], np.int32),
    ...     literal_value=np.ones(2, np.int32), literal_positive=np.ones(2, bool),
    ...     clause_rule=np.zeros(1, np.int32), multiplicity=np.ones(1),
    ...     constants=np.zeros(1), weights=np.ones(1),
    ... )
    >>> found = components(network)
    >>> found.label.tolist(), found.sizes.tolist(), found.clause_counts.tolist()
    ([0, 1, 0], [2, 1], [1, 0])
    """
    label = _labels(network)
    count = int(label.max()) + 1 if len(label) else 0
    first_literal = network.literal_variable[network.clause_starts[:-1]]
    owner = label[first_literal]
    return Components(
        network,
        label,
        np.argsort(label, kind="stable"),
        _starts(label, count),
        np.argsort(owner, kind="stable"),
        _starts(owner, count),
    )


def _labels(network: Network) -> Codes:
    """Return the component of each variable, numbered in the order of their first variables."""
    size = network.variables
    # literals that stand side by side in a clause connect all of its variables
    linked = np.ones(max(len(network.literal_variable) - 1, 0), np.bool_)
    linked[network.clause_starts[1:-1] - 1] = False
    left = network.literal_variable[:-1][linked]
    right = network.literal_variable[1:][linked]
    graph = coo_array((np.ones(len(left), np.int8), (left, right)), shape=(size, size))
    _, raw = connected_components(graph, directed=False)
    return renumbered(raw).astype(np.int32)


def _starts(owner: Codes, count: int) -> Ints:
    return bounds_of(np.bincount(owner, minlength=count))


def restricted(network: Network, variables: Ints, clauses: Ints) -> NetworkPart:
    """Return the network of some variables and of clauses over those variables alone."""
    cardinalities = network.cardinalities[variables]
    values = expand_ranges(network.unary_starts[:-1][variables], cardinalities.astype(np.int64))
    lengths = np.diff(network.clause_starts)[clauses]
    literals = expand_ranges(network.clause_starts[:-1][clauses], lengths)
    position = np.empty(network.variables, np.int32)
    position[variables] = np.arange(len(variables), dtype=np.int32)
    part = replace(
        network,
        cardinalities=cardinalities,
        unary_starts=bounds_of(cardinalities),
        unary_counts=network.unary_counts[values],
        forbidden=network.forbidden[values],
        clause_starts=bounds_of(lengths),
        literal_variable=position[network.literal_variable[literals]],
        literal_value=network.literal_value[literals],
        literal_positive=network.literal_positive[literals],
        clause_rule=network.clause_rule[clauses],
        multiplicity=network.multiplicity[clauses],
        constants=np.zeros_like(network.constants),
        atoms=(),
    )
    return NetworkPart(part, variables, clauses, values)
