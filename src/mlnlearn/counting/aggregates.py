"""Aggregates over the rows that point to an entity, as of a moment: sorted spans and running sums.

Rows of a set are sorted once by the entity they point to, then by their time. What an entity has
seen before a moment is then a *span* of that order, found by binary search, and an aggregate of a
span is read from values that run through each entity's rows: nothing is added up per question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Aggregate = Literal["count", "exists", "sum", "mean", "min", "max", "latest", "since", "mode"]
"""What is said of the rows of a span; `latest` is the last known value, `since` the time from the
last row to the moment of the question, `mode` the most common of codes, the least of several."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The rows of a set, sorted by the entity that they point to and then by time.

    Attributes
    ----------
    order
        The numbers of the rows that point to something, in sorted order.
    starts
        Where the rows of each entity begin in `order`; one more entry than entities.
    times
        The times of the rows in sorted order; None where they have none.

    Examples
    --------
    >>> groups = Groups.of(np.array([1, 0, 1, -1]), 2, np.array([5.0, 1.0, 3.0, 2.0]))
    >>> groups.order.tolist(), groups.starts.tolist()
    ([1, 2, 0], [0, 1, 3])
    """

    order: Ints
    starts: Ints
    times: Floats | None

    @classmethod
    def of(cls, codes: NDArray[np.integer], entities: int, times: Floats | None) -> Groups:
        """Sort rows by what they point to (-1 for nothing) and their time; ties keep their order.

        A row without a time (NaN) is never before any moment: it is left out.
        """
        pointing = codes >= 0 if times is None else (codes >= 0) & ~np.isnan(times)
        rows = np.flatnonzero(pointing)
        if times is not None:
            rows = rows[np.argsort(times[rows], kind="stable")]
        order = rows[np.argsort(codes[rows], kind="stable")]
        starts = np.searchsorted(codes[order], np.arange(entities + 1))
        return cls(order, starts, None if times is None else times[order])

    def spans(self, entities: NDArray[np.integer], moments: Floats | None, until: bool) -> Spans:
        """Return the rows of entities (-1 for none), those before a moment where one is given.

        Parameters
        ----------
        entities, moments
            One of each a question.
        until
            Whether a row at the moment itself counts, too.
        """
        asked = np.asarray(entities, np.int64)
        known = asked >= 0
        safe = np.where(known, asked, 0)
        nothing = len(self.starts) < 2
        start = np.zeros(len(asked), np.int64) if nothing else self.starts[safe]
        stop = start.copy() if nothing else self.starts[safe + 1]
        stop = np.where(known, stop, start)
        if moments is not None and self.times is not None:
            stop = _places(self.times, start, stop, moments, until)
        return Spans(start, stop, self.times, moments)


@dataclass(frozen=True, eq=False)
class Spans:
    """For each question, a range of sorted rows; with the times of rows and questions, if any."""

    start: Ints
    stop: Ints
    times: Floats | None = None
    moments: Floats | None = None

    @property
    def lengths(self) -> Ints:
        """Number of rows of each span."""
        return self.stop - self.start

    def last(self, rows: int) -> Spans:
        """Return the last so many rows of each span."""
        return Spans(np.maximum(self.start, self.stop - rows), self.stop, self.times, self.moments)

    def within(self, seconds: float) -> Spans:
        """Return the rows of each span that are at most so long before the question."""
        if self.times is None or self.moments is None:
            raise ValueError("spans without times have no windows of time")
        start = _places(self.times, self.start, self.stop, self.moments - seconds, False)
        return Spans(start, self.stop, self.times, self.moments)

    def pairs(self) -> tuple[Ints, Ints]:
        """Return the number of the question and the sorted place of the row, for each row of each.

        Examples
        --------
        >>> [part.tolist() for part in Spans(np.array([0, 4]), np.array([2, 5])).pairs()]
        [[0, 0, 1], [0, 1, 4]]
        """
        lengths = self.lengths
        question = np.repeat(np.arange(len(lengths)), lengths)
        before = np.cumsum(lengths) - lengths
        return question, np.arange(len(question)) - before[question] + self.start[question]


def aggregate(values: Floats | None, starts: Ints, spans: Spans, kind: Aggregate) -> Floats:
    """Aggregate sorted values over spans.

    Parameters
    ----------
    values
        A value for each sorted row, NaN where it is unknown; None for the rows themselves.
    starts
        Where each entity's rows begin, as in `Groups`.
    spans
        Which rows.
    kind
        What to say of them. Unknown values are left out; of no value at all, the count is 0, the
        sum is 0, nothing exists, and everything else is unknown (NaN).

    Examples
    --------
    >>> groups = Groups.of(np.array([0, 0, 1]), 3, None)
    >>> spans = groups.spans(np.array([0, 1, 2]), None, False)
    >>> aggregate(np.array([1.0, 3.0, np.nan]), groups.starts, spans, "mean").tolist()
    [2.0, nan, nan]
    >>> aggregate(None, groups.starts, spans, "count").tolist()
    [2.0, 1.0, 0.0]
    """
    if kind == "since":
        return _since(spans)
    if values is None:
        lengths = spans.lengths.astype(np.float64)
        return (lengths > 0).astype(np.float64) if kind == "exists" else lengths
    whole = starts
    if kind in ("count", "exists", "sum", "mean"):
        return _added(values, whole, spans, kind)
    if kind == "latest":
        return _latest(values, whole, spans)
    if kind == "mode":
        return np.asarray(_most_common(values, spans.start, spans.stop), np.float64)
    sign = 1.0 if kind == "max" else -1.0
    return sign * _largest(sign * values, whole, spans)


def _added(values: Floats, starts: Ints, spans: Spans, kind: str) -> Floats:
    known = ~np.isnan(values)
    if kind == "exists":
        known = known & (values != 0.0)
    counts = _sums(known.astype(np.float64), starts, spans)
    if kind == "count":
        return counts
    if kind == "exists":
        return (counts > 0).astype(np.float64)
    sums = _sums(np.where(known, values, 0.0), starts, spans)
    if kind == "sum":
        return sums
    means: Floats = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return means


def _latest(values: Floats, starts: Ints, spans: Spans) -> Floats:
    """Return the last known value of each span, NaN for none."""
    filled = spans.stop > spans.start
    if not len(values):
        return np.full(len(filled), np.nan)
    places = np.empty(len(values), np.int64)
    _carry(values, starts, places)
    last = places[np.where(filled, spans.stop - 1, 0)]
    return np.where(filled & (last >= spans.start), values[last], np.nan)


# Arrays are made here, not in the compiled loops: to make one there takes longer to compile.


def _sums(values: Floats, starts: Ints, spans: Spans) -> Floats:
    """Add up each range; whole histories by sums that run through each entity's rows."""
    running, found = np.zeros(len(values) + 1), np.zeros(len(spans.start))
    _add_up(values, starts, spans.start, spans.stop, running, _firsts(values, starts), found)
    return found


