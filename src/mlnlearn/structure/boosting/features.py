"""Counts of every candidate literal for every example, for one conjunction at a time.

A node of a tree is a conjunction (the tests that held on the way) and a set of examples. The counts
depend on the conjunction only, so they are computed once for all examples and kept, as long as
memory allows; later nodes and later trees with the same conjunction only sum over them. What memory
does not allow is never held: counts come in pieces, for some of the node's examples at a time, and
go into sums at once. Both give the same sums, bit for bit: a candidate's terms are added in the
order of the examples.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, pairwise
from threading import RLock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.bindings import Bindings, Flip
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body, Pattern
from mlnlearn.errors import DataWarning
from mlnlearn.resources import in_use
from mlnlearn.structure.boosting.candidates import COUNT_BYTES, CandidateCounter, FeatureBlock
from mlnlearn.structure.boosting.language import BodyLanguage, Template
from mlnlearn.threads import in_order

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

_WORK = 1 << 23  # rows times templates in one block
_CHUNK = 1 << 16  # examples taken at a time, where counts are not kept
_PIECE = 1 << 21  # rows of a binding table at a time, unless a single example has more
_ROWS_PER_EXAMPLE = 10
_SHARED = 1 << 14  # examples from which on threads share the work
_TRIES = 2  # how often what the cache dropped is made again to be kept


@dataclass(frozen=True, slots=True)
class _KeptBlocks:
    """Candidates of a conjunction with their counts, as the cache holds them."""

    blocks: tuple[FeatureBlock, ...]

    @property
    def nbytes(self) -> int:
        return sum(block.nbytes for block in self.blocks)


@dataclass(frozen=True, slots=True)
class _PrefixUnit:
    """Candidates that are counted together: single literals, or the pairs of one first literal."""

    key: int
    place: int
    rows: int  # of the largest table that is counted from
    prefix: Body
    second: list[Template]


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
    >>> [(block.test(number)[0].terms, block.counts(number)[0].tolist()) for number in range(2)]
    [((0, 1), [0]), ((1, 0), [1])]
    """

    def __init__(
        self,
        world: Objects,
        examples: Codes,
        types: tuple[str, ...],
        language: BodyLanguage,
        flip: Flip | None = None,
    ) -> None:
        self.world = world
        self.root = Bindings.of(world, np.ascontiguousarray(examples), flip)
        self.types = types
        self.counter = CandidateCounter(
            world, types, language, None if flip is None else flip.predicate
        )
        self.most_rows = max(_PIECE, _ROWS_PER_EXAMPLE * self.root.size)
        cache = in_use().cache
        self._kept: Any = cache.shelf(self)
        self._most_kept = cache.limit // 2
        self._passing: set[int] = set()
        self._made: Counter[int] = Counter()
        self._keys = count()
        self._alone: dict[Body, _PrefixUnit] = {}
        self._units_of: dict[Body, list[_PrefixUnit]] = {}
        self._rows: dict[Body, int] = {}
        self._left_out: set[Pattern] = set()
        self._making = RLock()

    def __len__(self) -> int:
        return self.root.size

    def blocks(self, body: Body, pairs: bool = True) -> Iterator[FeatureBlock]:
        """Yield all candidates to extend a conjunction, or the single literals only."""
        everyone = np.ones(len(self), np.bool_)
        for found in self.each(body, pairs, everyone, list):
            yield from found

    def each(
        self,
        body: Body,
        pairs: bool,
        inside: NDArray[np.bool_],
        work: Callable[[Iterable[FeatureBlock]], R],
    ) -> Iterator[R]:
        """Do something with all candidates of a conjunction, for the examples inside of a node.

        Candidates that are counted together come together, and may come at the same time as others,
        in another thread. What is kept comes first, and for all examples; the rest in pieces, each
        with later examples than the one before, which is done by then. Blocks of the same prefix
        and templates belong together.
        """
        for unit in self._units_of.get((), ()):  # every tree begins there: it goes last
            self._kept.get(unit.key)

        def whole(unit: _PrefixUnit) -> tuple[R] | None:
            kept = self._whole(body, unit)
            return None if kept is None else (work(kept),)

        units = self._units(body, pairs)
        passing: list[_PrefixUnit] = []
        for unit, found in zip(units, self._shared(whole, units), strict=True):
            if found is None:
                passing.append(unit)
            else:
                yield from found
        if passing:
            for part, table in self._tables(body, np.flatnonzero(inside)):
                passed = partial(self._piece, body, part, table)
                yield from self._shared(partial(_chain, work, passed), passing)

    def _shared(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Share work out among threads, where it is more than sharing takes."""
        return (in_order if len(self) >= _SHARED else map)(function, items)

    def holders(self, body: Body) -> tuple[Codes | Ints, Ints]:
        """Return the examples for which a conjunction has groundings, and how many."""
        *first, last = body
        holders, many = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for part, table in self._tables(tuple(first), np.arange(len(self))):
            counts = table.count(last)
            found = np.flatnonzero(counts)
            holders.append(part[found])
            many.append(counts[found])
        return np.concatenate(holders), np.concatenate(many)

    def is_too_large(self, body: Body) -> bool:
        """Tell whether the binding table of a conjunction would pass the limit of rows."""
        for length in range(1, len(body) + 1):
            if self._number_of_rows(body[:length]) > self.most_rows:
                self._leave_out(body[length - 1])
                return True
        return False

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

    def _number_of_rows(self, body: Body) -> int:
        if not body:
            return len(self)
        if body not in self._rows:
            *shorter, last = body
            everyone = np.arange(len(self))
            self._rows[body] = sum(
                int(table.count(last).sum()) for _, table in self._tables(tuple(shorter), everyone)
            )
        return self._rows[body]

    def _units(self, body: Body, pairs: bool) -> list[_PrefixUnit]:
        """Return what is counted, and kept, together; but prefixes of too many rows, or none."""
        if body not in self._alone:
            self._alone[body] = _PrefixUnit(next(self._keys), 0, self._number_of_rows(body), (), [])
        if not (pairs and self.counter.language.lookahead):
            return [self._alone[body]]
        if body not in self._units_of:
            found = [self._alone[body]]
            links = list(self.counter.links(body))
            joined = self._shared(
                self._number_of_rows, [(*body, first.pattern) for first, _ in links]
            )
            for (first, second), rows in zip(links, joined, strict=True):
                if rows > self.most_rows:
                    self._leave_out(first.pattern)
                elif rows:
                    key, largest = next(self._keys), max(rows, found[0].rows)
                    found.append(_PrefixUnit(key, len(found), largest, (first.pattern,), second))
            self._units_of[body] = found
        return self._units_of[body]

    def _whole(self, body: Body, unit: _PrefixUnit) -> tuple[FeatureBlock, ...] | None:
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
        for block in self._computed(body, unit):
            blocks.append(block.compact())
            size += blocks[-1].nbytes
            if size > self._most_kept:
                self._passing.add(key)
                return None
        self._kept.put(key, _KeptBlocks(tuple(blocks)))
        return tuple(blocks)

    def _computed(self, body: Body, unit: _PrefixUnit) -> Iterator[FeatureBlock]:
        """Yield candidates with their counts for all examples; in pieces where tables are large."""
        if unit.rows > _PIECE:
            for part, piece in self._tables(body, np.arange(len(self))):
                yield from self._piece(body, part, piece, unit)
            return
        table = self.table(body)
        if unit.prefix:
            table = table.join(unit.prefix[0])
        yield from self._blocks(body, unit, table, self._templates(table))

    def _blocks(
        self, body: Body, unit: _PrefixUnit, table: Bindings, most: int
    ) -> Iterator[FeatureBlock]:
        """Count the candidates of a unit, so many templates at a time."""
        found = (
            self.counter.count(table, unit.prefix, unit.second, most)
            if unit.prefix
            else self.counter.single(body, table, most)
        )
        for block in found:
            yield replace(block, place=unit.place)

    def _templates(self, table: Bindings) -> int:
        """Return how many templates go in a block: even if all hold, it is no more than is kept."""
        most = min(_WORK, self._most_kept // COUNT_BYTES)
        return max(most // max(len(table), 1), 1)

    def _piece(
        self, body: Body, part: Ints, table: Bindings, unit: _PrefixUnit
    ) -> Iterator[FeatureBlock]:
        """Yield the candidates of a unit for some examples; nothing is kept."""
        most = max(_WORK // _PIECE, 1)
        for piece in _joined(table, unit.prefix):
            yield from _of(part, self._blocks(body, unit, piece, most))

    def table(self, body: Body) -> Bindings:
        """Return the binding table of a conjunction for all examples."""
        if not body:
            return self.root
        with self._making:  # once, whoever asks
            found: Bindings | None = self._kept.get(body)
            if found is None:
                found = self.table(body[:-1]).join(body[-1])
                self._kept.put(body, found)
        return found

    def _tables(self, body: Body, chosen: Ints) -> Iterator[tuple[Ints, Bindings]]:
        """Yield binding tables of some examples at a time, in order, and which these are."""
        if len(chosen) == len(self) and self._number_of_kept_rows(body) <= _PIECE:
            yield chosen, self.table(body)
            return
        for start in range(0, max(len(chosen), 1), _CHUNK):
            part = chosen[start : start + _CHUNK]
            flip = None if self.root.flip is None else self.root.flip.part(part)
            examples = np.ascontiguousarray(self.root.columns[:, part])
            for table in _joined(Bindings.of(self.world, examples, flip), body):
                yield part, table

    def _number_of_kept_rows(self, body: Body) -> int:
        return max((self._number_of_rows(body[:k]) for k in range(len(body) + 1)), default=0)


def _chain(outer: Callable[[S], R], inner: Callable[[T], S], item: T) -> R:
    return outer(inner(item))


def _of(part: Ints, blocks: Iterator[FeatureBlock]) -> Iterator[FeatureBlock]:
    """Give the examples of blocks their numbers among all examples."""
    for block in blocks:
        example = part[block.example].astype(np.int32)
        yield replace(block, example=example, whole=False)


def _joined(table: Bindings, body: Body) -> Iterator[Bindings]:
    """Yield a table joined to literals, cut into pieces by example where it grows large."""
    if not body:
        yield table
        return
    for piece in _cut(table, body[0]):
        yield from _joined(piece.join(body[0]), body[1:])


def _cut(table: Bindings, pattern: Pattern) -> Iterator[Bindings]:
    """Cut a table, between examples, where a join would have too many rows."""
    ends = np.cumsum(table.count(pattern))
    if not len(ends) or ends[-1] <= _PIECE:
        yield table
        return
    numbers = np.maximum(ends - 1, 0) // _PIECE
    firsts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    bounds = [*np.searchsorted(table.example, firsts).tolist(), len(table)]
    for start, end in pairwise(bounds):
        yield table.where(np.arange(start, end))
