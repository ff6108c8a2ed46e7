"""Growing candidate clauses along paths and loops of the graph (section 3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlnlearn.logic.canonical import ClauseKey, LiteralKey, canonical_key, clause_of
from mlnlearn.logic.clauses import Clause
from mlnlearn.structure.predicate_graph.graph import PredicateGraph
from mlnlearn.structure.predicate_graph.links import Edge
from mlnlearn.structure.predicate_graph.loops import is_plain
from mlnlearn.structure.predicate_graph.paths import Drafting, Pairs
from mlnlearn.structure.search.clauses import predicates_in
from mlnlearn.structure.search.ties import exceeds, ranked

# weights and gains of clauses that are the same feature differ by no more than round-off
_SAME = 1e-8
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
    held_out
        The same for databases left out of the fit; None where that is not asked.
    """

    clause: Clause
    weight: float
    gain: float
    held_out: float | None = None

    @property
    def measure(self) -> float:
        """The measure by which clauses are compared: absolute weight times gain."""
        return abs(self.weight) * self.gain

    def is_same_feature(self, other: Measured) -> bool:
        """Tell whether clauses of a length agree on the data, as weight and gain show.

        Where a relation is symmetric, say, a clause is as good with its arguments swapped.
        """
        return max(abs(self.weight - other.weight), abs(self.gain - other.gain)) <= _SAME

    def improves(self, shorter: Measured) -> bool:
        """Tell whether the measure is higher, and what is gained beyond the data of the fit too."""
        if not exceeds(self.measure, shorter.measure):
            return False
        if self.held_out is None or shorter.held_out is None:
            return True
        return exceeds(self.held_out, shorter.held_out)


# Scores a batch of clauses; those that cannot be counted are left out.
Measure = Callable[[Sequence[Clause], str], Mapping[Clause, Measured]]


@dataclass(frozen=True, slots=True)
class ClauseLimits:
    """Which clauses may be built.

    Attributes
    ----------
    max_literals
        Most literals.
    max_same
        Most literals of one predicate.
    close_cycles
        Whether an edge between two nodes of a path may tie literals that are there already.
    beam
        Most paths of a length that are extended; None for all.
    drop_improved
        Whether what a longer clause improves upon is no candidate, and to improve upon one of the
        paths that lead to it is enough.
    """

    max_literals: int
    max_same: int
    close_cycles: bool
    beam: int | None
    drop_improved: bool = False


def grow(
    graph: PredicateGraph, loops: Sequence[ClauseKey], measure: Measure, limits: ClauseLimits
) -> list[Measured]:
    """Return the candidate clauses: edges, and whatever improves upon what it was extended from.

    Every edge of the reduced graph is a path. A path is extended by an edge at one of its nodes;
    the longer clause is kept where it improves upon each path that leads to it in this way.

    Loops join when paths have as many links, and are extended in the same way, though at any
    literal. Two literals that share two variables are the shortest loops; these are extended even
    where the edge was dropped: what it says may hold only under a condition.

    Parameters
    ----------
    graph
        The reduced graph.
    loops
        Clauses to start from, beside the edges.
    measure
        Scores clauses.
    limits
        Which clauses may be built.
    """
    growing = _Growing(graph, limits)
    waiting: dict[int, list[ClauseKey]] = {}
    for key in loops:
        waiting.setdefault(len(key), []).append(key)
    level: dict[ClauseKey, Path | None] = dict(growing.edge_paths)
    level |= {key: None for key in waiting.pop(2, ()) if key not in level}
    found = measure([growing.clause(key) for key in level], "measuring clauses of one link")
    measured = {key: found[growing.clause(key)] for key in level if growing.clause(key) in found}
    level = {key: path for key, path in level.items() if key in measured}
    candidates = [measured[key] for key, path in level.items() if path is not None]
    links = 1
    while level or waiting:
        links += 1
        paths, parents = growing.longer(level)
        for key in waiting.pop(links, ()):
            paths.setdefault(key, None)
            parents[key] = []
        fresh = {growing.clause(key): key for key in paths if key not in measured}
        scored = measure(list(fresh), f"measuring clauses of {links} links")
        measured |= {fresh[grown]: result for grown, result in scored.items()}
        better = {}
        for key in map(fresh.__getitem__, scored):
            improves = [measured[key].improves(measured[parent]) for parent in parents[key]]
            enough = any(improves) or not improves if limits.drop_improved else all(improves)
            if exceeds(measured[key].measure, 0.0) and enough:
                better[key] = measured[key]
        distinct = _distinct(better)
        if limits.drop_improved:
            candidates = _not_improved(candidates, distinct, measured, parents)
        candidates += distinct.values()
        level = {key: paths[key] for key in _best(distinct, limits.beam)}
    return candidates


def _not_improved(
    candidates: Sequence[Measured],
    longer: Mapping[ClauseKey, Measured],
    measured: Mapping[ClauseKey, Measured],
    parents: Mapping[ClauseKey, Sequence[ClauseKey]],
) -> list[Measured]:
    """Leave out the candidates that a longer clause improves upon (section 3.3)."""
    improved = {
        measured[parent].clause
        for key, found in longer.items()
        for parent in parents[key]
        if found.improves(measured[parent])
    }
    return [candidate for candidate in candidates if candidate.clause not in improved]


