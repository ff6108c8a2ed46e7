"""What all rows say of a link from one table to another, and a sample that says the same.

A sample is closed upward: the rows that its rows refer to are in the samples of their tables, so
that no link leads nowhere there that leads somewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mlnlearn.counting.sampled_table import SampledTable
from mlnlearn.data.load.guess import MOST_LOST, are_too_many

WITNESSES = 500
"""About how many rows are in a sample to show something, and not by chance."""
_SURE = 4.0
"""Standard deviations beyond which the share of lost links in a sample is not by chance."""


@dataclass(frozen=True)
class SampledLink:
    """Columns of a table that refer to columns of another one, or may do so.

    Attributes
    ----------
    table, columns
        Where the link is.
    target, keys
        Where it leads.
    guessed
        Whether nothing but the cells says that it is one: few of them may then lead nowhere.
    strict
        Whether none may.
    """

    table: SampledTable
    columns: tuple[str, ...]
    target: SampledTable
    keys: tuple[str, ...]
    guessed: bool = False
    strict: bool = False

    @property
    def is_known(self) -> bool:
        """Whether all rows on both sides are in the samples anyway."""
        return self.table.is_whole and self.target.is_whole

    def _compared(self, relation: str, keys: str) -> str:
        """Return the SQL of links: the number of the row, and whether it leads nowhere."""
        names = [self.table.name_of(title) for title in self.columns]
        listed = ", ".join(f"{name} AS k{place}" for place, name in enumerate(names))
        there = ", ".join(
            f"{self.target.name_of(title)} AS k{place}" for place, title in enumerate(self.keys)
        )
        joined = " AND ".join(f"t.k{place} = o.k{place}" for place in range(len(names)))
        return (
            f"(SELECT t.r AS r, o.k0 IS NULL AS lost FROM (SELECT {self.table.row} AS r, {listed} "
            f"FROM {relation} WHERE {self.table.filled(self.columns)}) t LEFT JOIN "
            f"(SELECT DISTINCT {there} FROM {keys} WHERE {self.target.filled(self.keys)}) o "
            f"ON {joined}) c"
        )

    def _counts(self, relation: str, keys: str) -> tuple[int, int]:
        """Return how many links there are, and how many lead nowhere."""
        compared = self._compared(relation, keys)
        lost = "count(CASE WHEN lost THEN 1 END) AS lost"
        answer = self.table.server.fetch(f"SELECT count(*) AS n, {lost} FROM {compared}")
        return int(answer["n"][0]), int(answer["lost"][0])

    def sampled(self) -> tuple[int, int]:
        """Return how many links the sample has, and how many lead nowhere within it."""
        return self._counts(self.table.sample, self.target.sample)

    def lost(self) -> int | None:
        """Return how many links of all rows lead nowhere; None where that is too many for links."""
        filled, lost = self._counts(self.table.sample, self.target.every)
        if self.guessed and filled:
            noise = math.sqrt(MOST_LOST * (1 - MOST_LOST) / filled)
            by_chance = filled * (MOST_LOST + _SURE * noise) + WITNESSES
            if (self.strict and lost) or lost > by_chance:
                return None
        if not self.table.is_whole:
            filled, lost = self._counts(self.table.every, self.target.every)
        too_many = filled and (are_too_many(lost, filled) or (self.strict and lost))
        return None if self.guessed and too_many else lost

    def rows_lost(self) -> str:
        """Return the SQL of the rows whose links lead nowhere."""
        return f"SELECT r FROM {self._compared(self.table.every, self.target.every)} WHERE lost"

    def close(self) -> None:
        """Have the rows join that links of the sample lead to."""
        names = ", ".join(self.table.name_of(title) for title in self.columns)
        keys = ", ".join(self.target.name_of(title) for title in self.keys)
        self.target.want(
            f"SELECT {self.target.row} FROM {self.target.every} WHERE ({keys}) IN (SELECT {names} "
            f"FROM {self.table.sample} WHERE {self.table.filled(self.columns)})"
        )

    def cut_short(self) -> bool:
        """Have links to rows outside the sample lead to one in it; False if that cannot be.

        A long chain of links need not be followed to its end: what matters is that they lead to
        some row.
        """
        if len(self.columns) > 1:
            return False
        name, filled = self.target.name_of(self.keys[0]), self.target.filled(self.keys)
        inside = f"SELECT {name} AS k FROM {self.target.sample} WHERE {filled}"
        every = f"SELECT {name} AS k FROM {self.target.every} WHERE {filled}"
        self.table.repoint(self.columns[0], inside, every)
        return True

    def show(self, lost: int | None) -> None:
        """Have rows join until the sample says of lost links what all rows do.

        Parameters
        ----------
        lost
            What `lost` returned.
        """
        filled, here = self.sampled()
        if lost is None:
            more = 0
            while not (here + more if self.strict else _are_lost(here + more, filled + more)):
                more += 1
            self._want(more, lost=True)
        elif lost and not here:
            self._want(1, lost=True)
        elif self.guessed and filled and are_too_many(here, filled):
            more = math.ceil(here / MOST_LOST) - filled
            self._want(more + are_too_many(here, filled + more), lost=False)

    def _want(self, number: int, *, lost: bool) -> None:
        if not number or self.table.is_whole:
            return
        compared = self._compared(self.table.every, self.target.every)
        inside = f"SELECT {self.table.row} FROM {self.table.sample}"
        self.table.want(
            f"SELECT r FROM {compared} WHERE {'' if lost else 'NOT '}lost AND r NOT IN ({inside}) "
            f"ORDER BY r LIMIT {number}"
        )


def _are_lost(lost: int, filled: int) -> bool:
    return filled > 0 and are_too_many(lost, filled)
