"""Loopy belief propagation (sum-product) with messages made for clauses.

A clause is violated only where all of its literals are false, so what it tells a variable is one
number: how much less a value counts at which the variable's own literals are false. Let ``Q`` be
the probability that all *other* literals of the clause are false and ``w`` its strength; then that
number is ``log(1 - Q + Q exp(-w))``. A message thus costs time linear in the length of the clause,
hard clauses (infinite ``w``) included. Literals of one clause over the same block are taken
together, and so are the few clauses over the same variables, whose messages come from a small
table. Exact where the variables form a tree.

References
----------
Kschischang, Frey & Loeliger (2001), Factor graphs and the sum-product algorithm. IEEE Trans. IT 47.
Yedidia, Freeman & Weiss (2005), Constructing free-energy approximations. IEEE Trans. IT 51.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import bounds_of, renumbered
from mlnlearn.errors import InputError
from mlnlearn.infer.exact import expected_counts, refuse_contradiction
from mlnlearn.infer.messages import (
    LOW,
    MessageLayout,
    fill_tables,
    finish,
    gather,
    mark_false,
    sweep,
)
from mlnlearn.infer.network import Floats, Ints, Network

# Clauses over the same variables share a table, and send one message, up to this size.
_LARGEST_TABLE = 256


@dataclass(frozen=True, eq=False)
class BeliefResult:
    """What belief propagation ends with.

    Attributes
    ----------
    log_z
        The Bethe approximation of log Z.
    marginals
        Belief in each value of each variable.
    satisfied
        Belief that each clause holds.
    expected_counts
        Expected true groundings of each rule under the beliefs.
    iterations
        Sweeps over all clauses.
    residual
        Largest change of a message in the last sweep, as a probability.
    converged
        Whether the residual fell below the tolerance.
    """

    log_z: float
    marginals: Floats
    satisfied: Floats
    expected_counts: Floats
    iterations: int
    residual: float
    converged: bool


def belief_propagation(
    network: Network,
    *,
    iterations: int = 1000,
    tolerance: float = 1e-9,
    damping: float = 0.1,
) -> BeliefResult:
    """Run loopy belief propagation.

    Parameters
    ----------
    network
        Any network.
    iterations
        Most sweeps; they go forward and backward over the clauses in turn.
    tolerance
        Stop when no message changes by more than this.
    damping
        How much of the old message is kept, from 0 up to 1; more helps where messages oscillate.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> network = Network(
    ...     cardinalities=np.full(2, 2, np.int32), unary_starts=np.arange(0, 6, 2),
    ...     unary_counts=csr_array((4, 1)), forbidden=np.zeros(4, bool),
    ...     clause_starts=np.array([0, 2]), literal_variable=np.array([0, 1], np.int32),
    ...     literal_value=np.ones(2, np.int32), literal_positive=np.ones(2, bool),
    ...     clause_rule=np.zeros(1, np.int32), multiplicity=np.ones(1),
    ...     constants=np.zeros(1), weights=np.array([np.log(2)]),
    ... )
    >>> result = belief_propagation(network)
    >>> result.converged, result.marginals.round(4).tolist(), round(float(np.exp(result.log_z)), 6)
    (True, [0.4286, 0.5714, 0.4286, 0.5714], 7.0)
    """
    if not 0.0 <= damping < 1.0:
        raise InputError(f"damping must lie in [0, 1), not {damping}")
    layout = _layout(network)
    messages = np.zeros(len(layout.false))
    unary = np.maximum(network.unary, LOW)
    done, residual = 0, 0.0 if not network.clauses else np.inf
    while done < iterations and residual > tolerance:
        beliefs = gather(layout, unary, messages)
        residual = sweep(layout, beliefs, messages, damping, done % 2 == 1)
        done += 1
    beliefs = gather(layout, unary, messages)
    marginals = np.zeros(len(unary))
    satisfied = np.zeros(network.clauses)
    log_z = finish(layout, beliefs, messages, marginals, satisfied)
    if not np.isfinite(marginals).all():
        refuse_contradiction(np.full(1, -np.inf))
    return BeliefResult(
        float(log_z + network.constants @ network.weights),
        marginals,
        satisfied,
        expected_counts(network, marginals, satisfied),
        done,
        float(residual),
        bool(residual <= tolerance),
    )


def _layout(network: Network) -> MessageLayout:
    """Lay out clauses, edges and factors for the compiled messages."""
    count = max(network.variables, 1)
    clause = np.repeat(np.arange(network.clauses), np.diff(network.clause_starts))
    keys, edge = np.unique(clause * count + network.literal_variable, return_inverse=True)
    clauses, variables = np.divmod(keys, count)
    sizes = network.cardinalities[variables].astype(np.int64)
    value_starts = bounds_of(sizes)
    false = np.ones(value_starts[-1], np.bool_)
    mark_false(edge, value_starts, network.literal_value, network.literal_positive, false)
    edge_starts = bounds_of(np.bincount(clauses, minlength=network.clauses))
    factor = _factors(edge_starts, variables, sizes)
    order = np.argsort(factor, kind="stable")
    members = np.bincount(factor)
    first = order[bounds_of(members)[:-1]]
    bits = np.concatenate([[0.0], np.cumsum(np.log2(sizes))])
    bits = bits[edge_starts[1:]] - bits[edge_starts[:-1]]
    cells = np.where(members > 1, np.rint(2.0 ** np.minimum(bits[first], 40.0)), 0)
    table_starts = bounds_of(cells.astype(np.int64))
    layout = MessageLayout(
        network.unary_starts,
        edge_starts,
        variables.astype(np.int32),
        value_starts,
        false,
        network.strengths,
        bounds_of(members),
        order,
        table_starts,
        np.zeros(table_starts[-1]),
    )
    fill_tables(layout)
    return layout


def _factors(edge_starts: Ints, variables: Ints, sizes: Ints) -> Ints:
    """Return the factor of each clause: few variables with several clauses have one for all."""
    lengths = np.diff(edge_starts)
    factor = np.full(len(lengths), -1, np.int64)
    count = 0
    for length in range(1, int(np.log2(_LARGEST_TABLE)) + 1):
        clauses = np.flatnonzero(lengths == length)
        edges = edge_starts[:-1][clauses, None] + np.arange(length)
        fits = sizes[edges].prod(axis=1) <= _LARGEST_TABLE
        clauses, scopes = clauses[fits], variables[edges[fits]]
        if not len(clauses):
            continue
        order = np.lexsort(scopes.T)
        new = np.concatenate([[True], (scopes[order[1:]] != scopes[order[:-1]]).any(axis=1)])
        factor[clauses[order]] = count + np.cumsum(new) - 1
        count += int(new.sum())
    alone = factor < 0
    factor[alone] = count + np.arange(int(alone.sum()))
    return renumbered(factor)
