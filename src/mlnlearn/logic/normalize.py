"""Normal forms: negations at the atoms, conjunctions of clauses, quantifiers spelt out.

The three passes are meant to be taken in the order `ground_quantifiers` (where the formula has
quantifiers), then `clauses_of`; `negation_normal_form` stands on its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.atoms import Atom, Comparison, Constant, Literal, Variable
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.fold import fold, truth_of
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
    children,
    variable_types,
    with_children,
)
from mlnlearn.logic.substitute import substitute_formula

_Literals = tuple[Literal, ...]
_MOST_PARTS = 1_000_000


def negation_normal_form(formula: Formula) -> Formula:
    """Push negations down to the atoms; only atoms, ``!``, ``^``, ``v`` and quantifiers remain.

    An equivalence becomes two implications, so its parts are written twice: nested equivalences
    grow exponentially, and a result of more than a million parts is refused.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> p, q = Predicate("P", ("t",)), Predicate("Q", ("t",))
    >>> print(negation_normal_form(Not(Implies(p("x"), Exists((Variable("y"),), q("y"))))))
    P(x) ^ (FORALL y !Q(y))
    """
    size = max(_normal_sizes(formula))
    if size > _MOST_PARTS:
        raise MemoryLimitError(
            f"the negation normal form would have {size} parts",
            hint="nested <=> double at every level; split the formula",
        )
    return _push(formula, positive=True)


def _normal_sizes(formula: Formula) -> tuple[int, int]:
    """Return the number of nodes of the normal forms of a formula and of its negation."""
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


def _push(formula: Formula, positive: bool) -> Formula:
    match formula:
        case Atom() | Comparison():
            return formula if positive else Not(formula)
        case Not(part):
            return _push(part, not positive)
        case And(parts) | Or(parts):
            pushed = tuple(_push(part, positive) for part in parts)
            return And(pushed) if isinstance(formula, And) == positive else Or(pushed)
        case Implies(left, right):
            sides = (_push(left, not positive), _push(right, positive))
            return Or(sides) if positive else And(sides)
        case Iff(left, right):
            return And(
                (
                    Or((_push(left, positive=False), _push(right, positive))),
                    Or((_push(left, positive=True), _push(right, not positive))),
                )
            )
        case Exists(variables, body) | Forall(variables, body):
            pushed_body = _push(body, positive)
            if isinstance(formula, Exists) == positive:
                return Exists(variables, pushed_body)
            return Forall(variables, pushed_body)
        case EitherSign():
            raise _not_expanded(formula)


def _not_expanded(formula: EitherSign) -> InputError:
    return InputError(
        f"{formula} stands for two formulas and has no normal form",
        hint="expand the rule first (expand_rule)",
    )


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


class _Distribution:
    """Clauses of every subformula and sign, each worked out once."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.known: dict[tuple[Formula, bool], tuple[_Literals, ...]] = {}

    def of(self, formula: Formula, positive: bool) -> tuple[_Literals, ...]:
        key = (formula, positive)
        if key not in self.known:
            self.known[key] = self._distribute(formula, positive)
        return self.known[key]

    def _distribute(self, formula: Formula, positive: bool) -> tuple[_Literals, ...]:
        match formula:
            case Atom():
                return ((Literal(formula, positive),),)
            case Comparison():
                truth = truth_of(formula)
                if truth is None:
                    return ((Literal(formula, positive),),)
                return () if truth == positive else ((),)
            case Not(part):
                return self.of(part, not positive)
            case And(parts) | Or(parts):
                branches = [self.of(part, positive) for part in parts]
                conjunctive = isinstance(formula, And) == positive
                return self._both(branches) if conjunctive else self._either(branches)
            case Implies(left, right):
                branches = [self.of(left, not positive), self.of(right, positive)]
                return self._either(branches) if positive else self._both(branches)
            case Iff(left, right):
                forward = self._either([self.of(left, False), self.of(right, positive)])
                backward = self._either([self.of(left, True), self.of(right, not positive)])
                return self._both([forward, backward])
            case Exists() | Forall():
                raise InputError(
                    f"{formula} has a quantifier, so it is no finite set of clauses",
                    hint="spell it out over the constants first (ground_quantifiers)",
                )
            case EitherSign():
                raise _not_expanded(formula)

    def _both(self, branches: Sequence[tuple[_Literals, ...]]) -> tuple[_Literals, ...]:
        self._refuse_above(sum(map(len, branches)))
        return _distinct([literals for branch in branches for literals in branch])

    def _either(self, branches: Sequence[tuple[_Literals, ...]]) -> tuple[_Literals, ...]:
        # Single clauses are joined in one go, so that a wide disjunction takes linear time.
        single = tuple(lit for branch in branches if len(branch) == 1 for lit in branch[0])
        found = _distinct([single])
        for branch in branches:
            if len(branch) != 1:
                self._refuse_above(len(found) * len(branch))
                found = _distinct([left + right for left, right in product(found, branch)])
        return found

    def _refuse_above(self, size: int) -> None:
        if size > self.limit:
            raise MemoryLimitError(
                f"the formula multiplies out to {size} clauses or more; the limit is {self.limit}",
                hint="keep it as one formula ([ … ]), split it, or raise the limit",
            )


def _distinct(clauses: Sequence[_Literals]) -> tuple[_Literals, ...]:
    """Drop repeated literals, tautologies, and clauses equal up to the order of literals."""
    found: dict[frozenset[Literal], _Literals] = {}
    for literals in clauses:
        kept = dict.fromkeys(literals)
        if not any(~literal in kept for literal in kept):
            found.setdefault(frozenset(kept), tuple(kept))
    return tuple(found.values())


def ground_quantifiers(formula: Formula, domains: Mapping[str, Sequence[str]]) -> Formula:
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
    domains: Mapping[str, Sequence[str]],
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
