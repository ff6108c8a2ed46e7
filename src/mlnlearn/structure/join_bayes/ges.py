"""Greedy equivalence search over patterns of Bayes nets, with required and forbidden edges.

Chickering (2003): first insert edges while the score grows, then delete them while it grows. On
finite data that can end in a local optimum, so more is done: a third phase turns, adds or drops
single edges of a DAG; all phases repeat until none helps, once with the third one first; and from
the better end a walk goes on through worse DAGs, never back to one it has seen, for as long as it
keeps finding better ones within its patience. At last, all that is tried again from DAGs near the
best one.

Constraints make the search leave the theory, in which all DAGs of a pattern are alike. So an
operator only *proposes*: it counts once the changed pattern has an extension that obeys the
constraints and whose score is higher.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations

import numpy as np

from mlnlearn.errors import InputError
from mlnlearn.run import check_time
from mlnlearn.structure.join_bayes.changes import Change, single_changes
from mlnlearn.structure.join_bayes.graphs import (
    Dag,
    EdgeConstraints,
    MixedGraph,
    bits,
    extension,
    has_circle,
    obeys,
    pattern_of,
)

LocalScore = Callable[[int, tuple[int, ...]], float]
"""Score of a node (first) given its parents, in ascending order."""

Patterns = Callable[[], Iterator[tuple[float, MixedGraph | None]]]
"""Yields changed patterns, the most promising first."""

Ahead = Callable[[Sequence[tuple[int, tuple[int, ...]]]], None]
"""Is told of nodes and their parents whose scores are asked for next."""

RESTARTS = 10
"""How often a search starts again by default."""
_STEP = 1e-7
"""What an improvement must exceed, relative to rounding in sums of logarithms."""
_ROUNDING = 1e-10
"""More than sums of the same scores in another order can differ, relative to them."""


def greedy_equivalence_search(
    size: int,
    score: LocalScore,
    constraints: EdgeConstraints | None = None,
    *,
    max_parents: int | None = None,
    partners: int | None = None,
    patience: int = 5,
    restarts: int = RESTARTS,
    ahead: Ahead | None = None,
) -> Dag:
    """Return a DAG of high score, as one set of parents a node.

    Parameters
    ----------
    size
        Number of nodes.
    score
        Score of one family; asked once for each.
    constraints
        Edges that must be there, and edges that must not.
    max_parents
        No more parents than these, required ones aside.
    partners
        Edges are looked for between nodes of which one is among so many best partners of the other,
        by the gain of a single edge; by default between all.
    patience
        Steps without a new best score after which the walk through worse DAGs ends.
    restarts
        How often to start again from the best DAG with some edges changed at random (always the
        same ones: the search is repeatable).
    ahead
        Is told of families before their scores are asked for, several at a time.

    Examples
    --------
    >>> def like_a_chain(node, parents):
    ...     return 1.0 if parents in ((node - 1,), (node + 1,)) else 0.0
    >>> [bin(parents) for parents in greedy_equivalence_search(3, like_a_chain)]
    ['0b10', '0b100', '0b0']
    """
    rules = constraints or EdgeConstraints()
    start = [0] * size
    for parent, child in rules.required:
        start[child] |= 1 << parent
    problem = _refused(tuple(start), rules)
    if problem:
        raise InputError(problem)
    most = size if max_parents is None else max_parents
    search = _EdgeSearch(size, score, rules, most, ahead)
    if partners is not None:
        search.rules = search.screened(tuple(start), partners)
    ends = []
    for turns_first in (False, True):
        search.become(tuple(start))
        while turns_first and search.turn():
            pass
        search.climb()
        ends.append((search.total, search.dag))
    search.become(max(ends)[1])
    search.explore(patience)
    rng = np.random.default_rng(0)
    best = search.total, search.dag
    for _ in range(restarts):
        search.become(search.shaken(best[1], rng))
        search.climb()
        search.explore(patience)
        best = max(best, (search.total, search.dag)) if search.total > best[0] + _STEP else best
    return best[1]


def _refused(required: Dag, rules: EdgeConstraints) -> str:
    if rules.required & rules.forbidden:
        parent, child = min(rules.required & rules.forbidden)
        return f"the edge {parent} -> {child} is both required and forbidden"
    return "the required edges run in a circle" if has_circle(required) else ""


@dataclass
class _EdgeSearch:
    """The pattern reached, a DAG of it, its score, and the scores of families asked for."""

    size: int
    score: LocalScore
    rules: EdgeConstraints
    max_parents: int
    ahead: Ahead | None = None
    dag: Dag = field(init=False, default=())
    total: float = field(init=False, default=0.0)
    known: dict[tuple[int, int], float] = field(init=False, default_factory=dict)
    ways: dict[tuple[object, Dag], Dag | None] = field(init=False, default_factory=dict)
    _pattern: MixedGraph | None = field(init=False, default=None)

    def local(self, node: int, parents: int) -> float:
        key = (node, parents)
        found = self.known.get(key)
        if found is None:
            check_time()
            found = self.known[key] = self.score(node, tuple(bits(parents)))
        return found

    def expect(self, families: Iterable[tuple[int, int]]) -> None:
        """Say which families are asked for next, as nodes and sets of parents."""
        if self.ahead is not None:
            new = [key for key in dict.fromkeys(families) if key not in self.known]
            if len(new) > 1:
                self.ahead([(node, tuple(bits(parents))) for node, parents in new])

    def sum_of(self, dag: Dag) -> float:
        return sum(self.local(node, parents) for node, parents in enumerate(dag))

    def screened(self, start: Dag, partners: int) -> EdgeConstraints:
        """Forbid the edges between nodes that are not among each other's best partners."""
        self.expect(
            (child, parents)
            for x, y in combinations(range(self.size), 2)
            for parent, child in ((x, y), (y, x))
            if self.rules.allows(parent, child) and not start[child] >> parent & 1
            for parents in (start[child] | 1 << parent, start[child])
        )
        near: list[list[tuple[float, int]]] = [[] for _ in range(self.size)]
        for x, y in combinations(range(self.size), 2):
            gains = [
                self.local(child, start[child] | 1 << parent) - self.local(child, start[child])
                for parent, child in ((x, y), (y, x))
                if self.rules.allows(parent, child) and not start[child] >> parent & 1
            ]
            if gains:
                near[x].append((-max(gains), y))
                near[y].append((-max(gains), x))
        kept = {
            frozenset((node, other))
            for node, found in enumerate(near)
            for _, other in sorted(found)[:partners]
        }
        pairs = permutations(range(self.size), 2)
        far = {pair for pair in pairs if frozenset(pair) not in kept} - self.rules.required
        return EdgeConstraints(self.rules.required, self.rules.forbidden | far)

    def become(self, dag: Dag) -> None:
        self.expect(enumerate(dag))
        self.dag, self.total, self._pattern = dag, self.sum_of(dag), None

    @property
    def pattern(self) -> MixedGraph:
        """The pattern of the DAG, made where it is asked for."""
        if self._pattern is None:
            self._pattern = pattern_of(self.dag, self.rules)
        return self._pattern

    def go(self, kind: object, way: Callable[[], Dag | None]) -> bool:
        """Go where a kind of way leads from here; it is found once, as restarts come here again."""
        if (kind, self.dag) not in self.ways:
            self.ways[kind, self.dag] = way()
        dag = self.ways[kind, self.dag]
        if dag is not None:
            self.become(dag)
        return dag is not None

    def phase(self, operators: Patterns) -> bool:
        """Apply the best operator that holds up, again and again."""
        moved = False
        while self.go(operators, lambda: self._best(operators)):
            moved = True
        return moved

    def _best(self, operators: Patterns) -> Dag | None:
        for _, changed in operators():
            dag = None if changed is None else extension(changed)
            if dag is None or not obeys(dag, self.rules):
                continue
            if self.sum_of(dag) > self.total + self._step:
                return dag
        return None

    def insertions(self) -> Iterator[tuple[float, MixedGraph | None]]:
        """Yield patterns with one more edge, by falling gain (Chickering 2003, theorem 15)."""
        open_edges = list(self._open_edges())
        self.expect(
            (y, parents)
            for x, y, near, turned in open_edges
            for above in [near | turned | self.pattern.parents[y]]
            for parents in (above | 1 << x, above)
        )
        found = []
        for x, y, near, turned in open_edges:
            above = near | turned | self.pattern.parents[y]
            gain = self.local(y, above | 1 << x) - self.local(y, above)
            if gain > _STEP:
                found.append((gain, x, y, near, turned))
        for gain, x, y, near, turned in sorted(found, key=lambda item: (-item[0], *item[1:])):
            if self.pattern.blocked(y, x, near | turned):
                changed = self.pattern.copy()
                changed.direct(x, y)
                for other in bits(turned):
                    changed.direct(other, y)
                yield gain, changed

    def _open_edges(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield what an edge x -> y could be added with: common neighbours, and edges turned."""
        for y in range(self.size):
            for x in range(self.size):
                if x == y or self.pattern.adjacent(y) >> x & 1 or not self.rules.allows(x, y):
                    continue
                near = self.pattern.neighbours[y] & self.pattern.adjacent(x)
                if not self.pattern.is_clique(near):
                    continue
                free = self.pattern.neighbours[y] & ~self.pattern.adjacent(x)
                for turned in self._cliques(near, free):
                    above = near | turned | self.pattern.parents[y]
                    if above.bit_count() < self.max_parents:
                        yield x, y, near, turned

    def _cliques(self, base: int, free: int) -> Iterator[int]:
        """Yield the subsets of `free` that form a clique together with `base`."""
        yield 0
        members = [n for n in bits(free) if base & ~self.pattern.adjacent(n) == 0]
        waiting = [(1 << node, place) for place, node in enumerate(members)]
        while waiting:
            chosen, last = waiting.pop()
            yield chosen
            for place in range(last + 1, len(members)):
                if chosen & ~self.pattern.adjacent(members[place]) == 0:
                    waiting.append((chosen | 1 << members[place], place))

    def deletions(self) -> Iterator[tuple[float, MixedGraph | None]]:
        """Yield patterns with one edge less, by falling gain (Chickering 2003, theorem 17)."""
        found = []
        for y in range(self.size):
            for x in bits(self.pattern.parents[y] | self.pattern.neighbours[y]):
                if (x, y) in self.rules.required or (y, x) in self.rules.required:
                    continue
                near = self.pattern.neighbours[y] & self.pattern.adjacent(x)
                # what stays of `near` must be a clique; the rest become children of both
                for stay in self._cliques(0, near):
                    above = (stay | self.pattern.parents[y]) & ~(1 << x)
                    gain = self.local(y, above) - self.local(y, above | 1 << x)
                    if gain > _STEP:
                        found.append((gain, x, y, near & ~stay))
        for gain, x, y, turned in sorted(found, key=lambda item: (-item[0], *item[1:])):
            changed = self.pattern.copy()
            changed.remove(x, y)
            for other in bits(turned):
                changed.direct(y, other)
                if changed.neighbours[x] >> other & 1:
                    changed.direct(x, other)
            yield gain, changed

    def climb(self) -> None:
        """Go through all phases until none helps."""
        moved = True
        while moved:
            moved = self.phase(self.insertions)
            moved |= self.phase(self.deletions)
            moved |= self.turn()

    def turn(self) -> bool:
        """Make the one best change of a single edge of the DAG, if any helps."""
        return self.go("turn", lambda: self._better(1))

    def _better(self, patience: int) -> Dag | None:
        """Walk to the best DAG not seen before, better or worse, until one is better than here."""
        dag, seen = self.dag, {self.dag}
        for _ in range(patience):
            total, dag = self._neighbour(dag, seen)
            if total > self.total + self._step:
                return dag
            if not dag:
                break
            seen.add(dag)
        return None

    def explore(self, patience: int) -> None:
        """Walk and climb for as long as that finds better DAGs."""
        while self.go("walk", lambda: self._better(patience)):
            self.climb()

    def shaken(self, dag: Dag, rng: np.random.Generator) -> Dag:
        """Return a DAG with some single changes at random."""
        for _ in range(max(3, self.size // 2)):
            changes = list(single_changes(dag, self.rules, self.max_parents))
            if not changes:
                break
            dag = changes[int(rng.integers(len(changes)))].of(dag)
        return dag

    def _neighbour(self, dag: Dag, seen: set[Dag]) -> tuple[float, Dag]:
        """Return the best DAG one change away that was not seen; nothing where all were.

        Sums of whole DAGs decide; they are taken where the difference of the families that change,
        which is the same up to rounding, comes near the best.
        """
        changes = list(single_changes(dag, self.rules, self.max_parents))
        self.expect(
            family
            for change in changes
            for node, new in change
            for family in ((node, new), (node, dag[node]))
        )
        gains = [(self._gain(dag, change), place) for place, change in enumerate(changes)]
        gains.sort(key=lambda item: -item[0])
        best: tuple[float, Dag] = (-math.inf, ())
        lowest = -math.inf
        for gain, place in gains:
            if gain < lowest:
                break
            other = changes[place].of(dag)
            if other not in seen:
                total = self.sum_of(other)
                best = max(best, (total, other))
                lowest = max(lowest, gain - _ROUNDING * max(1.0, abs(total)))
        return best

    def _gain(self, dag: Dag, change: Change) -> float:
        return sum(self.local(node, new) - self.local(node, dag[node]) for node, new in change)

    @property
    def _step(self) -> float:
        return _STEP * max(1.0, abs(self.total) * 1e-6)
