"""How often which name occurs in a column: counted here, or at a server that has more rows."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.load.columns import Column


@dataclass(frozen=True, eq=False)
class NameTally:
    """Names of a column with how often they occur.

    Attributes
    ----------
    names
        In the order of the column; where there are very many, maybe only the frequent ones.
    counts
        How many cells hold each.
    distinct
        How many names there are.
    filled
        How many cells are not empty.

    Examples
    --------
    >>> tally = NameTally.of(Column.of(["low", None, "high", "low"]))
    >>> tally.names, tally.counts.tolist(), tally.distinct, tally.filled
    (('low', 'high'), [2, 1], 2, 3)
    """

    names: tuple[str, ...]
    counts: NDArray[np.int64]
    distinct: int
    filled: int

    @property
    def is_complete(self) -> bool:
        """Whether all names are among those here."""
        return len(self.names) == self.distinct

    @classmethod
    def of(cls, column: Column) -> NameTally:
        """Count the names of a column."""
        counts = np.bincount(column.codes[~column.missing], minlength=len(column.names))
        return cls(column.names, counts, len(column.names), int(counts.sum()))


@dataclass(frozen=True, eq=False)
class Whole:
    """What is known of all rows of a table, where those at hand are a sample of them.

    Attributes
    ----------
    rows
        How many there are.
    distinct
        How many names there are in a column, for some columns.
    tallies
        How often they occur, for some columns.
    """

    rows: int
    distinct: abc.Mapping[str, int] = field(default_factory=dict)
    tallies: abc.Mapping[str, NameTally] = field(default_factory=dict)
