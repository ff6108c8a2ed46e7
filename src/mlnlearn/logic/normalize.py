"""Normal forms: quantifiers spelt out (`ground_quantifiers`), then clauses (`clauses_of`)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product

from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.atoms import Constant, Literal, Variable
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.fold import fold
from mlnlearn.logic.formulas import (
    And,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    children,
    variable_types,
    with_children,
)
from mlnlearn.logic.signs import LiteralSets, SignedFormula, SignedPass
from mlnlearn.logic.substitute import substitute_formula

_MOST_PARTS = 1_000_000


def _normal_sizes(formula: Formula) -> tuple[int, int]:
    """Return how many nodes a formula and its negation have with negations at the atoms alone."""
    if isinstance(formula, Not):
        positive, negative = _normal_sizes(formula.part)
        return negative, positive
    sizes = [_normal_sizes(part) for part in children(formula)]
    if isinstance(formula, Iff):
        both = sum(map(sum, sizes)) + 3
        return both, both
    if isinstance(formula, Implies):
        (positive, negative), head = sizes
        sizes = [(negative, positive), head]
    return 1 + sum(size[0] for size in sizes), 1 + sum(size[1] for size in sizes)


def clauses_of(formula: Formula, *, limit: int = 10_000) -> tuple[Clause, ...]:
    """Return the conjunctive normal form of a quantifier-free formula.

    Distribution is by multiplying out, without auxiliary atoms, so that the clauses speak of the
    user's predicates only. Tautologies and repeated clauses are dropped; comparisons that hold or
    fail whatever the world are resolved. No clause at all means true; an empty clause means false.

    Parameters
    ----------
    formula
        A formula without quantifiers (see `ground_quantifiers`) and without ``*P(x)``.
    limit
        The most clauses that may stand at any point of the work; past it, `MemoryLimitError`.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> p, q = Predicate("P", ("t",)), Predicate("Q", ("t",))
    >>> for found in clauses_of(Iff(p("x"), q("x"))):
    ...     print(found)
    !P(x) v Q(x)
    P(x) v !Q(x)
    """
    found = _Distribution(limit).of(formula, True)
    return tuple(Clause(literals) for literals in found)


class _Distribution(SignedPass):
    """Clauses of every subformula and sign."""

    unit = "clauses"

    def conjunction(self, parts: Sequence[SignedFormula]) -> LiteralSets:
        return self._both([self.of(*part) for part in parts])

    def disjunction(self, parts: Sequence[SignedFormula]) -> LiteralSets:
        # Single clauses are joined in one go, so that a wide disjunction takes linear time.
        branches = [self.of(*part) for part in parts]
        single = tuple(lit for branch in branches if len(branch) == 1 for lit in branch[0])
        found = _distinct([single])
        for branch in branches:
            if len(branch) != 1:
                self.refuse_above(len(found) * len(branch))
                found = _distinct([left + right for left, right in product(found, branch)])
        return found

    def equivalence(self, left: Formula, right: Formula, positive: bool) -> LiteralSets:
        forward = self.disjunction([(left, False), (right, positive)])
        return self._both([forward, self.disjunction([(left, True), (right, not positive)])])

    def _both(self, branches: Sequence[LiteralSets]) -> LiteralSets:
        self.refuse_above(sum(map(len, branches)))
        return _distinct([literals for branch in branches for literals in branch])


def _distinct(clauses: Iterable[tuple[Literal, ...]]) -> LiteralSets:
    """Drop repeated literals, tautologies, and clauses equal up to the order of literals."""
    found: dict[frozenset[Literal], tuple[Literal, ...]] = {}
    for literals in clauses:
        kept = dict.fromkeys(literals)
        if not any(~literal in kept for literal in kept):
            found.setdefault(frozenset(kept), tuple(kept))
    return tuple(found.values())


def ground_quantifiers(formula: Formula, domains: Mapping[str, Collection[str]]) -> Formula:
    """Replace EXIST and FORALL by disjunctions and conjunctions over constants.

    A bound variable takes the type of the argument places where it stands. Parts decided by the
    constants alone (``Anna = Bob``, EXIST over an empty type) are folded away; where that decides
    the whole formula, the result is `TRUE` or `FALSE` of `mlnlearn.logic.fold`.

    Parameters
    ----------
    formula
        Any formula; free variables stay.
    domains
        The constant names of every type that is quantified over.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> likes = Predicate("likes", ("person", "person"))
    >>> formula = Exists((Variable("y"),), likes("x", "y"))
    >>> print(ground_quantifiers(formula, {"person": ["Anna", "Bob"]}))
    likes(x,Anna) v likes(x,Bob)
    """
    outer = variable_types(formula)

    def spread(part: Exists | Forall) -> tuple[Formula, ...]:
        # Inner quantifiers go first, so a reused variable name has its own type here.
        body = walk(part.body)
        types = outer | variable_types(body)
        choices = [_constants(variable, types, domains, part) for variable in part.variables]
        _refuse_grounding(part, body, math.prod(map(len, choices)))
        return tuple(
            fold(substitute_formula(body, dict(zip(part.variables, values, strict=True))))
            for values in product(*choices)
        )

    def walk(part: Formula) -> Formula:
        match part:
            case Exists():
                return Or(spread(part))
            case Forall():
                return And(spread(part))
        return with_children(part, [walk(inner) for inner in children(part)])

    return fold(walk(formula))


def _constants(
    variable: Variable,
    types: Mapping[Variable, str],
    domains: Mapping[str, Collection[str]],
    formula: Formula,
) -> list[Constant]:
    kind = types.get(variable)
    if kind is None:
        raise InputError(
            f"variable {variable} stands in no atom, so its type is unknown: {formula}",
            hint="drop the quantifier, or use the variable in an atom",
        )
    if kind not in domains:
        known = ", ".join(domains) or "none"
        raise InputError(f"no constants given for type {kind!r} of {variable}; given are: {known}")
    return [Constant(name) for name in domains[kind]]


def _refuse_grounding(formula: Formula, body: Formula, copies: int) -> None:
    parts = copies * max(_normal_sizes(body))
    if parts > _MOST_PARTS:
        raise MemoryLimitError(
            f"spelling out {formula} takes {copies} copies, {parts} parts in all;"
            f" the limit is {_MOST_PARTS}",
            hint="quantify over fewer variables or smaller types",
        )
