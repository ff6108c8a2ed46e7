"""Candidate literals of a conjunction, and their counts in a binding table."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.bindings import Bindings
from mlnlearn.counting.kernels import count_candidates
from mlnlearn.counting.lookups import joined_programs
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body
from mlnlearn.errors import CountOverflowError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.run import check_time
from mlnlearn.structure.boosting.language import BodyLanguage, Template, new_types, repeats

COUNT_BYTES = 12
"""What a count takes, with its candidate and its example, before it is made smaller."""
_FEW = 1 << 20  # counts in a block that is left as it is: the loops are compiled for that alone

Numbered: TypeAlias = tuple[int, Template]
"""A template, and its number among those of its prefix."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateList:
    """Candidates to extend a conjunction that have a prefix in common.

    Attributes
    ----------
    place
        Of the prefix among those of the conjunction.
    prefix
        Literals that stand before each candidate: none, or the first of a pair.
    templates
        The candidates, families of constants as one.
    order
        The numbers of the templates among those of the prefix.
    first
        Number of the first candidate of each template.
    names
        Per template, the constants it stands for, if any.
    size
        Number of candidates.
    """

    place: int
    prefix: Body
    templates: tuple[Template, ...]
    order: tuple[int, ...]
    first: tuple[int, ...]
    names: tuple[tuple[str, ...], ...]
    size: int

    def test(self, number: int) -> Body:
        """Return a candidate as a conjunction of literals."""
        place = bisect_right(self.first, number) - 1
        template = self.templates[place]
        if template.slot is None:
            return (*self.prefix, template.pattern)
        return (*self.prefix, template.with_constant(self.names[place][number - self.first[place]]))

    def rank(self, number: int) -> tuple[int, int]:
        """Return where a candidate stands among all: of equal ones, the first is taken."""
        return self.place, self.order[bisect_right(self.first, number) - 1]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureBlock:
    """Some candidates of a conjunction and their counts.

    Attributes
    ----------
    listed
        The candidates.
    candidate, example, count
        Parallel arrays without zero counts.
    whole
        Whether all examples were counted, not only those of a piece.
    """

    listed: CandidateList
    candidate: NDArray[np.integer]
    example: Codes
    count: NDArray[np.integer]
    whole: bool = True

    @property
    def nbytes(self) -> int:
        """Memory that the counts take."""
        return self.candidate.nbytes + self.example.nbytes + self.count.nbytes

    def compact(self) -> FeatureBlock:
        """Return the block in little more than half the memory, where it is large and that can be.

        Examples
        --------
        >>> numbers = np.zeros(2 << 20, np.int32)
        >>> block = FeatureBlock(
        ...     CandidateList(0, (), (), (), (), (), size=1), numbers, numbers, numbers
        ... )
        >>> block.nbytes >> 20, block.compact().nbytes >> 20
        (24, 14)
        """
        if len(self.candidate) <= _FEW:
            return self
        most = int(self.count.max(initial=0))
        few = np.uint8 if most < 1 << 8 else np.uint16 if most < 1 << 16 else np.int32
        name = np.uint16 if self.listed.size <= 1 << 16 else np.int32
        return replace(self, candidate=self.candidate.astype(name), count=self.count.astype(few))

    def counts(self, number: int) -> tuple[Codes, Ints]:
        """Return the examples for which a candidate has groundings, and how many."""
        chosen = np.flatnonzero(self.candidate == number)
        return self.example[chosen], self.count[chosen].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CandidateCounter:
    """Counts the candidates to extend a conjunction, for the examples of any binding table.

    Attributes
    ----------
    world
        The facts.
    types
        Types of the target's arguments.
    language
        Which literals may be tried.
    own
        The target, where it may stand in its own bodies.
    """

    world: Objects
    types: tuple[str, ...]
    language: BodyLanguage
    own: Predicate | None = None

    def single(self, body: Body) -> list[Template]:
        """Return the literals to be tried alone."""
        types = self._types(body)
        return [t for t in self.language.single(types) if not repeats(body, t, len(types))]

    def links(self, body: Body) -> Iterator[tuple[Template, list[Template]]]:
        """Yield the first literals of pairs, each with the second ones."""
        types = self._types(body)
        for first, second in self.language.pairs(types):
            if not repeats(body, first, len(types)):
                bound = len(types) + first.new
                yield first, [t for t in second if not repeats(body, t, bound)]

    def _types(self, body: Body) -> tuple[str, ...]:
        types = self.types
        for pattern in body:
            types += new_types(pattern, len(types))
        return types

    def count(
        self, table: Bindings, place: int, prefix: Body, numbered: Sequence[Numbered], most: int
    ) -> Iterator[FeatureBlock]:
        """Count templates, so many at a time; the target's own literals come last."""
        own = [item for item in numbered if self._is_own(item)]
        others = [item for item in numbered if not self._is_own(item)] if own else numbered
        for start in range(0, len(others), most):
            check_time()
            yield self._block(table, place, prefix, others[start : start + most])
        if own:
            yield self._own_block(table, self.listed(place, prefix, own))

    def _is_own(self, item: Numbered) -> bool:
        return self.own is not None and item[1].pattern.predicate == self.own

    def listed(self, place: int, prefix: Body, numbered: Iterable[Numbered]) -> CandidateList:
        """Return candidates of a prefix, told apart by constants."""
        order, templates = zip(*numbered, strict=True) if numbered else ((), ())
        names = tuple(map(self.constants, templates))
        first, size = [], 0
        for constants in names:
            first.append(size)
            size += max(len(constants), 1)
        return CandidateList(place, prefix, templates, order, tuple(first), names, size)

    def _own_block(self, table: Bindings, listed: CandidateList) -> FeatureBlock:
        """Count literals of the target itself one by one, no example counting as true."""
        found = []
        for number in range(listed.size):
            counts = table.count(listed.test(number)[-1])
            holders = np.flatnonzero(counts)
            found.append((np.full(len(holders), number), holders, counts[holders]))
        candidate, example, count = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if count.max(initial=0) > np.iinfo(np.int32).max:
            raise _too_many()
        entries = [part.astype(np.int32) for part in (candidate, example, count)]
        return FeatureBlock(listed, entries[0], entries[1], entries[2])

    def _block(
        self, table: Bindings, place: int, prefix: Body, numbered: Iterable[Numbered]
    ) -> FeatureBlock:
        programs, used = [], []
        find, bound = self.world.lookups.find, table.variables
        for item in numbered:
            found = find(item[1].pattern, bound, item[1].slot)
            if found is not None and found[0].groups:
                programs.append(found[1])
                used.append(item)
        listed = self.listed(place, prefix, used)
        joined = joined_programs(programs)
        joined["candidate"] = listed.first
        arena = self.world.lookups.arena
        candidate, example, count, too_large = count_candidates(
            joined,
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
        return FeatureBlock(listed, candidate, example, count)

    def constants(self, template: Template) -> tuple[str, ...]:
        """Return the constants that a template stands for, if any."""
        if template.slot is None:
            return ()
        return tuple(self.world.values(template.pattern.predicate.types[template.slot])[0])


def _too_many() -> CountOverflowError:
    return CountOverflowError(
        "an example has more than 2^31 groundings of a candidate literal",
        hint="restrict the predicates in bodies, or give modes",
    )
