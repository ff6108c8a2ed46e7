"""Graphs of directed and undirected edges: patterns of Bayes nets, and what they can become.

Sets of nodes are integers, one bit a node. A *pattern* stands for all DAGs with its edges and no
further v-structures; with constraints, for those of them that obey.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from mlnlearn.errors import InputError

Edge = tuple[int, int]
Dag = tuple[int, ...]
"""For each node, the set of its parents."""


@dataclass(frozen=True)
class EdgeConstraints:
    """Edges (parent, child) that every DAG must have, and edges that none may have.

    Examples
    --------
    >>> rules = EdgeConstraints(frozenset({(0, 1)}), frozenset({(2, 0)}))
    >>> rules.allows(0, 1), rules.allows(1, 0), rules.allows(2, 0)
    (True, False, False)
    """

    required: frozenset[Edge] = frozenset()
    forbidden: frozenset[Edge] = frozenset()

    def allows(self, parent: int, child: int) -> bool:
        """Tell whether an edge may be there, in this direction."""
        return (parent, child) not in self.forbidden and (child, parent) not in self.required

    def undecided(self, size: int) -> int:
        """Return how many pairs of nodes may have an edge, and need none.

        Examples
        --------
        >>> EdgeConstraints(frozenset({(0, 1)}), frozenset({(2, 0)})).undecided(3)
        2
        """
        closed = {edge for edge in self.forbidden if edge[::-1] in self.forbidden}
        closed |= self.required | {edge[::-1] for edge in self.required}
        return (size * (size - 1) - len(closed)) // 2

    @cached_property
    def required_parents(self) -> dict[int, int]:
        """For each child with such edges, the set of parents that it must have."""
        return _by_child(self.required)

    @cached_property
    def forbidden_parents(self) -> dict[int, int]:
        """For each child with such edges, the set of parents that it may not have."""
        return _by_child(self.forbidden)


def _by_child(edges: Iterable[Edge]) -> dict[int, int]:
    found: dict[int, int] = {}
    for parent, child in edges:
        found[child] = found.get(child, 0) | 1 << parent
    return found


class MixedGraph:
    """A graph with directed and undirected edges, changed in place."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.parents = [0] * size
        self.children = [0] * size
        self.neighbours = [0] * size

    def copy(self) -> MixedGraph:
        """Return a copy to try changes on."""
        other = MixedGraph(self.size)
        other.parents, other.children = self.parents[:], self.children[:]
        other.neighbours = self.neighbours[:]
        return other

    def adjacent(self, node: int) -> int:
        """Return all nodes with an edge to this one."""
        return self.parents[node] | self.children[node] | self.neighbours[node]

    def remove(self, one: int, other: int) -> None:
        """Take the edge between two nodes away."""
        for here, there in ((one, other), (other, one)):
            keep = ~(1 << there)
            self.parents[here] &= keep
            self.children[here] &= keep
            self.neighbours[here] &= keep

    def direct(self, parent: int, child: int) -> None:
        """Put a directed edge, in place of whatever edge there was."""
        self.remove(parent, child)
        self.parents[child] |= 1 << parent
        self.children[parent] |= 1 << child

    def join(self, one: int, other: int) -> None:
        """Put an undirected edge."""
        self.neighbours[one] |= 1 << other
        self.neighbours[other] |= 1 << one

    def is_clique(self, nodes: int) -> bool:
        """Tell whether every two of the nodes are adjacent."""
        return all((nodes & ~self.adjacent(node) & ~(1 << node)) == 0 for node in bits(nodes))

    def blocked(self, start: int, end: int, without: int) -> bool:
        """Tell whether all paths that go with the arrows from start to end meet `without`."""
        seen, waiting = without | 1 << start, [start]
        while waiting:
            node = waiting.pop()
            new = (self.children[node] | self.neighbours[node]) & ~seen
            if new >> end & 1:
                return False
            seen |= new
            waiting += bits(new)
        return True


def pattern_of(dag: Dag, constraints: EdgeConstraints | None = None) -> MixedGraph:
    """Return the pattern of a DAG: v-structures and what constraints imply are directed.

    Examples
    --------
    >>> pattern = pattern_of((0, 0b001, 0b010))  # a chain: any direction will do
    >>> pattern.parents, [bin(n) for n in pattern.neighbours]
    ([0, 0, 0], ['0b10', '0b101', '0b10'])
    """
    rules = constraints or EdgeConstraints()
    pattern = MixedGraph(len(dag))
    for child, parents in enumerate(dag):
        for parent in bits(parents):
            pattern.join(parent, child)
    skeleton = pattern.neighbours[:]
    for child, parents in enumerate(dag):
        for one, other in combinations(bits(parents), 2):
            if not skeleton[one] >> other & 1:
                pattern.direct(one, child)
                pattern.direct(other, child)
    for child, parents in enumerate(dag):
        for parent in bits(parents):
            if (parent, child) in rules.required or not rules.allows(child, parent):
                pattern.direct(parent, child)
    orient(pattern)
    return pattern


