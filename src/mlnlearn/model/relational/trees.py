"""Trees of tests on features, with a value (or one for each class) at every node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.aggregates import Floats
from mlnlearn.counting.date_parts import calendar_of
from mlnlearn.errors import InputError
from mlnlearn.model.relational.axis import ByName, NameAxis
from mlnlearn.model.relational.evaluate import Values
from mlnlearn.model.relational.features import AnyFeature, Backward, Feature, said_number

LARGEST = float(np.finfo(np.float64).max)
"""A threshold that no number is above: only what is not known passes."""


@dataclass(frozen=True, slots=True)
class Test:
    """Whether a feature is above a threshold, or one of some names.

    Attributes
    ----------
    feature
        What is tested.
    threshold
        Numbers above it pass; None for names.
    names
        The names that pass.
    missing
        Whether a row passes of which the feature is not known.

    Examples
    --------
    >>> print(Test(Feature((Backward("friend", "one", "count"),)), 2.5))
    at least 3 friend by one
    >>> from mlnlearn.model.relational.features import Forward
    >>> ann = Test(Feature((Forward("user"),), "", "Ann"), 0.5)
    >>> ann.sentence(), ann.sentence(holds=False)
    ('its user is Ann', 'its user is not Ann (or not known)')
    """

    feature: AnyFeature
    threshold: float | None = None
    names: tuple[str, ...] = ()
    missing: bool = False

    def holds(self, values: Values) -> NDArray[np.bool_]:
        """Return which rows pass."""
        unknown = np.isnan(values.values)
        if self.threshold is not None:
            return np.where(unknown, self.missing, values.values > self.threshold)
        if values.names is None and self.names and not unknown.all():
            raise InputError(
                f"{self.feature} is a number, and is asked for names", hint="learn the model again"
            )
        wanted = set(self.names)
        names = values.names or ()
        passing = np.array([name in wanted for name in names] + [False])
        known = ~unknown & (values.names is not None)
        codes = np.where(known, values.values, -1).astype(np.int64)
        return np.where(unknown, self.missing, passing[codes])

    def sentence(self, holds: bool = True) -> str:
        """Say the test, or that it fails."""
        text = str(self.feature)
        if self.threshold == LARGEST or (self.threshold is None and not self.names):
            return f"{text} is {'not ' if holds else ''}known"
        if self.threshold is not None and text.startswith(_COUNTED):
            return _counted(text, self.threshold, holds)
        if self.threshold is not None and isinstance(self.feature, Feature) and self._is_name:
            named = replace(self.feature, value=None)
            said = f"{named} is {'' if holds else 'not '}{self.feature.value}"
        elif self.threshold is not None:
            limit = (
                self.feature.shown(self.threshold)
                if isinstance(self.feature, Feature)
                else said_number(self.threshold)
            )
            said = f"{text} {'>' if holds else '≤'} {limit}"
        else:
            said = f"{text} is {self._named(holds)}"
        return f"{said} (or not known)" if self.missing == holds and self._can_miss else said

    @property
    def _is_name(self) -> bool:
        """Whether the feature is that something has a name: of the row, or where links lead."""
        feature = self.feature
        if not isinstance(feature, Feature) or feature.value is None:
            return False
        return not any(isinstance(step, Backward) for step in feature.steps)

    def _named(self, holds: bool) -> str:
        """Say which names pass, or fail; of days and months, which are all known, those that do."""
        feature = self.feature
        calendar = calendar_of(feature.column) if isinstance(feature, Feature) else ()
        if set(self.names) < set(calendar):
            return _any_of([name for name in calendar if (name in self.names) == holds])
        return f"{'' if holds else 'not '}{_any_of(self.names)}"

    @property
    def _can_miss(self) -> bool:
        """Whether the feature can be unknown: counts never are."""
        if not isinstance(self.feature, Feature) or not self.feature.steps:
            return isinstance(self.feature, Feature)
        first = self.feature.steps[0]
        return not (isinstance(first, Backward) and first.aggregate in ("count", "exists", "sum"))

    def __str__(self) -> str:
        return self.sentence()


_COUNTED = ("number of ", "any ")
_SHOWN = 6


def _any_of(names: Sequence[str]) -> str:
    """Say that it may be any of some names.

    Examples
    --------
    >>> _any_of(["Friday", "Saturday", "Sunday"])
    'Friday, Saturday or Sunday'
    """
    if len(names) == 1:
        return names[0]
    if len(names) > _SHOWN + 1:
        return f"{', '.join(names[:_SHOWN])} or {len(names) - _SHOWN} others"
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _counted(text: str, threshold: float, holds: bool) -> str:
    """Say that something is there so many times.

    Examples
    --------
    >>> _counted("number of friends", 2.5, True), _counted("number of friends", 0.5, False)
    ('at least 3 friends', 'no friends')
    """
    what = text.removeprefix("number of ").removeprefix("any ")
    least = int(np.floor(threshold)) + 1
    if least == 1:
        return f"{'some' if holds else 'no'} {what}"
    return f"{'at least' if holds else 'fewer than'} {least} {what}"


@dataclass(frozen=True, slots=True)
class FeatureNode:
    """A node: its values, and where it is no leaf, a test and two nodes below.

    Attributes
    ----------
    values
        What a leaf adds to the score, of each class where there are several; at an inner node, what
        it would add as a leaf.
    test, yes, no
        The test, and where rows go that pass or fail; None at a leaf.
    by_name
        Values for the names of an axis: `values` are then for rows of all other names.
    """

    values: tuple[float, ...]
    test: Test | None = None
    yes: FeatureNode | None = None
    no: FeatureNode | None = None
    by_name: ByName | None = None

    def added(
        self, columns: Mapping[AnyFeature, Values], rows: NDArray[np.integer] | slice
    ) -> Floats:
        """Return what it adds to the scores of rows: one for all, or one each by their names."""
        if self.by_name is None:
            return np.array([self.values])
        names = columns[self.by_name.axis.feature]
        return self.by_name.of_rows(Values(names.values[rows], names.names), *self.values)[:, None]

    def nodes(self) -> Iterator[FeatureNode]:
        """Yield this node and all below."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += [below for below in (node.no, node.yes) if below is not None]

    def scaled(self, by: float) -> FeatureNode:
        """Return the tree with all values multiplied."""
        if by == 1.0:
            return self
        values, named = tuple(by * value for value in self.values), self.by_name
        if named is not None:
            named = replace(named, values=tuple(by * value for value in named.values))
        if self.yes is None or self.no is None:
            return replace(self, values=values, by_name=named)
        yes, no = self.yes.scaled(by), self.no.scaled(by)
        return replace(self, values=values, by_name=named, yes=yes, no=no)

    def leaves(self) -> int:
        """Return the number of leaves."""
        return sum(node.test is None for node in self.nodes())


