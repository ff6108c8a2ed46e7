"""Counts of every candidate literal for every example, for one conjunction at a time.

A node of a tree is a conjunction (the tests that held on the way) and a set of examples. The counts
depend on the conjunction only, so they are computed once for all examples and kept, as long as
memory allows; later nodes and later trees with the same conjunction only sum over them. What memory
does not allow is never held: counts come in pieces, for some of the node's examples at a time, and
go into sums at once. Both give the same sums, bit for bit: a candidate's terms are added in the
order of the examples. Examples that a candidate cannot tell apart are counted once (`views`), and
so are candidates that go with the same literals of two conjunctions.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, pairwise
from typing import TypeVar

import numpy as np

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.counting.bindings import Bindings, Flip
from mlnlearn.counting.conjunctions import Conjunctions
from mlnlearn.counting.example_sums import ExampleSums
from mlnlearn.counting.example_views import Linked
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Body, CanonicalBodies, Pattern, renamed
from mlnlearn.counting.view_tables import PIECE, ViewTables, joined
from mlnlearn.errors import DataWarning
from mlnlearn.resources import in_use
from mlnlearn.structure.boosting.candidates import (
    COUNT_BYTES,
    CandidateCounter,
    CandidateCounts,
    CandidateList,
    Entries,
    Numbered,
)
from mlnlearn.structure.boosting.language import BodyLanguage, Template
from mlnlearn.structure.boosting.units import BegunCounts, Part, Slab, Unit
from mlnlearn.threads import in_order

T = TypeVar("T")
R = TypeVar("R")

_WORK = 1 << 21  # rows times templates in one block
_ROWS_PER_EXAMPLE = 10
_SHARED = 1 << 14  # examples from which on threads share the work
_VIEWED = 1 << 14  # examples from which on views of them pay
_TRIES = 2  # how often what the cache dropped is made again to be kept


class Features(Conjunctions):
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
    >>> found = []
    >>> features.each((), False, lambda unit: np.arange(2), lambda *counts: found.append(counts))
    >>> (unit, ((_, counts),)), = found
    >>> [(unit.listed.test(number)[0].terms, who) for number, who in
    ...  zip(counts.candidate.tolist(), counts.example.tolist())]
    [((0, 1), 0), ((1, 0), 1)]
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
        least = _VIEWED if elsewhere is None or flip is not None else 0
        super().__init__(world, examples, least, flip, elsewhere)
        self.types = types
        self.counter = CandidateCounter(world, types, language, self.own)
        self.most_rows = max(PIECE, _ROWS_PER_EXAMPLE * len(self))
        self._most_kept = in_use().cache.limit // 2
        self._passing: set[Hashable] = set()
        self._made: Counter[Hashable] = Counter()
        self._keys = count()
        self._numbers: dict[Hashable, int] = {}
        self._alone: dict[Body, list[Unit]] = {}
        self._units_of: dict[Body, list[Unit]] = {}
        self._left_out: set[Pattern] = set()
        self.forms = CanonicalBodies(len(types))

    def each(
        self,
        body: Body,
        pairs: bool,
        members: Callable[[Unit], Ints],
        work: Callable[[Unit, Iterable[Part]], None],
    ) -> None:
        """Do something with all candidates of a conjunction, for the examples of a node.

        Units may come at the same time, in several threads; counts of the same unit do not. What is
        kept comes for all examples; the rest in pieces, each with later examples than the one
        before.

        Parameters
        ----------
        body, pairs
            The conjunction, and whether pairs of literals are candidates too.
        members
            Tells which examples of a unit's view are of the node.
        work
            What to do with counts of some candidates of a unit.
        """
        missing: list[Unit] = []
        kept: dict[Unit, list[Part]] = {}
        for unit in self.units(body, pairs):
            found = self._kept_counts(unit)
            if found is None:
                missing.append(unit)
            else:
                kept[unit] = found
        self._work_on(kept, work)
        for alike in _by_table(missing):
            made = self._make(alike)
            self._work_on(made, work)
            tables, path = alike[0].tables, alike[0].path
            passing = [unit for unit in alike if unit not in made]
            for part in tables.parts_among(members(alike[0])) if passing else ():
                for table in tables.pieces(path, part):
                    for _ in self.shared(partial(self._passed, part, table, work), passing):
                        pass

    def _work_on(
        self, counts: Mapping[Unit, list[Part]], work: Callable[[Unit, Iterable[Part]], None]
    ) -> None:
        """Do something with counts, those first that take longest, so that threads end together."""
        sizes = {unit: sum(len(part.example) for _, part in counts[unit]) for unit in counts}
        order = sorted(counts, key=lambda unit: -sizes[unit])
        for _ in self.shared(lambda unit: work(unit, counts[unit]), order):
            pass

    def _passed(
        self,
        part: slice | Ints,
        table: Bindings,
        work: Callable[[Unit, Iterable[Part]], None],
        unit: Unit,
    ) -> None:
        for parts in self._piece(part, table, unit, unit.slabs):
            work(unit, parts)

    def shared(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Share work out among threads, where it is more than sharing takes."""
        return (in_order if len(self) >= _SHARED else map)(function, items)

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

    def units(self, body: Body, pairs: bool) -> list[Unit]:
        """Return what is counted, and kept, together; but prefixes of too many rows, or none."""
        if body not in self._alone:
            alone = [(0, (), self.counter.single(body))]
            self._alone[body] = self._within_limits(body, alone)
        if not (pairs and self.counter.language.lookahead):
            return self._alone[body]
        if body not in self._units_of:
            links = [
                (place, (first.pattern,), second)
                for place, (first, second) in enumerate(self.counter.links(body), 1)
            ]
            self._units_of[body] = self._alone[body] + self._within_limits(body, links)
        return self._units_of[body]

    def _within_limits(
        self, body: Body, prefixes: Sequence[tuple[int, Body, Sequence[Template]]]
    ) -> list[Unit]:
        """Return the units of some prefixes that have rows, and not too many."""
        found = []
        for prefix in prefixes:
            for unit in self._units_after(body, prefix):
                joined_literals = (*body, *unit.listed.prefix)
                if joined_literals and unit.rows > self.most_rows:
                    self._leave_out(joined_literals[-1])
                else:
                    found.append(unit)
        return found

    def _units_after(self, body: Body, given: tuple[int, Body, Sequence[Template]]) -> list[Unit]:
        """Return units of one prefix, by the examples that their candidates tell apart."""
        place, prefix, templates = given
        found = []
        for part, order in self._by_part(body, prefix, templates):
            alike = [templates[number] for number in order]
            listed = self.counter.listed(place, prefix, alike, order)
            unit = self._unit(part, listed)
            if unit.rows > self.most_rows and unit.view is self.views.everyone:
                unit = self._unit(self.together(body), listed)  # the path may leave fewer rows
            if unit.rows:
                found.append(unit)
        return found

    def _by_part(
        self, body: Body, prefix: Body, templates: Sequence[Template]
    ) -> Iterable[tuple[Linked, Sequence[int]]]:
        """Return templates, by number, with the part of a body that they are counted with."""
        if not self.views.pays:
            return [(self.together(body), range(len(templates)))] if templates else []
        groups: dict[Linked, list[int]] = {}
        for number, template in enumerate(templates):
            part = self.linked(body, (*prefix, template.pattern))
            groups.setdefault(part, []).append(number)
        return groups.items()

    def _unit(self, part: Linked, listed: CandidateList) -> Unit:
        """Return candidates that are counted together with a part of a conjunction."""
        tables = self.tables(part)
        path, link, templates = part.joined, listed.prefix, listed.templates
        if part.rest:
            path, link, templates = self._by_own_names(part, listed)
        asked = list(zip(listed.first, templates, strict=True))
        if self.views.pays:
            slabs = [self._slab(tables, path, link, item) for item in asked]
        else:  # of few examples, to tell what is the same takes longer than to count it again
            slabs = [Slab(next(self._keys), 0, listed.size, tuple(asked))]
        # a server has no limit of rows
        rows = 1 if self.elsewhere is not None else self._rows_of(tables, (*path, *link))
        key = next(self._keys)
        return Unit(key, path, part.rest, link, tables, listed, tuple(slabs), rows)

    def _slab(self, tables: ViewTables, path: Body, link: Body, item: Numbered) -> Slab:
        """Return the candidates of a template, by what all who ask for their counts know."""
        first, template = item
        key = self._numbers.setdefault((id(tables), path, link, template), next(self._keys))
        return Slab(key, first, max(len(self.counter.constants(template)), 1), (item,))

    def _by_own_names(
        self, part: Linked, listed: CandidateList
    ) -> tuple[Body, Body, tuple[Template, ...]]:
        """Return literals as they are named without the rest of the conjunction."""
        heads, given = len(self.types), (*part.joined, *listed.prefix)
        bound = heads + len({n for p in (*given, *part.rest) for n in p.variables if n >= heads})
        path = renamed(given, heads)
        names = {
            old: new
            for one, other in zip(given, path, strict=True)
            for old, new in zip(one.terms, other.terms, strict=True)
        }
        fewer = bound - heads - len({n for p in path for n in p.variables if n >= heads})
        templates = tuple(t.renamed(names, bound, fewer) for t in listed.templates)
        return path[: len(part.joined)], path[len(part.joined) :], templates

    def _rows_of(self, tables: ViewTables, path: Body) -> int:
        """Return the most rows on a path, unless too many come before its end; 0 for none there."""
        most = rows = len(tables)
        for length in range(1, len(path) + 1):
            rows = tables.rows(path[:length])
            most = max(most, rows)
            if most > self.most_rows:
                return most
        return most if rows else 0

    def _kept_counts(self, unit: Unit) -> list[Part] | None:
        """Return the counts for all examples where all are kept."""
        found = [(slab.start, self._kept.get(slab.key)) for slab in unit.slabs]
        return None if any(counts is None for _, counts in found) else found

    def _make(self, units: Sequence[Unit]) -> dict[Unit, list[Part]]:
        """Count for all examples what is counted from the same tables, and keep that.

        What takes too much memory, or was dropped too often, is left out: it is counted for each
        node alone.
        """
        making: dict[Unit, BegunCounts] = {}
        for unit in units:
            found = {slab: self._kept.get(slab.key) for slab in unit.slabs}
            kept = {slab: counts for slab, counts in found.items() if counts is not None}
            missing = [slab for slab in unit.slabs if slab not in kept]
            self._passing.update(s.key for s in missing if self._made[s.key] == _TRIES)
            if not any(slab.key in self._passing for slab in missing):
                making[unit] = BegunCounts(kept, missing)
        size = 0
        tables, path = units[0].tables, units[0].path

        def count(part: slice) -> list[tuple[Unit, list[Part]]]:
            return [
                (unit, parts)
                for table in tables.pieces(path, part)
                for unit, begun in list(making.items())
                for parts in self._piece(part, table, unit, begun.missing)
            ]

        for counted in self.shared(count, tables.parts() if making else ()):
            for unit, parts in counted:
                if unit in making:
                    size += making[unit].add(parts)
                    if size > self._most_kept:  # others may go on
                        dropped = making.pop(unit)
                        size -= dropped.size
                        self._passing.update(slab.key for slab in dropped.missing)
        return {unit: self._keep(making.pop(unit)) for unit in list(making)}

    def _keep(self, begun: BegunCounts) -> list[Part]:
        counts = begun.whole()
        for slab in begun.missing:
            self._made[slab.key] += 1
            self._kept.put(slab.key, counts[slab])
        return [(slab.start, found) for slab, found in counts.items()]

    def _counts(self, table: Bindings, slabs: Sequence[Slab], most: int) -> Iterator[list[Part]]:
        """Count so many templates at a time; what is kept together comes together."""
        templates = [given for slab in slabs for given in slab.templates]
        for entries in self.counter.count(table, templates, most):
            yield list(_parted(entries, slabs))

    def _templates(self, table: Bindings) -> int:
        """Return how many templates are counted at once: even if all hold, they can be kept."""
        most = min(_WORK, self._most_kept // COUNT_BYTES)
        return max(most // max(len(table), 1), 1)

    def _piece(
        self, part: slice | Ints, table: Bindings, unit: Unit, slabs: Sequence[Slab]
    ) -> Iterator[list[Part]]:
        """Yield counts for some examples."""
        for piece in joined(table, unit.link):
            for parts in self._counts(piece, slabs, self._templates(piece)):
                yield [(start, counts.among(part)) for start, counts in parts]


def _parted(entries: Entries, slabs: Sequence[Slab]) -> Iterator[Part]:
    """Yield the counts of each slab that has some, with the number of its first candidate."""
    candidate, example, count = entries
    # entries come template by template: up to the first of a slab, all are smaller
    starts = np.array([slab.start for slab in slabs], np.int32)
    bounds = [*np.searchsorted(candidate, starts).tolist(), len(candidate)]
    for slab, (low, high) in zip(slabs, pairwise(bounds), strict=True):
        if low < high:
            own = candidate[low:high] - np.int32(slab.start), example[low:high], count[low:high]
            yield slab.start, CandidateCounts.of(own, slab.size)


def _by_table(units: Iterable[Unit]) -> Iterable[list[Unit]]:
    """Return units together that are counted from the same tables."""
    groups: dict[tuple[int, Body], list[Unit]] = {}
    for unit in units:
        groups.setdefault((id(unit.tables), unit.path), []).append(unit)
    return groups.values()
