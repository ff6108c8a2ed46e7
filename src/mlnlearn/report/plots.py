"""Line plots as SVG; colours come from the style sheet of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mlnlearn.evaluate.ranking import Floats
from mlnlearn.report.markup import Markup, tag

_WIDTH, _HEIGHT = 340, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 12, 12, 44

_DIGIT = 6.5  # how wide one is

Look = Literal["main", "second", "faint", "reference"]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its title, its range, and where numbers stand."""

    title: str
    ticks: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

    @property
    def low(self) -> float:
        """Where it begins."""
        return self.ticks[0]

    @property
    def high(self) -> float:
        """Where it ends."""
        return self.ticks[-1]

    @classmethod
    def around(cls, title: str, values: ArrayLike, *, whole: bool = False) -> Axis:
        """Return an axis with round numbers that holds all values.

        Examples
        --------
        >>> Axis.around("CLL", [-0.31, -0.12]).ticks
        (-0.35, -0.3, -0.25, -0.2, -0.15, -0.1)
        >>> Axis.around("steps", [0, 20], whole=True).ticks
        (0, 5, 10, 15, 20)
        """
        found = np.asarray(values, np.float64)
        found = found[np.isfinite(found)]
        low, high = (float(found.min()), float(found.max())) if len(found) else (0.0, 1.0)
        if high - low < 1e-9:
            low, high = low - 0.5, high + 0.5
        step = 10.0 ** math.floor(math.log10((high - low) / 4))
        step *= next(factor for factor in (1, 2, 2.5, 5, 10) if (high - low) / (step * factor) <= 6)
        step = max(1.0, round(step)) if whole else step
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        ticks = tuple(round(place * step, 10) for place in range(first, last + 1))
        return cls(title, tuple(map(int, ticks)) if whole else ticks)


@dataclass(frozen=True, eq=False)
class Series:
    """A line: points of shape ``(2, n)``, how it looks, and notes that its points show."""

    label: str
    points: Floats
    look: Look = "main"
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, label: str, x: ArrayLike, y: ArrayLike, look: Look = "main") -> Series:
        """Return the line through points, leaving out those that are not numbers.

        Examples
        --------
        >>> Series.of("a", [0, 1, 2], [0.5, np.nan, 0.7]).points.tolist()
        [[0.0, 2.0], [0.5, 0.7]]
        """
        points = np.stack([np.asarray(x, np.float64), np.asarray(y, np.float64)])
        return cls(label, points[:, np.isfinite(points).all(axis=0)], look)


def plot(title: str, x: Axis, y: Axis, series: Sequence[Series], note: str = "") -> Markup:
    """Return a figure with a plot, a legend where there are several lines, and a note.

    Examples
    --------
    >>> line = Series.of("model", [0.0, 1.0], [0.0, 1.0])
    >>> text = plot("ROC", Axis("fall-out"), Axis("recall"), [line])
    >>> '<path class="line main" d="M72.0,226.0 L328.0,12.0">' in text
    True
    """
    drawing = tag(
        "svg",
        *_grid(x, y),
        *(part for line in _back_to_front(series) for part in _drawn(line, x, y)),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=f"{title}: {y.title} against {x.title}. {note}".strip(),
    )
    return tag(
        "figure",
        tag("h4", title),
        drawing,
        _legend(series),
        tag("figcaption", note) if note else None,
        class_="plot",
    )


def _back_to_front(series: Sequence[Series]) -> list[Series]:
    order = ("reference", "faint", "second", "main")
    return sorted(series, key=lambda line: order.index(line.look))


def _place(axis: Axis, values: Floats, start: float, end: float) -> Floats:
    """Put values on a line from `start` to `end`."""
    share = (values - axis.low) / (axis.high - axis.low)
    return start + np.clip(share, 0.0, 1.0) * (end - start)


def _grid(x: Axis, y: Axis) -> list[Markup]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for tick, place in zip(x.ticks, _place(x, np.array(x.ticks), _LEFT, right), strict=True):
        parts.append(_line(place, _TOP, place, bottom))
        label = f"{tick:g}"
        inside = place + len(label) * _DIGIT / 2 <= _WIDTH
        parts.append(
            _text(label, place if inside else _WIDTH, bottom + 16, "middle" if inside else "end")
        )
    for tick, place in zip(y.ticks, _place(y, np.array(y.ticks), bottom, _TOP), strict=True):
        parts.append(_line(_LEFT, place, right, place))
        parts.append(_text(f"{tick:g}".replace("-", "−"), _LEFT - 7, place + 4, "end"))
    middle = (_TOP + bottom) / 2
    parts.append(_text(x.title, (_LEFT + right) / 2, _HEIGHT - 8, "middle", class_="title"))
    parts.append(
        _text(y.title, 12, middle, "middle", class_="title", transform=f"rotate(-90 12 {middle})")
    )
    return parts


def _line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return tag(
        "line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_="grid"
    )


def _text(text: str, x: float, y: float, anchor: str, **attributes: str) -> Markup:
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, **attributes)


def _drawn(line: Series, x: Axis, y: Axis) -> list[Markup]:
    across = _place(x, line.points[0], _LEFT, _WIDTH - _RIGHT).tolist()
    down = _place(y, line.points[1], _HEIGHT - _BOTTOM, _TOP).tolist()
    spots = list(zip(across, down, strict=True))
    if not spots:
        return []
    path = "M" + " L".join(f"{a:.1f},{b:.1f}" for a, b in spots)
    parts = [tag("path", class_=f"line {line.look}", d=path)]
    for (a, b), note in zip(spots, line.notes, strict=False):
        inner = tag("title", note)
        parts.append(
            tag("circle", inner, class_=f"dot {line.look}", cx=f"{a:.1f}", cy=f"{b:.1f}", r=4)
        )
    return parts


def _legend(series: Sequence[Series]) -> Markup | None:
    named = {line.label: line.look for line in series if line.label}
    if len(named) < 2:
        return None
    items = [tag("li", tag("i", class_=f"key {look}"), label) for label, look in named.items()]
    return tag("ul", *items, class_="legend")
