"""A small Markov logic language of the suite's own, printed as text for the library to read.

Nothing here comes from the library: what a formula means is said once more, in `reference`.
A variable tells its type by its name: ``x_a_1`` is of type ``a``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

GroundAtom: TypeAlias = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Predicate:
    name: str
    types: tuple[str, ...] = ()
    exclusive: tuple[int, ...] = ()

    def __str__(self) -> str:
        if not self.types:
            return self.name
        marked = (k + "!" if i in self.exclusive else k for i, k in enumerate(self.types))
        return f"{self.name}({','.join(marked)})"


@dataclass(frozen=True)
class Atom:
    name: str
    terms: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({','.join(self.terms)})" if self.terms else self.name


@dataclass(frozen=True)
class Compare:
    operator: str
    left: str
    right: str

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True)
class Not:
    part: Formula

    def __str__(self) -> str:
        return f"!({self.part})"


@dataclass(frozen=True)
class Joined:
    """Parts under one connective: ``^`` and ``v`` take any number, ``=>`` and ``<=>`` two."""

    connective: str
    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return "(" + f" {self.connective} ".join(map(str, self.parts)) + ")"


@dataclass(frozen=True)
class Quantified:
    """``EXIST`` or ``FORALL`` over one or more variables."""

    quantifier: str
    variables: tuple[str, ...]
    body: Formula

    def __str__(self) -> str:
        return f"({self.quantifier} {','.join(self.variables)} ({self.body}))"


Formula: TypeAlias = Atom | Compare | Not | Joined | Quantified


@dataclass(frozen=True)
class Rule:
    """A formula with its weight; hard where it has none."""

    formula: Formula
    weight: float | None

    def __str__(self) -> str:
        return f"{self.formula}." if self.weight is None else f"{self.weight!r} {self.formula}"


def is_variable(term: str) -> bool:
    return term.startswith("x_")


def type_of(variable: str) -> str:
    return variable[2:].rpartition("_")[0]


def children(formula: Formula) -> tuple[Formula, ...]:
    match formula:
        case Not(part):
            return (part,)
        case Joined(_, parts):
            return parts
        case Quantified(_, _, body):
            return (body,)
    return ()


def with_children(formula: Formula, parts: tuple[Formula, ...]) -> Formula:
    match formula:
        case Not():
            return Not(parts[0])
        case Joined():
            return replace(formula, parts=parts)
        case Quantified():
            return replace(formula, body=parts[0])
    return formula


def parts_of(formula: Formula) -> Iterator[Formula]:
    """Yield the formula and everything in it."""
    yield formula
    for part in children(formula):
        yield from parts_of(part)


def atoms_of(formula: Formula) -> list[Atom]:
    return [part for part in parts_of(formula) if isinstance(part, Atom)]


def without_leading_forall(formula: Formula) -> Formula:
    """A leading FORALL names grounding variables: they are free."""
    while isinstance(formula, Quantified) and formula.quantifier == "FORALL":
        formula = formula.body
    return formula


def free_variables(formula: Formula) -> tuple[str, ...]:
    """The variables that no quantifier binds, in order of first occurrence."""
    found: dict[str, None] = {}

    def walk(part: Formula, bound: frozenset[str]) -> None:
        match part:
            case Atom(_, terms):
                found.update((t, None) for t in terms if is_variable(t) and t not in bound)
            case Compare(_, left, right):
                found.update((t, None) for t in (left, right) if is_variable(t) and t not in bound)
            case Quantified(_, variables, body):
                walk(body, bound | set(variables))
            case _:
                for child in children(part):
                    walk(child, bound)

    walk(formula, frozenset())
    return tuple(found)


def constants_of(formula: Formula, predicates: dict[str, Predicate]) -> set[tuple[str, str]]:
    """The constants that a formula names, with their types; a threshold of ``<`` is none."""
    found = set()
    for part in parts_of(formula):
        if isinstance(part, Atom):
            typed = zip(part.terms, predicates[part.name].types, strict=True)
            found |= {(kind, term) for term, kind in typed if not is_variable(term)}
        elif isinstance(part, Compare) and part.operator in ("=", "!="):
            pair = (part.left, part.right)
            kinds = [type_of(term) for term in pair if is_variable(term)]
            found |= {(kinds[0], term) for term in pair if not is_variable(term)}
    return found


def atom_text(atom: GroundAtom) -> str:
    name, terms = atom
    return f"{name}({','.join(terms)})" if terms else name
