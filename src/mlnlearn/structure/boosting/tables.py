"""Binding tables of one view of the examples: whole and kept, or in pieces of some examples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from threading import RLock
from typing import Any

import numpy as np

from mlnlearn.counting.arrays import Ints
from mlnlearn.counting.bindings import Bindings, Flip
from mlnlearn.counting.example_sums import ExampleSums
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body, Pattern
from mlnlearn.structure.boosting.views import ExampleView, Gap, Path

CHUNK = 1 << 16
"""Examples taken at a time, where tables are not kept."""
PIECE = 1 << 21
"""Rows of a binding table at a time, unless a single example has more."""


class ViewTables:
    """Binding tables of a view.

    Parameters
    ----------
    world
        The facts.
    view
        The examples.
    flip
        Where the target may stand in its own bodies: every example, taken as false.
    kept
        The part of the cache that tables are kept in.
    """

    def __init__(self, world: Objects, view: ExampleView, flip: Flip | None, kept: Any) -> None:
        self.world, self.view = world, view
        self.root = Bindings.of(world, view.examples, flip)
        self._kept = kept
        self._making = RLock()
        self._rows: dict[Path, int] = {}

    def __len__(self) -> int:
        return len(self.view)

    def table(self, path: Path) -> Bindings:
        """Return the binding table of a conjunction for all examples."""
        if not path:
            return self.root
        with self._making:  # once, whoever asks
            key = id(self), path
            found: Bindings | None = self._kept.get(key)
            if found is None:
                found = extended(self.table(path[:-1]), path[-1])
                self._kept.put(key, found)
        return found

    def pieces(self, path: Path, chosen: Ints) -> Iterator[tuple[Ints, Bindings]]:
        """Yield binding tables of some examples at a time, in order, and which these are."""
        if len(chosen) == len(self) and self._most_rows(path) <= PIECE:
            yield chosen, self.table(path)
            return
        for start in range(0, max(len(chosen), 1), CHUNK):
            part = chosen[start : start + CHUNK]
            flip = None if self.root.flip is None else self.root.flip.part(part)
            examples = np.ascontiguousarray(self.root.columns[:, part])
            for table in joined(Bindings.of(self.world, examples, flip), path):
                yield part, table

    def groundings(self, path: Path) -> Ints:
        """Return how many groundings a conjunction has for each example."""
        if not path or isinstance(path[-1], Gap):
            return self.groundings(path[:-1]) if path else np.ones(len(self), np.int64)
        counts = np.zeros(len(self), np.int64)
        for part, table in self.pieces(path[:-1], np.arange(len(self))):
            counts[part] += table.count(path[-1])
        return counts

    def rows(self, path: Path) -> int:
        """Return how many rows the binding table of a conjunction has."""
        if not path:
            return len(self)
        if path not in self._rows:
            self._rows[path] = int(self.groundings(path).sum())
        return self._rows[path]

    def _most_rows(self, path: Path) -> int:
        return max((self.rows(path[:k]) for k in range(len(path) + 1)), default=0)


class TablesElsewhere(ViewTables):
    """Binding tables of a view that a server of SQL joins, not we."""

    def __init__(
        self, world: Objects, view: ExampleView, kept: Any, elsewhere: ExampleSums
    ) -> None:
        super().__init__(world, view, None, kept)
        self._elsewhere = elsewhere

    def groundings(self, path: Path) -> Ints:
        """Return how many groundings a conjunction has for each example."""
        return self._elsewhere.groundings(self.view.examples, literals_of(path))


def literals_of(path: Path) -> Body:
    """Return the literals of a path that are joined."""
    return tuple(literal for literal in path if not isinstance(literal, Gap))


def extended(table: Bindings, literal: Pattern | Gap) -> Bindings:
    """Return a table joined to a literal, or with the columns that it would have, left empty."""
    return table.with_gap(literal.variables) if isinstance(literal, Gap) else table.join(literal)


def joined(table: Bindings, path: Path) -> Iterator[Bindings]:
    """Yield a table joined to literals, cut into pieces by example where it grows large."""
    if not path:
        yield table
        return
    pieces = (table,) if isinstance(path[0], Gap) else cut(table, path[0])
    for piece in pieces:
        yield from joined(extended(piece, path[0]), path[1:])


def cut(table: Bindings, pattern: Pattern) -> Iterator[Bindings]:
    """Cut a table, between examples, where a join would have too many rows."""
    ends = np.cumsum(table.count(pattern))
    if not len(ends) or ends[-1] <= PIECE:
        yield table
        return
    numbers = np.maximum(ends - 1, 0) // PIECE
    firsts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    bounds = [*np.searchsorted(table.example, firsts).tolist(), len(table)]
    for start, end in pairwise(bounds):
        yield table.where(np.arange(start, end))
