"""Shorthands spelt out: ``+x`` (a rule per constant) and ``*P(x)`` (both signs)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import product

from mlnlearn.errors import InputError, MemoryLimitError, raise_all
from mlnlearn.logic.atoms import Constant, Variable
from mlnlearn.logic.formulas import (
    EitherSign,
    Formula,
    Not,
    Rule,
    children,
    free_variables,
    variable_types,
    with_children,
)
from mlnlearn.logic.substitute import substitute_formula

_MOST_RULES = 1_000_000


def expand_rule(rule: Rule, domains: Mapping[str, Collection[str]]) -> tuple[Rule, ...]:
    """Return the rules that a rule with ``+x`` or ``*P(x)`` stands for.

    Every starred atom takes both signs, independently of the others, and every choice of signs is
    combined with every combination of constants of the ``+`` variables. Each rule keeps the weight
    and marks of the given one; learning then gives each its own weight.

    Parameters
    ----------
    rule
        Any rule; one without shorthands comes back alone.
    domains
        The constant names of the types of the ``+`` variables.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate, Variable
    >>> from mlnlearn.logic.formulas import Implies
    >>> page, topic = Predicate("says", ("page", "word")), Predicate("about", ("page", "topic"))
    >>> formula = Implies(page("p", "w"), EitherSign(topic("p", "Sports")))
    >>> for found in expand_rule(Rule(formula, per_constant=(Variable("w"),)), {"word": ["Ball"]}):
    ...     print(found.formula)
    says(p,Ball) => about(p,Sports)
    says(p,Ball) => !about(p,Sports)
    """
    choices = _choices(rule, domains)
    count = 2 ** _starred(rule.formula) * math.prod(map(len, choices))
    if count > _MOST_RULES:
        raise MemoryLimitError(
            f"{rule.formula} stands for {count} rules; the limit is {_MOST_RULES}",
            hint="mark fewer variables with + or fewer atoms with *",
        )
    mappings = [dict(zip(rule.per_constant, values, strict=True)) for values in product(*choices)]
    return tuple(
        replace(
            _weighted(rule, mapping),
            formula=substitute_formula(formula, mapping) if mapping else formula,
        )
        for formula in _signed(rule.formula)
        for mapping in mappings
    )


def _weighted(rule: Rule, mapping: Mapping[Variable, Constant]) -> Rule:
    """Return a rule for one choice of constants; the value of `weighted_by` is its weight."""
    bare = replace(rule, per_constant=())
    if rule.weighted_by is None or rule.weighted_by not in mapping:
        return bare
    name = mapping[rule.weighted_by].name
    try:
        weight = float(name)
    except ValueError:
        raise InputError(
            f"{Constant(name)} is no number, so it cannot be a weight: {rule}",
            hint=f"give '{rule.weighted_by}' a type of its own, of numbers",
        ) from None
    return replace(bare, weight=weight, locked=True, weighted_by=None)


def _choices(rule: Rule, domains: Mapping[str, Collection[str]]) -> list[list[Constant]]:
    """Return the constants of every ``+`` variable, or report all that cannot be had."""
    free, types = set(free_variables(rule.formula)), variable_types(rule.formula)
    problems: list[InputError] = []
    choices: list[list[Constant]] = []
    for variable in rule.per_constant:
        kind = types.get(variable)
        if variable not in free:
            problems.append(InputError(f"+{variable} is not a free variable of {rule.formula}"))
        elif kind is None:
            problems.append(InputError(f"+{variable} stands in no atom, so its type is unknown"))
        elif kind not in domains:
            problems.append(InputError(f"no constants given for type {kind!r} of +{variable}"))
        else:
            choices.append([Constant(name) for name in domains[kind]])
    raise_all(problems)
    return choices


def _starred(formula: Formula) -> int:
    own = 1 if isinstance(formula, EitherSign) else 0
    return own + sum(map(_starred, children(formula)))


def _signed(formula: Formula) -> list[Formula]:
    """Return the formula with every choice of signs for its starred atoms, positive first."""
    if isinstance(formula, EitherSign):
        return [formula.atom, Not(formula.atom)]
    versions = product(*map(_signed, children(formula)))
    return [with_children(formula, parts) for parts in versions]
