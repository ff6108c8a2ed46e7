"""Databases as numbered objects with lookups: what binding tables are made of.

Every constant of every database is an *object* with a number of its own within its type, so a join
on objects never mixes databases. Constants in rules are names; they are matched by *value codes*,
one for each name, whatever the database.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.arrays import Codes, Ints
from mlnlearn.data.common import common_schema
from mlnlearn.data.database import Database
from mlnlearn.errors import CountOverflowError, InputError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.model.boosted.kernels import (
    CODES,
    COLUMN,
    FACTOR,
    GROUPS,
    HASH_KEYS,
    HASHED,
    KEY_PLACES,
    NUMBER,
    PLUS,
    SIZE,
    SLOTS,
    STARTS,
    WIDTH,
    fill_hash,
)

EQUALS = "="
"""Name of the built-in predicate that compares two terms of a type."""
_KEY_LIMIT = 2**62
_MOST_DENSE = 1 << 20

Argument: TypeAlias = int | str
"""A term of a pattern: the number of a variable, or the name of a constant."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """An atom of a boosted rule: variables by number, constants by name.

    Examples
    --------
    >>> Pattern(Predicate("inPhase", ("person", "phase")), (0, "Post_Generals")).variables
    (0,)
    """

    predicate: Predicate
    terms: tuple[Argument, ...]

    @property
    def variables(self) -> tuple[int, ...]:
        """The variables' numbers, in order of occurrence, each once."""
        return tuple(dict.fromkeys(term for term in self.terms if isinstance(term, int)))


