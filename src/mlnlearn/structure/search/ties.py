"""Ties: scores that differ by round-off alone, decided in a fixed order.

The same count taken another way, or added up in another order, differs in its last bits. Where
these decided which of two clauses is better, a search would find other rules on another machine, or
by another engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")

TIE = 1e-9
"""Scores this close are equal: far above round-off, far below what a literal must gain."""


def exceeds(one: float, other: float) -> bool:
    """Tell whether a number is larger than another by more than round-off.

    Examples
    --------
    >>> exceeds(0.1 + 0.2, 0.3), exceeds(0.31, 0.3)
    (False, True)
    """
    return one > other + TIE


def ranked(items: Iterable[T], score: Callable[[T], float], order: Callable[[T], Any]) -> list[T]:
    """Sort by falling score; those whose scores are ties by an order that is no score.

    Examples
    --------
    >>> scores = {"b": 0.3, "a": 0.1 + 0.2, "c": 0.5}
    >>> ranked("abc", scores.__getitem__, str), sorted("abc", key=lambda k: -scores[k])
    (['c', 'a', 'b'], ['c', 'a', 'b'])
    >>> ranked("bac", {"b": 0.1 + 0.2, "a": 0.3, "c": 0.5}.__getitem__, str)
    ['c', 'a', 'b']
    """
    result: list[T] = []
    run: list[T] = []
    last = 0.0
    for item in sorted(items, key=score, reverse=True):
        if run and exceeds(last, score(item)):
            result += sorted(run, key=order)
            run = []
        run.append(item)
        last = score(item)
    return result + sorted(run, key=order)
