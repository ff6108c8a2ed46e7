"""An argument of a relation as an axis: for each of its names, a node of a tree has a value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.model.relational.evaluate import Values
from mlnlearn.model.relational.features import Feature


@dataclass(frozen=True, slots=True)
class NameAxis:
    """An argument of the target that has few names.

    Attributes
    ----------
    argument
        Its place among the arguments.
    feature
        What reads its name of a row.
    names
        The names that nodes have values for.
    """

    argument: int
    feature: Feature
    names: tuple[str, ...]

    def places(self, values: Values) -> Ints:
        """Return the place of each row's name; what is none of the names comes after them.

        Examples
        --------
        >>> axis = NameAxis(1, Feature((), "genre"), ("Folk", "Rock"))
        >>> axis.places(Values(np.array([1.0, 0.0, np.nan]), ["Jazz", "Rock"])).tolist()
        [1, 2, 2]
        """
        other = len(self.names)
        known = {name: place for place, name in enumerate(self.names)}
        by_code = np.array([*(known.get(name, other) for name in values.names or ()), other])
        found: Ints = by_code[np.where(np.isnan(values.values), -1, values.values).astype(np.int64)]
        return found


@dataclass(frozen=True, slots=True)
class ByName:
    """A value for each name of an axis."""

    axis: NameAxis
    values: tuple[float, ...]

    def of_rows(self, names: Values, other: float) -> Floats:
        """Return the values of rows by their names, and another one where the name is none."""
        return np.array([*self.values, other])[self.axis.places(names)]
