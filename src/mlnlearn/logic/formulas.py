"""Formulas: atoms under connectives and quantifiers, and weighted rules made of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Atom, Comparison, Term, Variable


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    part: Formula

    def __str__(self) -> str:
        if isinstance(self.part, Comparison) and self.part.operator == "=":
            return f"{self.part.left} != {self.part.right}"
        return f"!{_wrap(self.part, _TIGHT)}"


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of two or more parts."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " ^ ".join(_wrap(part, 1) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction of two or more parts."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " v ".join(_wrap(part, 2) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Implies:
    """``left => right``."""

    left: Formula
    right: Formula

    def __str__(self) -> str:
        return f"{_wrap(self.left, 3)} => {_wrap(self.right, 3)}"


@dataclass(frozen=True, slots=True)
class Iff:
    """``left <=> right``."""

    left: Formula
    right: Formula

    def __str__(self) -> str:
        return f"{_wrap(self.left, 4)} <=> {_wrap(self.right, 4)}"


@dataclass(frozen=True, slots=True)
class Exists:
    """Some values of the variables make the body true."""

    variables: tuple[Variable, ...]
    body: Formula

    def __str__(self) -> str:
        return f"EXIST {','.join(map(str, self.variables))} {_wrap(self.body, 5)}"


@dataclass(frozen=True, slots=True)
class Forall:
    """All values of the variables make the body true."""

    variables: tuple[Variable, ...]
    body: Formula

    def __str__(self) -> str:
        return f"FORALL {','.join(map(str, self.variables))} {_wrap(self.body, 5)}"


@dataclass(frozen=True, slots=True)
class EitherSign:
    """``*P(x)``: shorthand for two formulas, one with the atom and one with its negation."""

    atom: Atom

    def __str__(self) -> str:
        return f"*{self.atom}"


Formula: TypeAlias = (
    Atom | Comparison | Not | And | Or | Implies | Iff | Exists | Forall | EitherSign
)

# Binding strength; a part is put in parentheses where it binds no tighter than its parent asks.
_TIGHT = 0
_LEVEL: dict[type, int] = {
    Atom: 0, EitherSign: 0, Not: 0, Comparison: 0,
    And: 1, Or: 2, Implies: 3, Iff: 4, Exists: 5, Forall: 5,
}  # fmt: skip


def _wrap(part: Formula, parent: int) -> str:
    """Print a part, in parentheses where the parent's level would otherwise tear it apart."""
    level = _LEVEL[type(part)]
    written_as_comparison = isinstance(part, Comparison) or (
        isinstance(part, Atom) and part.predicate.function
    )
    loose = (written_as_comparison and parent == _TIGHT) or level >= max(parent, 1)
    return f"({part})" if loose else str(part)


def children(formula: Formula) -> tuple[Formula, ...]:
    """Return the direct parts of a formula."""
    match formula:
        case Not(part):
            return (part,)
        case And(parts) | Or(parts):
            return parts
        case Implies(left, right) | Iff(left, right):
            return (left, right)
        case Exists(_, body) | Forall(_, body):
            return (body,)
    return ()


def with_children(formula: Formula, parts: Sequence[Formula]) -> Formula:
    """Return a formula of the same kind with other direct parts, in the order of `children`."""
    match formula:
        case Not():
            return Not(parts[0])
        case And():
            return And(tuple(parts))
        case Or():
            return Or(tuple(parts))
        case Implies():
            return Implies(*parts)
        case Iff():
            return Iff(*parts)
        case Exists(variables, _):
            return Exists(variables, parts[0])
        case Forall(variables, _):
            return Forall(variables, parts[0])
    return formula


def atoms_of(formula: Formula) -> Iterator[Atom]:
    """Yield every atom of a formula, left to right, repeats included."""
    if isinstance(formula, Atom):
        yield formula
    elif isinstance(formula, EitherSign):
        yield formula.atom
    for part in children(formula):
        yield from atoms_of(part)


def quantified_atoms(formula: Formula) -> Iterator[Atom]:
    """Yield the atoms that stand under a quantifier.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> p, q = Predicate("p", ("t",)), Predicate("q", ("t",))
    >>> [str(atom) for atom in quantified_atoms(And((p("x"), Exists((Variable("y"),), q("y")))))]
    ['q(y)']
    """
    inner = atoms_of if isinstance(formula, Exists | Forall) else quantified_atoms
    for part in children(formula):
        yield from inner(part)


def free_variables(formula: Formula) -> tuple[Variable, ...]:
    """Return the variables not bound by a quantifier, in order of first occurrence.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> p = Predicate("friends", ("person", "person"))
    >>> [str(v) for v in free_variables(Exists((Variable("y"),), p("x", "y")))]
    ['x']
    """
    found: dict[Variable, None] = {}

    def walk(part: Formula, bound: frozenset[Variable]) -> None:
        if isinstance(part, EitherSign):
            part = part.atom
        if isinstance(part, (Atom, Comparison)):
            found.update(
                (t, None) for t in part.terms if isinstance(t, Variable) and t not in bound
            )
        elif isinstance(part, (Exists, Forall)):
            walk(part.body, bound | set(part.variables))
        else:
            for child in children(part):
                walk(child, bound)

    walk(formula, frozenset())
    return tuple(found)


