"""Counts of every candidate literal for every example, for one conjunction at a time.

A node of a tree is a conjunction (the tests that held on the way) and a set of examples. The counts
depend on the conjunction only, so they are computed once for all examples and kept, as long as
memory allows; later nodes and later trees with the same conjunction only sum over them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.bindings import Bindings, Flip
from mlnlearn.counting.kernels import PROGRAM, count_candidates
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body
from mlnlearn.errors import CountOverflowError
from mlnlearn.run import check_time
from mlnlearn.structure.boosting.language import BodyLanguage, Template, new_types, repeats

_WORK = 1 << 27  # rows times templates in one block


@dataclass(frozen=True, slots=True, eq=False)
class FeatureBlock:
    """Some candidates of a conjunction and their counts.

    Attributes
    ----------
    prefix
        Literals that stand before each candidate: none, or the first of a pair.
    templates
        The candidates, families of constants as one.
    first
        Number of the first candidate of each template.
    names
        Per template, the constants it stands for, if any.
    size
        Number of candidates.
    candidate, example, count
        Parallel arrays without zero counts.
    """

    prefix: Body
    templates: tuple[Template, ...]
    first: tuple[int, ...]
    names: tuple[tuple[str, ...], ...]
    size: int
    candidate: Codes
    example: Codes
    count: Codes

    @property
    def nbytes(self) -> int:
        """Memory that the counts take."""
        return 12 * len(self.candidate)

    def test(self, number: int) -> Body:
        """Return a candidate as a conjunction of literals."""
        place = bisect_right(self.first, number) - 1
        template = self.templates[place]
        if template.slot is None:
            return (*self.prefix, template.pattern)
        return (*self.prefix, template.with_constant(self.names[place][number - self.first[place]]))

    def counts(self, number: int) -> tuple[Codes, Ints]:
        """Return the examples for which a candidate has groundings, and how many."""
        chosen = np.flatnonzero(self.candidate == number)
        return self.example[chosen], self.count[chosen].astype(np.int64)


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
    most_rows
        No binding table grows beyond this; a branch whose table would stays a leaf.
    memory
        Bytes that may be kept.
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
        most_rows: int = 1 << 21,
        memory: int = 1 << 29,
        flip: Flip | None = None,
    ) -> None:
        self.world = world
        self.root = Bindings.of(world, np.ascontiguousarray(examples), flip)
        self.types = types
        self.language = language
        self.most_rows = most_rows
        self.memory = memory
        self._tables: OrderedDict[Body, Bindings] = OrderedDict()
        self._blocks: OrderedDict[tuple[Body, bool], list[FeatureBlock]] = OrderedDict()
        self._used = 0

    def __len__(self) -> int:
        return self.root.size

    def blocks(self, body: Body, pairs: bool = True) -> Iterator[FeatureBlock]:
        """Yield all candidates to extend a conjunction, or the single literals only."""
        yield from self._kept(body, False)
        if pairs and self.language.lookahead:
            yield from self._kept(body, True)

    def _kept(self, body: Body, pairs: bool) -> Iterator[FeatureBlock]:
        """Yield blocks from memory, or compute them and keep them if they are not too large."""
        key = body, pairs
        if key in self._blocks:
            self._blocks.move_to_end(key)
            yield from self._blocks[key]
            return
        kept: list[FeatureBlock] | None = []
        size = 0
        for block in self._pairs(body) if pairs else self._single(body):
            size += block.nbytes
            if size > self.memory // 2:
                kept = None
            if kept is not None:
                kept.append(block)
            yield block
        if kept is not None:
            self._blocks[key] = kept
            self._used += size
            self._trim()

    def table(self, body: Body) -> Bindings:
        """Return the binding table of a conjunction for all examples."""
        if not body:
            return self.root
        if body in self._tables:
            self._tables.move_to_end(body)
            return self._tables[body]
        table = self.table(body[:-1]).join(body[-1])
        self._tables[body] = table
        self._used += table.columns.nbytes + table.example.nbytes
        self._trim()
        return table

    def is_too_large(self, body: Body) -> bool:
        """Tell whether the binding table of a conjunction would pass the limit of rows."""
        if not body or body in self._tables or (body, False) in self._blocks:
            return False
        shorter = body[:-1]
        if self.is_too_large(shorter):
            return True
        return int(self.table(shorter).count(body[-1]).sum()) > self.most_rows

    def _trim(self) -> None:
        """Forget what was used least recently until the rest fits."""
        while self._used > self.memory and len(self._tables) > 1:
            _, table = self._tables.popitem(last=False)
            self._used -= table.columns.nbytes + table.example.nbytes
        while self._used > self.memory and len(self._blocks) > 1:
            _, blocks = self._blocks.popitem(last=False)
            self._used -= sum(block.nbytes for block in blocks)

    def _types(self, body: Body) -> tuple[str, ...]:
        types = self.types
        for pattern in body:
            types += new_types(pattern, len(types))
        return types

    def _single(self, body: Body) -> Iterator[FeatureBlock]:
        types = self._types(body)
        templates = self.language.single(types)
        usable = [t for t in templates if not repeats(body, t, len(types))]
        yield from self._count(self.table(body), (), usable)

    def _pairs(self, body: Body) -> Iterator[FeatureBlock]:
        types = self._types(body)
        table = self.table(body)
        for first, second in self.language.pairs(types):
            if repeats(body, first, len(types)):
                continue
            if int(table.count(first.pattern).sum()) > self.most_rows:
                continue
            deeper = table.join(first.pattern)
            bound = len(types) + first.new
            usable = [t for t in second if not repeats(body, t, bound)]
            if len(deeper):
                yield from self._count(deeper, (first.pattern,), usable)

    def _count(
        self, table: Bindings, prefix: Body, templates: Sequence[Template]
    ) -> Iterator[FeatureBlock]:
        """Count templates in one pass, or several where that would take too much memory."""
        most = max(_WORK // max(len(table), 1), 1)
        own = [] if table.flip is None else [t for t in templates if self._is_own(t)]
        others = [t for t in templates if not self._is_own(t)] if own else templates
        for start in range(0, len(others), most):
            check_time()
            yield self._block(table, prefix, others[start : start + most])
        if own:
            yield self._own_block(table, prefix, own)

    def _is_own(self, template: Template) -> bool:
        flip = self.root.flip
        return flip is not None and template.pattern.predicate == flip.predicate

    def _own_block(
        self, table: Bindings, prefix: Body, templates: Sequence[Template]
    ) -> FeatureBlock:
        """Count literals of the target itself one by one, no example counting as true."""
        first, names, found = [], [], []
        size = 0
        for template in templates:
            constants = self._constants(template)
            first.append(size)
            names.append(constants)
            for name in constants or ("",):
                counts = table.count(template.with_constant(name))
                holders = np.flatnonzero(counts)
                found.append((np.full(len(holders), size), holders, counts[holders]))
                size += 1
        candidate, example, count = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if count.max(initial=0) > np.iinfo(np.int32).max:
            raise _too_many()
        arrays = (part.astype(np.int32) for part in (candidate, example, count))
        return FeatureBlock(prefix, tuple(templates), tuple(first), tuple(names), size, *arrays)

    def _block(self, table: Bindings, prefix: Body, templates: Sequence[Template]) -> FeatureBlock:
        programs, used, first, names = [], [], [], []
        size = 0
        for template in templates:
            found = self.world.lookups.find(template.pattern, table.variables, template.slot)
            if found is None or not len(found[0].lengths):
                continue
            program = found[1].copy()
            program["candidate"] = size
            programs.append(program)
            used.append(template)
            first.append(size)
            names.append(self._constants(template))
            size += max(int(program["constants"][0]), 1)
        arena = self.world.lookups.arena
        candidate, example, count, too_large = count_candidates(
            np.concatenate([np.empty(0, PROGRAM), *programs]),
            table.columns,
            table.example,
            arena.groups,
            arena.hash_keys,
            arena.starts,
            arena.lengths,
            arena.slots,
        )
        if too_large:
            raise _too_many()
        return FeatureBlock(
            prefix, tuple(used), tuple(first), tuple(names), size, candidate, example, count
        )

    def _constants(self, template: Template) -> tuple[str, ...]:
        if template.slot is None:
            return ()
        return tuple(self.world.values(template.pattern.predicate.types[template.slot])[0])


def _too_many() -> CountOverflowError:
    return CountOverflowError(
        "an example has more than 2^31 groundings of a candidate literal",
        hint="restrict the predicates in bodies, or give modes",
    )
