"""Decision trees of a Bayes net's nodes as drawings: from left to right, a bar for each leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.report.markup import Markup, join, tag
from mlnlearn.structure.join_bayes.rules import FamilyRules

MOST_LEAVES = 80
"""Larger trees, and larger tables, are not drawn."""

_LETTER, _ROW, _BAR, _GAP, _PAD = 7.3, 24, 180, 16, 8
_COLOURS = 9
"""Colours of a bar; further values begin again."""


@dataclass(frozen=True)
class _Node:
    """A test with its branches, or a leaf; `row` is where it stands, in leaves from the top."""

    row: float
    leaf: int = -1
    parent: int = -1
    branches: tuple[tuple[int, _Node], ...] = ()


def family_svg(family: FamilyRules) -> Markup:
    """Return a drawing of the tree of one node, or of its conditional table.

    Each leaf has a bar with a share for each value of the child, in their order, and the number of
    groundings it was counted from; each test a thin bar of all that comes by.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.model.bayesnet_nodes import NetNode
    >>> wet, rain = (NetNode(Predicate(name), (), ("F", "T")) for name in ("wet", "rain"))
    >>> leaves, counts = (((0, 0),), ((0, 1),)), np.array([[8.0, 1.0], [0.0, 5.0]])
    >>> text = family_svg(FamilyRules(wet, (rain,), (), leaves, counts, 1.0))
    >>> "rain()" in text, text.count("<title>")
    (True, 6)
    """
    root = _grown(family, list(range(len(family.leaves))), 0, 0.0)
    columns = _columns(family, root)
    right = columns[-1]
    parts = [*_edges(family, root, 0, columns), *_leaves(family, right)]
    width, height = right + _BAR + 90, _ROW * len(family.leaves) + _PAD
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        aria_label=f"{family.child}, {len(family.leaves)} leaves",
        class_="tree",
    )


def family_key(family: FamilyRules) -> Markup:
    """Return what the colours of the bars stand for."""
    first = _first(family)
    entries = [
        tag("li", tag("i", class_=f"s{place % _COLOURS}"), value)
        for place, value in enumerate(family.child.values[first:])
    ]
    return tag("ul", *entries, class_="shades")


def _first(family: FamilyRules) -> int:
    """Return the first value that is shown: an attribute of a link is not N/A where it holds."""
    return int(family.child.relationship is not None and family.child.is_attribute)


def _grown(family: FamilyRules, leaves: Sequence[int], depth: int, top: float) -> _Node:
    """Return the tree that some leaves make from a depth on; paths say what was asked in turn."""
    if len(leaves) == 1 and len(family.leaves[leaves[0]]) <= depth:
        return _Node(top + 0.5, leaf=leaves[0])
    parent = family.leaves[leaves[0]][depth][0]
    groups: dict[int, list[int]] = {}
    for leaf in leaves:
        groups.setdefault(family.leaves[leaf][depth][1], []).append(leaf)
    branches, at = [], top
    for value, members in groups.items():
        branches.append((value, _grown(family, members, depth + 1, at)))
        at += len(members)
    row = (branches[0][1].row + branches[-1][1].row) / 2
    return _Node(row, parent=parent, branches=tuple(branches))


def _columns(family: FamilyRules, root: _Node) -> list[float]:
    """Return where each depth begins, and behind the last where the bars do."""
    widths: list[float] = []

    def visit(node: _Node, depth: int) -> None:
        if node.leaf >= 0:
            return
        parent = family.parents[node.parent]
        longest = max(len(parent.values[value]) for value, _ in node.branches)
        width = _LETTER * (len(str(parent)) + longest + 1) + 2 * _PAD + 2 * _GAP
        widths.extend([0.0] * (depth + 1 - len(widths)))
        widths[depth] = max(widths[depth], width)
        for _, below in node.branches:
            visit(below, depth + 1)

    visit(root, 0)
    return [float(x) for x in np.cumsum([_PAD, *widths])]


def _edges(family: FamilyRules, node: _Node, depth: int, columns: list[float]) -> list[Markup]:
    if node.leaf >= 0:
        return []
    parent = family.parents[node.parent]
    left, middle = columns[depth], _height(node.row)
    width = _LETTER * len(str(parent)) + 2 * _PAD
    parts: list[Markup] = []
    for value, below in node.branches:
        end = columns[-1] - 6 if below.leaf >= 0 else columns[depth + 1]
        y = _height(below.row)
        turn = left + width + _GAP
        line = f"M{left + width:.0f},{middle:.1f} H{turn - 6:.0f} L{turn:.0f},{y:.1f} H{end:.0f}"
        parts.append(tag("path", d=line, class_="edge", fill="none"))
        label = {"x": f"{turn + 5:.0f}", "y": f"{y - 3:.1f}", "text_anchor": "start"}
        parts.append(tag("text", parent.values[value], class_="answer", **label))
        parts += _edges(family, below, depth + 1, columns)
    box = tag(
        "rect", x=f"{left:.0f}", y=f"{middle - 10:.1f}", width=f"{width:.0f}", height=20, rx=5
    )
    text = tag("text", str(parent), x=f"{left + width / 2:.0f}", y=f"{middle + 4:.1f}")
    counts = family.counts[_leaves_below(node), _first(family) :].sum(axis=0)
    place = _BarPlace(left, middle + 12, width, 4)
    shares = _bar(family.child.values[_first(family) :], _shares(family, counts), place)
    return [*parts, tag("g", box, text, class_="test"), tag("g", join(shares), class_="shares all")]


def _leaves_below(node: _Node) -> list[int]:
    if node.leaf >= 0:
        return [node.leaf]
    return [leaf for _, below in node.branches for leaf in _leaves_below(below)]


def _shares(family: FamilyRules, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = (counts + family.prior) / (counts + family.prior).sum()
    return shares


def _height(row: float) -> float:
    return _ROW * row + _PAD / 2


def _leaves(family: FamilyRules, left: float) -> list[Markup]:
    first = _first(family)
    values, parts = family.child.values[first:], []
    for leaf, counts in enumerate(family.counts[:, first:]):
        y = _height(leaf + 0.5)
        bar = _bar(values, _shares(family, counts), _BarPlace(left, y, _BAR, 14))
        x, text = f"{left + _BAR + 8:.0f}", f"{counts.sum():,.0f}"
        label = tag("text", text, x=x, y=f"{y + 4:.1f}", text_anchor="start", class_="answer")
        parts.append(tag("g", join([*bar, label]), class_="shares"))
    return parts


@dataclass(frozen=True)
class _BarPlace:
    left: float
    middle: float
    width: float
    height: float


def _bar(values: Sequence[str], shares: NDArray[np.float64], place: _BarPlace) -> list[Markup]:
    """Return a bar with a share for each value."""
    ends = np.cumsum(shares) * place.width
    return [
        tag(
            "rect",
            tag("title", f"{value}: {share:.3f}"),
            x=f"{place.left + end - share * place.width:.1f}",
            y=f"{place.middle - place.height / 2:.1f}",
            width=f"{share * place.width:.1f}",
            height=place.height,
            class_=f"s{number % _COLOURS}",
        )
        for number, (value, share, end) in enumerate(
            zip(values, shares.tolist(), ends.tolist(), strict=True)
        )
    ]
