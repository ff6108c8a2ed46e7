"""Questions about moments later than the last thing known: what is known then is old."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mlnlearn.counting.examples import RowExamples
from mlnlearn.counting.relational import Floats, Number, Relational, RowSet
from mlnlearn.data.load.task import NAME as TASK

OLD = "years since the last known fact"
"""The column of examples that says how old the latest is that is known."""
YEAR = 365.25 * 86_400.0


def fact_times(view: Relational) -> Floats:
    """Return the moments of all rows but those of a task, each once, rising."""
    found = [rows.times for rows in view if rows.times is not None and rows.name != TASK]
    times: Floats = np.unique(np.concatenate([np.empty(0), *found]))
    known: Floats = times[~np.isnan(times)]
    return known


def overdue(view: Relational, base: RowSet) -> Floats:
    """Return how long after the last known fact each question is, 0 where facts go on after it."""
    times = fact_times(view)
    if base.times is None or not len(times):
        return np.zeros(base.rows)
    late: Floats = np.fmax(base.times - times[-1], 0.0)
    return late


def longest_pause(view: Relational) -> float:
    """Return the longest time from one fact to the next, in the later half of the facts."""
    times = fact_times(view)
    return float(np.diff(times[len(times) // 2 :]).max(initial=0.0))


def seen_earlier(base: RowSet, lag: Floats) -> RowSet:
    """Return rows of which only is known what was so some time before, and how long that is.

    Examples
    --------
    >>> base = RowSet("task", 1, {}, np.array([2 * YEAR]), np.zeros(1, np.int32))
    >>> late = seen_earlier(base, np.array([YEAR]))
    >>> (late.times / YEAR).tolist(), late.columns[OLD].values.tolist()
    ([1.0], [1.0])
    """
    assert base.times is not None
    columns = {**base.columns, OLD: Number(lag / YEAR)}
    return replace(base, columns=columns, times=base.times - lag)


def with_stale_copies(examples: RowExamples, longest: float, seed: int) -> RowExamples:
    """Return examples as they are, and once more each with facts that end some time before.

    Parameters
    ----------
    examples
        With moments.
    longest
        How long before them facts end at most, in seconds; the time is drawn evenly up to it.
    seed
        Of the draw.
    """
    base, number = examples.base, len(examples.label)
    lag = np.random.default_rng([seed, 11]).uniform(0.0, longest, number)
    twice = base.taken(np.tile(np.arange(base.rows), 2))
    late = seen_earlier(twice, np.concatenate([np.zeros(number), lag]))
    label, weight = np.tile(examples.label, 2), np.tile(examples.weight, 2)
    return replace(examples, base=late, label=label, weight=weight)
