"""Formulas as sums: of disjoint conjunctions, and of signed clauses.

A formula that is one feature of a model counts 1 in the worlds that satisfy it, else 0. Written as
a sum of conjunctions of which at most one holds in any world, and each conjunction as 1 minus the
clause that denies it, any such feature becomes a sum of clauses, which is all that inference knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from mlnlearn.errors import MemoryLimitError
from mlnlearn.logic.atoms import Literal
from mlnlearn.logic.clauses import Clause
from mlnlearn.logic.fold import fold
from mlnlearn.logic.formulas import Formula
from mlnlearn.logic.signs import LiteralSets, SignedFormula, SignedPass

Cube = tuple[Literal, ...]
_MUCH_LONGER = 2


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
    >>> from mlnlearn.logic.formulas import And
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
        raise expansion.refusal(limit + 1)
    constant, clauses = 0, []
    for cube in cubes:
        if len(cube) == 1:
            clauses.append((1, Clause(cube)))
        else:
            constant += 1
            clauses.append((-1, _denial(cube)))
    return constant, tuple((sign, clause) for sign, clause in clauses if len(clause))


def _attempt(expansion: _Expansion, formula: Formula, positive: bool) -> LiteralSets | None:
    try:
        return expansion.of(formula, positive)
    except MemoryLimitError:
        return None


def _better(denied: LiteralSets, cubes: LiteralSets, rewarded: bool) -> bool:
    """Tell whether to write a formula by the cubes of its negation."""
    penalised, praised = (denied, cubes) if rewarded else (cubes, denied)
    if len(praised) > 1 and len(penalised) <= _MUCH_LONGER * len(praised):
        return rewarded
    return _size(denied) < _size(cubes)


def _size(cubes: LiteralSets) -> tuple[int, int]:
    return len(cubes), sum(map(len, cubes))


def _denial(cube: Cube) -> Clause:
    return Clause(tuple(~literal for literal in cube))


class _Expansion(SignedPass):
    """Cubes of every subformula and sign: disjoint, so that at most one holds in any world."""

    unit = "disjoint conjunctions"

    def conjunction(self, parts: Sequence[SignedFormula]) -> LiteralSets:
        factors = [self.of(*part) for part in parts]
        if all(len(factor) == 1 for factor in factors):
            # the common case, a conjunction of literals: no need to grow it step by step
            merged = dict.fromkeys(literal for (cube,) in factors for literal in cube)
            return () if any(~literal in merged for literal in merged) else (tuple(merged),)
        found: LiteralSets = ((),)
        for factor in factors:
            found = self._times(found, factor)
        return found

    def disjunction(self, parts: Sequence[SignedFormula]) -> LiteralSets:
        """Sum the parts, each under the negation of all before it; short negations first."""
        order = sorted(parts, key=lambda part: len(self.of(part[0], not part[1])))
        found: list[Cube] = []
        rest: LiteralSets = ((),)
        for part, positive in order:
            found += self._times(rest, self.of(part, positive))
            self.refuse_above(len(found))
            rest = self._times(rest, self.of(part, not positive))
        return tuple(found)

    def equivalence(self, left: Formula, right: Formula, positive: bool) -> LiteralSets:
        with_left = self.conjunction([(left, True), (right, positive)])
        return with_left + self.conjunction([(left, False), (right, not positive)])

    def _times(self, left: LiteralSets, right: LiteralSets) -> LiteralSets:
        self.refuse_above(len(left) * len(right))
        joined = (_joined(first, second) for first, second in product(left, right))
        return tuple(cube for cube in joined if cube is not None)


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
