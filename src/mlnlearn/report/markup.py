"""HTML and SVG by functions, so that nothing unescaped gets in."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


class Markup(str):
    """Text that is HTML already; any other text is escaped where it enters a page."""

    __slots__ = ()


def tag(name: str, /, *content: str | None, **attributes: str | float | bool | None) -> Markup:
    """Return an element.

    Underscores in the names of attributes stand for hyphens; a trailing one goes (``class_``).
    Attributes that are None or False are left out.

    Examples
    --------
    >>> tag("p", "x < y", tag("b", "!"), class_="note", hidden=True)
    '<p class="note" hidden>x &lt; y<b>!</b></p>'
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        parts.append(label if value is True else f'{label}="{escape(str(value))}"')
    opening = " ".join(parts)
    if name in ("meta", "input"):
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{join(content)}</{name}>")


def join(content: Iterable[str | None]) -> Markup:
    """Put pieces together, escaping those that are plain text.

    Examples
    --------
    >>> join(["a & b", Markup("<hr>"), None])
    'a &amp; b<hr>'
    """
    return Markup(
        "".join(
            part if isinstance(part, Markup) else escape(part)
            for part in content
            if part is not None
        )
    )


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


def number(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """Return a number as a page shows it.

    Examples
    --------
    >>> number(-0.12345), number(2.0, 1, signed=True), number(float("nan")), number(float("inf"))
    ('−0.123', '+2.0', '–', '∞')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:{'+' if signed else ''},.{digits}f}"
    if float(text.replace(",", "")) == 0.0:
        text = text.replace("-", "")
    return text.replace("-", "−")


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
class Column:
    """A column of a table; words are sorted from A to Z, numbers from the largest down."""

    title: str
    words: bool = False
    hint: str | None = None


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Cell]],
    foot: Iterable[Sequence[Cell]] = (),
    *,
    class_: str = "",
    identity: str | None = None,
) -> Markup:
    """Return a table whose header cells are buttons that sort it.

    Examples
    --------
    >>> text = table("Ages", [Column("age")], [[Cell.of(7.0, 0)]])
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


def _row(columns: Sequence[Column], cells: Sequence[Cell]) -> Markup:
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
