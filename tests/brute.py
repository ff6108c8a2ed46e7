"""Formulas by brute force: truth, counts and flip counts over every grounding."""

import math
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from itertools import product

from mlnlearn.logic.atoms import Atom, Calculation, Comparison, Constant
from mlnlearn.logic.formulas import (
    And,
    Exists,
    Forall,
    Iff,
    Implies,
    Not,
    Or,
    atoms_of,
    free_variables,
    variable_types,
)
from mlnlearn.logic.schema import Schema
from worlds import grounded, true_facts


def is_true(formula, assignment, facts, domains):
    """Evaluate a formula; `domains` gives the constants for quantified variables."""

    def walk(part):
        return is_true(part, assignment, facts, domains)

    match formula:
        case Atom():
            return grounded(formula, assignment) in facts[formula.predicate.name]
        case Comparison(operator, left, right) if formula.calculates:
            sides = _number(left, assignment), _number(right, assignment)
            return None not in sides and (
                sides[0] == sides[1] if operator == "=" else _compare(operator, *sides)
            )
        case Comparison(operator, left, right):
            return _compare(operator, _name(left, assignment), _name(right, assignment))
        case Not(part):
            return not walk(part)
        case And(parts):
            return all(map(walk, parts))
        case Or(parts):
            return any(map(walk, parts))
        case Implies(left, right):
            return walk(right) or not walk(left)
        case Iff(left, right):
            return walk(left) == walk(right)
        case Exists(variables, body):
            return any(
                is_true(body, {**assignment, **more}, facts, domains)
                for more in _choices(variables, body, domains)
            )
        case Forall(variables, body):
            return all(
                is_true(body, {**assignment, **more}, facts, domains)
                for more in _choices(variables, body, domains)
            )


def _name(term, assignment):
    return term.name if isinstance(term, Constant) else assignment[term]


def _number(side, assignment):
    """The value of one side of a comparison; None where something is divided by zero."""
    if not isinstance(side, Calculation):
        return int(_name(side, assignment))
    left, right = _number(side.left, assignment), _number(side.right, assignment)
    if left is None or right is None or (side.operator in "/%" and right == 0):
        return None
    match side.operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return int(Fraction(left, right))
    return int(math.fmod(left, right))


def _compare(operator, left, right):
    if operator == "=":
        return left == right
    with suppress(ValueError):
        left, right = (
            float(left),
            float(right),
        )  # the tests' domains hold numbers or names, not both
    return {
        "<": left < right,
        ">": left > right,
        "<=": left <= right,
        ">=": left >= right,
    }[operator]


def _choices(variables, body, domains):
    types = variable_types(body)
    for names in product(*(domains[types[variable]] for variable in variables)):
        yield dict(zip(variables, names, strict=True))


def assignments(database, formula):
    """Yield every assignment of constants to the free variables of a formula."""
    domains = {kind: list(names) for kind, names in database.domains.items()}
    types = variable_types(formula)
    variables = free_variables(formula)
    for names in product(*(domains[types[variable]] for variable in variables)):
        yield dict(zip(variables, names, strict=True))


def brute_count(database, formula, by=(), facts=None):
    """Count true groundings: ``{values of by: count}``, zeros left out."""
    facts = true_facts(database) if facts is None else facts
    counts = Counter()
    for assignment in assignments(database, formula):
        if is_true(formula, assignment, facts, database.domains):
            counts[tuple(assignment[variable] for variable in by)] += 1
    return dict(counts)


def brute_flips(database, formula, block=None):
    """Flip counts of every ground atom that a quantifier-free formula mentions.

    Returns ``{(predicate name, *constants): count}``; atoms left out have none. With ``block``
    (predicate name, exclusive places) all atoms of that predicate that agree on the other places
    are false before the atom becomes true.
    """
    facts = true_facts(database)
    atoms = list(dict.fromkeys(atoms_of(formula)))
    flips = Counter()
    for assignment in assignments(database, formula):
        for predicate, names in {(a.predicate, grounded(a, assignment)) for a in atoms}:
            name = predicate.name
            if any(
                c not in database.domains[k] for c, k in zip(names, predicate.types, strict=True)
            ):
                continue  # a constant of the formula that the database lacks: no such atom
            others = facts[name] - {names}
            if block is not None:
                if name != block[0]:
                    continue
                others = {o for o in facts[name] if not _same_block(o, names, block[1])}
            with_atom = {**facts, name: others | {names}}
            without = {**facts, name: others}
            change = is_true(formula, assignment, with_atom, database.domains)
            change -= is_true(formula, assignment, without, database.domains)
            if change:
                flips[(name, *names)] += change
    return {atom: count for atom, count in flips.items() if count}


def _same_block(one, other, exclusive):
    return all(
        a == b for i, (a, b) in enumerate(zip(one, other, strict=True)) if i not in exclusive
    )


UNLINKED_SCHEMA = Schema.of("r(t0,t1)", "s(t0)", "p(t1)", "u(t0,t1,t0)")


def unlinked_formulas():
    """Clauses whose other literals do not link the arguments of ``r``."""
    r, s, p, u = UNLINKED_SCHEMA.predicates
    yield Or((r("x", "y"), Not(s("x")), Not(p("y"))))
    yield Or((r("x", "y"), s("x"), p("y")))
    yield Or((r("x", "y"), Not(r("x", "z")), Not(p("y"))))
    yield Or((r("x", "y"), Not(u("x", "z", "w")), Not(r("v", "y"))))
    yield Or((Not(r("x", "y")), s("x"), Not(p("y")), s("w")))
