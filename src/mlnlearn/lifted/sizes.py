"""Polynomials in domain sizes: how often a thing occurs, before the sizes are known.

A polynomial is a sorted tuple of (product of symbols, coefficient) pairs. A symbol is an integer
that stands for the size of a domain or the value of a counting axis. Values are small and many are
equal, so the operations are cached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Powers: TypeAlias = tuple[int, ...]
SizePolynomial: TypeAlias = tuple[tuple[Powers, int | Fraction], ...]

ZERO: SizePolynomial = ()
ONE: SizePolynomial = (((), 1),)


def constant(value: int | Fraction) -> SizePolynomial:
    """Return a constant polynomial."""
    return (((), value),) if value else ZERO


def symbol(number: int) -> SizePolynomial:
    """Return the polynomial that is one symbol.

    Examples
    --------
    >>> n = symbol(0)
    >>> times(n, shifted(n, -1))  # n (n - 1)
    (((0,), -1), ((0, 0), 1))
    """
    return (((number,), 1),)


def _tidy(terms: Mapping[Powers, int | Fraction]) -> SizePolynomial:
    return tuple(sorted((powers, value) for powers, value in terms.items() if value))


@lru_cache(maxsize=1 << 16)
def plus(left: SizePolynomial, right: SizePolynomial) -> SizePolynomial:
    """Add two polynomials."""
    if not left or not right:
        return left or right
    total = dict(left)
    for powers, value in right:
        total[powers] = total.get(powers, 0) + value
    return _tidy(total)


@lru_cache(maxsize=1 << 16)
def times(left: SizePolynomial, right: SizePolynomial) -> SizePolynomial:
    """Multiply two polynomials."""
    if left == ONE:
        return right
    if right == ONE:
        return left
    total: dict[Powers, int | Fraction] = {}
    for first, a in left:
        for second, b in right:
            powers = tuple(sorted(first + second))
            total[powers] = total.get(powers, 0) + a * b
    return _tidy(total)


def shifted(polynomial: SizePolynomial, by: int) -> SizePolynomial:
    """Add a number to a polynomial."""
    return plus(polynomial, constant(by)) if by else polynomial


def negated(polynomial: SizePolynomial) -> SizePolynomial:
    """Return the polynomial with all signs turned."""
    return tuple((powers, -value) for powers, value in polynomial)


def substituted(polynomial: SizePolynomial, values: Mapping[int, SizePolynomial]) -> SizePolynomial:
    """Replace symbols by polynomials; symbols without a value stay.

    Examples
    --------
    >>> substituted(symbol(0), {0: shifted(symbol(1), 2)})
    (((), 2), ((1,), 1))
    """
    total: SizePolynomial = ZERO
    for powers, value in polynomial:
        product = constant(value)
        for number in powers:
            product = times(product, values.get(number, symbol(number)))
        total = plus(total, product)
    return total


def symbols_of(polynomials: Iterable[SizePolynomial]) -> set[int]:
    """Return all symbols that occur."""
    return {number for p in polynomials for powers, _ in p for number in powers}


def evaluate(polynomial: SizePolynomial, columns: Floats) -> Floats:
    """Evaluate for many values at once: `columns` has one row a symbol, one column a case.

    Examples
    --------
    >>> evaluate(times(symbol(0), symbol(1)), np.array([[2.0, 3.0], [5.0, 7.0]])).tolist()
    [10.0, 21.0]
    """
    total = np.zeros(columns.shape[1])
    for powers, value in polynomial:
        if powers:
            product = columns[powers[0]] * float(value)
            for number in powers[1:]:
                product *= columns[number]
            total += product
        else:
            total += float(value)
    return total
