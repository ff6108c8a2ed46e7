"""Compiled loops under the binding tables: find facts by key, count them per example.

A *lookup* maps the packed key of some arguments of a predicate to a group of facts. All lookups of
some `Objects` live in a few shared arrays (an *arena*), so that one call can run through any number
of them. How a lookup finds its facts is one record, its *program*.
"""

from __future__ import annotations

import numpy as np

from mlnlearn.compiled import njit

KEY_PLACES = 16
"""Most key columns that a lookup can have."""
_AT_A_TIME = 1 << 11  # rows whose keys fit in the processor's own memory
PROGRAM = np.dtype(
    [
        ("keys", np.int64),  # number of key columns
        ("columns", np.int64, (KEY_PLACES,)),  # which columns of the binding table they are, ...
        ("factors", np.int64, (KEY_PLACES,)),  # ... and what each is multiplied by
        ("offset", np.int64),  # what to add to the key (from constants)
        ("hashed", np.int64),  # 0: the key is a place in the table; 1: the key is hashed to one
        ("groups_at", np.int64),  # where its groups' table starts in `groups`, ...
        ("size", np.int64),  # ... and its size
        ("ranges_at", np.int64),  # where its groups start in `starts` and `lengths`
        ("constants", np.int64),  # constants told apart at an open argument, 0 for none
        ("slots_at", np.int64),  # where the constants' codes of its facts start in `slots`
        ("candidate", np.int64),  # number of its first candidate
        ("hash_keys_at", np.int64),  # where its hashed keys start in `hash_keys`
    ]
)
"""How a lookup finds facts."""


@njit(cache=True, inline="always")
def _place(key, size):  # type: ignore[no-untyped-def]
    """Hash a key to a place below `size`, a power of two."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(size - 1))


@njit(cache=True)
def fill_hash(keys, size):  # type: ignore[no-untyped-def]
    """Hash distinct keys to their positions, by open addressing; empty places hold -1."""
    table_keys = np.full(size, -1, np.int64)
    groups = np.full(size, -1, np.int32)
    for group in range(len(keys)):
        place = _place(keys[group], size)
        while groups[place] >= 0:
            place = (place + 1) & (size - 1)
        table_keys[place] = keys[group]
        groups[place] = group
    return table_keys, groups


@njit(cache=True)
def _find(program, columns, groups, hash_keys, keys, found, start):  # type: ignore[no-untyped-def]
    """Put the groups of facts that some rows of a binding table find into `found`, -1 for none.

    The rows are those from `start` on, as many as `keys` has room for; returns where they end.
    """
    end = min(start + len(keys), columns.shape[1])
    keys[:] = program.offset
    for place in range(program.keys):
        column, factor = columns[program.columns[place]][start:end], program.factors[place]
        for at in range(len(column)):
            keys[at] += np.int64(column[at]) * factor
    size = program.size
    table = groups[program.groups_at : program.groups_at + size]
    part = found[start:end]
    if program.hashed == 0:
        for at in range(len(part)):
            part[at] = table[np.uint64(keys[at])]
        return end
    stored = hash_keys[program.hash_keys_at : program.hash_keys_at + size]
    for at in range(len(part)):
        key = keys[at]
        place = _place(key, size)
        while table[place] >= 0 and stored[place] != key:
            place = (place + 1) & (size - 1)
        part[at] = table[place]
    return end


@njit(cache=True, nogil=True)
def find_groups(programs, columns, groups, hash_keys):  # type: ignore[no-untyped-def]
    """Return, for each row of a binding table, the group of facts that a program finds, or -1."""
    rows = columns.shape[1]
    found, keys = np.empty(rows, np.int32), np.empty(_AT_A_TIME, np.int64)
    end = 0
    while end < rows:
        end = _find(programs[0], columns, groups, hash_keys, keys, found, end)
    return found


@njit(cache=True, nogil=True)
def sum_by_example(example, values, size):  # type: ignore[no-untyped-def]
    """Sum the values of each example's rows."""
    sums = np.zeros(size, np.int64)
    for row in range(len(example)):
        sums[example[row]] += values[row]
    return sums


@njit(cache=True)
def _grown(array):  # type: ignore[no-untyped-def]
    larger = np.empty(2 * len(array), array.dtype)
    for at in range(len(array)):  # an assignment of slices compiles for seconds
        larger[at] = array[at]
    return larger


