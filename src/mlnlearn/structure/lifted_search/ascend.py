"""Maximisation from a good start with a known curvature: a few dense quasi-Newton steps.

Searching structure means fitting almost the same weights over and over. The curvature of the last
fit, bordered by one row for the new clause, makes a first Newton step that mostly lands.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlnlearn.weights.objective import Floats

Function = Callable[[Floats], tuple[float, Floats]]

_LONGEST = 4.0
_MOST_STEPS = 200
_APART = 1e-4  # of the points whose gradients are compared


def ascend(
    function: Function,
    start: Floats,
    curvature: Floats,
    *,
    floor: float,
    tolerance: float = 1e-5,
) -> tuple[Floats, float]:
    """Maximise a concave function by BFGS from a given curvature.

    Parameters
    ----------
    function
        Value and gradient.
    start
        First guess.
    curvature
        The negative second derivatives near it, roughly.
    floor
        The least curvature there can be in any direction: that of the prior.
    tolerance
        Stop when the next step promises less than this.

    Returns
    -------
    point, value
        The best point and the value there.

    Examples
    --------
    >>> def bowl(w):
    ...     return -float((w - 3.0) @ (w - 3.0)), -2.0 * (w - 3.0)
    >>> point, value = ascend(bowl, np.zeros(2), np.eye(2), floor=1e-4)
    >>> point.round(6).tolist(), round(abs(value), 6)
    ([3.0, 3.0], 0.0)
    """
    values, vectors = np.linalg.eigh(curvature)
    inverse = (vectors / np.maximum(values, floor)) @ vectors.T
    point = start.copy()
    value, gradient = function(point)
    for _ in range(_MOST_STEPS):
        direction = inverse @ gradient
        promise = float(gradient @ direction)
        if promise < 2.0 * tolerance:
            break
        length = min(1.0, _LONGEST / float(np.abs(direction).max()))
        moved = _line_search(function, point, value, direction, length, promise)
        if moved is None:
            break
        new, value, new_gradient = moved
        inverse = _updated(inverse, new - point, gradient - new_gradient)
        point, gradient = new, new_gradient
    return point, value


def _line_search(
    function: Function,
    point: Floats,
    value: float,
    direction: Floats,
    length: float,
    promise: float,
) -> tuple[Floats, float, Floats] | None:
    """Halve the step until it gains a fair part of what it promises."""
    for _ in range(30):
        new = point + length * direction
        new_value, gradient = function(new)
        if new_value >= value + 1e-4 * length * promise:
            return new, new_value, gradient
        length *= 0.4
    return None


def _updated(inverse: Floats, step: Floats, change: Floats) -> Floats:
    """Update the inverse curvature by a step and the change of the gradient along it (BFGS)."""
    product = float(step @ change)
    if product <= 1e-12:
        return inverse
    moved = inverse @ change
    scale = (product + float(change @ moved)) / product**2
    result: Floats = (
        inverse
        + scale * np.outer(step, step)
        - (np.outer(moved, step) + np.outer(step, moved)) / product
    )
    return result


def curvature_of(function: Function, point: Floats) -> Floats:
    """Return the negative second derivatives at a point, by differences of gradients.

    Examples
    --------
    >>> curvature_of(lambda w: (-float(w @ w), -2.0 * w), np.zeros(2)).round(6).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    rows = [curvature_row(function, point, number) for number in range(len(point))]
    matrix = np.array(rows).reshape(len(point), len(point))
    return 0.5 * (matrix + matrix.T)


def curvature_row(function: Function, point: Floats, number: int) -> Floats:
    """Return one row of the negative second derivatives at a point."""
    ahead, behind = point.copy(), point.copy()
    ahead[number] += _APART
    behind[number] -= _APART
    row: Floats = (function(behind)[1] - function(ahead)[1]) / (2.0 * _APART)
    return row
