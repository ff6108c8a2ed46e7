"""Arithmetic on whole numbers: the values of calculations, for many bindings at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Calculation, Comparison, Constant, Operand, Variable, is_whole

_LARGEST = 2.0**62

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


def whole_numbers(names: Iterable[str], comparison: Comparison) -> Whole:
    """Return the numbers that constants stand for; anything else is refused.

    Examples
    --------
    >>> next_year = Comparison("=", Calculation("+", Variable("t"), Constant("1")), Variable("u"))
    >>> whole_numbers(["3", "-4"], next_year).tolist()
    [3, -4]
    """
    listed = list(names)
    for name in listed:
        if not is_whole(name):
            raise InputError(
                f"{comparison} calculates with whole numbers, but {Constant(name)} is none",
                hint="give numbers and other names types of their own",
            )
    return np.array([int(name) for name in listed], np.int64)


def holds(comparison: Comparison, columns: Mapping[Variable, Whole], rows: int) -> Flags:
    """Tell for each row of values whether a comparison that calculates is true.

    Parameters
    ----------
    comparison
        The comparison; its constants are whole numbers.
    columns
        The values of its variables.
    rows
        The length of the columns.

    Examples
    --------
    >>> next_year = Comparison("=", Calculation("+", Variable("t"), Constant("1")), Variable("u"))
    >>> columns = {Variable("t"): np.array([1, 1]), Variable("u"): np.array([2, 3])}
    >>> holds(next_year, columns, 2).tolist()
    [True, False]
    """
    left, has_left = values(comparison.left, comparison, columns, rows)
    right, has_right = values(comparison.right, comparison, columns, rows)
    tests = {
        "=": np.equal,
        "<": np.less,
        ">": np.greater,
        "<=": np.less_equal,
        ">=": np.greater_equal,
    }
    return np.asarray(tests[comparison.operator](left, right) & has_left & has_right, np.bool_)


def values(
    side: Operand, comparison: Comparison, columns: Mapping[Variable, Whole], rows: int
) -> tuple[Whole, Flags]:
    """Return one side's values, and where it has one: nothing is divided by zero."""
    if isinstance(side, Variable):
        return columns[side], np.ones(rows, np.bool_)
    if isinstance(side, Constant):
        return whole_numbers([side.name], comparison).repeat(rows), np.ones(rows, np.bool_)
    left, has_left = values(side.left, comparison, columns, rows)
    right, has_right = values(side.right, comparison, columns, rows)
    defined = has_left & has_right
    if side.operator in "/%":
        defined = defined & (right != 0)
        right = np.where(right == 0, 1, right)
    return _calculated(side, left, right), defined


def _calculated(side: Calculation, left: Whole, right: Whole) -> Whole:
    operators = {
        "+": np.add,
        "-": np.subtract,
        "*": np.multiply,
        "min": np.minimum,
        "max": np.maximum,
    }
    if side.operator in operators:
        operator = operators[side.operator]
        rough = operator(left.astype(np.float64), right.astype(np.float64))
        if len(rough) and float(np.abs(rough).max()) > _LARGEST:
            raise InputError(f"the numbers of {side} become too large")
        return np.asarray(operator(left, right), np.int64)
    # towards zero; numpy's own division goes down
    quotient = np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))
    return np.asarray(quotient if side.operator == "/" else left - right * quotient, np.int64)