@njit(cache=True, inline="always")
def _find_hits(program, columns, groups, hash_keys, keys, found, hits):  # type: ignore[no-untyped-def]
    """Find groups, list the rows that find one in `hits`, and return how many do."""
    number, end, rows = 0, 0, columns.shape[1]
    while end < rows:
        start = end
        end = _find(program, columns, groups, hash_keys, keys, found, start)
        part = found[start:end]
        for at in range(len(part)):  # without a branch: whether a row hits is hard to guess
            hits[number] = start + at
            number += part[at] >= 0
    return number


@njit(cache=True, inline="always")
def _most_counts(program, lengths, example, found, hits, number):  # type: ignore[no-untyped-def]
    """Return how many counts a program can have at most."""
    if number == 0:
        return 0
    if program.constants == 0:
        return min(number, example[hits[number - 1]] - example[hits[0]] + 1)
    size = lengths[program.ranges_at :]
    examples, facts = 0, 0
    for place in range(number):
        row = hits[place]
        facts += size[found[row]]
        examples += place == 0 or example[hits[place - 1]] != example[row]
    return min(facts, examples * program.constants)


@njit(cache=True)
def _count_rows(program, lengths, example, found, hits, counted, filled):  # type: ignore[no-untyped-def]
    """Count an example's facts; returns where the counts end, and the highest."""
    candidates, examples, counts = counted
    size, first = lengths[program.ranges_at :], program.candidate
    place, highest = 0, 0
    while place < len(hits):
        who, many = example[hits[place]], 0
        while place < len(hits) and example[hits[place]] == who:
            many += size[found[hits[place]]]
            place += 1
        highest = max(highest, many)
        candidates[filled], examples[filled], counts[filled] = first, who, many
        filled += 1
    return filled, highest


@njit(cache=True)
def _count_constants(program, ranges, example, found, hits, counted, filled, sums, touched):  # type: ignore[no-untyped-def]
    """Count an example's facts for each constant; the same otherwise."""
    candidates, examples, counts = counted
    starts, lengths, slots = ranges
    # read once: what is written below might be the record, for all that the compiler knows
    size, begin = lengths[program.ranges_at :], starts[program.ranges_at :]
    codes, first = slots[program.slots_at :], program.candidate
    seen, highest = 0, 0
    for place in range(len(hits)):
        row = hits[place]
        group = found[row]
        for slot in codes[begin[group] : begin[group] + size[group]]:
            if sums[slot] == 0:
                touched[seen] = slot
                seen += 1
            sums[slot] += 1
        if place + 1 < len(hits) and example[hits[place + 1]] == example[row]:
            continue
        for slot in touched[:seen]:
            highest = max(highest, sums[slot])
            candidates[filled] = first + slot
            examples[filled] = example[row]
            counts[filled] = sums[slot]
            filled += 1
            sums[slot] = 0
        seen = 0
    return filled, highest


@njit(cache=True, nogil=True)
def count_candidates(  # type: ignore[no-untyped-def]
    programs, columns, example, groups, hash_keys, starts, lengths, slots
):
    """Count, for every candidate and example, the facts that the example's rows find.

    Rows come sorted by example. Returns three parallel arrays (candidate, example, count) without
    zeros, and whether a count went beyond 32 bits.
    """
    rows = len(example)
    keys, found = np.empty(_AT_A_TIME, np.int64), np.empty(rows, np.int32)
    hits = np.empty(rows + 1, np.int64)
    candidates = np.empty(rows + 1024, np.int32)
    examples, counts = np.empty_like(candidates), np.empty_like(candidates)
    most = 1
    for program in programs:
        most = max(most, program.constants)
    sums = np.zeros(most, np.int64)
    touched = np.empty(len(sums), np.int64)
    filled, highest = 0, 0
    for program in programs:
        number = _find_hits(program, columns, groups, hash_keys, keys, found, hits)
        room = _most_counts(program, lengths, example, found, hits, number)
        while filled + room > len(counts):
            candidates, examples = _grown(candidates), _grown(examples)
            counts = _grown(counts)
        rows_of = example, found, hits[:number], (candidates, examples, counts), filled
        if program.constants == 0:
            filled, largest = _count_rows(program, lengths, *rows_of)
        else:
            ranges = starts, lengths, slots
            filled, largest = _count_constants(program, ranges, *rows_of, sums, touched)
        highest = max(highest, largest)
    fits = highest <= 2147483647
    return candidates[:filled].copy(), examples[:filled].copy(), counts[:filled].copy(), not fits
