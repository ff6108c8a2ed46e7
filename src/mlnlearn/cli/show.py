"""What commands print: tables for people, JSON for programs, complaints on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mlnlearn.errors import shortened, without_secrets

MOST_REMARKS = 20
"""More lines of remarks on the data than this are counted, not shown."""
QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
"""Whether the run of the program is a quiet one; its entry sets it."""

SHOWN = 20
"""Longer tables show so many rows."""
_GAP = 2
_UNWRAPPED = 10_000
_COLOURS = {"error": "red", "warning": "yellow", "note": "blue"}


def complain(kind: str, message: str) -> None:
    """Say on standard error what is wrong: an error, a warning or a note; quiet, without notes."""
    if kind == "note" and is_quiet():
        return
    text = shortened(without_secrets(message))
    typer.echo(f"{typer.style(f'{kind}:', fg=_COLOURS[kind], bold=True)} {text}", err=True)


def print_json(value: Any) -> None:
    """Print one line of JSON, and nothing else, on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def is_quiet() -> bool:
    """Tell whether ``--quiet`` was given: no notes and no progress."""
    return QUIET.get()


def console() -> Console:
    """Return the console for people, as wide as the terminal; in a pipe, nothing is wrapped."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, width=_UNWRAPPED if piped else None)


def heading(text: str) -> Text:
    """Return a line that opens a part of the output."""
    return Text(text, style="bold")


def rules_heading(number: int, more: str = "") -> Text:
    """Return the line above so many rules.

    Examples
    --------
    >>> str(rules_heading(1)), str(rules_heading(1200, " found"))
    ('1 rule', '1,200 rules found')
    """
    return heading(f"{number:,} rule{'s' * (number != 1)}{more}")


def print_table(
    out: Console, titles: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (0,)
) -> None:
    """Print rows; the columns in `words` hold words, the others numbers, aligned on the right.

    Cells are taken as they are, never as markup. Where the terminal is narrow, the last column of
    words wraps first.
    """
    cells = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    last = words[-1]
    room = out.width - sum(widths) - _GAP * (len(widths) - 1) + widths[last]
    longest = max((len(part) for row in cells for part in row[last].split()), default=0)
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for place, title in enumerate(titles):
        grid.add_column(
            title,
            justify="left" if place in words else "right",
            no_wrap=place not in words,
            overflow="fold",
            max_width=room if place == last and room >= longest else None,
        )
    for row in cells:
        grid.add_row(*map(Text, row))
    out.print(grid)


def print_more(out: Console, total: int, hint: str = "--out or --json gives all") -> None:
    """Say how many rows a table does not show, and what has them."""
    if total > SHOWN:
        out.print(f"… and {total - SHOWN:,} more; {hint}")


def share(part: int, whole: int) -> str:
    """Write a fraction as a percentage with two significant digits.

    Examples
    --------
    >>> share(1, 3), share(1, 40_000), share(0, 5), share(0, 0), share(5, 5)
    ('33%', '0.0025%', '0%', '', '100%')
    """
    if not whole:
        return ""
    percent = 100 * part / whole
    return f"{percent:.0f}%" if percent == 0 or percent >= 9.95 else f"{percent:.2g}%"


def spread(numbers: list[int]) -> str:
    """Write the least and the greatest of some numbers.

    Examples
    --------
    >>> spread([28, 72, 49]), spread([3, 3])
    ('28 – 72', '3')
    """
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} – {most:,}"
