"""Compiled loops under the binding tables: find facts by key, count them per example.

A *lookup* maps the packed key of some arguments of a predicate to a group of facts. All lookups of
a `World` live in a few shared arrays (an *arena*), so that one call can run through any number of
them. A lookup is one row of integers, its *program*, whose places have the names below.
"""

from __future__ import annotations

import numpy as np
from numba import njit

KEY_PLACES = 16
"""Most key columns that a program can hold."""
# Places of a program.
NUMBER = 0  # number of key columns
COLUMN = 1  # which columns of the binding table the key is made of, ...
FACTOR = COLUMN + KEY_PLACES  # ... and what each is multiplied by
PLUS = FACTOR + KEY_PLACES  # what to add to the key (from constants)
HASHED = PLUS + 1  # 0: the key is a place in the table; 1: the key is hashed to one
GROUPS = HASHED + 1  # where its groups' table starts in `groups`, ...
SIZE = GROUPS + 1  # ... and its size
STARTS = SIZE + 1  # where its groups start in `starts` and `lengths`
SLOTS = STARTS + 1  # number of constants told apart at an open argument, 0 for none
CODES = SLOTS + 1  # where the constants' codes of its facts start in `slots`
FIRST = CODES + 1  # number of its first candidate
HASH_KEYS = FIRST + 1  # where its hashed keys start in `hash_keys`
WIDTH = HASH_KEYS + 1
"""Length of a program."""


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
    keys[:rows] = program[PLUS]
    for place in range(program[NUMBER]):
        column, factor = columns[program[COLUMN + place]], program[FACTOR + place]
        for row in range(rows):
            keys[row] += np.int64(column[row]) * factor
    size = program[SIZE]
    table = groups[program[GROUPS] : program[GROUPS] + size]
    if program[HASHED] == 0:
        for row in range(rows):
            found[row] = table[keys[row]]
        return
    stored = hash_keys[program[HASH_KEYS] : program[HASH_KEYS] + size]
    for row in range(rows):
        key = keys[row]
        place = _place(key, size)
        while table[place] >= 0 and stored[place] != key:
            place = (place + 1) & (size - 1)
        found[row] = table[place]


@njit(cache=True)
def find_groups(program, columns, groups, hash_keys):  # type: ignore[no-untyped-def]
    """Return, for each row of a binding table, its group of facts, -1 for none."""
    rows = columns.shape[1]
    found = np.empty(rows, np.int32)
    _find(program, columns, groups, hash_keys, np.empty(rows, np.int64), found)
    return found


@njit(cache=True)
def sum_by_example(example, values, size):  # type: ignore[no-untyped-def]
    """Sum the values of each example's rows."""
    sums = np.zeros(size, np.int64)
    for row in range(len(example)):
        sums[example[row]] += values[row]
    return sums


@njit(cache=True)
def _grown(array):  # type: ignore[no-untyped-def]
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
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
    return min(facts, examples * max(program[SLOTS], 1))


@njit(cache=True)
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
    sums = np.zeros(max(1, programs[:, SLOTS].max() if len(programs) else 1), np.int64)
    touched = np.empty(len(sums), np.int64)
    filled, highest = 0, 0
    for program in programs:
        number = _find_hits(program, columns, groups, hash_keys, keys, found, hits)
        size, first = lengths[program[STARTS] :], program[FIRST]
        room = _most_counts(program, size, example, found, hits, number)
        while filled + room > len(counts):
            candidates, examples = _grown(candidates), _grown(examples)
            counts = _grown(counts)
        seen = 0
        for place in range(number):
            row = hits[place]
            group = found[row]
            if program[SLOTS] == 0:
                touched[0], seen = 0, 1
                sums[0] += size[group]
            else:
                start = program[CODES] + starts[program[STARTS] + group]
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
