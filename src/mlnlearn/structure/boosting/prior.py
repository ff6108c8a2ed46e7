"""Prior knowledge: given rules as Horn clauses for the targets."""

from __future__ import annotations

from collections.abc import Sequence

from mlnlearn.counting.pattern import Argument, Pattern
from mlnlearn.errors import InputError, collected, raise_all
from mlnlearn.logic.atoms import Atom, Comparison, Literal, Variable
from mlnlearn.logic.clauses import as_clause
from mlnlearn.logic.formulas import Rule
from mlnlearn.model.boosted.rules import ClauseList, HornClause
from mlnlearn.model.mln import MLN


def prior_clauses(initial: MLN | None, targets: Sequence[str]) -> dict[str, ClauseList]:
    """Read the weighted rules ``body => target`` as the clauses to start from.

    Examples
    --------
    >>> mln = MLN.parse('''smokes(person)
    ... cancer(person)
    ... 1.5 smokes(x) => cancer(x)''')
    >>> prior_clauses(mln, ["cancer"])["cancer"].clauses[0].weight
    1.5
    """
    found: dict[str, list[HornClause]] = {name: [] for name in targets}
    problems: list[InputError] = []
    for rule in () if initial is None else initial.rules:
        with collected(problems):
            target, clause = _horn(rule, targets)
            found[target].append(clause)
    raise_all(problems)
    return {name: ClauseList(tuple(clauses)) for name, clauses in found.items()}


def _horn(rule: Rule, targets: Sequence[str]) -> tuple[str, HornClause]:
    clause = as_clause(rule.formula)
    if rule.weight is None or rule.hard or clause is None:
        raise InputError(f"prior knowledge must be weighted clauses, not: {rule}")
    heads = [literal for literal in clause if literal.positive]
    if len(heads) != 1 or not isinstance(heads[0].atom, Atom):
        raise InputError(f"a prior clause has one positive literal, its head, not: {rule}")
    head = heads[0].atom
    variables = [term for term in head.terms if isinstance(term, Variable)]
    if head.predicate.name not in targets or len(set(variables)) != head.predicate.arity:
        raise InputError(f"the head of a prior clause is a target with distinct variables: {rule}")
    numbers = {variable: number for number, variable in enumerate(variables)}
    body = [_pattern(literal, numbers, rule) for literal in clause if not literal.positive]
    if any(pattern.predicate == head.predicate for pattern in body):
        raise InputError(f"{head.predicate.name} stands in the body of its own rule: {rule}")
    return head.predicate.name, HornClause(tuple(body), float(rule.weight))


def _pattern(literal: Literal, numbers: dict[Variable, int], rule: Rule) -> Pattern:
    if isinstance(literal.atom, Comparison):
        raise InputError(f"a prior clause cannot compare terms: {rule}")
    terms: list[Argument] = [
        numbers.setdefault(term, len(numbers)) if isinstance(term, Variable) else term.name
        for term in literal.atom.terms
    ]
    return Pattern(literal.atom.predicate, tuple(terms))
