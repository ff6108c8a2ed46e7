"""Counts of every candidate literal for every example, for one conjunction at a time.

A node of a tree is a conjunction (the tests that held on the way) and a set of examples. The counts
depend on the conjunction only, so they are computed once for all examples and kept, as long as
memory allows; later nodes and later trees with the same conjunction only sum over them. What memory
does not allow is never held: counts come in pieces, for some of the node's examples at a time, and
go into sums at once. Both give the same sums, bit for bit: a candidate's terms are added in the
order of the examples. Examples that a candidate cannot tell apart are counted once (`views`).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from threading import RLock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints, times
from mlnlearn.counting.bindings import Bindings, Flip
from mlnlearn.counting.example_sums import ExampleSums
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body, Pattern
from mlnlearn.errors import DataWarning
from mlnlearn.resources import in_use
from mlnlearn.structure.boosting.candidates import (
    COUNT_BYTES,
    CandidateCounter,
    FeatureBlock,
    Numbered,
)
from mlnlearn.structure.boosting.language import BodyLanguage, Template
from mlnlearn.structure.boosting.tables import PIECE, TablesElsewhere, ViewTables, joined
from mlnlearn.structure.boosting.views import ExampleView, ExampleViews, Linked, Path, linked, parts
from mlnlearn.threads import in_order

T = TypeVar("T")
R = TypeVar("R")

_WORK = 1 << 23  # rows times templates in one block
_ROWS_PER_EXAMPLE = 10
_SHARED = 1 << 14  # examples from which on threads share the work
_VIEWED = 1 << 14  # examples from which on views of them pay
_TRIES = 2  # how often what the cache dropped is made again to be kept


@dataclass(frozen=True, slots=True)
class _KeptBlocks:
    """Candidates of a conjunction with their counts, as the cache holds them."""

    blocks: tuple[FeatureBlock, ...]

    @property
    def nbytes(self) -> int:
        return sum(block.nbytes for block in self.blocks)


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Candidates that are counted together, for one view of the examples.

    Attributes
    ----------
    place
        Number of the prefix among those of the conjunction.
    path, rest
        Literals of the conjunction that the candidates go with, and the others.
    tables
        Binding tables of the view.
    prefix
        None for single literals, or the first of pairs.
    numbered
        The literals, or the second ones of pairs, with their numbers among all of that prefix.
    rows
        Of the largest table that is counted from.
    """

    key: int
    place: int
    path: Path
    rest: Body
    tables: ViewTables
    prefix: Body
    numbered: Sequence[Numbered]
    rows: int

    @property
    def view(self) -> ExampleView:
        """The examples, as far as the candidates tell them apart."""
        return self.tables.view