def _distinct(results: Mapping[ClauseKey, Measured]) -> dict[ClauseKey, Measured]:
    """Leave out clauses that are the same feature on the data as one before."""
    # sorted by what they gain, the same features are neighbours, or nearly so
    ordered = sorted(results, key=lambda key: results[key].gain)
    place = {key: number for number, key in enumerate(results)}
    dropped: set[ClauseKey] = set()
    for number, key in enumerate(ordered):
        for other in ordered[number + 1 :]:
            if results[other].gain - results[key].gain > _SAME:
                break
            if results[key].is_same_feature(results[other]):
                dropped.add(max(key, other, key=place.__getitem__))
    return {key: result for key, result in results.items() if key not in dropped}


def _best(results: Mapping[ClauseKey, Measured], most: int | None) -> list[ClauseKey]:
    """Choose clauses by their measure, the best for each set of predicates first.

    In the end one clause for each set of predicates is of use; without this order, variants of the
    strongest few would fill the beam.
    """
    ordered = ranked(results, lambda key: results[key].measure, lambda key: key)
    rank: Counter[frozenset[str]] = Counter()
    places = []
    for place, key in enumerate(ordered):
        names = predicates_in(results[key].clause)
        places.append((rank[names], place))
        rank[names] += 1
    return [ordered[place] for _, place in sorted(places)[:most]]


class _Growing:
    """Extends paths and loops.

    Nodes and edges are numbers, and a path is a sorted tuple of moves; a loop has none, its clause
    is all that is known of it.
    """

    def __init__(self, graph: PredicateGraph, limits: ClauseLimits) -> None:
        self.limits = limits
        self.labels = [(node.predicate, node.positive) for node in graph.nodes]
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
            self._clauses[key] = clause_of(key, self.labels)
        return self._clauses[key]

    def longer(
        self, level: Mapping[ClauseKey, Path | None]
    ) -> tuple[dict[ClauseKey, Path | None], dict[ClauseKey, list[ClauseKey]]]:
        """Extend all clauses of a level; return the path of each, and what it grew from."""
        paths: dict[ClauseKey, Path | None] = {}
        parents: dict[ClauseKey, list[ClauseKey]] = {}
        keys: dict[Path, ClauseKey | None] = {}
        for short, path in level.items():
            for grown, ordered in (
                self._attached(short) if path is None else self._extended(path, keys)
            ):
                paths.setdefault(grown, ordered)
                parents.setdefault(grown, []).append(short)
        return paths, parents

    def _extended(
        self, path: Path, keys: dict[Path, ClauseKey | None]
    ) -> Iterator[tuple[ClauseKey, Path]]:
        """Yield the clauses of the paths that are one link longer; keys of paths are kept."""
        for added in self._extensions(path):
            # a path is a set of edges: the order in which it was put together does not matter
            ordered = tuple(sorted((*path, added)))
            if ordered not in keys:
                keys[ordered] = self._key(ordered)
            grown = keys[ordered]
            if grown is not None:
                yield grown, ordered

    def _attached(self, loop: ClauseKey) -> Iterator[tuple[ClauseKey, None]]:
        """Yield a loop with a condition: a literal of another predicate, linked to any of its own.

        One more literal of the same predicate would count partners rather than set a condition.
        """
        if len(loop) == self.limits.max_literals:
            return
        present = {self.drafting.predicate[literal[0]] for literal in loop}
        for place, literal in enumerate(loop):
            for edge in self.at[literal[0]]:
                first, second, pairs = self.edges[edge]
                if first != literal[0]:
                    first, second, pairs = second, first, tuple((v, u) for u, v in pairs)
                if self.drafting.predicate[second] not in present:
                    grown = self._joined(loop, place, second, pairs)
                    if grown is not None:
                        yield grown, None

    def _extensions(self, path: Path) -> Iterator[tuple[bool, int]]:
        """Yield the moves that may follow a path: edges at one of its nodes."""
        nodes = {node for _, edge in path for node in self.edges[edge][:2]}
        literals = 1 + sum(not closes for closes, _ in path)
        for edge in sorted({edge for node in nodes for edge in self.at[node]}):
            if literals < self.limits.max_literals:
                yield False, edge
            first, second, _ = self.edges[edge]
            if self.limits.close_cycles and literals > 2 and first in nodes and second in nodes:
                yield True, edge

    def _key(self, path: Path) -> ClauseKey | None:
        """Return the key of a path's clause; None where it may not be built."""
        draft = self.drafting.draft([(*self.edges[edge], closes) for closes, edge in path])
        return None if draft is None else self._allowed([(node, *terms) for node, terms in draft])

    def _joined(
        self, literals: Sequence[LiteralKey], place: int, node: int, pairs: Pairs
    ) -> ClauseKey | None:
        """Return a clause with a literal more, linked to one that is there; None if not allowed."""
        if not is_plain(pairs):
            return None
        fresh = 1 + max(max(literal[1:]) for literal in literals)
        terms = list(range(fresh, fresh + self.drafting.arity[node]))
        for u, v in pairs:
            terms[v] = literals[place][1 + u]
        return self._allowed([*literals, (node, *terms)])

    def _allowed(self, literals: Sequence[LiteralKey]) -> ClauseKey | None:
        """Return the key of a clause; None where an atom or a predicate is in it too often."""
        predicates = [self.drafting.predicate[literal[0]] for literal in literals]
        atoms = {(p, *literal[1:]) for p, literal in zip(predicates, literals, strict=True)}
        most = max(predicates.count(predicate) for predicate in predicates)
        if len(atoms) < len(literals) or most > self.limits.max_same:
            return None
        return canonical_key(literals)


def edge_measures(graph: PredicateGraph, known: Mapping[Clause, Measured]) -> dict[Edge, float]:
    """Return the measure of each edge whose clause is known."""
    return {edge: known[found].measure for edge, found in graph.edges.items() if found in known}
