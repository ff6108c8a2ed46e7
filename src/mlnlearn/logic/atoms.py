"""Terms, predicates, atoms and literals: the smallest words of the language."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from mlnlearn.errors import InputError

_BARE_CONSTANT = re.compile(r"(?:[A-Z][A-Za-z0-9_\-']*|-?[0-9]+(?:\.[0-9]+)?)\Z")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}\Z")
MOST_ARGUMENTS = 64
"""Of a predicate: as many as arrays have dimensions."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A logical variable; its type is that of the argument places where it stands."""

    name: str

    def __hash__(self) -> int:
        return hash(self.name)  # half the time of all fields in a tuple; here and below

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Constant:
    """A named object. Names that do not read as constants are printed in quotes.

    Examples
    --------
    >>> print(Constant("Anna"), Constant("new york"))
    Anna "new york"
    """

    name: str

    def __str__(self) -> str:
        if _BARE_CONSTANT.match(self.name):
            return self.name
        escaped = self.name.replace("\\", "\\\\").replace('"', '\\"')
        escaped = escaped.replace("\n", "\\n").replace("\r", "\\r")
        return f'"{escaped}"'


Term: TypeAlias = Variable | Constant


@dataclass(frozen=True, slots=True)
class Predicate:
    """A typed relation symbol. A function ``f: A -> B`` is the relation ``f(A, B)``, so marked.

    Examples
    --------
    >>> print(Predicate("advisedBy", ("person", "person")))
    advisedBy(person,person)
    >>> print(Predicate("motherOf", ("person", "person"), function=True))
    person motherOf(person)
    """

    name: str
    types: tuple[str, ...] = ()
    function: bool = False

    def __post_init__(self) -> None:
        if len(self.types) > MOST_ARGUMENTS:
            raise InputError(
                f"{self.name} has {len(self.types)} arguments, more than {MOST_ARGUMENTS}"
            )

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def arity(self) -> int:
        """Number of argument places."""
        return len(self.types)

    def __call__(self, *terms: Term | str) -> Atom:
        """Build an atom; strings starting in lower case are variables, others constants.

        Examples
        --------
        >>> print(Predicate("likes", ("person", "person"))("x", "Anna"))
        likes(x,Anna)
        """
        return Atom(self, tuple(_term(term) for term in terms))

    def __str__(self) -> str:
        if self.function:
            return f"{self.types[-1]} {self.name}({','.join(self.types[:-1])})"
        return f"{self.name}({','.join(self.types)})" if self.types else self.name


def _term(term: Term | str) -> Term:
    if not isinstance(term, str):
        return term
    return Variable(term) if term[:1].islower() or term[:1] == "_" else Constant(term)


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate applied to terms."""

    predicate: Predicate
    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        if len(self.terms) != self.predicate.arity:
            name, arity = self.predicate.name, self.predicate.arity
            raise InputError(f"{name} takes {arity} arguments, not {len(self.terms)}")

    def __str__(self) -> str:
        name, terms = self.predicate.name, [str(term) for term in self.terms]
        if self.predicate.function:
            return f"{name}({','.join(terms[:-1])}) = {terms[-1]}"
        return f"{name}({','.join(terms)})" if terms else name


@dataclass(frozen=True, slots=True)
class Calculation:
    """A whole number worked out from others, on one side of a comparison: ``t + 1``.

    ``/`` and ``%`` cut off towards zero, as in the original system; by zero they have no value.
    ``min`` and ``max`` are written before what they compare.

    Examples
    --------
    >>> print(Calculation("*", Calculation("+", Variable("x"), Constant("1")), Variable("y")))
    (x + 1) * y
    >>> print(Calculation("max", Calculation("-", Variable("x"), Constant("9")), Constant("0")))
    max(x - 9,0)
    """

    operator: str
    left: Operand
    right: Operand

    @property
    def terms(self) -> tuple[Term, ...]:
        """The variables and constants it is worked out from, repeats included."""
        return (*_leaves(self.left), *_leaves(self.right))

    def __str__(self) -> str:
        if self.operator.isalpha():
            return f"{self.operator}({self.left},{self.right})"
        sides = (
            f"({s})" if isinstance(s, Calculation) else str(s) for s in (self.left, self.right)
        )
        return f" {self.operator} ".join(sides)


Operand: TypeAlias = Variable | Constant | Calculation


def is_whole(name: str) -> bool:
    """Tell whether a constant is a whole number that can be calculated with."""
    return _WHOLE.match(name) is not None


def _leaves(side: Operand) -> tuple[Term, ...]:
    return side.terms if isinstance(side, Calculation) else (side,)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A built-in test of two sides: ``=``, ``<``, ``>``, ``<=`` or ``>=``.

    Inequality ``!=`` is a negated ``=``. Of terms, equality compares names; the order puts numbers
    first, by value, then all other names, as text. Where a side is a `Calculation`, both are whole
    numbers and compared as such.
    """

    operator: str
    left: Operand
    right: Operand

    @property
    def terms(self) -> tuple[Term, ...]:
        """The variables and constants of both sides."""
        return (*_leaves(self.left), *_leaves(self.right))

    @property
    def calculates(self) -> bool:
        """Whether a side is worked out."""
        return isinstance(self.left, Calculation) or isinstance(self.right, Calculation)

    @property
    def equates(self) -> bool:
        """Whether it says that two terms are the same object: no order, nothing worked out."""
        return self.operator == "=" and not self.calculates

    def with_terms(self, replace: Callable[[Term], Term]) -> Comparison:
        """Return the comparison with every term replaced."""
        return Comparison(self.operator, _mapped(self.left, replace), _mapped(self.right, replace))

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


def _mapped(side: Operand, replace: Callable[[Term], Term]) -> Operand:
    if isinstance(side, Calculation):
        left, right = _mapped(side.left, replace), _mapped(side.right, replace)
        return Calculation(side.operator, left, right)
    return replace(side)


AnyAtom: TypeAlias = Atom | Comparison


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom or comparison, asserted or denied."""

    atom: AnyAtom
    positive: bool = True

    def __invert__(self) -> Literal:
        return Literal(self.atom, not self.positive)

    def __str__(self) -> str:
        if self.positive:
            return str(self.atom)
        if isinstance(self.atom, Comparison):
            if self.atom.operator == "=":
                return f"{self.atom.left} != {self.atom.right}"
            return f"!({self.atom})"
        return f"!({self.atom})" if self.atom.predicate.function else f"!{self.atom}"
