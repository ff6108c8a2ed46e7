"""A network as the compiled samplers read it: both directions of clause and variable, contiguous.

Clauses are simplified on the way: literals that repeat or imply one another are dropped, and a
clause that holds in every world has no literals left and no strength. Then at most one literal of
a clause and variable is true at a time, so that counts of true literals tell who supports a clause.
Hard clauses and forbidden values get one large finite strength, larger than everything soft around
any variable, so that every kernel treats hard and soft alike and never meets an infinity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.infer.network import Codes, Floats, Ints, Network

Bytes = NDArray[np.uint8]


class Layout(NamedTuple):
    """Flat arrays of a network for the kernels.

    Attributes
    ----------
    cardinality, value_start, unary
        Number of values of each variable, where they start, and their log-potentials.
    clause_start, literal_variable, literal_value, literal_positive
        Clause → literals; literal: variable has the value (1) or has it not (0).
    strength
        Weight of each clause; `hard` for hard ones, 0 for those that always hold.
    variable_start, incident_clause, incident_value, incident_positive
        Variable → its literals, and the clause each is in.
    hard
        The strength that stands for infinity.
    """

    cardinality: Codes
    value_start: Ints
    unary: Floats
    clause_start: Ints
    literal_variable: Codes
    literal_value: Codes
    literal_positive: Bytes
    strength: Floats
    variable_start: Ints
    incident_clause: Codes
    incident_value: Codes
    incident_positive: Bytes
    hard: float


def build_layout(network: Network) -> Layout:
    """Lay a network out for the samplers.

    Examples
    --------
    Two atoms under one clause ``a v b`` of weight 2:

    >>> from scipy.sparse import csr_array
    >>> network = Network(
    ...     cardinalities=np.array([2, 2], np.int32), unary_starts=np.array([0, 2, 4]),
    ...     unary_counts=csr_array((4, 1)), forbidden=np.zeros(4, bool),
    ...     clause_starts=np.array([0, 2]), literal_variable=np.array([0, 1], np.int32),
    ...     literal_value=np.array([1, 1], np.int32), literal_positive=np.array([True, True]),
    ...     clause_rule=np.array([0], np.int32), multiplicity=np.array([1.0]),
    ...     constants=np.zeros(1), weights=np.array([2.0]))
    >>> layout = build_layout(network)
    >>> layout.incident_clause, layout.strength
    (array([0, 0], dtype=int32), array([2.]))
    """
    start, variable, value, positive, constant = _simplified(network)
    clause = np.repeat(np.arange(network.clauses, dtype=np.int32), np.diff(start))
    strength = network.strengths
    strength[constant] = 0.0
    order = np.argsort(variable, kind="stable")
    variable_start = np.zeros(network.variables + 1, np.int64)
    np.cumsum(np.bincount(variable, minlength=network.variables), out=variable_start[1:])
    unary = network.unary
    hard = _hardness(network, unary, strength, variable, clause)
    return Layout(
        cardinality=np.ascontiguousarray(network.cardinalities, np.int32),
        value_start=np.ascontiguousarray(network.unary_starts, np.int64),
        unary=np.where(np.isneginf(unary), -hard, unary),
        clause_start=start,
        literal_variable=variable,
        literal_value=value,
        literal_positive=positive,
        strength=np.where(np.isposinf(strength), hard, strength),
        variable_start=variable_start,
        incident_clause=clause[order],
        incident_value=value[order],
        incident_positive=positive[order],
        hard=hard,
    )


def _hardness(
    network: Network, unary: Floats, strength: Floats, variable: Codes, clause: Codes
) -> float:
    """Return a strength that outweighs all that is soft around any few variables."""
    soft = np.where(np.isfinite(strength), np.abs(strength), 0.0)
    around = np.bincount(variable, soft[clause], minlength=network.variables)
    potentials = np.where(np.isfinite(unary), np.abs(unary), 0.0)
    largest = around.max(initial=0.0) + 2.0 * potentials.max(initial=0.0)
    return float(2.0 ** np.ceil(np.log2(2000.0 + 100.0 * largest)))


def _simplified(
    network: Network,
) -> tuple[Ints, Codes, Codes, Bytes, NDArray[np.bool_]]:
    """Return clause starts, simplified literals, and which clauses hold in every world."""
    variable = np.ascontiguousarray(network.literal_variable, np.int32)
    value = network.literal_value.astype(np.int32)
    positive = network.literal_positive.astype(np.uint8)
    # One way to write a literal on an atom: about the value 1.
    zero = (network.cardinalities[variable] == 2) & (value == 0)
    value = np.where(zero, 1, value).astype(np.int32)
    positive = np.where(zero, 1 - positive, positive).astype(np.uint8)
    clause = np.repeat(np.arange(network.clauses, dtype=np.int64), np.diff(network.clause_starts))
    order = np.argsort(clause * max(network.variables, 1) + variable, kind="stable")
    variable, value, positive = variable[order], value[order], positive[order]
    keep, constant = _redundant(
        network.clause_starts, variable, value, positive, network.cardinalities
    )
    start = np.zeros(network.clauses + 1, np.int64)
    np.cumsum(np.bincount(clause[keep], minlength=network.clauses), out=start[1:])
    return start, variable[keep], value[keep], positive[keep], constant


@njit(cache=True)
def _redundant(clause_start, variable, value, positive, cardinality):  # type: ignore[no-untyped-def]
    """Return which literals to keep (sorted by variable in a clause), and the constant clauses."""
    keep = np.ones(len(variable), np.bool_)
    constant = np.zeros(len(clause_start) - 1, np.bool_)
    for clause in range(len(clause_start) - 1):
        end = clause_start[clause + 1]
        first = clause_start[clause]
        while first < end:
            last = first + 1
            while last < end and variable[last] == variable[first]:
                last += 1
            if last > first + 1:
                size = cardinality[variable[first]]
                constant[clause] |= _merge(first, last, value, positive, size, keep)
            first = last
        if constant[clause]:
            keep[clause_start[clause] : end] = False
    return keep, constant


@njit(cache=True)
def _merge(first, last, value, positive, size, keep):  # type: ignore[no-untyped-def]
    """Drop repeated and implied literals of one variable; return whether one is always true."""
    negative = -1
    for place in range(first, last):
        if not positive[place]:
            if negative >= 0 and value[place] != value[negative]:
                return True
            negative = place
    kept = 0
    for place in range(first, last):
        if negative >= 0:
            # "not k" is implied by every other value, and together with k leaves nothing out.
            if positive[place] and value[place] == value[negative]:
                return True
            keep[place] = place == negative
        else:
            for earlier in range(first, place):
                keep[place] &= value[earlier] != value[place]
            kept += keep[place]
    return kept == size