def without_leading_forall(formula: Formula) -> Formula:
    """Drop the universal quantifiers in front: their variables are grounding variables.

    ``FORALL x p(x)`` is p(x), a formula with one grounding for each x, as in Alchemy and as a free
    variable is read. Deeper in a formula, FORALL quantifies: ``!(EXIST x !p(x))`` is the one
    grounding that says p of all x.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> p = Predicate("friends", ("person", "person"))
    >>> x, y = Variable("x"), Variable("y")
    >>> print(without_leading_forall(Forall((x,), Exists((y,), p("x", "y")))))
    EXIST y friends(x,y)
    """
    while isinstance(formula, Forall):
        formula = formula.body
    return formula


def variable_types(formula: Formula) -> dict[Variable, str]:
    """Return the type of every variable that stands in an atom, by the atom's predicate.

    A variable in comparisons only takes the type of the variable it is compared with.
    """
    types: dict[Variable, str] = {}
    for atom in atoms_of(formula):
        for term, kind in zip(atom.terms, atom.predicate.types, strict=True):
            if isinstance(term, Variable):
                types.setdefault(term, kind)
    groups = [
        [term for term in comparison.terms if isinstance(term, Variable)]
        for comparison in _comparisons(formula)
    ]
    for _ in groups:  # a chain x = y ^ y = z hands the type on by one link a round
        for group in groups:
            known = [types[variable] for variable in group if variable in types]
            for variable in group if known else ():
                types.setdefault(variable, known[0])
    return types


def _comparisons(formula: Formula) -> Iterator[Comparison]:
    if isinstance(formula, Comparison):
        yield formula
    for part in children(formula):
        yield from _comparisons(part)


@dataclass(frozen=True, slots=True)
class Rule:
    """A formula with its weight, as it stands on one line of an ``.mln`` file.

    Attributes
    ----------
    formula
        The formula, without the FORALL in front that it may be given with: every value of its free
        variables is a grounding of its own; see `without_leading_forall`.
    weight
        None where the file gives none: allowed for learning, an error for inference.
    hard
        A trailing full stop: worlds that violate the formula are impossible.
    locked
        A full stop after the weight: learning must not change it.
    per_constant
        Variables marked ``+x``: the rule stands for one rule a constant, each with its own weight.
    whole
        Square brackets: keep as one formula, never split it into clauses.
    weighted_by
        A variable in front, ``conf: F``, one of `per_constant`: the rule for each of its values has
        that number as its weight, which no learning changes.
    """

    formula: Formula
    weight: float | None = None
    hard: bool = False
    locked: bool = False
    per_constant: tuple[Variable, ...] = ()
    whole: bool = False
    weighted_by: Variable | None = None

    def __post_init__(self) -> None:
        """Take the variables of a leading FORALL as free; refuse a weight that is no number."""
        object.__setattr__(self, "formula", without_leading_forall(self.formula))
        if self.weight is not None and not math.isfinite(self.weight):
            raise InputError(
                f"a weight must be a finite number, not {self.weight}: {self.formula}",
                hint="make the rule hard instead: end it in '.'",
            )

    def __str__(self) -> str:
        """Print the rule as it stands in an ``.mln`` file, weights to the last digit."""
        text = str(_marked(self.formula, frozenset(self.per_constant) - {self.weighted_by}))
        text = f"[{text}]" if self.whole else text
        text = f"{self.weighted_by}: {text}" if self.weighted_by else text
        lock = "." if self.locked else ""
        weight = "" if self.weight is None else f"{float(self.weight)!r}{lock} "
        return f"{weight}{text}{'.' if self.hard else ''}"


def _marked(formula: Formula, marked: frozenset[Variable]) -> Formula:
    """Put a ``+`` before the free occurrences of the marked variables, for printing only."""

    def mark(term: Term) -> Term:
        return Variable(f"+{term.name}") if term in marked else term

    match formula:
        case Atom(predicate, terms):
            return Atom(predicate, tuple(mark(term) for term in terms))
        case Comparison():
            return formula.with_terms(mark)
        case EitherSign(Atom(predicate, terms)):
            return EitherSign(Atom(predicate, tuple(mark(term) for term in terms)))
        case Exists(variables, body):
            return Exists(variables, _marked(body, marked - set(variables)))
        case Forall(variables, body):
            return Forall(variables, _marked(body, marked - set(variables)))
    return with_children(formula, [_marked(part, marked) for part in children(formula)])
