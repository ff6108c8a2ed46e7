"""Binding tables of one view of the examples: whole and kept, or in pieces of some examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Ints
from mlnlearn.counting.bindings import Bindings, Flip
from mlnlearn.counting.example_sums import ExampleSums
from mlnlearn.counting.example_views import ExampleView
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body, Pattern
from mlnlearn.threads import in_order

PIECE = 1 << 21
"""Rows of a binding table at a time, unless a single example has more."""
_PARTS = 16  # of the examples, which threads share
_FEWEST, _MOST = 1 << 14, 1 << 17  # examples of a part


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
        self.world, self.view, self.flip = world, view, flip
        self._kept = kept
        self._making = RLock()
        self._rows: dict[Body, int] = {}

    def __len__(self) -> int:
        return len(self.view)

    @property
    def root(self) -> Bindings:
        """The table of the empty conjunction: one row an example."""
        return Bindings.of(self.world, self.view.examples, self.flip)

    def table(self, path: Body) -> Bindings:
        """Return the binding table of a conjunction for all examples."""
        if not path:
            return self.root
        with self._making:  # once, whoever asks
            key = id(self), path
            found: Bindings | None = self._kept.get(key)
            if found is None:
                found = self.table(path[:-1]).join(path[-1])
                self._kept.put(key, found)
        return found

    def parts(self) -> list[slice]:
        """Return all examples in parts that are counted one at a time, whoever does it."""
        size = min(max(len(self) // _PARTS, _FEWEST), _MOST)
        return [slice(k, min(k + size, len(self))) for k in range(0, max(len(self), 1), size)]

    def parts_among(self, chosen: Ints) -> Sequence[slice | Ints]:
        """Return some examples in such parts."""
        if len(chosen) == len(self):
            return self.parts()
        return [chosen[k : k + _MOST] for k in range(0, len(chosen), _MOST)]

    def pieces(
        self, path: Body, part: slice | Ints, then: Body | None = None
    ) -> Iterator[Bindings]:
        """Yield binding tables of some examples, in order, as many rows at a time as fit.

        Where it is known what is joined `then`, other variables may be dropped.
        """
        everyone = isinstance(part, slice) and part == slice(0, len(self))
        if everyone and self._most_rows(path) <= PIECE:
            yield self.table(path)
            return
        flip = None if self.flip is None else self.flip.part(part)
        examples = np.ascontiguousarray(self.view.examples[:, part])
        yield from joined(Bindings.of(self.world, examples, flip), path, then)

    def groundings(self, path: Body) -> NDArray[np.integer]:
        """Return how many groundings a conjunction has for each example, in few bytes."""
        if not path:
            return np.ones(len(self), np.uint8)
        key = id(self), "groundings", path
        found: NDArray[np.integer] | None = self._kept.get(key)
        if found is None:
            found = self._counted(path)
            self._kept.put(key, found)
        return found

    def _counted(self, path: Body) -> NDArray[np.integer]:
        found = list(in_order(lambda part: _shortened(self._of_part(path, part)), self.parts()))
        return np.concatenate(found) if len(found) > 1 else found[0]

    def _of_part(self, path: Body, part: slice) -> Ints:
        """Return the groundings of some examples."""
        counts: Ints = np.zeros(part.stop - part.start, np.int64)
        for table in self.pieces(path[:-1], part, path[-1:]):
            counts += table.count(path[-1])  # an example is in one piece
        return counts

    def rows(self, path: Body) -> int:
        """Return how many rows the binding table of a conjunction has."""
        if not path:
            return len(self)
        if path not in self._rows:
            self._rows[path] = self._total(path)
        return self._rows[path]

    def _total(self, path: Body) -> int:
        if len(self) > PIECE:  # not worth the room
            counted = in_order(lambda part: int(self._of_part(path, part).sum()), self.parts())
            return sum(counted)
        return int(self.groundings(path).sum(dtype=np.int64))

    def _most_rows(self, path: Body) -> int:
        return max(self.rows(path[:k]) for k in range(len(path) + 1))


class TablesElsewhere(ViewTables):
    """Binding tables of a view that a server of SQL joins, not we."""

    def __init__(
        self, world: Objects, view: ExampleView, kept: Any, elsewhere: ExampleSums
    ) -> None:
        super().__init__(world, view, None, kept)
        self._elsewhere = elsewhere

    def _counted(self, path: Body) -> NDArray[np.integer]:
        return self._elsewhere.groundings(self.view.examples, path)

    def _total(self, path: Body) -> int:
        return int(self.groundings(path).sum(dtype=np.int64))


def _shortened(counts: Ints) -> NDArray[np.integer]:
    """Return counts in as few bytes as they take."""
    most = int(counts.max(initial=0))
    for kind in (np.uint8, np.int32):
        if most <= np.iinfo(kind).max:
            return counts.astype(kind)
    return counts


def joined(table: Bindings, path: Body, then: Body | None = None) -> Iterator[Bindings]:
    """Yield a table joined to literals, cut into pieces by example where it grows large.

    Where it is known what is joined `then`, rows that differ in other variables are made one.
    """
    if not path:
        yield table
        return
    for piece in cut(table, path[0]):
        longer = piece.join(path[0])
        if then is not None and len(longer) > 2 * longer.size:
            longer = longer.merged({number for p in (*path[1:], *then) for number in p.variables})
        yield from joined(longer, path[1:], then)


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
