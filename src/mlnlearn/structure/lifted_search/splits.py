"""Ways to divide the databases into those that weights are fitted to and those they are tested on.

Each database is left out in turn. Besides, for every type of which some databases have many more
objects than the others, weights fitted to the small ones are tested on the large ones, and the
other way round: this tells whether what a clause gains carries over to domains of other sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.weights.objective import Floats


@dataclass(frozen=True, eq=False)
class Splits:
    """Divisions of the databases, one row each.

    Attributes
    ----------
    fitted
        One where weights are fitted to a database, zero where they are tested on it.
    kinds
        The type whose small and large domains a row tells apart; empty where it leaves out one
        database.
    """

    fitted: Floats
    kinds: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def tested(self) -> Floats:
        """One where weights are tested on a database."""
        result: Floats = 1.0 - self.fitted
        return result

    @property
    def left_out(self) -> int:
        """How many rows, the first ones, leave out one database."""
        return self.kinds.count("")

    def rows_of(self, kinds: frozenset[str]) -> list[int]:
        """Return the rows that tell small domains of some types from large ones."""
        return [number for number, kind in enumerate(self.kinds) if kind in kinds]


def no_splits(databases: int) -> Splits:
    """Return no division at all."""
    return Splits(np.zeros((0, databases)), ())


def splits_of(sizes: Sequence[Mapping[str, int]], factor: float | None) -> Splits:
    """Leave out each database, and small or large ones for each type that has both.

    Parameters
    ----------
    sizes
        The number of objects of each type, by database.
    factor
        So many times as many objects as the others must the large ones have; None for no such rows.

    Examples
    --------
    >>> found = splits_of([{"genre": 7}, {"genre": 2}, {"genre": 1}], 2.0)
    >>> found.fitted.tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    >>> found.kinds
    ('', '', '', 'genre', 'genre')
    """
    rows = list(1.0 - np.eye(len(sizes)))
    kinds = [""] * len(rows)
    for kind in sizes[0]:
        if factor is None:
            break
        large = _large(np.array([own[kind] for own in sizes], np.float64), factor)
        if large.any():
            rows += [1.0 - large, large]
            kinds += [kind, kind]
    return Splits(np.array(rows), tuple(kinds))


def _large(sizes: Floats, factor: float) -> Floats:
    """Mark the sizes above the widest gap; none where it is no gap of that factor."""
    ordered = np.unique(np.maximum(sizes, 1.0))
    if len(ordered) < 2:
        return np.zeros(len(sizes))
    gaps = ordered[1:] / ordered[:-1]
    widest = int(np.argmax(gaps))
    if gaps[widest] < factor:
        return np.zeros(len(sizes))
    large: Floats = (sizes >= ordered[widest + 1]).astype(np.float64)
    return large