def features_of(trees: Sequence[FeatureNode]) -> list[AnyFeature]:
    """Return the features that trees test, each once, and that of the axis of their values."""
    found = (node.test.feature for tree in trees for node in tree.nodes() if node.test)
    axis = axis_of(trees)
    return list(dict.fromkeys([*found, *(() if axis is None else (axis.feature,))]))


def axis_of(trees: Sequence[FeatureNode]) -> NameAxis | None:
    """Return the axis of the values of trees; None where there is none."""
    return next((tree.by_name.axis for tree in trees if tree.by_name), None)


def tree_scores(
    tree: FeatureNode, columns: Mapping[AnyFeature, Values], rows: int, outputs: int
) -> Floats:
    """Return what a tree adds for each row, shape (rows, outputs)."""
    scores = np.empty((rows, outputs))
    for node, chosen in routes(tree, columns, rows):
        if node.test is None:
            scores[chosen] = node.added(columns, chosen)
    return scores


def routes(
    tree: FeatureNode, columns: Mapping[AnyFeature, Values], rows: int
) -> Iterator[tuple[FeatureNode, NDArray[np.int64]]]:
    """Yield every node with the rows that come to it."""
    waiting = [(tree, np.arange(rows))]
    while waiting:
        node, chosen = waiting.pop()
        yield node, chosen
        if node.test is not None and node.yes is not None and node.no is not None:
            values = columns[node.test.feature]
            passing = node.test.holds(Values(values.values[chosen], values.names))
            waiting += [(node.no, chosen[~passing]), (node.yes, chosen[passing])]
