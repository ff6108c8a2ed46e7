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
        ("shift", np.int64),  # -1: the key is the group's number; else of so many bits is a bucket
        ("buckets_at", np.int64),  # where its buckets' first groups start in `buckets`, ...
        ("keys_at", np.int64),  # ... and its groups' keys in `sorted_keys`
        ("ranges_at", np.int64),  # where its groups' first facts start in `starts`
        ("constants", np.int64),  # constants told apart at an open argument, 0 for none
        ("slots_at", np.int64),  # where the constants' codes of its facts start in `slots`
        ("candidate", np.int64),  # number of its first candidate
    ]
)
"""How a lookup finds facts."""


@njit(cache=True)
def first_of_keys(keys, space):  # type: ignore[no-untyped-def]
    """Return, for each number below `space`, the place of its first among sorted keys; then all."""
    first = np.zeros(space + 1, np.int32)
    for at in range(len(keys)):
        first[keys[at] + 1] += 1
    for number in range(space):
        first[number + 1] += first[number]
    return first


@njit(cache=True)
def first_of_buckets(keys, shift, buckets):  # type: ignore[no-untyped-def]
    """Return, for each bucket of sorted keys, the number of its first; then that of all keys."""
    first = np.empty(buckets + 1, np.int32)
    at = 0
    for bucket in range(buckets):
        while at < len(keys) and keys[at] >> shift < bucket:
            at += 1
        first[bucket] = at
    first[buckets] = len(keys)
    return first


@njit(cache=True)
def _find(program, columns, buckets, sorted_keys, starts, keys, found, start):  # type: ignore[no-untyped-def]
    """Put the groups of facts that some rows of a binding table find into `found`, -1 for none.

    The rows are those from `start` on, as many as `keys` has room for; returns where they end.
    """
    end = min(start + len(keys), columns.shape[1])
    keys[:] = program.offset
    for place in range(program.keys):
        column, factor = columns[program.columns[place]][start:end], program.factors[place]
        for at in range(len(column)):
            keys[at] += np.int64(column[at]) * factor
    part = found[start:end]
    shift = program.shift
    if shift < 0:
        first = starts[program.ranges_at :]
        for at in range(len(part)):
            key = np.uint64(keys[at])
            part[at] = keys[at] if first[key + np.uint64(1)] > first[key] else -1
        return end
    first, known = buckets[program.buckets_at :], sorted_keys[program.keys_at :]
    for at in range(len(part)):
        key = keys[at]
        bucket = np.uint64(key >> shift)
        low, high = first[bucket], first[bucket + np.uint64(1)]
        while low + 8 < high:  # a bucket has few keys, unless they crowd
            middle = (low + high) >> 1
            if known[middle] <= key:
                low = middle
            else:
                high = middle
        while low < high and known[low] < key:
            low += 1
        part[at] = low if low < high and known[low] == key else -1
    return end


@njit(cache=True, nogil=True)
def find_ranges(programs, columns, buckets, sorted_keys, starts):  # type: ignore[no-untyped-def]
    """Return the first fact that each row of a binding table finds by a program, and how many."""
    rows = columns.shape[1]
    first, keys = np.empty(rows, np.int32), np.empty(_AT_A_TIME, np.int64)
    end = 0
    while end < rows:
        end = _find(programs[0], columns, buckets, sorted_keys, starts, keys, first, end)
    lengths = np.zeros(rows, np.int32)
    known = starts[programs[0].ranges_at :]
    for row in range(rows):
        group = first[row]
        if group >= 0:
            first[row], lengths[row] = known[group], known[group + 1] - known[group]
    return first, lengths


@njit(cache=True, nogil=True)
def match_rows(first, lengths, order, total):  # type: ignore[no-untyped-def]
    """Return so many pairs of a row and a fact that it finds; facts are by their own order."""
    rows, facts = np.empty(total, np.int32), np.empty(total, np.int32)
    filled, own = 0, len(order) == 0
    for row in range(len(first)):
        for place in range(first[row], first[row] + lengths[row]):
            rows[filled], facts[filled] = row, place if own else order[place]
            filled += 1
    return rows, facts


@njit(cache=True, nogil=True)
def take_into(values, places, found):  # type: ignore[no-untyped-def]
    """Put the values at some places into an array; NumPy would make the places longer first."""
    for at in range(len(places)):
        found[at] = values[np.uint32(places[at])]


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
def _find_hits(program, columns, buckets, sorted_keys, starts, keys, found, hits):  # type: ignore[no-untyped-def]
    """Find groups, list the rows that find one in `hits`, and return how many do."""
    number, end, rows = 0, 0, columns.shape[1]
    while end < rows:
        start = end
        end = _find(program, columns, buckets, sorted_keys, starts, keys, found, start)
        part = found[start:end]
        for at in range(len(part)):  # without a branch: whether a row hits is hard to guess
            hits[number] = start + at
            number += part[at] >= 0
    return number


@njit(cache=True, inline="always")
def _most_counts(program, starts, example, found, hits, number):  # type: ignore[no-untyped-def]
    """Return how many counts a program can have at most."""
    if number == 0:
        return 0
    if program.constants == 0:
        return min(number, example[hits[number - 1]] - example[hits[0]] + 1)
    first = starts[program.ranges_at :]
    examples, facts = 0, 0
    for place in range(number):
        row = hits[place]
        facts += first[found[row] + 1] - first[found[row]]
        examples += place == 0 or example[hits[place - 1]] != example[row]
    return min(facts, examples * program.constants)


@njit(cache=True)
def _count_rows(program, starts, example, found, hits, counted, filled):  # type: ignore[no-untyped-def]
    """Count an example's facts; returns where the counts end, and the highest."""
    candidates, examples, counts = counted
    begin, first = starts[program.ranges_at :], program.candidate
    place, highest = 0, 0
    while place < len(hits):
        who, many = example[hits[place]], 0
        while place < len(hits) and example[hits[place]] == who:
            group = found[hits[place]]
            many += begin[group + 1] - begin[group]
            place += 1
        highest = max(highest, many)
        candidates[filled], examples[filled], counts[filled] = first, who, many
        filled += 1
    return filled, highest


@njit(cache=True)
def _count_constants(program, ranges, example, found, hits, counted, filled, sums, touched):  # type: ignore[no-untyped-def]
    """Count an example's facts for each constant; the same otherwise."""
    candidates, examples, counts = counted
    starts, slots = ranges
    # read once: what is written below might be the record, for all that the compiler knows
    begin = starts[program.ranges_at :]
    codes, first = slots[program.slots_at :], program.candidate
    seen, highest = 0, 0
    for place in range(len(hits)):
        row = hits[place]
        group = found[row]
        for slot in codes[begin[group] : begin[group + 1]]:
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
    programs, columns, example, buckets, sorted_keys, starts, slots
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
        number = _find_hits(program, columns, buckets, sorted_keys, starts, keys, found, hits)
        room = _most_counts(program, starts, example, found, hits, number)
        while filled + room > len(counts):
            candidates, examples = _grown(candidates), _grown(examples)
            counts = _grown(counts)
        rows_of = example, found, hits[:number], (candidates, examples, counts), filled
        if program.constants == 0:
            filled, largest = _count_rows(program, starts, *rows_of)
        else:
            ranges = starts, slots
            filled, largest = _count_constants(program, ranges, *rows_of, sums, touched)
        highest = max(highest, largest)
    fits = highest <= 2147483647
    return candidates[:filled].copy(), examples[:filled].copy(), counts[:filled].copy(), not fits
