"""How data, models and answers look: one line at the prompt, a table in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import TypeAlias

from mlnlearn.errors import shortened

ShownTable: TypeAlias = tuple[Sequence[str], Iterable[Sequence[str]]]
"""Titles of columns, and rows."""
_SHOWN = 20
_LONGEST = 200


class Shown(ABC):
    """Base of what people look at; dataclasses among them are made with ``repr=False``.

    Examples
    --------
    >>> class Basket(Shown):
    ...     def summary(self):
    ...         return "2 fruits"
    ...     def table(self):
    ...         return ("fruit", "weight"), [("apple", "0.2"), ("pear <ripe>", "0.1")]
    >>> Basket()
    <Basket: 2 fruits>
    >>> print(Basket()._repr_html_()[-59:])
    <td>pear &lt;ripe&gt;</td><td>0.1</td></tr></tbody></table>
    """

    @abstractmethod
    def summary(self) -> str:
        """Say in a few words what it is."""

    @abstractmethod
    def table(self) -> ShownTable:
        """Return a table of what it holds, of which the first rows are shown."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {shortened(self.summary(), _LONGEST)}>"

    def _repr_html_(self) -> str:
        titles, rows = self.table()
        rest = iter(rows)
        lines = [_row("td", row) for row in islice(rest, _SHOWN)]
        more = sum(1 for _ in rest)
        if more:
            lines.append(_row("td", [f"… and {more:,} more"]))
        head = f"<caption>{escape(self.summary())}</caption><thead>{_row('th', titles)}</thead>"
        return f"<table>{head}<tbody>{''.join(lines)}</tbody></table>"


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
