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
        ("keys_at", np.int64),  # ... and its groups' keys in `low_keys`, or ...
        ("wide", np.int64),  # ... in `keys`, where buckets leave more than 32 bits open
        ("ranges_at", np.int64),  # where groups' first facts start in `starts`; -1: one fact each
        ("constants", np.int64),  # constants told apart at an open argument, 0 for none
        ("slots_at", np.int64),  # where the constants' codes of its facts start in `slots`
        ("candidate", np.int64),  # number of its first candidate
    ]
)
"""How a lookup finds facts."""


@njit(cache=True)
def group_numbers(numbers, space):  # type: ignore[no-untyped-def]
    """Return where each number below `space` begins among them sorted, then all; and their order.

    The order is empty where they are sorted.
    """
    first = np.zeros(space + 1, np.int32)
    is_sorted = True
    for at in range(len(numbers)):
        first[numbers[at] + 1] += 1
        is_sorted &= at == 0 or numbers[at - 1] <= numbers[at]
    for number in range(space):
        first[number + 1] += first[number]
    order = np.empty(0 if is_sorted else len(numbers), np.int32)
    if not is_sorted:
        for at in range(len(numbers)):
            order[first[numbers[at]]] = at
            first[numbers[at]] += 1
        for number in range(space, 0, -1):
            first[number] = first[number - 1]
        first[0] = 0
    return first, order


@njit(cache=True)
def number_of_runs(keys):  # type: ignore[no-untyped-def]
    """Return how many different keys there are; -1 where they are not sorted."""
    runs = np.int64(len(keys) > 0)
    for at in range(1, len(keys)):
        if keys[at] < keys[at - 1]:
            return np.int64(-1)
        runs += keys[at] != keys[at - 1]
    return runs


@njit(cache=True)
def group_keys(keys, shift, buckets, distinct, starts, low):  # type: ignore[no-untyped-def]
    """Return, for each bucket of sorted keys, the number of its first group; then that of all.

    Puts the groups' keys, or what of them is less than a bucket, into `distinct`, and where they
    start into `starts`, unless that has no room.
    """
    first = np.zeros(buckets + 1, np.int32)
    group = -1
    mask = (np.int64(1) << shift) - 1 if low else np.int64(-1)
    for at in range(len(keys)):
        if at and keys[at] == keys[at - 1]:
            continue
        group += 1
        distinct[group] = keys[at] & mask
        first[(keys[at] >> shift) + 1] += 1
        if len(starts):
            starts[group] = at
    if len(starts):
        starts[group + 1] = len(keys)
    for bucket in range(buckets):
        first[bucket + 1] += first[bucket]
    return first


@njit(cache=True)
def _search(keys, part, first, known, shift, mask):  # type: ignore[no-untyped-def]
    """Put the groups that have some keys into `part`, -1 for none.

    Most of the time goes into waiting for memory. So where buckets begin, and their first keys, are
    read for all rows without a branch on what was read: then the processor waits for many at once.
    """
    last = len(known) - 1
    if last < 0:
        part[:] = -1
        return
    for at in range(len(part)):
        part[at] = first[np.uint64(keys[at] >> shift)]
    for at in range(len(part)):
        low = part[at]  # one more than that in an empty bucket is no key of it either
        part[at] = low + (known[min(low, last)] < keys[at] & mask)
    for at in range(len(part)):
        bucket, key = np.uint64(keys[at] >> shift), keys[at] & mask
        low, high = part[at], first[bucket + np.uint64(1)]
        while low + 8 < high:  # a bucket has few keys, unless they crowd
            middle = (low + high) >> 1
            if known[middle] <= key:
                low = middle
            else:
                high = middle
        while low < high and known[low] < key:
            low += 1
        part[at] = low if low < high and known[low] == key else -1


@njit(cache=True)
def _find(program, columns, arena, keys, found, start):  # type: ignore[no-untyped-def]
    """Put the groups of facts that some rows of a binding table find into `found`, -1 for none.

    The rows are those from `start` on, as many as `keys` has room for; returns where they end.
    """
    buckets, low_keys, wide_keys, starts, _ = arena
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
    first = buckets[program.buckets_at :]
    if program.wide:
        _search(keys, part, first, wide_keys[program.keys_at :], shift, np.int64(-1))
    else:
        mask = (np.int64(1) << shift) - 1
        _search(keys, part, first, low_keys[program.keys_at :], shift, mask)
    return end


@njit(cache=True, nogil=True)
def find_ranges(programs, columns, arena):  # type: ignore[no-untyped-def]
    """Return the first fact that each row of a binding table finds by a program, and how many."""
    rows, program = columns.shape[1], programs[0]
    first, keys = np.empty(rows, np.int32), np.empty(_AT_A_TIME, np.int64)
    end = np.int64(0)  # a plain 0 has `_find` compiled once more, for the literal
    while end < rows:
        end = _find(program, columns, arena, keys, first, end)
    lengths = np.zeros(rows, np.int32)
    if program.ranges_at < 0:
        for row in range(rows):
            lengths[row] = first[row] >= 0
        return first, lengths
    known = arena[3][program.ranges_at :]
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
def _find_hits(program, columns, arena, keys, found, hits):  # type: ignore[no-untyped-def]
    """Find groups, list the rows that find one in `hits`, and return how many do."""
    number, end, rows = 0, np.int64(0), columns.shape[1]
    while end < rows:
        start = end
        end = _find(program, columns, arena, keys, found, start)
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
    single = program.ranges_at < 0
    first = starts[max(program.ranges_at, 0) :]
    examples, facts = 0, 0
    for place in range(number):
        row = hits[place]
        facts += 1 if single else first[found[row] + 1] - first[found[row]]
        examples += place == 0 or example[hits[place - 1]] != example[row]
    return min(facts, examples * program.constants)


@njit(cache=True)
def _count_rows(program, starts, example, found, hits, counted, filled):  # type: ignore[no-untyped-def]
    """Count an example's facts; returns where the counts end, and the highest."""
    candidates, examples, counts = counted
    begin, first = starts[max(program.ranges_at, 0) :], program.candidate
    single = program.ranges_at < 0
    place, highest = 0, 0
    while place < len(hits):
        who, many = example[hits[place]], 0
        while place < len(hits) and example[hits[place]] == who:
            group = found[hits[place]]
            many += 1 if single else begin[group + 1] - begin[group]
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
    begin, single = starts[max(program.ranges_at, 0) :], program.ranges_at < 0
    codes, first = slots[program.slots_at :], program.candidate
    seen, highest = 0, 0
    for place in range(len(hits)):
        row = hits[place]
        group = found[row]
        low, high = (group, group + 1) if single else (begin[group], begin[group + 1])
        for slot in codes[low:high]:
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
def count_candidates(programs, columns, example, arena):  # type: ignore[no-untyped-def]
    """Count, for every candidate and example, the facts that the example's rows find.

    Rows come sorted by example. Returns three parallel arrays (candidate, example, count) without
    zeros, and whether a count went beyond 32 bits.
    """
    rows, starts, slots = len(example), arena[3], arena[4]
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
        number = _find_hits(program, columns, arena, keys, found, hits)
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
