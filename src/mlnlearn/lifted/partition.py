"""Log Z of a network over given domains, as a function of the weights.

Formulas are compiled without grounding where that can be done. Where it cannot, or where the search
for a plan would take too long, the network is grounded if it is small, and summed by enumeration or
variable elimination: the same exact number by another way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import MemoryLimitError
from mlnlearn.infer.elimination import TooHardError
from mlnlearn.infer.exact import exact
from mlnlearn.infer.grounding.ground import ground
from mlnlearn.infer.network import Network
from mlnlearn.lifted.circuit import CancellationError
from mlnlearn.lifted.compile import compile_formulas, exactly_one
from mlnlearn.lifted.plan import DEFAULT_STEPS, NotLiftable, SearchBudget
from mlnlearn.logic.atoms import Comparison
from mlnlearn.logic.constants import constants_of
from mlnlearn.logic.formulas import Formula, children, variable_types
from mlnlearn.logic.schema import Schema
from mlnlearn.logic.substitute import renamed_apart
from mlnlearn.model.mln import MLN

Floats = NDArray[np.float64]

# Grounding is worth a try up to so many atoms and groundings of rules, elimination up to so many
# cells of its tables: a fraction of a second for each evaluation.
_MOST_ATOMS = 5_000
_MOST_GROUNDINGS = 200_000
_MOST_CELLS = 1 << 20
# So few atoms are enumerated in no time, so that a long search for a plan is not worth it.
_FEW_ATOMS = 14
_FEW_STEPS = 2_000

Domains = Database | Mapping[str, int]


class Partition(Protocol):
    """Log Z as a function of the weights; a `Circuit` is one."""

    def evaluate(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return log Z for each database, and the gradient of its sum."""
        ...


@dataclass(frozen=True, eq=False)
class GroundPartition:
    """Log Z of a ground network."""

    network: Network

    def evaluate(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return log Z, as an array of one, and its gradient: the expected counts."""
        answer = exact(self.network.reweighted(weights), limit=_MOST_CELLS)
        return np.array([answer.log_z]), answer.expected_counts


def partitions(
    mln: MLN,
    domains: Sequence[Domains],
    *,
    max_axes: int | None = None,
    grounding: bool = True,
) -> tuple[Partition, ...]:
    """Return what sums to the log Z of all given domains; one circuit for domains that are alike.

    Parameters
    ----------
    mln
        The network, shorthands written out; its weights do not matter.
    domains
        Databases, of which only the domains matter, or sizes of types. With sizes, constants that
        the rules name are among the objects.
    max_axes
        Most nested sums of a plan.
    grounding
        Whether to ground what cannot be lifted, where it is small.

    Raises
    ------
    NotLiftable
        Where the formulas cannot be lifted and the ground network is not small.

    Examples
    --------
    >>> mln = MLN.parse("likes(man,man)" + chr(10) + "0 likes(x,y) ^ likes(y,z) => likes(x,z)")
    >>> (partition,) = partitions(mln, [{"man": 2}])
    >>> values, expected = partition.evaluate(np.array([0.0]))
    >>> np.exp(values).round(6).tolist(), expected.round(6).tolist()
    ([16.0], [7.75])
    """
    soft = tuple(rule.formula for rule in mln.soft)
    hard = (*(rule.formula for rule in mln.hard), *exactly_one(mln.schema))
    named = {pair for formula in (*soft, *hard) for pair in constants_of(formula)}
    groups: dict[frozenset[tuple[str, str]], list[Domains]] = {}
    for known in domains:
        present = frozenset(pair for pair in named if _has(known, *pair))
        groups.setdefault(present, []).append(known)
    found: list[Partition] = []
    for present, members in groups.items():
        sizes = [_sizes(known, mln.schema) for known in members]
        largest = {kind: max(known[kind] for known in sizes) for kind in mln.schema.types}
        budget = SearchBudget(_FEW_STEPS if grounding and _is_tiny(mln, largest) else DEFAULT_STEPS)
        try:
            circuit = compile_formulas(
                mln.schema.predicates,
                soft,
                hard,
                constants=present,
                sizes=largest,
                max_axes=max_axes,
                budget=budget,
            ).bind(sizes)
            if grounding and circuit.signed:
                circuit.evaluate(np.zeros(len(soft)))  # refuses where digits cancel
            found.append(circuit)
        except (NotLiftable, CancellationError, MemoryLimitError) as problem:
            if not grounding:
                raise
            found += [_grounded(mln, known, present, problem) for known in members]
    return tuple(found)


def under_schema(database: Database, schema: Schema) -> Database:
    """Return a database with exactly the predicates, types and ``!`` markers of a schema."""
    tables = [
        {name: codes for name, codes in facts.items() if name in schema}
        for facts in (database.true, database.false, database.unknown, database.cells)
    ]
    opened = frozenset(name for name in database.open if name in schema)
    *facts, cells = tables
    return Database.from_codes(
        schema, database.domains, *facts, open=opened, name=database.name, cells=cells
    )


def _has(domains: Domains, kind: str, name: str) -> bool:
    return not isinstance(domains, Database) or name in domains.domains.get(kind, ())


def _sizes(domains: Domains, schema: Schema) -> dict[str, int]:
    if isinstance(domains, Database):
        return {kind: len(domains.domains.get(kind, ())) for kind in schema.types}
    return {kind: domains[kind] for kind in schema.types}


def _atoms(mln: MLN, sizes: Mapping[str, int]) -> int:
    return sum(prod(sizes[kind] for kind in p.types) for p in mln.schema.predicates)


def _is_tiny(mln: MLN, sizes: Mapping[str, int]) -> bool:
    return _atoms(mln, sizes) <= _FEW_ATOMS


def _grounded(
    mln: MLN,
    domains: Domains,
    named: Iterable[tuple[str, str]],
    problem: NotLiftable | CancellationError | MemoryLimitError,
) -> GroundPartition:
    """Ground a small network; otherwise raise the problem that lifted inference had."""
    sizes = _sizes(domains, mln.schema)
    unordered = not isinstance(domains, Database)
    if unordered and any(_has_order(rule.formula) for rule in mln.rules):
        raise problem
    groundings = sum(
        prod(sizes[kind] for kind in variable_types(renamed_apart(rule.formula)).values())
        for rule in mln.rules
    )
    if _atoms(mln, sizes) > _MOST_ATOMS or groundings > _MOST_GROUNDINGS:
        raise problem
    try:
        everything = [predicate.name for predicate in mln.schema.predicates]
        weightless = mln.with_weights(np.zeros(len(mln.soft)))
        partition = GroundPartition(
            ground(weightless, _without_facts(mln.schema, domains, named), everything)
        )
        partition.evaluate(np.zeros(len(mln.soft)))
    except (TooHardError, MemoryLimitError):
        raise problem from None
    return partition


def _without_facts(schema: Schema, domains: Domains, named: Iterable[tuple[str, str]]) -> Database:
    """Return a database of objects alone; those without a name get one."""
    if isinstance(domains, Database):
        return Database.from_codes(schema, domains.domains, {})
    vocabularies = {}
    for kind in schema.types:
        own = [name for other, name in sorted(named) if other == kind]
        others = (f"#{number}" for number in range(domains[kind] - len(own)))
        vocabularies[kind] = Vocabulary([*own, *others])
    return Database.from_codes(schema, vocabularies, {})


def _has_order(formula: Formula) -> bool:
    if isinstance(formula, Comparison):
        return not formula.equates
    return any(map(_has_order, children(formula)))
