"""Cutting numbers into bands that serve as constants."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.load.columns import constant_name

METHODS = ("quantile", "width")


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
    if not len(numbers):
        return ()
    shares = np.linspace(0, 1, bins + 1)[1:-1]
    low, high = float(numbers.min()), float(numbers.max())
    raw = np.quantile(numbers, shares) if method == "quantile" else low + shares * (high - low)
    rounded = sorted({float(f"{cut:.6g}") for cut in raw.tolist()})
    return tuple(cut for cut in rounded if low < cut <= high)


def band_names(cuts: Sequence[float]) -> list[str]:
    """Return the names of the bands between cuts, in order.

    Examples
    --------
    >>> band_names([2.5, 3.7])
    ['(-inf,2.5)', '[2.5,3.7)', '[3.7,inf)']
    """
    edges = ["-inf", *(constant_name(float(cut)) for cut in cuts), "inf"]
    bands = [f"[{low},{high})" for low, high in pairwise(edges)]
    return ["(" + bands[0][1:], *bands[1:]]
