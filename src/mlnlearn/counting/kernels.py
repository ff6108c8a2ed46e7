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
def _find(program, columns, groups, hash_keys, keys, found):  # type: ignore[no-untyped-def]
    """Put the group of facts that each row of a binding table finds into `found`, -1 for none."""
    rows = columns.shape[1]
    keys[:rows] = program.offset
    for place in range(program.keys):
        column, factor = columns[program.columns[place]], program.factors[place]
        for row in range(rows):
            keys[row] += np.int64(column[row]) * factor
    size = program.size
    table = groups[program.groups_at : program.groups_at + size]
    if program.hashed == 0:
        for row in range(rows):
            found[row] = table[keys[row]]
        return
    stored = hash_keys[program.hash_keys_at : program.hash_keys_at + size]
    for row in range(rows):
        key = keys[row]
        place = _place(key, size)
        while table[place] >= 0 and stored[place] != key:
            place = (place + 1) & (size - 1)
        found[row] = table[place]


@njit(cache=True, nogil=True)
def find_groups(programs, columns, groups, hash_keys):  # type: ignore[no-untyped-def]
    """Return, for each row of a binding table, the group of facts that a program finds, or -1."""
    rows = columns.shape[1]
    found = np.empty(rows, np.int32)
    _find(programs[0], columns, groups, hash_keys, np.empty(rows, np.int64), found)
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
    _find(program, columns, groups, hash_keys, keys, found)
    number = 0
    for row in range(columns.shape[1]):  # without a branch: whether a row hits is hard to guess
        hits[number] = row
        number += found[row] >= 0
    return number


@njit(cache=True, inline="always")
def _most_counts(program, size, example, found, hits, number):  # type: ignore[no-untyped-def]
    """Return how many counts a program can have at most."""
    examples, facts = 0, 0
    for place in range(number):
        row = hits[place]
        facts += size[found[row]]
        examples += place == 0 or example[hits[place - 1]] != example[row]
    return min(facts, examples * max(program.constants, 1))


@njit(cache=True, nogil=True)
def count_candidates(  # type: ignore[no-untyped-def]
    programs, columns, example, groups, hash_keys, starts, lengths, slots
):
    """Count, for every candidate and example, the facts that the example's rows find.

    Rows come sorted by example. Returns three parallel arrays (candidate, example, count) without
    zeros, and whether a count went beyond 32 bits.
    """
    rows = len(example)
    keys, found = np.empty(rows, np.int64), np.empty(rows, np.int32)
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
        size, first = lengths[program.ranges_at :], program.candidate
        room = _most_counts(program, size, example, found, hits, number)
        while filled + room > len(counts):
            candidates, examples = _grown(candidates), _grown(examples)
            counts = _grown(counts)
        seen = 0
        for place in range(number):
            row = hits[place]
            group = found[row]
            if program.constants == 0:
                touched[0], seen = 0, 1
                sums[0] += size[group]
            else:
                start = program.slots_at + starts[program.ranges_at + group]
                for slot in slots[start : start + size[group]]:
                    if sums[slot] == 0:
                        touched[seen] = slot
                        seen += 1
                    sums[slot] += 1
            if place + 1 < number and example[hits[place + 1]] == example[row]:
                continue
            for slot in touched[:seen]:
                highest = max(highest, sums[slot])
                candidates[filled] = first + slot
                examples[filled] = example[row]
                counts[filled] = sums[slot]
                filled += 1
                sums[slot] = 0
            seen = 0
    fits = highest <= 2147483647
    return candidates[:filled].copy(), examples[:filled].copy(), counts[:filled].copy(), not fits
