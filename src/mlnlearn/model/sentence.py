"""Rules as sentences, for readers who do not speak logic."""

from __future__ import annotations

import re

from mlnlearn.logic.atoms import Atom, Comparison
from mlnlearn.logic.formulas import (
    And,
    EitherSign,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Rule,
)

_WORD_EDGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
_COMPARISONS = {
    "=": "is the same as",
    "<": "is less than",
    ">": "is more than",
    "<=": "is at most",
    ">=": "is at least",
}


def sentence(rule: Rule) -> str:
    """Say a rule in English.

    Examples
    --------
    >>> from mlnlearn.model.mln import MLN
    >>> mln = MLN.parse('''
    ... student(person)
    ... advisedBy(person,person)
    ... 2.3 advisedBy(x,y) => student(x) ^ !student(y)
    ... -1.5 advisedBy(x,x)
    ... advisedBy(x,y) => (EXIST z advisedBy(z,y)).
    ... ''')
    >>> for rule in mln.rules:
    ...     print(sentence(rule))
    If x advised by y, then x is student and y is not student (likely).
    x advised by x (unlikely).
    If x advised by y, then there is z such that z advised by y (always).
    """
    text = say(rule.formula)
    if rule.hard:
        strength = " (always)"
    elif rule.weight is None:
        strength = ""
    elif rule.weight == 0.0:
        strength = " (of no influence)"
    else:
        strength = " (likely)" if rule.weight > 0 else " (unlikely)"
    first = text[:1].upper() if text.startswith(("if ", "it ", "there ", "for ")) else text[:1]
    return f"{first}{text[1:]}{strength}."


def say(formula: Formula) -> str:
    """Say a formula in English, without its weight."""
    match formula:
        case Atom():
            return _say_atom(formula, positive=True)
        case Comparison(operator, left, right):
            return f"{left} {_COMPARISONS[operator]} {right}"
        case EitherSign(atom):
            return f"{_say_atom(atom, positive=True)} or not"
        case Not(Atom() as atom):
            return _say_atom(atom, positive=False)
        case Not(Comparison("=", left, right)):
            return f"{left} is not {right}"
        case Not(part):
            return f"it is not so that {say(part)}"
        case And(parts):
            return " and ".join(_grouped(part) for part in parts)
        case Or(parts):
            return " or ".join(_grouped(part) for part in parts)
        case Implies(left, right):
            return f"if {say(left)}, then {say(right)}"
        case Iff(left, right):
            return f"{_grouped(left)} exactly if {_grouped(right)}"
        case Exists(variables, body):
            return f"there is {', '.join(map(str, variables))} such that {say(body)}"
        case Forall(variables, body):
            return f"for every {', '.join(map(str, variables))}: {say(body)}"


def _grouped(part: Formula) -> str:
    text = say(part)
    return f"({text})" if isinstance(part, (And, Or, Implies, Iff)) else text


def _say_atom(atom: Atom, positive: bool) -> str:
    words = " ".join(word.lower() for word in _WORD_EDGE.split(atom.predicate.name) if word)
    terms = [str(term) for term in atom.terms]
    denial = "" if positive else "not "
    if not terms:
        return f"{denial}{words}"
    if len(terms) == 1:
        return f"{terms[0]} is {denial}{words}"
    if atom.predicate.function and len(terms) == 2:
        return f"the {words} of {terms[0]} is {denial}{terms[1]}"
    extra = f" ({', '.join(terms[2:])})" if len(terms) > 2 else ""
    return f"{terms[0]} {denial}{words} {terms[1]}{extra}"
