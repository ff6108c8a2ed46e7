"""Bayes nets as text and pictures: Graphviz, SVG and the Bayesian interchange format."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Edges = Sequence[tuple[int, int]]

_BOX_HEIGHT, _ROW, _GAP, _LETTER, _MARGIN = 28, 86, 18, 7.4, 14


def dot_text(names: Sequence[str], edges: Edges) -> str:
    """Return a graph in Graphviz's language.

    Examples
    --------
    >>> print(dot_text(["age(u)", "fan(u)"], [(0, 1)]))
    digraph net {
      node [shape=box, style=rounded];
      n0 [label="age(u)"];
      n1 [label="fan(u)"];
      n0 -> n1;
    }
    """
    escaped = [name.replace("\\", "\\\\").replace('"', '\\"') for name in names]
    lines = ["digraph net {", "  node [shape=box, style=rounded];"]
    lines += [f'  n{place} [label="{name}"];' for place, name in enumerate(escaped)]
    lines += [f"  n{parent} -> n{child};" for parent, child in edges]
    return "\n".join([*lines, "}"])


def svg_text(names: Sequence[str], edges: Edges) -> str:
    """Return a drawing of a graph: parents above their children, edges as arrows.

    Examples
    --------
    >>> svg_text(["age(u)", "fan(u)"], [(0, 1)]).count("<rect")
    2
    """
    layers = _layers(len(names), edges)
    widths = [_LETTER * len(name) + 2 * 10 for name in names]
    rows = [sum(widths[n] for n in layer) + _GAP * (len(layer) - 1) for layer in layers]
    total = max(rows, default=0) + 2 * _MARGIN
    centres: dict[int, tuple[float, float]] = {}
    for number, (layer, row) in enumerate(zip(layers, rows, strict=True)):
        left = (total - row) / 2
        for node in layer:
            centres[node] = (left + widths[node] / 2, _MARGIN + _BOX_HEIGHT / 2 + number * _ROW)
            left += widths[node] + _GAP
    height = 2 * _MARGIN + _BOX_HEIGHT + _ROW * max(len(layers) - 1, 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {height}" '
        f'width="{total:.0f}" height="{height}" font-family="sans-serif" font-size="13">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
    ]
    for parent, child in edges:
        (x1, y1), (x2, y2) = centres[parent], centres[child]
        top, bottom = y1 + _BOX_HEIGHT / 2, y2 - _BOX_HEIGHT / 2
        middle = (top + bottom) / 2
        parts.append(
            f'<path d="M{x1:.0f},{top:.0f} C{x1:.0f},{middle:.0f} {x2:.0f},{middle:.0f} '
            f'{x2:.0f},{bottom:.0f}" fill="none" stroke="#555" marker-end="url(#tip)"/>'
        )
    for node, (x, y) in centres.items():
        parts.append(
            f'<rect x="{x - widths[node] / 2:.0f}" y="{y - _BOX_HEIGHT / 2:.0f}" '
            f'width="{widths[node]:.0f}" height="{_BOX_HEIGHT}" rx="6" fill="#eef3fa" '
            f'stroke="#456"/><text x="{x:.0f}" y="{y + 4.5:.0f}" text-anchor="middle">'
            f"{html.escape(names[node])}</text>"
        )
    return "\n".join([*parts, "</svg>"])


def _layers(size: int, edges: Edges) -> list[list[int]]:
    """Put every node one row below its lowest parent; rows are ordered under their parents."""
    depth = [0] * size
    for _ in range(size):
        for parent, child in edges:
            depth[child] = max(depth[child], depth[parent] + 1)
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    spot: dict[int, float] = {}
    for number in range(len(layers)):
        members = [node for node in range(size) if depth[node] == number]
        above = {n: [spot[p] for p, c in edges if c == n] for n in members}
        means = {n: sum(above[n]) / len(above[n]) if above[n] else 0.5 for n in members}
        members.sort(key=lambda node: (means[node], node))
        layers[number] = members
        spot |= {node: (k + 1) / (len(members) + 1) for k, node in enumerate(members)}
    return layers


def bif_text(
    names: Sequence[str],
    values: Sequence[Sequence[str]],
    parents: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.float64]],
) -> str:
    """Return a Bayes net in the Bayesian interchange format.

    Names are made plain identifiers, as readers of the format want them.

    Examples
    --------
    >>> print(bif_text(["fan(u)"], [["F", "T"]], [()], [np.array([0.25, 0.75])]))
    network net { }
    variable fan_u { type discrete [ 2 ] { F, T }; }
    probability ( fan_u ) { table 0.25, 0.75; }
    """
    labels = _identifiers(names)
    states = [_identifiers(given) for given in values]
    lines = ["network net { }"]
    for label, found in zip(labels, states, strict=True):
        inner = ", ".join(found)
        lines.append(f"variable {label} {{ type discrete [ {len(found)} ] {{ {inner} }}; }}")
    for place, (above, table) in enumerate(zip(parents, tables, strict=True)):
        if not above:
            lines.append(f"probability ( {labels[place]} ) {{ table {_numbers(table)}; }}")
            continue
        lines.append(f"probability ( {labels[place]} | {', '.join(labels[p] for p in above)} ) {{")
        for index in np.ndindex(*table.shape[:-1]):
            given = ", ".join(states[p][code] for p, code in zip(above, index, strict=True))
            lines.append(f"  ({given}) {_numbers(table[index])};")
        lines.append("}")
    return "\n".join(lines)


def _numbers(row: NDArray[np.float64]) -> str:
    return ", ".join(repr(float(number)) for number in row)


def _identifiers(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "x"
        plain = plain if not plain[0].isdigit() else f"v{plain}"
        base, number = plain, 2
        while plain in found:
            plain, number = f"{base}_{number}", number + 1
        found.append(plain)
    return found
