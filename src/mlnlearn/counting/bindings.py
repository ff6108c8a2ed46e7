"""Binding tables: the groundings of a conjunction for each example, one row a grounding."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints, pack, run_starts, sort_keys, times
from mlnlearn.counting.kernels import find_ranges, match_rows, sum_by_example, take_into
from mlnlearn.counting.lookups import Lookup
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Pattern
from mlnlearn.errors import CountOverflowError
from mlnlearn.logic.atoms import Predicate

Mask = NDArray[np.bool_]
_NOTHING = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Flip:
    """For every example, one ground atom with a truth value of its own, whatever the data say.

    Attributes
    ----------
    predicate
        Of the atoms.
    columns
        The atoms: a row of databases, then one of each argument's objects.
    value
        Their truth values.
    known
        Which of them are true in the data.
    """

    predicate: Predicate
    columns: Codes
    value: Mask
    known: Mask

    def part(self, chosen: slice | Ints) -> Flip:
        """Return the flips of some of the examples."""
        columns = np.ascontiguousarray(self.columns[:, chosen])
        return Flip(self.predicate, columns, self.value[chosen], self.known[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Bindings:
    """Values of the variables of a conjunction, one row a grounding, sorted by example.

    Attributes
    ----------
    world
        Where the objects live.
    example
        Per row, the number of its example.
    columns
        A row of databases, then one for each variable's objects.
    size
        Number of examples; those without a row have no grounding.
    flip
        An atom of each example that is true, or false, against the data.
    times
        How many groundings each row stands for; None for one each.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> facts = {"likes": [("Anna", "Bob"), ("Anna", "Carl")]}
    >>> world = Objects([Database.from_facts(schema, facts)])
    >>> people = Bindings.of(world, np.array([[0, 0, 0], [0, 1, 2]], np.int32))
    >>> likes = Pattern(schema["likes"], (0, 1))
    >>> people.count(likes).tolist(), people.join(likes).columns.tolist()
    ([2, 0, 0], [[0, 0], [0, 0], [1, 2]])
    """

    world: Objects
    example: Codes
    columns: Codes
    size: int
    flip: Flip | None = None
    times: Ints | None = None

    @classmethod
    def of(cls, world: Objects, examples: Codes, flip: Flip | None = None) -> Bindings:
        """Return the table of the empty conjunction: one row an example."""
        size = examples.shape[1]
        return cls(world, np.arange(size, dtype=np.int32), examples, size, flip)

    @property
    def variables(self) -> int:
        """Number of variables that have values."""
        return len(self.columns) - 1

    def __len__(self) -> int:
        return len(self.example)

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        many = 0 if self.times is None else self.times.nbytes
        return self.columns.nbytes + self.example.nbytes + many

    def where(self, rows: Mask | Ints) -> Bindings:
        """Return some of the rows."""
        columns = np.ascontiguousarray(self.columns[:, rows])
        many = None if self.times is None else self.times[rows]
        return Bindings(self.world, self.example[rows], columns, self.size, self.flip, many)

    def of_examples(self, inside: Mask) -> Bindings:
        """Return the rows of some examples."""
        return self.where(inside[self.example])

    @property
    def multiplicity(self) -> Ints:
        """How many groundings each row stands for."""
        return np.ones(len(self), np.int64) if self.times is None else self.times

    def totals(self) -> Ints:
        """Return each example's number of groundings."""
        if self.times is None:
            return np.bincount(self.example, minlength=self.size)
        return sum_by_example(self.example, self.times, self.size)

    def merged(self, needed: Collection[int]) -> Bindings:
        """Return the table with rows made one that differ in variables not needed any more.

        The variables keep their numbers; those not needed have the value 0.
        """
        kept = [0, *(number + 1 for number in sorted(needed) if number < self.variables)]
        columns = [self.example, *self.columns[kept]]
        keys = pack(columns, [int(column.max(initial=0)) + 1 for column in columns])
        if keys is None:
            return self
        order, ordered = sort_keys(keys)
        starts = run_starts(ordered)
        if len(starts) == len(self):
            return self
        first = order[starts]
        merged = np.zeros((len(self.columns), len(first)), np.int32)
        merged[kept] = self.columns[kept][:, first]
        sums: Ints = np.add.reduceat(self.multiplicity[order], starts)
        return Bindings(self.world, self.example[first], merged, self.size, self.flip, sums)

    def count(self, pattern: Pattern) -> Ints:
        """Return, for each example, how many groundings a join with the pattern would have."""
        if _has_repeats(pattern, self.variables):
            return self.join(pattern).totals()
        lengths: NDArray[np.integer] = self._ranges(pattern)[1]
        flip = self._flip_of(pattern)
        if flip is not None:
            touched = self.meets_flip(pattern)
            value, known = flip.value[self.example], flip.known[self.example]
            lengths = lengths + (touched & value) - (touched & known)
        if self.times is not None:
            lengths = times(lengths.astype(np.int64), self.times)
        return sum_by_example(self.example, lengths, self.size)

    def join(self, pattern: Pattern) -> Bindings:
        """Return the table with the pattern's facts joined; its new variables come last."""
        rows, chosen = self._matches(pattern)
        facts = self.world.relation(pattern.predicate)
        flip = self._flip_of(pattern)
        if flip is not None:
            # the flipped atom takes part once, whatever the data say of it
            keep = (facts[:, chosen] != flip.columns[:, self.example[rows]]).any(axis=0)
            extra = np.flatnonzero(self.meets_flip(pattern) & flip.value[self.example])
            together = np.concatenate([rows[keep], extra])
            added = flip.columns[:, self.example[extra]]
            facts = np.concatenate([facts[:, chosen[keep]], added], axis=1)
            chosen, rows = (found.astype(np.int32) for found in sort_keys(together))
        new = _new_places(pattern, self.variables)
        columns = np.empty((len(self.columns) + len(new), len(rows)), np.int32)
        for place, column in enumerate(self.columns):
            take_into(column, rows, columns[place])
        for place, number in enumerate(new, len(self.columns)):
            take_into(facts[number + 1], chosen, columns[place])
        example = np.empty(len(rows), np.int32)
        take_into(self.example, rows, example)
        many = None if self.times is None else self.times[rows]
        return Bindings(self.world, example, columns, self.size, self.flip, many)

    def with_gap(self, variables: int) -> Bindings:
        """Return the table with so many more variables, which have the value 0 in all rows."""
        columns = np.zeros((len(self.columns) + variables, len(self)), np.int32)
        columns[: len(self.columns)] = self.columns
        return Bindings(self.world, self.example, columns, self.size, self.flip, self.times)

    def _matches(self, pattern: Pattern) -> tuple[Codes, Codes]:
        """Return pairs of a row and the number of a fact that is an instance of the pattern."""
        first, lengths, lookup = self._ranges(pattern)
        if lookup is None:
            return _NOTHING, _NOTHING
        total = int(lengths.sum(dtype=np.int64))
        if total > np.iinfo(np.int32).max:
            raise CountOverflowError(
                f"{total:,} facts of {pattern.predicate.name} at once: more than rows have numbers",
                hint="learn from fewer examples, or give modes",
            )
        order = _NOTHING if lookup.order is None else lookup.order
        rows, chosen = match_rows(first, lengths, order, total)
        if _has_repeats(pattern, self.variables):
            facts = self.world.relation(pattern.predicate)[:, chosen]
            keep = _repeats_agree(pattern, self.variables, facts)
            rows, chosen = rows[keep], chosen[keep]
        return rows, chosen

    def joined_rows(self, pattern: Pattern) -> int:
        """Return how many rows a join with the pattern makes, flips aside."""
        return int(self._ranges(pattern)[1].sum(dtype=np.int64))

    def _ranges(self, pattern: Pattern) -> tuple[Codes, Codes, Lookup | None]:
        """Return where each row's facts start, how many there are, and in which order."""
        found = self.world.lookups.find(pattern, self.variables)
        if found is None or not found[0].size:
            nothing = np.zeros(len(self), np.int32)
            return nothing, nothing, None
        lookup, program = found
        arena = self.world.lookups.arena.arrays(lookup.wide)
        first, lengths = find_ranges(program, self.columns, arena)
        return first, lengths, lookup

    def _flip_of(self, pattern: Pattern) -> Flip | None:
        if self.flip is None or self.flip.predicate != pattern.predicate:
            return None
        return self.flip

    def meets_flip(self, pattern: Pattern) -> Mask:
        """Tell for which rows the example's flipped atom is an instance of the pattern."""
        if self.flip is None:
            return np.zeros(len(self), np.bool_)
        atoms = self.flip.columns[:, self.example]
        result = _repeats_agree(pattern, self.variables, atoms)
        result &= atoms[0] == self.columns[0]
        for place, term in enumerate(pattern.terms):
            if isinstance(term, str):
                names, codes = self.world.values(pattern.predicate.types[place])
                result &= codes[atoms[place + 1]] == names.code(term)
            elif term < self.variables:
                result &= atoms[place + 1] == self.columns[term + 1]
        return result


