"""Compiled messages of belief propagation: between factors and the values of their variables.

A factor is one clause, or all clauses over the same variables. A message of a factor to a variable
is a log-number for each value, the largest of them zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlnlearn.compiled import njit
from mlnlearn.infer.network import Codes, Flags, Floats, Ints

# Stands for minus infinity: finite, so that a message can be taken back out of a sum.
LOW = -1e6


class MessageLayout(NamedTuple):
    """Clauses, edges and factors as flat arrays.

    An edge is a clause with one of its variables; a clause's edges are sorted by variable. The
    messages of a factor live on the edges of its first clause.

    Attributes
    ----------
    unary_starts
        Where each variable's values start in the beliefs.
    edge_starts
        Where each clause's edges start.
    variable
        The variable of each edge.
    value_starts
        Where each edge's values start among all edges' values.
    false
        For each value of an edge: are all literals of the clause over that variable false there?
    strengths
        Strength of each clause; infinite for hard ones.
    factor_starts, factor_clauses
        The clauses of each factor.
    table_starts, tables
        The log-table of each factor of several clauses; a factor of one clause has none.
    """

    unary_starts: Ints
    edge_starts: Ints
    variable: Codes
    value_starts: Ints
    false: Flags
    strengths: Floats
    factor_starts: Ints
    factor_clauses: Ints
    table_starts: Ints
    tables: Floats


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def mark_false(edge, value_starts, value, positive, false):  # type: ignore[no-untyped-def]
    """Clear the flag of every value at which some literal of the edge is true."""
    for literal in range(len(edge)):
        first = value_starts[edge[literal]]
        for place in range(first, value_starts[edge[literal] + 1]):
            if (place - first == value[literal]) == positive[literal]:
                false[place] = False


@njit(cache=True)
def fill_tables(layout):  # type: ignore[no-untyped-def]
    """Write what violated clauses lose into the tables of their factors."""
    for factor in range(len(layout.factor_starts) - 1):
        table = layout.tables[layout.table_starts[factor] : layout.table_starts[factor + 1]]
        for place in range(layout.factor_starts[factor], layout.factor_starts[factor + 1]):
            clause = layout.factor_clauses[place]
            for cell in range(len(table)):
                if _violated(layout, clause, cell):
                    table[cell] -= layout.strengths[clause]


@njit(cache=True)
def _violated(layout, clause, cell):  # type: ignore[no-untyped-def]
    """Tell whether a clause is violated in a cell of its factor's table (last variable fastest)."""
    for edge in range(layout.edge_starts[clause + 1] - 1, layout.edge_starts[clause] - 1, -1):
        start = layout.value_starts[edge]
        size = layout.value_starts[edge + 1] - start
        if not layout.false[start + cell % size]:
            return False
        cell //= size
    return True


@njit(cache=True)
def gather(layout, unary, messages):  # type: ignore[no-untyped-def]
    """Return the log-belief of each value: its potential and all messages to it."""
    beliefs = unary.copy()
    for edge in range(len(layout.variable)):
        first = layout.unary_starts[layout.variable[edge]]
        start = layout.value_starts[edge]
        for place in range(start, layout.value_starts[edge + 1]):
            beliefs[first + place - start] += messages[place]
    return beliefs


@njit(cache=True)
def _renew(layout, beliefs, messages, edge, fresh, damping):  # type: ignore[no-untyped-def]
    """Replace the message on an edge, damped, and return by how much it changed."""
    first = layout.unary_starts[layout.variable[edge]]
    start = layout.value_starts[edge]
    top = fresh.max()
    change = 0.0
    for value in range(len(fresh)):
        old, new = messages[start + value], max(fresh[value] - top, LOW)
        change = max(change, abs(np.exp(new) - np.exp(old)))
        messages[start + value] = damping * old + (1.0 - damping) * new
        beliefs[first + value] += messages[start + value] - old
    return change


