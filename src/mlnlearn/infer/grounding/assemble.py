"""From literals of groundings to a network: simplify, merge equal clauses, lay out flat.

A literal is one number: twice the place of its value among all values of all variables, plus one if
it is positive. Literals of one variable then are neighbours in sorted order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from mlnlearn.counting.arrays import bounds_of, expand_ranges
from mlnlearn.errors import MemoryLimitError
from mlnlearn.infer.grounding.worlds import World
from mlnlearn.infer.network import Codes, Flags, Floats, Ints, Network
from mlnlearn.logic.formulas import Rule

HARD = -1
"""The owner of hard clauses."""
MOST_LITERALS = 1 << 26
"""Literals of all ground clauses together; so many take about six gigabytes on the way."""


@dataclass(frozen=True, slots=True)
class _Clauses:
    """Clauses of equal length: their rules, sorted literals, and how often each counts."""

    owners: Codes
    literals: Codes
    counts: Floats


class Assembler:
    """Collects ground clauses of rules, one rule after the other, and makes the network.

    Parameters
    ----------
    world
        The variables.
    rules
        The soft rules; their numbers are the owners of clauses.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.infer.grounding.worlds import world_of
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("smokes(person)")
    >>> db = Database.from_facts(schema, {}, domains={"person": ["Anna", "Bob"]})
    >>> rule = Rule(schema["smokes"]("x"), 1.5)
    >>> assembler = Assembler(world_of(db, ["smokes"], ["smokes"]), [rule])
    >>> owners, rows = np.zeros(2, np.int64), np.arange(2)
    >>> assembler.add(owners, rows, np.array([3, 7]), np.ones(2))  # smokes(Anna), smokes(Bob)
    >>> assembler.finish_rule()
    >>> assembler.network().unary.tolist()
    [0.0, 1.5, 0.0, 1.5]
    """

    def __init__(self, world: World, rules: Sequence[Rule]) -> None:
        self.world = world
        self.rules = tuple(rules)
        self.starts = world.starts
        self.constants: Floats = np.zeros(len(rules))
        self.forbidden: Flags = np.zeros(int(self.starts[-1]), np.bool_)
        variables = np.arange(len(world.cardinalities), dtype=np.int32)
        self._variable_of = np.repeat(variables, world.cardinalities)
        self._unary: list[tuple[Ints, Ints, Floats]] = []
        self._pending: dict[int, list[_Clauses]] = {}
        self._clauses: list[_Clauses] = []
        self._literals = 0

    def add(self, owners: Ints, rows: Ints, literals: Ints, counts: Floats) -> None:
        """Add ground clauses of one rule.

        Parameters
        ----------
        owners
            The rule of each clause, or `HARD`.
        rows, literals
            The clause that each literal belongs to, and the literal; every clause has one at least.
        counts
            How often each clause counts.

        Raises
        ------
        MemoryLimitError
            Where all clauses together would have more than `MOST_LITERALS` literals.
        """
        clauses, literals = self._simplified(owners, rows, literals, counts)
        variables = self._variable_of[literals >> 1]
        changes = np.flatnonzero((variables[1:] != variables[:-1]) & (clauses[1:] == clauses[:-1]))
        several = np.zeros(len(owners), np.bool_)
        several[clauses[changes]] = True
        alone = ~several[clauses]
        hard = len(owners) > 0 and owners[0] == HARD
        if hard:
            self._forbid(clauses[alone], literals[alone])
        else:
            self._add_unary(owners[clauses[alone]], literals[alone], counts[clauses[alone]])
        lengths = np.where(several, np.bincount(clauses, minlength=len(owners)), 0)
        for length in np.unique(lengths[several]).tolist():
            chosen = lengths == length
            matrix = literals[chosen[clauses]].reshape(-1, length).astype(np.int32)
            own = owners[chosen].astype(np.int32)
            self._pending.setdefault(length, []).append(_Clauses(own, matrix, counts[chosen]))
            self._literals += matrix.size
        if self._literals > MOST_LITERALS:
            raise MemoryLimitError(f"ground clauses of more than {MOST_LITERALS:,} literals")

    def _simplified(
        self, owners: Ints, rows: Ints, literals: Ints, counts: Floats
    ) -> tuple[Ints, Ints]:
        """Sort and merge the literals of each clause; clauses that always hold become constants."""
        span = 2 * max(len(self.forbidden), 1)
        keys = np.sort(rows * span + literals)
        distinct = np.ones(len(keys), np.bool_)
        distinct[1:] = keys[1:] != keys[:-1]
        rows, literals = np.divmod(keys[distinct], span)
        variables = self._variable_of[literals >> 1]
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = (rows[1:] != rows[:-1]) | (variables[1:] != variables[:-1])
        if begins.all():
            return rows, literals
        runs = np.cumsum(begins) - 1
        firsts = np.flatnonzero(begins)
        positive = (literals & 1).astype(np.int64)
        asserted = np.bincount(runs, positive)
        denied = np.bincount(runs, 1 - positive)
        # P v !P, x != 1 v x != 2, or every value of a block
        holds = (denied > 1) | (asserted == self.world.cardinalities[variables[firsts]])
        opposed = (literals[1:] ^ literals[:-1] == 1) & ~begins[1:]
        holds[runs[1:][opposed]] = True
        true_rows = np.zeros(len(owners), np.bool_)
        true_rows[rows[firsts[holds]]] = True
        soft = true_rows & (owners != HARD)
        np.add.at(self.constants, owners[soft], counts[soft])
        # x = 1 v x != 2 is x != 2
        redundant = (positive == 1) & (denied[runs] > 0)
        keep = ~true_rows[rows] & ~redundant
        return rows[keep], literals[keep]

    def _add_unary(self, owners: Ints, literals: Ints, counts: Floats) -> None:
        """Add soft clauses of one variable; where a value is denied, all others count."""
        places, denied = literals >> 1, (literals & 1) == 0
        variables = self._variable_of[places]
        boolean = self.world.cardinalities[variables] == 2
        other = 2 * self.starts[variables] + 1 - places
        minus = denied & ~boolean
        np.add.at(self.constants, owners[minus], counts[minus])
        chosen = np.where(denied & boolean, other, places)
        self._unary.append((chosen, owners, np.where(minus, -counts, counts)))

    def _forbid(self, clauses: Ints, literals: Ints) -> None:
        """Exclude the values that hard clauses of one variable leave out."""
        places, denied = literals >> 1, (literals & 1) == 0
        self.forbidden[places[denied]] = True
        clauses, places = clauses[~denied], places[~denied]
        firsts = np.flatnonzero(np.diff(clauses, prepend=-1))
        variables = self._variable_of[places[firsts]]
        lengths = self.world.cardinalities[variables].astype(np.int64)
        values = expand_ranges(self.starts[variables], lengths)
        span = len(self.forbidden)
        listed = clauses * span + places
        excluded = ~np.isin(np.repeat(clauses[firsts], lengths) * span + values, listed)
        self.forbidden[values[excluded]] = True

    def impossible_variable(self) -> int | None:
        """Return a variable of which hard rules leave no value, if there is one."""
        left = np.bincount(
            self._variable_of[~self.forbidden], minlength=len(self.world.cardinalities)
        )
        return int(np.argmin(left)) if len(left) and not left.all() else None

    def finish_rule(self) -> None:
        """Merge equal clauses of the rule whose clauses were added last."""
        for _, parts in sorted(self._pending.items()):
            self._clauses.append(_merged(parts))
        self._pending = {}

    def network(self) -> Network:
        """Lay out all clauses in flat arrays."""
        groups = [group for group in self._clauses if len(group.owners)]
        widths = [np.full(len(g.owners), g.literals.shape[1], np.int64) for g in groups]
        literals = _concatenated([group.literals.reshape(-1) for group in groups], np.int32)
        owners = _concatenated([group.owners for group in groups], np.int32)
        counts = _concatenated([group.counts for group in groups], np.float64)
        places = literals >> 1
        variables = self._variable_of[places]
        return Network(
            cardinalities=self.world.cardinalities,
            unary_starts=self.starts,
            unary_counts=self._unary_counts(),
            forbidden=self.forbidden,
            clause_starts=bounds_of(_concatenated(widths, np.int64)),
            literal_variable=variables,
            literal_value=(places - self.starts[variables]).astype(np.int32),
            literal_positive=(literals & 1).astype(np.bool_),
            clause_rule=owners,
            multiplicity=np.where(owners == HARD, 1.0, counts),
            constants=self.constants,
            weights=np.array([rule.weight for rule in self.rules], np.float64),
            atoms=self.world.atoms,
            rules=self.rules,
            forced=self.world.forced,
        )

    def _unary_counts(self) -> csr_array:
        places = _concatenated([part[0] for part in self._unary], np.int64)
        owners = _concatenated([part[1] for part in self._unary], np.int64)
        counts = _concatenated([part[2] for part in self._unary], np.float64)
        shape = (len(self.forbidden), len(self.rules))
        summed = coo_array((counts, (places, owners)), shape=shape).tocsr()
        summed.eliminate_zeros()
        return summed


def _concatenated(parts: Sequence[np.ndarray[Any, Any]], kind: type) -> Any:
    return np.concatenate([np.empty(0, kind), *parts]).astype(kind, copy=False)


def _merged(parts: Sequence[_Clauses]) -> _Clauses:
    """Add up the counts of equal clauses, in order of first occurrence; drop those that cancel.

    Rows are brought together by a hash. Where different rows share a hash, equal ones may stay
    apart: the network is then right all the same, only not as short as it could be.
    """
    owners = np.concatenate([part.owners for part in parts])
    literals = np.concatenate([part.literals for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    hashes = owners.astype(np.uint64)
    for column in literals.T:
        hashes = (hashes ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    if len(order) > 1 and not (ordered[1:] == ordered[:-1]).any():
        return _Clauses(owners, literals, counts)
    previous, following = order[:-1], order[1:]
    same = (ordered[1:] == ordered[:-1]) & (owners[following] == owners[previous])
    same[same] = (literals[following[same]] == literals[previous[same]]).all(axis=1)
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    sums = np.add.reduceat(counts[order], starts)
    kept = np.flatnonzero(sums != 0)
    chosen = order[starts[kept]]
    by_first = np.argsort(chosen)
    chosen = chosen[by_first]
    merged = sums[kept][by_first]
    return _Clauses(owners[chosen], literals[chosen], merged)
