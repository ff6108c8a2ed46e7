"""Schemas with so many predicates over the same types that clauses are too many to try."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from mlnlearn.errors import DataWarning
from mlnlearn.logic.atoms import Predicate
from mlnlearn.run import never

_MANY = 25

Item = TypeVar("Item")


def warn_where_crowded(predicates: Sequence[Predicate], learner: str) -> None:
    """Say what to use instead where very many relations are over the same types.

    Examples
    --------
    >>> warn_where_crowded([Predicate("friends", ("person", "person"))], "gslp")
    """
    relations = Counter(p.types for p in predicates if p.arity == 2)
    types, count = relations.most_common(1)[0] if relations else ((), 0)
    if count > _MANY:
        warnings.warn(
            f"{count} relations are over the types {', '.join(types)}: {learner} tries few of the "
            "clauses that these allow; paths, rdn-b with literals_per_node=1, and boost are made "
            "for such data",
            DataWarning,
            stacklevel=3,
        )


def fair_order(items: Iterable[Item], is_over: Callable[[], bool], seed: int = 0) -> list[Item]:
    """Return items in an order that favours none, where a phase may be over before all are tried.

    Examples
    --------
    >>> fair_order("abc", never)
    ['a', 'b', 'c']
    """
    listed = list(items)
    if is_over is never:
        return listed
    order = np.random.default_rng(seed).permutation(len(listed))
    return [listed[place] for place in order.tolist()]


def until(is_over: Callable[[], bool], items: Iterable[Item], seed: int = 0) -> Iterator[Item]:
    """Yield items, in a fair order, until a phase is over.

    Examples
    --------
    >>> list(until(lambda: True, "abc"))
    []
    """
    for item in fair_order(items, is_over, seed):
        if is_over():
            return
        yield item