@njit(cache=True)
def _sides(layout, beliefs, messages, edge):  # type: ignore[no-untyped-def]
    """Return log-sums of the cavity beliefs over an edge's false values and over all its values."""
    first = layout.unary_starts[layout.variable[edge]]
    start = layout.value_starts[edge]
    off, on = -np.inf, -np.inf
    for place in range(start, layout.value_starts[edge + 1]):
        cavity = beliefs[first + place - start] - messages[place]
        if layout.false[place]:
            off = np.logaddexp(off, cavity)
        else:
            on = np.logaddexp(on, cavity)
    return off, np.logaddexp(off, on)


@njit(cache=True)
def _loss(log_false, strength):  # type: ignore[no-untyped-def]
    """Return log(1 - Q + Q exp(-w)) from log Q, not below `LOW`."""
    if log_false == -np.inf:
        return 0.0
    if strength > 0.0:
        return max(np.log1p(np.exp(log_false) * np.expm1(-strength)), LOW)
    rest = np.log(-np.expm1(log_false)) if log_false < 0.0 else -np.inf
    return np.logaddexp(rest, log_false - strength)


@njit(cache=True)
def _clause_messages(layout, beliefs, messages, clause, damping):  # type: ignore[no-untyped-def]
    """Renew all messages of one clause in time linear in its length."""
    first, last = layout.edge_starts[clause], layout.edge_starts[clause + 1]
    size = last - first
    false, after = np.empty(size), np.zeros(size + 1)
    for place in range(size - 1, -1, -1):
        off, total = _sides(layout, beliefs, messages, first + place)
        false[place] = off - total
        after[place] = after[place + 1] + false[place]
    before, change = 0.0, 0.0
    for place in range(size):
        edge = first + place
        loss = _loss(min(before + after[place + 1], 0.0), layout.strengths[clause])
        before += false[place]
        own = layout.false[layout.value_starts[edge] : layout.value_starts[edge + 1]]
        fresh = np.where(own, loss, 0.0)
        change = max(change, _renew(layout, beliefs, messages, edge, fresh, damping))
    return change


@njit(cache=True)
def _cells(layout, beliefs, messages, clause, table):  # type: ignore[no-untyped-def]
    """Return the log-weight of each cell of a factor under the cavity beliefs, and those."""
    first, last = layout.edge_starts[clause], layout.edge_starts[clause + 1]
    base = layout.value_starts[first]
    cavity = np.empty(layout.value_starts[last] - base)
    for edge in range(first, last):
        own = layout.unary_starts[layout.variable[edge]]
        start = layout.value_starts[edge]
        _, total = _sides(layout, beliefs, messages, edge)
        for place in range(start, layout.value_starts[edge + 1]):
            cavity[place - base] = beliefs[own + place - start] - messages[place] - total
    cells = table.copy()
    for cell in range(len(cells)):
        rest = cell
        for edge in range(last - 1, first - 1, -1):
            start = layout.value_starts[edge]
            size = layout.value_starts[edge + 1] - start
            cells[cell] += cavity[start - base + rest % size]
            rest //= size
    return cells, cavity


@njit(cache=True)
def _table_messages(layout, beliefs, messages, clause, table, damping):  # type: ignore[no-untyped-def]
    """Renew all messages of a factor with a table."""
    first, last = layout.edge_starts[clause], layout.edge_starts[clause + 1]
    base = layout.value_starts[first]
    cells, cavity = _cells(layout, beliefs, messages, clause, table)
    fresh = np.full(len(cavity), -np.inf)
    for cell in range(len(cells)):
        rest = cell
        for edge in range(last - 1, first - 1, -1):
            start = layout.value_starts[edge]
            size = layout.value_starts[edge + 1] - start
            place = start - base + rest % size
            fresh[place] = np.logaddexp(fresh[place], cells[cell] - cavity[place])
            rest //= size
    change = 0.0
    for edge in range(first, last):
        own = fresh[layout.value_starts[edge] - base : layout.value_starts[edge + 1] - base]
        change = max(change, _renew(layout, beliefs, messages, edge, own, damping))
    return change