def orient(pattern: MixedGraph) -> None:
    """Direct all edges whose direction follows from those directed already (Meek 1995).

    The fourth rule matters only where constraints directed edges.
    """
    changed = True
    while changed:
        changed = False
        for one in range(pattern.size):
            for other in bits(pattern.neighbours[one]):
                if _follows(pattern, one, other):
                    pattern.direct(one, other)
                    changed = True


def _follows(pattern: MixedGraph, a: int, b: int) -> bool:
    """Tell whether a - b must be a -> b."""
    outside_b = ~pattern.adjacent(b) & ~(1 << b)
    if pattern.parents[a] & outside_b:  # c -> a - b, c and b not adjacent: no new v-structure
        return True
    if pattern.children[a] & pattern.parents[b]:  # a -> c -> b: no circle
        return True
    towards = list(bits(pattern.neighbours[a] & pattern.parents[b]))
    if any(not pattern.adjacent(c) >> d & 1 for c, d in combinations(towards, 2)):
        return True
    # a - d -> c -> b with a adjacent to c, and d not adjacent to b
    return any(
        pattern.parents[c] & pattern.neighbours[a] & outside_b
        for c in bits(pattern.parents[b] & pattern.adjacent(a))
    )


def extension(pattern: MixedGraph) -> Dag | None:
    """Return a DAG with the pattern's edges and v-structures, or None (Dor & Tarsi 1992).

    Examples
    --------
    >>> pattern = MixedGraph(3)
    >>> pattern.join(0, 1), pattern.join(1, 2)
    (None, None)
    >>> extension(pattern)
    (2, 4, 0)
    """
    rest = pattern.copy()
    dag = pattern.parents[:]
    left = set(range(pattern.size))
    while left:
        sink = next((node for node in sorted(left) if _may_be_last(rest, node)), None)
        if sink is None:
            return None
        dag[sink] |= rest.neighbours[sink]
        for other in list(bits(rest.adjacent(sink))):
            rest.remove(sink, other)
        left.remove(sink)
    return tuple(dag)


def _may_be_last(pattern: MixedGraph, node: int) -> bool:
    if pattern.children[node]:
        return False
    around = pattern.adjacent(node)
    return all(
        around & ~pattern.adjacent(other) & ~(1 << other) == 0
        for other in bits(pattern.neighbours[node])
    )


def obeys(dag: Dag, constraints: EdgeConstraints) -> bool:
    """Tell whether a DAG has all required and no forbidden edges."""
    required, forbidden = constraints.required_parents, constraints.forbidden_parents
    return all(parents & ~dag[child] == 0 for child, parents in required.items()) and not any(
        parents & dag[child] for child, parents in forbidden.items()
    )


def has_circle(dag: Sequence[int]) -> bool:
    """Tell whether edges run in a circle.

    Examples
    --------
    >>> has_circle((0b10, 0b01)), has_circle((0, 0b01))
    (True, False)
    """
    left, done = set(range(len(dag))), 0
    while left:
        free = [node for node in left if dag[node] & ~done == 0]
        if not free:
            return True
        left.difference_update(free)
        done |= mask(free)
    return False


def read_dag(parents: Sequence[int], size: int) -> Dag:
    """Return the DAG of so many nodes that a file holds.

    Examples
    --------
    >>> read_dag([0b10, 0b01], 2)
    Traceback (most recent call last):
    mlnlearn.errors.InputError: parents: no net without a circle, of 2 nodes
    """
    fits = len(parents) == size and all(0 <= above < 1 << size for above in parents)
    if not fits or has_circle(parents):
        raise InputError(f"parents: no net without a circle, of {size} nodes")
    return tuple(parents)


def ancestors(dag: Dag) -> list[int]:
    """Return for each node the set of all nodes above it; edges must not run in a circle.

    Examples
    --------
    >>> ancestors((0, 0b001, 0b010))
    [0, 1, 3]
    """
    above = [0] * len(dag)
    left = list(range(len(dag)))
    done = 0
    while left:
        waiting = []
        for node in left:
            if dag[node] & ~done:
                waiting.append(node)
                continue
            above[node] = dag[node]
            for parent in bits(dag[node]):
                above[node] |= above[parent]
            done |= 1 << node
        left = waiting
    return above


def bits(nodes: int) -> Iterator[int]:
    """Yield the members of a set of nodes, in order."""
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low


def mask(nodes: Iterable[int]) -> int:
    """Return a set of nodes."""
    result = 0
    for node in nodes:
        result |= 1 << node
    return result
