"""The tables of pages that studies have written: figures are read from there, never typed again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PageTable:
    """A table of a page.

    Attributes
    ----------
    headings
        Those that it stands under, the outermost first, without the page's title.
    header
        Names of the columns.
    rows
        The cells, without marks of bold print.
    """

    headings: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Place:
    """Where a figure stands.

    Attributes
    ----------
    page
        Name of the page, without its ending.
    headings
        The last of the headings that the table stands under.
    row
        The first cells of the row.
    column
        Name of the column; the first where several have it.
    unit
        What to write behind the figure.
    note
        What is to be known of it.
    """

    page: str
    headings: tuple[str, ...]
    row: tuple[str, ...]
    column: str
    unit: str = ""
    note: str = ""


def tables_of(text: str) -> Iterator[PageTable]:
    r"""Yield the tables of a page.

    Examples
    --------
    >>> page = "# Page\n\n## Part\n\n| a | b |\n|---|---:|\n| x | **1.5** |\n"
    >>> list(tables_of(page))
    [PageTable(headings=('Part',), header=('a', 'b'), rows=(('x', '1.5'),))]
    """
    headings: list[str] = []
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            lines.append(line)
            continue
        if lines:
            header, _, *rows = (_cells(one) for one in lines)
            yield PageTable(tuple(headings), header, tuple(rows))
            lines = []
        if line.startswith("##"):
            level = len(line) - len(line.lstrip("#"))
            headings = [*headings[: level - 2], line.lstrip("#").strip()]


def _cells(line: str) -> tuple[str, ...]:
    parts = line.strip().strip("|").replace("\\|", "\0").split("|")
    return tuple(part.replace("\0", "|").replace("**", "").strip() for part in parts)


class NoPageError(LookupError):
    """A page is not there, since its study has not been run."""


def look_up(folder: Path, place: Place) -> str:
    """Return the figure at a place; an error says what of the place there is not.

    Parameters
    ----------
    folder
        Where pages are.
    place
        Of the figure.
    """
    path = folder / f"{place.page}.md"
    if not path.is_file():
        raise NoPageError(f"the study {place.page} has not been run yet")
    every = list(tables_of(path.read_text(encoding="utf-8")))
    under = [table for table in every if _ends_with(table.headings, place.headings)]
    if not under:
        raise LookupError(f"{path.name} has no table under {' / '.join(place.headings)}")
    with_column = [table for table in under if place.column in table.header]
    if not with_column:
        raise LookupError(f"{path.name}, {place.headings[-1]}: no column {place.column!r}")
    for table in with_column:
        for row in table.rows:
            if row[: len(place.row)] == place.row:
                return row[table.header.index(place.column)]
    raise LookupError(f"{path.name}, {place.headings[-1]}: no row {', '.join(place.row)!r}")


def _ends_with(headings: Sequence[str], last: Sequence[str]) -> bool:
    return tuple(headings[len(headings) - len(last) :]) == tuple(last)
