"""Random walks over the graph of true atoms: how soon each constant is met, and along which paths.

A walk goes from a constant to a true atom that holds it, drawn at random, and on to another
constant of that atom. The truncated hitting time of a node is the mean number of steps until a walk
meets it first, at most the length of a walk (Sarkar & Moore 2007). What leads there, predicate by
predicate, is a *path*; nodes that are met along the same paths equally often look alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.compiled import njit
from mlnlearn.structure.templates.atoms import AtomGraph, Numbers

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Hits:
    """What the walks from one node met; the node itself is not among it.

    Attributes
    ----------
    nodes
        The nodes that were met, in rising order.
    times
        Their truncated hitting times.
    paths
        How often each node (row) was first met along each path (column).
    """

    nodes: Numbers
    times: Floats
    paths: Floats


def walk(
    graph: AtomGraph,
    source: int,
    walks: int,
    steps: int,
    rng: np.random.Generator,
    farthest: float = np.inf,
) -> Hits:
    """Start walks at a node.

    Parameters
    ----------
    graph
        The true atoms.
    source
        Where walks start.
    walks
        How many.
    steps
        Most steps of each.
    rng
        Draws where they go.
    farthest
        Nodes with a larger hitting time are left out.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> chain = {"next": [("A", "B"), ("B", "C")]}
    >>> graph = AtomGraph.of([Database.from_facts(Schema.of("next(t,t)"), chain)])
    >>> hits = walk(graph, 0, 2000, 2, np.random.default_rng(0))
    >>> hits.nodes.tolist(), hits.times.round(1).tolist()  # C is met in half of the walks, or not
    ([1, 2], [1.0, 2.0])
    """
    starts, atoms = graph.incidence
    drawn = rng.random((walks, steps, 2))
    base = len(graph.predicates) + 1
    node, step, path = _first_hits(source, drawn, starts, atoms, graph.nodes, graph.label, base)
    nodes, row = np.unique(node, return_inverse=True)
    met = np.bincount(row, minlength=len(nodes))
    times = (np.bincount(row, step, len(nodes)) + steps * (walks - met)) / walks
    near = times <= farthest
    told = near[row]
    distinct, column = np.unique(path[told], return_inverse=True)
    paths = np.zeros((int(near.sum()), len(distinct)))
    np.add.at(paths, ((np.cumsum(near) - 1)[row[told]], column), 1.0)
    return Hits(nodes[near], times[near], paths)


@njit(cache=True)
def _first_hits(source, drawn, starts, atoms, nodes, label, base):  # type: ignore[no-untyped-def]
    """Return the nodes that each walk meets first at each step, the step, and the path as a number.

    The number of a path wraps around where paths are very long; it then is a hash of the path.
    """
    walks, steps, _ = drawn.shape
    seen = np.full(len(starts) - 1, -1)
    found_node = np.empty(walks * steps, np.int64)
    found_step = np.empty(walks * steps, np.float64)
    found_path = np.empty(walks * steps, np.int64)
    number = 0
    for w in range(walks):
        at, path = source, 0
        seen[source] = w
        for step in range(steps):
            first, last = starts[at], starts[at + 1]
            if first == last:
                break
            atom = atoms[first + int(drawn[w, step, 0] * (last - first))]
            others = 0
            for place in range(nodes.shape[1]):
                others += nodes[atom, place] >= 0 and nodes[atom, place] != at
            chosen = int(drawn[w, step, 1] * others)
            for place in range(nodes.shape[1]):
                if nodes[atom, place] >= 0 and nodes[atom, place] != at:
                    if chosen == 0:
                        at = nodes[atom, place]
                        break
                    chosen -= 1
            path = path * base + label[atom] + 1
            if seen[at] != w:
                seen[at] = w
                found_node[number], found_step[number] = at, step + 1.0
                found_path[number] = path
                number += 1
    return found_node[:number], found_step[:number], found_path[:number]
