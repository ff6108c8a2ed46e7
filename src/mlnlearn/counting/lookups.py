"""Facts by key: groups of facts that share some of their arguments, for compiled loops to find."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints, sort_keys
from mlnlearn.counting.kernels import KEY_PLACES, PROGRAM, ArenaArrays, Programs
from mlnlearn.counting.key_groups import group_keys, group_numbers, number_of_runs
from mlnlearn.counting.pattern import Pattern
from mlnlearn.errors import CountOverflowError, InputError
from mlnlearn.logic.atoms import Predicate

if TYPE_CHECKING:
    from mlnlearn.counting.objects import Objects

_KEY_LIMIT = 2**62
_MOST_DENSE = 1 << 16
_DENSE = 2  # numbers a fact: with more, keys in buckets take less memory
_BITS_OF_BUCKET = 2  # as many keys as these can tell apart are in one, or half as many
_MOST_LOW_BITS = 32
_AT_A_TIME = 1 << 20  # facts whose keys are made at a time


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
    wide
        Whether what is kept of a key takes more than 32 bits.
    """

    program: Programs
    size: int
    order: Codes | None
    wide: bool


Found: TypeAlias = tuple[Lookup, Programs]


def joined_programs(asked: Sequence[tuple[int, Found]]) -> Iterator[tuple[bool, Programs]]:
    """Yield programs one after the other, in arrays of their own: those whose keys are of one kind.

    Each comes with the number of its first candidate, which is put into it, and each array with
    whether its keys are wide. Programs are copied as bytes: to concatenate records, NumPy would
    compare the fields of each with those of the next, which takes longer than counting.

    Examples
    --------
    >>> narrow, wide = (Lookup(np.zeros(1, PROGRAM), 9, None, wide) for wide in (False, True))
    >>> asked = [(k, (lookup, lookup.program)) for k, lookup in enumerate([narrow, narrow, wide])]
    >>> [(wide, found["candidate"].tolist()) for wide, found in joined_programs(asked)]
    [(False, [0, 1]), (True, [2])]
    """
    for wide, group in groupby(asked, key=lambda item: item[1][0].wide):
        together = list(group)
        copied = bytearray().join(program.tobytes() for _, (_, program) in together)
        programs = np.frombuffer(copied, PROGRAM)
        programs["candidate"] = [first for first, _ in together]
        yield wide, programs


_ARRAYS = {
    "buckets": np.int32,
    "keys": np.uint32,
    "wide_keys": np.int64,
    "starts": np.int32,
    "slots": np.int32,
}


class Arena:
    """Arrays of all lookups, one after the other; what they do not use takes no memory."""

    def __init__(self) -> None:
        self._arrays = {name: np.empty(1024, kind) for name, kind in _ARRAYS.items()}
        self._used = dict.fromkeys(_ARRAYS, 0)

    def arrays(self, wide: bool) -> ArenaArrays:
        """Return buckets, keys of lookups that are wide or of those that are not, starts, slots.

        Compiled loops take one kind of keys at a time: they are compiled for what is used.
        """
        found = self._arrays
        keys = found["wide_keys" if wide else "keys"]
        return found["buckets"], keys, found["starts"], found["slots"]

    def add(self, name: str, values: NDArray[np.integer]) -> int:
        """Append values to one of the arrays and return where they start."""
        array, used = self._arrays[name], self._used[name]
        end = used + len(values)
        if end > len(array):
            larger = np.empty(max(end, 4 * len(array)), array.dtype)
            larger[:used] = array[:used]
            self._arrays[name] = array = larger
        array[used:end] = values
        self._used[name] = end
        return used


def _keys(columns: Sequence[Codes], multipliers: Sequence[int]) -> Ints:
    """Return one number for each fact, a few at a time: columns of 64 bits would take more."""
    keys = np.zeros(len(columns[0]), np.int64)
    for column, multiplier in zip(columns, multipliers, strict=True):
        for start in range(0, len(keys), _AT_A_TIME):
            part = slice(start, start + _AT_A_TIME)
            keys[part] += np.multiply(column[part], multiplier, dtype=np.int64)
    return keys


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
        if len(self.objects.databases) == 1:  # where the code of a value is that of its object
            places, constants = places + constants, ()
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
        program, order, wide = self._store(columns, sizes, multipliers)
        program["keys"] = len(columns)
        program["factors"][0, : len(columns)] = multipliers
        return Lookup(program, facts.shape[1], order, wide)

    def _store(
        self, columns: Sequence[Codes], sizes: Sequence[int], multipliers: Sequence[int]
    ) -> tuple[Programs, Codes | None, bool]:
        """Put facts by their keys into the arena: by number where these fill a small space.

        Returns how they are found, their order if it is not their own, and whether keys are wide.
        """
        space = math.prod(sizes)
        program = np.zeros(1, PROGRAM)
        if space <= min(max(_MOST_DENSE, _DENSE * len(columns[0])), np.iinfo(np.int32).max):
            numbers = columns[0] if len(columns) == 1 else _keys(columns, multipliers)
            first, order = group_numbers(numbers.astype(np.int32, copy=False), space)
            program["shift"] = -1
            program["ranges_at"] = self.arena.add("starts", first)
            return program, order, False
        keys, sorted_by = _keys(columns, multipliers), None
        runs = number_of_runs(keys)
        if runs < 0:
            sorting, keys = sort_keys(keys)
            sorted_by = sorting.astype(np.int32)
            runs = number_of_runs(keys)
        wide = self._store_sparse(program, keys, runs, space)
        return program, sorted_by, wide

    def _store_sparse(self, program: Programs, keys: Ints, runs: int, space: int) -> bool:
        """Put sorted keys into the arena, in buckets of a few each.

        Of a key, its bucket tells the higher bits: the others are kept. Where each has one fact,
        the number of the key is that of the fact. Returns whether what is kept is wide.
        """
        bits = int(space - 1).bit_length() - max(runs, 1).bit_length() + _BITS_OF_BUCKET
        shift = max(bits, 0)
        wide = shift > _MOST_LOW_BITS
        distinct: NDArray[np.integer] = np.empty(runs, np.int64 if wide else np.uint32)
        starts = np.empty(0 if runs == len(keys) else runs + 1, np.int32)
        mask = -1 if wide else (1 << shift) - 1
        buckets = group_keys(keys, shift, ((space - 1) >> shift) + 1, mask, distinct, starts)
        program["shift"], program["mask"] = shift, mask
        program["buckets_at"] = self.arena.add("buckets", buckets)
        program["keys_at"] = self.arena.add("wide_keys" if wide else "keys", distinct)
        if len(starts):
            program["ranges_at"] = self.arena.add("starts", starts)
        else:
            program["single"] = True
        return wide

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