class Features:
    """Candidates and their counts by conjunction, for a fixed set of examples.

    Parameters
    ----------
    world
        The facts.
    examples
        A row of databases, then one of each target argument's objects.
    types
        Types of the target's arguments.
    language
        Which literals may be tried.
    flip
        Where the target may stand in its own bodies: every example, taken as false.
    elsewhere
        Who sums over examples where the facts are; None to do so here.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> from mlnlearn.structure.boosting.language import language_of
    >>> schema = Schema.of("happy(person)", "likes(person,person)")
    >>> world = Objects([Database.from_facts(schema, {"likes": [("Anna", "Bob")]})])
    >>> people = np.array([[0, 0], [0, 1]], np.int32)
    >>> language = language_of(world, "happy", ["likes"], max_constants=0)
    >>> features = Features(world, people, ("person",), language)
    >>> block = next(features.blocks(()))
    >>> [(block.listed.test(n)[0].terms, block.counts(n)[0].tolist()) for n in range(2)]
    [((0, 1), [0]), ((1, 0), [1])]
    """

    def __init__(
        self,
        world: Objects,
        examples: Codes,
        types: tuple[str, ...],
        language: BodyLanguage,
        flip: Flip | None = None,
        elsewhere: ExampleSums | None = None,
    ) -> None:
        self.world, self.types = world, types
        self.elsewhere = elsewhere if flip is None else None
        least = _VIEWED if self.elsewhere is None else 0
        self.views = ExampleViews(np.ascontiguousarray(examples), least)
        self.own = None if flip is None else flip.predicate
        self.counter = CandidateCounter(world, types, language, self.own)
        self.most_rows = max(PIECE, _ROWS_PER_EXAMPLE * len(self))
        cache = in_use().cache
        self._kept: Any = cache.shelf(self)
        self._most_kept = cache.limit // 2
        self._flip = flip
        self._tables: dict[int, ViewTables] = {}
        self._passing: set[int] = set()
        self._made: Counter[int] = Counter()
        self._keys = count()
        self._alone: dict[Body, list[Unit]] = {}
        self._units_of: dict[Body, list[Unit]] = {}
        self._left_out: set[Pattern] = set()
        self._making = RLock()

    def __len__(self) -> int:
        return len(self.views.everyone)

    def blocks(self, body: Body, pairs: bool = True) -> Iterator[FeatureBlock]:
        """Yield all candidates to extend a conjunction, or the single literals only."""
        for found in self.each(body, pairs, _everyone, lambda _, blocks: list(blocks)):
            yield from found

    def each(
        self,
        body: Body,
        pairs: bool,
        members: Callable[[Unit], Ints],
        work: Callable[[Unit, Iterable[FeatureBlock]], R],
    ) -> Iterator[R]:
        """Do something with all candidates of a conjunction, for the examples of a node.

        Candidates that are counted together come together, and may come at the same time as others,
        in another thread. What is kept comes first, and for all examples; the rest in pieces, each
        with later examples than the one before, which is done by then. Blocks of the same prefix
        and templates belong together.

        Parameters
        ----------
        body, pairs
            The conjunction, and whether pairs of literals are candidates too.
        members
            Tells which examples of a unit's view are of the node.
        work
            What to do with a unit and candidates of it.
        """
        for unit in self._units_of.get((), ()):  # every tree begins there: it goes last
            self._kept.get(unit.key)

        def whole(unit: Unit) -> tuple[R] | None:
            kept = self._whole(unit)
            return None if kept is None else (work(unit, kept),)

        units = self.units(body, pairs)
        passing: list[Unit] = []
        for unit, found in zip(units, self._shared(whole, units), strict=True):
            if found is None:
                passing.append(unit)
            else:
                yield from found
        for alike in _by_table(passing):
            first = alike[0]
            for part, table in first.tables.pieces(first.path, members(first)):
                passed = partial(self._passed, part, table, work)
                yield from self._shared(passed, alike)

    def _passed(
        self,
        part: Ints,
        table: Bindings,
        work: Callable[[Unit, Iterable[FeatureBlock]], R],
        unit: Unit,
    ) -> R:
        return work(unit, self._piece(part, table, unit))

    def _shared(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Share work out among threads, where it is more than sharing takes."""
        return (in_order if len(self) >= _SHARED else map)(function, items)

    def groundings(self, body: Body) -> Ints:
        """Return how many groundings a conjunction has for each example."""
        result = np.ones(len(self), np.int64)
        for part in self._parts(body):
            tables = self._of_view(part)
            result = times(result, tables.view.spread(tables.groundings(part.path)))
        return result

    def holds(self, body: Body) -> NDArray[np.bool_]:
        """Tell for which examples a conjunction has groundings."""
        result = np.ones(len(self), np.bool_)
        for part in self._parts(body):
            tables = self._of_view(part)
            result &= tables.view.spread(tables.groundings(part.path) > 0)
        return result

    def _leave_out(self, pattern: Pattern) -> None:
        """Say, once a literal, that what begins with it is not looked at everywhere."""
        if pattern not in self._left_out:
            self._left_out.add(pattern)
            terms = ",".join(f"v{t}" if isinstance(t, int) else t for t in pattern.terms)
            warnings.warn(
                f"{pattern.predicate.name}({terms}) joins more than {self.most_rows:,} rows to "
                f"{len(self):,} examples at a node: rules that go on from there are not tried; "
                "give modes, or fewer bodies, to say which matter",
                DataWarning,
                stacklevel=2,
            )

    def _parts(self, body: Body) -> Iterable[Linked]:
        """Return the parts of a conjunction that are counted apart."""
        if not self.views.pays or any(pattern.predicate == self.own for pattern in body):
            return [self._together(body)] if body else []
        return parts(body, len(self.types))

    def _linked(self, body: Body, others: Body) -> Linked:
        """Return what of a body is counted together with other literals."""
        if any(p.predicate == self.own for p in (*body, *others)):
            return self._together(body)
        found = linked(body, others, len(self.types))
        if self.views.view(found.places) is self.views.everyone:
            return self._together(body)
        return found

    def _together(self, body: Body) -> Linked:
        return Linked(body, (), frozenset(range(len(self.types))))

    def _of_view(self, part: Linked) -> ViewTables:
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

    def units(self, body: Body, pairs: bool) -> list[Unit]:
        """Return what is counted, and kept, together; but prefixes of too many rows, or none."""
        with_pairs = pairs and self.counter.language.lookahead
        made = self._units_of if with_pairs else self._alone
        found = made.get(body)
        if found is None and with_pairs:
            links = [
                (place, (first.pattern,), second)
                for place, (first, second) in enumerate(self.counter.links(body), 1)
            ]
            found = made[body] = self.units(body, False) + self._within_limits(body, links)
        elif found is None:
            alone = [(0, (), self.counter.single(body))]
            found = made[body] = self._within_limits(body, alone)
        return found

    def _within_limits(
        self, body: Body, prefixes: Sequence[tuple[int, Body, Sequence[Template]]]
    ) -> list[Unit]:
        """Return the units of some prefixes that have rows, and not too many."""
        found = []
        for units in self._shared(partial(self._units_after, body), prefixes):
            for unit in units:
                joined_literals = (*body, *unit.prefix)
                if joined_literals and unit.rows > self.most_rows:
                    self._leave_out(joined_literals[-1])
                else:
                    found.append(unit)
        return found

    def _units_after(self, body: Body, given: tuple[int, Body, Sequence[Template]]) -> list[Unit]:
        """Return units of one prefix, by the examples that their candidates tell apart."""
        place, prefix, templates = given
        found = []
        for part, alike in self._by_part(body, prefix, templates):
            tables = self._of_view(part)
            most, last = 0, 1  # a server has no such limit
            if self.elsewhere is None:
                most, last = self._rows_of(tables, (*part.path, *prefix))
            if last:
                key = next(self._keys)
                found.append(Unit(key, place, part.path, part.rest, tables, prefix, alike, most))
        return found

    def _by_part(
        self, body: Body, prefix: Body, templates: Sequence[Template]
    ) -> Iterable[tuple[Linked, list[Numbered]]]:
        """Return templates by the part of a body that they are counted together with."""
        numbered = list(enumerate(templates))
        if not self.views.pays:
            return [(self._together(body), numbered)] if numbered else []
        groups: dict[Linked, list[Numbered]] = {}
        for item in numbered:
            part = self._linked(body, (*prefix, item[1].pattern))
            groups.setdefault(part, []).append(item)
        return groups.items()

    def _rows_of(self, tables: ViewTables, path: Path) -> tuple[int, int]:
        """Return the most rows on a path, and those at its end, unless too many come before."""
        most = rows = len(tables)
        for length in range(1, len(path) + 1):
            rows = tables.rows(path[:length])
            most = max(most, rows)
            if most > self.most_rows:
                break
        return most, rows

    def _whole(self, unit: Unit) -> tuple[FeatureBlock, ...] | None:
        """Return the counts for all examples, None where that takes too much memory."""
        key = unit.key
        found: _KeptBlocks | None = self._kept.get(key)
        if found is not None:
            return found.blocks
        if self._made[key] == _TRIES:  # others need the room: count for the examples of nodes alone
            self._passing.add(key)
        if key in self._passing:
            return None
        self._made[key] += 1
        blocks, size = [], 0
        for block in self._computed(unit):
            blocks.append(block.compact())
            size += blocks[-1].nbytes
            if size > self._most_kept:
                self._passing.add(key)
                return None
        self._kept.put(key, _KeptBlocks(tuple(blocks)))
        return tuple(blocks)

    def _computed(self, unit: Unit) -> Iterator[FeatureBlock]:
        """Yield candidates with their counts for all examples; in pieces where tables are large."""
        tables = unit.tables
        if unit.rows > PIECE:
            for part, piece in tables.pieces(unit.path, np.arange(len(tables))):
                yield from self._piece(part, piece, unit)
            return
        table = tables.table(unit.path)
        if unit.prefix:
            table = table.join(unit.prefix[0])
        yield from self._blocks(unit, table, self._templates(table))

    def _blocks(self, unit: Unit, table: Bindings, most: int) -> Iterator[FeatureBlock]:
        """Count the candidates of a unit, so many templates at a time."""
        return self.counter.count(table, unit.place, unit.prefix, unit.numbered, most)

    def _templates(self, table: Bindings) -> int:
        """Return how many templates go in a block: even if all hold, it is no more than is kept."""
        most = min(_WORK, self._most_kept // COUNT_BYTES)
        return max(most // max(len(table), 1), 1)

    def _piece(self, part: Ints, table: Bindings, unit: Unit) -> Iterator[FeatureBlock]:
        """Yield the candidates of a unit for some examples; nothing is kept."""
        most = max(_WORK // PIECE, 1)
        for piece in joined(table, unit.prefix):
            yield from _of(part, self._blocks(unit, piece, most))


def _everyone(unit: Unit) -> Ints:
    return np.arange(len(unit.view))


def _by_table(units: Iterable[Unit]) -> Iterable[list[Unit]]:
    """Return units together that are counted from the same tables."""
    groups: dict[tuple[int, Path], list[Unit]] = {}
    for unit in units:
        groups.setdefault((id(unit.tables), unit.path), []).append(unit)
    return groups.values()


def _of(part: Ints, blocks: Iterator[FeatureBlock]) -> Iterator[FeatureBlock]:
    """Give the examples of blocks their numbers among all examples."""
    for block in blocks:
        example = part[block.example].astype(np.int32)
        yield replace(block, example=example, whole=False)
