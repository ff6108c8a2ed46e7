"""From formulas to products of relation atoms: what the engines can join.

Orders, calculations and quantified sub-formulas become relations of their own, derived from the
domains or counted once; equalities are solved away. What is left is a sum of products of positive
atoms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.comparisons import comparison_atom
from mlnlearn.counting.query import Hold
from mlnlearn.counting.stack import Stack
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import AnyAtom, Atom, Comparison, Constant, Predicate, Term, Variable
from mlnlearn.logic.formulas import (
    And,
    Exists,
    Forall,
    Formula,
    Not,
    children,
    free_variables,
    variable_types,
    with_children,
    without_leading_forall,
)
from mlnlearn.logic.polynomial import polynomial
from mlnlearn.logic.substitute import renamed_apart, solve_equalities, substitute

# Counts a formula by its free variables; passed in because counting stands on this module.
Exister = Callable[[Formula, Sequence[Variable]], tuple[Codes, Sequence[Codes]]]


@dataclass(frozen=True, slots=True)
class Summand:
    """A multiple of a product of atoms.

    Attributes
    ----------
    coefficient
        How often the product counts; may be negative.
    atoms
        Atoms that must all be true.
    free
        Variables in no atom: each multiplies the count by the size of its domain.
    values
        What each variable of the formula stands for after equalities are solved.
    """

    coefficient: int
    atoms: tuple[Atom, ...]
    free: tuple[Variable, ...]
    values: dict[Variable, Term]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A formula as a sum of products, with the types of its variables."""

    variables: tuple[Variable, ...]
    types: dict[Variable, str]
    summands: tuple[Summand, ...]


def membership(kind: str) -> Predicate:
    """Return the derived predicate that holds of every constant of a type."""
    return Predicate(f"${kind}", (kind,))


def member_atom(stack: Stack, kind: str, term: Term) -> Atom:
    """Return the atom that says a term is in the domain of a type."""
    predicate = membership(kind)
    if not stack.derived(predicate):
        members = stack.members(kind)
        stack.derive(predicate, members.database, members.columns)
    return Atom(predicate, (term,))


def prepare(
    stack: Stack, formula: Formula, existing: Exister, take: Hold | None = None
) -> Prepared:
    """Expand a formula into summands, deriving the relations it needs.

    Parameters
    ----------
    stack
        The databases; derived relations are added to it.
    formula
        Any formula; variables that a FORALL in front binds are free.
    existing
        Finds the tuples for which a quantifier-free body has a true grounding.
    take
        Counts the memory of relations made from domains, or refuses it.
    """
    body = renamed_apart(without_leading_forall(formula))
    variables = free_variables(body)
    types = variable_types(body)
    untyped = [str(variable) for variable in variables if variable not in types]
    if untyped:
        raise InputError(
            f"no type for variable {', '.join(untyped)} in {formula}",
            hint="let every variable stand in an atom",
        )
    plain = _without_quantifiers(stack, body, types, existing, take)
    summands = []
    for product, coefficient in polynomial(plain).items():
        summand = _summand(stack, product, coefficient, variables, types)
        if summand is not None:
            summands.append(summand)
    return Prepared(variables, {v: types[v] for v in variables}, tuple(summands))


def _summand(
    stack: Stack,
    product: frozenset[AnyAtom],
    coefficient: int,
    variables: tuple[Variable, ...],
    types: dict[Variable, str],
) -> Summand | None:
    equalities = [part.terms for part in product if isinstance(part, Comparison)]
    solution = solve_equalities([(left, right) for left, right in sorted(equalities, key=str)])
    if solution is None:
        return None
    values = {variable: solution.get(variable, variable) for variable in variables}
    atoms = {substitute(part, solution) for part in product if isinstance(part, Atom)}
    for variable, value in values.items():
        if isinstance(value, Constant):
            # a database without the constant has no such grounding
            atoms.add(member_atom(stack, types[variable], value))
    used = {term for atom in atoms for term in atom.terms}
    free = tuple(
        dict.fromkeys(v for v in values.values() if isinstance(v, Variable) and v not in used)
    )
    return Summand(coefficient, tuple(sorted(atoms, key=str)), free, values)


def _without_quantifiers(
    stack: Stack,
    formula: Formula,
    types: dict[Variable, str],
    existing: Exister,
    take: Hold | None,
) -> Formula:
    match formula:
        case Comparison() if not formula.equates:
            return comparison_atom(stack, formula, types, take)
        case Forall(variables, body):
            denied = Not(Exists(variables, Not(body)))
            return _without_quantifiers(stack, denied, types, existing, take)
        case Exists(_, body):
            free = free_variables(formula)
            predicate = Predicate(f"${formula}", tuple(types[variable] for variable in free))
            if not stack.derived(predicate):
                plain = _without_quantifiers(stack, body, types, existing, take)
                stack.derive(predicate, *existing(_typed(stack, plain, types), free))
            return Atom(predicate, free)
    parts = [_without_quantifiers(stack, part, types, existing, take) for part in children(formula)]
    return with_children(formula, parts)


def _typed(stack: Stack, body: Formula, types: dict[Variable, str]) -> Formula:
    """Say the types of variables that only the formula around a quantified body tells."""
    known = variable_types(body)
    untold = [v for v in free_variables(body) if v not in known and v in types]
    members = (member_atom(stack, types[variable], variable) for variable in untold)
    return And((body, *members)) if untold else body
