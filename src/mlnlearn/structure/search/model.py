"""What a search asks of the data: the score of a clause alone, and of a network it would join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Atom, Predicate
from mlnlearn.logic.canonical import canonical
from mlnlearn.logic.clauses import Clause, as_clause
from mlnlearn.logic.formulas import Formula, Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN, unit_atom

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Alone:
    """A clause in a network with the unit clauses only.

    Attributes
    ----------
    weight
        Its weight there.
    gain
        How much the weighted pseudo-log-likelihood is above that of the unit clauses.
    held_out
        The same over databases that are left out of the fit in turn; None with a single database.
    """

    weight: float
    gain: float
    held_out: float | None

    @classmethod
    def between(cls, units: Model, longer: Model) -> Alone:
        """Compare the network of the unit clauses with the one that has a clause more."""
        gain, held_out = longer.likelihood - units.likelihood, None
        if units.held_out is not None and longer.held_out is not None:
            held_out = float((longer.held_out - units.held_out).sum())
        return cls(float(longer.weights[-1]), gain, held_out)


class Model(Protocol):
    """A network under construction, its weights fitted."""

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The soft formulas."""
        ...

    @property
    def weights(self) -> Floats:
        """Their weights."""
        ...

    @property
    def likelihood(self) -> float:
        """The weighted pseudo-log-likelihood, without the prior."""
        ...

    @property
    def held_out(self) -> Floats | None:
        """The likelihood of each database under weights fitted to the others.

        None with a single database. A clause with a predicate twice may count the *other* atoms of
        a predicate so well that an atom's own truth shows in what is missing; the likelihood of
        the data it was fitted to then rises without bound, that of other data falls.
        """
        ...

    @property
    def joint(self) -> float | None:
        """How well all atoms of a predicate are predicted together, from the other predicates.

        The sum over predicates of their atoms' mean log-probability, with the weights of
        `held_out`; None where that is not known. Pseudo-likelihood may rise by clauses that are
        of no use, or of harm, where no atom of the predicate is known.
        """
        ...

    def promise(self, clause: Clause) -> float:
        """Estimate what a clause would add to the likelihood, by the score test.

        With ``g`` the slope of the likelihood in the new weight, at zero, and ``h`` its curvature
        once the other weights have adapted, the estimate is ``g² / 2h``.
        """
        ...

    def extended(self, clause: Clause, weights: Floats | None = None) -> Self:
        """Return the network with one more clause: fitted, or with weights that are known."""
        ...

    def without(self, numbers: Sequence[int], weights: Floats | None = None) -> Self:
        """Return the network without some formulas: fitted, or with weights that are known."""
        ...


class Scorer(Protocol):
    """Scores clauses on some databases."""

    def alone(self, clause: Clause) -> Alone | None:
        """Score a clause beside the unit clauses; None where it is too large to count."""
        ...

    def true_instances(self, clause: Clause) -> float:
        """Return the number of true groundings of a clause, over all databases."""
        ...

    def start(self) -> Model:
        """Return the network of the unit clauses and the given formulas, fitted."""
        ...


@dataclass(frozen=True)
class Background:
    """What a search starts from: unit clauses, then the formulas of a given network.

    The unit clauses are all clauses of a single atom: with distinct variables, and with one
    variable at two places of a type. The latter let a network know which relations are reflexive.

    Attributes
    ----------
    schema
        The predicates.
    rules
        All rules; those that are soft have a weight.
    """

    schema: Schema
    rules: tuple[Rule, ...]

    @classmethod
    def of(cls, databases: Sequence[Database], mln: MLN | None) -> Background:
        """Put the unit clauses in front of a network's rules, which are written out."""
        schema = databases[0].schema
        if mln is not None and mln.schema.predicates != schema.predicates:
            raise InputError(
                "the network to start from has other predicates than the data",
                hint="read the databases with the schema of the network",
            )
        names: dict[str, dict[str, None]] = {kind: {} for kind in schema.types}
        for database in databases:
            for kind, known in database.domains.items():
                names.setdefault(kind, {}).update(dict.fromkeys(known))
        given = MLN(schema) if mln is None else mln
        full = given.expanded({kind: tuple(known) for kind, known in names.items()})
        present = {_canonical(rule.formula) for rule in full.rules}
        added = tuple(
            Rule(unit, weight=0.0)
            for unit in unit_clauses(schema)
            if _canonical(unit) not in present
        )
        return cls(schema, added + full.rules)

    @property
    def soft(self) -> tuple[Rule, ...]:
        """The rules with a weight."""
        return tuple(rule for rule in self.rules if not rule.hard)

    @property
    def hard(self) -> tuple[Formula, ...]:
        """The formulas that must hold."""
        return tuple(rule.formula for rule in self.rules if rule.hard)

    def network(self, model: Model) -> MLN:
        """Return a model as a network: soft rules with their weights, then the hard ones."""
        locked = {rule.formula for rule in self.soft if rule.locked}
        soft = tuple(
            Rule(formula, weight=float(weight), locked=formula in locked)
            for formula, weight in zip(model.formulas, model.weights, strict=True)
        )
        return MLN(self.schema, soft + tuple(rule for rule in self.rules if rule.hard))


def unit_clauses(schema: Schema) -> Iterator[Atom]:
    """Yield all clauses of a single atom: distinct variables, then one variable at two places.

    Examples
    --------
    >>> print(*unit_clauses(Schema.of("smokes(person)", "friends(person,person)")))
    smokes(a1) friends(a1,a2) friends(a1,a1)
    """
    yield from map(unit_atom, schema.predicates)
    for predicate in schema.predicates:
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
