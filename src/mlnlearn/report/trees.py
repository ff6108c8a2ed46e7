"""Regression trees as drawings."""

from __future__ import annotations

from dataclasses import dataclass

from mlnlearn.model.boosted.rules import Body, Leaf, Node, Tree
from mlnlearn.model.boosted.text import Naming
from mlnlearn.report.markup import Markup, number, tag

_LETTER, _LINE, _PAD, _GAP, _DROP = 7.3, 17, 9, 16, 34


@dataclass(frozen=True, slots=True)
class _Box:
    """A node with its place: the text, and the boxes under it."""

    lines: tuple[str, ...]
    is_leaf: bool
    value: float
    width: float
    span: float
    children: tuple[_Box, ...] = ()

    @property
    def height(self) -> float:
        return _LINE * len(self.lines) + 2 * _PAD - 4


def tree_svg(tree: Tree, naming: Naming, label: str) -> Markup:
    """Return a drawing of a tree: tests in boxes, the branch that holds to the left.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.model.boosted.rules import Split
    >>> from mlnlearn.model.boosted.world import Pattern
    >>> rich = Pattern(Predicate("rich", ("person",)), (0,))
    >>> tree = Tree(Split((rich,), Leaf(0.5), Leaf(-0.25)))
    >>> text = tree_svg(tree, Naming(Predicate("happy", ("person",))), "tree 1")
    >>> text.count("<rect"), "rich(p1)" in text, "−0.250" in text
    (3, True, True)
    """
    root = _measure(tree.root, naming, ())
    parts: list[Markup] = []
    depth = _draw(root, root.span / 2 + 4, 4.0, 4.0, parts)
    width = root.span + 8
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:.0f} {depth + 8:.0f}",
        width=f"{width:.0f}",
        height=f"{depth + 8:.0f}",
        role="img",
        aria_label=f"{label}: {naming.tree(tree)}",
        class_="tree",
    )


def _measure(node: Node, naming: Naming, body: Body) -> _Box:
    if isinstance(node, Leaf):
        text = number(node.value, signed=True)
        width = _LETTER * len(text) + 2 * _PAD
        return _Box((text,), True, node.value, width, width)
    shown = tuple(map(str, naming.atoms(body + node.test)[len(body) :]))
    width = _LETTER * max(map(len, shown)) + 2 * _PAD
    below = (_measure(node.yes, naming, body + node.test), _measure(node.no, naming, body))
    span = max(width, below[0].span + _GAP + below[1].span)
    return _Box(shown, False, 0.0, width, span, below)


def _draw(box: _Box, centre: float, left: float, top: float, parts: list[Markup]) -> float:
    """Draw a box and those below it between `left` and its span; return how deep they reach."""
    deepest = top + box.height
    used = sum(child.span for child in box.children) + _GAP * (len(box.children) - 1)
    start = left + (box.span - used) / 2 if box.children else left
    for child, answer in zip(box.children, ("yes", "no"), strict=False):
        middle = start + child.span / 2
        below = top + box.height + _DROP
        parts.append(
            tag(
                "path",
                d=f"M{centre:.1f},{top + box.height:.1f} L{middle:.1f},{below:.1f}",
                class_="edge",
            )
        )
        side = "end" if answer == "yes" else "start"
        shift = -6 if answer == "yes" else 6
        parts.append(
            tag(
                "text",
                answer,
                x=f"{(centre + middle) / 2 + shift:.1f}",
                y=f"{top + box.height + _DROP / 2 + 3:.1f}",
                text_anchor=side,
                class_="answer",
            )
        )
        deepest = max(deepest, _draw(child, middle, start, below, parts))
        start += child.span + _GAP
    parts.append(_boxed(box, centre, top))
    return deepest


def _boxed(box: _Box, centre: float, top: float) -> Markup:
    kind = "test" if not box.is_leaf else "leaf up" if box.value > 0 else "leaf down"
    frame = tag(
        "rect",
        x=f"{centre - box.width / 2:.1f}",
        y=f"{top:.1f}",
        width=f"{box.width:.1f}",
        height=f"{box.height:.1f}",
        rx=5,
    )
    lines = [
        tag("text", line, x=f"{centre:.1f}", y=f"{top + _PAD + 10 + _LINE * place:.1f}")
        for place, line in enumerate(box.lines)
    ]
    return tag("g", frame, *lines, class_=kind)
