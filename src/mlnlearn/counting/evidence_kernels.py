"""Compiled loops that collect what path rules say for the candidates of queries.

A query asks where a link leads from an entity x. What speaks for a candidate y comes as rows (rule,
y, walks): of closed rules, then of rules with constants about x, then of those about y. The rows of
each of the three kinds are summed up alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.counting.walks import END, PATH, WALKS, expand, lower_bound

KINDS = 3
RULE = PATH  # of a row: what walks are found along is the path of a rule
SCALE = 1000.0
_CERTAIN = 0.999
_SEEN = 8  # uses of rules that are summed up alone cost as much as one that is kept


class RuleCounts(NamedTuple):
    """How many pairs of entities rules are right about, and how many their bodies hold of."""

    support: NDArray[np.int64]
    body: NDArray[np.int64]


class ConstantLookup(NamedTuple):
    """Rules with constants by one of their two atoms: its sorted keys, and the other atom."""

    keys: NDArray[np.int64]
    numbers: NDArray[np.int64]
    link: NDArray[Any]
    end: NDArray[Any]


class ConstantLookups(NamedTuple):
    """All rules with constants, as queries find them."""

    by_body: ConstantLookup
    by_head: ConstantLookup
    counts: RuleCounts


class EvidenceRoom(NamedTuple):
    """Arrays as long as there are entities.

    Attributes
    ----------
    walk_stamps
        When walks came by last, and where their row is.
    sums
        What is summed up for each candidate, by kind of rule.
    stamps
        When an entity became a candidate last.
    touched
        The candidates of a query.
    place_of
        Where a candidate stands among them.
    """

    walk_stamps: NDArray[np.int64]
    sums: NDArray[np.float64]
    stamps: NDArray[np.int64]
    touched: NDArray[np.int64]
    place_of: NDArray[np.int64]


@njit(cache=True, nogil=True)
def confidence(support, body, smoothing, least):  # type: ignore[no-untyped-def]
    """Return the confidence of a rule; with too little support to be there it says nothing."""
    return min(support / (body + smoothing), _CERTAIN) if support >= least else 0.0


@njit(cache=True, nogil=True)
def _with_row(rows, count, rule, y):  # type: ignore[no-untyped-def]
    if count == len(rows):
        rows = np.concatenate((rows, np.empty_like(rows)))
    rows[count, RULE], rows[count, END], rows[count, WALKS] = rule, y, 1
    return rows, count + 1


@njit(cache=True, nogil=True)
def _about_source(x, answer, link, edges, by_body, rows, count):  # type: ignore[no-untyped-def]
    """Add a row for c by each rule ``link(x,c) <= body(x,e)`` whose body holds of x."""
    starts, links, ends, _ = edges
    keys, numbers, head_link, head_end = by_body.keys, by_body.numbers, by_body.link, by_body.end
    entities = len(starts) - 1
    for place in range(starts[x], starts[x + 1]):
        step = links[place]
        repeated = place > starts[x] and step == links[place - 1]
        for any_end in range(2):
            if any_end and (repeated or step == link):
                continue
            end = -1 if any_end else ends[place]
            if not any_end and end == answer and step == link:
                continue  # the triple that is taken as unknown
            key = np.int64(step) * (entities + 1) + end + 1
            first = lower_bound(keys, 0, len(keys), key)
            last = lower_bound(keys, first, len(keys), key + 1)
            first = lower_bound(head_link, first, last, link)
            while first < last and head_link[first] == link:
                if head_end[first] != x:
                    rows, count = _with_row(rows, count, numbers[first], head_end[first])
                first += 1
    return rows, count


@njit(cache=True, nogil=True)
def _about_candidates(x, back, relations, edges, by_head, rows, count):  # type: ignore[no-untyped-def]
    """Add a row for y by each rule ``back(y,x) <= body(y,e)`` and y that its body holds of."""
    starts, links, ends, _ = edges
    keys, numbers, body_link, body_end = by_head.keys, by_head.numbers, by_head.link, by_head.end
    key = np.int64(back) * len(starts) + x + 1
    rule = lower_bound(keys, 0, len(keys), key)
    while rule < len(keys) and keys[rule] == key:
        e = body_end[rule]
        if e >= 0:
            turned = (body_link[rule] + relations) % (2 * relations)
            place = lower_bound(links, starts[e], starts[e + 1], turned)
            while place < starts[e + 1] and links[place] == turned:
                if ends[place] != x:
                    rows, count = _with_row(rows, count, numbers[rule], ends[place])
                place += 1
        rule += 1
    return rows, count


@njit(cache=True, nogil=True)
def _touch(y, tick, room, number):  # type: ignore[no-untyped-def]
    """Make an entity a candidate, if it is none yet; returns how many there are."""
    if room.stamps[y] == tick:
        return number
    room.stamps[y] = tick
    room.touched[number] = y
    room.sums[y, :] = 0.0
    return number + 1


@njit(cache=True, nogil=True)
def _sum_up(rows, first, last, kind, counts, bounds, answer, tick, room, number):  # type: ignore[no-untyped-def]
    """Add the rules of one kind to the sums of their candidates: their noisy-or and the surest.

    The rows of a rule stand together. A rule that leads to an answer that is taken as unknown has
    one pair less to its support, whichever candidate it speaks for: it would have been counted so.
    """
    smoothing, least = bounds
    sums = room.sums
    begin = first
    while begin < last:
        rule = rows[begin, RULE]
        stop = begin
        finds_answer = 0
        while stop < last and rows[stop, RULE] == rule:
            if rows[stop, END] == answer:
                finds_answer = 1
            stop += 1
        share = confidence(counts.support[rule] - finds_answer, counts.body[rule], smoothing, least)
        for row in range(begin, stop):
            y = rows[row, END]
            number = _touch(y, tick, room, number)
            sums[y, 2 * kind] -= np.log1p(-share)
            sums[y, 2 * kind + 1] = max(sums[y, 2 * kind + 1], share)
        begin = stop
    return number


@njit(cache=True, nogil=True)
def _features(y, answer, back, edges, sums, shared):  # type: ignore[no-untyped-def]
    """Write the features of a candidate."""
    starts, links, _, _ = edges
    for kind in range(KINDS):
        shared[2 * kind] = np.log1p(-SCALE * np.expm1(-sums[y, 2 * kind]))
        shared[2 * kind + 1] = np.log1p(SCALE * sums[y, 2 * kind + 1])
    less = 1 if y == answer else 0
    first = lower_bound(links, starts[y], starts[y + 1], back)
    last = lower_bound(links, first, starts[y + 1], back + 1)
    shared[2 * KINDS] = np.log1p(last - first - less)
    shared[2 * KINDS + 1] = np.log1p(starts[y + 1] - starts[y] - less)


@njit(cache=True, nogil=True)
def _said(x, answer, links, edges, trie, depth, constants, room, tick, rows, walks, most):  # type: ignore[no-untyped-def]
    """Write the rows of all rules; returns them, where each kind ends, and what was grown."""
    link, back, relations = links
    count, tick, walks, rows = expand(
        x, edges, trie, depth, room.walk_stamps, tick, walks, rows, most
    )
    stops = np.empty(KINDS, np.int64)
    stops[0] = count
    rows, stops[1] = _about_source(x, answer, link, edges, constants.by_body, rows, count)
    rows, stops[2] = _about_candidates(x, back, relations, edges, constants.by_head, rows, stops[1])
    return stops, tick, walks, rows


@njit(cache=True, nogil=True)
def collect(  # type: ignore[no-untyped-def]
    sources,
    answers,
    strangers,
    links,
    edges,
    trie,
    depth,
    closed,
    constants,
    bounds,
    limits,
    before,
    listed,
    room,
    tick,
):
    """Collect the rows and candidates of queries; see `PathEvidence`.

    `limits` are those of walks, and of rows in all and at once; `before` is what was found of the
    queries before: rows, candidates and uses of rules. Ends early where a limit of rows is reached.
    `listed` is -1, or the number that the first rule with constants gets in rows of its own. `room`
    holds arrays as long as there are entities, whose stamps are below `tick`.
    """
    most_walks, most_rows, at_once = limits
    width = 2 * KINDS + 2
    walks = np.empty((1 << 10, depth + 1), np.int32)
    said = np.empty((1 << 10, 3), np.int32)
    rows, row_count = np.empty((1 << 12, 3), np.int32), 0
    candidates, total = np.empty(1 << 12, np.int32), 0
    shared = np.empty((1 << 12, width))
    row_starts = np.zeros(len(sources) + 1, np.int64)
    candidate_starts = np.zeros(len(sources) + 1, np.int64)
    touched, place_of = room.touched, room.place_of
    done, seen = 0, 0
    for query in range(len(sources)):
        if max(row_count, total, seen // _SEEN) >= at_once:
            break
        uses = (before[2] + seen) // _SEEN
        if max(before[0] + row_count, before[1] + total, uses) >= most_rows:
            break
        done += 1
        x, answer = sources[query], answers[query]
        stops, tick, walks, said = _said(
            x, answer, links, edges, trie, depth, constants, room, tick, said, walks, most_walks
        )
        tick += 1
        number = _sum_up(said, 0, stops[0], 0, closed, bounds, answer, tick, room, 0)
        for kind in (1, 2):
            number = _sum_up(
                said,
                stops[kind - 1],
                stops[kind],
                kind,
                constants.counts,
                bounds,
                answer,
                tick,
                room,
                number,
            )
        for k in range(strangers.shape[1]):
            if strangers[query, k] != x:
                number = _touch(strangers[query, k], tick, room, number)
        while total + number > len(candidates):
            candidates = np.concatenate((candidates, np.empty_like(candidates)))
            shared = np.concatenate((shared, np.empty_like(shared)))
        for k in range(number):
            place_of[touched[k]] = k
            candidates[total + k] = touched[k]
            _features(touched[k], answer, links[1], edges, room.sums, shared[total + k])
        total += number
        kept = stops[2] if listed >= 0 else stops[0]
        while row_count + kept > len(rows):
            rows = np.concatenate((rows, np.empty_like(rows)))
        for row in range(kept):
            rows[row_count + row, RULE] = said[row, RULE] + (listed if row >= stops[0] else 0)
            rows[row_count + row, END] = place_of[said[row, END]]
            rows[row_count + row, WALKS] = said[row, WALKS]
        row_count += kept
        seen += stops[2]
        row_starts[query + 1] = row_count
        candidate_starts[query + 1] = total
    return (
        row_starts[: done + 1],
        rows[:row_count],
        candidate_starts[: done + 1],
        candidates[:total].copy(),
        shared[:total].copy(),
        seen,
        tick,
    )
