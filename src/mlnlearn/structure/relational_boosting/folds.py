"""Which examples are held out to find the number of steps."""

from __future__ import annotations

import numpy as np

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.counting.examples import RowExamples

_SMALL, _LARGE = 3_000, 20_000
_HELD_OUT = 0.2
_FOLDS = 5


def held_out(examples: RowExamples, rows: Ints, seed: int) -> list[Ints]:
    """Return the examples held out in each of some folds.

    What comes later is predicted from what came before, so where examples have times, the last
    ones are held out; where there are several databases, whole databases; else a random part, by
    turns where examples are few.

    Parameters
    ----------
    examples
        All examples.
    rows
        Those with a label.
    seed
        Of the random choice.
    """
    times, part = examples.base.times, examples.base.part[rows]
    if times is not None and len(np.unique(times[rows])) > 1:
        edge = np.quantile(times[rows], 1 - _HELD_OUT)
        late = rows[times[rows] > edge]
        if len(late):
            return [late]
    rng = np.random.default_rng([seed, 7])
    parts = np.unique(part)
    if len(parts) > 2:
        sizes = np.bincount(part)
        order = parts[np.argsort(-sizes[parts], kind="stable")]
        fold = np.zeros(part.max() + 1, np.int64)
        fold[order] = np.arange(len(order)) % _FOLDS
        return [rows[fold[part] == number] for number in range(min(_FOLDS, len(parts)))]
    dealt = _dealt(examples.label[rows], len(examples.classes) > 0, rng)
    if len(rows) <= _SMALL:
        return [rows[dealt % _FOLDS == number] for number in range(_FOLDS)]
    if len(rows) <= _LARGE:
        return [rows[dealt % _FOLDS == number] for number in range(2)]
    return [rows[dealt % _FOLDS == 0]]


def _dealt(label: Floats, classes: bool, rng: np.random.Generator) -> Ints:
    """Deal out examples in random order, class by class: each fold gets its share of each."""
    order = rng.permutation(len(label))
    if classes:
        order = order[np.argsort(label[order], kind="stable")]
    dealt = np.empty(len(label), np.int64)
    dealt[order] = np.arange(len(label))
    return dealt
