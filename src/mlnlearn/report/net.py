"""A Bayes net to walk through: one node with its causes and effects, whatever the net's size."""

from __future__ import annotations

from mlnlearn.report.markup import Markup, json_script, tag
from mlnlearn.structure.join_bayes.model import JoinBayesModel

FEW = 12
"""Nets of up to so many nodes are shown whole at once; others behind a click."""


def net_parts(model: JoinBayesModel) -> list[Markup]:
    """Return the neighbourhood of a chosen node, and the drawing of the whole net."""
    net = model.net
    names = [str(node) for node in net.nodes]
    parents: list[list[int]] = [[] for _ in names]
    for parent, child in net.edges:
        parents[child].append(parent)
    degree = [0] * len(names)
    for parent, child in net.edges:
        degree[parent] += 1
        degree[child] += 1
    first = max(range(len(names)), key=lambda node: (degree[node], -node), default=0)
    options = [
        tag("option", name, value=place, selected=place == first)
        for place, name in sorted(enumerate(names), key=lambda item: item[1])
    ]
    choice = tag(
        "div",
        tag("label", "Show what belongs to ", tag("select", *options, id="net-node")),
        tag("output", "", id="net-count", for_="net-node", aria_live="polite"),
        class_="controls",
    )
    around = tag("div", "", id="net-around", class_="around", data_first=first)
    whole = tag(
        "details",
        tag("summary", f"The whole net: {len(names)} nodes, {len(net.edges)} edges"),
        # svg() escapes the names of its nodes itself
        tag("div", Markup(net.svg()), class_="net scroll", tabindex=0),
        open=len(names) <= FEW,
    )
    data = json_script("net-data", {"names": names, "parents": parents})
    return [choice, around, whole, data]
