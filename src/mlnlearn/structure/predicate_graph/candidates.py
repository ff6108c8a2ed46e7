"""Growing candidate clauses along paths of the reduced graph (section 3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlnlearn.logic.canonical import canonical
from mlnlearn.logic.clauses import Clause
from mlnlearn.structure.predicate_graph.graph import PredicateGraph
from mlnlearn.structure.predicate_graph.links import Edge
from mlnlearn.structure.predicate_graph.paths import Drafting, as_clause
from mlnlearn.structure.search.clauses import predicates_in
from mlnlearn.structure.search.keys import ClauseKey, canonical_key

# Moves of a path, sorted: whether the edge closes a cycle, and its number.
Path = tuple[tuple[bool, int], ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """A clause with its weight and gain beside the unit clauses.

    Attributes
    ----------
    clause
        The clause, in canonical form.
    weight
        Its weight in the network of the unit clauses and itself.
    gain
        How much that network's likelihood is above that of the unit clauses, less the penalty.
    """

    clause: Clause
    weight: float
    gain: float

    @property
    def measure(self) -> float:
        """The measure by which clauses are compared: absolute weight times gain."""
        return abs(self.weight) * self.gain


# Scores a batch of clauses; those that cannot be counted are left out.
Measure = Callable[[Sequence[Clause], str], Mapping[Clause, Measured]]


@dataclass(frozen=True, slots=True)
class Limits:
    """Which clauses may be built.

    Attributes
    ----------
    max_length
        Most literals.
    max_same
        Most literals of one predicate.
    close_cycles
        Whether an edge between two nodes of a path may tie literals that are there already.
    beam
        Most paths of a length that are extended; None for all.
    """

    max_length: int
    max_same: int
    close_cycles: bool
    beam: int | None


def grow(graph: PredicateGraph, measure: Measure, limits: Limits) -> list[Measured]:
    """Return the candidate clauses: those that no longer path improves upon.

    Every edge of the graph is a path. A path is extended by an edge at one of its nodes; the longer
    clause is kept where its measure is above that of the shorter one. A clause that several paths
    lead to is built once, and must be better than each of them, and than each measured clause that
    it contains.
    """
    growing = _Growing(graph, limits)
    level = growing.edge_paths
    found = measure([growing.clause(key) for key in level], "measuring clauses of one link")
    measured = {key: found[growing.clause(key)] for key in level if growing.clause(key) in found}
    level = {key: path for key, path in level.items() if key in measured}
    candidates: list[Measured] = []
    links = 1
    while level:
        links += 1
        paths, parents = growing.longer(level)
        fresh = {growing.clause(key): key for key in paths if key not in measured}
        scored = measure(list(fresh), f"measuring clauses of {links} links")
        measured |= {fresh[grown]: result for grown, result in scored.items()}
        better = {
            key: measured[key]
            for key in map(fresh.__getitem__, scored)
            if all(
                measured[key].measure > measured[part].measure
                for part in (*parents[key], *_parts(key))
                if part in measured
            )
        }
        improved = {parent for key in better for parent in parents[key]}
        candidates += [measured[key] for key in level if key not in improved]
        extended = _best(better, limits.beam)
        candidates += [result for key, result in better.items() if key not in extended]
        level = {key: paths[key] for key in extended}
    return candidates


def _parts(key: ClauseKey) -> Iterator[ClauseKey]:
    """Yield the keys of the clauses with one literal less."""
    for place in range(len(key)):
        yield canonical_key(key[:place] + key[place + 1 :])


def _best(results: Mapping[ClauseKey, Measured], most: int | None) -> list[ClauseKey]:
    """Choose clauses by their measure, the best for each set of predicates first.

    In the end one clause for each set of predicates is of use; without this order, variants of the
    strongest few would fill the beam.
    """
    ordered = sorted(results, key=lambda key: (-results[key].measure, key))
    rank: Counter[frozenset[str]] = Counter()
    places = []
    for place, key in enumerate(ordered):
        names = predicates_in(results[key].clause)
        places.append((rank[names], place))
        rank[names] += 1
    return [ordered[place] for _, place in sorted(places)[:most]]


class _Growing:
    """Extends paths; nodes and edges are numbers, and a path is a sorted tuple of moves."""

    def __init__(self, graph: PredicateGraph, limits: Limits) -> None:
        self.limits = limits
        self.nodes = graph.nodes
        number = {node: place for place, node in enumerate(graph.nodes)}
        self.edges = [(number[e.first], number[e.second], e.link.pairs) for e in graph.edges]
        self.drafting = Drafting(graph.nodes)
        self.at: list[list[int]] = [[] for _ in graph.nodes]
        for place, (first, second, _) in enumerate(self.edges):
            for node in dict.fromkeys((first, second)):
                self.at[node].append(place)
        self._clauses: dict[ClauseKey, Clause] = {}

    @property
    def edge_paths(self) -> dict[ClauseKey, Path]:
        """The paths of one edge."""
        paths: list[Path] = [((False, edge),) for edge in range(len(self.edges))]
        keyed = ((self._key(path), path) for path in paths)
        return {key: path for key, path in keyed if key is not None}

    def clause(self, key: ClauseKey) -> Clause:
        """Return the clause of a key, in canonical form."""
        if key not in self._clauses:
            draft = [(literal[0], list(literal[1:])) for literal in key]
            self._clauses[key] = canonical(as_clause(draft, self.nodes))
        return self._clauses[key]

    def longer(
        self, level: Mapping[ClauseKey, Path]
    ) -> tuple[dict[ClauseKey, Path], dict[ClauseKey, list[ClauseKey]]]:
        """Extend all paths of a level; return the path of each clause, and what it grew from."""
        paths: dict[ClauseKey, Path] = {}
        parents: dict[ClauseKey, list[ClauseKey]] = {}
        keys: dict[Path, ClauseKey | None] = {}
        for short, path in level.items():
            for added in self._extensions(path):
                # a path is a set of edges: the order in which it was put together does not matter
                ordered = tuple(sorted((*path, added)))
                if ordered not in keys:
                    keys[ordered] = self._key(ordered)
                grown = keys[ordered]
                if grown is not None:
                    paths.setdefault(grown, ordered)
                    parents.setdefault(grown, []).append(short)
        return paths, parents

    def _extensions(self, path: Path) -> Iterator[tuple[bool, int]]:
        """Yield the moves that may follow a path: edges at one of its nodes."""
        nodes = {node for _, edge in path for node in self.edges[edge][:2]}
        literals = 1 + sum(not closes for closes, _ in path)
        for edge in sorted({edge for node in nodes for edge in self.at[node]}):
            if literals < self.limits.max_length:
                yield False, edge
            first, second, _ = self.edges[edge]
            if self.limits.close_cycles and literals > 2 and first in nodes and second in nodes:
                yield True, edge

    def _key(self, path: Path) -> ClauseKey | None:
        """Return the key of a path's clause; None where it may not be built."""
        draft = self.drafting.draft([(*self.edges[edge], closes) for closes, edge in path])
        if draft is None:
            return None
        predicates = [self.drafting.predicate[node] for node, _ in draft]
        atoms = {(p, *terms) for p, (_, terms) in zip(predicates, draft, strict=True)}
        most = max(predicates.count(predicate) for predicate in predicates)
        if len(atoms) < len(draft) or most > self.limits.max_same:
            return None
        return canonical_key((node, *terms) for node, terms in draft)


def edge_measures(graph: PredicateGraph, known: Mapping[Clause, Measured]) -> dict[Edge, float]:
    """Return the measure of each edge whose clause is known."""
    return {edge: known[found].measure for edge, found in graph.edges.items() if found in known}
