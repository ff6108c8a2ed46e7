"""Formulas as sums: of disjoint conjunctions, and of signed clauses.

A formula that is one feature of a model counts 1 in the worlds that satisfy it, else 0. Written as
a sum of conjunctions of which at most one holds in any world, and each conjunction as 1 minus the
clause that denies it, any such feature becomes a sum of clauses, which is all that inference knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.atoms import Atom, Comparison, Literal
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.fold import fold
from mlnlearn.logic.formulas import And, EitherSign, Exists, Forall, Formula, Iff, Implies, Not, Or

Cube = tuple[Literal, ...]
_Cubes = tuple[Cube, ...]
_MUCH_LONGER = 2


def disjoint_cubes(formula: Formula, *, limit: int = 4096) -> tuple[Cube, ...]:
    """Write a quantifier-free formula as a sum of conjunctions, at most one true in any world.

    ``f v g`` becomes ``f + !f ^ g``, parts with a short negation first; conjunctions multiply out.
    No cube at all means false; an empty cube means true.

    Parameters
    ----------
    formula
        A formula without quantifiers and without ``*P(x)``.
    limit
        The most cubes that may stand at any point of the work; past it, `MemoryLimitError`.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> p, q = Predicate("p", ("t",))("x"), Predicate("q", ("t",))("x")
    >>> [" ^ ".join(map(str, cube)) for cube in disjoint_cubes(Or((p, q)))]
    ['p(x)', '!p(x) ^ q(x)']
    """
    return _Expansion(limit).of(fold(formula), True)


def signed_clauses(
    formula: Formula, *, rewarded: bool = True, limit: int = 4096
) -> tuple[int, tuple[tuple[int, Clause], ...]]:
    """Write the truth of a formula as a constant plus a sum of multiples of the truth of clauses.

    The equation holds in every world. Of the formula and its negation, the one with fewer cubes is
    taken, so a clause stays one clause and a conjunction becomes minus the clause that denies it.
    Where that would reward several cubes, the other is taken if it is not much longer: a sampler
    that keeps what is rewarded never leaves a cube, but goes freely where nothing is penalised.

    Parameters
    ----------
    formula
        A formula without quantifiers and without ``*P(x)``.
    rewarded
        Whether the formula has a positive weight.
    limit
        The most cubes that may stand at any point of the work; past it, `MemoryLimitError`.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> p, q = Predicate("p", ("t",))("x"), Predicate("q", ("t",))("x")
    >>> constant, clauses = signed_clauses(And((p, q)))
    >>> constant, [(coefficient, str(clause)) for coefficient, clause in clauses]
    (1, [(-1, '!p(x) v !q(x)')])
    """
    folded = fold(formula)
    expansion = _Expansion(limit)
    denied = _attempt(expansion, folded, False)
    is_clause = denied is not None and len(denied) == 1 and denied != ((),)
    cubes = None if is_clause else _attempt(expansion, folded, True)
    if denied is not None and (cubes is None or _better(denied, cubes, rewarded)):
        # f = 1 - Σ cubes of !f, and each cube is 1 minus a clause
        return 1 - len(denied), tuple((1, _denial(cube)) for cube in denied if cube)
    if cubes is None:
        raise _too_many(limit)
    constant, clauses = 0, []
    for cube in cubes:
        if len(cube) == 1:
            clauses.append((1, Clause(cube)))
        else:
            constant += 1
            clauses.append((-1, _denial(cube)))
    return constant, tuple((sign, clause) for sign, clause in clauses if len(clause))


def _attempt(expansion: _Expansion, formula: Formula, positive: bool) -> _Cubes | None:
    try:
        return expansion.of(formula, positive)
    except MemoryLimitError:
        return None


def _better(denied: _Cubes, cubes: _Cubes, rewarded: bool) -> bool:
    """Tell whether to write a formula by the cubes of its negation."""
    penalised, praised = (denied, cubes) if rewarded else (cubes, denied)
    if len(praised) > 1 and len(penalised) <= _MUCH_LONGER * len(praised):
        return rewarded
    return _size(denied) < _size(cubes)


def _size(cubes: _Cubes) -> tuple[int, int]:
    return len(cubes), sum(map(len, cubes))


def _denial(cube: Cube) -> Clause:
    return Clause(tuple(~literal for literal in cube))


def _too_many(limit: int) -> MemoryLimitError:
    return MemoryLimitError(
        f"a formula falls apart into more than {limit} disjoint conjunctions",
        hint="split the formula, or quantify over smaller types",
    )


class _Expansion:
    """Cubes of every subformula and sign, each worked out once."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.known: dict[tuple[Formula, bool], _Cubes] = {}

    def of(self, formula: Formula, positive: bool) -> _Cubes:
        key = (formula, positive)
        if key not in self.known:
            self.known[key] = self._expand(formula, positive)
        return self.known[key]

    def _expand(self, formula: Formula, positive: bool) -> _Cubes:
        match formula:
            case Atom() | Comparison():
                return ((Literal(formula, positive),),)
            case Not(part):
                return self.of(part, not positive)
            case And(parts) | Or(parts):
                signed = [(part, positive) for part in parts]
                conjunctive = isinstance(formula, And) == positive
                return self._all(signed) if conjunctive else self._any(signed)
            case Implies(left, right):
                signed = [(left, not positive), (right, positive)]
                return self._any(signed) if positive else self._all(signed)
            case Iff(left, right):
                with_left = self._all([(left, True), (right, positive)])
                return with_left + self._all([(left, False), (right, not positive)])
            case Exists() | Forall():
                raise InputError(
                    f"{formula} has a quantifier, so it is no finite sum of conjunctions",
                    hint="spell it out over the constants first (ground_quantifiers)",
                )
            case EitherSign():
                raise InputError(f"expand '*' first (expand_rule): {formula}")

    def _all(self, signed: Sequence[tuple[Formula, bool]]) -> _Cubes:
        factors = [self.of(part, positive) for part, positive in signed]
        if all(len(factor) == 1 for factor in factors):
            # the common case, a conjunction of literals: no need to grow it step by step
            merged = dict.fromkeys(literal for (cube,) in factors for literal in cube)
            return () if any(~literal in merged for literal in merged) else (tuple(merged),)
        found: _Cubes = ((),)
        for factor in factors:
            found = self._times(found, factor)
        return found

    def _any(self, signed: Sequence[tuple[Formula, bool]]) -> _Cubes:
        """Sum the parts, each under the negation of all before it; short negations first."""
        order = sorted(signed, key=lambda part: len(self.of(part[0], not part[1])))
        found: list[Cube] = []
        rest: _Cubes = ((),)
        for part, positive in order:
            found += self._times(rest, self.of(part, positive))
            self._refuse_above(len(found))
            rest = self._times(rest, self.of(part, not positive))
        return tuple(found)

    def _times(self, left: _Cubes, right: _Cubes) -> _Cubes:
        self._refuse_above(len(left) * len(right))
        joined = (_joined(first, second) for first, second in product(left, right))
        return tuple(cube for cube in joined if cube is not None)

    def _refuse_above(self, size: int) -> None:
        if size > self.limit:
            raise _too_many(self.limit)


def _joined(left: Cube, right: Cube) -> Cube | None:
    """Join two conjunctions; None where they contradict each other."""
    if not left:
        return right
    merged = dict.fromkeys(left)
    for literal in right:
        if ~literal in merged:
            return None
        merged[literal] = None
    return tuple(merged)
