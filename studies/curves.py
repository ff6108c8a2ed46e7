"""Curves for result pages: one SVG file, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mlnlearn.files import write_files
from mlnlearn.report.markup import Markup, tag
from mlnlearn.report.plots import Axis

_WIDTH, _HEIGHT = 640, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 96, 40, 50
_COLOURS = ("#0b6fb8", "#c8500a", "#2b8a4b", "#8a4ba0")
_APART = 16.0


def draw_curves(
    path: Path, title: str, across: str, up: str, curves: Mapping[str, Sequence[float]]
) -> None:
    """Draw curves over 0, 1, 2, … and write the picture.

    Parameters
    ----------
    path
        The file.
    title
        Stands above.
    across, up
        The titles of the axes.
    curves
        By name, the values; each name stands at the end of its curve.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "plot.svg"
    ...     draw_curves(file, "Growth", "steps", "height", {"tree": [0.0, 1.0, 3.0]})
    ...     file.read_text().count("<path")
    1
    """
    longest = max(len(values) for values in curves.values())
    x = Axis.around(across, [0, longest - 1], whole=True)
    y = Axis.around(up, [value for values in curves.values() for value in values])
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def place_x(value: float) -> float:
        return _LEFT + (value - x.low) / (x.high - x.low) * (right - _LEFT)

    def place_y(value: float) -> float:
        return bottom - (value - y.low) / (y.high - y.low) * (bottom - _TOP)

    parts = [
        tag("rect", width=_WIDTH, height=_HEIGHT, fill="#ffffff"),
        _text(title, _LEFT, 22, "start", 14, "#222222"),
        _text(across, (_LEFT + right) / 2, _HEIGHT - 10, "middle", 12, "#222222"),
    ]
    for tick in x.ticks:
        parts.append(_text(f"{tick:g}", place_x(tick), bottom + 18, "middle"))
    for tick in y.ticks:
        height = place_y(tick)
        parts.append(tag("line", x1=_LEFT, x2=right, y1=height, y2=height, stroke="#dddddd"))
        parts.append(_text(f"{tick:g}".replace("-", "−"), _LEFT - 8, height + 4, "end"))
    ends = _apart([place_y(values[-1]) for values in curves.values()])
    for (name, values), end, colour in zip(curves.items(), ends, _COLOURS, strict=False):
        spots = [f"{place_x(n):.1f},{place_y(value):.1f}" for n, value in enumerate(values)]
        parts.append(
            tag("path", d="M" + " L".join(spots), fill="none", stroke=colour, stroke_width=2)
        )
        parts.append(_text(name, right + 8, end + 4, "start", 12, colour))
    picture = tag(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=f"{title}: {up} against {across}",
        font_family="system-ui, sans-serif",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_files({path: f"{picture}\n"})


def _text(
    text: str, x: float, y: float, anchor: str, size: int = 12, colour: str = "#555555"
) -> Markup:
    return tag(
        "text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, font_size=size, fill=colour
    )


def _apart(heights: Sequence[float]) -> list[float]:
    """Move labels down where they would overlap."""
    result = list(heights)
    last = -np.inf
    for number in np.argsort(heights):
        result[number] = last = max(heights[number], last + _APART)
    return result
