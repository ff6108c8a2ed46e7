"""Compiled loops under the binding tables: find facts by key, count them per example.

A *lookup* maps the packed key of some arguments of a predicate to a group of facts. All lookups of
some `Objects` live in a few shared arrays (an *arena*), so that one call can run through any number
of them. How a lookup finds its facts is one record, its *program*. Arrays are made outside the
compiled loops: to make one inside takes longer to compile than the loop.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import inner, njit
from mlnlearn.counting.arrays import Codes, Ints

KEY_PLACES = 16
"""Most key columns that a lookup can have."""
_AT_A_TIME = 1 << 11  # rows whose keys fit in the processor's own memory
_HALVED = 7  # keys among which three halves find one
PROGRAM = np.dtype(
    [
        ("keys", np.int64),  # number of key columns
        ("columns", np.int64, (KEY_PLACES,)),  # which columns of the binding table they are, ...
        ("factors", np.int64, (KEY_PLACES,)),  # ... and what each is multiplied by
        ("offset", np.int64),  # what to add to the key (from constants)
        ("shift", np.int64),  # -1: the key is the group's number; else of so many bits is a bucket
        ("mask", np.int64),  # what is kept of a key beside its bucket
        ("buckets_at", np.int64),  # where its buckets' first groups start in `buckets`, ...
        ("keys_at", np.int64),  # ... and what is kept of its groups' keys in `keys`
        ("single", np.int64),  # whether each group has one fact; if not, ...
        ("ranges_at", np.int64),  # ... where groups' first facts start in `starts`
        ("constants", np.int64),  # constants told apart at an open argument, 0 for none
        ("slots_at", np.int64),  # where the constants' codes of its facts start in `slots`
        ("candidate", np.int64),  # number of its first candidate
    ]
)
"""How a lookup finds facts."""

Programs: TypeAlias = NDArray[np.void]
"""Records of `PROGRAM`."""

ArenaArrays: TypeAlias = tuple[Codes, NDArray[np.integer], Codes, Codes]
"""Where facts are found: buckets, keys, starts, slots."""


@inner
def _search(program, keys, part, first, known):  # type: ignore[no-untyped-def]
    """Put the groups that have some keys into `part`, -1 for none.

    Most of the time goes into waiting for memory, and into wrong guesses of what is there. So where
    buckets begin is read for all rows first, and what is left of a bucket is halved without a
    branch on what was read: then the processor waits for many rows at once.
    """
    shift, mask, last = program.shift, program.mask, np.int64(len(known) - 1)
    if last < 0:
        for at in range(len(part)):
            part[at] = -1
        return
    for at in range(len(part)):
        part[at] = first[np.uint64(keys[at] >> shift)]
    for at in range(len(part)):
        low = part[at]  # one more than that in an empty bucket is no key of it either
        part[at] = low + (known[np.uint64(low if low < last else last)] < keys[at] & mask)
    for at in range(len(part)):
        bucket, key = np.uint64(keys[at] >> shift), keys[at] & mask
        low, end = np.int64(part[at]), np.int64(first[bucket + np.uint64(1)])
        high = end
        while low + _HALVED < high:  # a bucket has few keys, unless they crowd
            middle = (low + high) >> 1
            if known[np.uint64(middle)] < key:
                low = middle + 1
            else:
                high = middle
        for half in (4, 2, 1):
            probe = low + (half - 1)
            value = np.int64(known[np.uint64(probe if probe < last else last)])
            low += half * ((probe < high) & (value < key))
        value = np.int64(known[np.uint64(low if low < last else last)])
        part[at] = low if (low < end) & (value == key) else -1


@inner
def _find(program, columns, arena, keys, found, start):  # type: ignore[no-untyped-def]
    """Put the groups of facts that some rows of a binding table find into `found`, -1 for none.

    The rows are those from `start` on, as many as `keys` has room for; returns where they end.
    """
    buckets, known, starts, _ = arena
    rows = columns.shape[1] - start
    rows = rows if rows < len(keys) else len(keys)
    for at in range(rows):
        keys[at] = program.offset
    for place in range(program.keys):
        column, factor = program.columns[place], program.factors[place]
        for at in range(rows):
            keys[at] += np.int64(columns[column, np.uint64(start + at)]) * factor
    if program.shift < 0:
        first = np.uint64(program.ranges_at)
        for at in range(rows):
            group = first + np.uint64(keys[at])
            some = starts[group + np.uint64(1)] > starts[group]
            found[np.uint64(start + at)] = keys[at] if some else -1
    else:
        part, first = found[start : start + rows], buckets[program.buckets_at :]
        _search(program, keys, part, first, known[program.keys_at :])
    return start + rows


def find_ranges(programs: Programs, columns: Codes, arena: ArenaArrays) -> tuple[Codes, Codes]:
    """Return the first fact that each row of a binding table finds by a program, and how many."""
    first, lengths = (np.empty(columns.shape[1], np.int32) for _ in range(2))
    _find_ranges(programs, columns, arena, np.empty(_AT_A_TIME, np.int64), first, lengths)
    return first, lengths


@njit(cache=True, nogil=True)
def _find_ranges(programs, columns, arena, keys, first, lengths):  # type: ignore[no-untyped-def]
    program, rows = programs[0], columns.shape[1]
    end = np.int64(0)  # a plain 0 has `_find` compiled once more, for the literal
    while end < rows:
        end = _find(program, columns, arena, keys, first, end)
    if program.single:
        for row in range(rows):
            lengths[row] = first[row] >= 0
        return
    known = arena[2][program.ranges_at :]
    for row in range(rows):
        group, many = first[row], 0
        if group >= 0:
            first[row], many = known[group], known[group + 1] - known[group]
        lengths[row] = many


def match_rows(first: Codes, lengths: Codes, order: Codes, total: int) -> tuple[Codes, Codes]:
    """Return so many pairs of a row and a fact that it finds; facts are by their own order.

    Examples
    --------
    >>> first, lengths, order = (np.array(a, np.int32) for a in ([1, 0], [2, 1], []))
    >>> [found.tolist() for found in match_rows(first, lengths, order, 3)]
    [[0, 0, 1], [1, 2, 0]]
    """
    rows, facts = np.empty(total, np.int32), np.empty(total, np.int32)
    _match_rows(first, lengths, order, rows, facts)
    return rows, facts


@njit(cache=True, nogil=True)
def _match_rows(first, lengths, order, rows, facts):  # type: ignore[no-untyped-def]
    filled, own = 0, len(order) == 0
    for row in range(len(first)):
        for place in range(first[row], first[row] + lengths[row]):
            rows[filled], facts[filled] = row, place if own else order[place]
            filled += 1


@njit(cache=True, nogil=True)
def take_into(values, places, found):  # type: ignore[no-untyped-def]
    """Put the values at some places into an array; NumPy would make the places longer first."""
    for at in range(len(places)):
        found[at] = values[np.uint32(places[at])]


def sum_by_example(example: Codes, values: NDArray[np.integer], size: int) -> Ints:
    """Sum the values of each example's rows.

    Examples
    --------
    >>> sum_by_example(np.array([0, 2, 2], np.int32), np.array([1, 2, 3]), 4).tolist()
    [1, 0, 5, 0]
    """
    sums = np.zeros(size, np.int64)
    _add_by_example(example, values, sums)
    return sums


@njit(cache=True, nogil=True)
def _add_by_example(example, values, sums):  # type: ignore[no-untyped-def]
    for row in range(len(example)):
        sums[example[row]] += values[row]


@inner
def _find_hits(program, columns, arena, keys, found, hits):  # type: ignore[no-untyped-def]
    """Find groups, list the rows that find one in `hits`, and return how many do."""
    number, end, rows = 0, np.int64(0), columns.shape[1]
    while end < rows:
        start = end
        end = _find(program, columns, arena, keys, found, start)
        for row in range(start, end):  # without a branch: whether a row hits is hard to guess
            hits[number] = row
            number += found[row] >= 0
    return number


@inner
def _most_counts(program, starts, hits):  # type: ignore[no-untyped-def]
    """Return how many counts a program can have at most."""
    example, found, rows, number = hits
    if program.constants == 0:
        return number
    begin, single = program.ranges_at, program.single
    examples, facts, before = 0, 0, -1
    for place in range(number):
        row = rows[place]
        group, who = found[row], example[row]
        facts += 1 if single else starts[begin + group + 1] - starts[begin + group]
        examples += who != before
        before = who
    many = examples * program.constants
    return facts if facts < many else many


@inner
def _count_rows(program, starts, hits, counted, filled, highest):  # type: ignore[no-untyped-def]
    """Count an example's facts; returns where the counts end, and the highest."""
    example, found, rows, number = hits
    begin, first, single = starts[program.ranges_at :], program.candidate, program.single
    place = 0
    while place < number:
        who, many = example[rows[place]], 0
        while place < number and example[rows[place]] == who:
            group = found[rows[place]]
            many += 1 if single else begin[group + 1] - begin[group]
            place += 1
        highest = many if many > highest else highest
        counted[0, filled], counted[1, filled], counted[2, filled] = first, who, many
        filled += 1
    return filled, highest


