"""Facts by key: groups of facts that share some of their arguments, for compiled loops to find."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints, run_starts, sort_keys
from mlnlearn.counting.kernels import KEY_PLACES, PROGRAM, first_of_buckets, first_of_keys
from mlnlearn.counting.pattern import Pattern
from mlnlearn.errors import CountOverflowError, InputError
from mlnlearn.logic.atoms import Predicate

if TYPE_CHECKING:
    from mlnlearn.counting.objects import Objects

_KEY_LIMIT = 2**62
_MOST_DENSE = 1 << 16

Programs: TypeAlias = NDArray[np.void]
"""Records of `mlnlearn.counting.kernels.PROGRAM`."""


def refuse_arity(predicate: Predicate) -> None:
    """Raise an error where a predicate has more arguments than facts can be found by.

    Examples
    --------
    >>> refuse_arity(Predicate("likes", ("person", "person")))
    """
    if predicate.arity >= KEY_PLACES:  # one place of a key may be the database
        raise InputError(
            f"{predicate.name} has {predicate.arity} arguments; a boosted model takes predicates"
            f" of up to {KEY_PLACES - 1}",
            hint="split it into several predicates",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """Facts of a predicate grouped by some of their arguments.

    Attributes
    ----------
    program
        How the compiled loops find a group: an array of one `PROGRAM`.
    size
        Number of facts.
    order
        The facts' row numbers, group by group; None where that is their own order.
    """

    program: Programs
    size: int
    order: Codes | None


Found: TypeAlias = tuple[Lookup, Programs]


def joined_programs(programs: Sequence[Programs]) -> Programs:
    """Return programs one after the other, in an array of their own.

    They are copied as bytes: to concatenate records, NumPy would compare the fields of each with
    those of the next, which takes longer than counting.

    Examples
    --------
    >>> first, second = np.zeros(1, PROGRAM), np.ones(1, PROGRAM)
    >>> joined_programs([first, second])["offset"].tolist(), len(joined_programs([]))
    ([0, 1], 0)
    """
    return np.frombuffer(bytearray().join(program.tobytes() for program in programs), PROGRAM)


class Arena:
    """Arrays of all lookups, one after the other; what they do not use takes no memory."""

    def __init__(self) -> None:
        self.buckets = np.empty(1024, np.int32)
        self.sorted_keys = np.empty(1024, np.int64)
        self.starts = np.empty(1024, np.int32)
        self.slots = np.empty(1024, np.int32)
        self._used = dict.fromkeys(("buckets", "sorted_keys", "starts", "slots"), 0)

    def add(self, name: str, values: NDArray[np.integer]) -> int:
        """Append values to one of the arrays and return where they start."""
        array, used = getattr(self, name), self._used[name]
        end = used + len(values)
        if end > len(array):
            larger = np.empty(max(end, 4 * len(array)), array.dtype)
            larger[:used] = array[:used]
            setattr(self, name, larger)
            array = larger
        array[used:end] = values
        self._used[name] = end
        return used


class Lookups:
    """Lookups of the facts over some objects, made on first use."""

    def __init__(self, objects: Objects) -> None:
        # the objects own their lookups: in a circle, neither would go before it is swept for
        self.objects: Objects = weakref.proxy(objects)
        self.arena = Arena()
        self._lookups: dict[tuple[Predicate, tuple[int, ...], tuple[int, ...]], Lookup] = {}
        self._found: dict[tuple[Pattern, int, int | None], Found | None] = {}
        self._slots: dict[tuple[int, int], int] = {}
        self._making = Lock()  # threads may ask; the arena grows by one at a time

    def lookup(
        self, predicate: Predicate, places: tuple[int, ...], constants: tuple[int, ...] = ()
    ) -> Lookup:
        """Return the facts grouped by objects at some places and by value codes at others."""
        key = predicate, places, constants
        if key not in self._lookups:
            self._lookups[key] = self._build(predicate, places, constants)
        return self._lookups[key]

    def _build(
        self, predicate: Predicate, places: tuple[int, ...], constants: tuple[int, ...]
    ) -> Lookup:
        facts = self.objects.relation(predicate)
        columns = [facts[place + 1] for place in places] or [facts[0]]
        sizes = [self.objects.number(predicate.types[place]) for place in places]
        sizes = sizes or [len(self.objects.databases)]
        for place in constants:
            names, codes = self.objects.values(predicate.types[place])
            columns.append(codes[facts[place + 1]])
            sizes.append(len(names))
        refuse_arity(predicate)
        if math.prod(max(s, 1) for s in sizes) >= _KEY_LIMIT:
            raise CountOverflowError(
                f"{len(columns)} arguments of {predicate.name} do not fit in a 64-bit key",
                hint="leave the predicate out of the rules, or split its facts",
            )
        multipliers = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        keys = np.zeros(facts.shape[1], np.int64)
        for column, multiplier in zip(columns, multipliers, strict=True):
            keys += column.astype(np.int64) * multiplier
        order: Codes | None = None
        if bool((keys[1:] < keys[:-1]).any()):
            order, keys = self._sorted(keys)
        program = self._store(keys, math.prod(sizes))
        program["keys"] = len(columns)
        program["factors"][0, : len(columns)] = multipliers
        return Lookup(program, len(keys), order)

    def _sorted(self, keys: Ints) -> tuple[Codes, Ints]:
        order, keys = sort_keys(keys)
        return order.astype(np.int32), keys

    def _store(self, keys: Ints, space: int) -> Programs:
        """Put sorted keys into the arena, as a plain array where they fill a small space."""
        program = np.zeros(1, PROGRAM)
        if space <= max(_MOST_DENSE, 4 * len(keys)):
            program["shift"] = -1
            program["ranges_at"] = self.arena.add("starts", first_of_keys(keys, space))
            return program
        first = run_starts(keys)
        distinct = keys[first]
        shift = max(int(space - 1).bit_length() - max(len(distinct), 1).bit_length(), 0)
        buckets = ((space - 1) >> shift) + 1
        program["shift"] = shift
        program["buckets_at"] = self.arena.add(
            "buckets", first_of_buckets(distinct, shift, buckets)
        )
        program["keys_at"] = self.arena.add("sorted_keys", distinct)
        program["ranges_at"] = self.arena.add("starts", np.append(first, len(keys)))
        return program

    def find(self, pattern: Pattern, bound: int, slot: int | None = None) -> Found | None:
        """Return the lookup for a pattern and the program that finds its facts.

        Parameters
        ----------
        pattern
            The atom; variables below `bound` have values in the binding table.
        bound
            Number of variables that have values.
        slot
            An argument place, open in the pattern, whose constants are to be told apart.

        Returns
        -------
        Both, or None where a constant of the pattern is in no database. The program must not be
        changed.
        """
        key = pattern, bound, slot
        try:
            return self._found[key]
        except KeyError:
            with self._making:
                found = self._found[key] = self._find(pattern, bound, slot)
            return found

    def _find(self, pattern: Pattern, bound: int, slot: int | None) -> Found | None:
        places: list[int] = []
        constants: list[int] = []
        for place, term in enumerate(pattern.terms):
            if isinstance(term, str):
                constants.append(place)
            elif term < bound and place != slot:
                places.append(place)
        lookup = self.lookup(pattern.predicate, tuple(places), tuple(constants))
        program = lookup.program.copy()
        program["keys"] -= len(constants)
        for number, place in enumerate(places):
            program["columns"][0, number] = int(pattern.terms[place]) + 1
        for number, place in enumerate(constants):
            names, _ = self.objects.values(pattern.predicate.types[place])
            code = names.code(str(pattern.terms[place]))
            if code < 0:
                return None
            program["offset"] += code * program["factors"][0, program["keys"][0] + number]
        if slot is not None:
            program["constants"] = len(self.objects.values(pattern.predicate.types[slot])[0])
            program["slots_at"] = self._slot(pattern.predicate, lookup, slot)
        return lookup, program

    def _slot(self, predicate: Predicate, lookup: Lookup, slot: int) -> int:
        """Return where the value codes at a place of the lookup's facts start in the arena."""
        key = id(lookup), slot
        if key not in self._slots:
            codes = self.objects.values(predicate.types[slot])[1]
            ordered = self.objects.relation(predicate)[slot + 1]
            if lookup.order is not None:
                ordered = ordered[lookup.order]
            self._slots[key] = self.arena.add("slots", codes[ordered])
        return self._slots[key]
