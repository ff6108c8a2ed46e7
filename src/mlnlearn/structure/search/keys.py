"""Canonical keys of clauses written in numbers: the fast way to know a clause again.

A key is a tuple of literals, each a tuple of the number of its signed predicate and the numbers of
its variables. The method is that of `mlnlearn.logic.canonical`; on numbers it is many times faster,
and a search meets most clauses by many ways.
"""

from __future__ import annotations

from collections.abc import Iterable

LiteralKey = tuple[int, ...]
ClauseKey = tuple[LiteralKey, ...]


def canonical_key(literals: Iterable[LiteralKey]) -> ClauseKey:
    """Return a key that is equal for clauses which differ in names and order only.

    Examples
    --------
    >>> canonical_key([(0, 7, 3), (1, 3)]) == canonical_key([(1, 5), (0, 2, 5)])
    True
    >>> canonical_key([(0, 7, 3), (1, 3)])
    ((0, 0, 1), (1, 1))
    """
    given = tuple(set(literals))
    ranks = {term: 0 for literal in given for term in literal[1:]}
    return _smallest(given, _refined(given, ranks))


def _refined(literals: ClauseKey, ranks: dict[int, int]) -> dict[int, int]:
    """Tell variables apart by where they stand, until nothing changes."""
    classes = len(set(ranks.values()))
    while True:
        seen: dict[int, list[tuple[int, ...]]] = {term: [] for term in ranks}
        for literal in literals:
            shape = (literal[0], *[ranks[term] for term in literal[1:]])
            for place, term in enumerate(literal[1:]):
                seen[term].append((place, *shape))
        marks = {term: (ranks[term], sorted(where)) for term, where in seen.items()}
        ordered = sorted(marks.values())
        numbers: dict[int, int] = {}
        for term, mark in marks.items():
            numbers[term] = ordered.index(mark)
        found = len(set(numbers.values()))
        if found == classes:
            return numbers
        ranks, classes = numbers, found


def _smallest(literals: ClauseKey, ranks: dict[int, int]) -> ClauseKey:
    values = list(ranks.values())
    tied = [term for term, rank in ranks.items() if values.count(rank) > 1]
    if not tied:
        place = {term: number for number, term in enumerate(sorted(ranks, key=ranks.__getitem__))}
        return tuple(
            sorted((literal[0], *[place[term] for term in literal[1:]]) for literal in literals)
        )
    lowest = min(ranks[term] for term in tied)
    keys = []
    for first in tied:
        if ranks[first] == lowest:
            split = {term: 2 * rank + 1 for term, rank in ranks.items()}
            split[first] -= 1
            keys.append(_smallest(literals, _refined(literals, split)))
    return min(keys)
