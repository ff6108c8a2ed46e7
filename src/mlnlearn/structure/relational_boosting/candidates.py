"""Which features there are: paths along links, and what can be said at their ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

import numpy as np

from mlnlearn.counting.aggregates import Aggregate
from mlnlearn.counting.relational import (
    NAME,
    Column,
    Link,
    Nominal,
    Number,
    Place,
    Relational,
    RowSet,
)
from mlnlearn.data.load.reading import MANY_NAMES
from mlnlearn.data.load.task import NAME as TASK
from mlnlearn.model.relational.evaluate import Evaluator
from mlnlearn.model.relational.features import (
    AnyFeature,
    Backward,
    Both,
    Feature,
    Forward,
    Step,
    Unit,
    Where,
)

_FEW_NAMES = 12
_WHERE_STEPS, _WHERES = 2, 200  # of paths to rows that have a name, and features of each
_LAST = (3, 10)
_TOGETHER = 60  # most pairs of features with names
_GAPS = (4.0, 32.0)
_OWN_LINKS, _OWN_BACKWARD, _OWN_PATHS = 4, 2, 200  # to rows whose labels are read


@dataclass(frozen=True)
class LinkPath:
    """Steps from an example, without aggregates yet (backward ones say ``"count"``).

    Attributes
    ----------
    steps
        The steps.
    end
        The row set that they lead to.
    """

    steps: tuple[Step, ...]
    end: str

    @property
    def backward(self) -> int:
        """Number of backward steps."""
        return sum(isinstance(step, Backward) for step in self.steps)


Said: TypeAlias = tuple[tuple[Aggregate, int | None, float | None], Aggregate]
"""An innermost aggregate with its window, and the aggregate of all steps before it."""


def extended(view: Relational, base: RowSet, path: LinkPath | None) -> Iterator[LinkPath]:
    """Yield the paths with one step more; None for those of the first step."""
    yield from forward(view, base, path)
    here = base if path is None else view[path.end]
    steps = () if path is None else path.steps
    if path is None and base.name not in view.row_sets:
        return
    if path is None and not _is_entity(view, base):
        return
    for rows, link in view.pointing[here.name]:
        if rows == TASK:
            continue  # which questions are asked is no fact
        yield LinkPath((*steps, Backward(rows, link, "count")), rows)


def forward(view: Relational, base: RowSet, path: LinkPath | None) -> Iterator[LinkPath]:
    """Yield the paths with one step more to what a row links to."""
    here = base if path is None else view[path.end]
    steps = () if path is None else path.steps
    last = steps[-1] if steps else None
    for name, column in here.links.items():
        came = isinstance(last, Backward) and last.link == name
        if not came:
            yield LinkPath((*steps, Forward(name)), column.to)


def _is_entity(view: Relational, base: RowSet) -> bool:
    """Whether the rows of the base are those of its row set: candidates for rows are not."""
    return base.name in view.row_sets and view[base.name].rows == base.rows


def lookups(view: Relational, base: RowSet, path: LinkPath | None) -> Iterator[LinkPath]:
    """Yield the longer paths that end with a link to one of a few rows, as good as a value."""
    for longer in () if path is None else forward(view, base, path):
        if view[longer.end].rows <= MANY_NAMES:
            yield longer


def features_at(path: LinkPath | None, evaluator: Evaluator, base: RowSet) -> Iterator[Feature]:
    """Yield the features that end at a path: of each column, and of the rows themselves."""
    view = evaluator.data
    here = base if path is None else view[path.end]
    steps = () if path is None else path.steps
    if path is not None and path.backward:
        for said in _of_rows(path, evaluator):
            unit: Unit = "age" if said[0][0] == "since" else ""
            yield Feature(_with(steps, said), unit=unit)
    for name, column in here.columns.items():
        # who it is says nothing of those who come later
        if isinstance(column, Link) or (name == NAME and (not steps or evaluator.timed)):
            continue
        unit = _unit(column, evaluator)
        if path is None or not path.backward:
            yield Feature(steps, name, unit=unit)
        elif isinstance(column, Number):
            for said in _of_numbers(path, evaluator):
                if unit and said[0][0] == "sum":
                    continue  # moments do not add up
                yield Feature(_with(steps, said), name, unit=unit)
        else:
            yield from _of_names(path, evaluator, name, column)
    if path is None or not path.backward:
        for name, part in here.dated.items():
            if not part.is_span:
                yield Feature(steps, name)
            elif path is None and not evaluator.timed:  # else times are ages anyway
                yield Feature(steps, name, unit="age")


def features_where(path: LinkPath, evaluator: Evaluator, least: int) -> Iterator[Feature]:
    """Yield what is said of numbers of those rows that have a name: of the tests of one kind, say.

    The name is one of a few, in a column of the rows that a step backward leads to, or of what
    they link to.

    Parameters
    ----------
    path, evaluator
        A path, and the data.
    least
        Fewest rows that have a name.
    """
    if path.backward != 1 or len(path.steps) > _WHERE_STEPS:
        return
    view, step = evaluator.data, _innermost(path)
    timed, single = _history(path, evaluator)
    if single:
        return
    numbers = [
        (name, unit)
        for name, column in view[path.end].columns.items()
        if isinstance(column, Number)
        for unit in [_unit(column, evaluator)]
    ]
    wheres = _wheres(view, view[step.rows], step.link, least) if numbers else ()
    kinds: tuple[Aggregate, ...] = ("mean", "max", "min", "latest" if timed else "sum")
    every = (
        Feature(
            _with_where(path.steps, replace(step, aggregate=kind, where=where)), name, unit=unit
        )
        for where in wheres
        for name, unit in numbers
        for kind in kinds
        if not (unit and kind == "sum")  # moments do not add up
    )
    wanted = (feature for feature in every if not evaluator.reads_own(feature))
    yield from islice(wanted, _WHERES)


def _wheres(view: Relational, rows: RowSet, by: str, least: int) -> Iterator[Where]:
    """Yield names that enough rows have, in columns of their own and behind a link."""
    ends = [((), rows, np.arange(rows.rows))] + [
        ((name,), view[link.to], link.codes) for name, link in rows.links.items() if name != by
    ]
    for links, end, places in ends:
        for name, column in end.columns.items():
            if not isinstance(column, Nominal) or not 2 <= len(column.names) <= _FEW_NAMES:
                continue
            codes = np.append(column.codes, -1)[places]
            counts = np.bincount(codes[codes >= 0], minlength=len(column.names))
            for code in np.flatnonzero(counts >= least).tolist():
                yield Where(links, name, column.names[code])


def _with_where(steps: tuple[Step, ...], step: Backward) -> tuple[Step, ...]:
    """Put a step backward in place of the one that there is."""
    return tuple(step if isinstance(one, Backward) else one for one in steps)


def own_features(evaluator: Evaluator, base: RowSet, home: Place) -> Iterator[Feature]:
    """Yield features that read a column of other rows, by way of one or two relations.

    Facts that link two entities are rows of their own, so that what is near may be four links away.
    """
    view = evaluator.data
    level: Sequence[LinkPath | None] = [None]
    for _ in range(_OWN_LINKS):
        every = (path for before in level for path in extended(view, base, before))
        level = list(islice((p for p in every if p.backward <= _OWN_BACKWARD), _OWN_PATHS))
        for path in level:
            if path is not None and path.end == home.row_set and path.backward:
                for feature in features_at(path, evaluator, base):
                    if feature.column == home.column:
                        yield feature


def named_together(features: Sequence[AnyFeature]) -> Iterator[Both]:
    """Yield pairs of features with names: what a possible row is of, with what its links tell.

    Whether a person has an interest depends on the interest and on the person: each pair of their
    names has a rate of its own.

    Parameters
    ----------
    features
        Features that have names.
    """
    plain = [
        feature
        for feature in features
        if isinstance(feature, Feature) and all(isinstance(s, Forward) for s in feature.steps)
    ]
    own = [f for f in plain if not f.steps or (len(f.steps) == 1 and f.column == NAME)]
    pairs = [
        Both(first, second)
        for first in own
        for second in plain
        if second not in own and _root(first) != _root(second)
    ]
    yield from pairs[:_TOGETHER]


def _root(feature: Feature) -> str | None:
    """Return the column of the example that a feature begins at."""
    first = feature.steps[0] if feature.steps else None
    return first.link if first is not None else feature.column


def _unit(column: Column, evaluator: Evaluator) -> Unit:
    """Return what numbers of a column are: seen from a moment, times are ages."""
    if not isinstance(column, Number) or not column.is_time:
        return ""
    return "age" if evaluator.timed else "moment"


def _of_rows(path: LinkPath, evaluator: Evaluator) -> Iterator[Said]:
    """Yield what is said of rows that come at the end of a path."""
    last = path.steps[-1]
    if not isinstance(last, Backward):
        return
    timed, single = _history(path, evaluator)
    outer: Sequence[Aggregate] = ("mean", "sum", "max") if path.backward > 1 else ("mean",)
    for above in outer:
        yield ("count", None, None), above
    if timed:
        yield ("since", None, None), "mean"
        for seconds in () if single else _windows(last, evaluator):
            yield ("count", None, seconds), "mean"


def _of_numbers(path: LinkPath, evaluator: Evaluator) -> Iterator[Said]:
    timed, single = _history(path, evaluator)
    if single:
        yield ("mean", None, None), "mean"
        return
    yield ("mean", None, None), "mean"
    yield ("min", None, None), "min"
    yield ("max", None, None), "max"
    yield ("sum", None, None), "sum"
    if timed:
        yield ("latest", None, None), "mean"
        for rows in _LAST:
            yield ("mean", rows, None), "mean"
        for seconds in _windows(_innermost(path), evaluator):
            yield ("mean", None, seconds), "mean"


def _of_names(
    path: LinkPath, evaluator: Evaluator, name: str, column: Nominal
) -> Iterator[Feature]:
    timed, single = _history(path, evaluator)
    few = name != NAME or len(column.names) <= _FEW_NAMES
    if len(column.names) > 2 and evaluator.reads_own(Feature(path.steps, name)):
        yield Feature(_with(path.steps, (("mode", None, None), "mode")), name)
    if path.backward == 1 and (timed or single) and few:
        yield Feature(_with(path.steps, (("latest", None, None), "mean")), name)
    if (single and path.backward == 1) or name == NAME or len(column.names) > _FEW_NAMES:
        return
    values = column.names[1:] if len(column.names) == 2 else column.names
    for value in values:
        yield Feature(_with(path.steps, (("mean", None, None), "mean")), name, value)
        yield Feature(_with(path.steps, (("sum", None, None), "sum")), name, value)
        for rows in _LAST if timed and not single else ():
            yield Feature(_with(path.steps, (("mean", rows, None), "mean")), name, value)


def _with(steps: tuple[Step, ...], said: Said) -> tuple[Step, ...]:
    """Say an aggregate at the innermost backward step and another at those before it."""
    (kind, last, within), above = said
    found: list[Step] = []
    innermost = True
    for step in reversed(steps):
        if isinstance(step, Backward):
            inner = replace(step, aggregate=kind, last=last, within=within)
            found.append(inner if innermost else replace(step, aggregate=above))
            innermost = False
        else:
            found.append(step)
    return tuple(reversed(found))


def _innermost(path: LinkPath) -> Backward:
    return next(step for step in reversed(path.steps) if isinstance(step, Backward))


def _history(path: LinkPath, evaluator: Evaluator) -> tuple[bool, bool]:
    """Return whether the innermost rows have times that count, and whether each has but one."""
    step = _innermost(path)
    groups = evaluator.groups(step.rows, step.link)
    single = bool(np.diff(groups.starts).max(initial=0) <= 1)
    return evaluator.timed and groups.times is not None, single


def _windows(step: Backward, evaluator: Evaluator) -> list[float]:
    """Return spans of time in which some rows come, by the usual time from one to the next."""
    groups = evaluator.groups(step.rows, step.link)
    if groups.times is None or len(groups.times) < 2:
        return []
    gaps = np.diff(groups.times)
    inside = np.ones(len(gaps), np.bool_)
    cuts = groups.starts[1:-1]
    inside[cuts[(cuts > 0) & (cuts <= len(gaps))] - 1] = False
    gaps = gaps[inside & (gaps > 0)]
    if not len(gaps):
        return []
    usual = float(np.median(gaps))
    return [float(f"{usual * many:.2g}") for many in _GAPS]
