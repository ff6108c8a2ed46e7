"""How many groundings conjunctions have for examples, each as far as it tells them apart."""

from __future__ import annotations

from collections.abc import Iterable
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, times
from mlnlearn.counting.bindings import Flip
from mlnlearn.counting.example_sums import ExampleSums
from mlnlearn.counting.example_views import ExampleView, ExampleViews, Linked, linked, parts_of
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body, renamed
from mlnlearn.counting.view_tables import TablesElsewhere, ViewTables
from mlnlearn.resources import in_use


class Conjunctions:
    """Counts conjunctions for a fixed set of examples.

    A conjunction is counted part by part, each once for the examples that agree in the arguments it
    is about; what was counted is kept, as long as there is room.

    Parameters
    ----------
    world
        The facts.
    examples
        A row of databases, then one of each argument's objects.
    least
        Examples from which on it pays to tell parts apart.
    flip
        An atom of each example whose truth differs from the data: conjunctions with its predicate
        are counted whole, for each example.
    elsewhere
        Who counts where the facts are; None to do so here.

    Examples
    --------
    >>> from mlnlearn.counting.pattern import Pattern
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("wrote(person,title)", "old(person)")
    >>> facts = {"wrote": [("A", "T"), ("B", "T"), ("B", "U")], "old": [("B",)]}
    >>> world = Objects([Database.from_facts(schema, facts)])
    >>> pairs = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]], np.int32)
    >>> found = Conjunctions(world, pairs, least=1)
    >>> wrote, old = schema["wrote"], schema["old"]
    >>> found.groundings((Pattern(wrote, (0, 2)), Pattern(wrote, (1, 3)))).tolist()
    [1, 2, 2, 4]
    >>> found.holds((Pattern(wrote, (0, 2)), Pattern(old, (1,)))).tolist()
    [False, True, False, True]
    """

    def __init__(
        self,
        world: Objects,
        examples: Codes,
        least: int,
        flip: Flip | None = None,
        elsewhere: ExampleSums | None = None,
    ) -> None:
        self.world, self.heads = world, len(examples) - 1
        self.elsewhere = elsewhere if flip is None else None
        self.views = ExampleViews(np.ascontiguousarray(examples), least)
        self.own = None if flip is None else flip.predicate
        self._flip = flip
        self._kept: Any = in_use().cache.shelf(self)
        self._tables: dict[int, ViewTables] = {}
        self._making = RLock()

    def __len__(self) -> int:
        return len(self.views.everyone)

    def groundings(self, body: Body) -> NDArray[np.integer]:
        """Return how many groundings a conjunction has for each example: 32 bits where they do."""
        result: NDArray[np.integer] | None = None
        for part in self.parts(body):
            found = self._counted(part)
            result = found if result is None else _product(result, found)
        if result is None:
            return np.ones(len(self), np.int32)
        kind = np.int32 if result.itemsize <= np.int32().itemsize else np.int64
        return result.astype(kind, copy=False)

    def holds(self, body: Body) -> NDArray[np.bool_]:
        """Tell for which examples a conjunction has groundings."""
        result = np.ones(len(self), np.bool_)
        for part in self.parts(body):
            result &= self._counted(part) > 0
        return result

    def _counted(self, part: Linked) -> NDArray[np.integer]:
        tables = self.tables(part)
        return tables.view.spread(tables.groundings(renamed(part.joined, self.heads)))

    def parts(self, body: Body) -> Iterable[Linked]:
        """Return the parts of a conjunction that are counted apart."""
        if not self._are_apart(body):
            return [self.together(body)] if body else []
        return parts_of(body, self.heads)

    def linked(self, body: Body, others: Body) -> Linked:
        """Return what of a body is counted together with other literals."""
        if not self._are_apart((*body, *others)):
            return self.together(body)
        return linked(body, others, self.heads)

    def together(self, body: Body) -> Linked:
        """Return a conjunction that is counted whole, for each example."""
        return Linked(body, (), frozenset(range(self.heads)))

    def _are_apart(self, body: Body) -> bool:
        return self.views.pays and all(pattern.predicate != self.own for pattern in body)

    def tables(self, part: Linked) -> ViewTables:
        """Return the tables of the examples that a part of a conjunction tells apart."""
        view = self.views.view(part.places)
        with self._making:
            if id(view) not in self._tables:
                self._tables[id(view)] = self._made_tables(view)
        return self._tables[id(view)]

    def _made_tables(self, view: ExampleView) -> ViewTables:
        if self.elsewhere is not None:
            return TablesElsewhere(self.world, view, self._kept, self.elsewhere)
        flip = self._flip if view is self.views.everyone else None
        return ViewTables(self.world, view, flip, self._kept)


def _product(one: NDArray[np.integer], other: NDArray[np.integer]) -> NDArray[np.integer]:
    """Multiply counts, in as few bits as the largest product may take."""
    most = int(one.max(initial=0)) * int(other.max(initial=0))
    if most <= np.iinfo(np.int32).max:
        product: NDArray[np.integer] = np.multiply(one, other, dtype=np.int32)
        return product
    return times(one.astype(np.int64), other.astype(np.int64))
