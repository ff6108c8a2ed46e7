"""Comparisons as relations: the constants for which ``x < y`` or ``t + 1 = u`` holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints, expand_ranges
from mlnlearn.counting.query import Hold
from mlnlearn.counting.stack import Stack
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.arithmetic import Flags, Whole, holds, values, whole_numbers
from mlnlearn.logic.atoms import Atom, Comparison, Constant, Predicate, Variable
from mlnlearn.logic.fold import order_key

_MOST_ROWS = 100_000_000
_BYTES = 48  # of a combination while it is compared, and as a fact

Rows = tuple[Codes, Sequence[Codes]]


def comparison_atom(
    stack: Stack,
    comparison: Comparison,
    types: Mapping[Variable, str],
    take: Hold | None = None,
) -> Atom:
    """Turn an order or a calculation into an atom of a relation made from the variables' domains.

    `take` counts the memory that this needs, or refuses it.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.atoms import Calculation
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("at(time)")
    >>> stack = Stack([Database.from_facts(schema, {"at": [("1",), ("2",), ("4",)]})])
    >>> t, u = Variable("t"), Variable("u")
    >>> later = Comparison("=", Calculation("+", t, Constant("1")), u)
    >>> atom = comparison_atom(stack, later, {t: "time", u: "time"})
    >>> len(stack.relation(atom.predicate))
    1
    """
    variables = tuple(dict.fromkeys(t for t in comparison.terms if isinstance(t, Variable)))
    if not variables:
        raise InputError(f"a comparison needs a variable: {comparison}")
    kinds = tuple(types[variable] for variable in variables)
    numbered = {variable: Variable(f"?{i}") for i, variable in enumerate(variables)}
    shape = comparison.with_terms(lambda t: numbered[t] if isinstance(t, Variable) else t)
    predicate = Predicate(f"$({shape}) on {','.join(kinds)}", kinds)
    if not stack.derived(predicate):
        if comparison.calculates:
            by_variable = dict(zip(variables, kinds, strict=True))
            database, columns = _calculated_rows(stack, comparison, by_variable, take)
        else:
            database, columns = _order_rows(stack, kinds[0], comparison, take)
        stack.derive(predicate, database, columns)
    return Atom(predicate, variables)


# Order -------------------------------------------------------------------------------------------


def _order_rows(stack: Stack, kind: str, comparison: Comparison, take: Hold | None) -> Rows:
    """Return the constants (or pairs of constants) of a type for which a comparison holds."""
    members = stack.members(kind)
    codes = members.columns[0]
    left, right = comparison.terms
    names = [term.name for term in (left, right) if isinstance(term, Constant)]
    ranks = _ranks([*stack.vocabularies[kind].names, *names])
    if isinstance(left, Constant) or isinstance(right, Constant):
        own, others = np.full(len(codes), ranks[-1]), ranks[codes]
        pair = (own, others) if isinstance(left, Constant) else (others, own)
        keep = _ordered(comparison.operator, *pair)
        return members.database[keep], [codes[keep]]
    if left == right:
        keep = np.full(len(codes), comparison.operator in ("<=", ">="))
        return members.database[keep], [codes[keep]]
    rows, (first, second) = _pairs(stack, [kind, kind], take)
    keep = _ordered(comparison.operator, ranks[first], ranks[second])
    return rows[keep], [first[keep], second[keep]]


def _ranks(names: Sequence[str]) -> Codes:
    """Rank names in the order of comparisons; names equal in it tie."""
    keys = [order_key(name) for name in names]
    order = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return np.array([order[key] for key in keys], np.int32)


def _ordered(
    operator: str, left: Codes, right: Codes
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    tests = {"<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal}
    return np.asarray(tests[operator](left, right), np.bool_)


# Calculations ------------------------------------------------------------------------------------


def _calculated_rows(
    stack: Stack, comparison: Comparison, kinds: dict[Variable, str], take: Hold | None
) -> Rows:
    """Return the bindings for which a comparison that calculates holds.

    A variable that stands alone on one side of ``=`` is looked up; the others are gone through.
    """
    sought = _alone(comparison)
    given = [variable for variable in kinds if variable != sought]
    rows, columns = _pairs(stack, [kinds[variable] for variable in given], take)
    numbers = {
        variable: _numbers(stack, kinds[variable], comparison)[codes]
        for variable, codes in zip(given, columns, strict=True)
    }
    found = dict(zip(given, columns, strict=True))
    if sought is None:
        keep = holds(comparison, numbers, len(rows))
        return rows[keep], [found[variable][keep] for variable in kinds]
    side = comparison.left if comparison.right == sought else comparison.right
    wanted, defined = values(side, comparison, numbers, len(rows))
    members = stack.members(kinds[sought])
    known = _numbers(stack, kinds[sought], comparison)[members.columns[0]]
    left, right = _matches(rows, wanted, defined, members.database, known)
    found = {variable: codes[left] for variable, codes in found.items()}
    found[sought] = members.columns[0][right]
    return rows[left], [found[variable] for variable in kinds]


def _alone(comparison: Comparison) -> Variable | None:
    """Return the variable that is equal to a calculation without it."""
    for side, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
        if comparison.operator == "=" and isinstance(side, Variable):
            inside = Comparison("=", other, other).terms
            return None if side in inside else side
    return None


def _numbers(stack: Stack, kind: str, comparison: Comparison) -> Whole:
    return whole_numbers(stack.vocabularies[kind].names, comparison)


def _matches(
    rows: Codes, wanted: Whole, defined: Flags, databases: Codes, known: Whole
) -> tuple[Ints, Ints]:
    """Match wanted numbers with the members of their database that are these numbers."""
    numbers, places = np.unique(known, return_inverse=True)
    keys = databases.astype(np.int64) * len(numbers) + places
    order = np.argsort(keys, kind="stable")
    asked = np.searchsorted(numbers, wanted)
    there = defined & (np.append(numbers, 0)[asked] == wanted) & (asked < len(numbers))
    asked = rows.astype(np.int64) * len(numbers) + asked
    starts = np.searchsorted(keys[order], asked, side="left")
    lengths = np.where(there, np.searchsorted(keys[order], asked, side="right") - starts, 0)
    left = np.repeat(np.arange(len(rows)), lengths)
    return left, order[expand_ranges(starts, lengths)]


# Domains -----------------------------------------------------------------------------------------


def _pairs(stack: Stack, kinds: Sequence[str], take: Hold | None) -> tuple[Codes, list[Codes]]:
    """Return every combination of constants of the types within each database."""
    sizes = [stack.sizes(kind) for kind in kinds]
    total = sum(math.prod(int(size[i]) for size in sizes) for i in range(len(stack)))
    if total > _MOST_ROWS:
        raise MemoryLimitError(
            f"a comparison over {' and '.join(kinds)} goes through {total} combinations; "
            f"the limit is {_MOST_ROWS}",
            hint="let each variable of a calculation be equal to one of the others",
        )
    if take is not None:
        take(_BYTES * total, total)
    rows = np.arange(len(stack), dtype=np.int32)
    columns: list[Codes] = []
    for kind, size in zip(kinds, sizes, strict=True):
        members = stack.members(kind)
        lengths = size[rows]
        again = np.repeat(np.arange(len(rows)), lengths)
        codes = members.columns[0][expand_ranges((np.cumsum(size) - size)[rows], lengths)]
        columns = [*(column[again] for column in columns), codes]
        rows = rows[again]
    return rows, columns
