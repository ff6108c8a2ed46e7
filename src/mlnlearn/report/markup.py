"""Tables and data of the page, made from pieces of HTML."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from mlnlearn.model.markup import Markup, join, number, tag

__all__ = ["Cell", "Markup", "TableColumn", "join", "json_script", "number", "table", "tag"]


def json_script(identity: str, data: Any) -> Markup:
    r"""Return data for scripts, written so that no text in it can end the element.

    Examples
    --------
    >>> json_script("data", ["</script>"])
    '<script type="application/json" id="data">["\\u003c/script\\u003e"]</script>'
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(f'<script type="application/json" id="{escape(identity)}">{text}</script>')


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: what it shows, and what its column is sorted by."""

    shown: str
    value: float | str | None = None

    @classmethod
    def of(cls, value: float | None, digits: int = 3) -> Cell:
        """Return the cell of a number.

        Examples
        --------
        >>> Cell.of(0.25)
        Cell(shown='0.250', value=0.25)
        """
        known = value is not None and not math.isnan(value)
        return cls(number(value, digits), value if known else "")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table; words are sorted from A to Z, numbers from the largest down."""

    title: str
    words: bool = False
    hint: str | None = None


def table(
    caption: str,
    columns: Sequence[TableColumn],
    rows: Iterable[Sequence[Cell]],
    foot: Iterable[Sequence[Cell]] = (),
    *,
    class_: str = "",
    identity: str | None = None,
) -> Markup:
    """Return a table whose header cells are buttons that sort it.

    Examples
    --------
    >>> text = table("Ages", [TableColumn("age")], [[Cell.of(7.0, 0)]])
    >>> '<td class="n" data-v="7.0" data-t="age">7</td>' in text
    True
    """
    heads = [
        tag(
            "th",
            tag("button", column.title, type="button", title=column.hint),
            scope="col",
            aria_sort="none",
            class_=None if column.words else "n",
            data_words=column.words,
        )
        for column in columns
    ]
    whole = tag(
        "table",
        tag("caption", caption, class_="hidden"),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *(_row(columns, row) for row in rows)),
        tag("tfoot", *(_row(columns, row) for row in foot)),
        class_=f"sortable {class_}".strip(),
        id=identity,
    )
    return tag("div", whole, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _row(columns: Sequence[TableColumn], cells: Sequence[Cell]) -> Markup:
    shown = (
        tag(
            "td",
            cell.shown,
            class_=None if column.words else "n",
            data_v=cell.shown if cell.value is None else cell.value,
            data_t=column.title,
        )
        for column, cell in zip(columns, cells, strict=True)
    )
    return tag("tr", *shown)