@inner
def _count_constants(program, arena, hits, counted, filled, highest, sums, touched):  # type: ignore[no-untyped-def]
    """Count an example's facts for each constant; the same otherwise."""
    example, found, rows, number = hits
    _, _, starts, slots = arena
    # read once: what is written below might be the record, for all that the compiler knows
    begin, codes = starts[program.ranges_at :], slots[program.slots_at :]
    first, single = program.candidate, program.single
    seen = 0
    for place in range(number):
        row = rows[place]
        group = found[row]
        low, high = (group, group + 1) if single else (begin[group], begin[group + 1])
        for at in range(low, high):
            slot = codes[at]
            if sums[slot] == 0:
                touched[seen] = slot
                seen += 1
            sums[slot] += 1
        if place + 1 < number and example[rows[place + 1]] == example[row]:
            continue
        for at in range(seen):
            slot = touched[at]
            many = sums[slot]
            highest = many if many > highest else highest
            counted[0, filled], counted[1, filled] = first + slot, example[row]
            counted[2, filled] = many
            filled += 1
            sums[slot] = 0
        seen = 0
    return filled, highest


@njit(cache=True, nogil=True)
def _count_from(programs, columns, example, arena, scratch, counted, at, number, filled, highest):  # type: ignore[no-untyped-def]
    """Count by programs from `at` on, which has some hits (-1: not known), while there is room.

    Returns the program that has no room, how many hits it has, where counts end, and the highest.
    """
    keys, found, rows, sums, touched = scratch
    while at < len(programs):
        program = programs[at]
        if number < 0:
            number = _find_hits(program, columns, arena, keys, found, rows)
        hits = example, found, rows, number
        if filled + _most_counts(program, arena[2], hits) > counted.shape[1]:
            return at, number, filled, highest
        if program.constants == 0:
            filled, highest = _count_rows(program, arena[2], hits, counted, filled, highest)
        else:
            filled, highest = _count_constants(
                program, arena, hits, counted, filled, highest, sums, touched
            )
        at, number = at + 1, -1
    return at, number, filled, highest


def count_candidates(
    programs: Programs, columns: Codes, example: Codes, arena: ArenaArrays
) -> tuple[Codes, Codes, Codes, bool]:
    """Count, for every candidate and example, the facts that the example's rows find.

    Rows come sorted by example. Returns three parallel arrays (candidate, example, count) without
    zeros, and whether a count went beyond 32 bits.
    """
    rows, most = len(example), int(programs["constants"].max(initial=1))
    keys, found = np.empty(_AT_A_TIME, np.int64), np.empty(rows, np.int32)
    hits, sums = np.empty(rows + 1, np.int64), np.zeros(most, np.int64)
    given = programs, columns, example, arena, (keys, found, hits, sums, np.empty_like(sums))
    counted = np.empty((3, rows + 1024), np.int32)
    at, number, filled, highest = _count_from(*given, counted, 0, -1, 0, 0)
    while at < len(programs):
        larger = np.empty((3, 2 * counted.shape[1]), np.int32)
        larger[:, :filled] = counted[:, :filled]
        counted = larger
        at, number, filled, highest = _count_from(*given, counted, at, number, filled, highest)
    candidates, examples, counts = (array[:filled].copy() for array in counted)
    return candidates, examples, counts, highest > np.iinfo(np.int32).max
