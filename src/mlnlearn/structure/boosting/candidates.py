"""Candidate literals of a conjunction, and their counts in a binding table."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
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

_NOTHING = np.empty(0, np.int32)
COUNT_BYTES = 12
"""What a count takes, with its candidate and its example, before it is made smaller."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateCounts:
    """Counts of some candidates, without zeros; those of a candidate are sorted by example.

    Attributes
    ----------
    candidate
        Which of the candidates is counted; empty where there is one only.
    example
        For which example.
    count
        How many groundings; empty where each count is one.
    """

    candidate: NDArray[np.integer]
    example: Codes
    count: NDArray[np.integer]

    @classmethod
    def of(cls, entries: Entries, size: int) -> CandidateCounts:
        """Return the counts of so many candidates in as few bytes as they take.

        Examples
        --------
        >>> numbers = np.ones(4, np.int32)
        >>> counts = CandidateCounts.of((numbers, numbers, numbers), 2)
        >>> counts.candidate.dtype.name, len(counts.count), counts.nbytes
        ('uint8', 0, 20)
        """
        candidate, example, count = entries
        most = int(count.max(initial=0))
        few = np.uint8 if most < 1 << 8 else np.int32
        name = np.uint8 if size <= 1 << 8 else np.int32
        return cls(
            candidate.astype(name) if size > 1 else np.empty(0, name),
            example.copy(),
            count.astype(few) if most > 1 else np.empty(0, few),
        )

    @classmethod
    def joined(cls, parts: Sequence[CandidateCounts], size: int) -> CandidateCounts:
        """Return counts for different examples, one after the other."""
        if len(parts) < 2:
            nothing = np.empty(0, np.int32)
            return parts[0] if parts else cls.of((nothing, nothing, nothing), size)
        every = any(len(part.count) for part in parts)
        return cls(
            np.concatenate([part.candidate for part in parts]),
            np.concatenate([part.example for part in parts]),
            np.concatenate([part.groundings if every else part.count for part in parts]),
        )

    @property
    def nbytes(self) -> int:
        """Memory that the counts take."""
        return self.candidate.nbytes + self.example.nbytes + self.count.nbytes

    @property
    def groundings(self) -> NDArray[np.integer]:
        """How many groundings there are, also where each count is one."""
        return self.count if len(self.count) else np.ones(len(self.example), self.count.dtype)

    def among(self, examples: slice | Ints) -> CandidateCounts:
        """Give the examples, which are some of all, their numbers among all."""
        if isinstance(examples, slice):
            if not examples.start:
                return self
            return replace(self, example=self.example + np.int32(examples.start))
        return replace(self, example=examples[self.example].astype(np.int32))


Numbered: TypeAlias = tuple[int, Template]
"""A template, and the number of its first candidate."""
Entries: TypeAlias = tuple[Codes, Codes, Codes]
"""Counts as they are made: candidate, example and count, parallel, without zeros."""


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

    def count(self, table: Bindings, numbered: Sequence[Numbered], most: int) -> Iterator[Entries]:
        """Count templates, so many at a time; the target's own literals come last.

        Counts of a template come before those of the next.
        """
        own = [item for item in numbered if self._is_own(item)]
        others = [item for item in numbered if not self._is_own(item)] if own else numbered
        for start in range(0, len(others), most):
            check_time()
            yield self._counted(table, others[start : start + most])
        for first, template in own:
            yield self._own_counts(table, first, template)

    def _is_own(self, item: Numbered) -> bool:
        return self.own is not None and item[1].pattern.predicate == self.own

    def _own_counts(self, table: Bindings, first: int, template: Template) -> Entries:
        """Count literals of the target itself one by one, no example counting as true."""
        found = []
        for number, name in enumerate(self.constants(template) or ("",), first):
            counts = table.count(template.with_constant(name))
            holders = np.flatnonzero(counts)
            found.append((np.full(len(holders), number), holders, counts[holders]))
        candidate, example, count = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if count.max(initial=0) > np.iinfo(np.int32).max:
            raise _too_many()
        return candidate.astype(np.int32), example.astype(np.int32), count.astype(np.int32)

    def _counted(self, table: Bindings, numbered: Sequence[Numbered]) -> Entries:
        """Count templates in one pass; those without facts have no counts."""
        asked = []
        for first, template in numbered:
            found = self.world.lookups.find(template.pattern, table.variables, template.slot)
            if found is not None and found[0].size:
                asked.append((first, found))
        parts: list[Entries] = []
        for wide, programs in joined_programs(asked):
            arena = self.world.lookups.arena.arrays(wide)
            *counts, too_large = count_candidates(programs, table.columns, table.example, arena)
            if too_large:
                raise _too_many()
            candidate, example, count = counts
            parts.append((candidate, example, count))
        return _together(parts)

    def listed(
        self, place: int, prefix: Body, templates: Sequence[Template], order: Sequence[int]
    ) -> CandidateList:
        """Return candidates of a prefix, told apart by constants."""
        names = tuple(map(self.constants, templates))
        first, size = [], 0
        for constants in names:
            first.append(size)
            size += max(len(constants), 1)
        numbers = tuple(order), tuple(first)
        return CandidateList(place, prefix, tuple(templates), *numbers, names, size)

    def constants(self, template: Template) -> tuple[str, ...]:
        """Return the constants that a template stands for, if any."""
        if template.slot is None:
            return ()
        return tuple(self.world.values(template.pattern.predicate.types[template.slot])[0])


def _together(parts: Sequence[Entries]) -> Entries:
    if len(parts) == 1:
        return parts[0]
    joined = [np.concatenate([_NOTHING, *(part[array] for part in parts)]) for array in range(3)]
    candidate, example, count = joined
    return candidate, example, count


def _too_many() -> CountOverflowError:
    return CountOverflowError(
        "an example has more than 2^31 groundings of a candidate literal",
        hint="restrict the predicates in bodies, or give modes",
    )
