"""Clauses: disjunctions of literals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Atom, Comparison, Literal, Variable
from mlnlearn.logic.formulas import And, Formula, Implies, Not, Or


@dataclass(frozen=True, slots=True)
class Clause:
    """A disjunction of distinct literals, in the order given.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> smokes = Predicate("smokes", ("person",))
    >>> friends = Predicate("friends", ("person", "person"))
    >>> print(clause(~Literal(smokes("x")), ~Literal(friends("x", "y")), Literal(smokes("y"))))
    !smokes(x) v !friends(x,y) v smokes(y)
    """

    literals: tuple[Literal, ...]

    def __iter__(self) -> Iterator[Literal]:
        return iter(self.literals)

    def __len__(self) -> int:
        return len(self.literals)

    def __str__(self) -> str:
        return " v ".join(map(str, self.literals))

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Variables in order of first occurrence."""
        found: dict[Variable, None] = {}
        for literal in self.literals:
            found.update((t, None) for t in literal.atom.terms if isinstance(t, Variable))
        return tuple(found)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The atoms that are no comparisons, asserted or denied."""
        return tuple(lit.atom for lit in self.literals if isinstance(lit.atom, Atom))

    @property
    def is_plain(self) -> bool:
        """Whether it has predicates and variables only, no constants and no comparisons."""
        return len(self.atoms) == len(self) and all(
            isinstance(term, Variable) for atom in self.atoms for term in atom.terms
        )

    @property
    def formula(self) -> Formula:
        """The clause as a formula."""
        parts = tuple(lit.atom if lit.positive else Not(lit.atom) for lit in self.literals)
        if not parts:
            raise InputError("an empty clause is not a formula")
        return parts[0] if len(parts) == 1 else Or(parts)


def clause(*literals: Literal | Atom | Comparison) -> Clause:
    """Build a clause from literals or atoms, dropping repeats."""
    wrapped = (item if isinstance(item, Literal) else Literal(item) for item in literals)
    return Clause(tuple(dict.fromkeys(wrapped)))


def as_clause(formula: Formula) -> Clause | None:
    """Read a formula as a clause where it is one as written (``v``, ``=>``), else None."""
    literals = list(_disjuncts(formula))
    if any(literal is None for literal in literals):
        return None
    return clause(*(literal for literal in literals if literal is not None))


def _disjuncts(formula: Formula, positive: bool = True) -> Iterable[Literal | None]:
    match formula:
        case Atom() | Comparison():
            yield Literal(formula, positive)
        case Not(part):
            yield from _disjuncts(part, not positive)
        case Or(parts) if positive:
            for part in parts:
                yield from _disjuncts(part)
        case And(parts) if not positive:
            for part in parts:
                yield from _disjuncts(part, positive=False)
        case Implies(left, right) if positive:
            yield from _disjuncts(left, positive=False)
            yield from _disjuncts(right)
        case _:
            yield None
