"""The logistic function, to the bit as SciPy has it, without SciPy's third of a second at start."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlnlearn.compiled import njit


def expit(log_odds: ArrayLike) -> NDArray[np.float64]:
    """Return the probabilities of log-odds, in their shape.

    Examples
    --------
    >>> expit([0.0, -np.inf])
    array([0.5, 0. ])
    """
    found = np.array(log_odds, np.float64, order="C")
    _expit(found.ravel())
    return found


@njit(cache=True, nogil=True)
def _expit(values):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        values[i] = 1.0 / (1.0 + math.exp(-values[i]))