@njit(cache=True)
def sweep(layout, beliefs, messages, damping, backward):  # type: ignore[no-untyped-def]
    """Renew the messages of all factors in turn; return the largest change of one."""
    factors = len(layout.factor_starts) - 1
    residual = 0.0
    for step in range(factors):
        factor = factors - 1 - step if backward else step
        clause = layout.factor_clauses[layout.factor_starts[factor]]
        table = layout.tables[layout.table_starts[factor] : layout.table_starts[factor + 1]]
        if len(table):
            change = _table_messages(layout, beliefs, messages, clause, table, damping)
        else:
            change = _clause_messages(layout, beliefs, messages, clause, damping)
        residual = max(residual, change)
    return residual


@njit(cache=True)
def finish(layout, beliefs, messages, marginals, satisfied):  # type: ignore[no-untyped-def]
    """Fill in the beliefs of values and clauses; return the Bethe approximation of log Z."""
    log_z = 0.0
    for variable in range(len(layout.unary_starts) - 1):
        start, stop = layout.unary_starts[variable], layout.unary_starts[variable + 1]
        top = beliefs[start:stop].max()
        own = np.exp(beliefs[start:stop] - top)
        marginals[start:stop] = own / own.sum()
        log_z += top + np.log(own.sum())
    for factor in range(len(layout.factor_starts) - 1):
        first, last = layout.factor_starts[factor], layout.factor_starts[factor + 1]
        clauses = layout.factor_clauses[first:last]
        table = layout.tables[layout.table_starts[factor] : layout.table_starts[factor + 1]]
        log_z -= _edge_terms(layout, beliefs, messages, clauses[0])
        if len(table):
            cells, _ = _cells(layout, beliefs, messages, clauses[0], table)
            log_z += _table_beliefs(layout, clauses, cells, satisfied)
        else:
            log_z += _clause_belief(layout, beliefs, messages, clauses[0], satisfied)
        for clause in clauses:
            if layout.strengths[clause] != np.inf:
                log_z += layout.strengths[clause]
    return log_z


@njit(cache=True)
def _edge_terms(layout, beliefs, messages, clause):  # type: ignore[no-untyped-def]
    """Return what the Bethe sum counts twice: the factor's messages under the cavity beliefs."""
    terms = 0.0
    for edge in range(layout.edge_starts[clause], layout.edge_starts[clause + 1]):
        first = layout.unary_starts[layout.variable[edge]]
        start, stop = layout.value_starts[edge], layout.value_starts[edge + 1]
        full = -np.inf
        for place in range(start, stop):
            full = np.logaddexp(full, beliefs[first + place - start])
        _, cavity = _sides(layout, beliefs, messages, edge)
        terms += full - cavity
    return terms


@njit(cache=True)
def _table_beliefs(layout, clauses, cells, satisfied):  # type: ignore[no-untyped-def]
    top = cells.max()
    total = top + np.log(np.exp(cells - top).sum())
    for clause in clauses:
        for cell in range(len(cells)):
            if not _violated(layout, clause, cell):
                satisfied[clause] += np.exp(cells[cell] - total)
    return total


@njit(cache=True)
def _clause_belief(layout, beliefs, messages, clause, satisfied):  # type: ignore[no-untyped-def]
    log_false = 0.0
    for edge in range(layout.edge_starts[clause], layout.edge_starts[clause + 1]):
        off, total = _sides(layout, beliefs, messages, edge)
        log_false += off - total
    holds = np.log(-np.expm1(log_false)) if log_false < 0.0 else -np.inf
    total = np.logaddexp(holds, log_false - layout.strengths[clause])
    satisfied[clause] = np.exp(holds - total)
    return total
