"""Every figure of the tables of the five papers, once, as printed in ``published.txt``.

Studies take what they compare with from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

NOTHING = "–"
"""Stands where the paper has no figure."""


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper.

    Attributes
    ----------
    paper, number
        Which paper (a name in `PAPERS`), and the table's number there.
    about
        What its figures are.
    columns
        Their names.
    rows
        By name, the cells as printed.
    """

    paper: str
    number: str
    about: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]

    def cell(self, row: str, column: str) -> str:
        """Return a figure as printed."""
        return self.rows[row][self.columns.index(column)]

    def figures(self) -> list[tuple[str, str, str]]:
        """Return row, column and text of all cells that have a figure."""
        return [
            (row, column, text)
            for row, cells in self.rows.items()
            for column, text in zip(self.columns, cells, strict=True)
            if text != NOTHING
        ]


PAPERS = {
    "khot2011": "Khot, Natarajan, Kersting and Shavlik (2011), boosting of Markov logic networks",
    "dinh2011": "Dinh, Exbrayat and Vrain (2011), a graph of predicates (GSLP)",
    "khosravi2012": "Khosravi, Schulte and Hu (2012), compact networks by decision trees",
    "khot2012": "Khot, Natarajan, Kersting and Shavlik (2012), structural EM",
    "vanhaaren2015": "Van Haaren, Van den Broeck, Meert and Davis (2015), lifted learning (LSL)",
}


@cache
def tables() -> dict[tuple[str, str], PublishedTable]:
    """Return all tables with figures by paper and number.

    Examples
    --------
    >>> tables()["khot2011", "II"].cell("LHL", "time")
    '37.2 s'
    """
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    found = [_read(part.strip().splitlines()) for part in text.split("\n# ")[1:]]
    return {(table.paper, table.number): table for table in found}


def figure(text: str) -> float:
    """Return the number that a printed cell begins with.

    Examples
    --------
    >>> figure("0.790±0.06"), figure("18.4 s")
    (0.79, 18.4)
    """
    return float(text.replace("±", " ").replace(",", "").split()[0])


def _read(lines: Sequence[str]) -> PublishedTable:
    (paper, number, about), header, *rows = ([c.strip() for c in x.split("|")] for x in lines)
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"{paper}, table {number}, {row[0]}: {len(row)} cells")
    cells = {row[0]: tuple(row[1:]) for row in rows}
    return PublishedTable(paper, number, about, tuple(header[1:]), cells)
