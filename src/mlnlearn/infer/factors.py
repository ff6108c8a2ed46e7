"""A network as a factor graph: log-tables over few variables each.

A clause is violated in one corner of its table only: where each of its variables has a value that
makes its literals false. Clauses over the same variables share a table. A long clause gets no table
of its own, which would double with every literal: it becomes a chain of small tables over auxiliary
Boolean variables "one of the first i literals holds".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from mlnlearn.infer.network import Floats, Network

# A clause whose table would have more cells than this becomes a chain.
_LONGEST_TABLE = 64

Corner: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""Variables, and for each the values that make the clause's literals over it false."""


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """Log-tables over variables, whose sum is the log-weight of a world.

    Attributes
    ----------
    cardinalities
        Number of values of each variable: first those of the network, then the auxiliary ones.
    scopes
        The variables of each table, in the order of its axes, ascending. The first tables are the
        unary potentials of the network's variables.
    tables
        The log-tables.
    places
        Per clause, the table that holds it and its corner there; None where it always holds.
    offset
        To be added to the log-weight: tables hold what violated clauses lose.
    """

    cardinalities: list[int]
    scopes: list[tuple[int, ...]]
    tables: list[Floats]
    places: list[tuple[int, Corner] | None]
    offset: float

    def violated(self, clause: int, marginals: list[Floats]) -> float:
        """Return the probability that a clause is violated, from the marginals of the tables."""
        place = self.places[clause]
        if place is None:
            return 0.0
        table, (_, values) = place
        return float(marginals[table][np.ix_(*values)].sum())


def factor_scopes(network: Network) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return the cardinalities and scopes of the factor graph, without its tables.

    Enough to plan an elimination, and much cheaper.
    """
    builder = _FactorBuilder(network.cardinalities.tolist())
    builder.add_clauses(network)
    return builder.cardinalities, list(builder.corners)


def factor_graph(network: Network) -> FactorGraph:
    """Return the factor graph of a network, without the constants of its rules.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> size = 40
    >>> network = Network(
    ...     cardinalities=np.full(size, 2, np.int32), unary_starts=np.arange(0, 2 * size + 1, 2),
    ...     unary_counts=csr_array((2 * size, 1)), forbidden=np.zeros(2 * size, bool),
    ...     clause_starts=np.array([0, size]), literal_variable=np.arange(size, dtype=np.int32),
    ...     literal_value=np.ones(size, np.int32), literal_positive=np.ones(size, bool),
    ...     clause_rule=np.zeros(1, np.int32), multiplicity=np.ones(1),
    ...     constants=np.zeros(1), weights=np.ones(1),
    ... )
    >>> max(table.size for table in factor_graph(network).tables)
    8
    """
    builder = _FactorBuilder(network.cardinalities.tolist())
    places = builder.add_clauses(network)
    unary, starts = network.unary, network.unary_starts
    scopes: list[tuple[int, ...]] = [(v,) for v in range(network.variables)]
    tables = [unary[starts[v] : starts[v + 1]] for v in range(network.variables)]
    numbers = {}
    strengths = np.append(network.strengths, np.inf)
    for scope, corners in builder.corners.items():
        numbers[scope] = len(tables)
        table = np.zeros([builder.cardinalities[v] for v in scope])
        for clause, values in corners:
            # -inf stays -inf whatever soft clauses take from it
            table[np.ix_(*values)] -= strengths[clause]
        scopes.append(scope)
        tables.append(table)
    return FactorGraph(
        builder.cardinalities,
        scopes,
        tables,
        [None if corner is None else (numbers[corner[0]], corner) for corner in places],
        float(network.strengths[network.clause_rule >= 0].sum()),
    )


@dataclass
class _FactorBuilder:
    """Collects the corners of all clauses by scope, and makes auxiliary variables on the way."""

    cardinalities: list[int]
    corners: dict[tuple[int, ...], list[tuple[int, tuple[tuple[int, ...], ...]]]] = field(
        default_factory=dict
    )

    def add_clauses(self, network: Network) -> list[Corner | None]:
        """Add every clause; return where each one's strength goes."""
        variables = network.literal_variable.tolist()
        values = network.literal_value.tolist()
        positive = network.literal_positive.tolist()
        starts = network.clause_starts.tolist()
        places: list[Corner | None] = []
        for clause in range(network.clauses):
            false: dict[int, tuple[int, ...]] = {}
            for literal in range(starts[clause], starts[clause + 1]):
                variable, value = variables[literal], values[literal]
                before = false.get(variable, range(self.cardinalities[variable]))
                # a positive literal is false at all other values, a negative one at this value
                same = not positive[literal]
                false[variable] = tuple(v for v in before if (v == value) == same)
            places.append(self._add_clause(clause, false))
        return places

    def _add_clause(self, clause: int, false: dict[int, tuple[int, ...]]) -> Corner | None:
        if not all(false.values()):
            return None
        cells = 1
        for variable in false:
            cells *= self.cardinalities[variable]
        if cells > _LONGEST_TABLE and len(false) > 2:
            false = self._chain(false)
        scope = tuple(sorted(false))
        values = tuple(false[variable] for variable in scope)
        self.corners.setdefault(scope, []).append((clause, values))
        return scope, values

    def _chain(self, false: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
        """Add the chain of all literals but the last; return what is left of the clause."""
        *rest, last = false
        previous: int | None = None
        for variable in rest:
            auxiliary = len(self.cardinalities)
            self.cardinalities.append(2)
            off = false[variable]
            on = tuple(v for v in range(self.cardinalities[variable]) if v not in off)
            impossible: list[Corner]
            if previous is None:
                impossible = [
                    ((variable, auxiliary), (off, (1,))),
                    ((variable, auxiliary), (on, (0,))),
                ]
            else:
                scope = (variable, previous, auxiliary)
                impossible = [
                    (scope, (off, (0,), (1,))),
                    (scope, (on, (0,), (0,))),
                    (scope, (off + on, (1,), (0,))),
                ]
            for found, values in impossible:
                # the strength at index -1 is infinite: the chain is a hard rule
                self.corners.setdefault(found, []).append((-1, values))
            previous = auxiliary
        assert previous is not None
        return {previous: (0,), last: false[last]}