def _largest(values: Floats, starts: Ints, spans: Spans) -> Floats:
    """Return the largest known value of each range, NaN for none."""
    running, found = np.full(len(values), np.nan), np.full(len(spans.start), np.nan)
    _find_largest(values, starts, spans.start, spans.stop, running, _firsts(values, starts), found)
    return found


def _firsts(values: Floats, starts: Ints) -> NDArray[np.bool_]:
    """Tell which rows are the first of an entity."""
    first = np.zeros(len(values) + 1, np.bool_)
    first[starts[:-1]] = True
    return first


def _since(spans: Spans) -> Floats:
    if spans.times is None or spans.moments is None:
        raise ValueError("spans without times do not know how long ago")
    filled = spans.stop > spans.start
    if not len(spans.times):
        return np.full(len(filled), np.nan)
    last = spans.times[np.where(filled, spans.stop - 1, 0)]
    return np.where(filled, spans.moments - last, np.nan)


# Compiled functions carry no annotations: numba infers their types.


@njit(cache=True)
def _places(times, start, stop, moments, until):  # type: ignore[no-untyped-def]
    """Find in each range of sorted times where the moment is: after its equals if `until`."""
    found = np.empty(len(start), np.int64)
    for question in range(len(start)):
        low, high = start[question], stop[question]
        moment = moments[question]
        while low < high:
            middle = (low + high) // 2
            before = times[middle] <= moment if until else times[middle] < moment
            if before:
                low = middle + 1
            else:
                high = middle
        found[question] = low
    return found


@njit(cache=True)
def _most_common(values, start, stop):  # type: ignore[no-untyped-def]
    """Find the most common code of each range, NaN where none is known."""
    largest = -1
    for value in values:
        if value > largest:  # never true of NaN
            largest = int(value)
    counts = np.zeros(largest + 1, np.int64)
    found = np.full(len(start), np.nan)
    for question in range(len(start)):
        most = 0
        for place in range(start[question], stop[question]):
            value = values[place]
            if not np.isnan(value):
                code = int(value)
                counts[code] += 1
                if counts[code] > most or (counts[code] == most and code < found[question]):
                    most, found[question] = counts[code], code
        for place in range(start[question], stop[question]):
            if not np.isnan(values[place]):
                counts[int(values[place])] = 0
    return found


@njit(cache=True)
def _add_up(values, starts, start, stop, running, first, found):  # type: ignore[no-untyped-def]
    for entity in range(len(starts) - 1):
        total = 0.0
        for place in range(starts[entity], starts[entity + 1]):
            total += values[place]
            running[place + 1] = total
    for question in range(len(start)):
        low, high = start[question], stop[question]
        if high <= low:
            continue
        if first[low]:
            found[question] = running[high]
        elif high - low <= 64:  # added up as a reader would, without the round-off of a difference
            total = 0.0
            for place in range(low, high):
                total += values[place]
            found[question] = total
        else:
            found[question] = running[high] - running[low]


@njit(cache=True)
def _carry(values, starts, places):  # type: ignore[no-untyped-def]
    """Put the place that the last known value is from, -1 for none, at each entity's rows."""
    for entity in range(len(starts) - 1):
        last = -1
        for place in range(starts[entity], starts[entity + 1]):
            if not np.isnan(values[place]):
                last = place
            places[place] = last


@njit(cache=True)
def _find_largest(values, starts, start, stop, running, first, found):  # type: ignore[no-untyped-def]
    for entity in range(len(starts) - 1):
        best = np.nan
        for place in range(starts[entity], starts[entity + 1]):
            if not np.isnan(values[place]) and not best >= values[place]:
                best = values[place]
            running[place] = best
    for question in range(len(start)):
        low, high = start[question], stop[question]
        if high <= low:
            continue
        if first[low]:
            found[question] = running[high - 1]
            continue
        best = np.nan
        for place in range(low, high):
            if not np.isnan(values[place]) and not best >= values[place]:
                best = values[place]
        found[question] = best
