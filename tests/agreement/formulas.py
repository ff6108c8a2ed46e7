"""Random formulas: clauses, conjunctions, and whatever connectives and quantifiers make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agreement.language import (
    Atom,
    Compare,
    Formula,
    Joined,
    Not,
    Predicate,
    Quantified,
    free_variables,
    is_variable,
    parts_of,
    type_of,
    with_children,
)

_MOST_VARIABLES = 3


@dataclass(frozen=True)
class Writer:
    """Writes random formulas over some predicates and constants.

    Without `quantified`, FORALL stands in front only and EXIST nowhere.
    """

    rng: np.random.Generator
    predicates: Sequence[Predicate]
    constants: Mapping[str, Sequence[str]]
    quantified: bool = True

    def formula(self) -> Formula:
        """A formula of any form; at times with FORALL in front, or with EXIST."""
        kind = self.rng.random()
        if kind < 0.45:
            body = self._clause()
        elif kind < 0.6:
            body = self._joined("^", self.rng.integers(1, 4))
        else:
            body = self._nested(2)
        body = self._with_comparison(self._with_few_variables(body))
        return self._quantified(body)

    def _clause(self) -> Formula:
        """A disjunction, or the same as an implication."""
        count = int(self.rng.integers(1, 4))
        if count > 1 and self.rng.random() < 0.5:
            left = self._joined("^", count - 1, negative=0.1)
            return Joined("=>", (left, self._literal(0.1)))
        return self._joined("v", count)

    def _joined(self, connective: str, count: int, negative: float = 0.4) -> Formula:
        parts = tuple(self._literal(negative) for _ in range(count))
        return Joined(connective, parts) if count > 1 else parts[0]

    def _literal(self, negative: float) -> Formula:
        atom = self._atom()
        return Not(atom) if self.rng.random() < negative else atom

    def _atom(self) -> Atom:
        predicate = self.predicates[self.rng.integers(len(self.predicates))]
        return Atom(predicate.name, tuple(self._term(kind) for kind in predicate.types))

    def _term(self, kind: str) -> str:
        if self.rng.random() < 0.12 and self.constants[kind]:
            return self._constant(kind)
        return f"x_{kind}_{self.rng.integers(2)}"

    def _constant(self, kind: str) -> str:
        return self.constants[kind][self.rng.integers(len(self.constants[kind]))]

    def _nested(self, depth: int) -> Formula:
        if depth == 0 or self.rng.random() < 0.15:
            return self._literal(0.3)
        choice = self.rng.random()
        if choice < 0.15:
            return Not(self._nested(depth - 1))
        if choice < 0.35 and self.quantified:
            body = self._nested(depth - 1)
            return self._bound(body, "FORALL" if self.rng.random() < 0.4 else "EXIST")
        connective = str(self.rng.choice(["^", "v", "=>", "<=>"]))
        count = 3 if connective in "^v" and self.rng.random() < 0.2 else 2
        return Joined(connective, tuple(self._nested(depth - 1) for _ in range(count)))

    def _bound(self, body: Formula, quantifier: str) -> Formula:
        """Bind one or two of the free variables, if there are any."""
        free = free_variables(body)
        if not free:
            return body
        count = min(len(free), 1 + int(self.rng.random() < 0.25))
        chosen = self.rng.permutation(len(free))[:count]
        return Quantified(quantifier, tuple(free[i] for i in sorted(chosen)), body)

    def _quantified(self, body: Formula) -> Formula:
        kind = self.rng.random()
        if kind < 0.12 and self.quantified:
            body = self._bound(body, "EXIST")
        if kind < 0.04 or kind > 0.88:
            body = self._bound(body, "FORALL")
        if kind > 0.96:
            body = self._bound(body, "FORALL")
        return body

    def _with_comparison(self, body: Formula) -> Formula:
        """At times compare a free variable with another or with a constant."""
        free = [v for v in free_variables(body) if self.constants[type_of(v)]]
        if not free or self.rng.random() > 0.2:
            return body
        left = free[self.rng.integers(len(free))]
        same = [v for v in free if type_of(v) == type_of(left) and v != left]
        if same and self.rng.random() < 0.5:
            right = same[self.rng.integers(len(same))]
        else:
            right = self._constant(type_of(left))
        operator = str(self.rng.choice(["=", "=", "=", "!=", "!=", "<", ">="]))
        compared = Compare(operator, left, right)
        connective = str(self.rng.choice(["^", "^", "v", "=>"]))
        return Joined(connective, (compared, body))

    def _with_few_variables(self, body: Formula) -> Formula:
        """Merge variables until at most so many are left, all in all."""
        while True:
            used = sorted({v for part in parts_of(body) for v in _variables(part)})
            if len(used) <= _MOST_VARIABLES:
                return body
            pairs = [(a, b) for a in used for b in used if a < b and type_of(a) == type_of(b)]
            if not pairs:
                return body
            keep, drop = pairs[self.rng.integers(len(pairs))]
            body = renamed(body, {drop: keep})


def renamed(formula: Formula, names: Mapping[str, str]) -> Formula:
    """The formula with other names for some terms, wherever they stand."""
    match formula:
        case Atom(name, terms):
            return Atom(name, tuple(names.get(term, term) for term in terms))
        case Compare(operator, left, right):
            return Compare(operator, names.get(left, left), names.get(right, right))
        case Quantified(quantifier, variables, body):
            bound = tuple(dict.fromkeys(names.get(v, v) for v in variables))
            return Quantified(quantifier, bound, renamed(body, names))
    parts = (formula.part,) if isinstance(formula, Not) else formula.parts
    return with_children(formula, tuple(renamed(part, names) for part in parts))


def _variables(part: Formula) -> list[str]:
    match part:
        case Atom(_, terms):
            return [term for term in terms if is_variable(term)]
        case Compare(_, left, right):
            return [term for term in (left, right) if is_variable(term)]
    return []
