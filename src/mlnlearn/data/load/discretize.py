"""Cutting numbers into bands that serve as constants."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.vocabulary import moment_name, number_name, seconds_of

METHODS = ("quantile", "width")
_DAY = 86_400.0

Cut: TypeAlias = float | str
"""Where a band begins: a number; or a day or moment, as ISO text."""


def find_cuts(numbers: NDArray[np.float64], bins: int, method: str) -> tuple[float, ...]:
    """Return at most ``bins - 1`` inner cuts, of equal share (quantile) or of equal width.

    Cuts are rounded to six significant digits, so that the names of the bands stay readable; cuts
    that would leave an empty band at the lower end or repeat are dropped.

    Examples
    --------
    >>> find_cuts(np.array([1.0, 2.0, 3.0, 10.0]), 2, "quantile")
    (2.5,)
    >>> find_cuts(np.array([1.0, 2.0, 3.0, 10.0]), 3, "width")
    (4.0, 7.0)
    """
    raw = _raw_cuts(numbers, bins, method)
    rounded = _between(numbers, [float(f"{cut:.6g}") for cut in raw])
    return rounded or _between(numbers, raw)


def find_moments(
    seconds: NDArray[np.float64], bins: int, method: str = "quantile"
) -> tuple[str, ...]:
    """Return cuts between moments: at the beginning of days where these tell them apart.

    Examples
    --------
    >>> find_moments(np.array([0.0, 3.6 * 86400, 9 * 86400]), 2)
    ('1970-01-04',)
    """
    raw = _raw_cuts(seconds, bins, method)
    days = _between(seconds, [np.floor(cut / _DAY) * _DAY for cut in raw])
    return tuple(map(moment_name, days or _between(seconds, np.floor(raw).tolist())))


def _raw_cuts(numbers: NDArray[np.float64], bins: int, method: str) -> list[float]:
    if not len(numbers):
        return []
    shares = np.linspace(0, 1, bins + 1)[1:-1]
    low, high = float(numbers.min()), float(numbers.max())
    raw = np.quantile(numbers, shares) if method == "quantile" else low + shares * (high - low)
    return [float(cut) for cut in raw]


def _between(numbers: NDArray[np.float64], cuts: Sequence[float]) -> tuple[float, ...]:
    if not len(numbers):
        return ()
    low, high = float(numbers.min()), float(numbers.max())
    return tuple(cut for cut in sorted(set(map(float, cuts))) if low < cut <= high)


def cut_numbers(cuts: Sequence[Cut]) -> NDArray[np.float64]:
    """Return cuts as numbers; those of moments are seconds.

    Examples
    --------
    >>> cut_numbers(["1970-01-02"]).tolist(), cut_numbers([2.5]).tolist()
    ([86400.0], [2.5])
    """
    return np.array([seconds_of(c) if isinstance(c, str) else c for c in cuts], np.float64)


def cut_of(value: object) -> Cut:
    """Return a cut as it stands in a mapping: a number, or the text of a day or moment.

    Examples
    --------
    >>> from datetime import date
    >>> cut_of(3), cut_of(date(2020, 12, 31))
    (3.0, '2020-12-31')
    """
    return float(value) if isinstance(value, int | float) else str(value)


def are_rising(cuts: Sequence[Cut]) -> bool:
    """Tell whether cuts are all numbers, or all days and moments, each above the one before.

    Examples
    --------
    >>> are_rising([1, 2.5]), are_rising(["2020-01-01", "1999-01-01"]), are_rising([1, "soon"])
    (True, False, False)
    """
    numbers = cut_numbers(cuts)
    alike = len({isinstance(cut, str) for cut in cuts}) <= 1
    return alike and bool(np.isfinite(numbers).all() and (np.diff(numbers) > 0).all())


def band_names(cuts: Sequence[Cut]) -> list[str]:
    """Return the names of the bands between cuts, in order.

    Examples
    --------
    >>> band_names([2.5, 3.7])
    ['(-inf,2.5)', '[2.5,3.7)', '[3.7,inf)']
    """
    inner = [cut if isinstance(cut, str) else number_name(float(cut)) for cut in cuts]
    bands = [f"[{low},{high})" for low, high in pairwise(["-inf", *inner, "inf"])]
    return ["(" + bands[0][1:], *bands[1:]]
