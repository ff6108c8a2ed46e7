"""The constants that formulas name, with their types."""

from __future__ import annotations

from mlnlearn.logic.atoms import Comparison, Constant, Variable
from mlnlearn.logic.formulas import Formula, atoms_of, children, variable_types
from mlnlearn.logic.substitute import renamed_apart


def constants_of(formula: Formula) -> set[tuple[str, str]]:
    """Return the constants that a formula names, as (type, name).

    Those of atoms, and those that a variable is equal to or different from. What a variable is
    *less* than need not be one of its values.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.logic.formulas import And
    >>> at = Predicate("at", ("place", "time"))
    >>> same = Comparison("=", Variable("x"), Constant("Rome"))
    >>> early = Comparison("<", Variable("t"), Constant("5"))
    >>> sorted(constants_of(And((at("x", "t"), same, early, at("Bonn", "t")))))
    [('place', 'Bonn'), ('place', 'Rome')]
    """
    named = {
        (kind, term.name)
        for atom in atoms_of(formula)
        for term, kind in zip(atom.terms, atom.predicate.types, strict=True)
        if isinstance(term, Constant)
    }
    equalities: list[Comparison] = []
    types: dict[Variable, str] = {}
    if _equalities(formula):  # two quantifiers may bind one name for variables of two types
        apart = renamed_apart(formula)
        equalities, types = _equalities(apart), variable_types(apart)
    for comparison in equalities:
        kinds = [types[t] for t in comparison.terms if isinstance(t, Variable) and t in types]
        for term in comparison.terms:
            if isinstance(term, Constant) and kinds:
                named.add((kinds[0], term.name))
    return named


def _equalities(formula: Formula) -> list[Comparison]:
    if isinstance(formula, Comparison):
        return [formula] if formula.equates else []
    return [found for part in children(formula) for found in _equalities(part)]
