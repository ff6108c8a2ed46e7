"""HTML and SVG by functions, so that nothing unescaped gets in."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape


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


_NOTHING = 1e-9  # what is smaller is round-off


def number(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """Return a number as a page shows it; one too small for its digits is not shown as zero.

    Examples
    --------
    >>> number(-0.12345), number(2.0, 1, signed=True), number(float("nan")), number(float("inf"))
    ('−0.123', '+2.0', '–', '∞')
    >>> number(0.0), number(-0.0000312)
    ('0.000', '−3.1e-05')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:{'+' if signed else ''},.{digits}f}"
    if float(text.replace(",", "")) == 0.0:
        tiny = f"{value:{'+' if signed else ''}.2g}"
        text = text.replace("-", "") if abs(value) < _NOTHING else tiny
    return text.replace("-", "−", 1) if text.startswith("-") else text
