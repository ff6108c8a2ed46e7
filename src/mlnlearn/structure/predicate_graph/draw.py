"""Drawings of a graph of predicates: text for Graphviz, and pictures that need no other program."""

from __future__ import annotations

import math
from collections import Counter
from html import escape

from mlnlearn.structure.predicate_graph.graph import PredicateGraph
from mlnlearn.structure.predicate_graph.links import Edge, SignedPredicate

Point = tuple[float, float]

_MOST_LABELS = 40
_THINNEST, _THICKEST = 0.7, 4.0


def to_dot(graph: PredicateGraph) -> str:
    """Return a graph in the DOT language of Graphviz.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> graph = PredicateGraph.of([Predicate("p", ("t",)), Predicate("q", ("t",))])
    >>> print(to_dot(graph).splitlines()[5])
      "p" -- "q" [label="<0 0>"];
    """
    lines = ["graph predicates {"]
    lines += [f'  "{node}";' for node in graph.nodes]
    lines += [
        f'  "{edge.first}" -- "{edge.second}" [label="{_label(graph, edge)}"];'
        for edge in graph.edges
    ]
    return "\n".join([*lines, "}"])


def to_svg(graph: PredicateGraph, size: int = 720) -> str:
    """Return a graph as a picture in SVG: nodes on a circle, edges with their links.

    The higher an edge's measure, the thicker its line. Where there are many edges, their labels
    show only when pointed at.

    Parameters
    ----------
    graph
        What to draw.
    size
        Width and height.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> graph = PredicateGraph.of([Predicate("p", ("t",)), Predicate("q", ("t",))])
    >>> to_svg(graph).count("<path"), to_svg(graph).count("<circle")
    (4, 4)
    """
    places = _on_a_circle(graph.nodes, size)
    parallel: Counter[frozenset[SignedPredicate]] = Counter()
    lines = []
    for edge in graph.edges:
        pair = frozenset((edge.first, edge.second))
        lines.append(_line(graph, edge, places, parallel[pair], size))
        parallel[pair] += 1
    nodes = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{"#226" if node.positive else "#c44"}"/>'
        f'<text x="{x:.1f}" y="{y - 9:.1f}" text-anchor="middle">{escape(str(node))}</text>'
        for node, (x, y) in places.items()
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" '
        'font-family="sans-serif" font-size="13">'
    )
    return "\n".join([head, *lines, *nodes, "</svg>"])


def _on_a_circle(nodes: tuple[SignedPredicate, ...], size: int) -> dict[SignedPredicate, Point]:
    middle, radius = size / 2, 0.38 * size
    turns = [2.0 * math.pi * place / max(len(nodes), 1) for place in range(len(nodes))]
    return {
        node: (middle + radius * math.sin(turn), middle - radius * math.cos(turn))
        for node, turn in zip(nodes, turns, strict=True)
    }


def _line(
    graph: PredicateGraph, edge: Edge, places: dict[SignedPredicate, Point], rank: int, size: int
) -> str:
    """Draw an edge; those between the same nodes bend apart."""
    (x1, y1), (x2, y2) = places[edge.first], places[edge.second]
    middle = size / 2
    if edge.first == edge.second:
        # a loop outwards, the later ones larger
        away = 1.0 + 0.12 + 0.05 * rank
        outward = middle + (x1 - middle) * away, middle + (y1 - middle) * away
        across = 0.05 * size * (y1 - middle) / middle, 0.05 * size * (middle - x1) / middle
        bends = [
            f"{outward[0] + side * across[0]:.1f} {outward[1] + side * across[1]:.1f}"
            for side in (1, -1)
        ]
        route = f"C {bends[0]} {bends[1]}"
        label = outward
    else:
        bend = (0.08 + 0.1 * (rank // 2)) * (1 if rank % 2 else -1)
        label = (x1 + x2) / 2 + bend * (y2 - y1), (y1 + y2) / 2 - bend * (x2 - x1)
        route = f"Q {label[0]:.1f} {label[1]:.1f}"
    text = escape(_label(graph, edge))
    shown = f'<text x="{label[0]:.1f}" y="{label[1]:.1f}" font-size="9" fill="#555">{text}</text>'
    return (
        f'<path d="M {x1:.1f} {y1:.1f} {route} {x2:.1f} {y2:.1f}" fill="none" stroke="#999" '
        f'stroke-width="{_width(graph, edge):.1f}"><title>{escape(str(edge))} {text}</title></path>'
    ) + (shown if len(graph.edges) <= _MOST_LABELS else "")


def _width(graph: PredicateGraph, edge: Edge) -> float:
    if graph.measures is None:
        return _THINNEST
    highest = max(graph.measures.values())
    share = graph.measures[edge] / highest if highest > 0.0 else 0.0
    return _THINNEST + (_THICKEST - _THINNEST) * math.sqrt(max(share, 0.0))


def _label(graph: PredicateGraph, edge: Edge) -> str:
    if graph.measures is None:
        return str(edge.link)
    return f"{edge.link} {graph.measures[edge]:.3g}"
