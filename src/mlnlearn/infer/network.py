"""The ground network: discrete variables under weighted clauses, as flat arrays.

Every inference method reads this one form. A variable is a Boolean atom (value 1: true) or a block
of mutually exclusive atoms (one value an atom). A literal asks whether a variable has a value, or
has it not; a clause is a disjunction of literals over at least two variables; what concerns one
variable alone is a unary potential. Each clause and potential remembers the rule it comes from, so
that new weights need no new grounding and the true groundings of each rule can be read off any
world.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.formulas import Rule

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Sums of weights stay below this, so that differences of two never are infinity less infinity.
_LARGEST_SUM = 1e300


@dataclass(frozen=True, eq=False)
class GroundAtoms:
    """The unknown atoms of one predicate, and the variable and value that stands for each."""

    predicate: Predicate
    columns: Codes
    """Constant codes of the database, shape (arity, atoms)."""
    variable: Codes
    value: Codes

    def __len__(self) -> int:
        return len(self.variable)


@dataclass(frozen=True, eq=False)
class Network:
    """A log-linear model over discrete variables.

    The log-weight of a world x is

    ``constants @ weights + Σ_v unary[starts[v] + x_v] + Σ_c [clause c holds in x] · strength_c``

    where ``unary = unary_counts @ weights`` and ``strength_c = multiplicity_c · weights[rule_c]``.
    Hard clauses and values have the rule -1 and must hold.

    Attributes
    ----------
    cardinalities
        Number of values of each variable: 2 for an atom, the number of members for a block.
    unary_starts
        Where each variable's values start in the unary arrays (length: variables + 1).
    unary_counts
        Sparse matrix (values, rules): what a value adds to each rule's count.
    forbidden
        Values that hard rules exclude (length: values).
    clause_starts
        Where each clause's literals start (length: clauses + 1).
    literal_variable, literal_value, literal_positive
        The literals: is the variable's value `value` (positive) or is it not.
    clause_rule
        The rule each clause comes from; -1 for hard clauses.
    multiplicity
        How often the clause counts for its rule; negative where the rule counts its violations.
    constants
        Counts of each rule that evidence decides.
    weights
        Weight of each rule.
    atoms
        Which ground atoms the variables stand for.
    rules
        The rules that weights and counts belong to, shorthands spelt out; hard ones are not here.
    forced
        Atoms that are true because no other value of their block is left, by predicate: constant
        codes, shape (arity, atoms). They are not variables.
    """

    cardinalities: Codes
    unary_starts: Ints
    unary_counts: csr_array
    forbidden: Flags
    clause_starts: Ints
    literal_variable: Codes
    literal_value: Codes
    literal_positive: Flags
    clause_rule: Codes
    multiplicity: Floats
    constants: Floats
    weights: Floats
    atoms: tuple[GroundAtoms, ...] = ()
    rules: tuple[Rule, ...] = ()
    forced: Mapping[str, Codes] = field(default_factory=dict)

    @property
    def variables(self) -> int:
        """Number of variables."""
        return len(self.cardinalities)

    @property
    def clauses(self) -> int:
        """Number of clauses."""
        return len(self.clause_rule)

    @property
    def unary(self) -> Floats:
        """Log-potential of each value of each variable; minus infinity where it is forbidden."""
        potential = self.unary_counts @ self.weights
        return np.where(self.forbidden, -np.inf, potential)

    @property
    def strengths(self) -> Floats:
        """Weight of each clause; infinite for hard ones."""
        soft = self.multiplicity * np.append(self.weights, 0.0)[self.clause_rule]
        return np.where(self.clause_rule < 0, np.inf, soft)

    def refuse_overflow(self) -> None:
        """Refuse weights whose sum over a world is no finite number."""
        soft = self.clause_rule >= 0
        rules, times = self.clause_rule[soft], np.abs(self.multiplicity[soft])
        counts = np.abs(self.constants) + np.asarray(abs(self.unary_counts).sum(axis=0)).ravel()
        counts += np.bincount(rules, times, minlength=len(counts))
        with np.errstate(over="ignore"):
            refuse_overflow((counts * self.weights).tolist())

    def reweighted(self, weights: Floats) -> Network:
        """Return the network with other weights."""
        return replace(self, weights=np.asarray(weights, np.float64))

    def satisfied(self, world: Codes) -> Flags:
        """Tell which clauses hold in a world (one value a variable)."""
        true = (world[self.literal_variable] == self.literal_value) == self.literal_positive
        if not self.clauses:
            return np.empty(0, np.bool_)
        return np.logical_or.reduceat(true, self.clause_starts[:-1])

    def counts(self, world: Codes) -> Floats:
        """Return the number of true groundings of each rule in a world."""
        values = self.unary_starts[:-1] + world
        total: Floats = self.constants + np.asarray(self.unary_counts[values].sum(axis=0)).ravel()
        soft = self.satisfied(world) & (self.clause_rule >= 0)
        np.add.at(total, self.clause_rule[soft], self.multiplicity[soft])
        return total

    def log_weight(self, world: Codes) -> float:
        """Return the log-weight of a world, minus infinity if it is impossible."""
        values = self.unary_starts[:-1] + world
        hard = self.clause_rule < 0
        if self.forbidden[values].any() or not self.satisfied(world)[hard].all():
            return -np.inf
        return float(self.counts(world) @ self.weights)


def refuse_overflow(terms: Iterable[float]) -> None:
    """Refuse numbers whose sum is too large to be told from infinity.

    Examples
    --------
    >>> refuse_overflow([1e308, 1e308])
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputError: the weights are too large: they add up to more than 1e+300
      hint: end a rule that must hold in '.' instead of giving it a weight
    """
    total = math.fsum(min(abs(term), _LARGEST_SUM) for term in terms)
    if not total < _LARGEST_SUM:
        raise InputError(
            f"the weights are too large: they add up to more than {_LARGEST_SUM:g}",
            hint="end a rule that must hold in '.' instead of giving it a weight",
        )
