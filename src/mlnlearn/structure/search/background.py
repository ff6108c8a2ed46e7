"""What a search starts from: unit clauses, and the formulas of a given network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Atom, Predicate
from mlnlearn.logic.canonical import canonical
from mlnlearn.logic.clauses import Clause, as_clause
from mlnlearn.logic.formulas import Formula, Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN, unit_atom


@dataclass(frozen=True)
class Background:
    """What a search starts from: unit clauses, then the formulas of a given network.

    The unit clauses are all clauses of a single atom: with distinct variables, and, unless told
    otherwise, with one variable at two places of a type. The latter let a network know which
    relations are reflexive.

    Attributes
    ----------
    schema
        The predicates.
    rules
        All rules; those that are soft have a weight.
    only
        Names of the predicates whose likelihood counts, the others taken as known; None for all.
    reflexive
        Whether there are unit clauses with one variable at two places.
    """

    schema: Schema
    rules: tuple[Rule, ...]
    only: tuple[str, ...] | None = None
    reflexive: bool = True

    @classmethod
    def of(
        cls,
        databases: Sequence[Database],
        mln: MLN | None,
        only: tuple[str, ...] | None = None,
        *,
        reflexive: bool = True,
    ) -> Background:
        """Put the unit clauses in front of a network's rules, which are written out."""
        schema = databases[0].schema
        for name in only or ():
            schema[name]
        if mln is not None and mln.schema.predicates != schema.predicates:
            raise InputError(
                "the network to start from has other predicates than the data",
                hint="read the databases with the schema of the network",
            )
        constants: dict[str, dict[str, None]] = {kind: {} for kind in schema.types}
        for database in databases:
            for kind, known in database.domains.items():
                constants.setdefault(kind, {}).update(dict.fromkeys(known))
        given = MLN(schema) if mln is None else mln
        full = given.expanded({kind: tuple(known) for kind, known in constants.items()})
        present = {_canonical(rule.formula) for rule in full.rules}
        added = tuple(
            Rule(unit, weight=0.0)
            for unit in unit_clauses(schema, reflexive=reflexive)
            if _canonical(unit) not in present and (only is None or unit.predicate.name in only)
        )
        return cls(schema, added + full.rules, only, reflexive)

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the predicates whose likelihood counts."""
        every = tuple(predicate.name for predicate in self.schema.predicates)
        return every if self.only is None else self.only

    @property
    def soft(self) -> tuple[Rule, ...]:
        """The rules with a weight."""
        return tuple(rule for rule in self.rules if not rule.hard)

    @property
    def hard(self) -> tuple[Formula, ...]:
        """The formulas that must hold."""
        return tuple(rule.formula for rule in self.rules if rule.hard)

    def network(self, formulas: Iterable[Formula], weights: Iterable[float]) -> MLN:
        """Return a network of soft formulas with their weights, then the hard ones."""
        locked = {rule.formula for rule in self.soft if rule.locked}
        soft = tuple(
            Rule(formula, weight=float(weight), locked=formula in locked)
            for formula, weight in zip(formulas, weights, strict=True)
        )
        return MLN(self.schema, soft + tuple(rule for rule in self.rules if rule.hard))


def unit_clauses(schema: Schema, *, reflexive: bool = True) -> Iterator[Atom]:
    """Yield all clauses of a single atom: distinct variables, then one variable at two places.

    Examples
    --------
    >>> print(*unit_clauses(Schema.of("smokes(person)", "friends(person,person)")))
    smokes(a1) friends(a1,a2) friends(a1,a1)
    """
    yield from map(unit_atom, schema.predicates)
    for predicate in schema.predicates if reflexive else ():
        terms = unit_atom(predicate).terms
        for first, second in repeated_places(predicate):
            yield Atom(
                predicate, tuple(t if p != second else terms[first] for p, t in enumerate(terms))
            )


def repeated_places(predicate: Predicate) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a predicate's places that have the same type."""
    for first, second in combinations(range(predicate.arity), 2):
        if predicate.types[first] == predicate.types[second]:
            yield first, second


def _canonical(formula: Formula) -> Clause | Formula:
    found = as_clause(formula)
    return formula if found is None else canonical(found)
