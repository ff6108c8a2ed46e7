"""Boosted rules as drawings: trees, and lists of weighted clauses.

A drawing is styled by the page it is in, or by `STYLE`, which makes it stand alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from mlnlearn.counting.pattern import Body
from mlnlearn.model.boosted.rules import Leaf, Node, TargetRules, Tree
from mlnlearn.model.boosted.text import Naming, leaf_text
from mlnlearn.model.markup import Markup, join, number, tag

_LETTER, _LINE, _PAD, _GAP, _DROP = 7.3, 17, 9, 16, 34
_ROW, _BAR, _WEIGHT = 22, 90, 64
_SHARES = 10

STYLE = """
svg.tree { background: #ffffff; }
.tree text {
  fill: #1b1f24; font: 12px ui-monospace, Menlo, Consolas, monospace; text-anchor: middle;
}
.tree .title { font: bold 13px system-ui, sans-serif; }
.tree .answer {
  fill: #57606a; font: 11px system-ui, sans-serif; text-anchor: inherit;
  paint-order: stroke; stroke: #ffffff; stroke-width: 5px;
}
.tree .edge { stroke: #a9b4c2; stroke-width: 1.3; }
.tree rect { fill: #ffffff; stroke: #a9b4c2; }
.tree .up rect { fill: #e6eff9; stroke: #1f5fae; }
.tree .down rect { fill: #fbeee2; stroke: #a34a06; }
.tree .shares rect { stroke: none; fill: #1f5fae; }
.tree .shares .rest { fill: #d5dbe2; }
"""
"""Colours of a drawing that stands alone, on any page."""


@dataclass(frozen=True, slots=True)
class Passing:
    """The examples that come by a node of a tree: how many, and how many of them are true."""

    true: float
    all: float

    def __str__(self) -> str:
        return f"{self.true:,.0f} of {self.all:,.0f} true"


@dataclass(frozen=True, slots=True)
class _Box:
    """A node with its place: the text, and the boxes under it."""

    lines: tuple[str, ...]
    is_leaf: bool
    value: float
    width: float
    span: float
    children: tuple[_Box, ...] = ()
    passing: Passing | None = None

    @property
    def height(self) -> float:
        return _LINE * len(self.lines) + 2 * _PAD - 4 + (_SHARES if self.passing else 0)


def rules_svg(chosen: Sequence[TargetRules]) -> Markup:
    """Return a picture that stands alone: of each target the clauses, then the trees.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> rules = TargetRules(Predicate("happy", ("person",)), -1.0, steps=(Tree(Leaf(0.5)),))
    >>> text = rules_svg([rules])
    >>> text.startswith("<svg"), "happy(p1), tree 1" in text
    (True, True)
    """
    parts = []
    for rules in chosen:
        naming = Naming(rules.predicate)
        drawn = draw_clauses(naming.clauses(rules), str(naming.head))
        parts.append((f"{naming.head}, clauses", drawn))
        for place, step in enumerate(rules.steps, 1):
            if isinstance(step, Tree):
                title = f"{naming.head}, tree {place}"
                parts.append((title, draw_tree(step, naming, title)))
    return stacked(parts).svg(STYLE)


def rules_html(chosen: Sequence[TargetRules]) -> Markup:
    """Return the pictures of several targets, each to be opened by a click, the first open."""
    parts = []
    for place, rules in enumerate(chosen):
        title = f"{Naming(rules.predicate).head}: {len(rules.steps)} steps"
        drawn = tag("div", rules_svg([rules]), style="overflow-x:auto")
        parts.append(tag("details", tag("summary", title), drawn, open=place == 0))
    return join(parts)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes, the room that they take, and the same in words."""

    shapes: Markup
    width: float
    height: float
    label: str

    def svg(self, style: str = "") -> Markup:
        """Return a picture; with a style of its own it stands alone."""
        return tag(
            "svg",
            tag("style", Markup(style)) if style else None,
            self.shapes,
            xmlns="http://www.w3.org/2000/svg" if style else None,
            viewBox=f"0 0 {self.width:.0f} {self.height:.0f}",
            width=f"{self.width:.0f}",
            height=f"{self.height:.0f}",
            role="img",
            aria_label=self.label,
            class_="tree",
        )


def tree_svg(tree: Tree, naming: Naming, label: str, passing: Sequence[Passing] = ()) -> Markup:
    """Return a picture of a tree for a page with a style: tests in boxes, "yes" to the left.

    With the examples that come by each node (a node, its branches yes, then no), each has a bar of
    how many of them are true.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> from mlnlearn.model.boosted.rules import Split
    >>> from mlnlearn.counting.pattern import Pattern
    >>> rich = Pattern(Predicate("rich", ("person",)), (0,))
    >>> tree = Tree(Split((rich,), Leaf(0.5), Leaf(-0.25)))
    >>> text = tree_svg(tree, Naming(Predicate("happy", ("person",))), "tree 1")
    >>> text.count("<rect"), "rich(p1)" in text, "−0.250" in text
    (3, True, True)
    """
    return draw_tree(tree, naming, label, passing).svg()


def draw_tree(tree: Tree, naming: Naming, label: str, passing: Sequence[Passing] = ()) -> Drawing:
    """Draw a tree."""
    root = _measure(tree.root, naming, (), iter(passing))
    parts: list[Markup] = []
    depth = _draw(root, root.span / 2 + 4, 4.0, 4.0, parts)
    return Drawing(join(parts), root.span + 8, depth + 8, f"{label}: {naming.tree(tree)}")


def draw_clauses(rules: Sequence[tuple[str, float]], label: str) -> Drawing:
    """Draw weighted clauses: a line each, with a bar to the right for what speaks in favour.

    Examples
    --------
    >>> drawing = draw_clauses([("rich(p) => happy(p)", 0.5), ("happy(p)", -1.0)], "happy")
    >>> text = drawing.svg()
    >>> text.count('class="up"'), text.count('class="down"'), "rich(p) =&gt; happy(p)" in text
    (1, 1, True)
    """
    largest = max((abs(weight) for _, weight in rules), default=0.0) or 1.0
    parts = []
    for place, (rule, weight) in enumerate(rules):
        top = _ROW * place + 4
        length = max(_BAR * abs(weight) / largest, 1.0)
        left = _WEIGHT + _BAR - (length if weight < 0 else 0.0)
        bar = tag("rect", x=f"{left:.1f}", y=top, width=f"{length:.1f}", height=_ROW - 6, rx=2)
        parts += [
            tag("g", bar, class_="up" if weight > 0 else "down"),
            _line(number(weight, signed=True), _WEIGHT - _PAD, top, "end"),
            _line(rule, _WEIGHT + 2 * _BAR + _PAD, top, "start"),
        ]
    longest = max((len(rule) for rule, _ in rules), default=0)
    words = "; ".join(f"{number(weight, signed=True)} {rule}" for rule, weight in rules)
    width = _WEIGHT + 2 * _BAR + 2 * _PAD + _LETTER * longest
    return Drawing(join(parts), width, _ROW * len(rules) + 6, f"{label}: {words}")


def stacked(drawings: Sequence[tuple[str, Drawing]]) -> Drawing:
    """Put drawings under each other, each under its title.

    Examples
    --------
    >>> one = draw_clauses([("happy(p)", -1.0)], "happy")
    >>> both = stacked([("first", one), ("second", one)])
    >>> both.height > 2 * one.height, both.svg().count("<text")
    (True, 6)
    """
    parts, top = [], 4.0
    for title, drawing in drawings:
        parts.append(_line(title, 4, top, "start", class_="title"))
        top += _ROW + 4
        parts.append(tag("g", drawing.shapes, transform=f"translate(0 {top:.1f})"))
        top += drawing.height + _GAP
    width = max((drawing.width for _, drawing in drawings), default=0.0)
    words = "\n".join(drawing.label for _, drawing in drawings)
    return Drawing(join(parts), width + 4, top, words)


def _line(text: str, x: float, top: float, anchor: str, class_: str | None = None) -> Markup:
    """Return a line of text beside a bar."""
    style = f"text-anchor:{anchor}"
    return tag("text", text, x=f"{x:.1f}", y=f"{top + 13:.1f}", style=style, class_=class_)


def _measure(node: Node, naming: Naming, body: Body, passing: Iterator[Passing]) -> _Box:
    here = next(passing, None)
    counted = _LETTER * len(str(here)) if here else 0.0
    if isinstance(node, Leaf):
        text = leaf_text(node, partial(number, signed=True))
        width = max(_LETTER * len(text), counted) + 2 * _PAD
        said = (text, str(here)) if here else (text,)
        return _Box(said, True, node.value, width, width, passing=here)
    shown = tuple(map(str, naming.atoms(body + node.test)[len(body) :]))
    width = max(_LETTER * max(map(len, shown)), counted) + 2 * _PAD
    below = (
        _measure(node.yes, naming, body + node.test, passing),
        _measure(node.no, naming, body, passing),
    )
    span = max(width, below[0].span + _GAP + below[1].span)
    lines = (*shown, str(here)) if here else shown
    return _Box(lines, False, 0.0, width, span, below, here)


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
    return tag("g", frame, *lines, _share_bar(box, centre, top), class_=kind)


def _share_bar(box: _Box, centre: float, top: float) -> Markup | None:
    """Return a bar of the true among the examples that come by."""
    if box.passing is None:
        return None
    wide = box.width - 2 * _PAD
    true = wide * box.passing.true / max(box.passing.all, 1e-9)
    left, place = centre - wide / 2, {"y": f"{top + box.height - 12:.1f}", "height": "6"}
    rest = {"x": f"{left + true:.1f}", "width": f"{wide - true:.1f}"}
    return tag(
        "g",
        tag("rect", x=f"{left:.1f}", width=f"{true:.1f}", class_="s0", **place),
        tag("rect", class_="rest", **rest, **place),
        class_="shares",
    )