def equality(kind: str) -> Predicate:
    """Return the built-in equality of a type.

    Examples
    --------
    >>> equality("person").types
    ('person', 'person')
    """
    return Predicate(EQUALS, (kind, kind))


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
        How the compiled loops find a group (see `mlnlearn.model.boosted.kernels`).
    starts, lengths
        Per group, the range of its facts in `order`.
    order
        The facts' row numbers, group by group.
    """

    program: Ints
    starts: NDArray[np.int32]
    lengths: NDArray[np.int32]
    order: Ints


Found: TypeAlias = tuple[Lookup, Ints]


class Arena:
    """Arrays of all lookups, one after the other, growing by doubling."""

    def __init__(self) -> None:
        self.groups = np.empty(1024, np.int32)
        self.hash_keys = np.empty(1024, np.int64)
        self.starts = np.empty(1024, np.int32)
        self.lengths = np.empty(1024, np.int32)
        self.slots = np.empty(1024, np.int32)
        self._used = dict.fromkeys(("groups", "hash_keys", "starts", "lengths", "slots"), 0)

    def add(self, name: str, values: NDArray[np.integer]) -> int:
        """Append values to one of the arrays and return where they start."""
        array, used = getattr(self, name), self._used[name]
        end = used + len(values)
        if end > len(array):
            larger = np.empty(max(end, 2 * len(array)), array.dtype)
            larger[:used] = array[:used]
            setattr(self, name, larger)
            array = larger
        array[used:end] = values
        self._used[name] = end
        return used


class World:
    """Facts of several databases over numbered objects. Lookups are made on first use.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("likes(person,person)")
    >>> db = Database.from_facts(schema, {"likes": [("Anna", "Bob")]})
    >>> world = World([db, db])
    >>> world.objects("person"), world.relation(schema["likes"]).tolist()
    (4, [[0, 1], [0, 2], [1, 3]])
    """

    def __init__(self, databases: Sequence[Database]) -> None:
        self.databases = tuple(databases)
        self.schema = common_schema(databases)
        self.offsets: Mapping[str, Ints] = {
            kind: np.cumsum([0] + [database.size(kind) for database in databases])
            for kind in self.schema.types
        }
        self.arena = Arena()
        self._relations: dict[Predicate, Codes] = {}
        self._values: dict[str, tuple[dict[str, int], NDArray[np.int32]]] = {}
        self._lookups: dict[tuple[Predicate, tuple[int, ...], tuple[int, ...]], Lookup] = {}
        self._found: dict[tuple[Pattern, int, int | None], Found | None] = {}
        self._slots: dict[tuple[int, int], int] = {}

    def beside(self, predicate: Predicate, facts: Codes) -> World:
        """Return a world over the same objects that knows one predicate only, by given facts.

        Its lookups are its own and go with it: what is needed for a moment burdens no one.
        """
        other = World(self.databases)
        other.offsets, other._values = self.offsets, self._values
        other._relations[predicate] = facts
        return other

    def objects(self, kind: str) -> int:
        """Return the number of objects of a type."""
        return int(self.offsets[kind][-1])

    def numbered(self, predicate: Predicate, database: Codes, columns: Codes) -> Codes:
        """Turn atoms given by codes of their databases into rows (database, objects...)."""
        rows = np.empty((predicate.arity + 1, len(database)), np.int32)
        rows[0] = database
        for place, kind in enumerate(predicate.types):
            rows[place + 1] = columns[place] + self.offsets[kind][database]
        return rows

    def relation(self, predicate: Predicate) -> Codes:
        """Return the true facts of a predicate: a row of databases, then one of each argument."""
        if predicate not in self._relations:
            self._relations[predicate] = self._collect(predicate)
        return self._relations[predicate]

    def _collect(self, predicate: Predicate) -> Codes:
        if predicate.name == EQUALS:
            bounds = self.offsets[predicate.types[0]]
            everything = np.arange(bounds[-1], dtype=np.int32)
            numbers = np.repeat(np.arange(len(self.databases), dtype=np.int32), np.diff(bounds))
            return np.stack([numbers, everything, everything])
        facts = [database.facts(predicate.name) for database in self.databases]
        sizes = [columns.shape[1] for columns in facts]
        numbers = np.repeat(np.arange(len(facts), dtype=np.int32), sizes)
        return self.numbered(predicate, numbers, np.concatenate(facts, axis=1))

    def values(self, kind: str) -> tuple[dict[str, int], NDArray[np.int32]]:
        """Return the code of each constant's name, and the code of each object."""
        if kind not in self._values:
            names: dict[str, int] = {}
            codes = [
                names.setdefault(name, len(names))
                for database in self.databases
                for name in database.domains[kind]
            ]
            self._values[kind] = names, np.array(codes, np.int32)
        return self._values[kind]

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
        facts = self.relation(predicate)
        columns = [facts[place + 1] for place in places] or [facts[0]]
        sizes = [self.objects(predicate.types[place]) for place in places]
        sizes = sizes or [len(self.databases)]
        for place in constants:
            names, codes = self.values(predicate.types[place])
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
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
        lengths = np.diff(np.append(first, len(ordered)))
        program = self._store(ordered[first], math.prod(sizes), first, lengths)
        program[NUMBER] = len(columns)
        program[FACTOR : FACTOR + len(columns)] = multipliers
        return Lookup(program, first.astype(np.int32), lengths.astype(np.int32), order)

    def _store(self, keys: Ints, space: int, first: Ints, lengths: Ints) -> Ints:
        """Put the groups into the arena, as a plain array where their keys fill a small space."""
        program = np.zeros(WIDTH, np.int64)
        if space <= max(_MOST_DENSE, 4 * len(keys)):
            groups = np.full(max(space, 1), -1, np.int32)
            groups[keys] = np.arange(len(keys), dtype=np.int32)
            program[SIZE] = space
        else:
            program[HASHED], program[SIZE] = 1, 1 << int(2 * len(keys) + 1).bit_length()
            table_keys, groups = fill_hash(keys, program[SIZE])
            program[HASH_KEYS] = self.arena.add("hash_keys", table_keys)
        program[GROUPS] = self.arena.add("groups", groups)
        program[STARTS] = self.arena.add("starts", first)
        self.arena.add("lengths", lengths)
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
        if key not in self._found:
            self._found[key] = self._find(pattern, bound, slot)
        return self._found[key]

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
        program[NUMBER] -= len(constants)
        for number, place in enumerate(places):
            program[COLUMN + number] = int(pattern.terms[place]) + 1
        for number, place in enumerate(constants):
            code = self.values(pattern.predicate.types[place])[0].get(str(pattern.terms[place]))
            if code is None:
                return None
            program[PLUS] += code * program[FACTOR + program[NUMBER] + number]
        if slot is not None:
            program[SLOTS] = len(self.values(pattern.predicate.types[slot])[0])
            program[CODES] = self._slot(pattern.predicate, lookup, slot)
        return lookup, program

    def _slot(self, predicate: Predicate, lookup: Lookup, slot: int) -> int:
        """Return where the value codes at a place of the lookup's facts start in the arena."""
        key = id(lookup), slot
        if key not in self._slots:
            codes = self.values(predicate.types[slot])[1]
            ordered = codes[self.relation(predicate)[slot + 1][lookup.order]]
            self._slots[key] = self.arena.add("slots", ordered)
        return self._slots[key]