def _new_places(pattern: Pattern, bound: int) -> list[int]:
    """Return the first place of each new variable, in the order of their numbers."""
    first: dict[int, int] = {}
    for place, term in enumerate(pattern.terms):
        if isinstance(term, int) and term >= bound:
            first.setdefault(term, place)
    return [first[term] for term in sorted(first)]


def _has_repeats(pattern: Pattern, bound: int) -> bool:
    new = [term for term in pattern.terms if isinstance(term, int) and term >= bound]
    return len(set(new)) < len(new)


def _repeats_agree(pattern: Pattern, bound: int, facts: Codes) -> Mask:
    """Tell which facts give the occurrences of a repeated new variable the same object."""
    result = np.ones(facts.shape[1], np.bool_)
    first: dict[int, int] = {}
    for place, term in enumerate(pattern.terms):
        if isinstance(term, int) and term >= bound:
            other = first.setdefault(term, place)
            if other != place:
                result &= facts[place + 1] == facts[other + 1]
    return result


def is_true(world: Objects, predicate: Predicate, rows: Codes) -> Mask:
    """Tell which atoms are true in the data.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("rich(person)")
    >>> facts = {"rich": [("Anna",)]}
    >>> world = Objects([Database.from_facts(schema, facts, domains={"person": ["Bob"]})])
    >>> is_true(world, schema["rich"], np.array([[0, 0], [0, 1]], np.int32)).tolist()
    [False, True]
    """
    everything = Bindings.of(world, np.ascontiguousarray(rows))
    result: Mask = everything.count(Pattern(predicate, tuple(range(predicate.arity)))) > 0
    return result
