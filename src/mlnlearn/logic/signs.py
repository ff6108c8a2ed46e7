"""A pass over formulas that pushes negations down to the atoms, each part worked out once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.atoms import Atom, Comparison, Literal
from mlnlearn.logic.fold import truth_of
from mlnlearn.logic.formulas import And, EitherSign, Exists, Forall, Formula, Iff, Implies, Not, Or

LiteralSets = tuple[tuple[Literal, ...], ...]
"""Conjunctions or disjunctions of literals."""
SignedFormula = tuple[Formula, bool]
"""A formula, and whether it is asserted."""


class SignedPass(ABC):
    """Sets of literals for every part of a formula and sign; what a set means, subclasses say.

    Parameters
    ----------
    limit
        The most sets that may stand at any point of the work.
    """

    unit: str
    """What sets of literals are, in messages."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.known: dict[SignedFormula, LiteralSets] = {}

    def of(self, formula: Formula, positive: bool) -> LiteralSets:
        """Return the sets of a formula, or of its negation."""
        key = (formula, positive)
        if key not in self.known:
            self.known[key] = self._expanded(formula, positive)
        return self.known[key]

    @abstractmethod
    def conjunction(self, parts: Sequence[SignedFormula]) -> LiteralSets:
        """Return the sets of a conjunction."""

    @abstractmethod
    def disjunction(self, parts: Sequence[SignedFormula]) -> LiteralSets:
        """Return the sets of a disjunction."""

    @abstractmethod
    def equivalence(self, left: Formula, right: Formula, positive: bool) -> LiteralSets:
        """Return the sets of an equivalence, or of its negation."""

    def refuse_above(self, size: int) -> None:
        """Refuse more sets than there may be."""
        if size > self.limit:
            raise self.refusal(size)

    def refusal(self, size: int) -> MemoryLimitError:
        """Return the error of a formula with so many sets."""
        return MemoryLimitError(
            f"a formula falls apart into {size} {self.unit} or more; the limit is {self.limit}",
            hint="split it, or quantify over smaller types; [ … ] keeps a formula whole",
        )

    def _expanded(self, formula: Formula, positive: bool) -> LiteralSets:
        match formula:
            case Comparison() if (truth := truth_of(formula)) is not None:
                return self.conjunction(()) if truth == positive else self.disjunction(())
            case Atom() | Comparison():
                return ((Literal(formula, positive),),)
            case Not(part):
                return self.of(part, not positive)
            case And(parts) | Or(parts):
                signed = [(part, positive) for part in parts]
                return (
                    self.conjunction(signed)
                    if isinstance(formula, And) == positive
                    else self.disjunction(signed)
                )
            case Implies(left, right):
                signed = [(left, not positive), (right, positive)]
                return self.disjunction(signed) if positive else self.conjunction(signed)
            case Iff(left, right):
                return self.equivalence(left, right, positive)
            case Exists() | Forall():
                raise InputError(
                    f"{formula} has a quantifier, so it is no finite set of {self.unit}",
                    hint="spell it out over the constants first (ground_quantifiers)",
                )
            case EitherSign():
                raise InputError(
                    f"{formula} stands for two formulas and has no normal form",
                    hint="expand the rule first (expand_rule)",
                )
