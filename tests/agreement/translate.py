"""Formulas that the library made, as the suite's own: only read, never counted by it."""

from __future__ import annotations

from agreement.language import Atom, Compare, Formula, Joined, Not, Predicate, Quantified, Rule
from mlnlearn.logic import atoms as library_atoms
from mlnlearn.logic import formulas as library
from mlnlearn.model.mln import MLN


def predicates_of(mln: MLN) -> tuple[Predicate, ...]:
    """The declarations of a network."""
    marked = mln.schema.functional
    return tuple(Predicate(p.name, p.types, marked.get(p.name, ())) for p in mln.schema.predicates)


def rules_of(mln: MLN) -> tuple[Rule, ...]:
    """The rules of a network."""
    return tuple(
        Rule(translated(rule.formula), None if rule.hard else rule.weight) for rule in mln.rules
    )


def translated(formula: library.Formula) -> Formula:
    """A formula with variables that tell their type."""
    types = library.variable_types(formula)
    numbers = {variable: number for number, variable in enumerate(types)}

    def term(given: library_atoms.Term) -> str:
        if isinstance(given, library_atoms.Variable):
            return f"x_{types[given]}_{numbers[given]}"
        return given.name

    def walk(part: library.Formula) -> Formula:
        match part:
            case library_atoms.Atom(predicate, terms):
                return Atom(predicate.name, tuple(map(term, terms)))
            case library_atoms.Comparison(operator, left, right):
                return Compare(operator, term(left), term(right))
            case library.Not(inner):
                return Not(walk(inner))
            case library.And(parts):
                return Joined("^", tuple(map(walk, parts)))
            case library.Or(parts):
                return Joined("v", tuple(map(walk, parts)))
            case library.Implies(left, right):
                return Joined("=>", (walk(left), walk(right)))
            case library.Iff(left, right):
                return Joined("<=>", (walk(left), walk(right)))
            case library.Exists(variables, body):
                return Quantified("EXIST", tuple(map(term, variables)), walk(body))
            case library.Forall(variables, body):
                return Quantified("FORALL", tuple(map(term, variables)), walk(body))
        raise AssertionError(part)

    return walk(formula)
